"""What is probably left of a run: a copy of its strategy is told forecasts until it is done.

How far such estimates are from the truth depends on the progress; `benchmarks/remaining.py` measures it on recorded
curves and writes the factors in `ratios.py`.
"""

from __future__ import annotations

import copy
import math
import time
from bisect import bisect_left
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from pydaub.algorithm.seconds import evaluation_ahead
from pydaub.errors import PydaubError
from pydaub.records import Allocation, Measurement
from pydaub.runs.account import GOING_ON
from pydaub.runs.forecasts import forecasts
from pydaub.runs.ratios import OTHERS, PROGRESS, RATIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.strategies import Strategy
    from pydaub.runs.account import Account

MOST_STEPS, FEWEST_STEPS, MANY = 300, 50, 100  # of a simulation; fewer with more learners, which take longer
CUT: Final = (1.0, 2.0, 4.0)  # further factors where a simulation did not come to its end
MOST_UNTRIED: Final = 60  # learners without an outcome with which a run is simulated
# A simulation that takes longer than so many seconds is repeated only after so many times that time.
QUICK, IDLE = 0.1, 10
LONG_RUNNING: Final = 0.1  # a training that takes longer than forecast takes this share of its time longer still
LEAST_SPEED: Final = 0.01
HOLD: Final = 0.1  # falls of the share that has passed, up to which it stays as it is
ALMOST: Final = 0.99  # the largest share of the time that has passed before a run has ended


class Remaining(NamedTuple):
    """Seconds that are left: between `low` and `high` in eight of ten cases, and below `middle` in half of them.

    `limited` says whether a time limit ends the run before `high` seconds have passed.
    """

    low: float
    middle: float
    high: float
    limited: bool = False


@dataclass(slots=True)
class Estimate:
    """Seconds of the trainings that are left, if the race goes as forecast, and when that was worked out.

    `version` and `steps` count the decisions and steps of the run until then.
    """

    version: int
    steps: int
    trainings: dict[Allocation, float]
    untried: float = 0.0  # seconds for learners that are left out of `trainings`
    ended: bool = True  # whether the simulation came to its end
    made_at: float = 0.0
    took: float = 0.0
    shown: float = 0.0  # the last share of the time that has passed


_ESTIMATES: Final[WeakKeyDictionary[Account, Estimate]] = WeakKeyDictionary()


def remaining(account: Account, elapsed: float | None = None) -> Remaining | None:
    """Return what is probably left of a run that is going on; None where too little is known.

    `elapsed` is how long the run has been going on, where that is more than its last event says.
    """
    if account.state not in GOING_ON:
        return None
    now = _now(account, elapsed)
    raw = expected_seconds(account, now)
    if raw is None:
        return None
    spent = now - account.idle
    progress = spent / (spent + raw) if spent + raw else 0.0
    strategy, untried = str(account.settings.get("strategy")), bool(account.untried_yet)
    usual = factors(strategy, progress, untried=untried)
    further = (1.0, 1.0, 1.0) if _ESTIMATES[account].ended else CUT
    low, middle, high = (raw * factor * more for factor, more in zip(usual, further, strict=True))
    if account.until is not None:
        most = max(account.until - now, 0.0)
        return Remaining(min(low, most), min(middle, most), min(high, most), limited=high > most)
    return Remaining(low, middle, high)


def fraction(account: Account, left: Remaining | None, elapsed: float | None = None) -> float | None:
    """Return which share of the time has passed: 1 only at the end; None where that is unknown.

    It is cautious, because progress that falls back is worse than progress that leaps, and small falls are left out.
    """
    if account.state == "finished":
        return 1.0
    if left is None:
        return None
    spent, ahead = _now(account, elapsed) - account.idle, math.sqrt(left.middle * left.high)
    share = min(spent / (spent + ahead), ALMOST) if spent + ahead else 0.0
    if (known := _ESTIMATES.get(account)) is not None:
        known.shown = share = known.shown if known.shown - HOLD < share < known.shown else share
    return share


def _now(account: Account, elapsed: float | None) -> float:
    """Return the clock; during a pause, that of the last event."""
    return account.clock if account.paused or elapsed is None else max(account.clock, elapsed)


