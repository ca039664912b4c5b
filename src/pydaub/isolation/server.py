"""The server that forks a child for each call: a time limit, a memory limit, and an end that is always told.

It is started by a `Nursery`, imports what the calls will need, once, and forks a fresh child for each. It enforces the
limits itself, so that they hold whatever its owner is doing, and ends its children when its owner is gone, however
that came about: the pipe between them closes.

A call may be one whose child can be used again: what it had to start first, a JVM, is slow to start. Such a child
runs one call at a time, and only calls of this kind; it ends with the first that fails, is killed, leaves processes
behind, or leaves much memory in use.

Only the standard library and our errors are imported here: the environment decides how many threads a library gets
when it is loaded.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import re
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydaub.isolation import child as childhood
from pydaub.isolation import proc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POLL_SECONDS: Final = 0.1  # how often memory is looked at; at 100 ms a blow-up overshoots by some percent
LONGEST_WAIT: Final = 3600.0  # seconds; the system takes no more than some weeks
TAIL_BYTES: Final = 2000  # what is kept of what a child prints
NEAR: Final = 0.5  # a child that dies after using this share of its memory died for want of it
MEMORY_WORDS: Final = (
    "bad_alloc",
    "bad_malloc",
    "Cannot allocate memory",
    "MemoryError",
    "Memory allocation",
    "out of memory",
    "insufficient memory",  # a JVM's
    "Could not reserve enough space",  # the same
    "can't start new thread",  # there is no memory for its stack
)
IDLE_SHARE, IDLE_BYTES = (
    0.25,
    256 << 20,
)  # the memory that a child may have while it waits: a share of its limit, or so much


@dataclass(slots=True)
class _Child:
    pid: int
    memory: int | None
    base: int  # anonymous memory that it shares with the server
    pipes: dict[int, bytearray]  # what was read of its answer, and of what it prints
    more: int  # where further calls are written to
    key: int | None = None  # of the call that it runs
    again: bool = False  # whether it may run another
    began: float = 0.0
    deadline: float = math.inf
    ooms: int = 0  # how often the system had killed for want of memory when the call began
    peak: int = 0
    killed: str | None = None  # why we ended it

    def take(self, request: Mapping[str, Any]) -> None:
        """Be the child of this call."""
        self.key, self.again, self.began, self.ooms = (
            request["key"],
            request["again"],
            time.monotonic(),
            proc.oom_kills(),
        )
        self.deadline = math.inf if request["seconds"] is None else self.began + request["seconds"]
        self.peak = 0
        for read in self.pipes.values():
            read.clear()


def serve(descriptor: int) -> None:
    """Be the server: import, then fork a child for each request until the owner is gone."""
    _Server(socket.socket(fileno=descriptor)).serve()


class _Server:
    def __init__(self, owner: socket.socket) -> None:
        self._owner, self._buffer = owner, b""
        self._children: dict[int, _Child] = {}  # by pid
        self._selector = selectors.DefaultSelector()
        self._function: Callable[..., Any] = print

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        proc.prctl(proc.PR_SET_CHILD_SUBREAPER, 1)  # what a child leaves behind comes to us, and ends with us
        lines: list[bytes] = []
        while not lines:
            lines = self._received()
        setup, *waiting = map(json.loads, lines)
        self._function = _prepared(setup)
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)  # noqa: FBT003  # its only parameter
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._owner, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        try:
            self._loop(waiting, woken)
        finally:
            signal.set_wakeup_fd(-1)
            self._end_all()

    def _end_all(self) -> None:
        """End the children, and what they leave to us when they end, until nothing is left."""
        with suppress(ChildProcessError):
            while True:
                for pid in self._children:
                    proc.kill(pid)
                proc.kill_strays(set())
                self._children.pop(os.wait()[0], None)

    def _received(self) -> list[bytes]:
        """Return the complete lines that have come from the owner; leave when it is gone."""
        try:
            received = self._owner.recv(1 << 16)
        except ConnectionError:
            received = b""
        if not received:
            raise SystemExit(0)
        *lines, self._buffer = (self._buffer + received).split(b"\n")
        return lines

    def _loop(self, waiting: list[dict[str, Any]], woken: socket.socket) -> None:
        while True:
            for request in waiting:
                self._begin(request)
            waiting = []
            for key, _ in self._selector.select(self._pause()):
                if key.fileobj is self._owner:
                    waiting = [json.loads(line) for line in self._received()]
                elif key.fileobj is woken:
                    woken.recv(1 << 12)
                else:
                    self._drain(key.data, key.fd)
            for child in self._children.values():
                self._enforce(child)
                self._answered(child)
            self._reap()

    def _pause(self) -> float | None:
        """Return how long nothing need be looked at."""
        busy = [child for child in self._children.values() if child.killed is None and child.key is not None]
        nearest = min((child.deadline for child in busy), default=math.inf) - time.monotonic()
        if any(child.memory is not None for child in busy):
            nearest = min(nearest, POLL_SECONDS)
        return None if nearest == math.inf else min(max(nearest, 0.0), LONGEST_WAIT)

    def _begin(self, request: dict[str, Any]) -> None:
        if "cancel" in request:
            for child in self._children.values():
                if child.key == request["cancel"]:
                    child.killed = "cancelled"
                    proc.kill(child.pid)
                    os.kill(child.pid, signal.SIGKILL)
            return
        if request["again"]:
            for child in self._children.values():
                if child.again and child.key is None and child.memory == request["memory"] and _sent(child, request):
                    proc.forget_peak(child.pid)
                    child.take(request)
                    return
        self._fork(request)

    def _fork(self, request: dict[str, Any]) -> None:
        result, result_end = os.pipe()
        output, output_end = os.pipe()
        more_end, more = os.pipe()
        base = proc.anonymous(os.getpid())
        pid = os.fork()
        if pid == 0:
            others = [key.fd for key in self._selector.get_map().values()]
            others += [child.more for child in self._children.values()]
            for descriptor in [*others, result, output, more]:
                os.close(descriptor)
            childhood.live(self._function, request, result_end, output_end, more_end)
        for descriptor in (result_end, output_end, more_end):
            os.close(descriptor)
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same; whoever comes first
        pipes = {result: bytearray(), output: bytearray()}
        self._children[pid] = child = _Child(pid, request["memory"], base, pipes, more)
        child.take(request)
        for descriptor in pipes:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, child)

    def _drain(self, child: _Child, descriptor: int) -> None:
        """Read what a child has written, so that it never waits for us; of what it prints keep the end only."""
        with suppress(BlockingIOError):
            received = os.read(descriptor, 1 << 16)  # all that a pipe holds; not in a loop, that it could keep going
            child.pipes[descriptor] += received
            if descriptor == max(child.pipes):  # its output
                del child.pipes[descriptor][:-TAIL_BYTES]
            if not received:
                with suppress(KeyError):
                    self._selector.unregister(descriptor)  # it was closed; its content is still needed

    def _enforce(self, child: _Child) -> None:
        if child.killed is not None or child.key is None:
            return
        if child.memory is not None:
            child.peak = max(child.peak, proc.used(child.pid, child.base))
            if child.peak > child.memory:
                child.killed = "memory"
        if time.monotonic() >= child.deadline:
            child.killed = "timeout"
        if child.killed is not None:
            proc.kill(child.pid)
            os.kill(child.pid, signal.SIGKILL)  # also one that has left its group

    def _answered(self, child: _Child) -> None:
        """Tell of a call that has ended in a child that could run another; it waits for that, or ends."""
        result = min(child.pipes)
        if not child.again or child.killed is not None or child.key is None or not child.pipes[result].endswith(b"\n"):
            return
        self._tell(child, proc.peak(child.pid), 0)
        answer = json.loads(child.pipes[result])
        failed = not isinstance(answer.get("value"), dict) or "failure" in answer["value"]
        idle = math.inf if child.memory is None else max(IDLE_SHARE * child.memory, IDLE_BYTES)
        if failed or proc.children_of(child.pid) or proc.used(child.pid, child.base) > idle:
            child.again = False
            proc.kill(child.pid)

    def _reap(self) -> None:
        """Tell the owner of the children that have ended."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            proc.kill_strays(set(self._children))
            if child is None:
                continue  # a stray that was left to us
            proc.kill(pid)  # whatever it has left behind in its group
            for descriptor in child.pipes:
                self._drain(child, descriptor)
                with suppress(KeyError):
                    self._selector.unregister(descriptor)
                os.close(descriptor)
            os.close(child.more)
            self._tell(child, usage.ru_maxrss << (10 if sys.platform != "darwin" else 0), status)

    def _tell(self, child: _Child, peak: int, status: int) -> None:
        """Tell the owner how a child's call has ended, once."""
        if child.key is None:
            return
        told = {
            "key": child.key,
            "seconds": time.monotonic() - child.began,
            "peak_mb": peak / (1 << 20),
            **_ended(child, status),
        }
        child.key = None
        with suppress(ConnectionError):  # the owner has just gone; the next look at its pipe says so
            self._owner.sendall(json.dumps(told).encode() + b"\n")


