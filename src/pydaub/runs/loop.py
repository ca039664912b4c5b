"""The one loop: ask, submit, collect, journal, tell; with prefetch, resume, a time limit, and a person who steers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.strategies import Strategy
from pydaub.errors import AllLearnersFailed, InputError, JournalMismatch, NothingMeasured, RefusedAllocation
from pydaub.records import (
    Allocation,
    Asked,
    Evaluated,
    Event,
    Failure,
    Measurement,
    Outcome,
    Selected,
    Steered,
    Stopped,
    Submitted,
)
from pydaub.runs.journal import Journal
from pydaub.runs.steering import POLL_SECONDS, Letter, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from pydaub.engines import Engine

TIMED: Final = (Evaluated, Stopped, Steered)
BY_HAND: Final = "stopped by hand"


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


def run(  # noqa: PLR0913  # three that make a run, four that a person may add
    strategy: Strategy,
    engine: Engine,
    journal: Journal | None = None,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Callable[[Event], None] | None = None,
    steering: Steering | None = None,
) -> Result:
    """Carry the strategy through to its winner on this engine.

    The strategy is sequential. Workers that it leaves idle evaluate what it will probably ask next
    (`forecast`); those outcomes wait until they are asked for. So the sequence of allocations and the winner do
    not depend on the number of workers.

    Outcomes that the journal holds are not measured again: a run that was killed goes on where it was. Nor are
    those that are `known` from elsewhere. After `time_limit` seconds of the engine's clock the run stops, with the
    best so far. `watch` is called with every event, once it has been journalled. `steering` is where commands of a
    person come from.

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
    return _Run(strategy, engine, journal, watch, steering).carried_through(known or {}, time_limit)


@dataclass(frozen=True, slots=True)
class Steering:
    """Where commands come from; `admit` makes a learner that a person adds, or raises InputError if it cannot."""

    mailbox: Mailbox
    admit: Callable[[str], None]


class Past:
    """Events that have happened, told to a strategy again, one by one and in their order.

    So a run goes on where it was, and a picture of it is drawn: what was asked, told and steered is a strategy's whole
    state.
    """

    def __init__(self, strategy: Strategy, known: Mapping[Allocation, Outcome]) -> None:
        self.strategy = strategy
        self.known = dict(known)  # not told yet
        self.steps: list[Step] = []
        self.reason = ""  # why the last allocation was asked for

    def take(self, event: Event) -> None:
        """Take in an event; one that the strategy does not expect raises JournalMismatch."""
        match event:
            case Evaluated(allocation, outcome):
                self.known[allocation] = outcome
                if self.strategy.outstanding == allocation:
                    self.tell(allocation)
            case Asked(allocation):
                if self.strategy.outstanding is not None:
                    raise JournalMismatch(f"got {allocation} before the outcome of {self.strategy.outstanding}")
                if (asked := self.strategy.ask()) != allocation:
                    raise JournalMismatch(f"got {allocation} where the strategy now asks {asked}")
                self.reason = self.strategy.reason
                if allocation in self.known:
                    self.tell(allocation)
            case Steered(command, str(learner)):
                getattr(self.strategy, command)(learner)

    def tell(self, allocation: Allocation) -> None:
        """Tell the strategy an outcome that is known."""
        outcome = self.known.pop(allocation)
        self.strategy.tell(allocation, outcome)
        self.steps.append(Step(allocation, outcome, self.strategy.bound(allocation.learner)))


def best_so_far(outcomes: Mapping[Allocation, Outcome], dropped: Collection[str] = ()) -> Allocation | None:
    """Return what has the highest validation score, with whatever size it was reached, if anything was measured.

    Those that a person has dropped count only where there is nobody else.
    """
    measured = [
        (outcome.valid_score, allocation.size, allocation)
        for allocation, outcome in outcomes.items()
        if isinstance(outcome, Measurement)
    ]
    racing = [entry for entry in measured if entry[2].learner not in dropped]
    best = max(racing or measured, key=lambda entry: entry[:2], default=None)
    return best and best[2]


