"""Which of the sizes of a schedule `frugal` uses: each further one would cost more than it tells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS, LEAST_ROWS, MOST_ROWS = 64, 400, 8_000  # the first size is N / PARTS, from LEAST_ROWS to MOST_ROWS
# Parts and least rows for families: boosters with early stopping take nearly as long on fewer rows.
FAMILY_PARTS, FAMILY_ROWS = 16, 1_500
RATIO: Final = 4
JUMP: Final = 4  # after a quarter of the rows come all of them
NEAR, ENOUGH_ROWS = 3.6, 4_000  # a size above N / NEAR is left out if the size before it has ENOUGH_ROWS


def few(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return about N/64, N/16, N/4 and N.

    With more than a million rows, N/64 would be many rows for a first look at every learner: it begins with fewer.
    """
    return grown(sizes, PARTS, LEAST_ROWS)


def few_for_families(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes from about N/16 on, and N, without those that cost nearly as much: relatives tell what N brings."""
    full = sizes[-1]
    return tuple(size for size in grown(sizes, FAMILY_PARTS, FAMILY_ROWS) if size == full or size * NEAR < full)


def grown(sizes: tuple[int, ...], parts: int, least: int) -> tuple[int, ...]:
    """Return sizes that grow fourfold from N / `parts`, but at least from `least` rows."""
    full = sizes[-1]
    used = [_nearest(sizes[:-1] or sizes, max(min(least, full / RATIO), min(full / parts, MOST_ROWS)))]
    while used[-1] * JUMP < full:
        following = _nearest([size for size in sizes if size > used[-1]], RATIO * used[-1])
        if following * NEAR > full and used[-1] >= ENOUGH_ROWS:
            break
        used.append(following)
    return tuple(sorted({*used, full}))


def _nearest(sizes: Iterable[int], wanted: float) -> int:
    """Return the size that differs from the wanted one by the smallest factor."""
    return min(sizes, key=lambda size: abs(math.log(size / wanted)))
