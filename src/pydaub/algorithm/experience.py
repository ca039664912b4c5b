"""What a step to more rows brings: the quantiles of recorded curves, corrected by what the steps of this run brought.

Recorded curves tell how the log-error reduction of a step is distributed after a certain slope (`recorded.py`, written
by `python -m benchmarks.lcdb.steps`). They are only the prior: where the steps of this run fall among the recorded ones
moves the distribution for the steps that are to come, and narrows or widens it (`Experience`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydaub.algorithm.recorded import DOUBLINGS, FIRST, SLOPES, STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE: Final[list[Any]] = [FIRST, STEPS]  # in use
# The quantiles that are recorded, and the share of the outcomes that each stands for.
LEVELS: Final = (0.01, 0.05, 0.14, 0.29, 0.50, 0.71, 0.86, 0.95, 0.99)
WEIGHTS: Final = (0.02, 0.06, 0.12, 0.18, 0.24, 0.18, 0.12, 0.06, 0.02)
NORMAL: Final = (-2.326, -1.645, -1.080, -0.553, 0.0, 0.553, 1.080, 1.645, 2.326)  # of a normal variable
MIDDLE: Final = LEVELS.index(0.5)
TAIL: Final = math.log(LEVELS[1] / LEVELS[0])  # how much rarer the outermost quantile is than the one before it
SLOPE_UNIT: Final = 0.02  # slopes are told apart on the scale of arcsinh(slope / SLOPE_UNIT)
# What a run's steps tell of its next ones. MEANS is the variance of the means of places between recorded runs. A run's
# own variance around its mean is USUAL_VARIANCE on average, which counts as much as PRIOR steps. FREEDOM makes tails
# about as long as recorded ones while few steps are known. Steps to other sizes than the one that is forecast count for
# less, steps of the learner's own family for more.
MEANS, USUAL_VARIANCE, PRIOR = 0.1, 0.6, 2.0
FREEDOM: Final = 4.0  # degrees, of Student's distribution
OTHER_SIZE, OWN_FAMILY = 0.4, 4.0
AGAIN: Final = 1.5  # the distributions are worked out anew when the number of steps has grown by this factor
FARTHEST: Final = 4.5  # place at which a step of this run counts at most


def reductions(slope: float | None, doublings: float) -> tuple[float, ...]:
    """Return the recorded quantiles of the log-error reduction over so many doublings of the rows.

    Parameters
    ----------
    slope
        Log-error reduction per doubling in the step before; None for a learner with a single point.
    doublings
        Their number; between two recorded ones, and below the first, quantiles are interpolated, and beyond the last
        they grow in proportion.
    """
    place = bisect_left(DOUBLINGS, doublings)
    if place == len(DOUBLINGS):
        return tuple(each * doublings / DOUBLINGS[-1] for each in _recorded(slope, place - 1))
    above = _recorded(slope, place)
    if place == 0:
        return tuple(each * doublings / DOUBLINGS[0] for each in above)
    share = (doublings - DOUBLINGS[place - 1]) / (DOUBLINGS[place] - DOUBLINGS[place - 1])
    return tuple(low + share * (high - low) for low, high in zip(_recorded(slope, place - 1), above, strict=True))


def _recorded(slope: float | None, place: int) -> Sequence[float]:
    first, steps = TABLE
    if slope is None:
        found: Sequence[float] = first[place]
        return found
    at = min(max(math.asinh(slope / SLOPE_UNIT), SLOPES[0]), SLOPES[-1]) - SLOPES[0]
    at /= SLOPES[1] - SLOPES[0]
    left = min(int(at), len(SLOPES) - 2)
    share = at - left
    return [low + share * (high - low) for low, high in zip(steps[place][left], steps[place][left + 1], strict=True)]


class Experience:
    """Where the steps of this run fell among the recorded ones.

    A step's *place* says where among the recorded quantiles it fell, as a normal variable: 0 is the median. Places are
    comparable between learners with different slopes: they tell how the gains of this run follow each other. Their mean
    and their variance differ from run to run, and are learned from its steps; recorded runs are the prior. A step is
    from one place of the schedule to the next, and learners of one family gain alike.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str | None], Moments] = {}
        self._count, self._used = 0, 0
        self._known: dict[tuple[int, str | None, float], tuple[float, ...]] = {}

    def add(self, step: int, family: str | None, recorded: Sequence[float], reduction: float) -> bool:
        """Take up a step, and return whether forecasts have changed because of it.

        Parameters
        ----------
        step
            Its number in the schedule.
        family
            The learner's family, if it has one.
        recorded
            The quantiles that were recorded for such a step.
        reduction
            What the step brought.
        """
        key = step, family
        self._seen[key] = self._seen.get(key, Moments()).with_one(place_of(recorded, reduction))
        self._count += 1
        if self._count < AGAIN * self._used:
            return False
        self._used = self._count
        self._known.clear()
        return True

    def spread(self, step: int, family: str | None, surprise: float = 1.0) -> tuple[float, ...]:
        """Return the places of the quantiles at `LEVELS`; `surprise` is that of the learner's `Growth`."""
        key = step, family, surprise
        if key not in self._known:
            total = Moments()
            for (other, kind), seen in self._seen.items():
                weight = 1.0 if other == step else OTHER_SIZE
                total = total.plus(seen, weight * (OWN_FAMILY if family is not None and kind == family else 1.0))
            self._known[key] = learned(total, surprise)
        return self._known[key]


