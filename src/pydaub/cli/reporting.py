"""`pydaub plot` and `pydaub report`: a run as pictures, and as one file to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pydaub.cli.app import app
from pydaub.errors import InputError
from pydaub.runs.journal import is_held, read

if TYPE_CHECKING:
    from pydaub.records import Event
    from pydaub.runs.folder import RunFolder

Folder = Annotated[Path, typer.Argument(help="The folder of a run: going on, ended or killed.")]


@app.command()
def plot(
    folder: Folder,
    *,
    formats: Annotated[str, typer.Option(help="Which, with commas.")] = "png,svg,pdf",
    out: Annotated[Path | None, typer.Option(help="Where to write.  [default: RUN/plots]")] = None,
) -> None:
    """Draw a run: the paper's Figures 1 and 2, and all learning curves."""
    from pydaub.views.plots import FORMATS, draw_story
    from pydaub.views.story import Story

    opened, events = journalled(folder)
    story = Story(opened.score_rows).take_all(events)
    names = [name.strip().lower() for name in formats.split(",") if name.strip()]
    if not names or not {*names} <= {*FORMATS}:
        raise InputError(f"`--formats` must be some of {', '.join(FORMATS)}, got {formats!r}.")
    try:
        for path in draw_story(story, folder / "plots" if out is None else out, names):
            typer.echo(path)
    except OSError as error:
        raise InputError(f"`--out` must be a folder that can be written, got {error.strerror}.") from None


@app.command()
def report(
    folder: Folder,
    *,
    out: Annotated[Path | None, typer.Option(help="Where to write.  [default: RUN/report.html]")] = None,
) -> None:
    """Write a run as one HTML file that needs nothing else: to keep, or to mail."""
    from pydaub.dashboard.report import Report

    opened, events = journalled(folder)
    asked = {name: value for name, value in vars(opened.request).items() if value not in (None, (), {}, "")}
    about = {"Asked for": asked, "Versions": opened.versions}
    made = Report(tuple(events), opened.score_rows, folder.resolve().name, about, held=is_held(opened.journal))
    path = folder / "report.html" if out is None else out
    try:
        path.write_text(made.html, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"`--out` must be a file that can be written, got {error.strerror}.") from None
    typer.echo(path)


def journalled(folder: Path) -> tuple[RunFolder, list[Event]]:
    """Return the folder of a run and what has happened in it."""
    from pydaub.runs.folder import RunFolder
    from pydaub.runs.journal import JOURNAL

    opened = RunFolder(folder)
    if not opened.journal.exists():
        raise InputError(f"{folder / JOURNAL} must be there, got none. `pydaub resume {folder}` begins it.")
    return opened, read(opened.journal)
