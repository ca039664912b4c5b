"""The run loop: ask, submit, collect, journal, tell; with prefetch, resume, a time limit and steering."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

from pydaub.algorithm.strategies import Strategy
from pydaub.engines import SerialEngine
from pydaub.errors import (
    TIME_LIMIT,
    AllLearnersFailed,
    FolderTrouble,
    InputError,
    JournalError,
    JournalMismatch,
    NothingMeasured,
    RefusedAllocation,
)
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
from pydaub.records import Allocation, Outcome, Postponed
from pydaub.runs.account import BY_HAND, Account
from pydaub.runs.deadline import Deadline
from pydaub.runs.interrupting import INTERRUPTED, Interrupt
from pydaub.runs.journal import Journal
from pydaub.runs.steering import POLL_SECONDS, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from pydaub.engines import Engine
    from pydaub.evaluation.adjusting import Adjustment
    from pydaub.evaluation.combining import Combination
    from pydaub.runs.drawing import Drawing
    from pydaub.runs.result import Result

    Watch: TypeAlias = Callable[[Event, Account], bool | None]


def run(  # noqa: PLR0913  # three make a run, four are optional
    strategy: Strategy,
    engine: Engine,
    journal: Journal | None = None,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    steering: Steering | None = None,
    retry: bool = False,
) -> Result:
    """Run the strategy on this engine until its winner is known.

    A strategy that is `concurrent` is asked as soon as a worker is free, told every outcome when it comes in, and may
    find that a training is not worth its time any more, which is then ended. Every other strategy is sequential:
    workers that it leaves idle evaluate what it will probably ask next (`forecast`), and those outcomes wait until they
    are asked for. So its allocations and its winner do not depend on the number of workers.

    Parameters
    ----------
    strategy
        A new strategy.
    engine
        Where evaluations run. It is closed at the end, whatever happens.
    journal
        An open journal. Outcomes that it holds are not measured again: a run that was killed continues.
    known
        Outcomes from elsewhere that need not be measured.
    time_limit
        Seconds of the engine's clock after which the run stops with the best learner so far. In the second half of it,
        the most promising learners whose training still fits into the time get all rows.
    watch
        Called with every event, once it has been journalled, and with the account of the run. If it returns True for
        an outcome, the run stops with the best learner so far.
    steering
        Where a person's commands come from.
    retry
        Whether learners that failed before the run was resumed get another chance.

    Raises
    ------
    AllLearnersFailed, NothingMeasured
        Their `result` holds what was done until then.
    """
    loop = Loop(
        strategy, engine, journal, known=known, time_limit=time_limit, watch=watch, steering=steering, retry=retry
    )
    return loop.run().result


@dataclass(frozen=True, slots=True)
class Steering:
    """Where commands come from; `admit` makes a learner that a person adds, or raises InputError if it cannot."""

    mailbox: Mailbox
    admit: Callable[[str], None]


class _Stop(Exception):
    """The run must stop; its argument is the reason."""


class Loop:
    """What `run` does, with the whole account as its result; `started` describes a run without a journal.

    With `keep_open`, nothing runs on the engine at the end, but it is not closed: more is to be done with it. With
    `interrupt`, Ctrl-C stops the run with the best learner so far.
    """

    def __init__(  # noqa: PLR0913  # as `run`
        self,
        strategy: Strategy,
        engine: Engine,
        journal: Journal | None = None,
        *,
        started: Started | None = None,
        known: Mapping[Allocation, Outcome] | None = None,
        time_limit: float | None = None,
        watch: Watch | None = None,
        steering: Steering | None = None,
        retry: bool = False,
        drawing: Drawing | None = None,
        reserve: Callable[[Account], float] | None = None,
        keep_open: bool = False,
        interrupt: Interrupt | None = None,
    ) -> None:
        if not isinstance(strategy, Strategy):
            raise InputError(f"`strategy` must be a Strategy, got {strategy!r}.")
        if not all(hasattr(engine, name) for name in ("submit", "collect", "close")):
            raise InputError(f"`engine` must be an engine such as TableEngine, got {engine!r}.")
        if not isinstance(journal, Journal | None):
            raise InputError(f"`journal` must be an open Journal or None, got {journal!r}.")
        limit: object = time_limit
        if limit is not None and (isinstance(limit, bool) or not (isinstance(limit, Real) and float(limit) > 0)):
            raise InputError(f"`time_limit` must be a number of seconds, more than 0, got {time_limit!r}.")
        if not isinstance(known, Mapping | None) or not all(isinstance(each, Allocation) for each in known or ()):
            raise InputError(f"`known` must be outcomes by allocation, or None, got {known!r}.")
        if watch is not None and not callable(watch):
            raise InputError(f"`watch` must be a function, or None, got {watch!r}.")
        if not isinstance(steering, Steering | None):
            raise InputError(f"`steering` must be a Steering, or None, got {steering!r}.")
        begun = journal.started if journal else started or Started(strategy.settings)
        self._account = Account(strategy, begun.settings, begun.versions, begun.descriptions, held=True)
        self._strategy, self._engine, self._journal = strategy, engine, journal
        self._watch, self._steering, self._retry = watch, steering, retry
        self._drawing, self._let_in = drawing, len(strategy.learners)
        self._past = journal.events[1:] if journal else []
        measured = {event.allocation for event in self._past if isinstance(event, Evaluated)}
        self._account.known = {
            each: outcome
            for each, outcome in (known or {}).items()
            if each not in measured and not isinstance(outcome, Postponed)
        }
        self._clock_before = 0.0
        self._pending: set[Allocation] = set()
        self._keep_open = keep_open
        self._interrupt, self._in_process = interrupt, isinstance(engine, SerialEngine)
        self._refused: set[Allocation] = set()
        self._reserve = reserve  # seconds before the deadline that are needed once the run has stopped
        limited = math.inf if time_limit is None else time_limit
        self._deadline, self._limit = engine.clock + limited, Deadline(self._account, limited, lambda: self._clock)
        self._paused_at: float | None = None

    def run(self) -> Account:
        """Run until the winner is known or the run must stop; end what runs on the engine, whatever happens."""
        try:
            self._replay()
            self._begin()
            if self._strategy.concurrent:
                self._together()
            else:
                while (allocation := self._next()) is not None:
                    self._evaluate(allocation)
            if self._account.selected != self._strategy.winner and self._strategy.winner is not None:
                self._record(Selected(self._strategy.winner, self._clock))
        except AllLearnersFailed as error:
            self._account.held = False
            error.result = self._account.result
            raise
        except FolderTrouble as error:
            with suppress(JournalError, OSError):  # the folder may be the trouble
                self._record(Stopped(f"trouble with its folder ({error})", self._clock))
            raise
        except _Stop as stop:
            self._record(Stopped(str(stop), self._clock))
            if self._account.leader is None:
                self._account.held = False
                raise NothingMeasured(str(stop), self._account.result) from None
        finally:
            self._account.held = False  # nothing is running any more
            self._end()
            self._refuse(self._commands())
        return self._account

    def _end(self) -> None:
        if self._keep_open:
            for allocation in self._pending:
                self._engine.cancel(allocation)
        else:
            self._engine.close()

    def combined(self, combination: Combination) -> None:
        """Record an ensemble, unless it is known already."""
        known, found = self._account.combined, Combined(*combination, self._clock)
        if known is None or replace(known, clock=found.clock) != found:
            self._record(found)

    def adjusted(self, adjustment: Adjustment) -> None:
        """Record how the selected classifier is adjusted, unless it is known already."""
        known, found = self._account.adjusted, Adjusted(*adjustment, self._clock)
        if known is None or replace(known, clock=found.clock) != found:
            self._record(found)

    @property
    def _clock(self) -> float:
        return self._clock_before + self._engine.clock

    def _begin(self) -> None:
        """Record how the run begins, or goes on."""
        for drawn in self._drawing.first() if self._drawing and not self._past else ():
            self._record(drawn, sync=False)
        failed = list(self._strategy.failures) if self._retry else []
        if self._past and (failed or self._strategy.winner is None):
            self._record(Resumed(self._clock))
        self._record_limit()
        for name in failed:
            self._record(Steered("retry", name, self._clock))

    def _record_limit(self) -> None:
        """Record by when the run must end, so that everyone who follows it can tell how much is left."""
        if self._deadline < math.inf and self._strategy.winner is None:
            self._record(Limited(self._clock_before + self._deadline), sync=False)

    def _replay(self) -> None:
        """Fold the journal's events into the account."""
        first = {*self._strategy.learners}
        for event in self._past:
            if isinstance(event, Steered) and event.command == "add" and self._steering and event.learner:
                self._steering.admit(event.learner)
                self._let_in += 1
            if isinstance(event, Drawn) and self._drawing and event.learner not in first:
                self._drawing.take(event)
                self._let_in += 1
            try:
                self._account.take(event)
            except JournalMismatch as error:
                path = self._journal.path if self._journal else "The journal"
                raise JournalMismatch(f"{path} must be of the same run, {error}. Choose another journal.") from None
        self._clock_before = self._account.clock
        self._account.resumed = sum(isinstance(event, Evaluated) for event in self._past)

    def _next(self) -> Allocation | None:
        """Return the outstanding allocation, asking for one if there is none; None once the winner is known."""
        while True:
            self._obey()
            while self._paused_at is not None:
                self._collect()
                self._obey()
            if self._strategy.outstanding:
                return self._strategy.outstanding[0]
            asked = self._account.ask()
            if asked is None:
                return None
            self._take_asked(asked)

    def _take_asked(self, asked: Asked) -> None:
        self._draw()
        # Not synced: whoever goes on with the run asks again, and it only shows what is going on.
        self._record(asked, sync=False, taken=True)
        if self._journal and asked.allocation in self._account.known:
            # So that the journal can be read without the known outcomes. Nobody watches: nothing has happened.
            outcome = self._account.known[asked.allocation]
            self._journal.append(Evaluated(asked.allocation, outcome, self._clock), sync=False)

    def _together(self) -> None:
        """Keep all workers busy with what the strategy asks for, until its winner is known."""
        while self._strategy.winner is None:
            if self._obey():
                continue
            if self._paused_at is None:
                self._submit_outstanding()
                self._make_room()
            if self._strategy.winner is None:
                if not self._pending and self._paused_at is None:
                    raise _Stop(TIME_LIMIT)  # nothing is left that could be done in time
                self._collect()

    def _submit_outstanding(self) -> None:
        """Submit what has been asked for, and ask for more while a worker is free."""
        for allocation in self._strategy.outstanding:
            if allocation not in self._pending and self._engine.free:
                self._submit(allocation)
        while self._engine.free and (asked := self._asked()) is not None:
            self._begin_asked(asked)

    def _begin_asked(self, asked: Asked) -> None:
        self._take_asked(asked)
        if asked.allocation in self._strategy.outstanding:
            self._submit(asked.allocation)

    def _asked(self) -> Asked | None:
        """Return what is begun next: what the time limit commands, or what the strategy asks for."""
        left = self._left()
        due = self._limit.due(left)
        if due is not None:
            return self._account.begin(due, "limit")
        self._strategy.left = left
        asked = self._account.ask()
        if asked is None and not self._pending and (due := self._limit.due(left, idle=True)) is not None:
            return self._account.begin(due, "limit")
        return asked

    def _make_room(self) -> None:
        """End what the strategy would not ask for any more."""
        began = self._account.running
        while True:
            elapsed = {each: self._clock - began[each] for each in self._pending if each in began}
            found = self._strategy.dispensable(elapsed, crowded=not self._engine.free)
            due = None if found or self._engine.free else self._limit.due(self._left(), free=False)
            if due is not None:
                found = self._limit.in_the_way(due, self._left())
            if found is None:
                return
            if found in self._pending:
                self._engine.cancel(found)
                self._pending.remove(found)
            self._record(Evaluated(found, Postponed(elapsed.get(found, 0.0)), self._clock))
            if due is not None:
                self._begin_asked(self._account.begin(due, "limit"))
            self._submit_outstanding()

    def _draw(self) -> None:
        """Make the learners that the strategy has let in from a space."""
        if self._drawing is None:
            return
        for name in self._strategy.learners[self._let_in :]:
            drawn = self._drawing.draw(name, self._strategy)
            self._drawing.take(drawn)
            self._record(drawn, sync=False)
            self._let_in += 1

    def _evaluate(self, allocation: Allocation) -> None:
        """Wait until the outcome has been told or is no longer wanted, and keep the other workers busy meanwhile."""
        guesses = self._strategy.forecast()
        while allocation in self._strategy.outstanding:
            if self._obey():
                guesses = self._strategy.forecast()
                continue
            if self._paused_at is None:
                self._submit_urgent()
                if allocation not in self._pending and self._engine.free:
                    self._submit(allocation)
                if allocation in self._pending:
                    self._prefetch(guesses)
            self._collect()

    def _collect(self) -> None:
        """Wait for an outcome, but not beyond the time limit or the next look for commands."""
        if self._paused_at is not None and not self._pending:
            time.sleep(POLL_SECONDS)
            return
        left = math.inf if self._paused_at is not None else self._left()
        left = min(left, self._limit.until(left))  # do not sleep through the last moment
        wait = min(left, POLL_SECONDS) if self._steering or self._interrupt else left
        collected = self._collected(None if wait == math.inf else max(wait, 0.0))
        if collected is not None:
            allocation, outcome = collected
            self._pending.remove(allocation)
            if self._record(Evaluated(allocation, outcome, self._clock)):
                raise _Stop(BY_HAND)
        elif self._paused_at is None and self._left() <= 0:
            raise _Stop(TIME_LIMIT)

    def _collected(self, timeout: float | None) -> tuple[Allocation, Outcome] | None:
        """Collect from the engine; what trains in this process can be interrupted."""
        if self._interrupt is None or not self._in_process:
            return self._engine.collect(timeout)
        try:
            with self._interrupt.at_once():
                return self._engine.collect(timeout)
        except KeyboardInterrupt:
            if not self._interrupt.wanted:
                raise
            raise _Stop(INTERRUPTED) from None

    def _left(self) -> float:
        """Return the seconds until the run must stop."""
        if self._deadline == math.inf:
            return math.inf
        return self._deadline - self._engine.clock - (self._reserve(self._account) if self._reserve else 0.0)

    def _obey(self) -> bool:
        """Carry out the commands that have come; return whether there were any."""
        if self._interrupt is not None and self._interrupt.wanted:
            raise _Stop(INTERRUPTED)
        commands = self._commands()
        for place, (key, given) in enumerate(commands.items(), start=1):
            try:
                self._steer(key, given.command, given.learner)
            except InputError as error:
                self._answer(key, str(error))
            except _Stop:
                self._refuse([*commands][place:])
                raise
        return bool(commands)

    def _commands(self) -> dict[str, Steered]:
        return self._steering.mailbox.take() if self._steering else {}

    def _refuse(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._answer(key, "The run has just ended, so it cannot be steered.")

    def _steer(self, key: str, command: str, learner: str | None) -> None:
        if (command == "pause") == (self._paused_at is not None) and command in {"pause", "resume"}:
            raise InputError(f"The run is {'paused' if command == 'pause' else 'going on'} already.")
        if learner is not None and command == "add" and self._steering and learner not in self._strategy.learners:
            self._steering.admit(learner)
        event = Steered(command, learner, self._clock)
        self._account.steer(event)
        self._let_in += command == "add"
        if command == "drop":
            for allocation in [each for each in self._pending if each.learner == learner]:
                self._engine.cancel(allocation)
                self._pending.remove(allocation)
        self._record(event, taken=True)
        self._answer(key)
        if command == "stop":
            raise _Stop(BY_HAND)
        if command == "pause":
            self._paused_at = self._engine.clock
        elif command == "resume" and self._paused_at is not None:
            self._deadline += self._engine.clock - self._paused_at
            self._paused_at = None
            self._record_limit()

    def _answer(self, key: str, refused: str | None = None) -> None:
        if self._steering:
            self._steering.mailbox.answer(key, refused)

    def _prefetch(self, guesses: Iterator[Allocation]) -> None:
        done = (self._account.ahead, self._account.known, self._pending, self._refused)
        while self._engine.free and (guess := next(guesses, None)) is not None:
            if any(guess in each for each in done) or self._engine.spreads(guess):
                continue
            try:
                self._submit(guess, guess=True)
            except RefusedAllocation:
                self._refused.add(guess)  # a guess need not be possible

    def _submit_urgent(self) -> None:
        """Begin what must come before all others, if there is such a one, even if another evaluation must make room.

        The strategy has not asked for it. So the run goes on as it would without it, whenever it is resumed.
        """
        urgent = self._limit.due(self._left(), free=self._engine.free > 0)
        if urgent is None:
            return
        if not self._engine.free and (other := self._limit.in_the_way(urgent, self._left())):
            self._engine.cancel(other)
            self._pending.remove(other)
            self._record(Withdrawn(other, self._clock), sync=False)
        if self._engine.free:
            try:
                self._submit(urgent, guess=True)
            except RefusedAllocation:
                self._limit.refuse(urgent)

    def _submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        self._engine.submit(allocation, guess=guess)
        self._pending.add(allocation)
        self._record(Submitted(allocation), sync=False)

    def _record(self, event: Event, *, sync: bool = True, taken: bool = False) -> bool:
        """Journal an event, then take it into the account, unless the account has `taken` it already.

        Return whether who watches wants the run to stop.
        """
        if self._journal:
            self._journal.append(event, sync=sync)
        if not taken:
            self._account.take(event)
        return bool(self._watch and self._watch(event, self._account))
