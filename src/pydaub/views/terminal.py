"""A result as tables and plain words for people. The only file that draws with rich."""

from __future__ import annotations

import math
import os
import re
import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from pydaub.errors import grouped
from pydaub.records import Allocation, Evaluated, Failure, Measurement, Steered
from pydaub.runs.loop import Step
from pydaub.views.summary import compared, counted, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from pydaub.engines import Table
    from pydaub.records import Event
    from pydaub.runs.certificate import Certificate
    from pydaub.runs.loop import Result
    from pydaub.views.view import Picture, Standing

MOST_SHOWN: Final = 40  # learners in a table
WIDE: Final = 160  # columns where there is no terminal
PER_SECOND: Final = 4  # pictures
CHEAP: Final = 0.01  # seconds; a table of thousands of learners takes longer, and is made now and then
LEADERS: Final = 10  # learners in the live display

FOR_MEMORY: Final = (
    "Most learners need all rows of their sample in memory, several times over. Give them more (--learner-memory), or"
    " add learners that see a block of rows at a time: --learners sklearn,streaming."
)


def console(*, stderr: bool = False) -> Console:
    """Return where tables go: as wide as the terminal, or wide enough where there is none."""
    width = WIDE if not Console(stderr=stderr).is_terminal and "COLUMNS" not in os.environ else None
    return Console(emoji=False, highlight=False, width=width, stderr=stderr)


