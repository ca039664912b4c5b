"""The owner's side of isolated calls: begin a call, wait for one to end, close.

A `Nursery` starts one server process with exec (`server.py`), and the server forks a child for each call. So a child
copies none of the owner's memory and inherits none of its locks or open files, and the owner's `__main__` is never
imported again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.isolation.server import LONGEST_WAIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Libraries read these when they are loaded. A call that may use more threads raises the number with threadpoolctl.
ENVIRONMENT: Final = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    ),
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # Arrow's own pool reserves a gigabyte, which RLIMIT_DATA would count
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call; None means no limit. `memory` is in bytes, on top of what a fresh child uses."""

    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: `status` is ok, error, timeout, memory or crash; `value` is what an ok call returned."""

    key: int
    status: str
    value: Any
    message: str
    seconds: float
    peak_mb: float


class Nursery:
    """Runs calls in child processes: `begin` a call, `wait` for one to end, `cancel` one, `close`.

    `function` is "module:name". A child calls it as function(**arguments); arguments and return value are plain JSON
    values (or an `Answer` with one). `preload` lists modules that the server imports once, and functions
    ("module:name") that it also calls.
    """

    def __init__(self, function: str, preload: Sequence[str] = ()) -> None:
        self._setup = {"function": function, "preload": list(preload), "path": [*map(str, sys.path)]}
        self._running: dict[int, dict[str, Any]] = {}  # requests by key, to repeat them if the server dies
        self._repeated: set[int] = set()  # keys of requests that were repeated because the server died
        self._ready: deque[Ended] = deque()
        self._keys = 0
        self._buffer = b""
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(  # noqa: S603  # this very interpreter, with our own arguments
            [sys.executable, "-P", "-c", f"from pydaub.isolation.server import serve; serve({theirs.fileno()})"],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**environment, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, self._setup["path"]))},
            start_new_session=True,  # Ctrl-C in the terminal must reach the owner only
        )
        theirs.close()
        self._socket, self._buffer = ours, b""
        self._send(self._setup)

    def begin(self, arguments: Mapping[str, Any], limits: Limits = Limits(), *, reusable: bool = False) -> int:  # noqa: B008  # frozen
        """Start a call in a child process and return its key.

        With `reusable`, the call may run in the child of an earlier reusable call, and later ones may run in its
        child.
        """
        self._keys += 1
        request = {
            "key": self._keys,
            "arguments": dict(arguments),
            "seconds": None if limits.seconds is None else float(limits.seconds),
            "memory": None if limits.memory is None else int(limits.memory),
            "reusable": reusable,
        }
        self._running[self._keys] = request
        self._send(request)
        return self._keys

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next call that has ended, or None if none ends within `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ready:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            self._socket.settimeout(None if left is None else min(max(left, 1e-6), LONGEST_WAIT))
            try:
                received = self._socket.recv(1 << 16)
            except TimeoutError:
                if left is not None and left > LONGEST_WAIT:
                    continue
                return None
            except ConnectionError:
                received = b""
            if received:
                self._take(received)
            else:
                self._restart()
        return self._ready.popleft()

    def cancel(self, key: int) -> None:
        """Kill the child of a call; `wait` never returns this call."""
        if self._running.pop(key, None) is not None:
            self._send({"cancel": key})
        self._ready = deque(ended for ended in self._ready if ended.key != key)

    def _take(self, received: bytes) -> None:
        *lines, self._buffer = (self._buffer + received).split(b"\n")
        for line in lines:
            ended = Ended(**json.loads(line))
            if self._running.pop(ended.key, None) is not None:
                self._ready.append(ended)

    def _restart(self) -> None:
        """Replace a server that died; repeat each of its calls once, and report those that lose their server twice."""
        self._end_server()
        lost, self._running = self._running, {}
        self._start()
        for key, request in lost.items():
            if key in self._repeated:
                self._ready.append(Ended(key, "crash", None, "the process that started it was killed twice", 0.0, 0.0))
            else:
                self._repeated.add(key)
                self._running[key] = request
                self._send(request)

    def _send(self, message: Mapping[str, Any]) -> None:
        self._socket.settimeout(None)
        with suppress(ConnectionError):  # the server has died; `wait` notices it and starts another
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """Kill every call and end the server. Closing twice is harmless."""
        self._running.clear()
        self._ready.clear()
        self._end_server()

    def _end_server(self) -> None:
        self._socket.close()  # the server sees end-of-file, kills its children and exits
        self._process.terminate()  # ends a server that is still importing modules; a running one ignores it
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _kill_session(self._process.pid)


def _kill_session(leader: int) -> None:
    """Kill survivors in the session of a killed server."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):  # the process has just ended
            session = int(entry.read_text().rpartition(")")[2].split()[3])
            if session == leader:
                os.kill(int(entry.parent.name), signal.SIGKILL)
