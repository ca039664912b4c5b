"""The last moment at which a run with a time limit can still give a learner all rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.curve import seconds_ahead
from pydaub.records import Allocation

if TYPE_CHECKING:
    from pydaub.runs.account import Account

# The moment comes when the time that is left is `LAST_MOMENT` times what the training will probably take. Learners
# whose training would take more than the time left divided by `ROOM` are not considered.
LAST_MOMENT, ROOM = 2.0, 1.25
SHORTEST: Final = 1e-3  # seconds that are worth waiting for
LOOKS: Final = 50  # the learner is chosen anew at most so many times within a time limit


class Hurry:
    """Says when a learner must be trained on all rows, if it is to have them before the time limit.

    The learner is the one that will probably reach the highest score on all rows, among those whose training fits into
    the time that is left. If another learner has all rows already, it must be likely to score more than that one. No
    learner is chosen twice.

    Parameters
    ----------
    account
        The run.
    time_limit
        Seconds that the run may take; infinite if there is no limit.
    """

    def __init__(self, account: Account, time_limit: float) -> None:
        self._account, self._time_limit = account, time_limit
        self._found: tuple[str, float] | None = None  # the learner, and the seconds that all rows will take
        self._look_again = math.inf  # the time left at which the learner is chosen anew
        self._tried: set[str] = set()

    def due(self, left: float) -> Allocation | None:
        """Return what must be evaluated now, if this is the moment; `left` is the time until the limit."""
        if left == math.inf or self._begun():
            return None
        if left <= self._look_again:
            self._look_again = left - self._time_limit / LOOKS
            self._found = self._most_promising(left)
        if self._found is None or self.until(left) > 0:
            return None
        learner, self._found = self._found[0], None
        self._tried.add(learner)
        return Allocation(learner, self._account.full_size)

    def until(self, left: float) -> float:
        """Return the seconds until that moment, as far as it is known."""
        found = math.inf if self._found is None else left - LAST_MOMENT * self._found[1]
        return found if found > SHORTEST else 0.0

    def _begun(self) -> bool:
        """Return whether a learner is being trained on all rows, or will be next."""
        asked, full = self._account.strategy.outstanding, self._account.full_size
        return any(each.size == full for each in (*self._account.training, *([asked] if asked else [])))

    def _most_promising(self, left: float) -> tuple[str, float] | None:
        """Return the learner, and the seconds that its training on all rows will probably take."""
        account, strategy = self._account, self._account.strategy
        best, full = account.best_with_all_rows, account.full_size
        tried = self._tried | {each.learner for each in (*account.ahead, *account.known) if each.size == full}
        likely = {name: strategy.likely(name) for name in strategy.racing if name not in tried}
        scores = {name: score for name, score in likely.items() if score is not None and score > best}
        for name in sorted(scores, key=lambda name: -scores[name]):
            curve = strategy.curve(name)
            points = [*zip(curve.sizes, curve.measurements, strict=True)]
            seconds = seconds_ahead(points, full, account.growth(name), account.scores.rows)
            if ROOM * seconds <= left:
                return name, seconds
        return None
