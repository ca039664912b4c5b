"""The forecast of a learner's score with more rows: a distribution, from recorded curves and from this run's own steps.

A score is turned into an *error* (`Scale`). A step to more rows divides the error by exp(Y), where Y is drawn from what
recorded curves and the steps of this run tell (`experience.py`).
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pydaub.algorithm.experience import (
    LEVELS,
    MIDDLE,
    NORMAL,
    SLOPE_UNIT,
    TABLE,
    TAIL,
    WEIGHTS,
    at_places,
    reductions,
)
from pydaub.algorithm.recorded import FIRST, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NORMALS: Final = NormalDist()
SMALLEST_CHANCE: Final = 1e-12
BEST: Final = 0.95  # the quantile that is shown as the most that a learner may reach
# Share of the standard error that is specific to a learner. All learners are scored on the same validation rows, so
# most of the error is common to them and cancels in a comparison.
OWN_NOISE: Final = 0.25

LONG_RUNNING: Final = 0.5  # a training that takes longer than forecast will take this share of its time longer still

# Numerical safeguards.
MOST_REDUCTION: Final = 10.0  # cap on a log-error reduction; exp(-10) is practically zero
SMALLEST_SHARE: Final = 1e-4  # floor on the error as a share of the learner's largest, if the noise is not known
SMALLEST_ERROR: Final = 1e-300  # avoids the logarithm of zero
LARGEST_ERROR: Final = 1e200  # avoids an overflow
LEAST_SECONDS: Final = 1e-3  # added to every training time, so that no training is free
LOOKS: Final = 80  # most iterations for a worth
PRECISION: Final = 1e-9  # tolerance on the gain, relative to the price of the first step
# Slopes and noise are rounded to 1 / ROUNDED, and prices to a factor of exp(1 / CELLS), so that learners share trees
# and bounds.
ROUNDED, CELLS, MARGIN = 20, 6, 1e-6

# The best final error, and what follows each reduction: trees; or in the end the errors in ascending order, and the sum
# of the first of them, weighted.
_Leaf: TypeAlias = tuple[float, tuple[float, ...], tuple[float, ...]]
_Tree: TypeAlias = "tuple[float, tuple[_Tree | _Leaf, ...]] | _Leaf"
STAGE_LENGTH: Final = 2
SHARES: Final = (0.0, *accumulate(reversed(WEIGHTS)))  # how much the first errors count, the best first


class Price(NamedTuple):
    """What time costs: the aim is the highest score - delta x log2(time).

    Parameters
    ----------
    delta
        The error that one would accept more to halve the time.
    spent
        Seconds so far.
    """

    delta: float
    spent: float

    def of(self, seconds: Iterable[float]) -> list[float]:
        """Return what each of these steps costs, one after the other."""
        found, before = [], self.spent
        for each in seconds:
            found.append(self.delta * math.log1p(each / before) / math.log(2))
            before += each
        return found


class Scale(NamedTuple):
    """How scores are errors: what is added up, and forecast.

    Parameters
    ----------
    top
        Best possible score.
    logarithmic
        Whether the error is -log(score), as for proportions: then a proportion, its logarithm and a loss of which it is
        the exponential are forecast alike. Otherwise the error is the distance from `top`.
    """

    top: float
    logarithmic: bool = False

    def error(self, score: float) -> float:
        """Return the error of a score; 0 at the best possible one."""
        if not self.logarithmic:
            return max(self.top - score, 0.0)
        return -math.log(min(max(score, SMALLEST_SHARE), 1.0))

    def score(self, error: float) -> float:
        """Return the score with this error."""
        return math.exp(-error) if self.logarithmic else self.top - error

    @classmethod
    def of(cls, top: float | None, best: float, firsts: Sequence[float], *, proportion: bool = False) -> Scale:
        """Return the scale of scores of which `best` is the highest and `firsts` are those at the first size, sorted.

        Where the best possible score is unknown, it is taken to be as far above the best as the median is below it. It
        is the median that counts, so that one learner that diverges does not matter.
        """
        if top is not None and best <= top:
            return cls(top, proportion and top == 1.0 and (not firsts or firsts[0] >= 0))
        count = bisect_left(firsts, best)
        below = best - firsts[count // 2] if count else 0.0
        return cls(best + (below or 1e-9 * abs(best) or 1e-9))  # in any unit, above the best


def noise_of(scale: Scale, error: float, rows: int | None) -> float:
    """Return the standard error of its own of the logarithm of an error that was measured on so many rows."""
    if not rows:
        return 0.0
    share = min(max(scale.score(error), SMALLEST_SHARE), 1.0)
    deviation = math.sqrt(share * (1 - share) / rows)
    return OWN_NOISE * deviation / (share if scale.logarithmic else 1.0) / error


def use(first: Sequence[Sequence[float]] = FIRST, steps: Sequence[Sequence[Sequence[float]]] = STEPS) -> None:
    """Forecast by another table than the one that is shipped, for benchmarks."""
    TABLE[:] = first, steps
    for each in (_relative_room, _tree, _after):
        each.cache_clear()


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Return the height at x of the line through these points, level beyond the first and the last."""
    right = bisect_left(xs, x)
    if right in (0, len(xs)):
        return ys[min(right, len(xs) - 1)]
    share = (x - xs[right - 1]) / (xs[right] - xs[right - 1]) if xs[right] > xs[right - 1] else 0.0
    return ys[right - 1] + share * (ys[right] - ys[right - 1])


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast for one learner that has not been trained at the full size yet.

    Parameters
    ----------
    scale
        What errors are.
    error
        Its error now.
    slope
        Log-error reduction per doubling between its last two sizes; None for a learner with a single point.
    noise
        Standard error of its own of the logarithm of its error.
    steps
        For each size still ahead, the full size last: the number of doublings from the size before it, and the
        expected seconds of training.
    spreads
        For each of these steps, the places among the recorded quantiles, from `Experience`.
    """

    scale: Scale
    error: float
    slope: float | None
    noise: float
    steps: tuple[tuple[float, float], ...]
    spreads: tuple[tuple[float, ...], ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """The errors with all rows at `LEVELS` of the reduction: from the worst to the best."""
        doublings = sum(each for each, _ in self.steps)
        after = _after(self._place, self._noise, doublings, self.spreads[0])
        return tuple(min(self.error * factor, LARGEST_ERROR) for factor, _ in after)

    def gain(self, least: float) -> float:
        """Return by how much the score with all rows exceeds this one on average, where it does."""
        scores = map(self.scale.score, self.errors)
        return sum(weight * max(each - least, 0.0) for weight, each in zip(WEIGHTS, scores, strict=True))

    def quantile(self, level: float) -> float:
        """Return the score with all rows that is not reached with this probability."""
        falls = self._falls
        if level < LEVELS[0]:
            fall = falls[0] + _tail(falls[:2]) * math.log(max(level, SMALLEST_ERROR) / LEVELS[0])
        elif level > LEVELS[-1]:
            fall = falls[-1] - _tail(falls[-2:]) * math.log(max(1 - level, SMALLEST_ERROR) / (1 - LEVELS[-1]))
        else:
            fall = _between(LEVELS, falls, level)
        return self.scale.score(min(self.error * math.exp(-max(fall, -MOST_REDUCTION)), LARGEST_ERROR))

    def chance(self, score: float) -> float:
        """Return the probability that the score with all rows is higher than this one.

        Beyond the first and the last quantile, the tails of the log-error reduction are exponential.
        """
        falls, error = self._falls, self.scale.error(score)
        fall = math.log(self.error / error) if error > 0 else math.inf
        if fall < falls[0]:
            wide = _tail(falls[:2])
            return 1 - LEVELS[0] * math.exp((fall - falls[0]) / wide) if wide else 1.0
        if fall >= falls[-1]:
            wide = _tail(falls[-2:])
            return (1 - LEVELS[-1]) * math.exp((falls[-1] - fall) / wide) if wide else 0.0
        right = bisect_right(falls, fall)
        share = (fall - falls[right - 1]) / (falls[right] - falls[right - 1])
        return 1 - LEVELS[right - 1] - share * (LEVELS[right] - LEVELS[right - 1])

    @property
    def _falls(self) -> tuple[float, ...]:
        """The log-error reductions at `LEVELS`."""
        doublings = sum(each for each, _ in self.steps)
        return tuple(-math.log(factor) for factor, _ in _after(self._place, self._noise, doublings, self.spreads[0]))

    @property
    def likely(self) -> float:
        """The score with all rows that is as likely to be exceeded as not."""
        return self.scale.score(self.errors[MIDDLE])

    @property
    def bound(self) -> float:
        """The score with all rows that is exceeded in one case of twenty."""
        return self.quantile(BEST)

    def at_once(self) -> Forecast:
        """Return the forecast of giving the learner all rows next, without the sizes between."""
        step = (sum(doublings for doublings, _ in self.steps), self.steps[-1][1])
        return Forecast(self.scale, self.error, self.slope, self.noise, (step,), self.spreads[:1])

    def under_way(self, elapsed: float) -> Forecast:
        """Return the forecast once the next step has taken so many seconds: what is left of it, and of the others."""
        (doublings, seconds), *rest = self.steps
        left = max(seconds - elapsed, LONG_RUNNING * elapsed)
        return replace(self, steps=((doublings, left), *rest))

    def worth(self, price: Price) -> float:
        """Return the score up to which training this learner pays on average.

        If another learner already has a higher score, the expected improvement is less than the price of the time.
        At this score the expected gain is zero: the expected fall of the error below that of the score, less the price
        of the training time, if training stops as soon as going on does not pay. With one step left it is Weitzman's
        reservation price (1979). With several it is the price of a box that is opened in stages (Gupta, Jiang, Scully
        and Singla, "The Markovian Price of Information", 2019).
        """
        return self.scale.score(self.room(price))

    def room(self, price: Price) -> float:
        """Return the error of the worth.

        The gain is a convex, piecewise linear function of the error, so that Newton's method ends after a few steps.
        """
        tree, low, high, prices = self.tree, 0.0, math.inf, self._prices(price)
        room = 1 + prices[0]
        for _ in range(LOOKS):
            gain, slope = gain_of(tree, room, prices)
            if abs(gain) <= PRECISION * prices[0]:
                break
            low, high = (low, room) if gain > 0 else (room, high)
            room = room - gain / slope if slope > 0 else 2 * room
            if not low < room < high:
                room = 2 * low if high == math.inf else (low + high) / 2
                if not low < room < high:
                    break
        return room * self.error

    def pays(self, price: Price, error: float) -> bool:
        """Return whether it is worth training while another learner has this error, for a fraction of the cost."""
        return gain_of(self.tree, error / self.error, self._prices(price))[0] > 0

    def _prices(self, price: Price) -> list[float]:
        """Return the prices of the steps in units of the error."""
        return [max(each / self.error, SMALLEST_ERROR) for each in price.of(seconds for _, seconds in self.steps)]

    def most(self, price: Price) -> float:
        """Return an upper bound on the worth that costs little.

        In units of the error, all learners with a single point have the same room at the same price of their steps.
        Prices are rounded down.
        """
        if self.slope is not None:
            return self.worth(price)
        last = max(self.steps[-1][1] - LEAST_SECONDS, SMALLEST_ERROR)
        shares = tuple((doublings, _rounded((each - LEAST_SECONDS) / last)) for doublings, each in self.steps)
        cells = tuple(math.floor(math.log(each) * CELLS) for each in (price.delta / self.error, last / price.spent))
        return self.scale.score(self.error * _relative_room(shares, self._noise, self.spreads, *cells) * (1 - MARGIN))

    @property
    def tree(self) -> _Tree:
        """The errors after each of the steps, in units of the error now."""
        doublings = tuple(doublings for doublings, _ in self.steps)
        return _tree(self._place, self._noise, doublings, self.spreads)

    @property
    def _place(self) -> float | None:
        """The slope, rounded on the scale on which slopes are told apart, so that many learners share a tree."""
        return None if self.slope is None else round(math.asinh(self.slope / SLOPE_UNIT) * ROUNDED) / ROUNDED

    @property
    def _noise(self) -> float:
        return round(self.noise * ROUNDED) / ROUNDED


def _tail(falls: Sequence[float]) -> float:
    """Return the scale of an exponential tail, from the two outermost quantiles."""
    return (falls[1] - falls[0]) / TAIL


def normal_score(probability: float) -> float:
    """Return the place of a normal variable that it is below with this probability."""
    return NORMALS.inv_cdf(min(max(probability, SMALLEST_CHANCE), 1 - SMALLEST_CHANCE))


def _rounded(share: float) -> float:
    """Return a share of a time, rounded down to three digits."""
    return float(f"{max(share, 0.0) * (1 - MARGIN):.2e}") * (1 - 0.005)


def _slope_at(place: float | None) -> float | None:
    return None if place is None else SLOPE_UNIT * math.sinh(place)


@lru_cache(maxsize=1 << 14)
def _after(
    place: float | None, noise: float, doublings: float, spread: tuple[float, ...]
) -> tuple[tuple[float, float], ...]:
    """Return the errors after a step in units of that before, in descending order, and the slopes' places."""
    found = at_places(reductions(_slope_at(place), doublings), spread)
    if noise:
        middle = found[MIDDLE]
        deviations = [z * noise for z in NORMAL]
        wider = [math.copysign(math.hypot(each - middle, z), z) for each, z in zip(found, deviations, strict=True)]
        found = tuple(middle + each for each in wider)
    limited = [min(max(each, -MOST_REDUCTION), MOST_REDUCTION) for each in found]
    slopes = [round(math.asinh(each / doublings / SLOPE_UNIT) * ROUNDED) / ROUNDED for each in limited]
    return tuple((math.exp(-each), slope) for each, slope in zip(limited, slopes, strict=True))


