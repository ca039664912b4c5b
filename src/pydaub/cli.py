"""The command line: `pydaub replay`, `pydaub demo`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import sys
from contextlib import nullcontext
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from pydaub import __version__
from pydaub.bounds import NonIncreasing, SlopeBound, UpperBound
from pydaub.engines import Table, TableEngine
from pydaub.errors import AllLearnersFailed, InputError, PydaubError, grouped
from pydaub.journal import Journal
from pydaub.records import Allocation, Failure, Measurement
from pydaub.run import Result, Step, run
from pydaub.schedule import PAPER_RATIO, PAPER_SIZES, Schedule
from pydaub.strategies import STRATEGIES, Daub, Elimination, Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    help="Find the learner that will be best on all your data, without training all of them on all of it.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

BOUNDED: Final = (Daub, Elimination)  # the strategies that take a bound
MOST_SHOWN: Final = 40  # learners in the table for people; --json has all
EXIT_FAILED: Final = 1
EXIT_BAD_INPUT: Final = 2

StrategyName = StrEnum("StrategyName", list(STRATEGIES))  # type: ignore[misc]  # one name for one thing: STRATEGIES
Recorded = StrEnum("Recorded", ["parity", "higgs"])
DEFAULT_STRATEGY: Final = StrategyName("daub")
DEFAULT_RECORDED: Final = Recorded("parity")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; bad input ends with exit code 2 and one line, a run without a winner with 1."""
    try:
        app(args=arguments)
    except PydaubError as error:
        print(f"pydaub: {error}", file=sys.stderr)  # noqa: T201  # this is what a command line is for
        sys.exit(EXIT_FAILED if isinstance(error, AllLearnersFailed) else EXIT_BAD_INPUT)


