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
    quoted = [repr(name) for name in names]
    rest = f" and {len(quoted) - shown} more" if len(quoted) > shown else ""
    return ", ".join(quoted[:shown]) + rest