@lru_cache(maxsize=1 << 12)
def _tree(
    place: float | None, noise: float, doublings: tuple[float, ...], spreads: tuple[tuple[float, ...], ...]
) -> _Tree:
    """Return the errors after steps over so many doublings, in units of the error before the first."""
    after = _after(place, noise, doublings[0], spreads[0])
    if len(doublings) == 1:
        errors = tuple(error for error, _ in reversed(after))
        weighted = map(operator.mul, errors, reversed(WEIGHTS))
        return errors[0], errors, (0.0, *accumulate(weighted))
    trees = tuple(_times(_tree(slope, 0.0, doublings[1:], spreads[1:]), error) for error, slope in after)
    return min(tree[0] for tree in trees), trees


def _times(tree: _Tree, factor: float) -> _Tree:
    if len(tree) == STAGE_LENGTH:
        return factor * tree[0], tuple(_times(each, factor) for each in tree[1])
    best, errors, sums = tree
    return factor * best, tuple(factor * each for each in errors), tuple(factor * each for each in sums)


@lru_cache(maxsize=1 << 16)
def _relative_room(
    shares: tuple[tuple[float, float], ...], noise: float, spreads: tuple[tuple[float, ...], ...], delta: int, last: int
) -> float:
    """Return the room of a learner with a single point, in units of its error.

    `shares` has the doublings of each step and its time as a share of the last; exp(delta / CELLS) is the price of a
    doubling of the time in units of the error, and exp(last / CELLS) the time of the last step in units of that so far.
    """
    price = Price(math.exp(delta / CELLS), math.exp(-last / CELLS))
    return Forecast(Scale(1.0), 1.0, None, noise, shares, spreads).room(price)


def gain_of(tree: _Tree, room: float, prices: Sequence[float], place: int = 0) -> tuple[float, float]:
    """Return by how much the error falls below `room` on average, less the price of the steps, and the slope by `room`.

    Most of the time of a decision is spent here.
    """
    if len(tree) != STAGE_LENGTH:
        below = bisect_left(tree[1], room)
        return room * SHARES[below] - tree[2][below] - prices[place], SHARES[below]
    gain, slope, following_price = -prices[place], 0.0, prices[place + 1]
    least = room - following_price
    for weight, subtree in zip(WEIGHTS, tree[1], strict=True):
        if subtree[0] >= least:
            continue  # training stops there, whatever may come
        if len(subtree) == STAGE_LENGTH:
            following, steep = gain_of(subtree, room, prices, place + 1)
        else:  # as above; here most calls would be made
            below = bisect_left(subtree[1], room)
            steep = SHARES[below]
            following = room * steep - subtree[2][below] - following_price
        if following > 0:
            gain += weight * following
            slope += weight * steep
    return gain, slope
