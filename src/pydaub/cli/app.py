"""The command line's entry point: exit codes, and errors as one line. Data goes to stdout, all else to stderr."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from pydaub import __version__
from pydaub.errors import (
    DISK,
    AllLearnersFailed,
    ClusterLost,
    FitFailed,
    FolderTrouble,
    NothingMeasured,
    PydaubError,
    one_line,
)
from pydaub.views.summary import plain, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXIT_FAILED: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_TERMINATED: Final = 128 + signal.SIGTERM
LONGEST_NAME: Final = 200  # characters of a file's name in a message
LONGEST_WORD, LONGEST_LINE = 300, 2000  # characters in a message
_began: Final[ContextVar[float | None]] = ContextVar("_began", default=None)
LONG_WORD: Final = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]  # the same in all versions, and not public
# Commands as `pydaub --help` lists them: what a newcomer needs first comes first.
ORDER: Final = (
    *("run", "resume", "show", "predict", "watch", "steer", "report", "plot", "advise", "export"),
    *("compare", "check", "learners", "prepare", "demo", "replay", "recorded", "ps", "wait", "doctor", "clean"),
)


def _refused(error: Any, asked: str | None = None) -> Exception:  # noqa: ANN401  # of a class that is not public
    """Print one line on what is wrong with the arguments, and return what ends the command that was asked for."""
    message = error.format_message()
    if message.startswith("Usage: "):  # there are no arguments
        return cast("Exception", error)
    command = "pydaub" if asked is None else f"pydaub {asked}"
    said = " ".join(message.split()).rstrip(".")  # the choices of a missing option take a line each
    complain(f"{said}. `{command} --help` says more.")
    return typer.Exit(EXIT_BAD_INPUT)


class _Commands(TyperGroup):
    """All commands. Typer itself would print "Aborted!" and no reason where a file ends too early."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  # as below
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def make_context(self, *arguments: Any, **more: Any) -> Any:  # noqa: ANN401  # as below
        try:
            return super().make_context(*arguments, **more)
        except UsageError as error:
            raise _refused(error) from None

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # Typer's own context is not public
        try:
            return super().invoke(ctx)
        except (EOFError, MemoryError) as error:
            what = "A file ends too early" if isinstance(error, EOFError) else "There is not enough memory"
            complain(f"{what} ({one_line(error)}).")
            raise typer.Exit(EXIT_FAILED) from None
        except UsageError as error:
            raise _refused(error, ctx.invoked_subcommand) from None


app = typer.Typer(
    cls=_Commands,
    help="Find the learner that will be best on all your data, without training all of them on all of it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def began() -> float | None:
    """Return when the command began, as a moment of `time.monotonic`, if it is known."""
    return _began.get()


def run_command(arguments: Sequence[str] | None = None, at: float | None = None) -> None:
    """Run the command, which began `at` this moment.

    Bad input ends with exit code 2 and one line on stderr, a run without a winner with 1.
    """
    _began.set(at)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the terminal may not be able to show every name
    from pydaub.cli.detached import detach, wants_detaching  # it uses what is defined here

    given = sys.argv[1:] if arguments is None else [*arguments]
    if wants_detaching(given):
        sys.exit(detach(given))
    try:
        app(args=arguments)
    except PydaubError as error:
        complain(str(error))
        failed = isinstance(error, AllLearnersFailed | NothingMeasured | FitFailed | FolderTrouble | ClusterLost)
        failed |= getattr(error.__context__, "errno", None) in DISK  # which is no bad input
        sys.exit(EXIT_FAILED if failed else EXIT_BAD_INPUT)
    except OSError as error:
        what = "write the output" if error.filename is None else f"use {str(error.filename)[:LONGEST_NAME]}"
        complain(f"Cannot {what}: {error.strerror}.")
        sys.exit(EXIT_BAD_INPUT if error.errno == errno.ENAMETOOLONG else EXIT_FAILED)


def complain(message: str) -> None:
    """Print one line on stderr; what it repeats of the input may be long, and is shortened."""
    message = LONG_WORD.sub(lambda found: shortened(found[0], LONGEST_WORD), plain(message))
    typer.echo(f"pydaub: {shortened(message, LONGEST_LINE)}", err=True)


@contextmanager
def for_the_result() -> Iterator[None]:
    """Keep stdout for the result: what learners print in this process, or programs that they start, goes to stderr."""
    kept = None
    try:
        with suppress(OSError, ValueError):  # stdout or stderr may be closed
            sys.stdout.flush()
            kept = os.dup(1)
            os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)


def leave_on_termination() -> None:
    """Let SIGTERM end a run as Ctrl-C does: workers are killed, and the run can be resumed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))


def _print_version(asked: bool) -> None:  # noqa: FBT001  # typer's callback
    if asked:
        typer.echo(f"pydaub {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
