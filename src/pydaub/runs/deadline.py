"""What a run with a time limit begins, and what it ends, so that its answer is as good as it can be in that time."""

from __future__ import annotations

import math
from heapq import nlargest
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from pydaub.algorithm.seconds import seconds_ahead
from pydaub.records import Allocation, Measurement
from pydaub.runs.account import SURE
from pydaub.runs.forecasts import forecasts, score_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.runs.account import Account
    from pydaub.runs.forecasts import Forecasts

LATE: Final = 0.5  # once no more than this share of the time limit is left, chances count
# Standard deviation of the logarithm of the seconds that a training takes: of any, and for each doubling of the rows.
JITTER, DOUBLING = 0.5, 0.2
UNLIKELY, PROBABLE = 0.1, 0.5
SAFE: Final = 0.8  # a training begins before its probability to end in time falls below this
MARGIN: Final = 1.5  # a training makes room for one that promises so many times as much
NO_WAITING: Final = 2.0  # a first evaluation makes room once so many times the other's time is left
LOOKS: Final = 50  # within a time limit
SHORTEST: Final = 1e-3  # seconds between two looks
MOST_LEARNERS: Final = 200  # that are looked at, those with the highest scores


class Chance(NamedTuple):
    """By how much a training raises the best score on average, with its seconds and the doublings of the rows."""

    gain: float
    seconds: float
    doublings: float
    allocation: Allocation


