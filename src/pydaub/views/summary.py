"""A result -> plain sentences: what was selected, what it cost, what was saved. For the terminal, the page and mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydaub.runs.certificate import projected_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.runs.loop import Result


def counted(count: int, what: str) -> str:
    """Return "1 worker" or "2 workers"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def summary(result: Result, learners: Sequence[str], scoring: str, place: str | None = None) -> list[str]:
    """Return what came of a run and what it cost; `place` says where it ran."""
    return [_selected(result, scoring), *_metrics(result), _spent(result, place), *_saved(result, learners)]


def _selected(result: Result, scoring: str) -> str:
    if result.selected is None or result.valid_score is None:
        return f"Nothing has been selected yet: {result.stopped or 'every learner failed'}."
    if result.stopped:
        return (
            f"Stopped ({result.stopped}) before the end. The best so far is {result.selected}: {scoring}"
            f" {result.valid_score:.4f} with {result.selected_size or 0:,} of {result.full_size:,} rows."
        )
    return f"Selected {result.selected}: {scoring} {result.valid_score:.4f} on all {result.full_size:,} training rows."


def _metrics(result: Result) -> list[str]:
    metrics = dict(result.measured.metrics) if result.measured else {}
    metrics.pop("peak_mb", None)
    return (
        ["Beside it: " + ", ".join(f"{name} {value:.4f}" for name, value in metrics.items()) + "."] if metrics else []
    )


def _spent(result: Result, place: str | None) -> str:
    work = f"{counted(len(result.steps), 'allocation')}, {result.rows:,} rows, {result.seconds:,.1f} s of training"
    resumed = f"; {counted(result.resumed, 'outcome')} came from the journal" if result.resumed else ""
    return f"{work}; {result.wall_seconds:,.1f} s{f' on {place}' if place else ''}{resumed}."


def _saved(result: Result, learners: Sequence[str]) -> list[str]:
    """Compare with a projection of training everything, from all times that were seen."""
    outcomes = {**result.speculated, **{step.allocation: step.outcome for step in result.steps}}
    everything = projected_seconds(outcomes.items(), learners, result.full_size)
    if everything is None or len(learners) == 1 or len(result.steps) == len(learners) or not result.seconds:
        return []
    cost = f"{result.full_size * len(learners):,} rows, about {everything:,.1f} s{compared(everything, result.seconds)}"
    return [f"Training all {counted(len(learners), 'learner')} on all rows: {cost} (a projection from the times seen)."]


def compared(full: float, spent: float) -> str:
    """Return how training everything compares with what was spent."""
    if not full or not spent:
        return ""
    if full >= spent:
        return f", {full / spent:.1f} times as long"
    return f"; this run took longer, {spent / full:.1f} times that"
