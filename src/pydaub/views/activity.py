"""What trains now and what comes next, how the best score rose, and which curves matter most: for the live page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.seconds import evaluation_ahead
from pydaub.algorithm.strategies import Steerable
from pydaub.runs.account import SURE
from pydaub.views.summary import BRIEF, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.records import Allocation
    from pydaub.runs.account import Account
    from pydaub.runs.standing import Standing
    from pydaub.views.lines import Line

ROOM: Final = 0.25  # below the best, as a share of their range
SCALED: Final = 5  # learners, the first ones, that make the scale of expected scores
FEWEST: Final = 3  # others that are drawn, the best of those that remain
RIVALS: Final = 8  # curves that are drawn beside the leader's
FIRST: Final = "{spent} so far; its first size, so its end is not known"
IN_TIME: Final = "{spent} so far, probably {left} to go"


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
    """Return an evaluation that is running. The page fills in {spent} and {left}, which tick."""
    expected = _expected(account, allocation)
    known = "" if expected is None or expected < BRIEF else f"the {duration(expected)} "
    return {
        "learner": allocation.learner,
        "size": allocation.size,
        "since": round(account.running[allocation], 1),
        "expected": expected,
        "words": FIRST if expected is None else IN_TIME,
        "late": f"{{spent}} so far, longer than {known}expected",
        "ahead": "" if allocation in account.strategy.outstanding else _why_ahead(account, allocation),
    }


def _why_ahead(account: Account, allocation: Allocation) -> str:
    if account.until is not None and allocation.size == account.full_size:
        return "started early, to have all rows before the time limit"
    return "started early on a free core"


def _expected(account: Account, allocation: Allocation) -> float | None:
    """Return about how many seconds the evaluation takes in all; None for a learner's first."""
    curve = account.strategy.curve(allocation.learner)
    points = [pair for pair in zip(curve.sizes, curve.measurements, strict=True) if pair[0] < allocation.size]
    if not points:
        return None
    rows = account.scores.rows if allocation.size == account.full_size else None
    growth = account.growth(allocation.learner)
    return round(float(evaluation_ahead(points, allocation.size, growth, rows)), 2)


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
    if following in strategy.outstanding or not isinstance(strategy, Steerable):
        return strategy.reason
    if learner in strategy.boosted:
        return "it was boosted by hand"
    if not strategy.curve(learner).sizes:
        return "it has not been tried yet"
    return "its priority is the highest of those that wait"


def focus(account: Account, found: Standing, known: Sequence[Line]) -> dict[str, Any]:
    """Return what the chart of all curves shows: the leader, the band of its noise, rivals, and the scores in view.

    Rivals are the learners that cannot be told apart from the leader, and those that could overtake it; where there are
    few, the next best too.
    """
    rivals = list(dict.fromkeys((*found.ties, *found.possible)))[:RIVALS]
    if found.leader:  # a picture needs more than one curve
        best = [line.learner for line in known if line.expected is not None and line.learner != found.leader.learner]
        rivals = list(dict.fromkeys((*rivals, *best[: max(FEWEST - len(rivals), 0)])))
    return {
        "leader": found.leader and found.leader.learner,
        "band": _band(found),
        "band_words": f"the leader's score, give or take {SURE:g} standard errors",
        "rivals": rivals,
        "top": account.scores.top,
        "interval": _interval(known),
    }


def _interval(known: Sequence[Line]) -> tuple[float, float] | None:
    """Return the ends of the scale on which expected scores are drawn: those of the best, with some room."""
    best = [line for line in known if line.expected is not None][:SCALED]
    if not best:
        return None
    middles = [line.expected for line in best if line.expected is not None]
    low, high = min(middles), max([*middles, *(line.high for line in best if line.high is not None)])
    return low - (ROOM * (high - low) or abs(high) * 0.01 or 0.01), high


def _band(found: Standing) -> list[float] | None:
    """Return the scores that the leader's noise does not tell apart from its own; None if the noise is unknown."""
    if found.score is None or not found.error:
        return None
    return [found.score - SURE * found.error, found.score + SURE * found.error]
