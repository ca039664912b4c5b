"""Probabilistic forecast of a learner's full-data score, used by the strategy `frugal` to weigh gain against time.

A learner's error is the distance of its score from the best possible score (`top`). Each further size multiplies the
error by exp(-Y), where the log-error reduction Y is normally distributed, and so on until the full size.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import erfc
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydaub.algorithm.curve import extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.curve import Curve

# All of these were tuned on recorded learning curves of data sets with odd ids (benchmarks/lcdb), then rounded.
FIRST_MEAN: Final = 0.12  # expected log-error reduction per doubling, for a learner with a single point
FIRST_DEVIATION: Final = 0.25  # its standard deviation
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
STEPS: Final = 80  # most iterations for a worth
PRECISION: Final = 1e-9  # tolerance on the gain, relative to the price of the first step
# For upper bounds on worths: rooms for which the excess is known, in units of the error; the rates and errors within a
# factor of e for which the room of a learner with a single point is known; and a margin for rounding.
ROOMS: Final = tuple(math.exp(place / 2) for place in range(-8, 3))
RATES, TABLES, MARGIN = 4, 8, 1e-3
NEXT_RATE: Final = math.expm1(1 / RATES)
LEAST_SECONDS: Final = 1e-3  # added to every training time, so that no training is free
NEGLIGIBLE: Final = -9.0  # standard deviations; the probability of less is below the resolution of a float near 1

# Gauss-Hermite quadrature of a standard normal variable with five nodes. Seven nodes give the same figures on the
# recorded curves, three give worse ones.
_ROOT = math.sqrt(10)
_NEAR, _FAR = math.sqrt(5 - _ROOT), math.sqrt(5 + _ROOT)
NODES: Final = (-_FAR, -_NEAR, 0.0, _NEAR, _FAR)
WEIGHTS: Final[tuple[float, ...]] = (
    (7 - 2 * _ROOT) / 60,
    (7 + 2 * _ROOT) / 60,
    8 / 15,
    (7 + 2 * _ROOT) / 60,
    (7 - 2 * _ROOT) / 60,
)
ONE: Final[tuple[float, ...]] = (1.0,)
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
    seen
        Mean and standard deviation of the log-error reduction over all steps, if it is known from similar learners.
    """

    top: float
    error: float
    last_reduction: float | None
    noise: float
    steps: tuple[tuple[float, float], ...]
    seen: tuple[float, float] | None = None
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def bound(self) -> float:
        """Optimistic full-data score: `BOUND_DEVIATIONS` standard deviations better than the mean forecast."""
        mean, deviation = self._overall()
        return self.top - self.error * math.exp(-mean - BOUND_DEVIATIONS * deviation)

    @property
    def likely(self) -> float:
        """Median of the full-data score."""
        return self.top - self.error * math.exp(-self._overall()[0])

    def at_once(self) -> Outlook:
        """Return the outlook of giving the learner all rows next, without the sizes between."""
        step = (sum(doublings for doublings, _ in self.steps), self.steps[-1][1])
        return replace(self, steps=(step,), seen=self._overall())

    def _overall(self) -> tuple[float, float]:
        """Return mean and standard deviation of the log-error reduction over all steps."""
        if self.seen is None:
            return self.log_reduction(self.error, self.last_reduction, sum(doublings for doublings, _ in self.steps))
        mean, deviation = self.seen
        return min(mean, MOST_REDUCTION), min(deviation, MOST_REDUCTION)

    def _reduction(self, error: float, last_reduction: float | None, place: int) -> tuple[float, float]:
        """Return mean and standard deviation of the log-error reduction at a step."""
        doublings = self.steps[place][0]
        if self.seen is None:
            return self.log_reduction(error, last_reduction, doublings)
        mean, deviation = self._overall()
        share = doublings / sum(each for each, _ in self.steps)
        return mean * share, deviation * math.sqrt(share)

    def worth(self, rate: float) -> float:
        """Return the score up to which training this learner pays on average, at a price of `rate` per second.

        If another learner already has a higher score, the expected improvement is less than the price of the time.
        At this score s the expected gain is zero: the expected excess of the full-data score over s, less the price of
        the training time, if training stops as soon as going on does not pay. With one step left it is Weitzman's
        reservation price (1979). With several it is the price of a box that is opened in stages (Gupta, Jiang, Scully
        and Singla, "The Markovian Price of Information", 2019).

        The gain of each stopping policy is linear in the score and in the rate, and the best policy is their maximum.
        So the gain is convex in the score, and the worth is convex in the rate.

        Parameters
        ----------
        rate
            Price of a second, in units of the score.
        """
        return self.top - self.room(rate, self.top - self.most(rate))

    def room(self, rate: float, start: float) -> float:
        """Return the room above the worth, found from any start.

        The gain is that of the first step less its price. Their logarithms are nearly linear in that of the room, so
        Newton's method converges in a few steps there; an interval around the root keeps it safe.
        """
        tree, low, high, room = self.tree, 0.0, math.inf, start or self.error
        first = max(rate * self.steps[0][1], SMALLEST_ERROR)
        for _ in range(STEPS):
            gain, probability = _gain(tree, room, rate)
            if abs(gain) <= PRECISION * first:
                break
            low, high = (low, room) if gain > 0 else (room, high)
            excess = gain + first  # what the first step brings
            wanted = math.nan
            if excess > 0 and probability > 0:
                step = math.log(excess / first) * excess / (room * probability)
                wanted = room * math.exp(-min(max(step, -1.0), MOST_REDUCTION))
            room = wanted if low < wanted < high else 2 * low if high == math.inf else (low + high) / 2
        return room

    def pays(self, rate: float, score: float) -> bool:
        """Return whether the worth exceeds this score, at a fraction of the cost of computing it."""
        return _gain(self.tree, self.top - score, rate)[0] > 0

    def most(self, rate: float) -> float:
        """Return an upper bound on the worth that costs little."""
        usual = self.last_reduction is None and self.seen is None
        return self.top - (self._room_of_one_point(rate) if usual else self._room_of_more(rate))

    def _room_of_one_point(self, rate: float) -> float:
        """Interpolate between rooms that are known for certain rates; the worth is convex in the rate.

        In units of the error, all learners with a single point have the same room at the same ratio of price to error,
        except for the noise and for the constant part of the time. Both are rounded such that the room gets smaller.
        """
        if "table" not in self._cache:
            spare = LEAST_SECONDS if min(seconds for _, seconds in self.steps) > 2 * LEAST_SECONDS else 0.0
            last = self.steps[-1][1] - spare
            shares = tuple((doublings, round((seconds - spare) / last, 9)) for doublings, seconds in self.steps)
            near = math.exp(math.floor(math.log(self.error) * TABLES) / TABLES) if self.noise else 0.5
            self._cache["table"] = last / self.error, shares, near
        seconds, shares, near = self._cache["table"]
        ratio = rate * seconds
        if not 1 / LARGEST_ERROR < ratio < LARGEST_ERROR:
            return 0.0
        place = math.floor(math.log(ratio) * RATES)
        low = _relative_room(shares, self.noise, near, place)
        high = _relative_room(shares, self.noise, near, place + 1)
        cheap = math.exp(place / RATES)
        return self.error * (low + (high - low) * (ratio / cheap - 1) / NEXT_RATE) * (1 - MARGIN)

    def _room_of_more(self, rate: float) -> float:
        """Let only those futures pay for the steps after the first in which the score is exceeded.

        The expected excess without any price comes from a table. It is convex in the room, so that the line between two
        entries is above it.
        """
        if "excesses" not in self._cache:
            known = [_gain(self.tree, self.error * room, 0.0)[0] for room in ROOMS]
            self._cache["excesses"] = known, sum(seconds for _, seconds in self.steps[1:])
        excesses, later = self._cache["excesses"]
        price, later = rate * self.steps[0][1], rate * later
        place = bisect_left(excesses, price)
        if place == len(ROOMS):  # from there on, each unit of room brings at most one of excess
            return later + self.error * ROOMS[-1] + price - excesses[-1]
        smaller, less = (ROOMS[place - 1], excesses[place - 1]) if place else (0.0, 0.0)
        more = excesses[place] - less
        return later + self.error * (smaller + (ROOMS[place] - smaller) * ((price - less) / more if more else 0.0))

    @property
    def tree(self) -> _Stage | _Leaf:
        """The decision tree of all steps."""
        if "tree" not in self._cache:
            self._cache["tree"] = self._tree(self.error, self.last_reduction, 0)
        tree: _Stage | _Leaf = self._cache["tree"]
        return tree

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
        mean, deviation = self._reduction(error, last_reduction, place)
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


