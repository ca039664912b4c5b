"""The learning curve of one learner, with the paper's monotone regression, and the extrapolation of its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from pydaub.errors import InputError
from pydaub.records import Measurement, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALLEST_TIME: Final = 0.01  # seconds; shorter times are too noisy to fit an exponent to
EXPONENTS: Final = (0.5, 3.0)  # limits of the exponent in cost ~ rows ** exponent


@dataclass(frozen=True, slots=True)
class Curve:
    """Measurements of one learner at strictly increasing sizes.

    Parameters
    ----------
    learner
        Name of the learner.
    sizes
        The sizes it was trained on, strictly increasing.
    measurements
        What was measured at each size. Their `valid_score` is the raw one.

    Attributes
    ----------
    valid
        The corrected validation scores (Alg. 1, TrainLearner). When a new score is below the previous corrected one,
        both become their mean. Only these two points change; the correction does not cascade further back, so `valid`
        may still fall between older points.

    Raises
    ------
    InputError
        If the sizes do not strictly increase from 1 or more, or there are not as many measurements as sizes.

    Examples
    --------
    >>> from pydaub import Measurement
    >>> curve = Curve("tree")
    >>> for size, score in [(500, 0.50), (750, 0.75), (1125, 0.25)]:
    ...     curve = curve.extended(size, Measurement(1.0, score, 0.1))
    >>> curve.valid
    (0.5, 0.5, 0.5)
    >>> [measurement.valid_score for measurement in curve.measurements]
    [0.5, 0.75, 0.25]
    """

    learner: str
    sizes: tuple[int, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    valid: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, tuple | list) or not isinstance(self.measurements, tuple | list):
            raise InputError(
                f"`sizes` and `measurements` must be tuples, got {self.sizes!r} and {self.measurements!r}."
            )
        if not all(isinstance(each, Measurement) for each in self.measurements):
            raise InputError(f"`measurements` must be Measurements, got {self.measurements!r}.")
        if len(self.sizes) != len(self.measurements):
            lengths = f"{len(self.sizes)} and {len(self.measurements)}"
            raise InputError(f"`sizes` and `measurements` must have the same length, got {lengths}.")
        sizes = (0, *(whole(size, "sizes") for size in self.sizes))
        if any(next_size <= size for size, next_size in pairwise(sizes)):
            raise InputError(f"`sizes` of {self.learner!r} must strictly grow from 1 or more, got {self.sizes}.")
        valid: list[float] = []
        for measurement in self.measurements:
            score = measurement.valid_score
            if valid and score < valid[-1]:
                # The signs in the paper's pseudo-code drive the two apart; its text lets them meet in the middle.
                valid[-1] = score = (valid[-1] + score) / 2
            valid.append(score)
        object.__setattr__(self, "valid", tuple(valid))

    def extended(self, size: int, measurement: Measurement) -> Curve:
        """Return a curve with one more point, at a larger size than the last."""
        return Curve(self.learner, (*self.sizes, size), (*self.measurements, measurement))

    def prefix(self, length: int) -> Curve:
        """Return the curve as it was after its first `length` points, without later corrections."""
        return Curve(self.learner, self.sizes[:length], self.measurements[:length])


class Growth(NamedTuple):
    """How the cost of a learner grows with the rows that it is trained on: exponents.

    Parameters
    ----------
    least
        Least exponent of the seconds of fitting.
    usual
        The exponent where too little is measured.
    per_row
        Least exponent of the seconds that one prediction takes; neighbours, for example, are found among all rows.
    most_per_row
        Largest exponent of these.
    """

    least: float = 1.0
    usual: float = 1.1
    per_row: float = 0.0
    most_per_row: float = 0.35


USUAL_GROWTH: Final = Growth()


def extended(times: Sequence[tuple[int, float]], full_size: int) -> float:
    """Estimate the seconds that a learner takes on `full_size` rows.

    Parameters
    ----------
    times
        Pairs of size and seconds, the largest size last. An exponent is fitted to them on a log-log scale and limited
        to `EXPONENTS`; it is 1 if fewer than two times are long enough.
    full_size
        Number of rows to extrapolate to.
    """
    size, seconds = times[-1]
    points = [(math.log(n), math.log(s)) for n, s in times if s >= SMALLEST_TIME]
    exponent = 1.0
    if len(points) > 1:
        mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        exponent = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    least, most = EXPONENTS
    return float(seconds * (full_size / size) ** min(max(exponent, least), most))


def seconds_ahead(
    points: Sequence[tuple[int, Measurement]],
    size: int,
    growth: Growth = USUAL_GROWTH,
    rows: int | None = None,
) -> float:
    """Estimate the seconds of fitting and scoring at a larger size.

    Parameters
    ----------
    points
        Sizes and measurements of a learner, the largest size last. Where it is not known how many seconds went into
        fitting and how many into scoring, their sum is extended.
    size
        The number of rows to extrapolate to.
    growth
        How the cost of the learner grows.
    rows
        The number of validation rows at that size; None if it is the same as at the last.
    """
    last_size, last = points[-1]
    if last.fitting is None or last.scoring is None:
        return extended([(each, point.own_seconds) for each, point in points], size)
    known = [(each, point) for each, point in points if point.fitting is not None and point.scoring is not None]
    fitting = [(each, point.fitting or 0.0) for each, point in known]
    factor = size / last_size
    found = last.fitting * factor ** min(max(_slope(fitting, growth.usual), growth.least), EXPONENTS[1])
    if not last.scoring:
        return found
    scored = [point.scored or rows or 1 for _, point in known]
    scoring = [(each, point.scoring or 0.0) for each, point in known]
    slope = _slope(scoring, growth.per_row, scored)
    limited = min(max(slope, growth.per_row), growth.most_per_row)
    return found + last.scoring * factor**limited * (rows or scored[-1]) / scored[-1]


def evaluation_ahead(
    points: Sequence[tuple[int, Measurement]],
    size: int,
    growth: Growth = USUAL_GROWTH,
    rows: int | None = None,
) -> float:
    """Estimate the seconds of a whole evaluation at a larger size; parameters as for `seconds_ahead`.

    Besides fitting and scoring, it takes as long as at the last size.
    """
    _, last = points[-1]
    return seconds_ahead(points, size, growth, rows) + max(last.seconds - last.own_seconds, 0.0)


def _slope(times: Sequence[tuple[int, float]], usual: float, rows: Sequence[int] | None = None) -> float:
    """Return the exponent between the last two sizes, per row that was scored; the usual one if they are too short."""
    if len(times) < 2 or min(times[-1][1], times[-2][1]) < SMALLEST_TIME:  # noqa: PLR2004  # two points make a slope
        return usual
    (size, seconds), (next_size, more) = times[-2:]
    if rows:
        seconds, more = seconds / rows[-2], more / rows[-1]
    return math.log(more / seconds) / math.log(next_size / size)
