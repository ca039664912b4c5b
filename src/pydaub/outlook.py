"""What a learner may have on all rows, as a chance: the ground on which the strategy `frugal` weighs gain against time.

A learner's error is its distance from the top, the best score there can be. With its next size it is taken to be the
error of today times exp(-Y), where Y, how far it shrinks, is normal; and so on with each further size up to all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from numpy.polynomial.hermite_e import hermegauss

from pydaub.curve import extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.curve import Curve

# All chosen on recorded learning curves of data sets with an odd number (benchmarks/lcdb), rounded.
FIRST_SHRINKING: Final = 0.15  # of the logarithm of the error with each doubling, while a learner has one point
FIRST_SPREAD: Final = 0.15
SPREAD: Final = 1.5  # of what is to come, as a share of what is expected
# All learners are scored on the same rows, so that their scores err together: only a part of the error counts.
OWN_NOISE: Final = 0.25
MOST: Final = 10.0  # that an error may shrink by: to nothing; far more than any curve does, and exp can count it
SMALLEST_ERROR: Final = 1e-4  # where nothing is known of the rows that scores are of
LARGEST_ERROR: Final = 1e200  # beyond which floats end
SURE: Final = 2.0  # standard deviations up to the bound
STEPS: Final = 40  # of a bisection, or of Newton's method: far below what a score can tell
PRECISION: Final = 1e-9  # of a price
LEAST_SECONDS: Final = 1e-3  # what any training costs, so that nothing is free

# Five values that stand for all of a normal variable (Gauss and Hermite), with their weights. With seven the recorded
# curves say the same; with three they say less.
_VALUES, _WEIGHTS = hermegauss(5)
NODES: Final = tuple(zip(_VALUES.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where a learner stands, and what is still before it.

    `shrinking` is what the last doubling took off the logarithm of its error, None while there is one point. `noise` is
    that of a score, as a share of its own (`OWN_NOISE`). `steps` are its next sizes up to all rows: how many doublings
    of the size before, and how many seconds. It never exceeds the cap.
    """

    top: float
    error: float
    shrinking: float | None
    noise: float
    steps: tuple[tuple[float, float], ...]
    cap: float = math.inf

    @property
    def bound(self) -> float:
        """What it may have if its error shrinks as much as can be expected at the best."""
        mean, spread = self._ahead(self.error, self.shrinking, sum(doublings for doublings, _ in self.steps))
        return min(self.top - self.error * math.exp(-mean - SURE * spread), self.cap)

    def gain(self, score: float, rate: float) -> float:
        """Return by how much it will exceed this score on average, less the time it takes at so much for a second.

        It goes on from size to size only as long as that pays, and falling short of the score counts as nothing.
        """
        return self._gain(self.error, self.shrinking, 0, score, rate)[0]

    def worth(self, rate: float) -> float:
        """Return the score at which it just pays to go on with this learner, at so much for a second.

        Whoever has a higher score already need not pay to see what this learner would bring. With one step left this is
        Weitzman's reservation price. With more it is the price of a box that is opened in stages ("The Markovian Price
        of Information", Gupta, Jiang, Scully and Singla, 2019).
        """
        if self.cap < self.top and self.gain(self.cap, rate) >= 0:
            return self.cap
        price = rate * sum(seconds for _, seconds in self.steps)
        step = max(self.error, price)
        low = self.top - 2 * step
        while self.gain(low, rate) < 0:
            step *= 2
            low = self.top - 2 * step
        for _ in range(STEPS):  # the gain falls and is convex, so that Newton's method comes from below
            gain, chance = self._gain(self.error, self.shrinking, 0, low, rate)
            if gain <= PRECISION * price:
                return min(low, self.cap)
            low += gain / chance
        high = self.top  # a price that only a miracle would pay for
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.gain(middle, rate) > 0 else (low, middle)
        return min(low, self.cap)

    def _gain(
        self, error: float, shrinking: float | None, place: int, score: float, rate: float
    ) -> tuple[float, float]:
        """Return the gain over this score from here on, and the chance to exceed it, which is how fast it falls."""
        doublings, seconds = self.steps[place]
        mean, spread = self._ahead(error, shrinking, doublings)
        if place == len(self.steps) - 1:
            exceeding, chance = _exceeding(self.top - score, error, mean, spread)
            return exceeding - rate * seconds, chance
        gain, chance = -rate * seconds, 0.0
        for value, weight in NODES:
            shrunk = mean + spread * value
            left = min(error * math.exp(-shrunk), LARGEST_ERROR)
            then, likely = self._gain(left, max(shrunk / doublings, 0.0), place + 1, score, rate)
            if then > 0:
                gain += weight * then
                chance += weight * likely
        return gain, chance

    def _ahead(self, error: float, shrinking: float | None, doublings: float) -> tuple[float, float]:
        """Return the mean and the spread of how far the error shrinks with so many doublings.

        Each doubling is expected to bring half of what the one before brought, and a fall promises nothing. Of a
        learner with one point only what learners do in general is known.
        """
        if shrinking is None:
            mean, spread = FIRST_SHRINKING * doublings, FIRST_SPREAD * doublings
        else:
            mean = shrinking * (1 - 2**-doublings)
            spread = SPREAD * mean
        if self.noise and error < 1:
            spread = math.hypot(spread, self.noise * math.sqrt((1 - error) / error))
        return min(mean, MOST), min(spread, MOST)


def expected(curve: Curve, sizes: Sequence[int], top: float = 1.0, valid_rows: int | None = None) -> Outlook:
    """Return the outlook of a learner with at least one point, which goes on with these sizes, the last of all rows.

    The training score caps it, as in the paper (Alg. 1, UpdateBound).
    """
    last = curve.measurements[-1]
    smallest = SMALLEST_ERROR if valid_rows is None else 0.5 / valid_rows
    error = max(top - last.valid_score, smallest * max(abs(top), 1.0))
    shrinking = None
    if len(curve.sizes) > 1:
        before = max(top - curve.measurements[-2].valid_score, error)
        shrinking = math.log(before / error) / math.log2(curve.sizes[-1] / curve.sizes[-2])
    noise = 0.0 if valid_rows is None else OWN_NOISE / math.sqrt(valid_rows)
    times = [(size, point.seconds) for size, point in zip(curve.sizes, curve.measurements, strict=True)]
    steps = tuple(
        (math.log2(size / smaller), extended(times, size) + LEAST_SECONDS)
        for smaller, size in zip((curve.sizes[-1], *sizes), sizes, strict=False)
    )
    return Outlook(top, error, shrinking, noise, steps, max(last.train_score, last.valid_score))


def _exceeding(room: float, error: float, mean: float, spread: float) -> tuple[float, float]:
    """Return by how much the shrunk error stays below this room on average, and the chance that it does.

    They are those of an option on something whose logarithm is normal (Black and Scholes, 1973).
    """
    if room <= 0:
        return 0.0, 0.0
    if math.isinf(room):
        return room, 1.0
    if not spread:
        left = room - error * math.exp(-mean)
        return (left, 1.0) if left > 0 else (0.0, 0.0)
    ahead = (math.log(room / error) + mean) / spread
    shrunk = error * math.exp(spread**2 / 2 - mean)
    chance = _below(ahead)
    return max(room * chance - shrunk * _below(ahead - spread), 0.0), chance


def _below(z: float) -> float:
    """Return the chance that a standard normal variable is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))