class Moments(NamedTuple):
    """The number of some places, their sum, and the sum of their squares, each with its weight."""

    number: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def with_one(self, place: float) -> Moments:
        """Return the moments with one more place."""
        return Moments(self.number + 1, self.total + place, self.squares + place**2)

    def plus(self, other: Moments, weight: float) -> Moments:
        """Return the moments of both, if those of the other have this weight."""
        return Moments(*(own + weight * more for own, more in zip(self, other, strict=True)))


def learned(seen: Moments, surprise: float = 1.0) -> tuple[float, ...]:
    """Return the places of the quantiles at `LEVELS`, after those that were seen in this run.

    A run's steps share a mean, and spread around it alike. Both differ from run to run: the mean by `MEANS`, and the
    variance around `USUAL_VARIANCE`, which counts as much as `PRIOR` steps.

    Parameters
    ----------
    seen
        The places of this run.
    surprise
        By how many times the deviation is that of other learners.

    >>> learned(Moments()) == NORMAL
    True
    >>> sum(learned(Moments(30, 60.0, 125.0))) > 0
    True
    """
    if not seen.number:
        return NORMAL if surprise == 1 else tuple(surprise * each for each in NORMAL)
    average = seen.total / seen.number
    apart = max(seen.squares - seen.total * average, 0.0)
    variance = (PRIOR * USUAL_VARIANCE + apart) / (PRIOR + seen.number)
    known = seen.number / variance
    mean = average * known / (known + 1 / MEANS)
    deviation = surprise * math.sqrt(variance + 1 / (known + 1 / MEANS))
    return tuple(mean + deviation * _wider(each, FREEDOM + seen.number) for each in NORMAL)


def _wider(place: float, freedom: float) -> float:
    """Return the quantile of Student's distribution at that of a normal one: a variance from few steps is uncertain."""
    once = (place**3 + place) / (4 * freedom)
    return place + once + (5 * place**5 + 16 * place**3 + 3 * place) / (96 * freedom**2)


def place_of(recorded: Sequence[float], reduction: float) -> float:
    """Return the place of a reduction among the recorded quantiles, extended beyond the first and the last."""
    right = min(max(bisect_left(recorded, reduction), 1), len(recorded) - 1)
    low, high = recorded[right - 1], recorded[right]
    share = (reduction - low) / (high - low) if high > low else 1.0
    return min(max(NORMAL[right - 1] + share * (NORMAL[right] - NORMAL[right - 1]), -FARTHEST), FARTHEST)


def at_places(recorded: Sequence[float], places: Sequence[float]) -> tuple[float, ...]:
    """Return the reductions at these places among the recorded quantiles."""
    if places is NORMAL:
        return tuple(recorded)
    found = []
    for place in places:
        right = min(max(bisect_left(NORMAL, place), 1), len(recorded) - 1)
        share = (place - NORMAL[right - 1]) / (NORMAL[right] - NORMAL[right - 1])
        found.append(recorded[right - 1] + share * (recorded[right] - recorded[right - 1]))
    return tuple(found)
