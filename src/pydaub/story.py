"""A journal -> the whole story of a run: curves, decisions in plain words, who stands where, and what it has cost.

It is what the live page, the pictures and the report are made of. Give it every event in its order; what it then says
is plain JSON values. It works on a run of another process, on one that ended last week, and on one that was killed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pydaub.certificate import certificate, projected_seconds, proportional
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
from pydaub.run import TIMED, Past, Result, best_so_far
from pydaub.view import strategy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydaub.certificate import Certificate
    from pydaub.strategies import Strategy

BOOTSTRAP: Final = 3  # sizes before a learner has a bound
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
    """A run as its journal tells it. `valid_size` is how many rows a score is of, if that is known."""

    def __init__(self, valid_size: int = 0) -> None:
        self.valid_size = valid_size
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
        self._leader: tuple[float, int, Allocation] | None = None
        self._largest = 0
        self._rows: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def take(self, event: Event) -> None:
        """Take in what has happened."""
        if isinstance(event, Started):
            self.settings = dict(event.settings)
            self._past = Past(strategy_of(self.settings), {})
            self.changed.update(self.strategy.learners)
            return
        past = self._told
        self.clock = max(self.clock, event.clock if isinstance(event, TIMED) else 0.0)
        past.take(event)
        match event:
            case Asked(allocation):
                self.stopped = None
                words = f"{allocation.learner} gets {allocation.size:,} rows: {past.reason}."
                self._decided(words, allocation.learner, allocation.size)
                self.changed.add(allocation.learner)
            case Submitted(allocation):
                self.running[allocation] = None
                self.stopped = None  # it was resumed
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
                self._decided(f"The run stopped: {reason}.")
                self._forget_running(list(self.running))

    def _evaluated(self, allocation: Allocation, outcome: Outcome) -> None:
        name = allocation.learner
        self.outcomes[allocation] = outcome
        self._rows[name] = self._rows.get(name, 0) + allocation.size
        self._seconds[name] = self._seconds.get(name, 0.0) + outcome.seconds
        self._forget_running([allocation])
        self._largest = max(self._largest, allocation.size)
        if isinstance(outcome, Measurement):
            reached = (outcome.valid_score, allocation.size, allocation)
            if self._leader is None or reached[:2] > self._leader[:2]:
                self._leader = reached
                self.changed.update(self.strategy.learners)  # who is behind it depends on its score
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

    def state(self, *, held: bool) -> str:
        """Return how the run is: `held` is whether a process is writing its journal now."""
        if self.selected is not None and self.strategy.winner is not None:
            return "finished"
        if self.stopped is not None:
            return "stopped"
        if len(self.strategy.failures) == len(self.strategy.learners):
            return "failed"
        if not held:
            return "killed"
        return "paused" if self.paused else "running"

    @property
    def result(self) -> Result:
        """The run as a result, whether it has ended or not."""
        chosen = Allocation(self.selected, self.full_size) if self.selected else None
        failed = len(self.strategy.failures) == len(self.strategy.learners)
        if not self.selected and not failed:
            chosen = best_so_far(self.outcomes)
        return Result(
            selected=None if chosen is None else chosen.learner,
            full_size=self.full_size,
            steps=tuple(self._told.steps),
            failures=self.strategy.failures,
            wall_seconds=self.clock,
            speculated=dict(self._told.known),
            selected_size=None if chosen is None else chosen.size,
            stopped=None if self.selected or failed else self.stopped or "not finished",
        )

    @property
    def certificate(self) -> Certificate | None:
        """What may be claimed so far; None where nothing was measured."""
        scoring = str(self.settings.get("scoring", "accuracy"))
        return certificate(self.result, self.strategy.learners, self.valid_size, proportion=proportional(scoring))

    def header(self, *, held: bool) -> dict[str, Any]:
        """Return what stands above everything: state, progress, what was spent and saved, and who leads."""
        learners = self.strategy.learners
        return {
            "state": self.state(held=held),
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
            "running": [[allocation.learner, allocation.size] for allocation in self.running],
            "selected": self.selected,
            "leader": None
            if self._leader is None
            else {"name": self._leader[2].learner, "size": self._leader[1], "valid": self._leader[0]},
        }

    def learner(self, name: str) -> dict[str, Any]:
        """Return what is known of one learner."""
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
            "status": self.status(name),
            "why": f"{failure.kind}: {failure.message}" if failure else "",
        }

    def status(self, name: str) -> str:  # one for each word
        """Return what a learner is doing, in one word."""
        if name == self.selected:
            return "selected"
        if name in self.strategy.failures:
            return "failed"
        if name in self.strategy.dropped:
            return "dropped"
        if any(allocation.learner == name for allocation in self.running):
            return "running"
        curve, bound = self.strategy.curve(name), self.strategy.bound(name)
        if self.strategy.steerable and len(curve.sizes) < min(BOOTSTRAP, len(self.strategy.schedule.sizes)):
            return "bootstrapping"
        behind = bound is not None and self._leader is not None and bound < self._leader[0]
        return "suspended" if behind and self._leader and self._leader[2].learner != name else "waiting"
