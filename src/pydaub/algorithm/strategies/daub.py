"""DAUB itself: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.bounds import SlopeBound, UpperBound, check_bound, described, value
from pydaub.algorithm.strategies.base import Ranking, Strategy
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.schedule import Schedule

BOOTSTRAP = 3  # Alg. 1: b, b r and b r^2
PAPER_BOUND = SlopeBound()


class Daub(Strategy):
    """Data Allocation using Upper Bounds.

    Every learner first gets the three smallest sizes. Then the learner with the highest bound gets its next
    size, again and again, until one has had all rows; that one is selected. Learners are only ever suspended
    by a lower bound, never dropped. Ties go to the learner listed first. If the bootstrap already
    reaches the full size, the best validation score there wins.

    A learner that got all rows because a person wished so waits with its score for a bound, and is selected
    once no other has a higher one.

    Variants are bounds and settings: `Daub(..., bound=SlopeBound(train_cap=False))` is the paper's "no f^T".
    """

    steerable = True

    def __init__(self, learners: Iterable[str], schedule: Schedule, bound: UpperBound = PAPER_BOUND) -> None:
        super().__init__(learners, schedule)
        check_bound(bound)
        self._bound = bound
        self._bootstrap = self.schedule.sizes[:BOOTSTRAP]
        self._bootstrapping = Ranking()  # those that are not through with it, in their order
        for position in range(len(self.learners)):
            self._bootstrapping.push(0.0, position)
        self._waiting = Ranking()  # by bound; the learner that was asked for is not in it
        self._reached: str | None = None  # who has got all rows by its bound

    def forecast(self) -> Iterator[Allocation]:
        """Yield what is left of the bootstrap, then the next sizes of the learners with the highest bounds."""
        asked = self._outstanding
        for _, position in self._bootstrapping:
            learner = self.learners[position]
            had = self._curves[learner].sizes[-1:] or (0,)
            last = asked.size if asked and asked.learner == learner else had[0]
            yield from (Allocation(learner, size) for size in self._bootstrap if size > last)
        if self.winner is None:
            own = self._bounds.get(asked.learner) if asked else None
            yield from self._leaders(self._waiting, own)

    @property
    def reason(self) -> str:
        """Why the outstanding allocation was asked for, in plain words."""
        if self._wished:
            return "it was boosted by hand"
        asked = self._outstanding
        if asked is None or asked.size <= self._bootstrap[-1]:
            return f"every learner begins with the {len(self._bootstrap)} smallest sizes"
        own, following = self._bounds[asked.learner], self._waiting.first
        if following is None:
            return f"its bound {own:.3f} is the only one left"
        return f"its bound {own:.3f} is the highest; next is {self.learners[following[1]]} with {following[0]:.3f}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two strategies ask the same, in plain JSON values."""
        return {**super().settings, "bound": described(self._bound)}

    def _choose(self) -> Allocation | None:
        if first := self._bootstrapping.first:
            learner = self.learners[first[1]]
            return Allocation(learner, self._bootstrap[len(self._curves[learner].sizes)])
        if not self._waiting:
            return None
        learner = self.learners[self._waiting.pop()]  # Alg. 1: j <- argmax u_i
        return Allocation(learner, self._next_size[self._curves[learner].sizes[-1]])

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner, size, last = allocation.learner, allocation.size, self._bootstrap[-1]
        position, failed = self._position[learner], isinstance(outcome, Failure)
        if not failed and size >= last:  # Alg. 1: UpdateBound
            bound = value(self._bound, self._curves[learner], self.schedule.full_size)
            if math.isfinite(fall := self._bounds.get(learner, bound) - bound):
                self._fallen += max(fall, 0.0)
                self._falls += size > last
            self._bounds[learner] = bound
        if failed or size >= last:
            self._bootstrapping.discard(position)
        if not failed and size == self.schedule.full_size and not self._wished:
            self._reached = learner
        elif not failed:
            self._enter(learner)

    def _enter(self, learner: str) -> None:
        position, sizes = self._position[learner], self._curves[learner].sizes
        if len(sizes) < len(self._bootstrap):
            self._bootstrapping.push(0.0, position)
        elif sizes[-1] == self.schedule.full_size:
            self._waiting.push(self._curves[learner].measurements[-1].valid_score, position)
        else:
            self._waiting.push(self._bounds[learner], position)

    def _reopen(self) -> None:
        """Have all who have got all rows wait with their scores, instead of the race being over."""
        if self._reached is not None:
            self._reached = None
            for other in self._at_full:
                if other not in self._dropped:
                    self._enter(other)

    def _leave(self, learner: str) -> None:
        if learner == self._reached:
            self._reopen()
        self._bootstrapping.discard(self._position[learner])
        self._waiting.discard(self._position[learner])

    def _done(self) -> bool:
        if self._bootstrapping:
            return False
        first = self._waiting.first
        return self._reached is not None or (
            first is not None and self._curves[self.learners[first[1]]].sizes[-1] == self.schedule.full_size
        )
