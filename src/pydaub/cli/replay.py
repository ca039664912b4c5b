"""`pydaub replay` and `pydaub recorded`: learning curves that were measured before."""

from __future__ import annotations

import inspect
import json
from contextlib import nullcontext
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pydaub.algorithm.bounds import NonIncreasing, SlopeBound
from pydaub.algorithm.schedule import PAPER_RATIO, PAPER_SIZES, Schedule
from pydaub.algorithm.strategies import STRATEGIES, Strategy
from pydaub.cli.app import StrategyName, app, complain
from pydaub.cli.output import as_json as result_as_json
from pydaub.cli.running import Delta  # noqa: TC001  # typer reads the annotations
from pydaub.engines import Table, TableEngine
from pydaub.errors import AllLearnersFailed, InputError
from pydaub.records import parsed
from pydaub.runs.journal import Journal
from pydaub.runs.loop import run
from pydaub.views.summary import counted
from pydaub.views.terminal import console, print_comparison, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

Recorded = StrEnum("Recorded", ["parity", "higgs"])
DEFAULT_RECORDED: Final = Recorded("parity")
PAPERS: Final = StrategyName("daub")


@app.command()
def replay(  # noqa: PLR0913  # a command line may have many options
    table: Annotated[Path, typer.Argument(help="CSV: learner,size,train_score,valid_score,seconds[,failure].")],
    *,
    strategy: Annotated[StrategyName, typer.Option(help="Who gets data next.")] = PAPERS,
    first_size: Annotated[
        int | None,
        typer.Option(help="A geometric schedule from this size on.  [with --ratio alone: the table's smallest]"),
    ] = None,
    ratio: Annotated[
        str | None, typer.Option(help="A geometric schedule with this ratio.  [with --first-size alone: 1.5]")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Sizes, as in 500,1000,1500, or 'paper'.  [without any of the three: the table's own]"),
    ] = None,
    full_size: Annotated[int | None, typer.Option(help="All rows.  [default: the table's largest size]")] = None,
    no_train_bound: Annotated[
        bool, typer.Option("--no-train-bound", help="Do not cap bounds by the training score.")
    ] = False,
    non_increasing_bound: Annotated[
        bool, typer.Option("--non-increasing-bound", help="Never let a learner's bound rise.")
    ] = False,
    delta: Delta = None,
    jobs: Annotated[int, typer.Option(help="How many virtual workers.")] = 1,
    journal: Annotated[
        Path | None, typer.Option(help="Record the run here, or go on with the one that is here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a strategy on recorded learning curves."""
    _check_jobs(jobs)
    curves = Table.read(table)
    schedule = _schedule(curves, first_size, ratio, sizes, full_size)
    options = _bound(strategy, train_cap=not no_train_bound, non_increasing=non_increasing_bound)
    if delta is not None:
        if strategy != "frugal":
            raise InputError(f"`--delta` must go with the strategy frugal, got {strategy}.")
        options["delta"] = delta
    chosen: Strategy = STRATEGIES[strategy](curves.learners, schedule, **options)
    settings = {**chosen.settings, "table": curves.fingerprint} if journal else {}
    try:
        with Journal(journal, settings) if journal else nullcontext() as opened:
            result = run(chosen, TableEngine(curves, jobs), opened)
    except AllLearnersFailed as error:
        if as_json:
            typer.echo(json.dumps(result_as_json(chosen, error.result)))
        raise
    except KeyboardInterrupt:
        if journal:
            complain(f"Interrupted. The same command goes on with {journal}.")
        raise
    if as_json:
        typer.echo(json.dumps(result_as_json(chosen, result)))
    else:
        print_result(console(), result, curves, jobs)


@app.command()
def recorded(
    name: Annotated[Recorded, typer.Argument(help="Which recorded curves.")] = DEFAULT_RECORDED,
    *,
    jobs: Annotated[int, typer.Option(help="How many virtual workers.")] = 2,
) -> None:
    """Compare the strategies on curves that ship with pydaub."""
    _check_jobs(jobs)
    with as_file(files("pydaub") / "recorded" / f"{name}.csv") as path:
        curves = Table.read(path)
    schedule = Schedule(curves.sizes)
    out = console()
    out.print(
        f"{len(curves.learners)} scikit-learn learners on {name} with {schedule.full_size:,} rows."
        f" Their learning curves were recorded; nothing is trained now. DAUB on {counted(jobs, 'virtual worker')}:\n"
    )
    results = {
        other: run(kind(curves.learners, schedule), TableEngine(curves, jobs)) for other, kind in STRATEGIES.items()
    }
    print_result(out, results["daub"], curves, jobs)
    out.print("\nThe same learners with every strategy (the columns of the paper's Table 1, and more):")
    print_comparison(out, results)


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise InputError(f"`--jobs` must be at least 1, got {jobs}.")


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
        return tuple(parsed(int, size) for size in text.split(","))
    except ValueError:
        raise InputError(f"`--sizes` must be whole numbers with commas between, or 'paper', got {text!r}.") from None


def _listing(sizes: Sequence[int], most: int = 20) -> str:
    return ", ".join(map(str, sizes[:most])) + (f" and {len(sizes) - most} more" if len(sizes) > most else "")


def _bound(strategy: str, *, train_cap: bool, non_increasing: bool) -> dict[str, Any]:
    """Return the strategy's argument `bound`, where it has one."""
    bounded = [name for name, kind in STRATEGIES.items() if "bound" in inspect.signature(kind).parameters]
    if strategy in bounded:
        bound = SlopeBound(train_cap=train_cap)
        return {"bound": NonIncreasing(bound) if non_increasing else bound}
    if not train_cap or non_increasing:
        option = "--non-increasing-bound" if train_cap else "--no-train-bound"
        known = ", ".join(bounded)
        raise InputError(f"`{option}` must go with a strategy that has bounds ({known}), got {strategy}.")
    return {}
