"""A journal as a picture of a run: where each learner stands, what is running, what has been spent and saved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydaub.certificate import projected_seconds
from pydaub.errors import AllLearnersFailed, JournalError, NothingMeasured
from pydaub.records import Allocation, Evaluated, Event, Measurement, Outcome, Started, Stopped, Submitted
from pydaub.run import Result, run
from pydaub.schedule import Schedule
from pydaub.strategies import STRATEGIES, Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one learner stands: its largest size so far."""

    learner: str
    size: int
    outcome: Outcome
    bound: float | None


class Picture:
    """A run as it goes on: give it every event. `strategy` is the one that the run asks."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.outcomes: dict[Allocation, Outcome] = {}
        self.running: list[Allocation] = []
        self._last: dict[str, Allocation] = {}

    def take(self, event: Event) -> None:
        """Take in what has happened."""
        if isinstance(event, Submitted):
            self.running.append(event.allocation)
        elif isinstance(event, Evaluated):
            allocation = event.allocation
            if allocation in self.running:
                self.running.remove(allocation)
            self.outcomes[allocation] = event.outcome
            if allocation.learner not in self._last or self._last[allocation.learner].size < allocation.size:
                self._last[allocation.learner] = allocation

    @property
    def standings(self) -> list[Standing]:
        """The learners, those with the highest bound first, then those without one, by size and score."""
        found = [
            Standing(name, last.size, self.outcomes[last], self.strategy.bound(name))
            for name, last in self._last.items()
        ]
        return sorted(found, key=_promise, reverse=True)

    @property
    def rows(self) -> int:
        """All rows that were trained on."""
        return sum(allocation.size for allocation in self.outcomes)

    @property
    def seconds(self) -> float:
        """All training time."""
        return sum(outcome.seconds for outcome in self.outcomes.values())

    @property
    def largest(self) -> int:
        """The largest size that any learner has had."""
        return max((allocation.size for allocation in self.outcomes), default=0)

    @property
    def projected(self) -> float | None:
        """About how long training everything would take, once every learner has been tried."""
        return projected_seconds(self.outcomes.items(), self.strategy.learners, self.strategy.schedule.full_size)


def _promise(standing: Standing) -> tuple[bool, float, int, float]:
    measured = isinstance(standing.outcome, Measurement)
    bound = standing.bound if standing.bound is not None and measured else -math.inf
    score = standing.outcome.valid_score if isinstance(standing.outcome, Measurement) else -math.inf
    return measured, bound, standing.size, score


class _Nobody:
    """An engine without workers: a run on it ends where its journal does."""

    free = 1

    def __init__(self, clock: float) -> None:
        self.clock = clock

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Leave it."""

    def collect(self, timeout: float | None = None) -> None:  # as `Engine` says
        """Wait for nothing."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def strategy_of(settings: dict[str, Any]) -> Strategy:
    """Return the strategy that a journal's settings describe, as it was at the beginning."""
    try:
        strategy = STRATEGIES[settings["strategy"]](settings["learners"], Schedule(tuple(settings["sizes"])))
    except (KeyError, TypeError) as error:
        raise JournalError(f"The journal must name a known strategy, learners and sizes, got {error!r}.") from None
    if strategy.settings != {name: settings.get(name) for name in strategy.settings}:
        raise JournalError(f"The journal must be of a run with the usual bound, got {settings.get('bound')}.")
    return strategy


def result_of(events: Sequence[Event]) -> tuple[Strategy, Result]:
    """Return what a run has done according to its journal, whether it has ended or not."""
    if not events or not isinstance(events[0], Started):
        raise JournalError("A journal must begin with its settings, got none.")
    strategy = strategy_of(dict(events[0].settings))
    evaluated = [event for event in events if isinstance(event, Evaluated)]
    known = {event.allocation: event.outcome for event in evaluated}
    clock = max((event.clock for event in events if isinstance(event, Evaluated | Stopped)), default=0.0)
    try:
        result = run(strategy, _Nobody(clock), known=known)
    except AllLearnersFailed as error:
        result = error.result
    except NothingMeasured as error:
        result = error.result
    begun = {event.allocation for event in events if isinstance(event, Submitted)}
    asked = {step.allocation for step in result.steps}
    ahead = {allocation: outcome for allocation, outcome in known.items() if allocation not in asked}
    result = replace(result, abandoned=len(begun - known.keys()), speculated=ahead)
    if result.stopped:
        reasons = [event.reason for event in events[-1:] if isinstance(event, Stopped)]
        result = replace(result, stopped=reasons[0] if reasons else "not finished")
    return strategy, result
