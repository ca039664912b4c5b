"""The one account of a run, which everything that shows the run or reports on it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.seconds import USUAL_GROWTH, Growth
from pydaub.algorithm.strategies import Steerable, strategy_of
from pydaub.errors import AllLearnersFailed, InputError, JournalError, JournalMismatch, PydaubError
from pydaub.events import (
    Adjusted,
    Asked,
    Combined,
    Drawn,
    Evaluated,
    Event,
    Limited,
    Resumed,
    Selected,
    Started,
    Steered,
    Stopped,
    Submitted,
    Withdrawn,
)
from pydaub.records import REFUSED, Allocation, Failure, Measurement, Outcome, Postponed, Scores
from pydaub.runs.result import Result, Step, projected_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.strategies import Strategy

BY_HAND: Final = "stopped by hand"
NOT_FINISHED: Final = "not finished"
SURE: Final = 2.0  # standard errors
GOING_ON: Final = ("running", "paused")
STEERED: Final = {
    "pause": "The run was paused by hand.",
    "resume": "The run was continued by hand.",
    "stop": "The run was stopped by hand.",
    "drop": "{learner} was dropped by hand.",
    "restore": "{learner} was restored by hand.",
    "boost": "{learner} was boosted by hand: its next size comes before all others.",
    "retry": "{learner} gets another chance.",
    "add": "{learner} was added by hand.",
}


@dataclass(frozen=True, slots=True)
class Status:
    """What a learner is doing, in a word or two, and why."""

    word: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the run's log."""

    number: int
    clock: float
    words: str
    learner: str | None = None
    size: int | None = None


