"""The owner's side of isolated calls: begin a call, wait for one to end, close.

A `Nursery` starts one server process with exec (`server.py`), which forks a child for each call. So a child has none of
the owner's memory, locks and open files, and the owner's `__main__` is never imported again.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.isolation.proc import kill_marked, was_stopped
from pydaub.isolation.server import GRACE, STOPS
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

OWN: Final = "PYDAUB_"  # environment variables that begin so are ours
MARKER: Final = re.compile(f"{OWN}[0-9a-f]{{16}}")
LONGEST_NOTE: Final = 200  # bytes
RETRIES: Final = 2  # of a call that somebody else has killed, beside others; then it is a suspect, and runs alone
DEATHS: Final = 2  # of a suspect that runs alone, after which it is to blame
MOST_LOSSES: Final = 12  # of a call, whoever is to blame
LEAST_QUIET, MOST_QUIET = (
    2.0,
    60.0,
)  # seconds in which nothing but a child that rests may be killed, before it is blamed
QUIET_SHARE: Final = 2.0  # of the time that the suspect ran: whoever kills now and then does so again in this time
LOOK_SECONDS: Final = 1.0  # how often it is checked that the server was not stopped
SERVER_KILLED: Final = "the process that started it was killed"
LEAST_BYTES: Final = 1_000_000  # nothing can be trained with less: whoever gives less thinks of another unit
MOST: Final = 1e18  # seconds or bytes; the system cannot represent larger limits
# Libraries read these when they are loaded. A call that may use more threads raises the number with threadpoolctl.
ENVIRONMENT: Final = {
    **dict.fromkeys(
        (
            *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
            "VECLIB_MAXIMUM_THREADS",  # Apple's BLAS, whose threads do not survive a fork
        ),
        "1",
    ),
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",  # macOS would end a fork that uses a library of Apple's
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin while they wait make boosting ten times slower on a busy machine
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # Arrow's own pool reserves a gigabyte, which RLIMIT_DATA would count
    "PYTHONUNBUFFERED": "1",
}
CHANGED: Final = (*ENVIRONMENT, "PYTHONPATH")
BEFORE: Final = f"{OWN}BEFORE"  # a variable with what these were, as JSON, for programs that calls run


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call; None means no limit. `memory` is in bytes, on top of what a fresh child uses."""

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, limit, least, wanted in (
            ("learner_timeout", self.seconds, 0.0, "seconds, more than 0"),
            ("learner_memory", self.memory, LEAST_BYTES, f"bytes, more than {LEAST_BYTES:,}"),
        ):
            if limit is not None and not (isinstance(limit, int | float) and least < limit < MOST):
                raise InputError(
                    f"`{name}` must be a number of {wanted} and less than {MOST:g}, got {limit!r}."
                    " Leave it out for no limit."
                )


