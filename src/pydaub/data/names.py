"""Names of columns: made valid, and listed in messages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def checked_names(names: Iterable[object], where: str) -> list[str]:
    """Return column names as text, with a blank name replaced by its position; raise if a name occurs twice."""
    found = [str(name).strip() or f"column {position}" for position, name in enumerate(names, start=1)]
    repeated = [name for name, count in Counter(found).items() if count > 1]
    if repeated:
        raise InputError(
            f"{where} must not name two columns alike, got {listed(repeated)} more than once. Rename them."
        )
    return found


def listed(names: Iterable[object], shown: int = 8) -> str:
    """Return the first `shown` names in quotes, and how many more there are."""
    return some(map(brief, names), shown)


def some(items: Iterable[str], shown: int = 8) -> str:
    """Return the first `shown` items, and how many more there are."""
    found = list(items)
    return ", ".join(found[:shown]) + (f" and {len(found) - shown:,} more" if len(found) > shown else "")


def brief(value: object, most: int = 80) -> str:
    """Return a name or a cell for a message, in quotes; a long one is cut.

    >>> brief("x" * 1000, 8)
    "'xxxxxxx... (1,002 characters)"
    """
    quoted = repr(value)
    return quoted if len(quoted) <= most else f"{quoted[:most]}... ({len(quoted):,} characters)"