def _print_version(asked: bool) -> None:  # noqa: FBT001  # typer's callback
    if asked:
        typer.echo(f"pydaub {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


@app.command()
def replay(  # noqa: PLR0913  # a command line may have many options
    table: Annotated[Path, typer.Argument(help="CSV: learner,size,train_score,valid_score,seconds[,failure].")],
    *,
    strategy: Annotated[StrategyName, typer.Option(help="Who gets data next.")] = DEFAULT_STRATEGY,
    first_size: Annotated[
        int | None, typer.Option(help="First size of a geometric schedule.  [default: the table's smallest]")
    ] = None,
    ratio: Annotated[str | None, typer.Option(help="Ratio of a geometric schedule.  [default: 1.5]")] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Sizes, as in 500,1000,1500, or 'paper'.  [default: those of the table]"),
    ] = None,
    full_size: Annotated[int | None, typer.Option(help="All rows.  [default: the table's largest size]")] = None,
    no_train_bound: Annotated[
        bool, typer.Option("--no-train-bound", help="Do not cap bounds by the training score.")
    ] = False,
    non_increasing_bound: Annotated[
        bool, typer.Option("--non-increasing-bound", help="Never let a learner's bound rise.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="How many virtual workers.")] = 1,
    journal: Annotated[
        Path | None, typer.Option(help="Record the run here, or go on with the one that is here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a strategy on recorded learning curves instead of training."""
    if jobs < 1:
        raise InputError(f"`--jobs` must be at least 1, got {jobs}.")
    recorded = Table.read(table)
    schedule = _schedule(recorded, first_size, ratio, sizes, full_size)
    bound = _bound(strategy, train_cap=not no_train_bound, non_increasing=non_increasing_bound)
    chosen = _strategy(strategy, recorded, schedule, bound)
    settings = {**chosen.settings, "table": recorded.fingerprint} if journal else {}
    with Journal(journal, settings) if journal else nullcontext() as opened:
        try:
            result = run(chosen, TableEngine(recorded, jobs), opened)
        except AllLearnersFailed as error:
            if as_json:
                typer.echo(json.dumps(_as_json(error.result)))
            raise
    if as_json:
        typer.echo(json.dumps(_as_json(result)))
    else:
        _print_result(_console(), result, recorded, jobs)


@app.command()
def demo(
    name: Annotated[Recorded, typer.Argument(help="Which recorded curves.")] = DEFAULT_RECORDED,
    *,
    jobs: Annotated[int, typer.Option(help="How many virtual workers.")] = 2,
) -> None:
    """Replay learning curves that ship with pydaub, and compare the strategies on them."""
    with as_file(files("pydaub") / "recorded" / f"{name}.csv") as path:
        recorded = Table.read(path)
    console = _console()
    schedule = Schedule.listed(recorded.sizes[-1], recorded.sizes)
    console.print(
        f"{len(recorded.learners)} scikit-learn learners on {name}, {schedule.full_size:,} rows,"
        f" replayed from recorded curves on {jobs} virtual workers.\n"
    )
    results = {
        other: run(kind(recorded.learners, schedule), TableEngine(recorded, jobs)) for other, kind in STRATEGIES.items()
    }
    _print_result(console, results["daub"], recorded, jobs)
    best = results["full"].valid_score or math.nan
    grid = _grid(
        "strategy", "allocations", "rows", "seconds", "wall", "selected", "loss", left=("strategy", "selected")
    )
    for other, result in results.items():
        loss = best - (result.valid_score or math.nan)
        figures = (f"{len(result.steps):,}", f"{result.rows:,}", f"{result.seconds:.1f}", f"{result.wall_seconds:.1f}")
        grid.add_row(other, *figures, result.selected, f"{loss:.4f}")
    console.print("\nThe same learners with every strategy (the columns of the paper's Table 1, and more):", grid)


def _schedule(
    table: Table, first_size: int | None, ratio: str | None, sizes: str | None, full_size: int | None
) -> Schedule:
    geometric = first_size is not None or ratio is not None
    if sizes is not None and geometric:
        raise InputError("`--sizes` must be given without `--first-size` and `--ratio`. Choose one of the two ways.")
    full_size = table.sizes[-1] if full_size is None else full_size
    if full_size not in table.sizes:
        raise InputError(
            f"`--full-size` must be a size in {table.name}, got {full_size}. It has {_listing(table.sizes)}."
        )
    if geometric:
        first_size = table.sizes[0] if first_size is None else first_size
        return Schedule.geometric(full_size, first_size, PAPER_RATIO if ratio is None else ratio)
    return Schedule.listed(full_size, table.sizes if sizes is None else _parsed_sizes(sizes))


def _parsed_sizes(text: str) -> tuple[int, ...]:
    if text == "paper":
        return PAPER_SIZES
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InputError(f"`--sizes` must be whole numbers with commas between, or 'paper', got {text!r}.") from None


def _listing(sizes: Sequence[int], most: int = 20) -> str:
    return ", ".join(map(str, sizes[:most])) + (f" and {len(sizes) - most} more" if len(sizes) > most else "")


def _bound(strategy: str, *, train_cap: bool, non_increasing: bool) -> UpperBound | None:
    """Return the bound to use, or None for strategies that have none."""
    if issubclass(STRATEGIES[strategy], BOUNDED):
        bound = SlopeBound(train_cap=train_cap)
        return NonIncreasing(bound) if non_increasing else bound
    if not train_cap or non_increasing:
        option = "--non-increasing-bound" if train_cap else "--no-train-bound"
        raise InputError(f"`{option}` must go with a strategy that has bounds (daub, elimination), got {strategy}.")
    return None


def _strategy(name: str, table: Table, schedule: Schedule, bound: UpperBound | None) -> Strategy:
    if bound is not None and issubclass(kind := STRATEGIES[name], BOUNDED):
        return kind(table.learners, schedule, bound)
    return STRATEGIES[name](table.learners, schedule)


def _as_json(result: Result) -> dict[str, Any]:
    return {
        "selected": result.selected,
        "full_size": result.full_size,
        "allocations": [_step_as_json(step) for step in result.steps],
        "rows": result.rows,
        "seconds": result.seconds,
        "wall_seconds": result.wall_seconds,
        "speculated": {
            "count": len(result.speculated),
            "seconds": sum(outcome.seconds for outcome in result.speculated.values()),
        },
        "abandoned": result.abandoned,
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


def _step_as_json(step: Step) -> dict[str, Any]:
    measured = step.outcome if isinstance(step.outcome, Measurement) else None
    return {
        "learner": step.allocation.learner,
        "size": step.allocation.size,
        "train_score": measured and measured.train_score,
        "valid_score": measured and measured.valid_score,
        "seconds": step.outcome.seconds,
        "bound": step.bound,
    }


def _console() -> Console:
    """Return where tables go: as wide as the terminal, or wide enough where there is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def _grid(*columns: str, left: Sequence[str]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        grid.add_column(column, justify="left" if column in left else "right", no_wrap=column not in left)
    return grid


def _print_result(console: Console, result: Result, table: Table, jobs: int) -> None:
    last: dict[str, Step] = {}
    spent: dict[str, float] = {}
    for step in result.steps:
        last[step.allocation.learner] = step
        spent[step.allocation.learner] = spent.get(step.allocation.learner, 0.0) + step.outcome.seconds
    ranked = sorted(last.values(), key=lambda step: _rank(step, result.selected))
    grid = _grid("learner", "size", "train", "valid", "bound", "seconds", "", left=("learner", ""))
    for step in ranked[:MOST_SHOWN]:
        learner = step.allocation.learner
        status = "selected" if learner == result.selected else ""
        if isinstance(step.outcome, Failure):
            status = f"failed: {step.outcome.kind} ({step.outcome.message})"
        scores = [step.outcome.train_score, step.outcome.valid_score] if isinstance(step.outcome, Measurement) else []
        numbers = [f"{score:.4f}" for score in scores] or ["", ""]
        bound = "" if step.bound is None else f"{step.bound:.4f}"
        grid.add_row(
            escape(learner), f"{step.allocation.size:,}", *numbers, bound, f"{spent[learner]:.2f}", escape(status)
        )
    console.print(grid)
    if len(ranked) > MOST_SHOWN:
        console.print(f"... and {len(ranked) - MOST_SHOWN:,} more; --json has them all.")
    console.print()
    for line in _summary(result, table, jobs):
        console.print(line, markup=False, soft_wrap=True)


def _rank(step: Step, selected: str | None) -> tuple[bool, int, float]:
    """Return the order for people: by size first, so that scores of different sizes are not ranked together."""
    score = step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf
    return (step.allocation.learner != selected, -step.allocation.size, -score)


def _summary(result: Result, table: Table, jobs: int) -> list[str]:
    workers = "1 worker" if jobs == 1 else f"{jobs} workers"
    spent = f"{len(result.steps):,} allocations, {result.rows:,} rows, {result.seconds:.1f} s of training"
    lines = [
        f"Selected {result.selected}: validation score {result.valid_score:.4f} on all {result.full_size:,} rows.",
        f"{spent}, {result.wall_seconds:.1f} s on {workers}.",
        *_against_full(result, table),
    ]
    if result.speculated or result.abandoned:
        vain = sum(outcome.seconds for outcome in result.speculated.values())
        lines.append(
            f"Guessed ahead and never asked for: {len(result.speculated):,} outcomes ({vain:.1f} s),"
            f" and {result.abandoned:,} unfinished at the end."
        )
    return [*lines, *(f"Failed: {way}" for way in grouped(result.failures))]


def _against_full(result: Result, table: Table) -> list[str]:
    """Compare with training everything, where the table knows what that gives."""
    everything = [table.outcomes.get(Allocation(learner, result.full_size)) for learner in table.learners]
    known = [outcome for outcome in everything if outcome is not None]
    if len(known) < len(everything):
        return []
    rows, seconds = result.full_size * len(known), sum(outcome.seconds for outcome in known)
    best = max(outcome.valid_score for outcome in known if isinstance(outcome, Measurement))
    speedup = f" ({seconds / result.seconds:.1f} times as long)" if result.seconds else ""
    line = f"Training all {len(known):,} learners on all rows: {rows:,} rows, {seconds:.1f} s{speedup};"
    return [f"{line} the best of them scores {best:.4f}, {best - (result.valid_score or math.nan):.4f} more."]
