"""A result as one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydaub.records import Failure, Measurement
from pydaub.runs.certificate import certificate_of
from pydaub.runs.standing import standing
from pydaub.views.lines import finite

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub.algorithm.strategies import Strategy
    from pydaub.events import Adjusted, Combined
    from pydaub.runs.account import Account
    from pydaub.runs.regret import Regret
    from pydaub.runs.result import Result, Step


def as_json(strategy: Strategy, result: Result) -> dict[str, Any]:
    """Return what a run did as plain JSON values."""
    return {
        "strategy": strategy.settings["strategy"],
        "sizes": strategy.settings["sizes"],
        "selected": result.selected,
        "selected_size": result.selected_size,
        "valid_score": result.valid_score,
        "metrics": dict(result.measured.metrics) if result.measured else {},
        "stopped": result.stopped,
        "full_size": result.full_size,
        "allocations": [_step_as_json(step) for step in result.steps],
        "rows": result.rows,
        "seconds": result.seconds,
        "wall_seconds": result.wall_seconds,
        "speculated": {
            "count": len(result.speculated),
            "seconds": sum((outcome.seconds for outcome in result.speculated.values()), start=0.0),
        },
        "abandoned": result.abandoned,
        "resumed": result.resumed,
        "failures": [
            {
                "learner": step.allocation.learner,
                "size": step.allocation.size,
                "kind": step.outcome.kind,
                "message": step.outcome.message,
            }
            for step in result.steps
            if isinstance(step.outcome, Failure)
        ],
    }


def run_as_json(account: Account, folder: Path) -> dict[str, Any]:
    """Return a run with its standing, its certificate, its folder and its saved learner as plain JSON values."""
    from pydaub.runs.saving import SCRIPT, Saved, saved_in

    claim = certificate_of(account)
    saved = saved_in(folder) if account.state in ("finished", "stopped") else Saved(None)
    return {
        **as_json(account.strategy, account.result),
        "state": account.state,
        "drawn": dict(account.drawn),
        "ensemble": ensemble_as_json(account.combined),
        "adjustment": adjustment_as_json(account.adjusted),
        "standing": standing(account).to_json(),
        "certificate": claim.to_json() if claim else None,
        "folder": str(folder),
        "model": saved.program.model if saved.program else saved.path and saved.path.name,
        **({"every_row": SCRIPT} if saved.program else {}),
        "not_saved": None if saved.path else saved.reason,
    }


def plain_regret(found: Regret | None) -> dict[str, Any] | None:
    """Return a regret as plain JSON values; None where it is not known."""
    return None if found is None else found.to_json()


def ensemble_as_json(combined: Combined | None) -> dict[str, Any] | None:
    """Return an ensemble as plain JSON values."""
    if combined is None:
        return None
    return {
        "members": dict(combined.weights),
        "score": combined.score,
        "best_member": combined.alone,
        "used": combined.used,
    }


def adjustment_as_json(adjusted: Adjusted | None) -> dict[str, Any] | None:
    """Return an adjustment as plain JSON values."""
    if adjusted is None:
        return None
    return {**adjusted.parameters, "score": adjusted.score, "without": adjusted.plain, "used": adjusted.used}


def _step_as_json(step: Step) -> dict[str, Any]:
    measured = step.outcome if isinstance(step.outcome, Measurement) else None
    return {
        "learner": step.allocation.learner,
        "size": step.allocation.size,
        "train_score": measured and measured.train_score,
        "valid_score": measured and measured.valid_score,
        "seconds": step.outcome.seconds,
        "bound": finite(step.bound),
        **({"metrics": dict(measured.metrics)} if measured and measured.metrics else {}),
    }
