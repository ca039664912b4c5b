"""What every strategy keeps: the protocol of ask and tell, the curves, and a ranking of learners."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from pydaub.algorithm.curve import Curve
from pydaub.algorithm.schedule import Schedule
from pydaub.errors import AllLearnersFailed, InputError, ProtocolError
from pydaub.records import Allocation, Failure, Measurement, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


# A guess is of use if the learner stays ahead, that is, if its key falls less than usual. The share was chosen with
# `daub` among 0.25, 0.5, 1 and 2 on two recorded and four random tables; it changes the clock, never the answer.
GUESSED_FALL = 0.25


class Strategy(ABC):
    """Which learner gets data next?

    Laws, each a test over every strategy: one allocation is outstanding at a time; what is asked is a function
    of what was told before, and of nothing else; a learner's sizes strictly grow; a failure suspends the
    learner, never the run; `forecast` changes nothing; the winner has been measured at the full size.

    A person may steer: `drop` a learner, `restore` it, `boost` it (it gets its next size before all others), `add` one.
    What is asked is then a function of what was told and steered before, in that order.

    A strategy of one's own says what to ask next (`_choose`), what an outcome changes (`_update`), when it is
    done (`_done`), and what it will probably ask after that (`forecast`). One that can be steered (`steerable`)
    also says how a learner enters the race and leaves it (`_enter`, `_leave`).
    """

    steerable = False
    sure = True  # whether a bound holds unless a curve gets steeper; otherwise it is what is likely

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        if isinstance(learners, str) or not isinstance(learners, Iterable):
            raise InputError(f"`learners` must be a list of names, got {learners!r}.")
        if not isinstance(schedule, Schedule):
            raise InputError(f"`schedule` must be a Schedule, got {schedule!r}.")
        self.learners = tuple(learners)
        self.schedule = Schedule(self._used(schedule.sizes))
        if not self.learners:
            raise InputError("`learners` must be at least one, got none.")
        self._curves: dict[str, Curve] = {}
        for learner in self.learners:
            Allocation(learner, 1)  # refuses what is no name
            if learner in self._curves:
                raise InputError(f"`learners` must differ in their names, got {learner!r} twice.")
            self._curves[learner] = Curve(learner)
        self._position = {learner: position for position, learner in enumerate(self.learners)}
        self._next_size = dict(pairwise(self.schedule.sizes))
        self._failures: dict[str, Failure] = {}
        self._bounds: dict[str, float] = {}  # for strategies that have bounds
        self._outstanding: Allocation | None = None
        self._dropped: set[str] = set()
        self._boosts: list[str] = []  # learners whose next size comes first
        self._wished = False  # what was asked is a boost
        self._at_full: dict[str, float] = {}  # scores at the full size
        self._fallen, self._falls = 0.0, 0  # by how much keys have fallen in all, in so many steps: for guesses

    def ask(self) -> Allocation | None:
        """Return what should be trained next, or None when the winner is known."""
        if self._outstanding is not None:
            raise ProtocolError(f"`ask` must wait until the outcome of {self._outstanding} has been told.")
        if self.winner is not None:
            return None
        wished = self._boosted()
        self._wished = wished is not None
        self._outstanding = wished or self._choose()
        if self._outstanding is None:
            raise AllLearnersFailed(self._failures)
        return self._outstanding

    def tell(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in the outcome of the allocation that was asked for."""
        if allocation != self._outstanding:
            expected = f"be for {self._outstanding}" if self._outstanding else "follow `ask`"
            raise ProtocolError(f"`tell` must {expected}, got {allocation}.")
        if not isinstance(outcome, Measurement | Failure):
            raise InputError(f"`outcome` must be a Measurement or a Failure, got {outcome!r}.")
        learner, before = allocation.learner, self._curves[allocation.learner]
        if isinstance(outcome, Measurement):
            self._curves[learner] = before.extended(allocation.size, outcome)
        try:
            self._update(allocation, outcome)
        except Exception:  # a bound of somebody's own may raise: then nothing has been told
            self._curves[learner] = before
            raise
        self._outstanding = None
        if isinstance(outcome, Failure):
            self._failures[learner] = outcome
            self._boosts = [name for name in self._boosts if name != learner]
        elif allocation.size == self.schedule.full_size:
            self._at_full[learner] = outcome.valid_score

    def drop(self, learner: str) -> None:
        """Take a learner out of the race; if its outcome is outstanding, it is no longer waited for."""
        self._check_racing(learner, "drop")
        if len(self.learners) - len(self._dropped) - len(self._failures) < 2:  # noqa: PLR2004  # it and another one
            raise InputError(f"`drop` must leave a learner in the race, got {learner!r}, the last one. Stop the run.")
        self._dropped.add(learner)
        self._leave(learner)
        if self._outstanding and self._outstanding.learner == learner:
            self._outstanding = None
        self._boosts = [name for name in self._boosts if name != learner]

    def restore(self, learner: str) -> None:
        """Bring a dropped learner back, with all that is known of it."""
        self._check_steerable()
        self._check_known(learner)
        if learner not in self._dropped:
            raise InputError(f"`restore` must be of a dropped learner, got {learner!r}, which is none.")
        self._dropped.remove(learner)
        self._reopen()
        self._enter(learner)

    def boost(self, learner: str) -> None:
        """Have a learner get its next size before all others."""
        self._check_racing(learner, "boost")
        waiting = self._boosts.count(learner) + (self._outstanding is not None and self._outstanding.learner == learner)
        if len(self._curves[learner].sizes) + waiting >= len(self.schedule.sizes):
            raise InputError(f"`boost` must be of a learner that has a larger size to get, got {learner!r}.")
        self._boosts.append(learner)

    def add(self, learner: str) -> None:
        """Let one more learner into the race, which begins with the first size."""
        self._check_steerable()
        Allocation(learner, 1)  # refuses what is no name
        if learner in self._curves:
            raise InputError(f"`add` must be of a learner that is not there, got {learner!r}.")
        self._curves[learner], self._position[learner] = Curve(learner), len(self.learners)
        self.learners = (*self.learners, learner)
        self._reopen()
        self._enter(learner)

    @property
    def dropped(self) -> frozenset[str]:
        """The learners that a person has taken out of the race."""
        return frozenset(self._dropped)

    @property
    def racing(self) -> frozenset[str]:
        """The learners that may still be asked for, as far as this strategy knows."""
        return frozenset(self.learners) - self._dropped - self._failures.keys()

    @property
    def reason(self) -> str:
        """Why the outstanding allocation was asked for, in plain words."""
        return f"it is next with the strategy {type(self).__name__.lower()}"

    @property
    def outstanding(self) -> Allocation | None:
        """What was asked for and has not been told yet."""
        return self._outstanding

    @abstractmethod
    def forecast(self) -> Iterator[Allocation]:
        """Guess what will be asked next, the most likely first. Valid until the next `ask` or `tell`."""

    def bound(self, learner: str) -> float | None:
        """Return what this strategy expects of the learner at the full size at most, if it has a bound yet."""
        self._check_known(learner)
        return self._bounds.get(learner)

    @property
    def winner(self) -> str | None:
        """The selected learner, once it is known."""
        if not self._at_full or self._outstanding is not None or not self._done():
            return None
        racing = (name for name in self._at_full if name not in self._dropped)
        return min(racing, key=lambda name: (-self._at_full[name], self._position[name]), default=None)

    @property
    def failures(self) -> Mapping[str, Failure]:
        """The suspended learners and why."""
        return dict(self._failures)

    def curve(self, learner: str) -> Curve:
        """Return what is known of the learner."""
        self._check_known(learner)
        return self._curves[learner]

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two strategies ask the same, in plain JSON values."""
        return {
            "strategy": type(self).__name__.lower(),
            "sizes": list(self.schedule.sizes),
            "learners": list(self.learners),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the strategy that has these settings, as it was at the beginning."""
        return cls(settings["learners"], Schedule(tuple(settings["sizes"])))

    def __repr__(self) -> str:
        shown = {**self.settings, "learners": len(self.learners)}
        return f"<{', '.join(f'{name} {value}' for name, value in shown.items())}>"

    def _check_known(self, learner: str) -> None:
        if learner not in self._curves:
            raise InputError(f"`learner` must be one of the strategy's {len(self.learners)}, got {learner!r}.")

    def _check_steerable(self) -> None:
        if not self.steerable:
            raise InputError(
                f"The strategy must be one in which learners can be steered, got {type(self).__name__.lower()!r}."
                " Pausing and stopping the run always work."
            )

    def _check_racing(self, learner: str, what: str) -> None:
        self._check_steerable()
        self._check_known(learner)
        for names, why in ((self._dropped, "was dropped"), (self._failures, "has failed")):
            if learner in names:
                raise InputError(f"`{what}` must be of a learner in the race, got {learner!r}, which {why}.")

    def _boosted(self) -> Allocation | None:
        if not self._boosts:
            return None
        learner = self._boosts.pop(0)
        self._leave(learner)
        return Allocation(learner, self.schedule.sizes[len(self._curves[learner].sizes)])

    def _enter(self, learner: str) -> None:
        """Have a learner wait for its next size, with what is known of it. Called only where `steerable`."""
        raise NotImplementedError(learner)

    def _reopen(self) -> None:
        """Let the race go on if it was over: one more learner is in it. Called only where `steerable`."""
        raise NotImplementedError

    def _leave(self, learner: str) -> None:
        """Have a learner wait no longer; it may be the one that was asked for. Called only where `steerable`."""
        raise NotImplementedError(learner)

    def _leaders(self, waiting: Ranking, own: float | None) -> Iterator[Allocation]:
        """Guess the next sizes of those that wait, the highest key first.

        `own` is the key of the learner that was asked for, which does not wait. A second size of the same learner
        counts with a lower key than its first, since keys fall as more is known; and so on down its sizes.
        """
        fall, rest = GUESSED_FALL * self._fallen / max(self._falls, 1), iter(waiting)
        heap: list[tuple[float, int, int]] = []  # minus the key, position, and the size that comes before
        if self._outstanding and own is not None:
            heap.append((fall - own, self._position[self._outstanding.learner], self._outstanding.size))
        following = next(rest, None)
        while heap or following:
            if following and (not heap or following[0] >= -heap[0][0]):
                key, position = following
                heapq.heappush(heap, (-key, position, self._curves[self.learners[position]].sizes[-1]))
                following = next(rest, None)
                continue
            minus_key, position, before = heapq.heappop(heap)
            if size := self._next_size.get(before):
                yield Allocation(self.learners[position], size)
                heapq.heappush(heap, (minus_key + fall, position, size))

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of the sizes that this strategy may ask for; the last is among them."""
        return sizes

    @abstractmethod
    def _choose(self) -> Allocation | None:
        """Return what to ask, or None when no learner is left. Called only while not done."""

    @abstractmethod
    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in an outcome, whose measurement is already in the curve; if this raises, it changes nothing."""

    @abstractmethod
    def _done(self) -> bool:
        """Whether the learner with the best validation score at the full size is the answer."""


