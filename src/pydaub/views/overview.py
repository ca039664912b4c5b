"""Several runs beside each other: a line for each, and two of them compared. As plain JSON values."""

from __future__ import annotations

import json
import os
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pydaub.records import Measurement, score_text
from pydaub.runs import JOURNAL
from pydaub.runs.account import GOING_ON
from pydaub.runs.folder import RESULT
from pydaub.views.summary import duration, raised
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydaub.records import Failure
    from pydaub.runs.account import Account

MOST_COMPARED: Final = 200  # learners
NONE: Final[Mapping[str, Failure]] = MappingProxyType({})


def line(account: Account) -> dict[str, Any]:
    """Return a run as a line of a list."""
    result, leader = account.result, account.leader
    return _line(
        account.state,
        account.scores.name,
        None if leader is None else leader.learner,
        result.valid_score,
        (0 if leader is None else leader.size, account.full_size),
        (len(result.steps), result.seconds),
    )


def ended_line(folder: Path) -> dict[str, Any] | None:
    """Return the line of a run from the result that it left, if nothing has been journalled since; else None.

    This is much faster than following the journal, and the run itself has written it.
    """
    try:
        inside = Folder(folder)
        journal, result = inside.status(JOURNAL), inside.status(RESULT)
        if journal is None or result is None or result.st_mtime_ns < journal.st_mtime_ns:
            return None
        found = json.loads(inside.read(RESULT))
        with os.fdopen(inside.open(JOURNAL), "rb") as file:
            settings = json.loads(file.readline())["settings"]
        sizes = (int(found["selected_size"] or 0), int(found["full_size"]))
        spent = (len(found["allocations"]), float(found["seconds"]))
        score = None if found["valid_score"] is None else float(found["valid_score"])
        leader = None if found["selected"] is None else str(found["selected"])
        name = str(settings.get("scores", {}).get("name", "score"))
        return _line(str(found["state"]), name, leader, score, sizes, spent)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _line(  # noqa: PLR0913, PLR0917  # the columns
    state: str,
    scoring: str,
    leader: str | None,
    score: float | None,
    sizes: tuple[int, int],
    spent: tuple[int, float],
) -> dict[str, Any]:
    allocations, seconds = spent
    known = leader is not None and score is not None
    return {
        "state": state,
        "going": state in GOING_ON,
        "leader": leader or "",
        "score": score if known else None,
        "score_words": score_text(score) if score is not None and known else "",
        "scoring": scoring,
        "size": sizes[0],
        "full_size": sizes[1],
        "allocations": allocations,
        "seconds": round(seconds, 3),
        "time": duration(seconds),
    }


def commands(folder: Path, state: str, model: str | None, failures: Mapping[str, Failure] = NONE) -> list[list[str]]:
    """Return what can be done with a run on the command line: a title and the command. `model` is the saved file."""
    run = shlex.quote(str(folder.resolve()))
    found = [["Predict new rows", f"pydaub predict {run} NEW.csv"]] if model else []
    trust = ", trust=True" if model and model.endswith(".pkl") else ""
    if trust:
        found[0][1] += " --trust"
    if model:
        found.append(["Load it in Python", f"import pydaub; run = pydaub.load({str(folder.resolve())!r}{trust})"])
    if state not in (*GOING_ON, "finished", "damaged"):
        found.append(["Continue the run", f"pydaub resume {run}"])
    if failures and state not in (*GOING_ON, "damaged"):
        found.append(["Retry what failed", " ".join([f"pydaub resume {run} --retry", *raised(failures)])])
    return [*found, ["Write a report", f"pydaub report {run}"], ["Show it on the terminal", f"pydaub show {run}"]]


def comparison(accounts: Mapping[str, Account]) -> dict[str, Any]:
    """Return two runs side by side: facts, and the latest scores of learners that both have tried."""
    both = list(accounts.values())
    latest = [_latest(account) for account in both]
    common = [name for name in latest[0] if name in latest[1]]
    common.sort(key=lambda name: -max(scores[name][0] for scores in latest))
    shown = [
        [name, *([score_text(score), f"{size:,}"] for score, size in (scores[name] for scores in latest))]
        for name in common[:MOST_COMPARED]
    ]
    alone = [len(latest[one].keys() - latest[1 - one].keys()) for one in (0, 1)]
    names, data = {account.scores.name for account in both}, {account.settings.get("data") for account in both}
    warning = "The runs have different scores, which do not compare." if len(names) > 1 else ""
    if len(data) > 1:
        warning = "The runs are on different rows, so that their scores do not compare."
    return {
        "runs": list(accounts),
        "facts": [[title, *(facts[title] for facts in map(_facts, both))] for title in _facts(both[0])],
        "learners": shown,
        "common": len(common),
        "alone": alone,
        "warning": warning,
    }


def _facts(account: Account) -> dict[str, str]:
    result, leader = account.result, account.leader
    score = "" if result.valid_score is None else score_text(result.valid_score)
    return {
        "State": account.state,
        "Leader": "none yet" if leader is None else leader.learner,
        "Score": f"{account.scores.name} {score}" if leader is not None else "",
        "With rows": "" if leader is None else f"{leader.size:,} of {account.full_size:,}",
        "Training time": duration(result.seconds),
        "Rows trained": f"{result.rows:,}",
        "Allocations": f"{len(result.steps):,}",
        "Learners": f"{len(account.learners):,}",
        "Strategy": str(account.settings.get("strategy", "")),
    }


def _latest(account: Account) -> dict[str, tuple[float, int]]:
    """Return the score of each learner with the most rows, and their number."""
    found: dict[str, tuple[float, int]] = {}
    for step in account.result.steps:
        if isinstance(step.outcome, Measurement):
            found[step.allocation.learner] = (step.outcome.valid_score, step.allocation.size)
    return found
