"""What strategies that work in rounds share: all learners on one size, then fewer on the next."""

from __future__ import annotations

import math
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies.base import Strategy
from pydaub.algorithm.strategies.ranking import Ranking
from pydaub.records import Allocation, Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.schedule import Schedule


class Rounds(Strategy):
    """All learners get the first size; those that are kept get the next, and so on up to the full size.

    A learner that is kept alone gets the full size at once. Elimination is final, with one exception: if all kept
    learners fail, the best of those eliminated last takes their place, so that failures never end a run that still has
    a learner.

    A subclass says how a measured learner is ranked (`_key`) and which learners are kept (`_cut`).
    """

    jumps = True  # whether a learner that is kept alone gets the full size at once

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        super().__init__(learners, schedule)
        self._size = self.schedule.sizes[0]
        everyone = Ranking()
        for position in range(len(self.learners)):
            everyone.push(0.0, position)
        self._queues = [everyone]  # the last is this round's; the others hold learners eliminated in earlier rounds
        self._left, self._floor = len(everyone), -math.inf  # this round's queue: how many at most, and the lowest key
        self._measured = Ranking()
        self._keys: dict[str, float] = {}

    def _key(self, curve: Curve) -> float:
        """Return what a learner is ranked by at the end of the round."""
        return curve.measurements[-1].valid_score

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        """Return how many learners are kept at most, and the lowest key that is kept."""
        return len(measured), -math.inf

    def forecast(self) -> Iterator[Allocation]:
        """Yield the rest of this round, then the later sizes of its leaders, size by size.

        The learner of the outstanding allocation comes first: the round waits for it, and so may the next one.
        """
        if self._in_round():
            rest = takewhile(lambda entry: entry[0] >= self._floor, islice(self._queues[-1], self._left))
            yield from (Allocation(self.learners[position], self._size) for _, position in rest)
        asked = next(iter(self.outstanding), None)
        for size in self.schedule.sizes:
            if size > self._size:
                if asked:
                    yield Allocation(asked.learner, size)
                yield from (Allocation(self.learners[position], size) for _, position in self._measured)

    def priority(self, learner: str) -> float | None:
        """Return what the learner was last ranked by."""
        self._check_known(learner)
        return self._keys.get(learner)

    @property
    def racing(self) -> frozenset[str]:
        """The learners of this round and of later ones."""
        rest = islice(self._queues[-1], max(self._left, 0)) if self._queues else ()
        places = [position for key, position in rest if key >= self._floor] + [place for _, place in self._measured]
        asked = self._outstanding.keys()
        return frozenset({self.learners[place] for place in places} | asked) - self._failures.keys()

    @property
    def reason(self) -> str:
        """Why the last allocation was asked for, as a clause for people."""
        return f"it is in the round of {self._size:,} rows"

    def ruled_out(self) -> dict[str, str]:
        """Return the learners that were eliminated."""
        out = frozenset(self.learners) - self.racing - self._failures.keys()
        return {name: f"it was eliminated after the round of {self._curves[name].sizes[-1]:,} rows" for name in out}

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
            key = self._key(self._curves[learner])
            self._keys[learner] = key
            self._measured.push(key, self._position[learner])

    def _done(self) -> bool:
        return self._size == self.schedule.full_size and not self._in_round()

    def _in_round(self) -> bool:
        """Return whether the first learner of the queue belongs to this round."""
        first = next(iter(self._queues[-1]), None) if self._left > 0 and self._queues else None
        return first is not None and first[0] >= self._floor

    def _begin_round(self) -> None:
        self._left, self._floor = self._cut(self._measured)
        kept = sum(key >= self._floor for key, _ in islice(self._measured, min(self._left, 2)))
        self._size = self.schedule.full_size if kept == 1 and self.jumps else self._next_size[self._size]
        self._queues.append(self._measured)
        self._measured = Ranking()
