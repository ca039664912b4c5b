"""The one loop: ask, submit, collect, journal, tell; with prefetch, resume from the journal, and a time limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING

from pydaub.errors import AllLearnersFailed, InputError, JournalMismatch, NothingMeasured, RefusedAllocation
from pydaub.journal import Journal
from pydaub.records import (
    Allocation,
    Asked,
    Evaluated,
    Event,
    Failure,
    Measurement,
    Outcome,
    Selected,
    Stopped,
    Submitted,
)
from pydaub.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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

    `stopped` says why a run ended before its strategy was done; `selected` is then the learner with the best
    validation score so far, reached with `selected_size` rows. `speculated` are the outcomes that were guessed ahead
    and never asked for, `abandoned` counts the guesses that were still running at the end, `resumed` the outcomes
    that a journal already held.
    """

    selected: str | None
    full_size: int
    steps: tuple[Step, ...]
    failures: Mapping[str, Failure]
    wall_seconds: float
    speculated: Mapping[Allocation, Outcome] = field(default_factory=dict)
    abandoned: int = 0
    resumed: int = 0
    selected_size: int | None = None
    stopped: str | None = None

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
        """The selected learner's validation score."""
        return None if self.measured is None else self.measured.valid_score

    @property
    def measured(self) -> Measurement | None:
        """What the selected learner was selected for."""
        if self.selected is None or self.selected_size is None:
            return None
        chosen = Allocation(self.selected, self.selected_size)
        outcomes = {step.allocation: step.outcome for step in self.steps}
        outcome = outcomes.get(chosen, self.speculated.get(chosen))
        return outcome if isinstance(outcome, Measurement) else None


def run(  # noqa: PLR0913  # three that make a run, three that a person may add
    strategy: Strategy,
    engine: Engine,
    journal: Journal | None = None,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Callable[[Event], None] | None = None,
) -> Result:
    """Carry the strategy through to its winner on this engine.

    The strategy is sequential. Workers that it leaves idle evaluate what it will probably ask next
    (`forecast`); those outcomes wait until they are asked for. So the sequence of allocations and the winner do
    not depend on the number of workers.

    Outcomes that the journal holds are not measured again: a run that was killed goes on where it was. Nor are
    those that are `known` from elsewhere. After `time_limit` seconds of the engine's clock the run stops, with the
    best so far. `watch` is called with every event, once it has been journalled.

    The engine is closed at the end, whatever happens. Raises `AllLearnersFailed`, or `NothingMeasured` where the
    time was too short; the `result` of both holds what was done.
    """
    if not isinstance(strategy, Strategy):
        raise InputError(f"`strategy` must be a Strategy, got {strategy!r}.")
    if not isinstance(journal, Journal | None):
        raise InputError(f"`journal` must be an open Journal or None, got {journal!r}.")
    limit: object = time_limit
    if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
        raise InputError(f"`time_limit` must be more than 0 seconds, got {time_limit!r}.")
    running = _Run(strategy, engine, journal, watch)
    running.add_known(known or {})
    return running.carried_through(time_limit)


class _TimeUp(Exception):
    """The time limit has passed."""


class _Run:
    def __init__(
        self, strategy: Strategy, engine: Engine, journal: Journal | None, watch: Callable[[Event], None] | None
    ) -> None:
        past = journal.events if journal else []
        self._strategy, self._engine, self._journal, self._watch = strategy, engine, journal, watch
        self._known = {event.allocation: event.outcome for event in past if isinstance(event, Evaluated)}
        self._resumed = len(self._known)
        self._asked_before = iter([event.allocation for event in past if isinstance(event, Asked)])
        self._selected_before = any(isinstance(event, Selected) for event in past)
        self._clock_before = max((event.clock for event in past if isinstance(event, Evaluated | Stopped)), default=0.0)
        self._pending: set[Allocation] = set()
        self._refused: set[Allocation] = set()
        self._steps: list[Step] = []
        self._deadline: float | None = None
        self._known_elsewhere: set[Allocation] = set()

    def add_known(self, known: Mapping[Allocation, Outcome]) -> None:
        self._known_elsewhere = set(known) - set(self._known)
        self._known = {**known, **self._known}

    def carried_through(self, time_limit: float | None) -> Result:
        self._deadline = None if time_limit is None else self._engine.clock + time_limit
        try:
            while (allocation := self._strategy.ask()) is not None:
                self._note_asked(allocation)
                self._evaluate(allocation)
                outcome = self._known.pop(allocation)
                self._strategy.tell(allocation, outcome)
                self._steps.append(Step(allocation, outcome, self._strategy.bound(allocation.learner)))
            winner = self._strategy.winner
            if winner and not self._selected_before:
                self._note(Selected(winner))
            return self._result(Allocation(winner, self._strategy.schedule.full_size) if winner else None)
        except AllLearnersFailed as error:
            error.result = self._result(None)
            raise
        except _TimeUp:
            return self._stopped("time limit")
        finally:
            self._engine.close()

    def _stopped(self, reason: str) -> Result:
        """Return the best so far: the highest validation score, with whatever size it was reached."""
        self._note(Stopped(reason, self._clock_before + self._engine.clock))
        outcomes = {**{step.allocation: step.outcome for step in self._steps}, **self._known}
        measured = [
            (outcome.valid_score, allocation.size, allocation)
            for allocation, outcome in outcomes.items()
            if isinstance(outcome, Measurement)
        ]
        best = max(measured, key=lambda entry: entry[:2], default=None)
        result = self._result(best and best[2], reason)
        if best is None:
            raise NothingMeasured(result)
        return result

    def _note(self, event: Event, *, sync: bool = True) -> None:
        if self._journal:
            self._journal.append(event, sync=sync)
        if self._watch:
            self._watch(event)

    def _note_asked(self, allocation: Allocation) -> None:
        """Journal what is asked, and on resuming check that it is what was asked before."""
        before = next(self._asked_before, None)
        if before is None:
            # Not synced: it can be worked out again from the outcomes, and shows what is going on meanwhile.
            self._note(Asked(allocation, self._strategy.bound(allocation.learner)), sync=False)
        elif self._journal and before != allocation:
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
            collected = self._engine.collect(self._seconds_left())
            if collected is None:
                raise _TimeUp
            done, outcome = collected
            self._pending.remove(done)
            self._note(Evaluated(done, outcome, self._clock_before + self._engine.clock))
            self._known[done] = outcome

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else max(self._deadline - self._engine.clock, 0.0)

    def _prefetch(self, guesses: Iterator[Allocation]) -> None:
        while self._engine.free and (guess := next(guesses, None)) is not None:
            if guess in self._known or guess in self._pending or guess in self._refused:
                continue
            try:
                self._submit(guess, guess=True)
            except RefusedAllocation:
                self._refused.add(guess)  # a guess need not be possible

    def _submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        self._engine.submit(allocation, guess=guess)
        self._pending.add(allocation)
        self._note(Submitted(allocation), sync=False)

    def _result(self, chosen: Allocation | None, stopped: str | None = None) -> Result:
        return Result(
            selected=None if chosen is None else chosen.learner,
            full_size=self._strategy.schedule.full_size,
            steps=tuple(self._steps),
            failures=self._strategy.failures,
            wall_seconds=self._clock_before + self._engine.clock,
            speculated={done: outcome for done, outcome in self._known.items() if done not in self._known_elsewhere},
            abandoned=len(self._pending),
            resumed=self._resumed,
            selected_size=None if chosen is None else chosen.size,
            stopped=stopped,
        )