def _sent(child: _Child, request: Mapping[str, Any]) -> bool:
    """Hand a call to a child that waits; whether it is still there to take it."""
    content = json.dumps(request).encode() + b"\n"
    with suppress(BrokenPipeError):
        while content:
            content = content[os.write(child.more, content) :]
    return not content


def _prepared(setup: Mapping[str, Any]) -> Callable[..., Any]:
    """Import what calls will need and return the function."""
    sys.path[:] = setup["path"]
    for name in setup["preload"]:
        with suppress(Exception):  # whoever needs it will say so
            if callable(named := _named(name)):
                named()
    function: Callable[..., Any] = _named(setup["function"])
    gc.collect()
    gc.freeze()  # a child's collections leave the shared pages shared
    return function


def _named(name: str) -> Any:  # noqa: ANN401  # a module, or something in it
    module, _, attribute = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def _ended(child: _Child, status: int) -> dict[str, Any]:  # noqa: PLR0911  # one for each way to end
    """Return what became of a call: its answer, or why there is none."""
    result, output = child.pipes.values()
    tail = output.decode(errors="replace").strip()
    if child.killed == "timeout":
        return _told("timeout", f"longer than {child.deadline - child.began:g} s")
    if child.killed == "memory":
        return _told("memory", f"more than {(child.memory or 0) / 1e6:,.0f} MB")
    answer = {}
    with suppress(ValueError):
        answer = json.loads(result)
    if "value" in answer:
        return {"status": "ok", "value": answer["value"], "message": ""}
    if "memory" in answer:
        return _told("memory", answer["memory"])
    starved = child.memory is not None and tells_of_memory(f"{answer.get('error', '')} {tail}")
    if "error" in answer:
        return _told("memory" if starved else "error", answer["error"])
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL and proc.oom_kills() > child.ooms:
        return _told("memory", "killed by the system, which had no memory left")
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code} and without an answer"
    last = f": {_last_words(tail)}" if tail else ""
    # LightGBM, for one, does not survive an allocation that fails: SIGSEGV instead of an exception.
    if child.memory is not None and (starved or (code < 0 and child.peak > NEAR * child.memory)):
        return _told("memory", f"{how} near its limit of {child.memory / 1e6:,.0f} MB{last}")
    return _told("crash", how + last)


def _last_words(tail: str) -> str:
    """Return the last line that was printed, or the one that says why in a JVM's report on its crash."""
    reason = re.search(r"^#\s+((SIG[A-Z]+|Internal Error) \(.*)", tail, re.MULTILINE)
    return f"the JVM: {reason[1][:200]}" if reason else tail.splitlines()[-1][-200:]


def tells_of_memory(text: str) -> bool:
    """Whether these are the words of a library that was refused memory."""
    return any(word in text for word in MEMORY_WORDS)


def _told(status: str, message: str) -> dict[str, Any]:
    return {"status": status, "value": None, "message": message}