def expected_seconds(account: Account, now: float) -> float | None:
    """Return what is left by the forecasts alone; None where nothing was measured."""
    estimate = _estimate(account)
    if estimate is None:
        return None
    done = {step.allocation for step in account.steps[estimate.steps :]}
    left = {allocation: seconds for allocation, seconds in estimate.trainings.items() if allocation not in done}
    for allocation, began in account.running.items():
        if allocation in left:
            took = now - began
            left[allocation] = max(left[allocation] - took, LONG_RUNNING * took)
    told = sum(step.outcome.seconds for step in account.steps)
    spent = account.clock - account.idle
    speed = max(told / spent, LEAST_SPEED) if spent > 0 else 1.0
    total = sum(left.values()) + estimate.untried
    return max(total / speed, *left.values(), 0.0)


def _estimate(account: Account) -> Estimate | None:
    """Return the simulation of what is left; an earlier one while too little time has passed to repeat it."""
    known, version, now = _ESTIMATES.get(account), len(account.decisions), time.monotonic()
    if known is not None and (known.version == version or now - known.made_at < IDLE * (known.took - QUICK)):
        return known
    if not any(account.strategy.curve(name).sizes for name in account.learners):
        return None
    made = Estimate(version, len(account.steps), *Simulation(account).run(), made_at=now)
    made.took = time.monotonic() - now
    made.shown = known.shown if known else 0.0
    _ESTIMATES[account] = made
    return made


def forget(account: Account) -> None:
    """Forget the last simulation, so that the next look makes a new one."""
    _ESTIMATES.pop(account, None)


def factors(strategy: str, progress: float, *, untried: bool) -> Sequence[float]:
    """Return by which factors what is left usually differs from what is expected: low, middle, high.

    They also depend on whether some learner has not been tried yet.
    """
    rows = RATIOS.get(strategy, RATIOS[OTHERS])["untried" if untried else "tried"]
    place = bisect_left(PROGRESS, progress)
    if place in (0, len(PROGRESS)):
        return rows[min(place, len(PROGRESS) - 1)]
    share = (progress - PROGRESS[place - 1]) / (PROGRESS[place] - PROGRESS[place - 1])
    return [before ** (1 - share) * after**share for before, after in zip(rows[place - 1], rows[place], strict=True)]


class Simulation:
    """A copy of a run's strategy, which is told forecasts."""

    def __init__(self, account: Account) -> None:
        self._account, self._ahead = account, forecasts(account)
        self._tried = [curve for name in account.learners if (curve := account.strategy.curve(name)).sizes]
        self._like: dict[str, str] = {}  # learners that were not tried do as those that were, each of them in turn

    def run(self) -> tuple[dict[Allocation, float], float, bool]:
        """Return the seconds of the trainings that are left, and of learners left out; and whether that is all."""
        account, found = self._account, dict[Allocation, float]()
        if (untried := account.untried_yet) > MOST_UNTRIED:
            tried = [account.seconds(name) for name in account.learners if account.seconds(name)]
            return found, untried * fmean(tried or [0.0]), True
        copied = _copied(account.strategy)
        try:
            for _ in range(max(MOST_STEPS * MANY // max(len(account.learners), MANY), FEWEST_STEPS)):
                asked = next(iter(copied.outstanding), None) or copied.ask()
                if asked is None:
                    return found, 0.0, True
                outcome = account.ahead.get(asked)
                if not isinstance(outcome, Measurement):
                    outcome = self._forecast(copied.curve(asked.learner), asked.size)
                    found[asked] = outcome.seconds
                copied.tell(asked, outcome)
        except PydaubError:  # the strategy cannot go on as forecast
            return found, 0.0, True
        return found, 0.0, False

    def _forecast(self, curve: Curve, size: int) -> Measurement:
        if not curve.sizes:
            like = self._tried[len(self._like) % len(self._tried)]
            self._like[curve.learner] = like.learner
            return like.measurements[0]
        score = self._ahead.likely_with(self._like.get(curve.learner, curve.learner), size)
        points = list(zip(curve.sizes, curve.measurements, strict=True))
        seconds = evaluation_ahead(points, size, self._account.growth(curve.learner), self._account.scores.rows)
        return Measurement(curve.measurements[-1].train_score, score, seconds)


def _copied(strategy: Strategy) -> Strategy:
    """Return a copy that shares what never changes, which is most of it."""
    shared = [strategy.schedule, *(strategy.curve(name) for name in strategy.learners), *strategy.fixed]
    return copy.deepcopy(strategy, {id(each): each for each in shared})