class Deadline:
    """Says what must be begun, and what must make room for it, for the best answer within a time limit.

    A training promises what its score is expected to exceed the best one by, times the probability that it ends in
    time. In the first half of the time, the strategy decides. After that, the most promising training begins; if the
    strategy weighs costs, only before what it wants next would make it unlikely to end in time. Where nothing promises
    anything, the strategy still decides.

    Parameters
    ----------
    account
        The run.
    time_limit
        Seconds that the run may take; infinite if there is no limit.
    clock
        Returns the seconds of the run so far.
    """

    def __init__(self, account: Account, time_limit: float, clock: Callable[[], float]) -> None:
        self._account, self._time_limit, self._clock = account, time_limit, clock
        self._refused: set[Allocation] = set()  # cannot be begun, or had to make room
        self._found: Chance | None = None  # at the last look
        self._look_again = math.inf  # at this time left

    def due(self, left: float, *, free: bool = True, idle: bool = False) -> Allocation | None:
        """Return what must be begun now, if that is not left to the strategy.

        `left` is the time until the limit; `free` says whether there is a worker for it, and `idle` whether nothing
        runs and the strategy wants nothing more.
        """
        if left == math.inf or (left > LATE * self._time_limit and not idle):
            return None
        best = self._best_lately(left)
        if best is None:
            return None
        if idle:
            return best.allocation
        if free and not self._account.strategy.weighs_costs:
            return best.allocation
        wait = self._following() if free else self._until_free()
        later = in_time(best.seconds, best.doublings, left - wait)
        return best.allocation if later < SAFE else None

    def in_the_way(self, due: Allocation, left: float) -> Allocation | None:
        """Return the training that must make room for what is due; None if a free worker is waited for."""
        account, known = self._account, forecasts(self._account)
        wanted = self._chance(known, due, left, self._least(known, left))
        found, least = None, wanted.gain / MARGIN
        for each, began in account.running.items():
            took = self._clock() - began
            if each.learner in known.steps:
                gain = self._chance(known, each, left, self._least(known, left, without=each), took).gain
            else:  # nothing is known of it
                gain = 0.0 if took > wanted.seconds or left < NO_WAITING * wanted.seconds else math.inf
            if gain < least:
                found, least = each, gain
        if found is not None:
            self._refused.add(found)
        return found

    def refuse(self, allocation: Allocation) -> None:
        """Note that what was due cannot be begun."""
        self._refused.add(allocation)

    def until(self, left: float) -> float:
        """Return the seconds until the next look."""
        return left if left == math.inf else max(self._time_limit / LOOKS, SHORTEST)

    def _best_lately(self, left: float) -> Chance | None:
        """Return what promised most at the last look, if that was not long ago and it has not begun."""
        if left > self._look_again and (self._found is None or self._may_begin(self._found.allocation)):
            return self._found
        self._look_again = left - self.until(left)
        self._found = self._best(left)
        return self._found

    def _may_begin(self, allocation: Allocation) -> bool:
        account, learner = self._account, allocation.learner
        return (
            learner in account.strategy.racing
            and learner not in {each.learner for each in account.running}
            and max(account.strategy.curve(learner).sizes, default=0) < allocation.size
            and allocation not in self._done()
        )

    def _done(self) -> set[Allocation]:
        """Return what is not begun again."""
        return self._refused | self._account.ahead.keys() | self._account.known.keys()

    def _best(self, left: float) -> Chance | None:
        """Return the training that promises most within this time; None if none promises anything."""
        account, strategy, known = self._account, self._account.strategy, forecasts(self._account)
        least, racing = self._least(known, left), strategy.racing - {each.learner for each in account.running}
        done = self._done()
        scores = {name: score_of(known.steps[name][-1]) for name in known.steps if name in racing}
        found = None
        for name in nlargest(MOST_LEARNERS, scores, key=scores.__getitem__):
            had = known.steps[name][-1].allocation.size
            for size in strategy.schedule.sizes:
                wanted = Allocation(name, size)
                if size > had and wanted not in done:
                    chance = self._chance(known, wanted, left, least)
                    if chance.gain > (found.gain if found else 0.0):
                        found = chance
        return found

    def _chance(self, known: Forecasts, allocation: Allocation, left: float, least: float, took: float = 0.0) -> Chance:
        """Return what a training promises that has taken so long, if it must exceed the score `least`.

        With fewer than all rows, a score only counts that exceeds the best one on all rows by more than its noise.
        """
        account, (learner, size) = self._account, (allocation.learner, allocation.size)
        last = known.steps[learner][-1]
        if size <= last.allocation.size or not isinstance(last.outcome, Measurement):
            return Chance(0.0, 0.0, 0.0, allocation)
        if size < account.full_size and account.first_with_all_rows is not None:
            noise = account.scores.standard_error(size, last.outcome) or 0.0
            least = max(least, account.best_with_all_rows + SURE * noise)
        seconds = self._seconds(learner, size)
        doublings = math.log2(size / last.allocation.size)
        sure = in_time(seconds, doublings, left, took)
        gain = known.with_rows(learner, size).gain(least) if sure > UNLIKELY else 0.0
        return Chance(sure * gain, seconds, doublings, allocation)

    def _least(self, known: Forecasts, left: float, without: Allocation | None = None) -> float:
        """Return the score to exceed: the best so far, or that of a training that will probably end in time."""
        account, leader = self._account, self._account.leader
        found = -math.inf
        if leader is not None:
            own = (score_of(each) for each in known.steps[leader.learner] if each.allocation == leader)
            found = next(own, found)
        for each, began in account.running.items():
            if each != without and each.learner in known.steps and each not in self._refused:
                seconds = self._seconds(each.learner, each.size)
                doublings = math.log2(each.size / known.steps[each.learner][-1].allocation.size)
                if in_time(seconds, doublings, left, self._clock() - began) > PROBABLE:
                    found = max(found, known.likely_with(each.learner, each.size))
        return found

    def _following(self) -> float:
        """Return the seconds of what the strategy will probably ask for next."""
        guess = next(self._account.strategy.forecast(), None)
        return 0.0 if guess is None else self._seconds(guess.learner, guess.size)

    def _until_free(self) -> float:
        """Return the seconds until a worker will probably be free."""
        found = math.inf
        for each, began in self._account.running.items():
            took = self._clock() - began
            found = min(found, max(self._seconds(each.learner, each.size) - took, took))
        return found

    def _seconds(self, learner: str, size: int) -> float:
        """Return how long a training will probably take; a first one, as long as those of the others."""
        account, strategy = self._account, self._account.strategy
        curve = strategy.curve(learner)
        if not curve.sizes:
            curves = map(strategy.curve, strategy.learners)
            return fmean([each.measurements[0].seconds for each in curves if each.sizes] or [0.0])
        points = [*zip(curve.sizes, curve.measurements, strict=True)]
        return seconds_ahead(points, size, account.growth(learner), account.scores.rows)


def in_time(seconds: float, doublings: float, left: float, took: float = 0.0) -> float:
    """Return the probability that a training ends within this time, and has not ended yet.

    It was forecast to take so many seconds, by one with so many doublings of the rows less.

    >>> in_time(10.0, 2.0, left=10.0)
    0.5
    >>> in_time(10.0, 6.0, left=20.0) < in_time(10.0, 2.0, left=20.0)
    True
    """
    if left <= 0:
        return 0.0
    usual = NormalDist(math.log(max(seconds, SHORTEST)), math.hypot(JITTER, DOUBLING * doublings))
    before = usual.cdf(math.log(took)) if took > 0 else 0.0
    after = (usual.cdf(math.log(took + left)) - before) / (1 - before) if before < 1 else 0.0
    return min(after, left / (took + left)) if took > seconds else after  # what is late may take as long again
