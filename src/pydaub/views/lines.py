"""A line for each learner: the numbers and words that every table of learners shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.records import Allocation
from pydaub.runs.forecasts import forecasts

if TYPE_CHECKING:
    from pydaub.runs.account import Account

LAST: Final = 1e308  # of ranks, which JSON must be able to write


@dataclass(frozen=True, slots=True)
class Line:
    """Where a learner stands, with the largest size it was asked for.

    For the leader, the size with which it leads. `rows` and `seconds` add up what
    was asked for. `loss` is the distance from the best possible score, where that is known. `likely` and `at_best` are
    the 50 % and 95 % quantiles of the forecast of its score on all rows, and `bound` is the strategy's own, where it
    holds for every curve that gets no steeper. Lines are in the order of their `rank`.
    """

    learner: str
    size: int
    train: float | None
    valid: float | None
    loss: float | None
    likely: float | None
    at_best: float | None
    bound: float | None
    priority: float | None
    rows: int
    seconds: float
    status: str
    why: str
    rank: tuple[float, ...]


def lines(account: Account) -> list[Line]:
    """Return a line for each learner: the leader first, then by size and score."""
    strategy, leader, outcomes = account.strategy, account.leader, account.outcomes
    failures, ahead = strategy.failures, forecasts(account)
    found = []
    for place, (name, status) in enumerate(account.statuses().items()):
        size = account.size(name)
        leads = leader is not None and name == leader.learner
        if leader and leads:
            size = leader.size
        outcome = outcomes.get(Allocation(name, size)) if size else None
        valid = getattr(outcome, "valid_score", None)  # a failure has none
        failed = name in failures
        forecast = None if failed else ahead.of(name)
        line = Line(
            learner=name,
            size=size,
            train=getattr(outcome, "train_score", None),
            valid=valid,
            loss=None if valid is None or account.scores.top is None else account.scores.top - valid,
            likely=None if forecast is None else forecast.likely,
            at_best=None if forecast is None else forecast.bound,
            bound=finite(account.bound(name)) if strategy.sure and not failed else None,
            priority=None if failed else finite(strategy.priority(name)),
            rows=account.rows(name),
            seconds=account.seconds(name),
            status=status.word,
            why=status.why,
            # Size comes before score: scores with different sizes do not compare.
            rank=(not leads, -size, LAST if valid is None else -valid, place),
        )
        found.append(line)
    return sorted(found, key=lambda line: line.rank)


def finite(value: float | None) -> float | None:
    """Return a number as it can be shown: bounds are infinite while no slope is known."""
    return None if value is None or not math.isfinite(value) else value
