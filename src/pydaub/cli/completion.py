"""What the shell offers when Tab is pressed. Nothing heavy is imported here: it must be there at once."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pydaub.records import PORTFOLIOS
from pydaub.runs import ABOUT, JOURNAL, RUNS
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.algorithm.strategies import Parameter


def learners(incomplete: str) -> list[str]:
    """Offer portfolios and the names of classifiers, for the last of the names that are separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    minus = "-" if last.startswith("-") else ""
    names = (*PORTFOLIOS, *json.loads((files("pydaub") / "learners" / "costs.json").read_text()))
    return [f"{before}{comma}{minus}{name}" for name in names if name.startswith(last.removeprefix("-"))]


def choices(parameter: Parameter) -> Callable[[str], list[str]]:
    """Return what offers the choices of a strategy's parameter."""

    def offered(incomplete: str) -> list[str]:
        return [name for name in parameter.names() if name.startswith(incomplete)]

    return offered


def runs(incomplete: str) -> list[str]:
    """Offer the folders of runs, those in the default place included, and other folders on the way to them."""
    typed = Path(incomplete)
    here = typed if incomplete.endswith("/") else typed.parent
    places = (here, Path(RUNS)) if "/" not in incomplete else (here,)
    offered = dict[str, None]()
    for path in chain.from_iterable(map(_folders, places)):
        name = str(path) if (path / ABOUT).exists() else f"{path}/"
        if name.startswith(incomplete):
            offered[name] = None
    return list(offered)


def _folders(place: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(each for each in place.iterdir() if each.is_dir() and not each.name.startswith("."))
    return []


def learners_of_run(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the learners of the run that was named before."""
    with (
        suppress(OSError, ValueError, KeyError, TypeError),
        os.fdopen(Folder(ctx.params["folder"]).open(JOURNAL)) as file,
    ):
        return [name for name in json.loads(file.readline())["settings"]["learners"] if name.startswith(incomplete)]
    return []
