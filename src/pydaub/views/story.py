"""A journal -> the whole story of a run: curves, decisions in plain words, who stands where, and what it has cost.

It is what the live page, the pictures and the report are made of. Give it every event in its order; what it then says
is plain JSON values. It works on a run of another process, on one that ended last week, and on one that was killed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import JournalError
from pydaub.records import (
    Allocation,
    Asked,
    Evaluated,
    Event,
    Measurement,
    Outcome,
    Selected,
    Started,
    Steered,
    Stopped,
    Submitted,
)
from pydaub.runs.certificate import certificate, projected_seconds, proportional
from pydaub.runs.loop import BY_HAND, TIMED, Past, Result, best_so_far
from pydaub.views.summary import summary
from pydaub.views.view import strategy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydaub.algorithm.strategies import Strategy
    from pydaub.runs.certificate import Certificate

WORDS: Final = {
    "pause": "Somebody paused the run.",
    "resume": "Somebody let the run go on.",
    "stop": "Somebody stopped the run.",
    "drop": "Somebody dropped {learner}.",
    "restore": "Somebody brought {learner} back.",
    "boost": "Somebody boosted {learner}: its next size comes before all others.",
    "add": "Somebody added {learner}.",
}


class Story:
    """A run as its journal tells it.

    `valid_size` is how many rows a score is of, if that is known, and `held` whether a process is writing the journal:
    if not, nothing of what was begun is running any more.
    """

    def __init__(self, valid_size: int = 0, *, held: bool = False) -> None:
        self.valid_size = valid_size
        self.held = held
        self.settings: dict[str, Any] = {}
        self.decisions: list[dict[str, Any]] = []
        self.outcomes: dict[Allocation, Outcome] = {}
        self.running: dict[Allocation, None] = {}
        self.clock = 0.0
        self.selected: str | None = None
        self.stopped: str | None = None
        self.paused = False
        self.changed: set[str] = set()  # learners, since somebody last looked
        self._past: Past | None = None
        self._best: dict[str, tuple[float, int]] = {}  # each learner's best score, and with how many rows
        self._largest = 0
        self._rows: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def take(self, event: Event) -> None:  # noqa: C901  # one for each kind
        """Take in what has happened."""
        if isinstance(event, Started):
            settings = dict(event.settings)
            self._past, self.settings = Past(strategy_of(settings), {}), settings
            self.changed.update(self.strategy.learners)
            return
        past = self._told
        self.clock = max(self.clock, event.clock if isinstance(event, TIMED) else 0.0)
        told = len(past.steps)
        past.take(event)
        for step in past.steps[told:]:
            if isinstance(step.outcome, Measurement):
                self._largest = max(self._largest, step.allocation.size)
        match event:
            case Asked(allocation):
                self.stopped, self.paused = None, False  # a run that was paused when it was killed was resumed
                words = f"{allocation.learner} gets {allocation.size:,} rows: {past.reason}."
                self._decided(words, allocation.learner, allocation.size)
                self.changed.add(allocation.learner)
            case Submitted(allocation):
                if allocation in self.running:  # begun once more: the run was killed meanwhile, and with it the others
                    self._forget_running(list(self.running))
                self.running[allocation] = None
                self.stopped, self.paused = None, False
                self.changed.add(allocation.learner)
            case Evaluated(allocation, outcome):
                self._evaluated(allocation, outcome)
            case Steered(command, learner):
                self._steered(command, learner)
            case Selected(learner):
                self.selected, self.stopped = learner, None
                self._decided(f"{learner} is selected.", learner)
                self.changed.add(learner)
                self._forget_running(list(self.running))
            case Stopped(reason):
                self.stopped, self.paused = reason, False
                self._decided("The run stopped." if reason == BY_HAND else f"The run stopped: {reason}.")
                self._forget_running(list(self.running))

    def _evaluated(self, allocation: Allocation, outcome: Outcome) -> None:
        name = allocation.learner
        self.outcomes[allocation] = outcome
        self._rows[name] = self._rows.get(name, 0) + allocation.size
        self._seconds[name] = self._seconds.get(name, 0.0) + outcome.seconds
        self._forget_running([allocation])
        if isinstance(outcome, Measurement):
            reached = (outcome.valid_score, allocation.size)
            self._best[name] = max(self._best.get(name, reached), reached)
        else:
            self._decided(f"{name} failed with {allocation.size:,} rows: {outcome.kind}, {outcome.message}.", name)

    def _steered(self, command: str, learner: str | None) -> None:
        self.paused = command == "pause" or (self.paused and command != "resume")
        self._decided(WORDS[command].format(learner=learner), learner)
        if learner is not None:
            self.changed.add(learner)
            if command == "drop":
                self._forget_running([allocation for allocation in self.running if allocation.learner == learner])

    def _forget_running(self, allocations: list[Allocation]) -> None:
        for allocation in allocations:
            self.running.pop(allocation, None)
            self.changed.add(allocation.learner)

    def take_all(self, events: Iterable[Event]) -> Story:
        """Take in many events, and return itself."""
        for event in events:
            self.take(event)
        return self

    @property
    def begun(self) -> bool:
        """Whether there is anything to tell."""
        return self._past is not None

    @property
    def _told(self) -> Past:
        if self._past is None:
            raise JournalError("A journal must begin with its settings, got none.")
        return self._past

    @property
    def strategy(self) -> Strategy:
        """The strategy, as far as the run has come."""
        return self._told.strategy

    @property
    def full_size(self) -> int:
        """N."""
        return self.strategy.schedule.full_size

    def _decided(self, words: str, learner: str | None = None, size: int | None = None) -> None:
        entry: dict[str, Any] = {"number": len(self.decisions) + 1, "clock": round(self.clock, 2), "words": words}
        self.decisions.append({**entry, "learner": learner, "size": size})

    @property
    def failed(self) -> bool:
        """Whether no learner is left."""
        return {*self.strategy.failures, *self.strategy.dropped} >= set(self.strategy.learners)

    @property
    def state(self) -> str:
        """How the run is, in one word."""
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
    def over(self) -> bool:
        """Whether the run has come to an end of its own."""
        return self.state in {"finished", "stopped", "failed"}

    @property
    def result(self) -> Result:
        """The run as a result, whether it has ended or not."""
        chosen = Allocation(self.selected, self.full_size) if self.selected else None
        if not self.selected and not self.failed:
            chosen = best_so_far(self.outcomes, self.strategy.dropped)
        return Result(
            selected=None if chosen is None else chosen.learner,
            full_size=self.full_size,
            steps=tuple(self._told.steps),
            failures=self.strategy.failures,
            wall_seconds=self.clock,
            speculated=dict(self._told.known),
            selected_size=None if chosen is None else chosen.size,
            stopped=None if self.selected or self.failed else self.stopped or "not finished",
        )

    @property
    def certificate(self) -> Certificate | None:
        """What may be claimed so far; None where nothing was measured."""
        scoring = str(self.settings.get("scoring", "accuracy"))
        learners, proportion = self.strategy.learners, proportional(scoring)
        return certificate(self.result, learners, self.valid_size, proportion=proportion, sure=self.strategy.sure)

    @property
    def leader(self) -> str | None:
        """The learner in the race with the best score so far, with whatever size."""
        out = {*self.strategy.failures, *self.strategy.dropped}
        return max((name for name in self._best if name not in out), key=lambda name: self._best[name], default=None)

    def header(self) -> dict[str, Any]:
        """Return what stands above everything: state, progress, what was spent and saved, and who leads."""
        learners = self.strategy.learners
        return {
            "state": self.state,
            "reason": self.stopped,
            "clock": round(self.clock, 3),
            "full_size": self.full_size,
            "sizes": list(self.strategy.schedule.sizes),
            "strategy": self.settings.get("strategy"),
            "scoring": self.settings.get("scoring", "score"),
            "steerable": self.strategy.steerable,
            "largest": self._largest,
            "learners": len(learners),
            "allocations": len(self.outcomes),
            "seconds": round(sum(self._seconds.values()), 3),
            "rows": sum(self._rows.values()),
            "full_rows": len(learners) * self.full_size,
            "full_seconds": projected_seconds(self.outcomes.items(), learners, self.full_size),
            "running": [[allocation.learner, allocation.size] for allocation in self.running if self.held],
            "selected": self.selected,
            "leader": self._leading(),
        }

    def _leading(self) -> dict[str, Any] | None:
        """Return who is selected with the score on all rows or, before that, who has the best score so far."""
        if self.selected and self.strategy.winner and (points := self.strategy.curve(self.selected).measurements):
            return {"name": self.selected, "valid": points[-1].valid_score, "size": self.full_size}
        leader = self.leader
        return {"name": leader, "valid": self._best[leader][0], "size": self._best[leader][1]} if leader else None

    @property
    def summary(self) -> list[str]:
        """What came of the run and what it cost, in sentences."""
        return summary(self.result, self.strategy.learners, str(self.settings.get("scoring", "score")))

    def learner(self, name: str, status: str) -> dict[str, Any]:
        """Return what is known of one learner, whose status is this."""
        curve = self.strategy.curve(name)
        failure = self.strategy.failures.get(name)
        bound = self.strategy.bound(name)
        ahead = [
            [allocation.size, outcome.train_score, outcome.valid_score, outcome.seconds]
            for allocation, outcome in self._told.known.items()
            if allocation.learner == name and isinstance(outcome, Measurement)
        ]
        return {
            "name": name,
            "points": [
                [size, point.train_score, point.valid_score, point.seconds]
                for size, point in zip(curve.sizes, curve.measurements, strict=True)
            ],
            "corrected": list(curve.valid),
            "ahead": sorted(ahead),
            "bound": bound if bound is not None and math.isfinite(bound) else None,
            "rows": self._rows.get(name, 0),
            "seconds": round(self._seconds.get(name, 0.0), 3),
            "status": status,
            "why": f"{failure.kind}: {failure.message}" if failure else "",
        }

    def told(self) -> dict[str, dict[str, Any]]:
        """Return what is known of every learner."""
        return {name: self.learner(name, status) for name, status in self.statuses().items()}

    def statuses(self) -> dict[str, str]:
        """Return what each learner is doing, in one word.

        Once all are through with the bootstrap, those are suspended whose bound is not the highest; before that, and in
        strategies without bounds, they wait. Nobody waits once a run is over.
        """
        over = {"finished": "not selected", "stopped": "not selected", "failed": "failed", "killed": "interrupted"}
        waiting = over.get(self.state, "waiting")
        racing = self.strategy.racing
        strategy, running = self.strategy, {allocation.learner for allocation in self.running if self.held}
        out = {**dict.fromkeys(strategy.dropped, "dropped"), **dict.fromkeys(strategy.failures, "failed")}
        bounds = {name: strategy.bound(name) for name in strategy.learners if name not in out}
        known = [bound for bound in bounds.values() if bound is not None]
        highest = max(known) if known and len(known) == len(bounds) else None
        found = {}
        for name in strategy.learners:
            bound = bounds.get(name)
            if name == self.selected:
                found[name] = "selected"
            elif name in out:
                found[name] = out[name]
            elif name in running:
                found[name] = "running"
            elif name not in racing and waiting == "waiting":
                found[name] = "knocked out"
            elif strategy.steerable and bound is None and waiting == "waiting":
                found[name] = "bootstrapping"
            elif bound is not None and highest is not None and bound < highest:
                found[name] = "suspended"
            else:
                found[name] = waiting
        return found
