"""Chances calibrated on recorded curves: that one learner overtakes another, and what more rows would bring.

Both concern a learner's error, the distance of its score from the best possible one, and are free of scale. Errors on
one data set fall together, so a learner is compared with the selected one, not forecast alone. The constants come from
`benchmarks/calibrate.py`, which also prints how often the statements were true on data sets that it did not fit.

The functions that are fitted use plain arithmetic, so that they work with arrays as well as with numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pydaub.algorithm.calibrated import MORE_ROWS, OVERTAKES_AFTER_MORE, OVERTAKES_AFTER_ONE
from pydaub.algorithm.forecast import MOST_REDUCTION, SMALLEST_ERROR, SMALLEST_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONFIDENCE: Final = 0.95  # of the margin, over all learners together
INTERVAL: Final = 0.90  # share of the intervals of `more_rows` that contain the truth
ASSUMED_ROWS: Final = 1000  # behind a score, where their number is not known
LEAST_LEFT: Final = 0.02  # of 1 - error, in the noise of an error near or above 1
HALVINGS: Final = 40  # of the interval in which the margin is searched


class Overtaking(NamedTuple):
    """Constants of the distribution of how much a learner catches up: an exponential tail with a scale."""

    factor: float
    behind: float
    noise: float
    doublings: float
    step: float
    tail: float

    def scale(self, behind: float, noise: float, doublings: float, step: float) -> float:
        """Return the scale of the reduction of the error that is still ahead, relative to the selected learner's."""
        known: float = (abs(behind) + 0.01) ** self.behind * (noise + 0.003) ** self.noise * doublings**self.doublings
        return self.factor * known * (abs(step) + 0.01) ** self.step


class MoreRows(NamedTuple):
    """Constants of the forecast for more rows than there are."""

    middle: float
    spread: float
    doublings: float
    noise: float
    upwards: float

    def reduction(self, step: float, noise: float, doublings: float) -> tuple[float, float, float]:
        """Return the log-error reduction over this number of doublings: low, in the middle, high."""
        moved = (step * step + noise * noise) ** 0.5 + 0.003
        own, chance = self.spread * moved * doublings**self.doublings, self.noise * noise
        middle, spread = self.middle * (step + abs(step)) / 2 * doublings, (own * own + chance * chance) ** 0.5
        return middle - spread, middle, middle + self.upwards * spread


AFTER_ONE: Final = Overtaking(*OVERTAKES_AFTER_ONE)
AFTER_MORE: Final = Overtaking(*OVERTAKES_AFTER_MORE)
GROWTH: Final = MoreRows(*MORE_ROWS)


@dataclass(frozen=True, slots=True)
class Trace:
    """The errors of one learner at increasing sizes, none of them zero.

    Parameters
    ----------
    sizes, errors
        What was measured.
    rows
        On how many rows; None if that is not known.
    proportion
        Whether an error is a proportion of these rows. If not, it may be in any unit.
    """

    sizes: tuple[int, ...]
    errors: tuple[float, ...]
    rows: int | None
    proportion: bool = True

    @classmethod
    def of(cls, scores: Mapping[int, float], top: float, rows: int | None, *, proportion: bool = True) -> Trace:
        """Return the errors of these scores by size, with the best possible score `top`."""
        sizes = tuple(sorted(scores))
        errors = [top - scores[size] for size in sizes]
        least = 0.5 / rows if rows and proportion else SMALLEST_SHARE * max(errors)
        return cls(sizes, tuple(max(error, least, SMALLEST_ERROR) for error in errors), rows, proportion)

    @property
    def noise(self) -> float:
        """The relative standard error of the difference of two errors."""
        error, rows = self.errors[-1], self.rows or ASSUMED_ROWS
        if not self.proportion:
            return math.sqrt(2 / rows)
        return math.sqrt(2 * max(1 - error, LEAST_LEFT) / (error * rows))

    @property
    def before(self) -> int | None:
        """The place of the point that the last step is measured from: at most half the last size, if there is one."""
        if len(self.sizes) == 1:
            return None
        halves = [place for place, size in enumerate(self.sizes) if 2 * size <= self.sizes[-1]]
        return halves[-1] if halves else 0

    @property
    def step(self) -> float | None:
        """The log-error reduction per doubling of the last step; None for a single point."""
        if self.before is None:
            return None
        doublings = math.log2(self.sizes[-1] / self.sizes[self.before])
        return _limited(math.log(self.errors[self.before] / self.errors[-1])) / doublings

    def at(self, size: int) -> float:
        """Return the error at this size, interpolated between neighbours, or that at the nearest end."""
        place = bisect_left(self.sizes, size)
        if place == len(self.sizes) or self.sizes[place] == size or place == 0:
            return self.errors[min(place, len(self.sizes) - 1)]
        smaller, larger = self.sizes[place - 1 : place + 1]
        share = math.log(size / smaller) / math.log(larger / smaller)
        return self.errors[place - 1] ** (1 - share) * self.errors[place] ** share