def expected(  # noqa: PLR0913, PLR0917  # what is known of a learner
    curve: Curve,
    sizes: Sequence[int],
    top: float = 1.0,
    valid_rows: int | None = None,
    costs: Sequence[float] | None = None,
    seen: tuple[float, float] | None = None,
) -> Outlook:
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
    costs
        The seconds of training at these sizes; None to extend those that were measured.
    seen
        What similar learners have gained, as in `Outlook`.
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
    costs = costs or [extended(times, size) for size in sizes]
    steps = tuple(
        (math.log2(size / smaller), cost + LEAST_SECONDS)
        for smaller, size, cost in zip((curve.sizes[-1], *sizes), sizes, costs, strict=False)
    )
    return Outlook(top, error, last_reduction, noise, steps, seen)


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


@lru_cache(maxsize=1 << 16)
def _relative_room(shares: tuple[tuple[float, float], ...], noise: float, error: float, place: int) -> float:
    """Return the room of a learner with a single point and this error, in units of the error.

    `shares` has the doublings of each step and its time as a share of the last, and exp(place / RATES) is the price of
    the last step in units of the error.
    """
    outlook = Outlook(1.0, error, None, noise, shares)
    return outlook.room(error * math.exp(place / RATES), 2 * error * max(1.0, math.exp(place / RATES))) / error


