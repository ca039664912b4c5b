"""The server that forks a child for each call: a time limit, a memory limit, and an end that is always told.

It is started by a `Nursery`, imports what the calls will need, once, and forks a fresh child for each. It enforces the
limits itself, so that they hold whatever its owner is doing, and ends its children when its owner is gone, however
that came about: the pipe between them closes.

Only the standard library and our errors are imported here: the environment decides how many threads a library gets
when it is loaded.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import math
import os
import re
import resource
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pydaub.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POLL_SECONDS: Final = 0.1  # how often memory is looked at; at 100 ms a blow-up overshoots by some percent
# What is reserved is more than what is used, and OpenBLAS tries for ever where it is refused: the limit proper is what
# the server sees in use; the system refuses only what is far beyond it.
SLACK, SLACK_BYTES = 1.25, 128 << 20
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
    "can't start new thread",  # there is no memory for its stack
)
MEMORY_VARIABLE: Final = "PYDAUB_MEMORY"  # the limit in bytes, where there is one
PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36


@dataclass(slots=True)
class _Child:
    key: int
    pid: int
    began: float
    deadline: float
    memory: int | None
    base: int  # anonymous memory that it shares with the server
    ooms: int  # how often the system had killed for want of memory when it began
    pipes: dict[int, bytearray]  # what was read of its answer, and of what it prints
    peak: int = 0
    killed: str | None = None  # why we ended it


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
        _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a child leaves behind comes to us, and ends with us
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
                    _kill(pid)
                _kill_strays(set())
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
            self._reap()

    def _pause(self) -> float | None:
        """Return how long nothing need be looked at."""
        alive = [child for child in self._children.values() if child.killed is None]
        nearest = min((child.deadline for child in alive), default=math.inf) - time.monotonic()
        if any(child.memory is not None for child in alive):
            nearest = min(nearest, POLL_SECONDS)
        return None if nearest == math.inf else min(max(nearest, 0.0), LONGEST_WAIT)

    def _begin(self, request: dict[str, Any]) -> None:
        result, result_end = os.pipe()
        output, output_end = os.pipe()
        base, ooms, began = _anonymous(os.getpid()), _oom_kills(), time.monotonic()
        pid = os.fork()
        if pid == 0:
            for descriptor in [key.fd for key in self._selector.get_map().values()] + [result, output]:
                os.close(descriptor)
            _be_a_child(self._function, request, result_end, output_end)
        os.close(result_end)
        os.close(output_end)
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same; whoever comes first
        deadline = math.inf if request["seconds"] is None else began + request["seconds"]
        pipes = {result: bytearray(), output: bytearray()}
        self._children[pid] = child = _Child(request["key"], pid, began, deadline, request["memory"], base, ooms, pipes)
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
        if child.killed is not None:
            return
        if child.memory is not None:
            child.peak = max(child.peak, _used(child.pid, child.base))
            if child.peak > child.memory:
                child.killed = "memory"
        if time.monotonic() >= child.deadline:
            child.killed = "timeout"
        if child.killed is not None:
            _kill(child.pid)
            os.kill(child.pid, signal.SIGKILL)  # also one that has left its group

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
            _kill_strays(set(self._children))
            if child is None:
                continue  # a stray that was left to us
            seconds = time.monotonic() - child.began
            _kill(pid)  # whatever it has left behind in its group
            for descriptor in child.pipes:
                self._drain(child, descriptor)
                with suppress(KeyError):
                    self._selector.unregister(descriptor)
                os.close(descriptor)
            peak_mb = usage.ru_maxrss / (1 << 10 if sys.platform != "darwin" else 1 << 20)
            told = {"key": child.key, "seconds": seconds, "peak_mb": peak_mb, **_ended(child, status)}
            with suppress(ConnectionError):  # the owner has just gone; the next look at its pipe says so
                self._owner.sendall(json.dumps(told).encode() + b"\n")


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


def _be_a_child(function: Callable[..., Any], request: Mapping[str, Any], result: int, output: int) -> NoReturn:
    """Run one call and leave, without a way back into the server's code."""
    try:
        content = _answer(function, request, output)
        while content:
            content = content[os.write(result, content) :]
    finally:
        os._exit(0)  # nothing of the server's is flushed or closed a second time


def _answer(function: Callable[..., Any], request: Mapping[str, Any], output: int) -> bytes:
    """Settle in, within the limits, run the call and return what is to be told of it."""
    try:
        os.setpgid(0, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what this one has started stays with it, and is counted with it
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, standard in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, standard)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")  # if the system must kill somebody: this one
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if request["memory"] is not None:
            os.environ[MEMORY_VARIABLE] = str(request["memory"])  # for a JVM, which must be told
        if request["memory"] is not None and (data := _status("self", "VmData")):
            limit = data + int(SLACK * request["memory"]) + SLACK_BYTES
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # RLIMIT_AS would count mapped files
        return json.dumps({"value": function(**request["arguments"])}).encode()
    except MemoryError as error:
        return json.dumps({"memory": one_line(error)}).encode()
    except BaseException as error:  # noqa: BLE001  # also SystemExit: a child has no other way to tell
        return json.dumps({"error": one_line(error)}).encode()


def _ended(child: _Child, status: int) -> dict[str, Any]:  # noqa: PLR0911  # one for each way to end
    """Return what became of a child: its answer, or why there is none."""
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
    if code == -signal.SIGKILL and _oom_kills() > child.ooms:
        return _told("memory", "killed by the system, which had no memory left")
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code} and without an answer"
    last = f": {_last_words(tail)}" if tail else ""
    # LightGBM, for one, does not survive an allocation that fails: SIGSEGV instead of an exception.
    if child.memory is not None and (starved or (code < 0 and child.peak > NEAR * child.memory)):
        return _told("memory", f"{how} near its limit of {child.memory / 1e6:,.0f} MB{last}")
    return _told("crash", how + last)


def _last_words(tail: str) -> str:
    """Return the last line that was printed, or the one that says why in a JVM's report on its crash."""
    reason = re.search(r"^#\s+((SIG|Internal Error|Native memory).*)", tail, re.MULTILINE)
    return f"the JVM: {reason[1][:200]}" if reason else tail.splitlines()[-1][-200:]


def tells_of_memory(text: str) -> bool:
    """Whether these are the words of a library that was refused memory."""
    return any(word in text for word in MEMORY_WORDS)


def _told(status: str, message: str) -> dict[str, Any]:
    return {"status": status, "value": None, "message": message}


def _kill(pid: int) -> None:
    """End a child and everything in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _kill_strays(known: set[int]) -> None:
    """End processes that left their group and were left to us by a child that has ended."""
    for pid in _children_of(os.getpid()) - known:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _used(pid: int, base: int) -> int:
    """Return the memory of a child and of those it has started, in bytes, beyond what a fresh child has.

    Pages of mapped files are not counted: they are the data, which all workers share.
    """
    own = max(_anonymous(pid) - base, 0)
    return own + sum(_used(started, 0) for started in _children_of(pid))


def _anonymous(pid: int) -> int:
    return _status(str(pid), "RssAnon")


def _status(pid: str, name: str) -> int:
    """Return a line of /proc/PID/status in bytes, 0 where there is none: macOS, or a process that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
    return 0


def _children_of(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (thread / "children").read_text().split()))
    return found


def _oom_kills() -> int:
    """Return how often the system has killed a process for want of memory since it was started."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
