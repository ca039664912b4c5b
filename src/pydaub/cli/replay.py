"""`pydaub replay` and `pydaub recorded`: learning curves that were measured before."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pydaub.algorithm.schedule import PAPER_RATIO, Schedule, check_one_way, parsed_sizes
from pydaub.algorithm.strategies import STRATEGIES, make_strategy
from pydaub.algorithm.strategies.sizes import few
from pydaub.cli.app import app, complain
from pydaub.cli.options import (
    FirstSize,
    Json,
    Ratio,
    RegretDelta,
    Sizes,
    Strategy,
    StrategyName,
    check_jobs,
    figure,
    grouped,
    output,
)
from pydaub.cli.output import as_json as result_as_json
from pydaub.cli.output import plain_regret
from pydaub.engines import Table, TableEngine
from pydaub.engines.recorded import read_tables
from pydaub.errors import AllLearnersFailed, InputError
from pydaub.records import Measurement, Scores, from_one
from pydaub.runs.journal import Journal
from pydaub.runs.loop import Loop
from pydaub.runs.regret import DELTA, check_delta, meaning, regret
from pydaub.views.summary import counted
from pydaub.views.terminal import console, print_comparison, print_lines, print_run, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydaub.algorithm.strategies import Strategy as StrategyType
    from pydaub.runs.result import Result
    from pydaub.views.summary import Cell

RECORDED: Final = {
    "parity": "25 scikit-learn learners",
    "higgs": "25 scikit-learn learners",
    "llm": "30 pre-trained language models, fine-tuned (a virtual second is a billion parameters times rows),",
}
Recorded = StrEnum("Recorded", list(RECORDED))  # type: ignore[misc]  # one member for each file
DEFAULT_RECORDED: Final = Recorded("parity")
PAPERS: Final = StrategyName("daub")


@app.command()
@grouped()
def replay(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV with learner,size,train_score,valid_score,seconds[,failure] or in the form of LCDB, or a folder"
            " of such files."
        ),
    ],
    *,
    strategy: Strategy = PAPERS,
    parameters: dict[str, Any],
    first_size: FirstSize = None,
    ratio: Ratio = None,
    sizes: Sizes = None,
    full_size: Annotated[int | None, typer.Option(help="All rows.  [default: the table's largest size]")] = None,
    validation_rows: Annotated[
        int | None, figure(int, words="Rows that each score, an accuracy, was measured on, if the table does not say.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of virtual workers.")] = 1,
    regret_delta: RegretDelta = DELTA,
    journal: Annotated[Path | None, output("Record the run in this file, or continue the run that is in it.")] = None,
    as_json: Json = False,
) -> None:
    """Run a strategy on recorded learning curves.

    Without sizes of your own, those of the table are used. Of several data sets, each is replayed.
    """
    check_jobs(jobs)
    check_delta(regret_delta)
    tables = read_tables(table)

    def chosen_for(curves: Table) -> StrategyType:
        schedule = _schedule(curves, first_size, ratio, sizes, full_size)
        about, given = curves.about, _with_costs(parameters, curves)
        scores = _scores(about.scores, validation_rows, alone=len(tables) == 1)
        promises = _promises(schedule, curves) if STRATEGIES[str(strategy)].weighs_costs else None
        make = partial(
            make_strategy,
            str(strategy),
            curves.learners,
            schedule,
            scores=scores,
            families=about.families or None,
            promises=promises,
        )
        return _suited(make, given, curves)

    if len(tables) > 1:
        if journal:
            raise InputError(f"`--journal` must go with the curves of one data set, got {len(tables)} in {table}.")
        _replay_each(tables, chosen_for, jobs, regret_delta, as_json=as_json)
        return
    curves = next(iter(tables.values()))
    chosen = chosen_for(curves)
    settings = {**chosen.settings, "table": curves.fingerprint} if journal else {}
    try:
        with Journal(journal, settings) if journal else nullcontext() as opened:
            account = Loop(chosen, TableEngine(curves, jobs), opened).run()
    except AllLearnersFailed as error:
        if as_json:
            typer.echo(json.dumps({**result_as_json(chosen, error.result), "regret": None}))
        raise
    except KeyboardInterrupt:
        if journal:
            complain(f"Interrupted. The same command continues with {journal}.")
        raise
    if as_json:
        typer.echo(json.dumps(_as_json(chosen, account.result, curves, regret_delta)))
    else:
        print_run(console(), account, place=counted(jobs, "virtual worker"), table=curves, regret_delta=regret_delta)


def _scores(known: Scores | None, rows: int | None, *, alone: bool) -> Scores | None:
    """Return what the scores of a table are, with the number of validation rows that the user states.

    Of several tables, some may have their own; if there is one `alone`, it is a mistake.
    """
    if rows is None or (known is not None and known.rows is not None and not alone):
        return known
    if known is not None and known.rows is not None:
        raise InputError(f"`--validation-rows` must be left out: the table has its own, {known.rows:,}.")
    rows = from_one(rows, "--validation-rows")
    return Scores("accuracy", rows) if known is None else replace(known, rows=rows)


def _suited(make: Callable[..., StrategyType], parameters: dict[str, Any], curves: Table) -> StrategyType:
    """Return the strategy; where training scores were not recorded, bounds are not capped by them."""
    made = make(parameters=parameters)
    if curves.train_scores or not made.settings.get("train_bound"):
        return made
    complain(f"{curves.name} has no training scores: bounds are not capped by them (--no-train-bound).")
    return make(parameters={**parameters, "train_bound": False})


def _with_costs(parameters: dict[str, Any], curves: Table) -> dict[str, Any]:
    if parameters.get("costs") != "declared":
        return parameters
    from pydaub.learners.costs import with_costs  # imports scikit-learn

    return with_costs(parameters, dict.fromkeys(curves.learners), *_shape(curves))  # only their names are known


def _promises(schedule: Schedule, curves: Table) -> dict[str, float]:
    from pydaub.learners.costs import promises_of  # imports scikit-learn

    return promises_of(dict.fromkeys(curves.learners), few(schedule.sizes)[0], *_shape(curves))


def _shape(curves: Table) -> tuple[int, int]:
    from pydaub.learners.costs import CLASSES, COLUMNS  # imports scikit-learn

    columns, classes = curves.about.columns or COLUMNS, curves.about.classes
    return columns, CLASSES if classes is None else max(classes, 1)


def _replay_each(
    tables: Mapping[str, Table],
    chosen_for: Callable[[Table], StrategyType],
    jobs: int,
    regret_delta: float,
    *,
    as_json: bool,
) -> None:
    """Replay the curves of several data sets, as far as they have the sizes that are asked for."""
    found: dict[str, tuple[StrategyType, Result]] = {}
    failed: dict[str, str] = {}
    for name, curves in tables.items():
        try:
            chosen = chosen_for(curves)
            found[name] = chosen, Loop(chosen, TableEngine(curves, jobs)).run().result
        except (InputError, AllLearnersFailed) as error:
            failed[name] = str(error)
    if not found:
        raise InputError(f"None of the {len(tables)} data sets could be replayed. {next(iter(failed.values()))}")
    if as_json:
        results = {name: _as_json(*each, tables[name], regret_delta) for name, each in found.items()}
        typer.echo(json.dumps({"replayed": results, "not_replayed": failed}))
        return
    out = console()
    columns = (
        "curves",
        "learners",
        "rows",
        "seconds",
        "everything",
        "selected",
        "score",
        "loss",
        "regret",
    )
    rows = [
        (name, len(tables[name].learners), *_line(result, tables[name], regret_delta))
        for name, (_, result) in found.items()
    ]
    print_table(out, columns, rows)
    print_lines(out, [meaning(regret_delta)])
    print_lines(out, [f"Not replayed: {name}: {reason}" for name, reason in failed.items()])


def _as_json(strategy: StrategyType, result: Result, table: Table, regret_delta: float) -> dict[str, Any]:
    wasted = regret(result, table.at(result.full_size), regret_delta)
    return {**result_as_json(strategy, result), "regret": plain_regret(wasted)}


def _line(result: Result, table: Table, regret_delta: float) -> tuple[Cell, ...]:
    """Return what a replay came to, and what training everything takes and brings, where that was recorded."""
    everything = [outcome for outcome in table.at(result.full_size).values() if outcome]
    complete = len(everything) == len(table.learners)
    seconds = f"{sum(outcome.seconds for outcome in everything):,.1f}" if complete else None
    best = max((outcome.valid_score for outcome in everything if isinstance(outcome, Measurement)), default=None)
    loss = best - (result.valid_score or 0.0) if complete and best is not None else None
    wasted = regret(result, table.at(result.full_size), regret_delta)
    share = None if wasted is None else f"{100 * wasted.share:.0f} %"
    return result.rows, f"{result.seconds:,.1f}", seconds, result.selected, result.valid_score, loss, share


@app.command()
def recorded(
    name: Annotated[Recorded, typer.Argument(help="Which recorded curves.")] = DEFAULT_RECORDED,
    *,
    jobs: Annotated[int, typer.Option(help="Number of virtual workers.")] = 2,
) -> None:
    """Compare the strategies on curves that ship with pydaub."""
    check_jobs(jobs)
    with as_file(files("pydaub") / "recorded" / f"{name}.csv") as path:
        curves = Table.read(path)
    schedule = Schedule(curves.sizes)
    out, workers = console(), counted(jobs, "virtual worker")
    out.print(
        f"{RECORDED[name]} on {name} with {schedule.full_size:,} rows."
        f" Their learning curves were recorded; nothing is trained now. DAUB on {workers}:\n"
    )
    accounts = {
        other: Loop(_recorded(other, curves, schedule), TableEngine(curves, jobs)).run() for other in STRATEGIES
    }
    print_run(out, accounts["daub"], place=workers, table=curves)
    out.print("\nThe same learners with every strategy (the columns of the paper's Table 1, and more):")
    print_comparison(out, {other: account.result for other, account in accounts.items()})


def _recorded(name: str, curves: Table, schedule: Schedule) -> StrategyType:
    """Return a strategy for curves that ship with pydaub; where they have no training scores, none caps a bound."""
    uncapped = STRATEGIES[name].needs_train_scores and not curves.train_scores
    given = {"train_bound": False} if uncapped else {}
    return make_strategy(name, curves.learners, schedule, given, curves.about.scores)


def _schedule(
    table: Table, first_size: int | None, ratio: str | None, sizes: str | None, full_size: int | None
) -> Schedule:
    check_one_way(first_size, ratio, sizes)
    full_size = table.sizes[-1] if full_size is None else full_size
    if full_size not in table.sizes:
        raise InputError(
            f"`--full-size` must be a size in {table.name}, got {full_size}. It has {_listing(table.sizes)}."
        )
    if first_size is not None or ratio is not None:
        first_size = table.sizes[0] if first_size is None else first_size
        return Schedule.geometric(full_size, first_size, PAPER_RATIO if ratio is None else ratio)
    return Schedule.listed(full_size, table.sizes if sizes is None else parsed_sizes(sizes))


def _listing(sizes: Sequence[int], most: int = 20) -> str:
    return ", ".join(map(str, sizes[:most])) + (f" and {len(sizes) - most} more" if len(sizes) > most else "")
