"""A run as plain JSON values: everything that the live page and the report show.

The page only draws. Which words, numbers and buttons it shows is decided here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.strategies import Steerable
from pydaub.records import Measurement, score_text
from pydaub.runs.account import BY_HAND, GOING_ON
from pydaub.runs.certificate import LONG_ENOUGH, certificate_of
from pydaub.views.standings import finite, lines
from pydaub.views.summary import against, duration, summary
from pydaub.views.verdict import WAITING, verdict

if TYPE_CHECKING:
    from pydaub.runs.account import Account
    from pydaub.runs.certificate import Certificate
    from pydaub.views.standings import Line

STATES: Final = {  # in words, where one does not say enough
    "failed": "every learner failed",
    "killed": "not running: it was killed or interrupted; pydaub resume continues it",
}
STOP_QUESTION: Final = (
    "The run ends now with the best learner so far. Evaluations that are running are lost. You can continue the run"
    " later with pydaub resume."
)
DROP_QUESTION: Final = (
    "It is being trained now. Its process is stopped, and the work on this size is lost. You can restore it later."
)
NO_AUDIT: Final = f"No curve has {LONG_ENOUGH} sizes yet, so there is nothing to check."
# Commands that a run accepts for a learner, by its standing; for all others, boost and drop.
ACTIONS: Final = {"failed": ["retry"], "dropped": ["restore"], "has all rows": ["drop"]}
DIGITS: Final = 6  # of priorities, which change a little with every outcome


def header(account: Account, elapsed: float) -> dict[str, Any]:
    """Return what stands above everything: state, progress, costs, and the leader."""
    state, going = account.state, account.state in GOING_ON
    largest = max((step.allocation.size for step in account.steps if isinstance(step.outcome, Measurement)), default=0)
    return {
        "state": state,
        "words": _state_words(account),
        "verdict": asdict(verdict(account)),
        "going": going,
        "over": state in ("finished", "stopped", "failed"),
        "elapsed": round(elapsed, 1),
        "full_size": account.full_size,
        "sizes": list(account.strategy.schedule.sizes),
        "largest": largest,
        "score": account.scores.name,
        "facts": _facts(account, largest),
        "actions": {
            "pause": going,
            "command": "resume" if state == "paused" else "pause",
            "stop": going,
            "add": going and isinstance(account.strategy, Steerable),
        },
        "confirm": {"stop": STOP_QUESTION},
        "first": account.leader.learner if account.leader and state in ("finished", "stopped") else None,
    }


def _state_words(account: Account) -> str:
    state = account.state
    if state != "stopped":
        return STATES.get(state, state)
    how = BY_HAND if account.stopped == BY_HAND else f"stopped: {account.stopped}"
    return f"{how}; pydaub resume continues it"


def _facts(account: Account, largest: int) -> list[list[str]]:
    result, leader = account.result, account.leader
    full_seconds, full_rows = account.full_seconds(), len(account.tried) * account.full_size
    chosen = {"finished": "Selected", "stopped": "Best so far"}.get(account.state, "Leader")
    best = "none yet"
    if leader is not None and result.valid_score is not None:
        best = f"{leader.learner}: {score_text(result.valid_score)} with {leader.size:,} rows"
    trained = against(account, result.seconds, full_seconds, None if full_seconds is None else duration(full_seconds))
    ahead = sum(outcome.seconds for outcome in account.ahead.values())
    facts = [
        ["Largest size", f"{largest:,} of {account.full_size:,} rows"],
        ["Elapsed", ""],  # the page counts on
        ["Training time", f"{duration(result.seconds)}{trained}"],
        ["Rows", f"{result.rows:,}{against(account, result.rows, full_rows, f'{full_rows:,}')}"],
        ["Allocations", f"{len(result.steps):,}"],
        ["Evaluated ahead", f"{len(account.ahead):,} ({duration(ahead)})" if account.ahead else ""],
        [chosen, best],
        ["Score", f"{account.scores.name}, higher is better"],
        ["Strategy", str(account.settings.get("strategy", ""))],
        ["Training now", ", ".join(f"{each.learner} {each.size:,}" for each in account.training)],
    ]
    return [fact for fact in facts if fact[1] or fact[0] == "Elapsed"]


def learners(account: Account, claim: Certificate | None = None) -> dict[str, dict[str, Any]]:
    """Return what is known of every learner; the certificate adds what its audit found."""
    ahead: dict[str, list[list[float | None]]] = {}
    for allocation, outcome in account.ahead.items():
        if isinstance(outcome, Measurement):
            point = [allocation.size, outcome.train_score, outcome.valid_score, outcome.seconds]
            ahead.setdefault(allocation.learner, []).append(point)
    remarks = claim.misbehaved if claim else {}
    steerable = account.state in GOING_ON and isinstance(account.strategy, Steerable)
    found = {}
    for line in lines(account):
        one = _learner(account, line, remarks.get(line.learner, ""))
        one["ahead"] = sorted(ahead.get(line.learner, []))
        one["actions"] = ACTIONS.get(line.standing, ["boost", "drop"]) if steerable else []
        found[line.learner] = one
    return found


def _learner(account: Account, line: Line, remark: str) -> dict[str, Any]:
    curve = account.strategy.curve(line.learner)
    points = zip(curve.sizes, curve.measurements, strict=True)
    return {
        **asdict(line),
        "priority": None if line.priority is None else round(line.priority, DIGITS),
        "seconds": round(line.seconds, 3),
        "time": duration(line.seconds),
        "points": [[size, point.train_score, point.valid_score, point.seconds] for size, point in points],
        "corrected": [finite(score) for score in curve.valid],
        "remark": "; ".join(part for part in (line.why, f"its curve {remark}" if remark else "") if part),
        "confirm": {"drop": DROP_QUESTION} if line.standing == "training" else {},
    }


def story(account: Account, *, elapsed: float | None = None, seen: int = 0) -> dict[str, Any]:
    """Return everything; of the log, what follows the lines that the page has `seen`."""
    claim = certificate_of(account)
    return {
        "header": header(account, account.clock if elapsed is None else elapsed),
        "learners": list(learners(account, claim).values()),
        "decisions": [asdict(decision) for decision in account.decisions[seen:]],
        "summary": [] if account.state in GOING_ON else summary(account),
        "certificate": claim.to_json() if claim else None,
        "audit": (claim and claim.audit) or NO_AUDIT,
    }


def waiting(trouble: str) -> dict[str, Any]:
    """Return the story of a run whose journal has not begun, or cannot be read."""
    header = {
        "state": "waiting",
        "words": "waiting for the run to begin",
        "verdict": asdict(WAITING),
        "going": False,
        "over": False,
        "facts": [],
        "actions": {"pause": False, "command": "pause", "stop": False, "add": False},
        "confirm": {},
        "first": None,
        "trouble": trouble,
    }
    return {"header": header, "learners": [], "decisions": [], "summary": [], "certificate": None, "audit": ""}