class _End(Exception):
    """The run must stop; its argument is the reason."""


class _Run:
    def __init__(
        self,
        strategy: Strategy,
        engine: Engine,
        journal: Journal | None,
        watch: Callable[[Event], None] | None,
        steering: Steering | None,
    ) -> None:
        self._strategy, self._engine, self._journal, self._watch = strategy, engine, journal, watch
        self._steering = steering
        self._events = list(journal.events) if journal else []
        self._clock_before = max((event.clock for event in self._events if isinstance(event, TIMED)), default=0.0)
        self._past = Past(strategy, {})
        self._known_elsewhere: set[Allocation] = set()
        self._pending: set[Allocation] = set()
        self._refused: set[Allocation] = set()
        self._deadline: float | None = None
        self._paused_at: float | None = None

    def carried_through(self, known: Mapping[Allocation, Outcome], time_limit: float | None) -> Result:
        self._deadline = None if time_limit is None else self._engine.clock + time_limit
        measured = {event.allocation for event in self._events if isinstance(event, Evaluated)}
        self._known_elsewhere = set(known) - measured
        self._past.known = {allocation: known[allocation] for allocation in self._known_elsewhere}
        try:
            self._go_back()
            while (allocation := self._next()) is not None:
                self._evaluate(allocation)
            winner = self._strategy.winner
            if winner and not any(isinstance(event, Selected) for event in self._events):
                self._note(Selected(winner))
            return self._result(Allocation(winner, self._strategy.schedule.full_size) if winner else None)
        except AllLearnersFailed as error:
            error.result = self._result(None)
            raise
        except _End as end:
            return self._stopped(str(end))
        finally:
            self._engine.close()
            self._refuse(self._steering.mailbox.take() if self._steering else ())

    def _go_back(self) -> None:
        """Tell the strategy all that has happened before."""
        for event in self._events:
            if isinstance(event, Steered) and event.command == "add" and self._steering and event.learner:
                self._steering.admit(event.learner)
            try:
                self._past.take(event)
            except JournalMismatch as error:
                path = self._journal.path if self._journal else "The journal"
                raise JournalMismatch(f"{path} must be of the same run, {error}. Choose another journal.") from None

    def _next(self) -> Allocation | None:
        """Return what is outstanding, or ask; None when the winner is known."""
        self._obey()
        while self._paused_at is not None:
            self._collect()
            self._obey()
        if self._strategy.outstanding is None and (allocation := self._strategy.ask()) is not None:
            # Not synced: it can be worked out again from the outcomes, and shows what is going on meanwhile.
            self._note(Asked(allocation, self._strategy.bound(allocation.learner)), sync=False)
        return self._strategy.outstanding

    def _evaluate(self, allocation: Allocation) -> None:
        """Return once the outcome is known and told, or no longer wanted; keep the other workers busy meanwhile."""
        guesses = self._strategy.forecast()
        while allocation not in self._past.known:
            if self._obey():
                if self._strategy.outstanding != allocation:
                    return
                guesses = self._strategy.forecast()
            if self._paused_at is None:
                if allocation not in self._pending and self._engine.free:
                    self._submit(allocation)
                if allocation in self._pending:
                    self._prefetch(guesses)
            self._collect()
        if self._journal and allocation in self._known_elsewhere:
            # So that the journal can be read without those that were known. Nobody is told: nothing has happened.
            clock = self._clock_before + self._engine.clock
            self._journal.append(Evaluated(allocation, self._past.known[allocation], clock), sync=False)
        self._past.tell(allocation)

    def _collect(self) -> None:
        """Wait for an outcome, but no longer than until the time is up, or a command may have come."""
        if self._paused_at is not None and not self._pending:
            time.sleep(POLL_SECONDS)
            return
        left = None if self._deadline is None or self._paused_at is not None else self._deadline - self._engine.clock
        wait = left if self._steering is None else min(POLL_SECONDS, POLL_SECONDS if left is None else left)
        collected = self._engine.collect(None if wait is None else max(wait, 0.0))
        if collected is not None:
            done, outcome = collected
            self._pending.remove(done)
            self._note(Evaluated(done, outcome, self._clock_before + self._engine.clock))
            self._past.known[done] = outcome
        elif left is not None and self._deadline is not None and self._engine.clock >= self._deadline:
            raise _End("time limit")

    def _obey(self) -> bool:
        """Take up the commands that have come; return whether there were any."""
        letters = self._steering.mailbox.take() if self._steering else []
        for place, letter in enumerate(letters):
            try:
                self._steer(letter)
            except InputError as error:
                self._answer(letter, str(error))
            except _End:
                self._refuse(letters[place + 1 :])
                raise
        return bool(letters)

    def _refuse(self, letters: Iterable[Letter]) -> None:
        for letter in letters:
            self._answer(letter, "The run must be going on to be steered, and has just ended.")

    def _steer(self, letter: Letter) -> None:
        command, learner = letter.command, letter.learner
        if (command == "pause") == (self._paused_at is not None) and command in {"pause", "resume"}:
            raise InputError(f"The run must not be {'paused' if command == 'pause' else 'going on'} already.")
        if learner is not None:
            if command == "add" and self._steering and learner not in self._strategy.learners:
                self._steering.admit(learner)
            getattr(self._strategy, command)(learner)
            if command == "drop":
                self._cancel(learner)
        self._note(Steered(command, learner, self._clock_before + self._engine.clock))
        self._answer(letter)
        if command == "stop":
            raise _End(BY_HAND)
        if command == "pause":
            self._paused_at = self._engine.clock
        elif command == "resume" and self._paused_at is not None:
            if self._deadline is not None:
                self._deadline += self._engine.clock - self._paused_at
            self._paused_at = None

    def _cancel(self, learner: str) -> None:
        for allocation in [allocation for allocation in self._pending if allocation.learner == learner]:
            self._engine.cancel(allocation)
            self._pending.remove(allocation)

    def _answer(self, letter: Letter, refused: str | None = None) -> None:
        if self._steering:
            self._steering.mailbox.answer(letter, refused)

    def _prefetch(self, guesses: Iterator[Allocation]) -> None:
        while self._engine.free and (guess := next(guesses, None)) is not None:
            if guess in self._past.known or guess in self._pending or guess in self._refused:
                continue
            try:
                self._submit(guess, guess=True)
            except RefusedAllocation:
                self._refused.add(guess)  # a guess need not be possible

    def _submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        self._engine.submit(allocation, guess=guess)
        self._pending.add(allocation)
        self._note(Submitted(allocation), sync=False)

    def _note(self, event: Event, *, sync: bool = True) -> None:
        if self._journal:
            self._journal.append(event, sync=sync)
        if self._watch:
            self._watch(event)

    def _stopped(self, reason: str) -> Result:
        self._note(Stopped(reason, self._clock_before + self._engine.clock))
        outcomes = {**{step.allocation: step.outcome for step in self._past.steps}, **self._past.known}
        best = best_so_far(outcomes, self._strategy.dropped)
        result = self._result(best, reason)
        if best is None:
            raise NothingMeasured(result)
        return result

    def _result(self, chosen: Allocation | None, stopped: str | None = None) -> Result:
        ahead = {done: outcome for done, outcome in self._past.known.items() if done not in self._known_elsewhere}
        return Result(
            selected=None if chosen is None else chosen.learner,
            full_size=self._strategy.schedule.full_size,
            steps=tuple(self._past.steps),
            failures=self._strategy.failures,
            wall_seconds=self._clock_before + self._engine.clock,
            speculated=ahead,
            abandoned=len(self._pending),
            resumed=sum(isinstance(event, Evaluated) for event in self._events),
            selected_size=None if chosen is None else chosen.size,
            stopped=stopped,
        )
