"""`pydaub compare`: several strategies on the same learners and the same rows."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated, Any

import typer

from pydaub.algorithm.strategies import STRATEGIES
from pydaub.cli.app import app
from pydaub.cli.options import (
    FirstSize,
    Folds,
    Jobs,
    Json,
    Learners,
    Memory,
    Quiet,
    Ratio,
    Scoring,
    Seed,
    Sizes,
    Target,
    Timeout,
    Validation,
    WekaJar,
    strategy_parameters,
)
from pydaub.cli.running import options
from pydaub.errors import InputError


@app.command()
@strategy_parameters
def compare(  # noqa: PLR0913  # a command line may have many options
    data: Annotated[str, typer.Argument(help="As for `pydaub run`.")],
    *,
    target: Target = None,
    strategies: Annotated[
        str, typer.Option(help="Names of strategies, separated by commas; `full` is needed for the loss.")
    ] = ",".join(STRATEGIES),
    learners: Learners = "sklearn",
    parameters: dict[str, Any],
    first_size: FirstSize = None,
    ratio: Ratio = None,
    sizes: Sizes = None,
    scoring: Scoring = None,
    cv: Folds = None,
    validation: Validation = None,
    jobs: Jobs = None,
    learner_timeout: Timeout = None,
    learner_memory: Memory = None,
    seed: Seed = 0,
    weka_jar: WekaJar = None,
    out: Annotated[Path | None, typer.Option(help="A folder that makes it possible to continue after a kill.")] = None,
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
        parameters=parameters,
        first_size=first_size,
        ratio=ratio,
        sizes=sizes,
        scoring=scoring,
        cv=cv,
        validation=validation,
        seed=seed,
        reuse=False,  # otherwise what is trained for one strategy would depend on another
        metrics=False,
        weka_jar=weka_jar,
    )
    told = compared(
        request, names, out, options(jobs, None, learner_timeout, learner_memory, as_json=as_json, quiet=quiet)
    )
    if as_json:
        typer.echo(json.dumps(told))
