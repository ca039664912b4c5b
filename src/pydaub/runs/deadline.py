"""What a run with a time limit begins, and what it ends, so that its answer is the best when the time is over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Final

from pydaub.records import Allocation
from pydaub.runs.forecasts import forecasts_of

if TYPE_CHECKING:
    from pydaub.algorithm.forecast import Forecast
    from pydaub.runs.account import Account

# Until this share of the time limit is left, or so many times the time that the best training takes, if that is more,
# the strategy decides; from then on, what every second that is left may still bring.
import os
from pydaub.runs.account import SURE
MODE = os.environ.get("MODE", "partial")
LATE, LOSS = float(os.environ.get("LATE", .5)), float(os.environ.get("LOSS", .1))
UNSURE: Final = float(os.environ.get("UNSURE", .9))  # standard deviation of the logarithm of the seconds that a training takes
PRIOR: Final = 2.0  # the slowness of this machine counts as if so many trainings had taken as long as forecast
MARGIN: Final = 1.5  # a training makes room for one that promises so many times as much
NO_WAITING: Final = 2.0  # the first evaluation of a learner makes room once so many times the other's time is left
LOOKS: Final = 50  # within a time limit


@dataclass(frozen=True, slots=True)
class Chance:
    """A training that may be done in time: by how much it raises the best score on average, and its seconds."""

    allocation: Allocation
    gain: float
    seconds: float


class Deadline:
    """Says what must be begun, and what must make room for it, for the best answer within a time limit.

    A training counts with its chance to end in time and, if it does, with what its score is expected to exceed the
    best one by. Learners with all rows are only exceeded by learners with all rows.

    Parameters
    ----------
    account
        The run.
    time_limit
        Seconds that the run may take; infinite if there is no limit.
    """

    def __init__(self, account: Account, time_limit: float) -> None:
        self._account, self._time_limit = account, time_limit
        self._late = False  # whether the strategy does not decide any more
        self._refused: set[Allocation] = set()
        self._expected: dict[Allocation, float] = {}  # seconds that were forecast when it was begun
        self._slow: list[float] = []  # logarithms of seconds that were measured, in units of those that were forecast
        self._heard = 0  # steps that count in it

    def due(self, left: float) -> Allocation | None:
        """Return what must be begun now, if that is not left to the strategy; `left` is the time until the limit."""
        if left == math.inf:
            return None
        if left > LATE * self._time_limit:
            return None
        best = self._best(left)
        if best is None:
            return None
        later = self._best(left - self._following())
        urgent = later is None or later.gain < (1 - LOSS) * best.gain
        self._late = self._late or urgent
        return best.allocation if urgent else None

    def _following(self) -> float:
        """Return the seconds of what the strategy would probably ask for next."""
        account = self._account
        guess = next(account.strategy.forecast(), None)
        known = forecasts_of(account)
        if guess is None:
            return 0.0
        if guess.learner not in known:
            firsts = [c.measurements[0].seconds for n in account.strategy.learners if (c := account.strategy.curve(n)).sizes]
            return fmean(firsts) if firsts else 0.0
        sizes = self._sizes(guess.learner)
        return known[guess.learner].steps[sizes.index(guess.size)][1] if guess.size in sizes else 0.0

    def in_the_way(self, left: float) -> Allocation | None:
        """Return the training that must make room for what is due; None if a free worker can be waited for."""
        best, account = self._best(left), self._account
        if best is None or not self._late:
            return None
        known, least, found = forecasts_of(account), best.gain / MARGIN, None
        for each, began in account.running.items():
            took = account.clock - began
            if each.learner not in known:
                gain = 0.0 if took > best.seconds or left < NO_WAITING * best.seconds else math.inf
            else:
                gain = self._gain(known[each.learner], each, left, took, self._least(left, without=each))
            if gain < least:
                found, least = each, gain
        if found is not None:
            self._refused.add(found)  # it is not begun again
        return found

    def refuse(self, allocation: Allocation) -> None:
        """Note that what was due cannot be begun."""
        self._refused.add(allocation)

    def until(self, left: float) -> float:
        """Return the seconds until the next look."""
        return left if left == math.inf else max(self._time_limit / LOOKS, 1e-3)

    def _best(self, left: float) -> Chance | None:
        """Return the training that promises most within this time."""
        account, found, least = self._account, None, self._least(left)
        busy = {each.learner for each in account.running}
        for name, forecast in forecasts_of(account).items():
            if name in busy or name not in account.strategy.racing:
                continue
            for place, size in enumerate(self._sizes(name)):
                wanted = Allocation(name, size)
                if wanted in self._refused or wanted in account.ahead or wanted in account.known:
                    continue
                gain = self._gain(forecast, wanted, left, 0.0, least)
                if gain > 0 and (found is None or gain > found.gain):
                    found = Chance(wanted, gain, forecast.steps[place][1])
        return found

    def _sizes(self, learner: str) -> tuple[int, ...]:
        """Return the sizes that a learner has not had."""
        strategy = self._account.strategy
        had = strategy.curve(learner).sizes[-1]
        return tuple(size for size in strategy.schedule.sizes if size > had)

    def _gain(self, forecast: Forecast, allocation: Allocation, left: float, took: float, least: float) -> float:
        """Return by how much a training that has taken so long raises the best score on average."""
        if allocation.size < self._account.full_size and self._account.first_with_all_rows is not None:
            rows, best = self._account.scores.noise_rows(self._account.full_size), self._account.best_with_all_rows
            noise = math.sqrt(max(best * (1 - best), 0.0) / rows) if rows and 0 < best < 1 else 0.0
            if MODE == "none": return 0.0
            least = max(least, best + SURE * noise)
        sizes = self._sizes(allocation.learner)
        if allocation.size not in sizes:
            return 0.0
        place = sizes.index(allocation.size)
        return in_time(forecast.steps[place][1], left, took) * forecast.gain(place, least)

    def _least(self, left: float, without: Allocation | None = None) -> float:
        """Return the score to exceed: the best so far, or that of a training that will probably end in time."""
        account, leader = self._account, self._account.leader
        found = -math.inf
        if leader is not None:
            curve = account.strategy.curve(leader.learner)
            scores = dict(zip(curve.sizes, curve.measurements, strict=True))
            found = scores[leader.size].valid_score if leader.size in scores else account.best_with_all_rows
        known = forecasts_of(account)
        for each, began in account.running.items():
            if each != without and each.learner in known and each.size in self._sizes(each.learner):
                place = self._sizes(each.learner).index(each.size)
                forecast = known[each.learner]
                if in_time(forecast.steps[place][1], left, account.clock - began) > 0.5:
                    found = max(found, forecast.quantile(0.5, place))
        return found


def in_time(seconds: float, left: float, took: float = 0.0) -> float:
    """Return the probability that a training ends within this time, if it was forecast and has taken so long."""
    usual = NormalDist(math.log(max(seconds, 1e-9)), UNSURE)
    if left <= 0:
        return 0.0
    before = usual.cdf(math.log(took)) if took > 0 else 0.0
    return (usual.cdf(math.log(took + left)) - before) / (1 - before) if before < 1 else 0.0
