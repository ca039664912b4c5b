"""A run on the terminal: tables, sentences, and the live display. The only module that imports rich."""

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

from pydaub.records import Allocation, Evaluated, Measurement, Steered
from pydaub.runs.certificate import certificate_of
from pydaub.views.standings import by_priority, lines
from pydaub.views.summary import compared, counted, event_line, failures, guessed, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from pydaub.engines import Table
    from pydaub.records import Event
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result
    from pydaub.views.standings import Line

MOST_SHOWN: Final = 40  # learners in a table
WIDE: Final = 160  # columns where there is no terminal
PER_SECOND: Final = 4  # frames
CHEAP: Final = 0.01  # seconds; a table of thousands of learners takes longer and is drawn less often
LEADERS: Final = 10  # learners in the live display


def console(*, stderr: bool = False) -> Console:
    """Return the console: as wide as the terminal, or wide enough where there is none."""
    width = WIDE if not Console(stderr=stderr).is_terminal and "COLUMNS" not in os.environ else None
    return Console(emoji=False, highlight=False, width=width, stderr=stderr)


def plain(text: str) -> str:
    """Return the text with control characters escaped, so that it stays on one line and controls no terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


def print_run(out: Console, account: Account, *, place: str | None = None) -> None:
    """Print where each learner stands, what the run came to, and what may be claimed."""
    print_standings(out, account)
    result, claim = account.result, certificate_of(account)
    said = [*summary(account, place), *guessed(result)]
    print_lines(out, [*said, *(["", " ".join(claim.sentences)] if claim else []), *failures(result)])


def print_replay(out: Console, account: Account, table: Table, jobs: int) -> None:
    """Print where each learner stands, and what a run on recorded curves came to against training everything."""
    print_standings(out, account)
    result = account.result
    said = summary(account, counted(jobs, "virtual worker"))[:2]
    print_lines(out, [*said, *_against_full(result, table), *guessed(result), *failures(result)])


def print_lines(out: Console, sentences: Iterable[str]) -> None:
    """Print sentences, each on its own line."""
    for line in sentences:
        out.print(plain(line), markup=False, soft_wrap=True)


def print_columns(out: Console, columns: Iterable[tuple[str, str, int, int | None]]) -> None:
    """Print the kind of each column, with missing and distinct values."""
    grid = _grid("column", "kind", "missing", "distinct", left=("column", "kind"))
    for name, kind, missing, distinct in columns:
        _add(grid, name, kind, f"{missing:,}" if missing else "", "" if distinct is None else f"{distinct:,}")
    out.print(grid)


def print_learners(out: Console, learners: Iterable[tuple[str, str]]) -> None:
    """Print names and descriptions."""
    grid = _grid("learner", "description", left=("learner", "description"))
    for name, description in learners:
        _add(grid, name, description)
    out.print(grid)


def print_standings(out: Console, account: Account) -> None:
    """Print where each learner stands."""
    ranked = lines(account)
    grid = _grid("learner", "size", "train", "valid", "bound", "total s", "standing", left=("learner", "standing"))
    for line in ranked[:MOST_SHOWN]:
        why = f": {line.why}" if line.standing == "failed" else ""
        numbers = (f"{line.size:,}", *_numbers(line), f"{line.seconds:,.2f}")
        _add(grid, line.learner, *numbers, f"{line.standing}{why}")
    out.print(grid)
    if len(ranked) > MOST_SHOWN:
        out.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    out.print()


def print_comparison(out: Console, results: Mapping[str, Result], *, wall: bool = True) -> None:
    """Print the columns of the paper's Table 1 for each strategy, and what each selected.

    The loss is against training everything, where that was done. The wall time is left out where strategies shared
    measurements.
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
    grid.add_row(*(Text(plain(cell)) for cell in cells))  # as text: a name must not be parsed as markup


def _numbers(line: Line) -> list[str]:
    return ["" if number is None else f"{number:.4f}" for number in (line.train, line.valid, line.bound)]


def _against_full(result: Result, table: Table) -> list[str]:
    """Compare with training everything, where the table holds the outcomes of that."""
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
    """A run in progress, on stderr: a live table on a terminal, elsewhere a plain line for each outcome.

    `place` says where the run goes on.
    """

    def __init__(self, place: str, *, quiet: bool = False) -> None:
        self._place, self._quiet = place, quiet
        self._out = console(stderr=True)
        self._began = time.monotonic()
        self._drawn: Group | None = None
        self._paused = False
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

    def take(self, event: Event, account: Account) -> None:
        """Show what has happened."""
        began = time.monotonic()
        self._paused = account.paused
        if self._live and (self._cost < CHEAP or began - self._drawn_at >= 20 * self._cost):
            self._drawn = self._table(account)  # here and not in the drawing thread: the account may change meanwhile
            self._drawn_at = time.monotonic()
            self._cost = self._drawn_at - began
        elif not self._live and not self._quiet and isinstance(event, Evaluated | Steered):
            self._out.print(plain(event_line(event)), markup=False, soft_wrap=True)

    def _frame(self) -> Group:
        elapsed = time.monotonic() - self._began
        return Group(
            Text(f"pydaub: {elapsed:,.0f} s on {self._place}{', paused' * self._paused}"),
            self._drawn or Text("starting"),
        )

    def _table(self, account: Account) -> Group:
        result, full_size = account.result, account.full_size
        largest = max((step.allocation.size for step in result.steps), default=0)
        filled = round(30 * largest / full_size)
        everything = account.full_seconds()
        saved = "" if everything is None else f"; training everything: about {everything:,.0f} s"
        head = Text(
            f"{'█' * filled}{'░' * (30 - filled)} {largest:,} of {full_size:,} rows\n"
            f"{counted(len(result.steps), 'allocation')}, {counted(len(account.learners), 'learner')},"
            f" {result.rows:,} rows, {result.seconds:,.1f} s of training{saved}"
        )
        name = account.scores.name
        grid = _grid("learner", "size", "train", name, "bound", "standing", left=("learner", "standing"))
        for line in by_priority(lines(account))[:LEADERS]:
            _add(grid, line.learner, f"{line.size:,}", *_numbers(line), line.standing)
        training = ", ".join(f"{each.learner} {each.size:,}" for each in account.training)
        told = Text(plain(f"training: {training}" if training else ""), overflow="ellipsis", no_wrap=True)
        return Group(head, grid, told)
