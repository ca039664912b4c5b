"""What the scripts that only read measured curves share: one option, and errors without a traceback."""

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
    """Return a parser with the option that all have."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument("--measured", type=Path, default=MEASURED, help="the folder of the tables")
    return made


def shown(made: Callable[[list[Curves]], str], doc: str | None) -> None:
    """Print what is made of the measured curves."""
    arguments = parser(doc).parse_args()
    try:
        print(made(all_curves(arguments.measured)), flush=True)
    except PydaubError as error:
        sys.exit(str(error))
    except BrokenPipeError:
        sys.stdout = None  # whoever read has seen enough


def drawings(
    draw: Callable[[Curves, Axes], None], name: str, size: tuple[float, float], tables: Iterable[Curves], folder: Path
) -> list[Path]:
    """Draw a figure for each portfolio on the data sets of Table 1; return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for one in largest(tables):
        if one.about["data"] in TABLE_1:
            portfolio = re.sub(r"\W+", "_", one.about["portfolio"])
            path = folder / f"{name}-{one.about['data']}-{portfolio}.png"
            made.append(plots.drawn(path, size, partial(draw, one)))
    return made


def drawn(draw: Callable[[Curves, Axes], None], name: str, size: tuple[float, float], doc: str | None) -> None:
    """Draw a figure from the measured curves, and print where it is."""
    with_out = parser(doc)
    with_out.add_argument("--out", type=Path, default=Path(), help="the folder of the pictures")
    arguments = with_out.parse_args()
    try:
        for path in drawings(draw, name, size, all_curves(arguments.measured), arguments.out):
            print(path)
    except PydaubError as error:
        sys.exit(str(error))
