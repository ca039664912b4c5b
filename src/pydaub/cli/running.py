"""`pydaub run`, `resume` and `demo`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from pydaub.cli.app import DEFAULT_STRATEGY, StrategyName, app
from pydaub.cli.units import memory, pairs, seconds

if TYPE_CHECKING:
    from pydaub.cli.session import Options

Task = StrEnum("Task", ["classification", "regression"])
EngineName = StrEnum("EngineName", ["processes", "ray"])

Jobs = Annotated[int | None, typer.Option(help="How many workers.  [default: one for each core]")]
TimeLimit = Annotated[str | None, typer.Option(help="End after this time with the best so far: 90, 90s, 10m, 2h.")]
Timeout = Annotated[str | None, typer.Option(help="The most time for one training of one learner: 90, 90s, 10m.")]
Memory = Annotated[
    str | None, typer.Option(help="The most memory for one learner: 500MB, 2GB.  [default: its share of 80 %]")
]
WekaJar = Annotated[
    str | None, typer.Option(help="WEKA's jar, for the learners of weka.  [default: PYDAUB_WEKA_JAR, or Debian's]")
]
Engine = Annotated[EngineName, typer.Option(help="Where evaluations run: processes of this machine, or a Ray cluster.")]
Address = Annotated[
    str | None,
    typer.Option(help="The Ray cluster's, as in host:6379; local starts one.  [default: the one that runs here]"),
]
Delta = Annotated[float | None, typer.Option(help="With frugal: the loss of score that is tolerated.  [default: 0.01]")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Open the live page beside the run.")]


@app.command()
def run(  # noqa: PLR0913  # a command line may have many options
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, Parquet, Feather, ARFF or svmlight file, openml:ID, or a folder of `pydaub prepare`."
        ),
    ],
    *,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    learners: Annotated[
        str, typer.Option(help="sklearn, weka, names, patterns, Python files, with commas; -NAME takes one out.")
    ] = "sklearn",
    strategy: Annotated[StrategyName, typer.Option(help="Who gets data next.")] = DEFAULT_STRATEGY,
    delta: Delta = None,
    first_size: Annotated[int | None, typer.Option(help="The first sample's rows.  [default: 500, or fewer]")] = None,
    ratio: Annotated[str, typer.Option(help="By how much samples grow.")] = "1.5",
    scoring: Annotated[str | None, typer.Option(help="A scorer of scikit-learn.  [default: accuracy, or r2]")] = None,
    cv: Annotated[int | None, typer.Option(help="Score by cross-validation with so many folds.")] = None,
    validation: Annotated[Path | None, typer.Option(help="A file to validate on.")] = None,
    validation_fraction: Annotated[float, typer.Option(help="The share of rows to validate on.")] = 0.3,
    group: Annotated[str | None, typer.Option(help="A column whose equal values stay together.")] = None,
    time: Annotated[str | None, typer.Option(help="A column to split by: the latest rows validate.")] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, with commas.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="What a column is, as in zip=categorical; may be given again.")
    ] = None,
    task: Annotated[Task | None, typer.Option(help="What the target is for.  [default: as it looks]")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a text file.  [default: utf-8]")] = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    seed: Annotated[int, typer.Option(help="For the order of rows, and for learners.")] = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the selected once more, on validation rows too.")
    ] = False,
    no_reuse: Annotated[bool, typer.Option("--no-reuse", help="Train every sample from nothing.")] = False,
    no_metrics: Annotated[bool, typer.Option("--no-metrics", help="Record the score alone.")] = False,
    weka_jar: WekaJar = None,
    engine: Engine = EngineName.processes,
    address: Address = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder.  [default: pydaub-runs/DATA-DATE-TIME]")] = None,
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
        delta=delta,
        first_size=first_size,
        ratio=ratio,
        scoring=scoring,
        cv=cv,
        validation=None if validation is None else str(validation),
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
    start(request, out, replace(how, dashboard=dashboard, engine=str(engine), address=address))


@app.command()
def resume(  # noqa: PLR0913  # the same
    folder: Annotated[Path, typer.Argument(help="The folder of a run.")],
    *,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    weka_jar: WekaJar = None,
    engine: Engine = EngineName.processes,
    address: Address = None,
    dashboard: Dashboard = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped, interrupted or killed."""
    from pydaub.cli.session import resume as go_on

    how = options(jobs, time_limit, learner_timeout, learner_memory, as_json=as_json, quiet=quiet)
    go_on(folder, replace(how, dashboard=dashboard, engine=str(engine), address=address), weka_jar)


@app.command()
def demo(
    *,
    full: Annotated[bool, typer.Option("--full", help="The paper's size: 21,500 rows to train.")] = False,
    jobs: Annotated[int, typer.Option(help="How many workers.")] = 2,
    out: Annotated[Path | None, typer.Option(help="The run's folder.  [default: pydaub-runs/parity-DATE-TIME]")] = None,
    dashboard: Dashboard = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's parity problem on the default portfolio."""
    from pydaub.cli.session import start_demo

    how = options(jobs, None, None, None, as_json=False, quiet=quiet)
    start_demo(out, replace(how, dashboard=dashboard), full=full)


def options(  # noqa: PLR0913  # the same
    jobs: int | None,
    time_limit: str | None,
    learner_timeout: str | None,
    learner_memory: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> Options:
    """Return how to run, from what was written."""
    from pydaub.cli.session import Options as Kept

    return Kept(
        jobs,
        seconds(time_limit, "--time-limit"),
        seconds(learner_timeout, "--learner-timeout"),
        memory(learner_memory, "--learner-memory"),
        json=as_json,
        quiet=quiet,
    )
