"""Strategies whose learners a person can drop, restore, boost, retry and add during a run."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.curve import Curve
from pydaub.algorithm.strategies.base import Strategy
from pydaub.errors import InputError
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.schedule import Schedule
    from pydaub.algorithm.strategies.ranking import Ranking

# A guess pays off if the learner stays ahead, that is, if its key drops less than usual. Chosen with `daub` among 0.25,
# 0.5, 1 and 2 on two recorded and four random tables. It changes the clock, never the answer.
GUESSED_DROP: Final = 0.25
BOOSTED: Final = "boosted"  # why it was asked for


class Steerable(Strategy):
    """A strategy that ranks waiting learners by a key, so that learners may enter and leave at any time.

    What is asked depends only on what was told and steered before, in that order. A subclass says how a learner enters
    the ranking and leaves it (`_enter`, `_leave`) and how a finished race is reopened (`_reopen`).

    Parameters
    ----------
    learners, schedule
        As for `Strategy`.
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        super().__init__(learners, schedule)
        self._dropped: set[str] = set()
        self._boosts: list[str] = []  # learners whose next size comes first
        self._key_drops, self._key_drop_count = 0.0, 0  # total and count of key drops; `forecast` uses their mean

    def drop(self, learner: str) -> None:
        """Take a learner out of the race. If its outcome is outstanding, it is withdrawn."""
        self._check_racing(learner, "drop")
        if len(self.learners) - len(self._dropped) - len(self._failures) < 2:  # noqa: PLR2004  # it and another
            raise InputError(f"`drop` must leave a learner in the race, got {learner!r}, the last one. Stop the run.")
        self._dropped.add(learner)
        self._leave(learner)
        self._at_full.pop(learner, None)
        self._best_at_full = max(self._at_full.values(), default=None)
        for asked in (self._outstanding, self._whys):
            asked.pop(learner, None)
        self._boosts = [name for name in self._boosts if name != learner]

    def restore(self, learner: str) -> None:
        """Bring a dropped learner back, with everything that is known of it."""
        self._check_known(learner)
        if learner not in self._dropped:
            raise InputError(f"`restore` must be given a dropped learner, got {learner!r}.")
        self._dropped.remove(learner)
        if self._has_all_rows(learner):
            self._reach(learner, self._curves[learner].measurements[-1].valid_score)
        self._reopen()
        self._enter(learner)

    def boost(self, learner: str) -> None:
        """Give a learner its next size before all others."""
        self._check_racing(learner, "boost")
        waiting = self._boosts.count(learner) + (learner in self._outstanding)
        if self._behind(learner) + waiting >= len(self.schedule.sizes):
            raise InputError(f"`boost` must be given a learner that has a larger size to get, got {learner!r}.")
        self._boosts.append(learner)

    def retry(self, learner: str) -> None:
        """Give a learner that failed another chance at the size that it failed at."""
        self._check_known(learner)
        if learner not in self._failures:
            raise InputError(f"`retry` must be given a learner that failed, got {learner!r}.")
        del self._failures[learner]
        self._reopen()
        if learner not in self._dropped:
            self._enter(learner)

    def add(self, learner: str) -> None:
        """Add a learner to the race. It begins with the first size."""
        Allocation(learner, 1)  # rejects anything that is not a name
        if learner in self._curves:
            raise InputError(f"`add` must be given a new learner, got {learner!r}, which is in the race already.")
        self._curves[learner], self._position[learner] = Curve(learner), len(self.learners)
        self.learners = (*self.learners, learner)
        self._reopen()
        self._enter(learner)

    def tell(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in the outcome of the allocation that was asked for."""
        super().tell(allocation, outcome)
        if isinstance(outcome, Failure) or self._has_all_rows(allocation.learner):
            self._boosts = [name for name in self._boosts if name != allocation.learner]

    @property
    def dropped(self) -> frozenset[str]:
        """The learners that a person has taken out of the race."""
        return frozenset(self._dropped)

    @property
    def racing(self) -> frozenset[str]:
        """The learners that may still be asked for."""
        return super().racing - self._dropped

    @property
    def reason(self) -> str:
        """Why the last allocation was asked for, as a clause for people."""
        return "it was boosted by hand" if self._why == BOOSTED else self._ranked_reason()

    @property
    def boosted(self) -> tuple[str, ...]:
        """The learners whose next size comes before all others, in this order."""
        return tuple(self._boosts)

    def _has_all_rows(self, learner: str) -> bool:
        return self._curves[learner].sizes[-1:] == self.schedule.sizes[-1:]

    def _check_racing(self, learner: str, what: str) -> None:
        self._check_known(learner)
        for names, why in ((self._dropped, "was dropped"), (self._failures, "has failed")):
            if learner in names:
                raise InputError(f"`{what}` must be given a learner in the race, got {learner!r}, which {why}.")

    def begin(self, allocation: Allocation, why: str = "") -> None:
        """Take note that this has been asked for, and why."""
        super().begin(allocation, why)
        if why == BOOSTED:
            self._boosts.remove(allocation.learner)
            self._leave(allocation.learner)

    def _next(self) -> Allocation | None:
        learner = next((name for name in self._boosts if name not in self._outstanding), None)
        if learner is None:
            self._why = ""
            return self._choose()
        self._why = BOOSTED
        return Allocation(learner, self.schedule.sizes[self._behind(learner)])

    def _behind(self, learner: str) -> int:
        """Return how many sizes of the schedule a learner has left behind, evaluated or skipped."""
        sizes = self._curves[learner].sizes
        return self.schedule.sizes.index(sizes[-1]) + 1 if sizes else 0

    def _leaders(self, waiting: Ranking, own: float | None) -> Iterator[Allocation]:
        """Guess the next sizes of the waiting learners, highest key first.

        `own` is the key of the learner of the outstanding allocation, where there is one, which is not waiting. Keys
        fall as more is known, so each further size of the same learner counts with a key lowered by a share of the
        usual drop.
        """
        drop, rest = GUESSED_DROP * self._key_drops / max(self._key_drop_count, 1), iter(waiting)
        heap: list[tuple[float, int, int]] = []  # negative key, position, and the size before the guessed one
        if self._outstanding and own is not None:
            asked = self.outstanding[0]
            heap.append((drop - own, self._position[asked.learner], asked.size))
        following = next(rest, None)
        while heap or following:
            if following and (not heap or following[0] >= -heap[0][0]):
                key, position = following
                heapq.heappush(heap, (-key, position, self._curves[self.learners[position]].sizes[-1]))
                following = next(rest, None)
                continue
            negative_key, position, before = heapq.heappop(heap)
            if size := self._size_after(self.learners[position], before):
                yield Allocation(self.learners[position], size)
                heapq.heappush(heap, (negative_key + drop, position, size))

    def _size_after(self, learner: str, size: int) -> int | None:  # noqa: ARG002  # for those that skip sizes
        """Return the size that a learner gets after this one; None after the full size."""
        return self._next_size.get(size)

    @abstractmethod
    def _ranked_reason(self) -> str:
        """Return why the ranking chose the last allocation."""

    @abstractmethod
    def _enter(self, learner: str) -> None:
        """Rank a learner for its next size, with what is known of it."""

    @abstractmethod
    def _leave(self, learner: str) -> None:
        """Remove a learner from the ranking; it may be the outstanding one."""

    def _reopen(self) -> None:
        """Continue a race that was over, because a learner joins it."""
