"""DAUB itself: Algorithm 1 of the paper."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from pydaub.bounds import SlopeBound, UpperBound, check_bound, described, value
from pydaub.records import Allocation, Failure, Outcome
from pydaub.strategies.base import Ranking, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.schedule import Schedule

BOOTSTRAP = 3  # Alg. 1: b, b r and b r^2
PAPER_BOUND = SlopeBound()


class Daub(Strategy):
    """Data Allocation using Upper Bounds.

    Every learner first gets the three smallest sizes. Then the learner with the highest bound gets its next
    size, again and again, until one has had all rows; that one is selected. Learners are only ever suspended
    by a lower bound, never dropped. Ties go to the learner listed first. If the bootstrap already
    reaches the full size, the best validation score there wins.

    Variants are bounds and settings: `Daub(..., bound=SlopeBound(train_cap=False))` is the paper's "no f^T".
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, bound: UpperBound = PAPER_BOUND) -> None:
        super().__init__(learners, schedule)
        check_bound(bound)
        self._bound = bound
        self._bootstrap = self.schedule.sizes[:BOOTSTRAP]
        self._bootstrapped = 0  # how many learners are through with it
        self._waiting = Ranking()  # by bound; the learner that was asked for is not in it

    def forecast(self) -> Iterator[Allocation]:
        """Yield what is left of the bootstrap, then the next sizes of the learners with the highest bounds.

        A learner's first guessed size comes before its second, and a higher bound before a lower one: of the
        k-th learner the m-th size is guessed in round k + m.
        """
        asked = self._outstanding
        for position in range(self._bootstrapped, len(self.learners)):
            learner = self.learners[position]
            had = self._curves[learner].sizes[-1:] or (0,)
            last = asked.size if asked and asked.learner == learner else had[0]
            yield from (Allocation(learner, size) for size in self._bootstrap if size > last)
        if self.winner is not None:
            return
        running = [self._position[asked.learner]] if asked else []
        ranked = chain(running, (position for _, position in self._waiting))
        ladders: list[Iterator[Allocation]] = []
        while (following := next(ranked, None)) is not None or ladders:
            if following is not None:
                ladders.append(self._ladder(self.learners[following]))
            steps = [(ladder, next(ladder, None)) for ladder in ladders]
            yield from (allocation for _, allocation in steps if allocation)
            ladders = [ladder for ladder, allocation in steps if allocation]

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two strategies ask the same, in plain JSON values."""
        return {**super().settings, "bound": described(self._bound)}

    def _ladder(self, learner: str) -> Iterator[Allocation]:
        """Yield the sizes that the learner has not been asked for, after its bootstrap."""
        asked = self._outstanding
        had = self._curves[learner].sizes[-1:] or self._bootstrap[-1:]
        size = max(self._bootstrap[-1], had[0], asked.size if asked and asked.learner == learner else 0)
        while next_size := self._next_size.get(size):
            yield Allocation(learner, next_size)
            size = next_size

    def _choose(self) -> Allocation | None:
        if self._bootstrapped < len(self.learners):
            learner = self.learners[self._bootstrapped]
            return Allocation(learner, self._bootstrap[len(self._curves[learner].sizes)])
        if not self._waiting:
            return None
        learner = self.learners[self._waiting.pop()]  # Alg. 1: j <- argmax u_i
        return Allocation(learner, self._next_size[self._curves[learner].sizes[-1]])

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner, size, last = allocation.learner, allocation.size, self._bootstrap[-1]
        failed = isinstance(outcome, Failure)
        if not failed and size >= last:  # Alg. 1: UpdateBound
            self._bounds[learner] = value(self._bound, self._curves[learner], self.schedule.full_size)
            if size < self.schedule.full_size:
                self._waiting.push(self._bounds[learner], self._position[learner])
        if size == last or (failed and size < last):
            self._bootstrapped += 1

    def _done(self) -> bool:
        return self._bootstrapped == len(self.learners)
