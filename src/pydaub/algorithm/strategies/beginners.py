"""Learners without an outcome: who starts next, and whose first training is tried again."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.strategies.ranking import Ranking
from pydaub.records import Allocation, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydaub.algorithm.strategies.costs import Costs

# Once so many learners have had their first sample, and all rows take less than so many times as long, the others start
# with all rows: to select would cost as much as to train.
KNOWN, CHEAP = 5, 2.5
LATE_SECONDS: Final = 100.0  # a learner without any outcome may take so long, or as long as everything else


class Beginners:
    """The learners that wait without an outcome.

    Parameters
    ----------
    position
        The positions at which the learners are listed; the strategy adds to it.
    promises
        What each learner promises for its time, by name; those that are not named start as the middle one would.
    costs
        What trainings cost, which knows whose first one was ended.
    """

    def __init__(self, position: Mapping[str, int], promises: Mapping[str, float], costs: Costs) -> None:
        self.promises = {name: number(value, "promises") for name, value in promises.items()}
        self._neutral = median(self.promises.values()) if self.promises else 0.0
        self._position, self._costs = position, costs
        self._names: list[str] = []
        self._samples = 0
        self._took = self._whole = 0.0  # seconds of the first samples, and those that all rows would take
        self._fresh = Ranking()  # not begun, the most promising first
        self._late = Ranking()  # whose first evaluation was ended, the shortest first

    def enter(self, learner: str) -> None:
        """Let a learner wait for its first training, or for another try."""
        lost = self._costs.lost(learner)
        ranking, key = (self._late, -lost) if lost else (self._fresh, self.promises.get(learner, self._neutral))
        ranking.push(key, self._position[learner])

    def leave(self, learner: str) -> None:
        """Take a learner out."""
        for ranking in (self._fresh, self._late):
            ranking.discard(self._position[learner])

    def began(self, learner: str) -> None:
        """Take note that a learner has had its first sample."""
        took, whole = self._costs.whole(learner)
        self._samples, self._took, self._whole = self._samples + 1, self._took + took, self._whole + whole

    def size(self, sizes: Sequence[int]) -> int:
        """Return the size that learners start with."""
        return sizes[-1] if self._samples >= KNOWN and self._whole < CHEAP * self._took else sizes[0]

    @property
    def first(self) -> str | None:
        """The learner that starts next."""
        return self._name(self._fresh.first[1]) if self._fresh.first else None

    def overdue(self, spent: float, *, alone: bool) -> str | None:
        """Return the learner whose first training is tried again next, if it may take so much longer.

        `spent` are the seconds of all trainings; `alone` says that no learner has had all rows.
        """
        if self._late.first is None:
            return None
        learner = self._name(self._late.first[1])
        return learner if alone or (self._costs.first_limit(learner) or 0.0) <= max(LATE_SECONDS, spent) else None

    def trainings(self, size: int) -> Iterator[Allocation]:
        """Yield this size for every learner that starts, in order."""
        return (self.training(self._name(position), size) for _, position in self._fresh)

    def late(self, size: int) -> Iterator[Allocation]:
        """Yield this size for every learner whose first training was ended, in order."""
        return (self.training(self._name(position), size) for _, position in self._late)

    def training(self, learner: str, size: int) -> Allocation:
        """Return a first training, with the time after which it is ended."""
        return Allocation(learner, size, self._costs.first_limit(learner))

    def _name(self, position: int) -> str:
        if len(self._names) != len(self._position):
            self._names = [*self._position]
        return self._names[position]
