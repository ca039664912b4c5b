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
from pydaub.runs.standing import Standing, standing
from pydaub.views.activity import activity, focus
from pydaub.views.lines import lines
from pydaub.views.portraits import figures, portraits
from pydaub.views.summary import against, against_training, duration, summary
from pydaub.views.tiles import steps, tiles
from pydaub.views.verdict import WAITING, Verdict, verdict_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.runs.account import Account
    from pydaub.runs.certificate import Certificate
    from pydaub.views.lines import Line

STATES: Final = {  # in words, where one does not say enough
    "failed": "every learner failed",
    "killed": "killed or interrupted",
}
DAMAGED: Final = "damaged: the rest of its journal cannot be read"
AFTERWARDS: Final = "finished; the learner is being prepared and saved"  # combined and fitted once more, if wanted
STOP_QUESTION: Final = (
    "The run ends now with the best learner so far. Evaluations that are running are lost. You can continue the run"
    " later with pydaub resume."
)
ENDED: Final = "The run is not going on, so it cannot be steered."
NOT_STEERABLE: Final = "With the strategy {strategy}, learners cannot be added, dropped or boosted."
NO_AUDIT: Final = f"No curve has {LONG_ENOUGH} sizes yet, so there is nothing to check."


def header(account: Account, found: Standing, known: Sequence[Line], elapsed: float) -> dict[str, Any]:
    """Return what stands above everything: state, progress, costs, and the leader."""
    state, going = account.state, account.state in GOING_ON
    sizes = [each.size for each, outcome in account.outcomes.items() if isinstance(outcome, Measurement)]
    return {
        "state": state,
        "words": _state_words(account),
        "verdict": verdict_as_json(verdict_on(account, found)),
        "standing": found.to_json(),
        "tiles": tiles(account, found),
        "steps": steps(account, found),
        "going": going,
        "over": state in ("finished", "stopped", "failed"),
        "elapsed": round(elapsed, 1),
        "full_size": account.full_size,
        "sizes": list(account.strategy.schedule.sizes),
        "score": account.scores.name,
        "facts": _facts(account, max(sizes, default=0)),
        "actions": {
            "pause": going,
            "command": "resume" if state == "paused" else "pause",
            "stop": going,
            "add": not _immovable(account),
        },
        "immovable": _immovable(account),
        "confirm": {"stop": STOP_QUESTION},
        "now": activity(account),
        "focus": focus(account, found, known),
    }


def verdict_as_json(said: Verdict) -> dict[str, Any]:
    """Return a verdict as plain JSON values, with all of it on one line too."""
    return {"line": said.line, **asdict(said)}


def _immovable(account: Account) -> str:
    """Return why learners cannot be steered; empty if they can."""
    if account.state not in GOING_ON:
        return ENDED
    strategy = account.settings.get("strategy", type(account.strategy).__name__.lower())
    return "" if isinstance(account.strategy, Steerable) else NOT_STEERABLE.format(strategy=strategy)


def _state_words(account: Account) -> str:
    state = account.state
    if state != "stopped":
        return AFTERWARDS if state == "finished" and account.held else STATES.get(state, state)
    return BY_HAND if account.stopped == BY_HAND else f"stopped: {account.stopped}"


def _facts(account: Account, largest: int) -> list[list[str]]:
    result, leader = account.result, account.leader
    full_rows = len(account.tried) * account.full_size
    chosen = {"finished": "Selected", "stopped": "Best so far"}.get(account.state, "Leader")
    best = "none yet"
    if leader is not None and result.valid_score is not None:
        best = f"{leader.learner}: {score_text(result.valid_score)} with {leader.size:,} rows"
    ahead = sum(outcome.seconds for outcome in result.speculated.values())
    facts = [
        ["Largest size", f"{largest:,} of {account.full_size:,} rows"],
        ["Elapsed", ""],  # the page counts on
        ["Training time", f"{duration(result.seconds)}{against_training(account, result.seconds)}"],
        ["Rows", f"{result.rows:,}{against(account, result.rows, full_rows, f'{full_rows:,}')}"],
        ["Allocations", f"{len(result.steps):,}"],
        ["Evaluated ahead", f"{len(result.speculated):,} ({duration(ahead)})" if result.speculated else ""],
        [chosen, best],
        ["Score", f"{account.scores.name}, higher is better"],
        ["Strategy", str(account.settings.get("strategy", ""))],
    ]
    return [fact for fact in facts if fact[1] or fact[0] == "Elapsed"]


def learners(
    account: Account, claim: Certificate | None = None, known: Sequence[Line] | None = None
) -> dict[str, dict[str, Any]]:
    """Return what is known of every learner, by name."""
    shown = portraits(account, lines(account) if known is None else known, claim, steerable=not _immovable(account))
    return {one["learner"]: one for one in shown}


def story(account: Account, *, elapsed: float | None = None, seen: int = 0) -> dict[str, Any]:
    """Return everything; of the log, what follows the lines that the page has `seen`."""
    claim, elapsed = certificate_of(account), account.clock if elapsed is None else elapsed
    known = lines(account)
    shown = [*learners(account, claim, known).values()]
    return {
        "header": {
            **header(account, standing(account, elapsed), known, elapsed),
            "figures": figures(shown),
        },
        "learners": shown,
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
        "verdict": verdict_as_json(WAITING),
        "standing": Standing("waiting").to_json(),
        "tiles": [],
        "steps": [],
        "going": False,
        "over": False,
        "facts": [],
        "actions": {"pause": False, "command": "pause", "stop": False, "add": False},
        "immovable": ENDED,
        "confirm": {},
        "now": {"lanes": [], "words": "", "next": "", "best": []},
        "focus": {
            "leader": None,
            "band": None,
            "rivals": [],
            "words": "",
            "top": None,
            "range": None,
            "interval": None,
        },
        "figures": [],
        "trouble": trouble,
    }
    return {"header": header, "learners": [], "decisions": [], "summary": [], "certificate": None, "audit": ""}
