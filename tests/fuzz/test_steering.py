"""Anything that can happen in a run, in any order: the fold of its journal says the same as the live account."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fuzz.rule import fuzzed
from pydaub import AllLearnersFailed, Daub, Frugal, InputError, Scores
from pydaub.events import Evaluated, Event, Resumed, Selected, Started, Steered, Stopped, Submitted, from_json, to_json
from pydaub.records import Allocation, Postponed
from pydaub.runs.account import Account
from runs.recording import facts
from tables import random_schedule, random_table

WORKERS = 3
NEW = ("new 1", "new 2")
ALONE = ("pause", "resume", "stop")
WITH_LEARNER = ("drop", "restore", "boost", "retry", "add")


class Steering(RuleBasedStateMachine):
    """A run that a person steers, without a loop: events come in any order that the loop could bring."""

    @initialize(kind=st.sampled_from([Daub, Frugal]), seed=st.integers(0, 10_000), failures=st.sampled_from([0.0, 0.3]))
    def start(self, kind: type[Daub | Frugal], seed: int, failures: float) -> None:
        rng = random.Random(seed)
        schedule = random_schedule(rng)[2]
        self.table = random_table(rng, schedule, failures=failures).outcomes
        scores = Scores("accuracy", 100)
        known = {each.learner: each for each in self.table}
        strategy = kind(known, schedule, scores=scores) if kind.needs_scores else kind(known, schedule)
        started = Started({**strategy.settings, "scores": scores.to_json()})
        self.events: list[Event] = [started]
        self.live = Account(strategy, started.settings, held=True)
        self.clock = 0.0

    def happens(self, event: Event, *, taken: bool = False) -> None:
        """Journal an event, as the loop does."""
        self.events.append(from_json(to_json(event)))  # type: ignore[arg-type]  # every kind is known
        if not taken:
            self.live.take(event)

    @property
    def going_on(self) -> bool:
        return self.live.state in {"running", "paused", "failed"}

    @property
    def busy(self) -> set[str]:
        return {each.learner for each in self.live.running}

    @precondition(lambda self: self.going_on and len(self.live.running) < WORKERS)
    @rule()
    def ask(self) -> None:
        strategy = self.live.strategy
        if strategy.winner is not None or (strategy.outstanding and not strategy.concurrent):
            return
        try:
            asked = self.live.ask()
        except AllLearnersFailed:
            return
        if asked is not None:
            self.happens(asked, taken=True)
            if asked.allocation in strategy.outstanding and asked.allocation not in self.live.running:
                self.happens(Submitted(asked.allocation))

    @precondition(lambda self: self.going_on and len(self.live.running) < WORKERS)
    @rule()
    def guess(self) -> None:
        """Begin what a sequential strategy will probably ask for."""
        strategy = self.live.strategy
        if strategy.concurrent or not strategy.outstanding:
            return
        done = {*self.live.running, *self.live.ahead}
        guesses = (each for each in strategy.forecast() if each not in done)
        if (found := next(guesses, None)) is not None:
            self.happens(Submitted(found))

    @precondition(lambda self: self.going_on and bool(self.live.running))
    @rule(data=st.data(), took=st.floats(0.0, 10.0), ended=st.booleans())
    def outcome(self, data: st.DataObject, took: float, *, ended: bool) -> None:
        allocation = data.draw(st.sampled_from(sorted(self.live.running, key=str)))
        self.clock += took
        late = ended and self.live.strategy.concurrent and allocation in self.live.strategy.outstanding
        usual = self.table.get(allocation) or self.table[Allocation("learner 0", allocation.size)]
        self.happens(Evaluated(allocation, Postponed(took) if late else usual, self.clock))

    @precondition(lambda self: self.going_on)
    @rule(command=st.sampled_from(ALONE + WITH_LEARNER * 2), data=st.data())
    def steer(self, command: str, data: st.DataObject) -> None:
        """A command that is refused changes nothing."""
        names = st.sampled_from([*self.live.learners, *NEW])
        event = Steered(command, data.draw(names) if command in WITH_LEARNER else None, self.clock)
        before = facts(self.live)
        try:
            self.live.steer(event)
        except InputError:
            assert facts(self.live) == before
            return
        self.happens(event, taken=True)
        if command == "stop":
            self.happens(Stopped("stopped by hand", self.clock))

    @precondition(lambda self: self.going_on and self.live.strategy.winner not in {None, self.live.selected})
    @rule()
    def select(self) -> None:
        winner = self.live.strategy.winner
        assert winner is not None
        self.happens(Selected(winner, self.clock))
        assert self.live.leader == Allocation(winner, self.live.full_size)

    @precondition(lambda self: not self.going_on)
    @rule(retry=st.booleans())
    def resume(self, *, retry: bool) -> None:
        """As a command does that continues the run, perhaps with another chance for those that failed."""
        failed = [*self.live.strategy.failures] if retry else []
        if failed or self.live.strategy.winner is None:
            self.happens(Resumed(self.clock))
        for name in failed:
            self.happens(Steered("retry", name, self.clock))

    @invariant()
    def the_fold_says_the_same(self) -> None:
        folded = Account.of(self.events, held=True)
        assert facts(folded) == facts(self.live)
        assert [line.words for line in folded.decisions] == [line.words for line in self.live.decisions]

    @invariant()
    def who_was_dropped_or_failed_is_left_alone(self) -> None:
        strategy, gone = self.live.strategy, {*self.live.strategy.dropped, *self.live.strategy.failures}
        asked = {each.learner for each in strategy.outstanding}
        assert not asked & gone
        assert not strategy.racing & gone
        if self.live.state == "finished":
            assert self.live.selected not in gone

    def teardown(self) -> None:
        """A kill in between: what the journal holds can be continued to its end."""
        if not hasattr(self, "events"):
            return
        account: Any = Account.of([*self.events, Resumed(self.clock)], held=True)
        for _ in range(10_000):
            try:
                asked = account.strategy.outstanding[:1] or [each.allocation for each in [account.ask()] if each]
            except AllLearnersFailed:
                return
            if not asked:
                assert account.strategy.winner is not None
                return
            if asked[0] in account.strategy.outstanding:
                usual = self.table.get(asked[0]) or self.table[Allocation("learner 0", asked[0].size)]
                account.take(Evaluated(asked[0], usual, account.clock))
        raise AssertionError("it does not end")


TestSteering = Steering.TestCase
TestSteering.settings = settings(fuzzed, stateful_step_count=40)
