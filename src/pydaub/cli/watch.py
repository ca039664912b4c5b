"""`pydaub watch`: the live page of a run."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from pydaub.cli.app import app
from pydaub.cli.options import AnyFolder
from pydaub.errors import InputError


@app.command()
def watch(
    folder: AnyFolder,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on. The default is visible from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    linger: Annotated[bool, typer.Option(help="Keep serving when the run has ended and nobody is watching.")] = True,
) -> None:
    """Show a run on a live page and steer it from there. Ctrl-C ends the page, not the run."""
    check_dashboard()
    from pydaub.dashboard.serving import serve
    from pydaub.runs.folder import RunFolder

    opened = RunFolder(folder)

    def addable() -> list[str]:
        from pydaub.learners import portfolio

        return list(portfolio("sklearn", opened.schema()))

    serve(folder, addable=addable, host=host, port=port, browse=browser, linger=linger)


def open_page(folder: Path) -> threading.Event:
    """Start the page in another process, which ends some time after the run.

    The event is set once its address has been printed.
    """
    page = subprocess.Popen(  # noqa: S603  # ourselves
        [sys.executable, "-m", "pydaub", "watch", str(folder), "--no-linger"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the run
    )

    announced = threading.Event()

    def tell() -> None:
        for line in page.stderr or ():
            typer.echo(line.rstrip(), err=True)
            announced.set()
        announced.set()

    threading.Thread(target=tell, daemon=True).start()  # does not hold up the run
    return announced


def check_dashboard() -> None:
    """Raise an error that says what to install where the web server is missing."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise InputError("The page needs Starlette and uvicorn. Install them with `pip install 'pydaub[dashboard]'`.")
