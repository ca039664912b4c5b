"""`pydaub run`, `resume`, `demo` and `compare`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from pydaub.algorithm.strategies import STRATEGIES
from pydaub.cli.app import app
from pydaub.cli.options import (
    Asked,
    Dashboard,
    Detach,
    Folder,
    Options,
    Quiet,
    RegretDelta,
    WekaJar,
    grouped,
    one_source,
    output,
    sources,
)
from pydaub.errors import InputError
from pydaub.runs import RUNS
from pydaub.runs.regret import DELTA
from pydaub.units import names

DEMO_ROWS: Final = 24_000  # about a minute on two cores
# Options of `pydaub run` that do not matter for a comparison.
WITHOUT: Final = {
    *("strategy", "fraction", "group", "time", "drop", "kinds", "task", "encoding", "refit", "no_reuse"),
    *("ensemble", "adjust", "score_rows", "metrics", "time_limit", "engine", "address", "dashboard"),
}


@app.command()
@grouped()
def run(
    data: Annotated[
        list[str],
        sources(
            "A CSV, Parquet, Feather, ARFF or svmlight file, a folder of files, a glob in quotes, an address such as"
            " s3://bucket/rows.parquet, openml:ID, or a folder made by `pydaub prepare`."
        ),
    ],
    *,
    asked: Asked,
    options: Options,
    out: Annotated[Path | None, output(f"Folder of the run.  [default: {RUNS}/DATA-DATE-TIME]")] = None,
    detach: Detach = False,  # noqa: ARG001  # `run_command` has looked
) -> None:
    """Find the best learner for a file."""
    with options.where(Path()).started_early():
        from pydaub.cli.session import start

        start(asked.request(one_source(data)), out, options)


@app.command()
@grouped()
def resume(
    folder: Folder,
    *,
    retry: Annotated[
        bool, typer.Option("--retry", help="Give learners that failed another chance, with the limits given now.")
    ] = False,
    options: Options,
    weka_jar: WekaJar = None,
    detach: Detach = False,  # noqa: ARG001  # as above
) -> None:
    """Continue a run that was stopped, interrupted or killed."""
    with options.where(folder).started_early():
        from pydaub.cli.session import resume as continue_run

        continue_run(folder, options, weka_jar, retry=retry)


@app.command()
def demo(
    *,
    full: Annotated[bool, typer.Option("--full", help="The paper's size: 21,500 rows to train.")] = False,
    jobs: Annotated[int, typer.Option(help="Number of workers.")] = 2,
    out: Annotated[Path | None, output(f"Folder of the run.  [default: {RUNS}/parity-DATE-TIME]")] = None,
    dashboard: Dashboard = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's parity problem on the default portfolio."""
    options = Options(jobs=jobs, dashboard=dashboard, quiet=quiet)
    with options.where(Path()).started_early():
        from pydaub.cli.session import start
        from pydaub.data.formats.synthetic import PAPER_ROWS

        asked = Asked(fraction=0.5)  # half of the rows train, half validate
        data = f"parity:{PAPER_ROWS if full else DEMO_ROWS}"
        start(asked.request(data), out, options)


@app.command()
@grouped(WITHOUT)
def compare(
    data: Annotated[list[str], sources("As for `pydaub run`.")],
    *,
    strategies: Annotated[
        str, typer.Option(help="Names of strategies, separated by commas; `full` is needed for the loss.")
    ] = ",".join(STRATEGIES),
    asked: Asked,
    options: Options,
    regret_delta: RegretDelta = DELTA,
    out: Annotated[Path | None, output("A folder that makes it possible to continue after a kill.")] = None,
) -> None:
    """Compare strategies: what each selects, what that costs, and what is lost against training everything.

    An allocation that several strategies ask for is trained once and counted for each.
    """
    from pydaub.cli.session import compared

    chosen = names(strategies)
    if not chosen or not {*chosen} <= {*STRATEGIES}:
        got = ", ".join(repr(name) for name in chosen if name not in STRATEGIES) or "none"
        raise InputError(f"`--strategies` must be some of {', '.join(STRATEGIES)}, got {got}.")
    # Reuse would make what is trained for one strategy depend on another.
    request = replace(asked.request(one_source(data)), reuse=False, score_rows="all", metrics="none")
    compared(request, chosen, out, options, regret_delta)
