"""Labels of a text file that are written in several ways: kept apart if they may be different ones, otherwise named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN: Final = re.compile(
    r"[+-]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?"
)  # ways to write a number that mean the same


class Merged(NamedTuple):
    """Different texts that are one label: whether they must be kept `apart`, as text, and a note for the user."""

    apart: bool
    note: str


def merged(texts: Iterable[str], *, bools: bool = False) -> Merged | None:
    """Return what is to be said of the distinct texts that are equal as numbers or `bools`; None if there are none.

    >>> merged(["1", "01", "2"]).apart, merged(["1", "1.0"]).apart, merged(["1", "2"])
    (True, False, None)
    >>> merged(["1", "true", "false"], bools=True).note
    "Classes are text, as they are written: '1' and 'true' would otherwise count as one."
    """
    written = pa.array(sorted({text.strip() for text in texts}), pa.string())
    try:
        values = written.cast(pa.bool_() if bools else pa.int64())
    except pa.ArrowInvalid:
        values = written.cast(pa.float64())
    ways: dict[Any, list[str]] = {}
    for text, value in zip(written.to_pylist(), values.to_pylist(), strict=True):
        ways.setdefault(value, []).append(text)
    several = [same for same in ways.values() if len(same) > 1]
    if not several:
        return None
    if apart := [same for same in several if not _mean_the_same(same)]:
        first = " and ".join(map(repr, apart[0][:2]))
        return Merged(apart=True, note=f"Classes are text, as they are written: {first} would otherwise count as one.")
    first = " and ".join(map(repr, several[0][:2]))
    return Merged(apart=False, note=f"Classes that are written in several ways count as one, such as {first}.")


def _mean_the_same(ways: list[str]) -> bool:
    return len({text.lower() for text in ways}) == 1 or all(map(PLAIN.fullmatch, ways))