def _gain(tree: _Stage | _Leaf, room: float, rate: float) -> tuple[float, float]:
    """Return the expected gain over the score `top - room`, and the probability of exceeding that score.

    The probability is the derivative of the gain by `room`.
    """
    if room <= 0:
        return -rate * tree[0], 0.0
    return _gain_of(tree, room, math.log(room), rate)


def _gain_of(tree: _Stage | _Leaf, room: float, log_room: float, rate: float) -> tuple[float, float]:
    """Return the same, with the logarithm of a positive room.

    Most of the time of a decision is spent here, so leaves are not calls of their own.
    """
    subtrees: list[_Stage | _Leaf] = [tree]
    seconds, weights, least = 0.0, ONE, -math.inf  # a leaf alone is trained whether that pays or not
    if len(tree) == STAGE_LENGTH:
        seconds, subtrees = tree
        weights, least = WEIGHTS, 0.0  # training stops where it does not pay
    gain, probability = -rate * seconds, 0.0
    for subtree, weight in zip(subtrees, weights, strict=True):
        if len(subtree) == STAGE_LENGTH:
            following, exceeds = _gain_of(subtree, room, log_room, rate)
        else:
            # The expected excess has the form of a put option on a lognormal price (Black and Scholes, 1973).
            seconds, standardised, deviation, mean_error = subtree
            distance = log_room / deviation - standardised
            following, exceeds = -rate * seconds, 0.0
            if distance >= NEGLIGIBLE:
                exceeds = 0.5 * erfc(-HALF_ROOT * distance)
                excess = room * exceeds - mean_error * 0.5 * erfc(HALF_ROOT * (deviation - distance))
                if excess > 0:
                    following += excess
        if following > least:
            gain += weight * following
            probability += weight * exceeds
    return gain, probability
