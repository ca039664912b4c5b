"""What every strategy keeps: the protocol of ask and tell, the curves, and a ranking of learners."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydaub.curve import Curve
from pydaub.errors import AllLearnersFailed, InputError, ProtocolError
from pydaub.records import Allocation, Failure, Measurement, Outcome
from pydaub.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Strategy(ABC):
    """Which learner gets data next?

    Laws, each a test over every strategy: one allocation is outstanding at a time; what is asked is a function
    of what was told before, and of nothing else; a learner's sizes strictly grow; a failure suspends the
    learner, never the run; `forecast` changes nothing; the winner has been measured at the full size.

    A strategy of one's own says what to ask next (`_choose`), what an outcome changes (`_update`), when it is
    done (`_done`), and what it will probably ask after that (`forecast`).
    """

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
        self._best: tuple[float, int] | None = None  # at the full size: minus the score, and the position

    def ask(self) -> Allocation | None:
        """Return what should be trained next, or None when the winner is known."""
        if self._outstanding is not None:
            raise ProtocolError(f"`ask` must wait until the outcome of {self._outstanding} has been told.")
        if self.winner is not None:
            return None
        self._outstanding = self._choose()
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
        elif allocation.size == self.schedule.full_size:
            reached = (-outcome.valid_score, self._position[learner])
            self._best = reached if self._best is None else min(self._best, reached)

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
        if self._best is None or self._outstanding is not None or not self._done():
            return None
        return self.learners[self._best[1]]

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

    def __repr__(self) -> str:
        shown = {**self.settings, "learners": len(self.learners)}
        return f"<{', '.join(f'{name} {value}' for name, value in shown.items())}>"

    def _check_known(self, learner: str) -> None:
        if learner not in self._curves:
            raise InputError(f"`learner` must be one of the strategy's {len(self.learners)}, got {learner!r}.")

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

    `push`, `pop` and each step of a walk cost at most a logarithm of the number of learners.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, key: float, position: int) -> None:
        """Add the learner that is listed at this position."""
        heapq.heappush(self._heap, (-key, position))

    def pop(self) -> int:
        """Remove the first learner and return its position."""
        return heapq.heappop(self._heap)[1]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Walk from the first key and position down, without removing any."""
        frontier = [(self._heap[0], 0)] if self._heap else []
        while frontier:
            (key, position), node = heapq.heappop(frontier)
            yield -key, position
            for child in (2 * node + 1, 2 * node + 2):
                if child < len(self._heap):
                    heapq.heappush(frontier, (self._heap[child], child))
