"""`--detach`, `pydaub ps` and `pydaub wait`: runs in the background, for scripts and agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

import typer

from pydaub.cli.app import EXIT_FAILED, app
from pydaub.cli.options import AnyFolder, Json
from pydaub.cli.output import run_as_json
from pydaub.errors import PydaubError
from pydaub.isolation.proc import writers_of
from pydaub.runs import JOURNAL
from pydaub.runs.journal import is_held

if TYPE_CHECKING:
    from collections.abc import Sequence

DETACH: Final = "--detach"
DETACHABLE: Final = ("run", "resume")
LAUNCHED: Final = "PYDAUB_LAUNCHED"  # a variable with the descriptor on which a detached run says that it is up
OUTPUT: Final = "output.txt"  # what a detached run prints
LOOK_SECONDS: Final = 0.2


def wants_detaching(arguments: Sequence[str]) -> bool:
    """Return whether the command is one that should go on in the background."""
    return bool(arguments) and arguments[0] in DETACHABLE and DETACH in arguments and "--help" not in arguments


def detach(arguments: Sequence[str]) -> int:
    """Start the command in a session of its own; print one line once the run is up, or what went wrong before.

    Returns the exit code.
    """
    reader, writer = os.pipe()
    with TemporaryFile() as printed:
        process = subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-m", "pydaub", *(each for each in arguments if each != DETACH)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env={**os.environ, LAUNCHED: str(writer)},
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as told:
            line = told.readline()
        if line.endswith("\n"):
            typer.echo(line, nl=False)
            return 0
        code = process.wait()
        printed.seek(0)
        typer.echo(printed.read().decode(errors="replace"), nl=False, err=True)
    return code or EXIT_FAILED


class Launch:
    """Says once that a run is up, if it was started by `detach`; then what it prints goes to a file in its folder."""

    def __init__(self, folder: Path) -> None:
        given = os.environ.pop(LAUNCHED, "")  # programs that the run starts must not see it
        self._detached = given.isdecimal()
        self._folder, self._told = folder, int(given) if given.isdecimal() else None
        if self._told is not None:
            os.set_inheritable(self._told, False)  # noqa: FBT003  # its only parameter

    @property
    def wanted(self) -> bool:
        """Whether anybody waits for the run to be up."""
        return self._told is not None

    def up(self) -> None:
        """Say that the run is up, unless that was said before."""
        if self._told is None:
            return
        from pydaub.dashboard.address import served

        folder = self._folder.resolve()
        line = {"event": "launched", "folder": str(folder), "page": served(folder) or None, "pid": os.getpid()}
        with suppress(OSError):  # a full disk
            sys.stdout.flush()
            sys.stderr.flush()
            output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
        with suppress(OSError):  # nobody waits any more
            os.write(self._told, json.dumps(line).encode() + b"\n")
            os.close(self._told)
        self._told = None

    def settle(self) -> None:
        """Let the result go where everything else goes; it was kept apart until now."""
        self.up()
        if self._detached:
            sys.stdout.flush()
            os.dup2(2, 1)


@app.command()
def ps(*, as_json: Json = False) -> None:
    """List the runs of this machine that are going on, as far as they are yours."""
    from pydaub.dashboard.address import served
    from pydaub.runs.folder import RunFolder
    from pydaub.views.terminal import console, print_lines, print_table

    found = list[dict[str, Any]]()
    for journal, pid in sorted(writers_of(JOURNAL).items()):
        with suppress(PydaubError, OSError):  # it is not one of ours, or it has just ended or been removed
            if is_held(journal):
                account, folder = RunFolder(journal.parent).account(), journal.parent
                result = account.result
                found.append(
                    {
                        "folder": str(folder),
                        "state": account.state,
                        "pid": pid,
                        "page": served(folder) or None,
                        "selected": result.selected,
                        "valid_score": result.valid_score,
                        "wall_seconds": result.wall_seconds,
                    }
                )
    if as_json:
        typer.echo(json.dumps(found))
    elif found:
        columns = ("pid", "state", "best so far", "score", "seconds", "folder")
        rows = [
            (
                each["pid"],
                each["state"],
                each["selected"],
                each["valid_score"],
                f"{each['wall_seconds']:,.0f}",
                each["folder"],
            )
            for each in found
        ]
        print_table(console(), columns, rows)
    else:
        print_lines(console(), ["No run is going on."])


@app.command()
def wait(folder: AnyFolder) -> None:
    """Wait until a run has ended, and print its result as one line of JSON.

    The exit code is 0 if it has finished or was stopped, and 1 if every learner failed or it was killed.
    """
    from pydaub.runs.folder import RunFolder

    opened = RunFolder(folder)
    opened.account()  # refuses a run that has not begun
    while is_held(opened.journal):
        time.sleep(LOOK_SECONDS)
    account = opened.account()
    typer.echo(json.dumps(run_as_json(account, folder)))
    if account.state not in ("finished", "stopped"):
        raise typer.Exit(EXIT_FAILED)
