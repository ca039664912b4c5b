"""Shared parts of the scripts that only read measured curves: the option --measured, and errors without a traceback."""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from replays import MEASURED, Curves, all_curves, largest

from pydaub.errors import PydaubError
from pydaub.views import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes

TABLE_1 = ("higgs", "parity")


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option --measured."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder of the measured tables")
    return made


def shown(made: Callable[[list[Curves]], str], doc: str | None) -> None:
    """Print the text that a function makes of the measured curves."""
    arguments = parser(doc).parse_args()
    try:
        print(made(all_curves(arguments.measured)), flush=True)
    except PydaubError as error:
        sys.exit(str(error))
    except BrokenPipeError:
        sys.stdout = None  # the reader closed the pipe


def drawings(
    draw: Callable[[Curves, Axes], None], name: str, size: tuple[float, float], tables: Iterable[Curves], folder: Path
) -> list[Path]:
    """Draw one figure for each data set of Table 1 and each portfolio; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for one in largest(tables):
        if one.about["data"] in TABLE_1:
            portfolio = re.sub(r"\W+", "_", one.about["portfolio"])
            path = folder / f"{name}-{one.about['data']}-{portfolio}.png"
            made.append(plots.drawn(path, size, partial(draw, one)))
    return made


def drawn(draw: Callable[[Curves, Axes], None], name: str, size: tuple[float, float], doc: str | None) -> None:
    """Draw the figures of a script and print their paths."""
    with_out = parser(doc)
    with_out.add_argument("--out", type=Path, default=Path(), help="folder for the pictures")
    arguments = with_out.parse_args()
    try:
        for path in drawings(draw, name, size, all_curves(arguments.measured), arguments.out):
            print(path)
    except PydaubError as error:
        sys.exit(str(error))
