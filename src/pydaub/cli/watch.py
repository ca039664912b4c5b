"""`pydaub watch`: the live page of a run, or of all runs in a folder."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pydaub.cli import completion
from pydaub.cli.app import app
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


@app.command()
def watch(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run: going on, ended or killed; or a folder of runs.", autocompletion=completion.runs
        ),
    ],
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: this machine only]")] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on; 0 takes a free one.  [default: that of this run's last page, or a free one]"
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    linger: Annotated[bool, typer.Option(help="Keep serving when the run has ended and nobody is watching.")] = True,
) -> None:
    """Show a run on a live page and steer it from there, or list all runs of a folder.

    Ctrl-C ends the page, not the run.
    """
    check_dashboard()
    from pydaub.dashboard.address import Record
    from pydaub.dashboard.app import Dashboard
    from pydaub.dashboard.listing import Listing, runs_in
    from pydaub.dashboard.serving import serve
    from pydaub.runs import ABOUT
    from pydaub.runs.folder import RunFolder

    several = not (folder / ABOUT).exists() and runs_in(folder)
    if not several:
        RunFolder(folder)  # refuses what is no run
    site = Listing(folder, _addable) if several else Dashboard(folder, lambda: _addable(folder))
    serve(site, Record(folder), host=host, port=port, browse=browser, linger=linger)


def _addable(folder: Path) -> list[str]:
    from pydaub.learners import addable
    from pydaub.runs.folder import RunFolder

    run = RunFolder(folder)
    return [] if run.request.commands else addable(run.schema())


def open_page(folder: Path, tell: Callable[[str], None], *, browse: bool = True) -> threading.Event:
    """Start the page in another process, which ends some time after the run.

    `tell` gets the lines that say where the page is; the event is set once it has the first.
    """
    page = subprocess.Popen(  # noqa: S603  # ourselves
        [sys.executable, "-m", "pydaub", "watch", str(folder), "--no-linger", *([] if browse else ["--no-browser"])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the run
    )

    announced = threading.Event()

    def pass_on() -> None:
        for line in page.stderr or ():
            tell(line.rstrip())
            announced.set()
        announced.set()

    threading.Thread(target=pass_on, daemon=True).start()  # does not hold up the run
    return announced


def check_dashboard() -> None:
    """Raise an error that says what to install where the web server is missing."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise InputError("The page needs Starlette and uvicorn. Install them with `pip install 'pydaub[dashboard]'`.")
