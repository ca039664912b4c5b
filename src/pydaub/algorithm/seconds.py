"""How many seconds a learner will take with more rows: the one forecast that strategies, deadlines and views share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.records import Measurement

SMALLEST_TIME: Final = 0.01  # seconds; shorter times are too noisy to say how they grow
LARGEST_SHIFT: Final = 1.0  # of an observed exponent from the declared one
# A training takes longer than its forecast times `2 ** (MARGIN * doublings)` in one of four cases.
MARGIN: Final = 0.2


class Growth(NamedTuple):
    """How the seconds of a learner grow with the rows that it is trained on, and how much its gains vary.

    Fitting takes seconds in proportion to (rows + starting) ** exponent: what does not grow with the rows takes as long
    as so many of them.

    Parameters
    ----------
    exponent
        Exponent of the seconds of fitting.
    starting
        Number of rows.
    per_row
        Exponent of the seconds that one prediction takes; neighbours, for example, are found among all rows. It is 0
        where predicting does not look at the rows.
    lasts
        How much of the difference between an observed exponent and the declared one is expected to last. The times of
        two samples say less about the next one than what is known of a kind of learner.
    surprise
        By how many times the gains of the learner with more rows vary as much as those of others.
    """

    exponent: float = 1.0
    starting: float = 0.0
    per_row: float = 0.0
    lasts: float = 0.3
    surprise: float = 1.0

    def distance(self, size: float, larger: float) -> float:
        """Return the logarithm of how many times as much a larger size is, starting included."""
        return math.log((larger + self.starting) / (size + self.starting))


USUAL_GROWTH: Final = Growth(lasts=0.6)  # of a learner of which nothing is known


def seconds_ahead(
    points: Sequence[tuple[int, Measurement]],
    size: int,
    growth: Growth = USUAL_GROWTH,
    rows: int | None = None,
) -> float:
    """Forecast the seconds of fitting and scoring at a larger size; half of all trainings take longer.

    Parameters
    ----------
    points
        Sizes and measurements of a learner, the largest size last. Where it is not known how many seconds went into
        fitting and how many into scoring, their sum is taken for fitting.
    size
        The number of rows to forecast for.
    growth
        How the seconds of the learner grow.
    rows
        The number of validation rows at that size; None if it is the same as at the last.
    """
    last_size, last = points[-1]
    distance = growth.distance(last_size, size)
    times = [(each, _fitting(point), 1) for each, point in points]
    found = _fitting(last) * math.exp(_exponent(times, growth, growth.exponent) * distance)
    if not last.scoring:
        return found
    times = [(each, point.scoring or 0.0, point.scored or 1) for each, point in points]
    scored = rows / last.scored if rows and last.scored else 1.0
    return found + last.scoring * scored * math.exp(_exponent(times, growth, growth.per_row) * distance)


def evaluation_ahead(
    points: Sequence[tuple[int, Measurement]],
    size: int,
    growth: Growth = USUAL_GROWTH,
    rows: int | None = None,
) -> float:
    """Forecast the seconds of a whole evaluation at a larger size; parameters as for `seconds_ahead`.

    Besides fitting and scoring, it takes as long as at the last size.
    """
    _, last = points[-1]
    return seconds_ahead(points, size, growth, rows) + max(last.seconds - last.own_seconds, 0.0)


def enough(seconds: float, size: int, larger: int) -> float:
    """Return seconds that suffice in three of four cases where so many were forecast at one size for a larger one."""
    return seconds * 2 ** (MARGIN * math.log2(larger / size))


def _exponent(times: Sequence[tuple[int, float, int]], growth: Growth, declared: float) -> float:
    """Return the exponent that is expected ahead, from the declared one and from that between the last two sizes.

    `times` are sizes, seconds, and the number of parts that take as long each.
    """
    if len(times) < 2 or min(times[-1][1], times[-2][1]) < SMALLEST_TIME:  # noqa: PLR2004  # two points make an exponent
        return declared
    (size, before, parts), (larger, last, more) = times[-2:]
    shift = math.log((last / more) / (before / parts)) / growth.distance(size, larger) - declared
    return declared + growth.lasts * min(max(shift, -LARGEST_SHIFT), LARGEST_SHIFT)


def _fitting(point: Measurement) -> float:
    return point.own_seconds if point.fitting is None or point.scoring is None else point.fitting