NO_LIMITS: Final = Limits()
NOTHING: Final[dict[str, Any]] = {
    "arguments": {},
    "seconds": None,
    "memory": None,
    "reusable": False,
    "program": False,
    "preload": [],
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: `status` is ok, error, timeout, memory or crash; `value` is what an ok call returned.

    `losses` says how often it was begun again before, because somebody else had killed it.
    """

    key: int
    status: str
    value: Any
    message: str
    seconds: float
    peak_mb: float
    losses: int = 0


@dataclass(slots=True)
class _Call:
    request: dict[str, Any]
    sent: bool = False
    losses: int = 0  # how often it was killed, not by its server
    beside: int = 0  # how often since it was last cleared, while others ran
    alone: int = 0  # how often since then, while it was the only one
    began: float = 0.0

    @property
    def suspect(self) -> bool:
        """Whether it must be the only call."""
        return self.beside >= RETRIES


class Nursery:
    """Runs calls in child processes: `begin` a call, `wait` for one to end, `cancel` one, `close`.

    `function` is "module:name". A child calls it as function(**arguments); arguments and return value are plain JSON
    values (or an `Answer` with one). `preload` lists modules that the server imports once, and functions
    ("module:name") that it calls when it has done so.

    A call that is killed, alone or with the server, and not by the server, is begun again. After `RETRIES` it is the
    only one that runs, so that a call which kills others, or the server, is the only one that fails. It is to blame
    only if it dies `DEATHS` times while it runs alone, and if between them a child that does nothing lives longer than
    it did: if that one is killed too, somebody else kills, and the call is cleared.
    """

    def __init__(self, function: str, preload: Sequence[str] = ()) -> None:
        self._setup = self._setup_of(function, preload)
        self._calls: dict[int, _Call] = {}  # those that have not ended, by key
        self._ready: deque[Ended] = deque()
        self._keys = 0
        self._resting: int | None = None  # the key of a child that does nothing, to see whether it is killed too
        self._marker = f"{OWN}{secrets.token_hex(8)}"  # a variable by which all descendants are found
        self._note: Path | None = None
        self._programs = False  # whether any call has run a program
        self._start()

    def _start(self) -> None:
        self._server, theirs = Pipe()
        self._stops, self._looked = 0, time.monotonic()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before = {name: value for name, value in environment.items() if name in CHANGED}
        self._process = subprocess.Popen(  # noqa: S603  # this very interpreter, with our own arguments
            [sys.executable, "-P", "-c", f"from pydaub.isolation.server import serve; serve({theirs.fileno()})"],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={
                **environment,
                **ENVIRONMENT,
                "PYTHONPATH": os.pathsep.join(filter(None, self._setup["path"])),
                BEFORE: json.dumps(before),
                self._marker: "",
            },
            start_new_session=True,  # Ctrl-C in the terminal must reach the owner only
        )
        theirs.close()
        self._send(self._setup)

    @classmethod
    @contextmanager
    def early(cls, function: str, preload: Sequence[str] = ()) -> Iterator[None]:
        """Start a server now, which a nursery with the same function takes over; end it if none has done so."""
        _spare.append(cls(function, preload))
        try:
            yield
        finally:
            while _spare:
                _spare.pop().close()

    @classmethod
    def taken(cls, function: str, preload: Sequence[str] = ()) -> Nursery:
        """Return the nursery that was started early, if it is the same; otherwise a new one."""
        while _spare:
            spare = _spare.pop()
            if spare._setup == cls._setup_of(function, preload):  # noqa: SLF001  # its own class
                return spare
            spare.close()
        return cls(function, preload)

    @staticmethod
    def _setup_of(function: str, preload: Sequence[str]) -> dict[str, Any]:
        ours = {name: value for name, value in os.environ.items() if name.startswith(OWN)}  # children read them
        return {"function": function, "preload": list(preload), "path": [*map(str, sys.path)], "environment": ours}

    def note(self, path: Path) -> None:
        """Note in a file how the processes are found, until `close`; kill those that an earlier note there is about.

        An earlier note means that its nursery was killed, and perhaps its server in the same moment. The caller makes
        sure that no other process uses the file. A copy of a note ends nothing: its processes are those of the
        original, and may be at work.
        """
        with suppress(OSError):  # a disk that is full; nothing but this depends on the note
            file = Folder(path.parent).open(path.name, os.O_RDWR | os.O_CREAT)
            try:
                before, _, identity = os.read(file, LONGEST_NOTE).decode(errors="replace").partition(" ")
                if MARKER.fullmatch(before) and identity == _identity(file):
                    kill_marked(before)
                os.ftruncate(file, 0)
                os.pwrite(file, f"{self._marker} {_identity(file)}".encode(), 0)
                self._note = path
            finally:
                os.close(file)

    def begin(
        self,
        arguments: Mapping[str, Any],
        limits: Limits = NO_LIMITS,
        *,
        reusable: bool = False,
        program: bool = False,
        preload: Sequence[str] = (),
    ) -> int:
        """Start a call in a child process and return its key.

        `preload` is what the server should import before, if it has not yet. With `reusable`, the call may run in the
        child of an earlier reusable call, and later ones may run in its child. With `program`, it runs a program: that
        is asked to end (SIGTERM) `GRACE` seconds before it is killed, unless it uses too much memory, and the kernel
        does not limit what it reserves.
        """
        self._keys += 1
        self._programs |= program
        request = {
            "key": self._keys,
            "arguments": dict(arguments),
            "seconds": None if limits.seconds is None else float(limits.seconds),
            "memory": None if limits.memory is None else int(limits.memory),
            "reusable": reusable,
            "program": program,
            "preload": list(preload),
        }
        self._calls[self._keys] = _Call(request)
        self._send_calls()
        return self._keys

    def _send_calls(self) -> None:
        """Send the calls that may run now: all that wait, unless one of them must be the only one."""
        if self._resting is not None:
            return
        suspect = next((call for call in self._calls.values() if call.suspect), None)
        if suspect is None:
            due = list(self._calls.values())
        else:
            due = [] if any(call.sent for call in self._calls.values()) else [suspect]
        for call in due:
            if not call.sent:
                call.sent, call.began = True, time.monotonic()
                self._send(call.request)

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next call that has ended, or None if none ends within `timeout` seconds."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self._ready:
            left = max(deadline - time.monotonic(), 0.0)
            try:
                if self._server.poll(min(left, LOOK_SECONDS)):
                    self._take(json.loads(self._server.recv_bytes()))
                    continue
                self._keep_going()
                if left <= LOOK_SECONDS:
                    return None
            except (EOFError, OSError, ValueError, TypeError, KeyError):  # it has died, or somebody writes in its name
                self._restart()
        return self._ready.popleft()

    def _take(self, report: dict[str, Any]) -> None:
        """Take in how a call has ended; begin it again if somebody else has killed it."""
        outside, ended = report.pop("outside"), Ended(**report)
        if ended.key == self._resting:
            self._rested(killed=outside)
            return
        call = self._calls.get(ended.key)
        if call is None:  # it was cancelled
            return
        if outside:
            self._lose(call, ended)
        else:
            del self._calls[ended.key]
            self._ready.append(replace(ended, losses=call.losses))
        self._send_calls()

    def _lose(self, call: _Call, ended: Ended) -> None:
        """Begin a call again that was killed, once it is known whether it may be to blame; or give it up."""
        call.sent = False
        call.losses += 1
        if not call.suspect:
            call.beside += 1
        else:
            call.alone += 1
        if call.alone >= DEATHS or call.losses >= MOST_LOSSES:
            del self._calls[ended.key]
            message = f"{ended.message}, {call.losses} times in a row"
            self._ready.append(replace(ended, message=message, losses=call.losses - 1))
        elif call.alone:
            seconds = QUIET_SHARE * (time.monotonic() - call.began)
            self._rest(min(max(seconds, LEAST_QUIET), MOST_QUIET))

    def _rest(self, seconds: float) -> None:
        """Begin a child that does nothing."""
        self._keys += 1
        self._resting = self._keys
        self._send({"key": self._keys, "rest": seconds, **NOTHING})

    def _rested(self, *, killed: bool) -> None:
        """Clear the suspects if the child that did nothing was killed: it was not one of them that kills."""
        self._resting = None
        for call in self._calls.values():
            if killed and call.suspect:
                call.beside = call.alone = 0
        self._send_calls()

    def _keep_going(self) -> None:
        """Continue a server that somebody has stopped; replace it if that happens again and again."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        if was_stopped(self._process.pid):
            self._stops += 1
            if self._stops > STOPS:
                self._restart()
            else:
                os.kill(self._process.pid, signal.SIGCONT)

    def cancel(self, key: int) -> None:
        """Kill the child of a call; `wait` never returns this call."""
        call = self._calls.pop(key, None)
        if call is not None:
            if call.sent:
                self._send({"cancel": key})
            if self._resting is not None and not any(other.alone for other in self._calls.values()):
                self._send({"cancel": self._resting})
                self._resting = None
            self._send_calls()
        self._ready = deque(ended for ended in self._ready if ended.key != key)

    def _restart(self) -> None:
        """Replace a server that died, or that somebody keeps stopping, and begin its calls again."""
        self._end_server()
        self._start()
        if self._resting is not None:
            self._rested(killed=True)
            return
        for key, call in list(self._calls.items()):
            if call.sent:
                self._lose(call, Ended(key, "crash", None, SERVER_KILLED, 0.0, 0.0))
        self._send_calls()

    def _send(self, message: Mapping[str, Any]) -> None:
        with suppress(ConnectionError):  # the server has died; `wait` notices it and starts another
            self._server.send_bytes(json.dumps(message).encode())

    def close(self) -> None:
        """Kill every call and end the server. Closing twice is harmless."""
        self._calls.clear()
        self._ready.clear()
        if self._process.returncode is None:  # else another process may have its id by now
            self._end_server()
        if self._note is not None:
            with suppress(OSError):
                self._note.unlink(missing_ok=True)

    def _end_server(self) -> None:
        self._server.close()  # the server sees end-of-file, kills its children and exits
        self._process.terminate()  # ends a server that is still importing modules; a running one ignores it
        try:
            self._process.wait(5 + GRACE * self._programs)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        kill_marked(self._marker, self._process.pid)


_spare: list[Nursery] = []  # started early and not taken yet


def _identity(file: int) -> str:
    """Return what distinguishes an open file from its copies."""
    found = os.fstat(file)
    return f"{found.st_dev}:{found.st_ino}"
