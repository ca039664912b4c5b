"""Isolated child processes from the owner's side: begin a call, wait for one to end, close.

A `Nursery` starts one server process by exec (`worker.py`), which forks a child for each call. Nothing of the owner's
memory is copied, no lock or file of the owner is inherited, and the owner's `__main__` is never imported again.
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

# Read by libraries when they are loaded; a child raises its own share with threadpoolctl.
ENVIRONMENT: Final = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    ),
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # its own pool reserves a gigabyte, which the memory limit would count
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use. None: as much as it likes."""

    seconds: float | None = None
    memory: int | None = None  # bytes, beyond what a fresh child has


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
    """The owner's side: `begin` a call, `wait` for one to end, `close`.

    `function` is "module:name"; it is called in a child as function(**arguments) with plain JSON values and returns
    one. `preload` are modules that the server imports once, or "module:name" of functions that it also calls.
    """

    def __init__(self, function: str, preload: Sequence[str] = ()) -> None:
        self._setup = {"function": function, "preload": list(preload), "path": [*map(str, sys.path)]}
        self._running: dict[int, dict[str, Any]] = {}  # what was asked, in case the server dies
        self._died: set[int] = set()  # asked a second time, since the server died under them
        self._ready: deque[Ended] = deque()
        self._keys = 0
        self._buffer = b""
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-P", "-c", f"from pydaub.isolation.server import serve; serve({theirs.fileno()})"],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**environment, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, self._setup["path"]))},
            start_new_session=True,  # Ctrl-C is for the owner
        )
        theirs.close()
        self._socket, self._buffer = ours, b""
        self._send(self._setup)

    def begin(self, arguments: Mapping[str, Any], limits: Limits = Limits(), *, again: bool = False) -> int:  # noqa: B008  # frozen
        """Start a call in a child of its own and return its key; with `again`, calls may have the same one in turn."""
        self._keys += 1
        request = {
            "key": self._keys,
            "arguments": dict(arguments),
            "seconds": None if limits.seconds is None else float(limits.seconds),
            "memory": None if limits.memory is None else int(limits.memory),
            "again": again,
        }
        self._running[self._keys] = request
        self._send(request)
        return self._keys

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next call that has ended, or None after so many seconds."""
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
        """Kill the child of a call, of which nothing more is told."""
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
        """Start a new server after the old one died: what it was running is tried once more, and then given up."""
        self._end_server()
        lost, self._running = self._running, {}
        self._start()
        for key, request in lost.items():
            if key in self._died:
                self._ready.append(Ended(key, "crash", None, "the process that started it was killed twice", 0.0, 0.0))
            else:
                self._died.add(key)
                self._running[key] = request
                self._send(request)

    def _send(self, message: Mapping[str, Any]) -> None:
        self._socket.settimeout(None)
        with suppress(ConnectionError):  # the server has died: `wait` finds that out and starts another
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """End every call and the server. Closing twice does no harm."""
        self._running.clear()
        self._ready.clear()
        self._end_server()

    def _end_server(self) -> None:
        self._socket.close()  # the server sees the end of its pipe, kills its children and leaves
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _end_session(self._process.pid)


def _end_session(leader: int) -> None:
    """End what a server has left behind that was killed itself: its session is its own."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):  # it has just ended
            session = int(entry.read_text().rpartition(")")[2].split()[3])
            if session == leader:
                os.kill(int(entry.parent.name), signal.SIGKILL)
