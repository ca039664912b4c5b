"""`pydaub export`: a run for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pydaub.cli.app import app
from pydaub.cli.options import AnyFolder, output
from pydaub.errors import InputError

To = StrEnum("To", ["curves"])


@app.command()
def export(
    folder: AnyFolder,
    *,
    to: Annotated[To, typer.Option(help="The form: learning curves as CSV.")],
    out: Annotated[Path | None, output("With curves: the file.  [default: RUN/curves.csv]")] = None,
) -> None:
    """Export a run for other programs."""
    from pydaub.exports.curves import write_curves_of
    from pydaub.runs.folder import RunFolder

    assert to == To("curves")  # noqa: S101  # the only one so far
    try:
        typer.echo(write_curves_of(RunFolder(folder), out))
    except OSError as error:
        raise InputError(f"Cannot write the curves: {error.strerror}. Choose another `--out`.") from None
