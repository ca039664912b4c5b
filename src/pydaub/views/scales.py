"""Axes of charts: which scores are in view, where the ticks are, and how they are labelled."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import quantiles
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Points = Sequence[tuple[int, float]]

ROOM: Final = 0.04  # of the axis, beyond the highest and the lowest score
STEPS: Final = (1, 2, 2.5, 5, 10)
PLAIN: Final = (1e-4, 1e7)  # numbers that are written without an exponent
DIGITS: Final = 17  # of a float, at most


def limits(scores: Sequence[float], also: Sequence[float] = ()) -> tuple[float, float]:
    """Return the ends of an axis of scores.

    An outlier far below the others would flatten all curves, and is left out. `also` are further values that must be
    seen, if above the lower end.
    """
    low, high = _floor(scores), max([*scores, *also])
    room = ROOM * (high - low) or ROOM * abs(high) or ROOM
    return low - room, high + room


def in_view(curves: Mapping[str, Points], named: Sequence[str]) -> list[float]:
    """Return the scores that an axis must show: those of the named learners, and others that are not far below."""
    own = [score for name in named for _, score in curves[name]]
    least = min(own) - (max(own) - min(own) or math.inf)
    return [score for points in curves.values() for _, score in points if score >= least]


def ticks(low: float, high: float, top: float | None = None, most: int = 8) -> list[float]:
    """Return round numbers between two ends, none of them above the best possible score.

    >>> ticks(0.91, 1.004, top=1.0)
    [0.92, 0.94, 0.96, 0.98, 1.0]
    """
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next((step for step in STEPS if step * unit >= raw * (1 - 1e-9)), STEPS[-1]) * unit
    digits = max(0, 2 - math.floor(math.log10(step)))
    found = [round(place * step, digits) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [tick for tick in found if top is None or tick <= top + step / 1000]


def tick_labels(places: Sequence[float]) -> list[str]:
    """Return labels that differ, with as many digits as that takes.

    >>> tick_labels([0.5, 0.75, 1.0]), tick_labels([-2e6, -1e6, 0.0]), tick_labels([1e-6, 1.5e-6])
    (['0.50', '0.75', '1.00'], ['-2,000,000', '-1,000,000', '0'], ['1.0e-06', '1.5e-06'])
    """
    largest = max((abs(place) for place in places), default=0.0)
    step = min((abs(b - a) for a, b in pairwise(places)), default=largest) or 1.0
    if not largest or PLAIN[0] <= largest < PLAIN[1]:
        return [f"{place or 0.0:,.{_digits(step)}f}" for place in places]
    digits = _digits(step / 10.0 ** math.floor(math.log10(largest)))
    return [f"{place:.{digits}e}" if place else "0" for place in places]


def _digits(step: float) -> int:
    return next((n for n in range(DIGITS) if abs(round(step, n) - step) < step / 100), DIGITS)


def _floor(scores: Sequence[float]) -> float:
    lower, middle, upper = quantiles(scores, n=4, method="inclusive") if len(scores) > 1 else (scores[0],) * 3
    spread = max(upper - lower, (max(scores) - middle) / 4)
    return max(min(scores), lower - 2.5 * spread) if spread else min(scores)
