"""Call a program and follow it until it ends, whatever it does; what it starts ends with it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pydaub.errors import one_line
from pydaub.isolation import proc
from pydaub.isolation.server import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_LOG: Final = 10_000_000  # bytes of output that are kept in a file
TAIL: Final = 1 << 20  # bytes of standard output that are kept in memory, for the answer in its last line
WORDS: Final = 4000  # bytes of all output, for messages
PIECE: Final = 1 << 16
LOOK_SECONDS: Final = 0.05  # how often it is checked whether a program has ended, where the system does not tell
LAST_LINES: Final = 3
LEFT_OUT: Final = b"\n[more output is left out]\n"
ROUNDS: Final = 100  # of killing processes that fork meanwhile


class Refused(Exception):
    """Why a call brought no measurement, and of what kind that failure is."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Called:
    """How a program has ended, and the end of what it printed."""

    code: int
    out: bytearray = field(default_factory=bytearray)  # standard output
    words: bytearray = field(default_factory=bytearray)  # and standard error

    @property
    def tail(self) -> str:
        """The end of all output."""
        return self.words.decode(errors="replace")

    @property
    def last_line(self) -> str:
        """The last line of standard output that is not empty."""
        lines = self.out.decode(errors="replace").rstrip().rsplit("\n", 1)
        return lines[-1].strip()

    @property
    def last_words(self) -> str:
        """The last lines of all output, as one."""
        lines = [line.strip() for line in self.tail.replace("\r", "\n").splitlines() if line.strip()]
        return " | ".join(lines[-LAST_LINES:])[-500:] or "it printed nothing"

    @property
    def kind(self) -> str:
        """The kind of failure."""
        return "crash" if self.code < 0 else "error"

    @property
    def how(self) -> str:
        """How it ended, in words."""
        if self.code >= 0:
            return f"exit code {self.code}"
        with suppress(ValueError):
            return f"ended by {signal.Signals(-self.code).name}"
        return f"ended by signal {-self.code}"


def called(words: Sequence[str], folder: str, environment: Mapping[str, str], log: Path) -> Called:
    """Run a program without input or terminal, in the process group of this process; return how it has ended.

    This process must do nothing else: it ignores SIGTERM from now on, which is for the program, and kills whatever the
    program leaves behind. If somebody else kills the program, this process dies in the same way, so that its server
    begins it again.
    """
    signal.signal(signal.SIGTERM, lambda *_: None)  # a function: a program would inherit that a signal is ignored
    kills = proc.oom_kills()
    done = Called(0)
    with log.open("wb") as file:
        try:
            process = subprocess.Popen(  # noqa: S603  # what the person wants to be called
                [*words],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # this process has no threads
            )
        except (OSError, ValueError) as error:
            raise Refused("error", f"it could not be started: {one_line(error)}") from None
        _follow(process, done, file)
    done.code = process.returncode
    _end_rest()
    if done.code == -signal.SIGKILL and proc.oom_kills() > kills:
        raise Refused("memory", "killed by the system, which had no memory left")
    if -done.code in OUTSIDE:
        os.kill(os.getpid(), signal.SIGKILL)
    return done


def _die_with_parent() -> None:
    proc.prctl(proc.PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _follow(process: subprocess.Popen[bytes], done: Called, log: BinaryIO) -> None:
    """Read what a program prints until it has ended; what it has started may go on printing."""
    assert process.stdout is not None  # noqa: S101  # both are pipes
    assert process.stderr is not None  # noqa: S101  # as above
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        with suppress(AttributeError, OSError):  # Linux only
            selector.register(os.fdopen(os.pidfd_open(process.pid), "rb", closefd=True), selectors.EVENT_READ)
        told = len(selector.get_map()) > 2  # noqa: PLR2004  # besides the two streams
        ended = False
        while not ended:
            ended = process.poll() is not None  # looked at first, so that what it printed last is read
            for key, _ in selector.select(0 if ended else None if told else LOOK_SECONDS):
                if key.fileobj in (process.stdout, process.stderr) and not _read(key.fileobj, process, done, log):
                    selector.unregister(key.fileobj)
        for stream in (process.stdout, process.stderr):
            for _ in range(TAIL // PIECE):
                if not _read(stream, process, done, log):
                    break
    process.stdout.close()
    process.stderr.close()


def _read(stream: Any, process: subprocess.Popen[bytes], done: Called, log: BinaryIO) -> bool:
    """Read what there is; return False at the end, or where there is nothing now."""
    try:
        content = os.read(stream.fileno(), PIECE)
    except OSError:
        return False
    done.words = (done.words + content)[-WORDS:]
    if stream is process.stdout:
        done.out = (done.out + content)[-TAIL:]
    with suppress(OSError):  # a full disk: the answer counts
        room = MOST_LOG - log.tell()
        if room > 0:
            log.write(content[:room] + (LEFT_OUT if len(content) > room else b""))
            log.flush()
    return bool(content)


def _end_rest() -> None:
    """Kill what a program has left behind."""
    for _ in range(ROUNDS):
        found = proc.descendants(os.getpid())
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not found:
            return
        time.sleep(0.01)
