"""`pydaub compare`: several strategies on the same learners and the same rows."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated

import typer

from pydaub.algorithm.strategies import STRATEGIES
from pydaub.cli.app import app
from pydaub.cli.running import Delta, Jobs, Json, Memory, Quiet, Timeout, WekaJar, options
from pydaub.errors import InputError


@app.command()
def compare(  # noqa: PLR0913  # a command line may have many options
    data: Annotated[str, typer.Argument(help="As with `pydaub run`.")],
    *,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    strategies: Annotated[str, typer.Option(help="Which, with commas; `full` is needed for the loss.")] = ",".join(
        STRATEGIES
    ),
    learners: Annotated[str, typer.Option(help="As with `pydaub run`.")] = "sklearn",
    delta: Delta = None,
    first_size: Annotated[int | None, typer.Option(help="The first sample's rows.  [default: 500, or fewer]")] = None,
    ratio: Annotated[str, typer.Option(help="By how much samples grow.")] = "1.5",
    scoring: Annotated[str | None, typer.Option(help="A scorer of scikit-learn.")] = None,
    cv: Annotated[int | None, typer.Option(help="Score by cross-validation with so many folds.")] = None,
    validation: Annotated[Path | None, typer.Option(help="A file to validate on.")] = None,
    jobs: Jobs = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    seed: Annotated[int, typer.Option(help="For the order of rows, and for learners.")] = 0,
    weka_jar: WekaJar = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder, to go on with after a kill; it is made if need be.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare strategies: what each selects, what that costs, and what is lost against training everything.

    An allocation that several strategies ask for is trained once and counted for each.
    """
    from pydaub.cli.session import compared
    from pydaub.runs.folder import Request

    names = [name.strip() for name in strategies.split(",") if name.strip()]
    for name in names:
        if name not in STRATEGIES:
            raise InputError(f"`--strategies` must be some of {', '.join(STRATEGIES)}, got {name!r}.")
    if not names:
        raise InputError(f"`--strategies` must be some of {', '.join(STRATEGIES)}, got none.")
    request = Request(
        data=data,
        target=target,
        learners=learners,
        delta=delta,
        first_size=first_size,
        ratio=ratio,
        scoring=scoring,
        cv=cv,
        validation=None if validation is None else str(validation),
        seed=seed,
        reuse=False,  # or what is trained for one strategy would depend on another
        metrics=False,
        weka_jar=weka_jar,
    )
    told = compared(
        request, names, out, options(jobs, None, learner_timeout, learner_memory, as_json=as_json, quiet=quiet)
    )
    if as_json:
        typer.echo(json.dumps(told))
