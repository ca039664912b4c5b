"""The one loop: ask, submit, collect, journal, tell; with prefetch, and resume from the journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydaub.errors import AllLearnersFailed, InputError, JournalMismatch, RefusedAllocation
from pydaub.journal import Journal
from pydaub.records import Allocation, Asked, Evaluated, Failure, Measurement, Outcome, Selected
from pydaub.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydaub.engines import Engine


@dataclass(frozen=True, slots=True)
class Step:
    """One allocation that was asked for, its outcome, and the learner's bound once that was known."""

    allocation: Allocation
    outcome: Outcome
    bound: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """What a run did. `selected` is None where every learner failed.

    `speculated` are the outcomes that were guessed ahead and never asked for, `abandoned` counts the guesses that
    were still running at the end, `resumed` the outcomes that a journal already held.
    """

    selected: str | None
    full_size: int
    steps: tuple[Step, ...]
    failures: Mapping[str, Failure]
    wall_seconds: float
    speculated: Mapping[Allocation, Outcome] = field(default_factory=dict)
    abandoned: int = 0
    resumed: int = 0

    @property
    def rows(self) -> int:
        """All rows that were asked to be trained on."""
        return sum(step.allocation.size for step in self.steps)

    @property
    def seconds(self) -> float:
        """All training time that was asked for."""
        return sum((step.outcome.seconds for step in self.steps), start=0.0)

    @property
    def valid_score(self) -> float | None:
        """The selected learner's validation score at the full size."""
        at_full = (step for step in self.steps if step.allocation.size == self.full_size)
        scores = [
            step.outcome.valid_score
            for step in at_full
            if step.allocation.learner == self.selected and isinstance(step.outcome, Measurement)
        ]
        return scores[0] if scores else None


def run(strategy: Strategy, engine: Engine, journal: Journal | None = None) -> Result:
    """Carry the strategy through to its winner on this engine.

    The strategy is sequential. Workers that it leaves idle evaluate what it will probably ask next
    (`forecast`); those outcomes wait until they are asked for. So the sequence of allocations and the winner do
    not depend on the number of workers.

    Outcomes that the journal holds are not measured again: a run that was killed goes on where it was. The
    engine is closed at the end, whatever happens. Raises `AllLearnersFailed`, whose `result` holds what was done.
    """
    if not isinstance(strategy, Strategy):
        raise InputError(f"`strategy` must be a Strategy, got {strategy!r}.")
    if not isinstance(journal, Journal | None):
        raise InputError(f"`journal` must be an open Journal or None, got {journal!r}.")
    return _Run(strategy, engine, journal).carried_through()


class _Run:
    def __init__(self, strategy: Strategy, engine: Engine, journal: Journal | None) -> None:
        past = journal.events if journal else []
        self._strategy, self._engine, self._journal = strategy, engine, journal
        self._known = {event.allocation: event.outcome for event in past if isinstance(event, Evaluated)}
        self._resumed = len(self._known)
        self._asked_before = iter([event.allocation for event in past if isinstance(event, Asked)])
        self._selected_before = any(isinstance(event, Selected) for event in past)
        self._clock_before = max((event.clock for event in past if isinstance(event, Evaluated)), default=0.0)
        self._pending: set[Allocation] = set()
        self._refused: set[Allocation] = set()
        self._steps: list[Step] = []

    def carried_through(self) -> Result:
        try:
            while (allocation := self._strategy.ask()) is not None:
                self._note_asked(allocation)
                self._evaluate(allocation)
                outcome = self._known.pop(allocation)
                self._strategy.tell(allocation, outcome)
                self._steps.append(Step(allocation, outcome, self._strategy.bound(allocation.learner)))
            winner = self._strategy.winner
            if self._journal and winner and not self._selected_before:
                self._journal.append(Selected(winner))
            return self._result(winner)
        except AllLearnersFailed as error:
            error.result = self._result(None)
            raise
        finally:
            self._engine.close()

    def _note_asked(self, allocation: Allocation) -> None:
        """Journal what is asked, and on resuming check that it is what was asked before."""
        if self._journal is None:
            return
        before = next(self._asked_before, None)
        if before is None:
            # Not synced: it can be worked out again from the outcomes, and shows what is going on meanwhile.
            self._journal.append(Asked(allocation, self._strategy.bound(allocation.learner)), sync=False)
        elif before != allocation:
            raise JournalMismatch(
                f"{self._journal.path} must be of the same run, got {before} where the strategy now asks"
                f" {allocation}. Choose another journal."
            )

    def _evaluate(self, allocation: Allocation) -> None:
        """Return once the outcome is known; keep the other workers busy meanwhile."""
        guesses = self._strategy.forecast()
        while allocation not in self._known:
            if allocation not in self._pending and self._engine.free:
                self._submit(allocation)
            if allocation in self._pending:
                self._prefetch(guesses)
            done, outcome = self._engine.collect()
            self._pending.remove(done)
            if self._journal:
                clock = self._clock_before + self._engine.clock
                self._journal.append(Evaluated(done, outcome, clock))
            self._known[done] = outcome

    def _prefetch(self, guesses: Iterator[Allocation]) -> None:
        while self._engine.free and (guess := next(guesses, None)) is not None:
            if guess in self._known or guess in self._pending or guess in self._refused:
                continue
            try:
                self._submit(guess)
            except RefusedAllocation:
                self._refused.add(guess)  # what was only guessed need not be possible

    def _submit(self, allocation: Allocation) -> None:
        self._engine.submit(allocation)
        self._pending.add(allocation)

    def _result(self, winner: str | None) -> Result:
        return Result(
            selected=winner,
            full_size=self._strategy.schedule.full_size,
            steps=tuple(self._steps),
            failures=self._strategy.failures,
            wall_seconds=self._clock_before + self._engine.clock,
            speculated=self._known,
            abandoned=len(self._pending),
            resumed=self._resumed,
        )
