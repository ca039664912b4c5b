"""`pydaub run`, `resume` and `demo`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pydaub.cli.app import app
from pydaub.cli.options import (
    DEFAULT_STRATEGY,
    Drop,
    Encoding,
    FirstSize,
    Folds,
    Fraction,
    Jobs,
    Json,
    Kind,
    Learners,
    Memory,
    Quiet,
    Ratio,
    Scoring,
    Seed,
    Sizes,
    Strategy,
    Target,
    TaskKind,
    TimeLimit,
    Timeout,
    Validation,
    WekaJar,
    strategy_parameters,
)
from pydaub.cli.units import memory, pairs, seconds
from pydaub.engines.registry import ENGINES
from pydaub.records import VALIDATION_FRACTION

if TYPE_CHECKING:
    from pydaub.cli.session import Options

Engine = Annotated[str, typer.Option(help=f"Engine that runs the evaluations: {', '.join(ENGINES)}.")]
Address = Annotated[
    str | None,
    typer.Option(help="Address of the Ray cluster, such as host:6379; local starts one.  [default: the one here]"),
]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Open the live page.")]


@app.command()
@strategy_parameters
def run(  # noqa: PLR0913  # a command line may have many options
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, Parquet, Feather, ARFF or svmlight file, openml:ID, or a folder made by `pydaub prepare`."
        ),
    ],
    *,
    target: Target = None,
    learners: Learners = "sklearn",
    strategy: Strategy = DEFAULT_STRATEGY,
    parameters: dict[str, Any],
    first_size: FirstSize = None,
    ratio: Ratio = None,
    sizes: Sizes = None,
    scoring: Scoring = None,
    cv: Folds = None,
    validation: Validation = None,
    validation_fraction: Fraction = VALIDATION_FRACTION,
    group: Annotated[str | None, typer.Option(help="A column whose equal values stay in the same part.")] = None,
    time: Annotated[str | None, typer.Option(help="A column to split by: the latest rows validate.")] = None,
    drop: Drop = None,
    kind: Kind = None,
    task: TaskKind = None,
    encoding: Encoding = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    seed: Seed = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the selected learner once more, validation rows included.")
    ] = False,
    no_reuse: Annotated[bool, typer.Option("--no-reuse", help="Train on every sample from scratch.")] = False,
    no_metrics: Annotated[bool, typer.Option("--no-metrics", help="Record only the score.")] = False,
    weka_jar: WekaJar = None,
    engine: Engine = "processes",
    address: Address = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.  [default: pydaub-runs/DATA-DATE-TIME]")] = None,
    dashboard: Dashboard = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the best learner for a file."""
    from pydaub.cli.session import start
    from pydaub.runs.folder import Request

    request = Request(
        data=data,
        target=target,
        learners=learners,
        strategy=str(strategy),
        parameters=parameters,
        first_size=first_size,
        ratio=ratio,
        sizes=sizes,
        scoring=scoring,
        cv=cv,
        validation=validation,
        fraction=validation_fraction,
        group=group,
        time=time,
        drop=tuple(name.strip() for name in drop.split(",")) if drop else (),
        kinds=pairs(kind or []),
        task=None if task is None else str(task),
        encoding=encoding,
        seed=seed,
        refit=refit,
        reuse=not no_reuse,
        metrics=not no_metrics,
        weka_jar=weka_jar,
    )
    how = options(jobs, time_limit, learner_timeout, learner_memory, as_json=as_json, quiet=quiet)
    start(request, out, replace(how, dashboard=dashboard, engine=engine, address=address))


@app.command()
def resume(  # noqa: PLR0913  # a command line may have many options
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    *,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    weka_jar: WekaJar = None,
    engine: Engine = "processes",
    address: Address = None,
    dashboard: Dashboard = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was stopped, interrupted or killed."""
    from pydaub.cli.session import resume as continue_run

    how = options(jobs, time_limit, learner_timeout, learner_memory, as_json=as_json, quiet=quiet)
    continue_run(folder, replace(how, dashboard=dashboard, engine=engine, address=address), weka_jar)


@app.command()
def demo(
    *,
    full: Annotated[bool, typer.Option("--full", help="The paper's size: 21,500 rows to train.")] = False,
    jobs: Annotated[int, typer.Option(help="Number of workers.")] = 2,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run.  [default: pydaub-runs/parity-DATE-TIME]")
    ] = None,
    dashboard: Dashboard = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's parity problem on the default portfolio."""
    from pydaub.cli.session import start_demo

    how = options(jobs, None, None, None, as_json=False, quiet=quiet)
    start_demo(out, replace(how, dashboard=dashboard), full=full)


def options(  # noqa: PLR0913  # a command line may have many options
    jobs: int | None,
    time_limit: str | None,
    learner_timeout: str | None,
    learner_memory: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> Options:
    """Return how to run, parsed from the command line."""
    from pydaub.cli.session import Options as Parsed

    return Parsed(
        jobs,
        seconds(time_limit, "--time-limit"),
        seconds(learner_timeout, "--learner-timeout"),
        memory(learner_memory, "--learner-memory"),
        json=as_json,
        quiet=quiet,
    )
