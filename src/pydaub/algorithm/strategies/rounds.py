"""What the strategies that work in rounds share: all learners on one size, then fewer on the next."""

from __future__ import annotations

import math
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.base import Ranking, Strategy
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.schedule import Schedule


class Rounds(Strategy):
    """All learners get the first size; those that are kept get the next, and so on up to the full size.

    A learner that is kept alone gets the full size at once. Dropping is for good, with one exception: if all
    that were kept fail, the best of those dropped last takes their place, so that failures never end a run
    that still has a learner.

    A strategy of this kind says how a measured learner is ranked (`_key`) and who is kept (`_cut`).
    """

    jumps = True  # whether one who is kept alone gets the full size at once

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        super().__init__(learners, schedule)
        self._size = self.schedule.sizes[0]
        everyone = Ranking()
        for position in range(len(self.learners)):
            everyone.push(0.0, position)
        self._queues = [everyone]  # the last is this round's; the others hold those dropped in earlier rounds
        self._left, self._floor = len(everyone), -math.inf  # of this round's queue, so many, down to this key
        self._measured = Ranking()

    def _key(self, curve: Curve) -> float:
        """Return what a learner is ranked by at the end of the round."""
        return curve.measurements[-1].valid_score

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        """Return how many are kept at most, and the least key with which one is kept."""
        return len(measured), -math.inf

    def forecast(self) -> Iterator[Allocation]:
        """Yield what is left of this round, then the later sizes of its leaders, size by size.

        The learner that is being evaluated comes first: the round waits for it, and so may the next one.
        """
        if self._in_round():
            rest = takewhile(lambda entry: entry[0] >= self._floor, islice(self._queues[-1], self._left))
            yield from (Allocation(self.learners[position], self._size) for _, position in rest)
        asked = self._outstanding
        for size in self.schedule.sizes:
            if size > self._size:
                if asked:
                    yield Allocation(asked.learner, size)
                yield from (Allocation(self.learners[position], size) for _, position in self._measured)

    @property
    def racing(self) -> frozenset[str]:
        """The learners of this round, and of those that come."""
        rest = islice(self._queues[-1], max(self._left, 0)) if self._queues else ()
        places = [position for key, position in rest if key >= self._floor] + [place for _, place in self._measured]
        asked = {self._outstanding.learner} if self._outstanding else set()
        return frozenset({self.learners[place] for place in places} | asked) - self._failures.keys()

    @property
    def reason(self) -> str:
        """Why the outstanding allocation was asked for, in plain words."""
        return f"it is in the round of {self._size:,} rows"

    def _choose(self) -> Allocation | None:
        if not self._in_round() and self._measured:
            self._begin_round()
        while self._queues and not self._queues[-1]:
            self._queues.pop()
        if not self._queues:
            return None
        self._left -= 1
        return Allocation(self.learners[self._queues[-1].pop()], self._size)

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        if not isinstance(outcome, Failure):
            learner = allocation.learner
            self._measured.push(self._key(self._curves[learner]), self._position[learner])

    def _done(self) -> bool:
        return self._size == self.schedule.full_size and not self._in_round()

    def _in_round(self) -> bool:
        """Whether the first of the queue belongs to this round."""
        first = next(iter(self._queues[-1]), None) if self._left > 0 and self._queues else None
        return first is not None and first[0] >= self._floor

    def _begin_round(self) -> None:
        self._left, self._floor = self._cut(self._measured)
        kept = sum(key >= self._floor for key, _ in islice(self._measured, min(self._left, 2)))
        self._size = self.schedule.full_size if kept == 1 and self.jumps else self._next_size[self._size]
        self._queues.append(self._measured)
        self._measured = Ranking()
