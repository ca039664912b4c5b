"""What a learner may have on all rows, as a chance: the ground on which the strategy `frugal` weighs gain against time.

A learner's error is its distance from the top, the best score there can be. With its next size it is taken to be the
error of today times exp(-Y), where Y, how far it shrinks, is normal; and so on with each further size up to all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pydaub.algorithm.curve import extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.curve import Curve

# All chosen on recorded learning curves of data sets with an odd number (benchmarks/lcdb), rounded.
FIRST_SHRINKING: Final = 0.15  # of the logarithm of the error with each doubling, while a learner has one point
FIRST_SPREAD: Final = 0.15
SPREAD: Final = 1.5  # of what is to come, as a share of what is expected
# All learners are scored on the same rows, so that their scores err together: only a part of the error counts.
OWN_NOISE: Final = 0.25
LEAST_SPREAD: Final = 1e-9  # none, but one that can be divided by
MOST: Final = 10.0  # that an error may shrink by: to nothing; far more than any curve does, and exp can count it
SMALLEST_ERROR: Final = 1e-4  # where nothing is known of the rows that scores are of
LARGEST_ERROR: Final = 1e200  # beyond which floats end
SURE: Final = 2.0  # standard deviations up to the bound
STEPS: Final = 40  # of a bisection, or of Newton's method: far below what a score can tell
PRECISION: Final = 1e-9  # of a price
LEAST_SECONDS: Final = 1e-3  # what any training costs, so that nothing is free

# Five values that stand for all of a normal variable (Gauss and Hermite), with their weights. With seven the recorded
# curves say the same; with three they say less.
_ROOT = math.sqrt(10)
_NEAR, _FAR = math.sqrt(5 - _ROOT), math.sqrt(5 + _ROOT)
VALUES: Final = (-_FAR, -_NEAR, 0.0, _NEAR, _FAR)
WEIGHTS: Final = ((7 - 2 * _ROOT) / 60, (7 + 2 * _ROOT) / 60, 8 / 15, (7 + 2 * _ROOT) / 60, (7 - 2 * _ROOT) / 60)
HALF: Final = math.sqrt(0.5)
FAR: Final = -9.0  # standard deviations: less than a float can add to 1

# With all rows next: the seconds, where the distribution of the error starts, its spread, and its mean. Before that, a
# pair: the seconds, and what each of the five values leads to.
PAIR: Final = 2
_Last: TypeAlias = tuple[float, float, float, float]
_Stage: TypeAlias = "tuple[float, list[_Stage | _Last]]"


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
        return _gain(self._chances(self.error, self.shrinking, 0), self.top - score, rate)[0]

    def worth(self, rate: float) -> float:
        """Return the score at which it just pays to go on with this learner, at so much for a second.

        Whoever has a higher score already need not pay to see what this learner would bring.
        """
        return min(self.reserve(rate), self.cap)

    def reserve(self, rate: float, least: float = -math.inf) -> float:
        """Return what it would be worth if nothing capped it; the search begins at a score that it is at least.

        With one step left this is Weitzman's reservation price. With more it is the price of a box that is opened in
        stages ("The Markovian Price of Information", Gupta, Jiang, Scully and Singla, 2019). As the gain is that of the
        best way to go on, each of which has a gain that is linear in score and rate, it is convex in the rate.
        """
        chances = self._chances(self.error, self.shrinking, 0)
        price = rate * sum(seconds for _, seconds in self.steps)
        room = min(2 * max(self.error, price), self.top - least)
        while _gain(chances, room, rate)[0] < 0:
            room *= 2
        for _ in range(STEPS):  # the gain falls with the score and is convex, so that Newton's method comes from below
            gain, chance = _gain(chances, room, rate)
            if gain <= PRECISION * price:
                return self.top - room
            room -= gain / chance
        too_little = 0.0  # a price that only a miracle would pay for
        for _ in range(STEPS):
            middle = (too_little + room) / 2
            too_little, room = (too_little, middle) if _gain(chances, middle, rate)[0] > 0 else (middle, room)
        return self.top - room

    def _chances(self, error: float, shrinking: float | None, place: int) -> _Stage | _Last:
        """Return what may come of a learner from here on: five ways on for each step, and at last all rows."""
        doublings, seconds = self.steps[place]
        mean, spread = self._ahead(error, shrinking, doublings)
        if place == len(self.steps) - 1:
            # Of an option on something whose logarithm is normal (Black and Scholes, 1973), what no score changes.
            spread = max(spread, LEAST_SPREAD)
            start = (math.log(error) - mean) / spread
            return seconds, start, spread, error * math.exp(spread**2 / 2 - mean)
        ways = []
        for value in VALUES:
            shrunk = mean + spread * value
            left = min(error * math.exp(-shrunk), LARGEST_ERROR)
            ways.append(self._chances(left, max(shrunk / doublings, 0.0), place + 1))
        return seconds, ways

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


def _gain(chances: _Stage | _Last, room: float, rate: float) -> tuple[float, float]:
    """Return the gain over a score with so much room above it, and the chance to exceed it: how fast the gain falls."""
    if room <= 0:
        return -rate * chances[0], 0.0
    return _from(chances, room, math.log(room), rate)


def _from(chances: _Stage | _Last, room: float, log_room: float, rate: float) -> tuple[float, float]:
    if len(chances) == PAIR:
        gain, chance = -rate * chances[0], 0.0
        for way, weight in zip(chances[1], WEIGHTS, strict=True):
            then, likely = _from(way, room, log_room, rate)
            if then > 0:
                gain += weight * then
                chance += weight * likely
        return gain, chance
    seconds, start, spread, shrunk = chances
    ahead = log_room / spread - start
    if ahead < FAR:
        return -rate * seconds, 0.0
    below = 0.5 * math.erfc(-HALF * ahead)
    exceeding = room * below - shrunk * 0.5 * math.erfc(HALF * (spread - ahead))
    return (exceeding if exceeding > 0 else 0.0) - rate * seconds, below
