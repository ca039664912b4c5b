"""A run on the terminal: tables, sentences, and the live display. The only module that imports rich."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from pydaub.events import Evaluated, Steered
from pydaub.records import REFUSED
from pydaub.runs.certificate import certificate_of
from pydaub.runs.regret import DELTA, meaning, regrets
from pydaub.views.activity import activity
from pydaub.views.standings import lines
from pydaub.views.summary import duration, event_line, failures, guessed, plain, shortened, shown, summary
from pydaub.views.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydaub.engines import Table
    from pydaub.events import Event
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result
    from pydaub.views.standings import Line
    from pydaub.views.summary import Cell
    from pydaub.views.verdict import Verdict

# Columns of text, of runs and of `pydaub doctor` and `clean`.
TEXT: Final = {
    *("column", "kind", "learner", "description", "standing", "strategy", "selected", "curves"),
    *("package", "version", "problem", "extra", "for", "installed", "isolation", "trial", "found"),
    *("run", "state", "what"),
}
MOST_SHOWN: Final = 40  # learners in a table
WIDE: Final = 160  # columns where there is no terminal
PER_SECOND: Final = 4  # frames
CHEAP: Final = 0.05  # seconds; a table of thousands of learners takes longer and is drawn less often
LEADERS: Final = 10  # learners in the live display
FORECASTS: Final = ("likely", "at best")  # 50 % and 95 % quantiles of the score with all rows
MARK: Final = "▶"  # the leader in the live display
BAR: Final = 30  # characters
NARROW: Final = 72  # columns; below that nothing is shortened
SHORTEST_NAME: Final = 12
GAP: Final = 2  # characters between columns
LONGEST_STANDING: Final = 19  # characters that it gets before names are shortened: "leads, has all rows"


def console(*, stderr: bool = False) -> Console:
    """Return the console: as wide as the terminal, or wide enough where there is none."""
    width = WIDE if not on_screen(Console(stderr=stderr)) and "COLUMNS" not in os.environ else None
    return Console(emoji=False, highlight=False, width=width, stderr=stderr)


def on_screen(out: Console) -> bool:
    """Return whether somebody looks at it. FORCE_COLOR only asks for colors, in a pipe or a file too."""
    return out.is_terminal and out.file.isatty()


def print_run(
    out: Console,
    account: Account,
    *,
    place: str | None = None,
    table: Table | None = None,
    regret_delta: float = DELTA,
) -> None:
    """Print the verdict, where each learner stands, what the run came to, and what may be claimed.

    A run on recorded curves is compared with their `table`, and nothing is claimed; its regret is at `regret_delta`.
    """
    if table is None:
        print_sentences(out, [verdict(account).line, ""])
    print_standings(out, account)
    result, claim = account.result, None if table else certificate_of(account)
    said = [*summary(account, place, table, regret_delta), *guessed(result)]
    print_sentences(out, [*said, *(["", " ".join(claim.sentences)] if claim else []), *failures(result)])


def print_lines(out: Console, sentences: Iterable[str]) -> None:
    """Print sentences, each on its own line. The terminal may break them anywhere, so that commands can be copied."""
    for line in sentences:
        out.print(plain(line), markup=False, soft_wrap=True)


def print_sentences(out: Console, sentences: Iterable[str]) -> None:
    """Print sentences, on a terminal broken between words; each begins a line."""
    for line in sentences:
        out.print(plain(line), markup=False, soft_wrap=not on_screen(out))


def print_table(out: Console, columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> None:
    """Print a table; columns that are not in `TEXT` hold numbers."""
    out.print(_grid(columns, rows))


def print_standings(out: Console, account: Account) -> None:
    """Print where each learner stands, the leader first."""
    ranked = lines(account)
    rows = []
    for line in ranked[:MOST_SHOWN]:
        why = f": {line.why}" if line.standing in ("failed", REFUSED) else ""
        scores = (line.train, line.valid, line.likely, line.at_best, line.bound)
        rows.append((line.learner, line.size, *scores, f"{line.seconds:,.2f}", f"{_standing(account, line)}{why}"))
    columns = ("learner", "rows", "train", "valid", *FORECASTS, "bound", "total s", "standing")
    print_table(out, *_fitting(*_with_scores(columns, rows), out.width))
    if len(ranked) > MOST_SHOWN:
        out.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    out.print()


def _standing(account: Account, line: Line) -> str:
    """Return what a learner is doing; of the leader, also that it leads, where its standing does not say so."""
    leader = account.leader
    if leader is None or line.learner != leader.learner or line.standing in ("selected", "best so far"):
        return line.standing
    return f"leads, {line.standing}"


def _fitting(
    columns: Sequence[str], rows: Sequence[tuple[Cell, ...]], width: int
) -> tuple[Sequence[str], list[tuple[Cell, ...]]]:
    """Shorten names and standings so that each learner takes one line; on a narrow terminal they are folded instead."""
    if width < NARROW:
        return columns, list(rows)
    cells = [[plain(shown(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    name, standing = columns.index("learner"), columns.index("standing")
    left = width - GAP * (len(columns) - 1) - sum(widths) + widths[name] + widths[standing]
    most = max(left - min(widths[standing], LONGEST_STANDING), SHORTEST_NAME)
    least = max(left - min(widths[name], most), SHORTEST_NAME)
    for row in cells:
        row[name] = shortened(row[name], most)
        row[standing] = row[standing] if len(row[standing]) <= least else f"{row[standing][: least - 1]}…"
    return columns, [tuple(row) for row in cells]


def _with_scores(
    columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]
) -> tuple[Sequence[str], list[tuple[Cell, ...]]]:
    """Leave out the columns of scores, forecasts and bounds where nobody has one."""
    spare = {"train", *FORECASTS, "bound"}
    kept = [
        place
        for place, title in enumerate(columns)
        if title not in spare or any(row[place] is not None for row in rows)
    ]
    return [columns[place] for place in kept], [tuple(row[place] for place in kept) for row in rows]


def print_comparison(
    out: Console, results: Mapping[str, Result], *, wall: bool = True, regret_delta: float = DELTA
) -> None:
    """Print the columns of the paper's Table 1 for each strategy, and what each selected.

    There are a loss, against training everything, and the share of the time that is regret at `regret_delta`, where
    everything was trained. The wall time is left out where strategies shared measurements. Beside it, and on a narrow
    terminal, there is no regret: the table would be too wide.
    """
    best = results["full"].valid_score if "full" in results else None
    wasted = {} if best is None or wall or out.width < NARROW else regrets(results, regret_delta)
    rows = []
    for name, result in results.items():
        times = [f"{result.seconds:,.1f}", *([f"{result.wall_seconds:,.1f}"] if wall else [])]
        losses: list[Cell] = []
        if best is not None:
            losses.append(None if result.valid_score is None else best - result.valid_score)
        if wasted:
            found = wasted[name]
            losses.append(None if found is None else f"{100 * found.share:.0f} %")
        rows.append((name, len(result.steps), result.rows, *times, result.selected, result.valid_score, *losses))
    times, last = (
        ["seconds", *(["wall"] if wall else [])],
        [*([] if best is None else ["loss"]), *(["regret"] if wasted else [])],
    )
    print_table(out, ("strategy", "allocations", "rows", *times, "selected", "score", *last), rows)
    if wasted:
        print_sentences(out, [meaning(regret_delta)])


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
        self._now = Group()
        self._paused = False
        self._told: list[str] = []
        self._drawn_at = self._cost = 0.0
        live = on_screen(self._out) and not self._out.is_dumb_terminal and not quiet
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
        """Show what has happened.

        It is drawn here and not in the thread that refreshes the screen, because the account may change meanwhile.
        """
        began = time.monotonic()
        self._paused = account.paused
        if self._live:
            self._now = Group(*(Text(plain(words)) for words in _now(account)))
            if self._cost < CHEAP or began - self._drawn_at >= 20 * self._cost:
                self._drawn = live_table(account, self._out.width)
                self._drawn_at = time.monotonic()
                self._cost = self._drawn_at - began
        elif not self._quiet and isinstance(event, Evaluated | Steered):
            print_lines(self._out, [event_line(event)])

    def _frame(self) -> Group:
        elapsed = time.monotonic() - self._began
        return Group(
            Text(f"pydaub: {duration(elapsed)} on {self._place}{', paused' * self._paused}"),
            self._drawn or Text("starting"),
            self._now,
            *(Text(plain(line), overflow="fold") for line in self._told),
        )


def live_table(account: Account, width: int) -> Group:
    """Return the verdict, the progress and the first learners, for a terminal of this width."""
    said, leader = verdict(account), account.leader
    rows = [
        (
            MARK if leader and line.learner == leader.learner else "",
            line.learner,
            line.size,
            line.train,
            line.valid,
            line.likely,
            line.at_best,
            _standing(account, line),
        )
        for line in lines(account)[:LEADERS]
    ]
    score = account.scores.name if len(account.scores.name) <= SHORTEST_NAME else "score"
    columns = ("", "learner", "rows", "train", score, *FORECASTS, "standing")
    grid = _grid(*_fitting(*_with_scores(columns, rows), width))
    more = len(account.learners) - len(rows)
    return Group(Text(said.line), Text(_bar(said)), grid, *([Text(f"... and {more:,} more")] if more else []))


def _bar(said: Verdict) -> str:
    """Return the progress; the verdict says what is left."""
    share = said.fraction or 0.0
    filled = math.floor(BAR * share)
    return f"{'█' * filled}{'░' * (BAR - filled)} {math.floor(100 * share)} %"


def _now(account: Account) -> list[str]:
    """Return what is being trained, and what comes next."""
    doing = activity(account)
    training = ", ".join(f"{each.learner} with {each.size:,} rows" for each in account.training)
    return [line for line in (f"Training: {training}." if training else doing["words"], doing["next"]) if line]