class Ranking:
    """Learners by a key, the highest first; equal keys in the order in which the learners are listed.

    `push`, `pop` and each step of a walk cost at most a logarithm of the number of learners; `discard` costs nothing
    until its entry comes up.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._entries: dict[int, int] = {}  # the valid entry of each learner
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, key: float, position: int) -> None:
        """Add the learner that is listed at this position, or change its key."""
        self._pushed += 1
        self._entries[position] = self._pushed
        heapq.heappush(self._heap, (-key, position, self._pushed))

    def pop(self) -> int:
        """Remove the first learner and return its position."""
        position = self._first()[1]
        self.discard(position)
        return position

    def discard(self, position: int) -> None:
        """Remove the learner that is listed at this position, if it is there."""
        self._entries.pop(position, None)

    @property
    def first(self) -> tuple[float, int] | None:
        """The first key and position, if there is one."""
        if not self._entries:
            return None
        key, position, _ = self._first()
        return -key, position

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Walk from the first key and position down, without removing any that is valid."""
        frontier = [(self._first(), 0)] if self._entries else []  # what is outdated at the top is not walked over again
        while frontier:
            (key, position, entry), node = heapq.heappop(frontier)
            if self._entries.get(position) == entry:
                yield -key, position
            for child in (2 * node + 1, 2 * node + 2):
                if child < len(self._heap):
                    heapq.heappush(frontier, (self._heap[child], child))

    def _first(self) -> tuple[float, int, int]:
        while self._entries.get(self._heap[0][1]) != self._heap[0][2]:
            heapq.heappop(self._heap)
        return self._heap[0]
