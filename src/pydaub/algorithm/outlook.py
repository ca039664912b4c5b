"""Probabilistic forecast of a learner's full-data score, used by the strategy `frugal` to weigh gain against time.

A learner's error is the distance of its score from the best possible score (`top`). Each further size multiplies the
error by exp(-Y), where the log-error reduction Y is normally distributed, and so on until the full size.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pydaub.algorithm.curve import extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.curve import Curve

# All of these were tuned on recorded learning curves of data sets with odd ids (benchmarks/lcdb), then rounded.
FIRST_MEAN: Final = 0.12  # expected log-error reduction per doubling, for a learner with a single point
FIRST_DEVIATION: Final = 0.15  # its standard deviation
RELATIVE_DEVIATION: Final = 1.5  # standard deviation over the last step's part, from the second point on
# Standard deviation of the whole log-error reduction for a learner that has stopped improving. Without it, one flat or
# falling step would end a learner at any price of time.
FLAT_DEVIATION: Final = 0.01
# Share of the standard error that is specific to a learner. All learners are scored on the same validation rows, so
# most of the error is common to them and cancels in a comparison.
OWN_NOISE: Final = 0.25
BOUND_DEVIATIONS: Final = 2.0  # standard deviations between the mean forecast and the bound

# Numerical safeguards.
LEAST_DEVIATION: Final = 1e-9  # avoids a division by zero
MOST_REDUCTION: Final = 10.0  # cap on the log-error reduction; exp(-10) is practically zero
SMALLEST_SHARE: Final = 1e-4  # floor on the error as a share of the learner's largest, if the noise is not known
SMALLEST_ERROR: Final = 1e-300  # avoids the logarithm of zero
LARGEST_ERROR: Final = 1e200  # avoids an overflow
STEPS: Final = 40  # iterations of Newton's method, and of the bisection that follows if it does not converge
PRECISION: Final = 1e-9  # tolerance on the gain, relative to the cost
LEAST_SECONDS: Final = 1e-3  # added to every training time, so that no training is free
NEGLIGIBLE: Final = -9.0  # standard deviations; the probability of less is below the resolution of a float near 1

# Gauss-Hermite quadrature of a standard normal variable with five nodes. Seven nodes give the same figures on the
# recorded curves, three give worse ones.
_ROOT = math.sqrt(10)
_NEAR, _FAR = math.sqrt(5 - _ROOT), math.sqrt(5 + _ROOT)
NODES: Final = (-_FAR, -_NEAR, 0.0, _NEAR, _FAR)
WEIGHTS: Final = ((7 - 2 * _ROOT) / 60, (7 + 2 * _ROOT) / 60, 8 / 15, (7 + 2 * _ROOT) / 60, (7 - 2 * _ROOT) / 60)
HALF_ROOT: Final = math.sqrt(0.5)

# A decision tree. A stage is a pair: its seconds, and one subtree for each quadrature node. A leaf, the training at the
# full size, has its seconds and the lognormal distribution of the final error: the standardised logarithm of the
# error, the standard deviation of that logarithm, and the mean error.
STAGE_LENGTH: Final = 2
_Leaf: TypeAlias = tuple[float, float, float, float]
_Stage: TypeAlias = "tuple[float, list[_Stage | _Leaf]]"


@dataclass(frozen=True, slots=True)
class Outlook:
    """Forecast for one learner that has not been trained at the full size yet.

    Parameters
    ----------
    top
        Best possible score.
    error
        Current distance of the validation score from `top`.
    last_reduction
        Log-error reduction per doubling between the last two points; None for a learner with a single point.
    noise
        Learner-specific standard error of a score, up to the factor sqrt(p (1 - p)) of a proportion p.
    steps
        For each size still ahead, the full size last: the number of doublings from the size before it, and the
        expected seconds of training.
    """

    top: float
    error: float
    last_reduction: float | None
    noise: float
    steps: tuple[tuple[float, float], ...]

    @property
    def bound(self) -> float:
        """Optimistic full-data score: `BOUND_DEVIATIONS` standard deviations better than the mean forecast."""
        doublings = sum(doublings for doublings, _ in self.steps)
        mean, deviation = self.log_reduction(self.error, self.last_reduction, doublings)
        return self.top - self.error * math.exp(-mean - BOUND_DEVIATIONS * deviation)

    def worth(self, rate: float, least: float = -math.inf) -> float:
        """Return the score up to which training this learner pays on average, at a price of `rate` per second.

        If another learner already has a higher score, the expected improvement is less than the price of the time.
        At this score s the expected gain is zero: the expected excess of the full-data score over s, less the price of
        the training time, if training stops as soon as going on does not pay. With one step left it is Weitzman's
        reservation price (1979). With several it is the price of a box that is opened in stages (Gupta, Jiang, Scully
        and Singla, "The Markovian Price of Information", 2019).

        The gain of each stopping policy is linear in the score and in the rate, and the best policy is their maximum.
        So the gain is convex in the score, which lets Newton's method converge from one side, and the worth is convex
        in the rate.

        Parameters
        ----------
        rate
            Price of a second, in units of the score.
        least
            Known lower limit of the result, from which the search starts. It changes the result by rounding only;
            without it, the search is a cold start, so that identical learners tie exactly.
        """
        tree = self._tree(self.error, self.last_reduction, 0)
        cost = rate * sum(seconds for _, seconds in self.steps)
        room = min(2 * max(self.error, cost), self.top - least)
        while _gain(tree, room, rate)[0] < 0:
            room *= 2
        for _ in range(STEPS):
            gain, probability = _gain(tree, room, rate)
            if gain <= PRECISION * cost:
                return self.top - room
            room -= gain / probability
        too_little = 0.0
        for _ in range(STEPS):
            middle = (too_little + room) / 2
            too_little, room = (too_little, middle) if _gain(tree, middle, rate)[0] > 0 else (middle, room)
        return self.top - room

    def log_reduction(self, error: float, last_reduction: float | None, doublings: float) -> tuple[float, float]:
        """Return mean and standard deviation of the log-error reduction over this number of doublings.

        Each doubling is expected to bring half the reduction of the one before. For a learner with a single point the
        average over many learners is used.
        """
        if last_reduction is None:
            mean, deviation = FIRST_MEAN * doublings, FIRST_DEVIATION * doublings
        else:
            part = 1 - 2**-doublings
            mean = max(last_reduction, 0.0) * part
            deviation = math.hypot(RELATIVE_DEVIATION * last_reduction, FLAT_DEVIATION) * part
        if self.noise and error < 1:
            deviation = math.hypot(deviation, self.noise * math.sqrt((1 - error) / error))
        return min(mean, MOST_REDUCTION), min(deviation, MOST_REDUCTION)

    def _tree(self, error: float, last_reduction: float | None, place: int) -> _Stage | _Leaf:
        """Return the decision tree of the steps from `place` on."""
        doublings, seconds = self.steps[place]
        mean, deviation = self.log_reduction(error, last_reduction, doublings)
        if place == len(self.steps) - 1:
            deviation = max(deviation, LEAST_DEVIATION)
            standardised = (math.log(error) - mean) / deviation
            return seconds, standardised, deviation, error * math.exp(deviation**2 / 2 - mean)
        subtrees = []
        for node in NODES:
            reduction = mean + deviation * node
            remaining = min(error * math.exp(-reduction), LARGEST_ERROR)
            subtrees.append(self._tree(remaining, reduction / doublings, place + 1))
        return seconds, subtrees


def expected(curve: Curve, sizes: Sequence[int], top: float = 1.0, valid_rows: int | None = None) -> Outlook:
    """Return the outlook of a learner with at least one point.

    Parameters
    ----------
    curve
        What was measured so far. The training scores do not count: they cap the bound of the paper (Alg. 1,
        UpdateBound), but the training score of a learner that underfits rises with more rows.
    sizes
        The sizes still ahead, the full size last.
    top
        Best possible score.
    valid_rows
        Number of validation rows, from which the standard error of a score follows; None if it is not known.
    """
    errors = [top - measurement.valid_score for measurement in curve.measurements]
    smallest = SMALLEST_SHARE * max(errors) if valid_rows is None else 0.5 / valid_rows
    error = max(errors[-1], smallest, SMALLEST_ERROR)
    last_reduction = None
    if len(curve.sizes) > 1:
        before = max(errors[-2], smallest, SMALLEST_ERROR)
        last_reduction = math.log(before / error) / math.log2(curve.sizes[-1] / curve.sizes[-2])
    noise = 0.0 if valid_rows is None else OWN_NOISE / math.sqrt(valid_rows)
    times = [(size, point.seconds) for size, point in zip(curve.sizes, curve.measurements, strict=True)]
    steps = tuple(
        (math.log2(size / smaller), extended(times, size) + LEAST_SECONDS)
        for smaller, size in zip((curve.sizes[-1], *sizes), sizes, strict=False)
    )
    return Outlook(top, error, last_reduction, noise, steps)


def ceiling(top: float | None, best: float, firsts: Sequence[float]) -> float:
    """Return the best possible score; where that is unknown, as far above the best as the median is below it.

    `firsts` are scores at the first size in increasing order. It is their median that counts, so that one learner that
    diverges does not matter.
    """
    if top is not None and best <= top:
        return top
    count = bisect_left(firsts, best)
    below = best - firsts[count // 2] if count else 0.0
    return best + (below or 1e-9 * abs(best) or 1e-9)  # in any unit, above the best


def _gain(tree: _Stage | _Leaf, room: float, rate: float) -> tuple[float, float]:
    """Return the expected gain over the score `top - room`, and the probability of exceeding that score.

    The probability is the derivative of the gain by `room`.
    """
    if room <= 0:
        return -rate * tree[0], 0.0
    return _gain_of(tree, room, math.log(room), rate)


def _gain_of(tree: _Stage | _Leaf, room: float, log_room: float, rate: float) -> tuple[float, float]:
    if len(tree) == STAGE_LENGTH:
        gain, probability = -rate * tree[0], 0.0
        for subtree, weight in zip(tree[1], WEIGHTS, strict=True):
            following, exceeds = _gain_of(subtree, room, log_room, rate)
            if following > 0:  # otherwise training stops here
                gain += weight * following
                probability += weight * exceeds
        return gain, probability
    # The expected excess has the form of a put option on a lognormal price (Black and Scholes, 1973).
    seconds, standardised, deviation, mean_error = tree
    distance = log_room / deviation - standardised
    if distance < NEGLIGIBLE:
        return -rate * seconds, 0.0
    probability = 0.5 * math.erfc(-HALF_ROOT * distance)
    excess = room * probability - mean_error * 0.5 * math.erfc(HALF_ROOT * (deviation - distance))
    return (excess if excess > 0 else 0.0) - rate * seconds, probability