def plain(text: str) -> str:
    """Return the text with control characters made visible, so that it stays on one line and steers no terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


def print_result(out: Console, result: Result, table: Table, jobs: int) -> None:
    """Print where each learner stands, and what a run on recorded curves came to."""
    print_standings(out, result)
    print_lines(out, _summary(result, table, jobs))


def print_run(  # noqa: PLR0913  # what there is to say
    out: Console,
    result: Result,
    certificate: Certificate | None,
    learners: Sequence[str],
    *,
    scoring: str,
    place: str | None,
) -> None:
    """Print where each learner stands, what the run came to, and what may be claimed."""
    print_standings(out, result)
    lines = [*summary(result, learners, scoring, place), *_guessed(result)]
    if certificate:
        lines += ["", " ".join(certificate.sentences)]
    print_lines(out, [*lines, *_failures(result)])


def print_lines(out: Console, lines: Iterable[str]) -> None:
    """Print sentences, each on a line of its own."""
    for line in lines:
        out.print(plain(line), markup=False, soft_wrap=True)


def print_columns(out: Console, columns: Iterable[tuple[str, str, int, int | None]]) -> None:
    """Print what each column was found to be."""
    grid = _grid("column", "kind", "missing", "distinct", left=("column", "kind"))
    for name, kind, missing, distinct in columns:
        _add(grid, name, kind, f"{missing:,}" if missing else "", "" if distinct is None else f"{distinct:,}")
    out.print(grid)


def print_learners(out: Console, learners: Iterable[tuple[str, str]]) -> None:
    """Print names and descriptions."""
    grid = _grid("learner", "what it is", left=("learner", "what it is"))
    for name, description in learners:
        _add(grid, name, description)
    out.print(grid)


def print_standings(out: Console, result: Result) -> None:
    """Print where each learner stands."""
    last: dict[str, Step] = {}
    spent: dict[str, float] = {}
    for step in result.steps:
        learner = step.allocation.learner
        last[learner] = step
        spent[learner] = spent.get(learner, 0.0) + step.outcome.seconds
    if (
        result.stopped and result.selected and result.measured
    ):  # the best so far may be an outcome that was guessed ahead
        bound = last[result.selected].bound if result.selected in last else None
        last[result.selected] = Step(Allocation(result.selected, result.selected_size or 1), result.measured, bound)
    ranked = sorted(last.values(), key=lambda step: _rank(step, result.selected))
    chosen = "best so far" if result.stopped else "selected"
    grid = _grid("learner", "size", "train", "valid", "bound", "total s", "", left=("learner", ""))
    for step in ranked[:MOST_SHOWN]:
        learner, numbers = step.allocation.learner, ["", "", ""]
        if isinstance(step.outcome, Measurement):
            scores = (step.outcome.train_score, step.outcome.valid_score, step.bound)
            numbers = ["" if score is None else f"{score:.4f}" for score in scores]
        status = chosen if learner == result.selected else _failed(step)
        _add(grid, learner, f"{step.allocation.size:,}", *numbers, f"{spent.get(learner, 0.0):,.2f}", status)
    out.print(grid)
    if len(ranked) > MOST_SHOWN:
        out.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    out.print()


def print_comparison(out: Console, results: Mapping[str, Result], *, wall: bool = True) -> None:
    """Print the columns of the paper's Table 1 for each strategy, and what each selected.

    The loss is against training everything, where that was done. The wall time is left out where strategies
    shared what was measured.
    """
    best = results["full"].valid_score if "full" in results else None
    times = ("seconds", "wall") if wall else ("seconds",)
    columns = ("strategy", "allocations", "rows", *times, "selected", "score", "loss")
    grid = _grid(*columns, left=("strategy", "selected"))
    for name, result in results.items():
        loss = "" if best is None or result.valid_score is None else f"{best - result.valid_score:.4f}"
        figures = (
            f"{len(result.steps):,}",
            f"{result.rows:,}",
            f"{result.seconds:,.1f}",
            *([f"{result.wall_seconds:,.1f}"] if wall else []),
        )
        score = "" if result.valid_score is None else f"{result.valid_score:.4f}"
        _add(grid, name, *figures, result.selected or "", score, loss)
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
    return [*lines, *_against_full(result, table), *_guessed(result), *_failures(result)]


def _guessed(result: Result) -> list[str]:
    if not result.speculated and not result.abandoned:
        return []
    vain = sum(outcome.seconds for outcome in result.speculated.values())
    guessed = f"{counted(len(result.speculated), 'outcome')} ({vain:,.1f} s)"
    return [f"Guessed ahead and never asked for: {guessed}, and {result.abandoned:,} unfinished at the end."]


def _failures(result: Result) -> list[str]:
    lines = [f"Failed: {way}" for way in grouped(result.failures)]
    if any(failure.kind == "memory" for failure in result.failures.values()):
        lines.append(FOR_MEMORY)
    return lines


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
    faster = compared(seconds, result.seconds)
    line = f"Training all {counted(len(known), 'learner')} on all rows: {rows:,} rows, {seconds:,.1f} s{faster}."
    scores = {name: outcome.valid_score for name, outcome in known.items() if isinstance(outcome, Measurement)}
    best = max(scores, key=scores.__getitem__)
    loss = scores[best] - (result.valid_score if result.valid_score is not None else math.nan)
    verdict = f"The best on all rows is {best} with {scores[best]:.4f}: a loss of {loss:.4f}."
    return [line, verdict if loss > 0 else "No learner scores higher on all rows: no loss."]


class Display:
    """A run as it goes on, on stderr: a live table on a terminal, elsewhere a plain line for each outcome."""

    def __init__(self, picture: Picture, scoring: str, place: str, *, quiet: bool = False) -> None:
        self._picture, self._scoring, self._place, self._quiet = picture, scoring, place, quiet
        self._out = console(stderr=True)
        self._began = time.monotonic()
        self._drawn: Group | None = None
        self._drawn_at = self._cost = 0.0
        live = self._out.is_terminal and not self._out.is_dumb_terminal and not quiet
        self._live = (
            Live(console=self._out, get_renderable=self._frame, refresh_per_second=PER_SECOND, transient=True)
            if live
            else None
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def take(self, event: Event) -> None:
        """Show what has happened."""
        self._picture.take(event)
        began = time.monotonic()
        if self._live and (self._cost < CHEAP or began - self._drawn_at >= 20 * self._cost):
            self._drawn = self._table()  # here, and not in the thread that draws: the strategy may change meanwhile
            self._drawn_at = time.monotonic()
            self._cost = self._drawn_at - began
        elif not self._live and not self._quiet and isinstance(event, Evaluated | Steered):
            self._out.print(plain(self._line(event)), markup=False, soft_wrap=True)

    def _line(self, event: Evaluated | Steered) -> str:
        if isinstance(event, Steered):
            return f"[{event.clock:8.1f} s] by hand: {event.command}{f' {event.learner}' if event.learner else ''}"
        allocation, outcome = event.allocation, event.outcome
        what = f"{allocation.learner} with {allocation.size:,} rows"
        if isinstance(outcome, Failure):
            return f"[{event.clock:8.1f} s] {what} failed: {outcome.kind} ({outcome.message})"
        return (
            f"[{event.clock:8.1f} s] {what}: training {outcome.train_score:.4f}, validation {outcome.valid_score:.4f}"
            f" ({outcome.seconds:.2f} s)"
        )

    def _frame(self) -> Group:
        elapsed = time.monotonic() - self._began
        return Group(
            Text(f"pydaub: {elapsed:,.0f} s on {self._place}{', paused' * self._picture.paused}"),
            self._drawn or Text("starting"),
        )

    def _table(self) -> Group:
        picture = self._picture
        full_size, learners = picture.strategy.schedule.full_size, len(picture.strategy.learners)
        share = picture.largest / full_size
        filled = round(30 * share)
        everything = picture.projected
        saved = "" if everything is None else f"; training everything: about {everything:,.0f} s"
        head = Text(
            f"{'█' * filled}{'░' * (30 - filled)} {picture.largest:,} of {full_size:,} rows\n"
            f"{counted(len(picture.outcomes), 'outcome')} of {counted(learners, 'learner')}, {picture.rows:,} rows,"
            f" {picture.seconds:,.1f} s of training{saved}"
        )
        grid = _grid("learner", "size", "train", self._scoring, "bound", "", left=("learner", ""))
        running = {allocation.learner: allocation.size for allocation in picture.running}
        for standing in picture.standings[:LEADERS]:
            _add(grid, standing.learner, f"{standing.size:,}", *_numbers(standing), _doing(standing, running))
        others = ", ".join(f"{name} {size:,}" for name, size in running.items())
        return Group(head, grid, Text(plain(f"running: {others}" if others else ""), overflow="ellipsis", no_wrap=True))


def _numbers(standing: Standing) -> list[str]:
    if not isinstance(standing.outcome, Measurement):
        return ["", "", ""]
    scores = (standing.outcome.train_score, standing.outcome.valid_score, standing.bound)
    return ["" if score is None or math.isinf(score) else f"{score:.4f}" for score in scores]


def _doing(standing: Standing, running: Mapping[str, int]) -> str:
    if standing.learner in running:
        return f"running {running[standing.learner]:,}"
    return "" if isinstance(standing.outcome, Measurement) else f"failed: {standing.outcome.kind}"
