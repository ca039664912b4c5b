"""What trains now and what comes next, how the best score rose, and which curves matter most: for the live page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.curve import seconds_ahead
from pydaub.algorithm.strategies import Steerable
from pydaub.runs.account import GOING_ON

if TYPE_CHECKING:
    from pydaub.records import Allocation
    from pydaub.runs.account import Account
    from pydaub.runs.contest import Contest

RIVALS: Final = 8  # curves that are drawn beside the leader's


def activity(account: Account) -> dict[str, Any]:
    """Return a lane for each evaluation that is running, what comes next and why, and every rise of the best score."""
    return {
        "lanes": [_lane(account, allocation) for allocation in account.training],
        "words": _now(account),
        "next": _next(account),
        "best": [
            [round(clock, 2), score, allocation.learner, allocation.size]
            for clock, allocation, score in account.improvements
        ],
    }


def _lane(account: Account, allocation: Allocation) -> dict[str, Any]:
    return {
        "learner": allocation.learner,
        "size": allocation.size,
        "since": round(account.running[allocation], 1),
        "expected": _expected(account, allocation),
        "ahead": ""
        if allocation == account.strategy.outstanding
        else f"ahead of its turn, {_why_ahead(account, allocation)}",
    }


def _why_ahead(account: Account, allocation: Allocation) -> str:
    if account.until is not None and allocation.size == account.full_size:
        return "so that it has all rows before the time limit"
    return "because a worker was idle"


def _expected(account: Account, allocation: Allocation) -> float | None:
    """Return about how many seconds the evaluation takes in all; None for a learner's first."""
    curve = account.strategy.curve(allocation.learner)
    points = [pair for pair in zip(curve.sizes, curve.measurements, strict=True) if pair[0] < allocation.size]
    if not points:
        return None
    rows = account.scores.rows if allocation.size == account.full_size else None
    return round(float(seconds_ahead(points, allocation.size, rows=rows)), 2)


def _now(account: Account) -> str:
    """Return what the lanes do not say."""
    state, busy = account.state, bool(account.training)
    if state == "paused":
        return "Paused. What is training is finished first." if busy else "Paused: nothing is training."
    return "" if busy or state != "running" else "Nothing is training at this moment."


def _next(account: Account) -> str:
    following = account.following
    if following is None:
        return ""
    when = "Next" if account.state == "running" else "After it is resumed"
    return f"{when}: {following.learner} with {following.size:,} rows, because {_why(account, following)}."


def _why(account: Account, following: Allocation) -> str:
    strategy, learner = account.strategy, following.learner
    if following == strategy.outstanding or not isinstance(strategy, Steerable):
        return strategy.reason
    if learner in strategy.boosted:
        return "it was boosted by hand"
    if not strategy.curve(learner).sizes:
        return "it has not been tried yet"
    return "its priority is the highest of those that wait"


def focus(account: Account, found: Contest | None) -> dict[str, Any]:
    """Return the learners whose curves are highlighted: the leader, with its noise, and those that can still win.

    These are the learners that cannot be told apart from the leader, and those that could overtake it.
    """
    going = account.state in GOING_ON
    rivals = dict.fromkeys((*found.ties, *found.possible)) if found else {}
    return {
        "leader": found and found.leader.learner,
        "size": found and found.leader.size,
        "score": found and found.measured.valid_score,
        "noise": found and found.error,
        "rivals": list(rivals)[:RIVALS],
        "words": f"{'can still win' if going else 'could be better with all rows'}, or tied with it",
        "top": account.scores.top,
    }