@dataclass(frozen=True, slots=True)
class Rival:
    """A learner that was not trained on all rows, against the selected one.

    Parameters
    ----------
    behind
        The logarithm of its error over the selected learner's, both at its last size.
    noise, doublings, step
        That error's noise, the doublings left, and the log-error reduction per doubling before; None if unknown.
    """

    behind: float
    noise: float
    doublings: float
    step: float | None

    @classmethod
    def of(cls, trace: Trace, selected: Trace, full_size: int) -> Rival:
        """Return a learner with this trace."""
        last = trace.sizes[-1]
        behind = _limited(math.log(trace.errors[-1] / selected.at(last)))
        return cls(behind, trace.noise, math.log2(full_size / last), trace.step)

    def chance(self, lead: float = 0.0) -> float:
        """Return the chance that its error on all rows is below the selected learner's times exp(-lead)."""
        return _chance(self.behind + lead, *self.tail())

    def tail(self, one: Overtaking = AFTER_ONE, more: Overtaking = AFTER_MORE) -> tuple[float, float]:
        """Return scale and height of the exponential tail of what it may catch up.

        `one` are the constants for a learner with a single point, `more` those for others.
        """
        constants = one if self.step is None else more
        return constants.scale(self.behind, self.noise, self.doublings, self.step or 0.0), constants.tail


def margin(
    rivals: Iterable[Rival], error: float, *, one: Overtaking = AFTER_ONE, more: Overtaking = AFTER_MORE
) -> float:
    """Return how much better than the selected learner, which has this error, the best of all may be.

    It is the smallest margin such that the chances of all rivals to be better by more add up to at most 1 - CONFIDENCE.
    """
    tails = [(rival.behind, *rival.tail(one, more)) for rival in rivals]

    def likely(lead: float) -> bool:
        return sum(_chance(behind + lead, scale, height) for behind, scale, height in tails) > 1 - CONFIDENCE

    if not likely(0.0):
        return 0.0
    low, high = 0.0, error
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        left = 1 - middle / error
        low, high = (middle, high) if left > 0 and likely(-math.log(left)) else (low, middle)
    return high


def more_rows(trace: Trace, times: float) -> tuple[float, float, float] | None:
    """Return the error with so many times the rows: high, in the middle and low; None where one size is known."""
    if trace.step is None:
        return None
    low, middle, high = GROWTH.reduction(trace.step, trace.noise, math.log2(times))
    error = trace.errors[-1]
    return tuple(error * math.exp(-_limited(each)) for each in (low, middle, high))  # type: ignore[return-value]


def _chance(ahead: float, scale: float, height: float) -> float:
    """Return the chance to catch up by more than `ahead`.

    A learner that was ahead and still not selected was overtaken in between, so it counts like one that was level.
    """
    return height * math.exp(-max(ahead, 0.0) / scale)


def _limited(reduction: float) -> float:
    return max(min(reduction, MOST_REDUCTION), -MOST_REDUCTION)
