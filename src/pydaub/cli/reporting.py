"""`pydaub plot` and `pydaub report`: a run as figures, and as one file to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pydaub.cli.app import app
from pydaub.cli.options import AnyFolder
from pydaub.cli.units import names
from pydaub.errors import InputError


@app.command()
def plot(
    folder: AnyFolder,
    *,
    formats: Annotated[str, typer.Option(help="File formats, separated by commas.")] = "png,svg,pdf",
    out: Annotated[Path | None, typer.Option(help="Folder for the figures.  [default: RUN/plots]")] = None,
) -> None:
    """Draw a run: the paper's Figures 1 and 2, and all learning curves."""
    from pydaub.runs.folder import RunFolder
    from pydaub.views.plots import draw_run

    account = RunFolder(folder).account()
    try:
        for path in draw_run(account, out or folder / "plots", names(formats.lower())):
            typer.echo(path)
    except OSError as error:
        raise InputError(f"Cannot write the figures: {error.strerror}. Choose another `--out`.") from None


@app.command()
def report(
    folder: AnyFolder,
    *,
    out: Annotated[Path | None, typer.Option(help="The file.  [default: RUN/report.html]")] = None,
) -> None:
    """Write a run as one HTML file that needs nothing else: to keep, or to mail."""
    from pydaub.dashboard.report import Report
    from pydaub.runs.folder import RunFolder

    opened = RunFolder(folder)
    asked = {name: value for name, value in vars(opened.request).items() if value not in (None, (), {}, "")}
    made = Report(opened.account(), folder.resolve().name, {"Request": asked})
    path = out or folder / "report.html"
    try:
        path.write_text(made.html, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"Cannot write the report: {error.strerror}. Choose another `--out`.") from None
    typer.echo(path)
