"""A journal as a picture of a run: where each learner stands, what is running, what has been spent and saved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.strategies import STRATEGIES, Strategy
from pydaub.errors import AllLearnersFailed, JournalError
from pydaub.records import Allocation, Evaluated, Event, Measurement, Outcome, Started, Steered, Stopped, Submitted
from pydaub.runs.certificate import projected_seconds
from pydaub.runs.loop import TIMED, Past, Result, best_so_far

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
        self.paused = False
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
        elif isinstance(event, Steered):
            self.paused = event.command == "pause" or (self.paused and event.command != "resume")
            if event.command == "drop":
                self.running = [allocation for allocation in self.running if allocation.learner != event.learner]

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


def strategy_of(settings: dict[str, Any]) -> Strategy:
    """Return the strategy that a journal's settings describe, as it was at the beginning."""
    try:
        strategy = STRATEGIES[settings["strategy"]].from_settings(settings)
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
    past, failed = Past(strategy, {}), False
    for event in events:
        past.take(event)
    try:
        while (asked := strategy.outstanding or strategy.ask()) and asked in past.known:
            past.tell(asked)  # it was known, but the run was killed before it went on
    except AllLearnersFailed:
        failed = True
    outcomes = {event.allocation: event.outcome for event in events if isinstance(event, Evaluated)}
    begun = {event.allocation for event in events if isinstance(event, Submitted)}
    reasons = [event.reason for event in events[-1:] if isinstance(event, Stopped)]
    winner = strategy.winner
    chosen = Allocation(winner, strategy.schedule.full_size) if winner else None
    if not winner and not failed:
        chosen = best_so_far(outcomes, strategy.dropped)
    return strategy, Result(
        selected=None if chosen is None else chosen.learner,
        full_size=strategy.schedule.full_size,
        steps=tuple(past.steps),
        failures=strategy.failures,
        wall_seconds=max((event.clock for event in events if isinstance(event, TIMED)), default=0.0),
        speculated=past.known,
        abandoned=len(begun - outcomes.keys()),
        selected_size=None if chosen is None else chosen.size,
        stopped=None if winner or failed else (reasons[0] if reasons else "not finished"),
    )
