"""A result as tables and plain words for people. The only file that draws with rich."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from pydaub.errors import grouped
from pydaub.records import Allocation, Failure, Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.engines import Table
    from pydaub.run import Result, Step

MOST_SHOWN: Final = 40  # learners in a table
WIDE: Final = 160  # columns where there is no terminal


def console() -> Console:
    """Return where tables go: as wide as the terminal, or wide enough where there is none."""
    width = WIDE if not Console().is_terminal and "COLUMNS" not in os.environ else None
    return Console(emoji=False, highlight=False, width=width)


def plain(text: str) -> str:
    """Return the text with control characters made visible, so that it stays on one line and steers no terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


def counted(count: int, what: str) -> str:
    """Return "1 worker" or "2 workers"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def print_result(out: Console, result: Result, table: Table, jobs: int) -> None:
    """Print where each learner stands, and what the run came to."""
    last: dict[str, Step] = {}
    spent: dict[str, float] = {}
    for step in result.steps:
        learner = step.allocation.learner
        last[learner] = step
        spent[learner] = spent.get(learner, 0.0) + step.outcome.seconds
    ranked = sorted(last.values(), key=lambda step: _rank(step, result.selected))
    grid = _grid("learner", "size", "train", "valid", "bound", "total s", "", left=("learner", ""))
    for step in ranked[:MOST_SHOWN]:
        learner, numbers = step.allocation.learner, ["", "", ""]
        if isinstance(step.outcome, Measurement):
            scores = (step.outcome.train_score, step.outcome.valid_score, step.bound)
            numbers = ["" if score is None else f"{score:.4f}" for score in scores]
        status = "selected" if learner == result.selected else _failed(step)
        _add(grid, learner, f"{step.allocation.size:,}", *numbers, f"{spent[learner]:,.2f}", status)
    out.print(grid)
    if len(ranked) > MOST_SHOWN:
        out.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    out.print()
    for line in _summary(result, table, jobs):
        out.print(plain(line), markup=False, soft_wrap=True)


def print_comparison(out: Console, results: Mapping[str, Result]) -> None:
    """Print the columns of the paper's Table 1 for each strategy, and what each selected."""
    best = results["full"].valid_score
    columns = ("strategy", "allocations", "rows", "seconds", "wall", "selected", "loss")
    grid = _grid(*columns, left=("strategy", "selected"))
    for name, result in results.items():
        loss = "" if best is None or result.valid_score is None else f"{best - result.valid_score:.4f}"
        figures = (
            f"{len(result.steps):,}",
            f"{result.rows:,}",
            f"{result.seconds:,.1f}",
            f"{result.wall_seconds:,.1f}",
        )
        _add(grid, name, *figures, result.selected or "", loss)
    out.print(grid)


def _grid(*columns: str, left: Sequence[str]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        if column in left:
            grid.add_column(column, overflow="fold", min_width=8 if column else None)
        else:
            grid.add_column(column, justify="right", no_wrap=True)
    return grid


def _add(grid: Grid, *cells: str) -> None:
    grid.add_row(*(Text(plain(cell)) for cell in cells))  # as text: a name is no markup


def _failed(step: Step) -> str:
    if not isinstance(step.outcome, Failure):
        return ""
    message = f" ({step.outcome.message})" if step.outcome.message else ""
    return f"failed: {step.outcome.kind}{message}"


def _rank(step: Step, selected: str | None) -> tuple[bool, int, float]:
    """Return the order for people: by size first, so that scores of different sizes are not ranked together."""
    score = step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf
    return (step.allocation.learner != selected, -step.allocation.size, -score)


def _summary(result: Result, table: Table, jobs: int) -> list[str]:
    work = f"{counted(len(result.steps), 'allocation')}, {result.rows:,} rows, {result.seconds:,.1f} s of training"
    lines = [f"Selected {result.selected}: validation score {result.valid_score:.4f} on all {result.full_size:,} rows."]
    if result.resumed:
        lines += [f"{work}; {counted(result.resumed, 'outcome')} came from the journal."]
    else:
        lines += [f"{work}; {result.wall_seconds:,.1f} s on {counted(jobs, 'virtual worker')}."]
    lines += _against_full(result, table)
    if result.speculated or result.abandoned:
        vain = sum(outcome.seconds for outcome in result.speculated.values())
        lines.append(
            f"Guessed ahead and never asked for: {counted(len(result.speculated), 'outcome')} ({vain:,.1f} s),"
            f" and {result.abandoned:,} unfinished at the end."
        )
    return [*lines, *(f"Failed: {way}" for way in grouped(result.failures))]


def _against_full(result: Result, table: Table) -> list[str]:
    """Compare with training everything, where the table knows what that gives."""
    everything = {name: table.outcomes.get(Allocation(name, result.full_size)) for name in table.learners}
    known = {name: outcome for name, outcome in everything.items() if outcome is not None}
    trained = sum(step.allocation.size == result.full_size for step in result.steps)
    if trained == len(everything) == len(result.steps):
        return []
    if len(known) < len(everything):
        missing = counted(len(everything) - len(known), "learner")
        return [f"No comparison with full training: {missing} not recorded on all rows."]
    seconds = sum(outcome.seconds for outcome in known.values())
    rows = result.full_size * len(known)
    faster = _compared(seconds, result.seconds)
    line = f"Training all {counted(len(known), 'learner')} on all rows: {rows:,} rows, {seconds:,.1f} s{faster}."
    scores = {name: outcome.valid_score for name, outcome in known.items() if isinstance(outcome, Measurement)}
    best = max(scores, key=scores.__getitem__)
    loss = scores[best] - (result.valid_score if result.valid_score is not None else math.nan)
    verdict = f"The best on all rows is {best} with {scores[best]:.4f}: a loss of {loss:.4f}."
    return [line, verdict if loss > 0 else "No learner scores higher on all rows: no loss."]


def _compared(full: float, spent: float) -> str:
    if not full or not spent:
        return ""
    if full >= spent:
        return f", {full / spent:.1f} times as long"
    return f"; this run took longer, {spent / full:.1f} times that"
