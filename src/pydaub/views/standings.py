"""A line for each learner: the numbers and words that every table of learners shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydaub.records import Allocation

if TYPE_CHECKING:
    from pydaub.runs.account import Account


@dataclass(frozen=True, slots=True)
class Line:
    """Where a learner stands, with the largest size it was asked for.

    For the leader, the size with which it leads. `rows` and `seconds` add up what
    was asked for. `loss` is the distance from the best possible score, where that is known.
    """

    learner: str
    size: int
    train: float | None
    valid: float | None
    loss: float | None
    bound: float | None
    priority: float | None
    rows: int
    seconds: float
    standing: str
    why: str


def lines(account: Account) -> list[Line]:
    """Return a line for each learner: the leader first, then by size and score."""
    strategy, leader, outcomes = account.strategy, account.leader, account.outcomes
    failures = strategy.failures
    found = []
    for name, standing in account.standings().items():
        size = account.size(name)
        if leader and name == leader.learner:
            size = leader.size
        outcome = outcomes.get(Allocation(name, size)) if size else None
        valid = getattr(outcome, "valid_score", None)  # a failure has none
        failed = name in failures
        line = Line(
            learner=name,
            size=size,
            train=getattr(outcome, "train_score", None),
            valid=valid,
            loss=None if valid is None or account.scores.top is None else account.scores.top - valid,
            bound=None if failed else finite(strategy.bound(name)),
            priority=None if failed else finite(strategy.priority(name)),
            rows=account.rows(name),
            seconds=account.seconds(name),
            standing=standing.word,
            why=standing.why,
        )
        found.append(line)
    first = leader.learner if leader else None
    return sorted(found, key=lambda line: _rank(line, first))


def finite(value: float | None) -> float | None:
    """Return a number as it can be shown: bounds are infinite while no slope is known."""
    return None if value is None or not math.isfinite(value) else value


def _rank(line: Line, first: str | None) -> tuple[bool, int, float]:
    """Sort by size first: scores with different sizes do not compare."""
    return line.learner != first, -line.size, math.inf if line.valid is None else -line.valid