class Account:
    """A run, as far as its events tell: of this process, of another that is writing it, or of one that ended long ago.

    The account owns the strategy: it asks it, tells it outcomes and steers it, whether the events come from a run that
    is going on (`ask`, `steer`, `take`) or from a journal (`take` alone). So both always agree.

    Parameters
    ----------
    strategy
        A new strategy.
    settings, versions, descriptions
        Those of the run's `Started` event.
    held
        Whether a process is writing the run now. If not, nothing that was begun is running any more.
    """

    def __init__(
        self,
        strategy: Strategy,
        settings: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        *,
        held: bool = False,
    ) -> None:
        self.strategy = strategy
        self.settings = dict(settings or strategy.settings)
        self.versions = dict(versions or {})
        self.descriptions = dict(descriptions or {})  # what each learner is
        self.scores = Scores.from_json(self.settings["scores"]) if "scores" in self.settings else Scores()
        self.held = held
        self.known: dict[Allocation, Outcome] = {}  # outcomes from elsewhere, which need not be measured
        self.ahead: dict[Allocation, Outcome] = {}  # evaluated and not asked for yet
        self.steps: list[Step] = []
        self.hurried: dict[str, Step] = {}  # by learner: evaluated ahead with all rows, in a run that has stopped
        self.running: dict[Allocation, float] = {}  # the clock when each began, as far as events tell
        self.improvements: list[tuple[float, Allocation, float]] = []  # clock and score, each higher than all before
        self.clock = 0.0
        self.decisions: list[Decision] = []
        self.selected: str | None = None
        self.combined: Combined | None = None
        self.adjusted: Adjusted | None = None
        self.drawn: dict[str, str] = {}  # the parameters of configurations that joined, in words
        self.stopped: str | None = None
        self.paused = False
        self.resumed = 0  # outcomes that the journal held when this process started
        self.until: float | None = None  # the clock at which the run must end, if it has a time limit
        self._idle: float | None = None  # seconds without training; None before the first outcome
        self._paused_at: float | None = None
        self._best: dict[str, tuple[float, int, float]] = {}  # each learner's best score, its rows, and its noise
        self._at_full: dict[str, float] = {}  # scores with all rows
        self._size: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._postponed: dict[str, str] = {}  # why a learner waits although it was begun
        self._abandoned = 0

    @classmethod
    def of(cls, events: Iterable[Event], *, held: bool = False) -> Account:
        """Return the account of a journal's events."""
        following = iter(events)
        account = cls.begun(next(following, None), held=held)
        for event in following:
            account.take(event)
        return account

    @classmethod
    def begun(cls, event: Event | None, *, held: bool = False) -> Account:
        """Return the account after a journal's first event."""
        if not isinstance(event, Started):
            raise JournalError(f"A journal must begin with its settings, got {event or 'none'}.")
        return cls(strategy_of(event.settings), event.settings, event.versions, event.descriptions, held=held)

    # What happens

    def ask(self) -> Asked | None:
        """Ask the strategy and return the event; None once the winner is known.

        If the outcome is known already, the strategy is told at once.
        """
        allocation = self.strategy.ask()
        return None if allocation is None else self._asked(allocation)

    def begin(self, allocation: Allocation, why: str) -> Asked:
        """Let the strategy take note of what must be evaluated now, and return the event."""
        self.strategy.begin(allocation, why)
        return self._asked(allocation)

    def _asked(self, allocation: Allocation) -> Asked:
        learner, strategy = allocation.learner, self.strategy
        event = Asked(allocation, strategy.bound(learner), strategy.priority(learner), strategy.why)
        self._log(f"{learner} gets {allocation.size:,} rows: {strategy.reason}.", learner, allocation.size)
        if allocation in self.ahead:
            self._tell(allocation, self.ahead.pop(allocation))
        elif allocation in self.known:
            self._tell(allocation, self.known[allocation])
        return event

    def steer(self, event: Steered) -> None:
        """Carry out a person's command; raise InputError, changing nothing, where that is impossible."""
        command, learner = event.command, event.learner
        if learner is not None:
            if not isinstance(self.strategy, Steerable):
                raise InputError(
                    "The strategy must be one whose learners can be steered, got"
                    f" {self.strategy.settings['strategy']!r}. Pausing and stopping the run always work."
                )
            getattr(self.strategy, command)(learner)
        if command == "retry" and learner is not None:
            self._forget_failures(learner)
        self._tick(event.clock)
        self._pause(paused=command == "pause" or (self.paused and command != "resume"))
        self._log(STEERED[command].format(learner=learner), learner)
        if command == "drop":
            for allocation in [each for each in self.running if each.learner == learner]:
                del self.running[allocation]

    def _forget_failures(self, learner: str) -> None:
        """Forget what a learner failed at, guesses included."""
        self._size[learner] = max(self.strategy.curve(learner).sizes, default=0)
        for allocation in [each for each in self.ahead if each.learner == learner]:
            if isinstance(self.ahead[allocation], Failure):
                del self.ahead[allocation]

    def take(self, event: Event) -> None:  # noqa: C901, PLR0912, PLR0915  # one case for each kind
        """Take in an event; raises JournalMismatch where the strategy would not have done that."""
        match event:
            case Asked(allocation, why=why):
                self._take_asked(allocation, why)
            case Submitted(allocation):
                self.running[allocation] = self.clock
            case Evaluated(allocation, outcome, clock):
                self._tick(clock)
                self._idle = max(clock - outcome.seconds, 0.0) if self._idle is None else self._idle
                self.running.pop(allocation, None)
                self._evaluated(allocation, outcome)
            case Steered():
                self.steer(event)
            case Selected(learner, clock):
                self._tick(clock)
                self.selected, self.stopped = learner, None
                self.hurried.clear()
                self._log(f"{learner} is selected.", learner)
                self._end()
            case Drawn(learner, _, words):
                self.drawn[learner] = words
                self._log(f"{learner} joins: {words}.", learner)
            case Combined(weights, _, _, clock):
                self._tick(clock)
                self.combined = event
                used = "are combined" if event.used else "would not be better together than the best of them alone"
                self._log(f"{', '.join(weights)} {used}.")
            case Adjusted(method, value, _, _, clock):
                self._tick(clock)
                self.adjusted = event
                used = f"is {value:.3g}" if event.used else "stays as it is: no other is better"
                self._log(f"The {method} {used}.")
            case Stopped(reason, clock):
                self._tick(clock)
                self.stopped = reason
                self._pause(paused=False)
                if reason != BY_HAND:  # the command is in the log already
                    self._log(f"The run stopped: {reason}.")
                self._end()
                self._count_hurried()
            case Limited(until):
                self.until = until
            case Withdrawn(allocation, clock):
                self._tick(clock)
                self.running.pop(allocation, None)
                self._log(f"{allocation.learner} makes room for a training that must be done before the time limit.")
            case Resumed(clock):
                self._tick(clock)
                self.until = None
                self.stopped = self.combined = self.adjusted = None  # another learner may be selected
                self._pause(paused=False)
                self.running.clear()
                self.hurried.clear()
                self._log("The run was resumed.")

    def _take_asked(self, allocation: Allocation, why: str) -> None:
        if self.strategy.concurrent:  # what it asked also depended on the clock
            try:
                self.begin(allocation, why)
            except PydaubError as error:
                raise JournalMismatch(f"got {allocation} that cannot be: {error}") from None
            return
        if self.strategy.outstanding:
            raise JournalMismatch(f"got {allocation} before the outcome of {self.strategy.outstanding[0]}")
        try:
            event = self.ask()
        except AllLearnersFailed:
            event = None
        if event is None or event.allocation != allocation:
            raise JournalMismatch(f"got {allocation} where the strategy now asks {event and event.allocation}")

    def _evaluated(self, allocation: Allocation, outcome: Outcome) -> None:
        name = allocation.learner
        self._improve(allocation, outcome)
        if outcome.retries:
            times = "once" if outcome.retries == 1 else f"{outcome.retries} times"
            words = f"{name} with {allocation.size:,} rows was killed, but not by pydaub, and begun again {times}."
            self._log(words, name)
        if isinstance(outcome, Postponed):
            taken = f"{outcome.seconds:,.1f} s with {allocation.size:,} rows"
            self._log(f"{name} waits: it was ended after {taken}, longer than it is worth now.", name)
        elif isinstance(outcome, Failure):
            said = outcome.message.rstrip(".")
            words = f"{name} failed with {allocation.size:,} rows: {outcome.kind}, {said}."
            if outcome.kind == REFUSED:
                words = f"{name} refuses {allocation.size:,} rows: {said}."
            self._log(words, name)
        if allocation in self.strategy.outstanding:
            self._tell(allocation, outcome)
        elif allocation not in self.known:
            self.ahead[allocation] = outcome

    def _tell(self, allocation: Allocation, outcome: Outcome) -> None:
        if isinstance(outcome, Postponed) and not self.strategy.concurrent:
            limit = next(each.limit for each in self.strategy.outstanding if each == allocation)
            if limit is None or outcome.seconds < limit:
                return  # it was guessed, with a lower limit: it is evaluated again
        self.strategy.tell(allocation, outcome)
        name = allocation.learner
        self.steps.append(Step(allocation, outcome, self.strategy.bound(name)))
        self._postponed.pop(name, None)
        if isinstance(outcome, Postponed):
            taken = f"{outcome.seconds:,.1f} s with {allocation.size:,} rows"
            self._postponed[name] = f"ended after {taken}, longer than it is worth now"
        else:
            self._size[name] = allocation.size
        self._rows[name] = self._rows.get(name, 0) + allocation.size
        self._seconds[name] = self._seconds.get(name, 0.0) + outcome.seconds
        self._improve(allocation, outcome)

    def _improve(self, allocation: Allocation, outcome: Outcome) -> None:
        """Remember the learner's best score; an outcome that is known from elsewhere comes in without an event."""
        if isinstance(outcome, Measurement):
            noise = self.scores.standard_error(allocation.size, outcome) or 0.0
            reached = (outcome.valid_score, allocation.size, noise)
            self._best[allocation.learner] = max(self._best.get(allocation.learner, reached), reached)
            if allocation.size == self.full_size:
                self._at_full[allocation.learner] = outcome.valid_score
            if not self.improvements or outcome.valid_score > self.improvements[-1][2]:
                self.improvements.append((self.clock, allocation, outcome.valid_score))

    def _pause(self, *, paused: bool) -> None:
        if self._paused_at is not None and not paused:
            self._idle = (self._idle or 0.0) + self.clock - self._paused_at
        if paused != self.paused:
            self._paused_at = self.clock if paused else None
        self.paused = paused

    def _tick(self, clock: float) -> None:
        self.clock = max(self.clock, clock)

    def _end(self) -> None:
        self._abandoned = len(self.running)
        self.running.clear()

    def _count_hurried(self) -> None:
        """Count what was evaluated ahead with all rows: the strategy has not asked for it, but it decides."""
        for allocation, outcome in self.ahead.items():
            if allocation.size == self.full_size and isinstance(outcome, Measurement):
                self.hurried[allocation.learner] = Step(allocation, outcome, outcome.valid_score)

    def _log(self, words: str, learner: str | None = None, size: int | None = None) -> None:
        self.decisions.append(Decision(len(self.decisions) + 1, self.clock, words, learner, size))

    # What it comes to

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of all learners, added ones included."""
        return self.strategy.learners

    @property
    def full_size(self) -> int:
        """The number of training rows."""
        return self.strategy.schedule.full_size

    @property
    def failed(self) -> bool:
        """Whether no learner is left."""
        return {*self.strategy.failures, *self.strategy.dropped} >= {*self.learners}

    @property
    def state(self) -> str:
        """How the run is: running, paused, finished, stopped, failed or killed."""
        if self.selected is not None and self.strategy.winner is not None:
            return "finished"
        if self.stopped is not None:
            return "stopped"
        if self.failed:
            return "failed"
        if not self.held:
            return "killed"
        return "paused" if self.paused else "running"

    @property
    def leader(self) -> Allocation | None:
        """The selected learner with all rows; before that, the best validation score so far with its size.

        A learner with all rows leads unless a score with fewer rows is higher by more than twice its standard error. A
        dropped learner leads only where no other has been measured. Nobody leads where every learner failed.
        """
        state = self.state
        if state == "finished" and self.selected is not None:
            return Allocation(self.selected, self.full_size)
        if state == "failed":
            return None
        racing = [name for name in self._best if name not in self.strategy.dropped]
        best = max(racing or self._best, key=lambda name: self._best[name], default=None)
        if best is None:
            return None
        score, size, noise = self._best[best]
        full = {name: self._at_full[name] for name in racing or self._best if name in self._at_full}
        first = max(full, key=lambda name: full[name], default=None)
        if size < self.full_size and first is not None and full[first] >= score - SURE * noise:
            return Allocation(first, self.full_size)
        return Allocation(best, size)

    @property
    def first_with_all_rows(self) -> str | None:
        """The learner with the highest validation score of those with all rows, asked for or not."""
        return max(self._at_full, key=lambda name: self._at_full[name], default=None)

    @property
    def best_with_all_rows(self) -> float:
        """The highest validation score of a learner with all rows, asked for or not; minus infinity without one."""
        return max(self._at_full.values(), default=-math.inf)

    @property
    def result(self) -> Result:
        """The run as a result, whether it has ended or not."""
        state, chosen = self.state, self.leader
        return Result(
            selected=None if chosen is None else chosen.learner,
            full_size=self.full_size,
            steps=(*self.steps, *self.hurried.values()),
            failures=self.strategy.failures,
            wall_seconds=self.clock,
            speculated=self.speculated,
            resumed=self.resumed,
            abandoned=self._abandoned + (0 if self.held else len(self.running)),
            selected_size=None if chosen is None else chosen.size,
            stopped=None if state in ("finished", "failed") else self.stopped or NOT_FINISHED,
        )

    @property
    def speculated(self) -> dict[Allocation, Outcome]:
        """The outcomes that were evaluated ahead and do not count yet."""
        counted = {step.allocation for step in self.hurried.values()}
        return {each: outcome for each, outcome in self.ahead.items() if each not in counted}

    @property
    def idle(self) -> float:
        """The seconds in which nothing was trained: until the first training began, and while the run was paused."""
        return (self._idle or 0.0) + (0.0 if self._paused_at is None else self.clock - self._paused_at)

    @property
    def untried_yet(self) -> int:
        """The number of learners that start in any case and have no outcome yet."""
        racing = self.strategy.racing
        return sum(name not in self._rows for name in self.tried if name in racing)

    @property
    def outcomes(self) -> dict[Allocation, Outcome]:
        """All outcomes, asked for or evaluated ahead."""
        return {**self.ahead, **{step.allocation: step.outcome for step in self.steps}}

    @property
    def training(self) -> list[Allocation]:
        """The allocations that are being evaluated now."""
        return list(self.running) if self.held else []

    # Of each learner: what was asked for, and what counts besides because the run has stopped.

    def size(self, learner: str) -> int:
        """Return the largest size that was evaluated, 0 if there is none."""
        return self.full_size if learner in self.hurried else self._size.get(learner, 0)

    def rows(self, learner: str) -> int:
        """Return the number of rows in the learner's allocations."""
        return self._rows.get(learner, 0) + (self.full_size if learner in self.hurried else 0)

    def seconds(self, learner: str) -> float:
        """Return the training time of the learner's allocations."""
        hurried = self.hurried[learner].outcome.seconds if learner in self.hurried else 0.0
        return self._seconds.get(learner, 0.0) + hurried

    def curve(self, learner: str) -> Curve:
        """Return the learner's measured curve."""
        found, hurried = self.strategy.curve(learner), self.hurried.get(learner)
        measured = hurried and hurried.outcome
        return found.extended(self.full_size, measured) if isinstance(measured, Measurement) else found

    def bound(self, learner: str) -> float | None:
        """Return the learner's bound."""
        return self.hurried[learner].bound if learner in self.hurried else self.strategy.bound(learner)

    def full_seconds(self) -> float | None:
        """Return about how long training every learner on all rows would take; None if one was never tried.

        Learners that failed are left out: they cannot be trained.
        """
        growths = {name: self.growth(name) for name in self.tried if name not in self.strategy.failures}
        return projected_seconds(self.outcomes.items(), growths, self.full_size, self.scores.rows)

    def growth(self, learner: str) -> Growth:
        """Return how the cost of a learner grows with the rows, as declared."""
        declared = self.settings.get("growths", {})
        return Growth(*declared[learner]) if learner in declared else USUAL_GROWTH

    @property
    def tried(self) -> tuple[str, ...]:
        """The learners, without those that the strategy has not started because others of their kind promise little."""
        untried = self.strategy.untried
        return tuple(name for name in self.learners if name not in untried)

    def statuses(self) -> dict[str, Status]:
        """Return what each learner is doing, and why."""
        state, leader, strategy = self.state, self.leader, self.strategy
        failures, dropped, ruled_out = strategy.failures, strategy.dropped, strategy.ruled_out()
        untried = strategy.untried
        training = {allocation.learner: allocation.size for allocation in self.training}
        following = after.learner if (after := self.following) else None

        def is_guess(name: str) -> bool:
            return leader is not None and name == leader.learner and leader in self.ahead

        def status(name: str) -> Status:  # noqa: PLR0911  # one for each word
            if failure := failures.get(name):
                return _failed(failure)
            if name in dropped:
                return Status("dropped", "by hand")
            if state in ("finished", "stopped") and leader and name == leader.learner:
                word, when = ("selected", "") if state == "finished" else ("best so far", "when the run stopped, ")
                return Status(word, f"{when}with {'all ' * (state == 'finished')}{leader.size:,} rows")
            if name in training:
                return Status("training", f"on {training[name]:,} rows")
            if self.size(name) == self.full_size:
                return Status("has all rows")
            if name in ruled_out:
                return Status("ruled out", ruled_out[name])
            if name in untried and name != following:
                return Status("waiting", "it starts only if others of its kind do well")
            guessed = "leading (the score came from an early start)" if is_guess(name) else ""
            return Status("next" if name == following else "waiting", self._postponed.get(name, guessed))

        return {name: status(name) for name in self.learners}

    @property
    def following(self) -> Allocation | None:
        """The allocation that probably comes next; None once the run is over."""
        if self.state not in (*GOING_ON, "killed"):
            return None
        training = {allocation.learner for allocation in self.training}
        waiting = (each for each in self.strategy.outstanding if each.learner not in training)
        if asked := next(waiting, None):
            return asked
        return next((guess for guess in self.strategy.forecast() if guess.learner not in training), None)


def _failed(failure: Failure) -> Status:
    if failure.kind == REFUSED:
        return Status(REFUSED, failure.message)
    return Status("failed", f"{failure.kind}: {failure.message}" if failure.message else failure.kind)
