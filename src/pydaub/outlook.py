"""What a learner may have on all rows, as a chance: the ground on which the strategy `frugal` weighs gain against time.

A learner's error is its distance from the top, the best score there can be. On all rows it is taken to be the error of
today times exp(-Y), where Y, how far it will still shrink, is normal. Where Y comes from is in `expected`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydaub.curve import Curve

# All chosen on recorded learning curves of data sets with an odd number (benchmarks/lcdb), rounded.
FIRST_SHRINKING: Final = 0.15  # of the logarithm of the error with each doubling, while a learner has one point
FIRST_SPREAD: Final = 0.1
SPREAD: Final = 1.5  # of all that is still to come, as a share of what the last doubling brought
# All learners are scored on the same rows, so that their scores err together: only a part of the error counts.
OWN_NOISE: Final = 0.25
MOST_SPREAD: Final = 10.0  # an error that may shrink to nothing; far more than any curve does, and exp can count it
SMALLEST_ERROR: Final = 1e-4  # where nothing is known of the rows that scores are of
SURE: Final = 2.0  # standard deviations up to the bound
STEPS: Final = 40  # of a bisection, or of Newton's method: far below what a score can tell
PRECISION: Final = 1e-9  # of a price


@dataclass(frozen=True, slots=True)
class Outlook:
    """A learner's score on all rows: top - error * exp(-Y), Y normal with this mean and spread; at most the cap."""

    top: float
    error: float
    mean: float
    spread: float
    cap: float = math.inf

    @property
    def bound(self) -> float:
        """What it may have if its error shrinks as much as can be expected at the best."""
        return min(self.top - self.error * math.exp(-self.mean - SURE * self.spread), self.cap)

    def gain(self, score: float) -> float:
        """Return by how much it will exceed this score on average, where falling short counts as nothing."""
        return self._exceeding(score)[0]

    def worth(self, price: float) -> float:
        """Return the score which it exceeds on average by just this price: Weitzman's reservation price.

        Whoever has a higher score already need not pay to see what this learner would bring.
        """
        step = max(self.error, price)
        low = self.top - 2 * step
        while self.gain(low) < price:
            step *= 2
            low = self.top - 2 * step
        for _ in range(STEPS):  # the gain falls and is convex, so that Newton's method comes from below
            gain, chance = self._exceeding(low)
            if gain - price <= PRECISION * price:
                return min(low, self.cap)
            low += (gain - price) / chance
        high = self.top  # a price that only a miracle would pay for
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.gain(middle) > price else (low, middle)
        return min(low, self.cap)

    def _exceeding(self, score: float) -> tuple[float, float]:
        """Return the gain over this score and the chance to exceed it, which is how fast the gain falls.

        They are those of an option on something whose logarithm is normal (Black and Scholes, 1973).
        """
        room = self.top - score
        if room <= 0:
            return 0.0, 0.0
        if math.isinf(room):
            return room, 1.0
        if not self.spread:
            left = room - self.error * math.exp(-self.mean)
            return (left, 1.0) if left > 0 else (0.0, 0.0)
        ahead = (math.log(room / self.error) + self.mean) / self.spread
        shrunk = self.error * math.exp(self.spread**2 / 2 - self.mean)
        chance = _below(ahead)
        return max(room * chance - shrunk * _below(ahead - self.spread), 0.0), chance


def expected(curve: Curve, full_size: int, top: float = 1.0, valid_rows: int | None = None) -> Outlook:
    """Return the outlook of a learner with at least one point.

    Gains diminish: each doubling is taken to bring at most half of what the one before brought, so that all that is
    to come between n and N is (1 - n/N) times the last doubling's. By that its spread is measured; its mean is none at
    all, since one above none changed nothing on recorded curves. Of a learner with one point only what learners do in
    general is known. The training score caps it, as in the paper (Alg. 1, UpdateBound).
    """
    size, last = curve.sizes[-1], curve.measurements[-1]
    smallest = SMALLEST_ERROR if valid_rows is None else 0.5 / valid_rows
    error = max(top - last.valid_score, smallest * max(abs(top), 1.0))
    doublings = math.log2(full_size / size)
    if len(curve.sizes) == 1:
        mean, spread = FIRST_SHRINKING * doublings, FIRST_SPREAD * doublings
    else:
        before = max(top - curve.measurements[-2].valid_score, error)  # a fall promises nothing
        shrinking = math.log(before / error) / math.log2(size / curve.sizes[-2])
        mean, spread = 0.0, SPREAD * shrinking * (1 - size / full_size)
    if valid_rows is not None and error < 1:
        spread = math.hypot(spread, OWN_NOISE * math.sqrt((1 - error) / (error * valid_rows)))
    return Outlook(top, error, mean, min(spread, MOST_SPREAD), max(last.train_score, last.valid_score))


def _below(z: float) -> float:
    """Return the chance that a standard normal variable is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))
