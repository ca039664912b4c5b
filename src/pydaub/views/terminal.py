"""A run on the terminal: tables, sentences, and the live display. The only module that imports rich."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from pydaub.records import Evaluated, Steered
from pydaub.runs.certificate import certificate_of
from pydaub.views.standings import by_priority, lines
from pydaub.views.summary import counted, event_line, failures, guessed, plain, shown, summary
from pydaub.views.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydaub.engines import Table
    from pydaub.records import Event
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result
    from pydaub.views.summary import Cell

TEXT: Final = {"column", "kind", "learner", "description", "standing", "strategy", "selected"}  # columns of text
MOST_SHOWN: Final = 40  # learners in a table
WIDE: Final = 160  # columns where there is no terminal
PER_SECOND: Final = 4  # frames
CHEAP: Final = 0.01  # seconds; a table of thousands of learners takes longer and is drawn less often
LEADERS: Final = 10  # learners in the live display


def console(*, stderr: bool = False) -> Console:
    """Return the console: as wide as the terminal, or wide enough where there is none."""
    width = WIDE if not Console(stderr=stderr).is_terminal and "COLUMNS" not in os.environ else None
    return Console(emoji=False, highlight=False, width=width, stderr=stderr)


def print_run(out: Console, account: Account, *, place: str | None = None, table: Table | None = None) -> None:
    """Print the verdict, where each learner stands, what the run came to, and what may be claimed.

    A run on recorded curves is compared with their `table`, and nothing is claimed.
    """
    if table is None:
        print_lines(out, [verdict(account).line, ""])
    print_standings(out, account)
    result, claim = account.result, None if table else certificate_of(account)
    said = [*summary(account, place, table), *guessed(result)]
    print_lines(out, [*said, *(["", " ".join(claim.sentences)] if claim else []), *failures(result)])


def print_lines(out: Console, sentences: Iterable[str]) -> None:
    """Print sentences, each on its own line."""
    for line in sentences:
        out.print(plain(line), markup=False, soft_wrap=True)


def print_table(out: Console, columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> None:
    """Print a table; columns that are not in `TEXT` hold numbers."""
    out.print(_grid(columns, rows))


def print_standings(out: Console, account: Account) -> None:
    """Print where each learner stands."""
    ranked = lines(account)
    rows = []
    for line in ranked[:MOST_SHOWN]:
        why = f": {line.why}" if line.standing == "failed" else ""
        scores = (line.train, line.valid, line.bound)
        rows.append((line.learner, line.size, *scores, f"{line.seconds:,.2f}", f"{line.standing}{why}"))
    print_table(out, *_with_scores(("learner", "size", "train", "valid", "bound", "total s", "standing"), rows))
    if len(ranked) > MOST_SHOWN:
        out.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    out.print()


def _with_scores(
    columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]
) -> tuple[Sequence[str], list[tuple[Cell, ...]]]:
    """Leave the column of training scores out where nobody has one."""
    place = columns.index("train")
    if any(row[place] is not None for row in rows):
        return columns, list(rows)
    return (*columns[:place], *columns[place + 1 :]), [row[:place] + row[place + 1 :] for row in rows]


def print_comparison(out: Console, results: Mapping[str, Result], *, wall: bool = True) -> None:
    """Print the columns of the paper's Table 1 for each strategy, and what each selected.

    The loss is against training everything, where that was done. The wall time is left out where strategies shared
    measurements.
    """
    best = results["full"].valid_score if "full" in results else None
    rows = []
    for name, result in results.items():
        times = [f"{result.seconds:,.1f}", *([f"{result.wall_seconds:,.1f}"] if wall else [])]
        loss = None if best is None or result.valid_score is None else best - result.valid_score
        rows.append((name, len(result.steps), result.rows, *times, result.selected, result.valid_score, loss))
    times = ["seconds", *(["wall"] if wall else [])]
    print_table(out, ("strategy", "allocations", "rows", *times, "selected", "score", "loss"), rows)


def _grid(columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        if column in TEXT:
            grid.add_column(column, overflow="fold", min_width=8)
        else:
            grid.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(plain(shown(cell))) for cell in row))  # as text: a name must not be parsed as markup
    return grid


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
        self._told: list[str] = []
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

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
            self._live = None
            print_lines(self._out, self._told)  # they went with the table

    def tell(self, line: str) -> None:
        """Keep a line in view: below the live table, and after it."""
        if self._live:
            self._told.append(line)
        else:
            print_lines(self._out, [line])

    def take(self, event: Event, account: Account) -> None:
        """Show what has happened."""
        began = time.monotonic()
        self._paused = account.paused
        if self._live and (self._cost < CHEAP or began - self._drawn_at >= 20 * self._cost):
            self._drawn = self._table(account)  # here and not in the drawing thread: the account may change meanwhile
            self._drawn_at = time.monotonic()
            self._cost = self._drawn_at - began
        elif not self._live and not self._quiet and isinstance(event, Evaluated | Steered):
            print_lines(self._out, [event_line(event)])

    def _frame(self) -> Group:
        elapsed = time.monotonic() - self._began
        return Group(
            Text(f"pydaub: {elapsed:,.0f} s on {self._place}{', paused' * self._paused}"),
            self._drawn or Text("starting"),
            *(Text(plain(line), overflow="fold") for line in self._told),
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
        leaders = by_priority(lines(account))[:LEADERS]
        rows = [(line.learner, line.size, line.train, line.valid, line.bound, line.standing) for line in leaders]
        grid = _grid(*_with_scores(("learner", "size", "train", account.scores.name, "bound", "standing"), rows))
        training = ", ".join(f"{each.learner} {each.size:,}" for each in account.training)
        told = Text(plain(f"training: {training}" if training else ""), overflow="ellipsis", no_wrap=True)
        return Group(head, grid, told)
