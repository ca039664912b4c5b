"""Each learner as the page shows it: numbers, words, figures, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydaub.records import Measurement
from pydaub.views.lines import finite
from pydaub.views.summary import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydaub.algorithm.curve import Curve
    from pydaub.runs.account import Account
    from pydaub.runs.certificate import Certificate
    from pydaub.views.lines import Line

DROP_QUESTION: Final = "It gets no more rows and will not be selected. You can restore it later."
DROP_TRAINING: Final = (
    "It is being trained now. Its process is stopped, and the work on this size is lost. You can restore it later."
)
# Commands that a run accepts for a learner, by its status; for all others, boost and drop.
ACTIONS: Final = {"failed": ["retry"], "refused": ["retry"], "dropped": ["restore"], "has all rows": ["drop"]}
DIGITS: Final = 6  # of forecasts and priorities, which change a little with every outcome
# Titles of recorded figures, what they mean, and whether lower is better; others go by their own names.
FIGURES: Final = {
    "accuracy": ("Accuracy", "Share of validation rows that are predicted right", False),
    "precision": ("Precision", "Mean over the classes: how many of the rows predicted as a class belong to it", False),
    "recall": ("Recall", "Mean over the classes: how many of the rows of a class are found", False),
    "f1": ("F1", "Mean over the classes of the harmonic mean of precision and recall", False),
    "auc": ("AUC", "Area under the ROC curve: 0.5 is guessing, 1 is perfect", False),
    "log_loss": ("Log loss", "How far the predicted probabilities are from the truth: lower is better", True),
    "r2": ("R²", "Share of the variance that is explained", False),
    "mean_absolute_error": ("MAE", "Mean absolute error: lower is better", True),
    "root_mean_squared_error": ("RMSE", "Root mean squared error: lower is better", True),
}
MEMORY: Final = "peak_mb"


def portraits(
    account: Account, found: Iterable[Line], claim: Certificate | None = None, *, steerable: bool
) -> list[dict[str, Any]]:
    """Return what is known of every learner; the certificate adds what its audit found."""
    ahead: dict[str, list[list[float | None]]] = {}
    for allocation, outcome in account.speculated.items():
        if isinstance(outcome, Measurement):
            point = [allocation.size, outcome.train_score, outcome.valid_score, outcome.seconds]
            ahead.setdefault(allocation.learner, []).append(point)
    remarks = claim.misbehaved if claim else {}
    shown = []
    for line in found:
        one = _learner(account, line, remarks.get(line.learner, ""))
        one["ahead"] = sorted(ahead.get(line.learner, []))
        one["actions"] = ACTIONS.get(line.status, ["boost", "drop"]) if steerable else []
        shown.append(one)
    return shown


def _learner(account: Account, line: Line, remark: str) -> dict[str, Any]:
    curve = account.curve(line.learner)
    points = list(zip(curve.sizes, curve.measurements, strict=True))
    known = {MEMORY, account.scores.name}  # these stand elsewhere
    figures = {name: value for name, value in points[-1][1].metrics.items() if name not in known} if points else {}
    weights = account.combined.weights if account.combined and account.combined.used else {}
    return {
        **{name: getattr(line, name) for name in line.__slots__},  # `asdict` copies deeply, and is slow
        **{name: _rounded(getattr(line, name)) for name in ("expected", "low", "high", "predict", "priority")},
        "seconds": round(line.seconds, 3),
        "time": duration(line.seconds),
        "points": [[size, point.train_score, point.valid_score, point.seconds] for size, point in points],
        "peaks": [point.metrics.get(MEMORY) for _, point in points],
        "figures": figures,
        "memory": peak(curve),
        "interval": line.interval,
        "weight": weights.get(line.learner),
        "about": _about(account, line.learner),
        "corrected": [finite(score) for score in curve.valid],
        "note": "; ".join(part for part in (line.why, f"its curve {remark}" if remark else "") if part),
        "confirm": {"drop": DROP_TRAINING if line.status == "training" else DROP_QUESTION},
    }


def peak(curve: Curve) -> float | None:
    """Return the most memory that a training of a learner took, in megabytes; None where that is not known."""
    return max((point.metrics[MEMORY] for point in curve.measurements if MEMORY in point.metrics), default=None)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _about(account: Account, learner: str) -> str:
    """Return what a learner is: the parameters of one that was drawn from a space, or its description."""
    if learner in account.drawn:
        return f"Parameters: {account.drawn[learner]}."
    described = account.descriptions.get(learner, "").rstrip(".")
    return f"{described[0].upper()}{described[1:]}." if described else ""


def figures(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures that were recorded of any learner, as columns of the table."""
    names = dict.fromkeys(name for learner in found for name in learner["figures"])
    shown = {name: FIGURES.get(name, (name.replace("_", " "), "Recorded besides the score", False)) for name in names}
    return [{"key": name, **dict(zip(("title", "help", "lower"), about, strict=True))} for name, about in shown.items()]
