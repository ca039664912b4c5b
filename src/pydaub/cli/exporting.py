"""`pydaub export`: a run for other programs."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pydaub.cli.app import app, for_the_result
from pydaub.cli.cleaning import check_output
from pydaub.cli.options import AnyFolder, output
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pydaub.runs.folder import RunFolder

To = StrEnum("To", ["mlflow", "curves"])


@app.command()
def export(
    folder: AnyFolder,
    *,
    to: Annotated[To, typer.Option(help="The form: runs in MLflow, or learning curves as CSV.")],
    out: Annotated[Path | None, output("With curves: the file.  [default: RUN/curves.csv]")] = None,
    tracking_uri: Annotated[
        str | None, typer.Option(help="With mlflow: the address of its server.  [default: MLFLOW_TRACKING_URI]")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="With mlflow: the experiment.  [default: MLFLOW_EXPERIMENT_NAME, or pydaub]")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="With mlflow: replace an earlier export of this run.")] = False,
) -> None:
    """Export a run: to MLflow, or as learning curves."""
    from pydaub.runs.folder import RunFolder

    given = {"--tracking-uri": tracking_uri, "--experiment": experiment, "--again": again}
    if to == To("curves"):
        if wrong := [name for name, value in given.items() if value]:
            raise InputError(f"`{wrong[0]}` must go with `--to mlflow`, got {str(to)!r}.")
        check_output(out)
        _curves(RunFolder(folder), out)
        return
    if out is not None:
        raise InputError(f"`--out` must go with `--to curves`, got {str(to)!r}.")
    if "" in given.values():
        raise InputError("`--tracking-uri` and `--experiment` must not be empty.")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when MLflow is imported
    from pydaub.exports.mlflow import export_run

    with for_the_result():  # what MLflow prints goes to stderr
        found = export_run(RunFolder(folder), tracking_uri=tracking_uri, experiment=experiment, again=again)
    typer.echo(found)


def _curves(folder: RunFolder, out: Path | None) -> None:
    from pydaub.exports.curves import write_curves_of

    try:
        typer.echo(write_curves_of(folder, out))
    except OSError as error:
        raise InputError(
            f"Cannot write the curves: {error.filename}: {error.strerror}. Choose another `--out`."
        ) from None
