"""When a run with a time limit should give a learner all rows, so that it has them in time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.seconds import seconds_ahead
from pydaub.records import Allocation

if TYPE_CHECKING:
    from pydaub.algorithm.curve import Curve
    from pydaub.runs.account import Account

# Multiples of the time T that the training on all rows will probably take. It begins on the next free worker once no
# more than LAST_MOMENT x T is left, or the share EARLY of the time limit if that is more; once no more than NO_WAITING
# x T is left, it takes the place of another evaluation. Once no more than EARLY of the limit is left, it also takes the
# place of an evaluation that has taken longer than T and is the first of its learner. Learners for which less than ROOM
# x T is left are not considered. A training that has taken more than OVERDUE x T is not expected to be done in time.
# It begins at once, while other workers go on, if T is no longer than the first evaluations of the remaining learners
# will take, and than the share MOST_AT_ONCE of the limit.
LAST_MOMENT, NO_WAITING, ROOM, OVERDUE = 3.0, 2.0, 1.25, 1.5
EARLY, MOST_AT_ONCE = 0.5, 0.25
SHORTEST: Final = 1e-3  # seconds that are worth waiting for
LOOKS: Final = 50  # the learner is chosen anew at most so many times within a time limit


class Hurry:
    """Says when a learner must be trained on all rows, if it is to have them before the time limit.

    The learner is the one with the highest score so far, among those whose training fits into the time that is left. If
    others have all rows already, it must be likely to score more than the best of them, or have scored more with as
    many rows. No learner is chosen twice. In the first part of the time limit, none is chosen while a learner is being
    trained on all rows that will probably be done in time; later, every free worker trains one.

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
        self._first_round = 0.0  # seconds of training until every learner has been evaluated once
        self._tried: set[str] = set()
        # When each evaluation was first seen, as the time left, and how long it should take; 0 if that is not known.
        self._begun: dict[Allocation, tuple[float, float]] = {}

    def due(self, left: float) -> Allocation | None:
        """Return what must be evaluated now, if this is the moment; `left` is the time until the limit."""
        if left == math.inf:
            return None
        reliable = any(self._reliable(each, left) for each in self._with_all_rows(left))
        if reliable and left > EARLY * self._time_limit:
            return None
        if left <= self._look_again or (self._found and self._has_all_rows(self._found[0])):
            self._look_again = left - self._time_limit / LOOKS
            self._first_round = self._rest_of_first_round()
            self._found = self._most_promising(left)
        if self._found is None or left > self._moment(self._found[1]):
            return None
        return Allocation(self._found[0], self._account.full_size)

    def _moment(self, seconds: float) -> float:
        """Return the time left at which a training of so many seconds begins on the next free worker."""
        return math.inf if seconds <= self._at_once() else max(LAST_MOMENT * seconds, EARLY * self._time_limit)

    def _at_once(self) -> float:
        """Return how long a training may take that begins before its last moment; 0 if nothing else would go on then.

        Where first evaluations take long, the time limit may come before every learner has had one. To have a learner
        with all rows is then worth more than a few more first evaluations.
        """
        others = len(self._account.training)
        return min(self._first_round / (1 + others), MOST_AT_ONCE * self._time_limit) if others else 0.0

    def _rest_of_first_round(self) -> float:
        """Return how long the learners that have not been evaluated will take, if they take as long as the others."""
        curves = [self._account.strategy.curve(name) for name in self._account.strategy.racing]
        first = [curve.measurements[0].seconds for curve in curves if curve.sizes]
        return (len(curves) - len(first)) * sum(first) / len(first) if first else 0.0

    def in_the_way(self, left: float) -> Allocation | None:
        """Return the evaluation that must make room for what is due, or None if a free worker can be waited for.

        As long as it can be waited for, only the first evaluation of a learner makes room, late in the run, and only if
        it has taken longer than what is due will take.
        """
        if self._found is None:
            return None
        reliable = {each for each in self._with_all_rows(left) if self._reliable(each, left)}
        others = [each for each in self._account.training if each not in reliable]
        if left > NO_WAITING * self._found[1]:
            late, least = left <= EARLY * self._time_limit, left + self._found[1]
            others = [each for each in others if late and self._begun[each][0] >= least and self._is_first(each)]
        return max(others, key=lambda each: self._begun[each][0], default=None)

    def _is_first(self, allocation: Allocation) -> bool:
        return not self._account.strategy.curve(allocation.learner).sizes

    def take(self, allocation: Allocation) -> None:
        """Note that what was due has begun, or cannot begin."""
        self._tried.add(allocation.learner)
        self._found, self._look_again = None, math.inf

    def until(self, left: float) -> float:
        """Return the seconds until the next moment at which something may be due; infinite if there is none."""
        if left == math.inf:
            return left
        begun = [self._begun[each] for each in self._with_all_rows(left)]
        moments = [self._look_again, EARLY * self._time_limit, *(began - OVERDUE * seconds for began, seconds in begun)]
        moments += [self._moment(self._found[1]), NO_WAITING * self._found[1]] if self._found else []
        return min((left - each + SHORTEST for each in moments if left > each), default=math.inf)

    def _with_all_rows(self, left: float) -> list[Allocation]:
        """Return what is being evaluated, or will be next, with all rows; notice when evaluations began."""
        account = self._account
        begun = {*account.training, *account.strategy.outstanding}
        found = [each for each in begun if each.size == account.full_size]
        self._begun = {
            each: self._begun.get(each) or (left, self._seconds(each.learner) if each in found else 0.0)
            for each in begun
        }
        return found

    def _reliable(self, allocation: Allocation, left: float) -> bool:
        """Return whether a training on all rows will probably be done in time."""
        began, seconds = self._begun[allocation]
        return seconds <= began and began - left <= OVERDUE * seconds

    def _most_promising(self, left: float) -> tuple[str, float] | None:
        """Return the learner, and the seconds that its training on all rows will probably take."""
        strategy = self._account.strategy
        scores = {
            name: strategy.curve(name).measurements[-1].valid_score
            for name in strategy.racing - self._tried
            if not self._has_all_rows(name) and self._can_lead(name)
        }
        position = {name: place for place, name in enumerate(strategy.learners)}
        order = sorted(scores, key=lambda name: (-scores[name], position[name]))
        at_once = self._at_once() if left > EARLY * self._time_limit else 0.0
        for most in (at_once, left / ROOM):
            if found := next(((name, time) for name in order if (time := self._seconds(name)) <= most), None):
                return found
        return None

    def _can_lead(self, learner: str) -> bool:
        """Return whether a learner may become the best of those with all rows."""
        account, strategy = self._account, self._account.strategy
        likely, first = strategy.likely(learner), account.first_with_all_rows
        if likely is None:
            return False
        if first is None or likely > account.best_with_all_rows:
            return True
        own, best = _scores(strategy.curve(learner)), _scores(strategy.curve(first))
        shared = max(own.keys() & best.keys(), default=None)
        return shared is not None and own[shared] > best[shared]

    def _has_all_rows(self, learner: str) -> bool:
        """Return whether a learner has been trained on all rows, or is being trained on them."""
        account = self._account
        wanted = Allocation(learner, account.full_size)
        return account.size(learner) == account.full_size or any(
            wanted in each for each in (account.ahead, account.known, account.training)
        )

    def _seconds(self, learner: str) -> float:
        """Return how long the training of a learner on all rows will probably take."""
        account, curve = self._account, self._account.strategy.curve(learner)
        points = [*zip(curve.sizes, curve.measurements, strict=True)]
        if not points:
            return 0.0
        return seconds_ahead(points, account.full_size, account.growth(learner), account.scores.rows)


def _scores(curve: Curve) -> dict[int, float]:
    """Return the score at each size."""
    return {size: each.valid_score for size, each in zip(curve.sizes, curve.measurements, strict=True)}
