"""`pydaub compare`: several strategies on the same learners and the same rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from pydaub.algorithm.strategies import STRATEGIES
from pydaub.cli.app import app
from pydaub.cli.options import Asked, Options, grouped
from pydaub.cli.units import names
from pydaub.errors import InputError

# Options of `pydaub run` that do not matter for a comparison.
WITHOUT: Final = {
    *("strategy", "fraction", "group", "time", "drop", "kinds", "task", "encoding", "refit", "no_reuse", "no_metrics"),
    *("time_limit", "engine", "address", "dashboard"),
}


@app.command()
@grouped(WITHOUT)
def compare(
    data: Annotated[str, typer.Argument(help="As for `pydaub run`.")],
    *,
    strategies: Annotated[
        str, typer.Option(help="Names of strategies, separated by commas; `full` is needed for the loss.")
    ] = ",".join(STRATEGIES),
    asked: Asked,
    options: Options,
    out: Annotated[Path | None, typer.Option(help="A folder that makes it possible to continue after a kill.")] = None,
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
    request = replace(asked.request(data), reuse=False, metrics=False)
    compared(request, chosen, out, options)
