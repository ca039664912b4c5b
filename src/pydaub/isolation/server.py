"""The server process: it forks a child for each call, enforces its limits, and always reports how it ended.

It imports once what the calls need. When its owner, a `Nursery`, is gone for any reason, the pipe between them closes,
and the server kills its children and exits.

A reusable call may share its child with other reusable calls, one at a time, because what the child starts first (a
JVM) is slow to start. Such a child is killed when a call fails, says that it left the child unusable, is killed,
leaves processes running, or leaves much memory in use.

This module imports only the standard library and our own errors: the environment must be set before libraries that
read their number of threads from it are loaded.
"""

from __future__ import annotations

import gc
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
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from pydaub.isolation import proc
from pydaub.isolation.child import live, mentions_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

POLL_SECONDS: Final = 0.1  # how often memory is checked; within 100 ms a child overshoots its limit by a few percent
LONGEST_WAIT: Final = 3600.0  # seconds; `select` overflows with timeouts of several weeks
TAIL_BYTES: Final = 2000  # how much of a child's output is kept, from its end
DRAINS: Final = 100  # reads, each of 64 KiB
MOST_ANSWER: Final = 1 << 28  # bytes; a child that writes more to the server is killed
NEAR: Final = 0.5  # a signal that ends a child using more than this share of its memory limit counts as lack of memory
STOPS: Final = 3  # how often a process that was stopped is continued before that is given up
GRACE: Final = 10.0  # seconds from SIGTERM to SIGKILL for a program
PAUSE_SHARE: Final = 9  # the memory of a child is measured for at most a tenth of the time
# Signals by which somebody else ends a process: an administrator, the system, or another learner.
OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
# An idle child that uses more memory than this is killed: a share of its limit, but at least so many bytes.
IDLE_SHARE, IDLE_BYTES = 0.25, 256 << 20


@dataclass(slots=True)
class _Pipe:
    """The server's end of what a child writes to, and what was read from it; `keep` limits that to the end."""

    descriptor: int
    keep: int | None = None
    content: bytearray = field(default_factory=bytearray)

    def read(self) -> bool:
        """Read what there is; return False at end of file. Only once: a chatty child must not starve the loop."""
        return self._received() != b""

    def drain(self) -> None:
        """Read what a child that has ended has left; its descendants may still be writing."""
        for _ in range(DRAINS):
            if not self._received():
                return

    def _received(self) -> bytes | None:
        try:
            received = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return None
        except ConnectionError:  # the child was killed before it had read everything that was sent to it
            return b""
        self.content += received
        if self.keep is not None:
            del self.content[: -self.keep]
        return received


@dataclass(slots=True)
class _Child:
    pid: int
    memory: int | None
    base: int  # anonymous memory that it shares with the server
    result: _Pipe  # carries its answers
    output: _Pipe  # carries what it prints
    requests: int  # descriptor to which further calls are written
    key: int | None = None  # of the call that it is running
    reusable: bool = False
    program: bool = False  # whether the call runs a program, which is asked to end before it is killed
    began: float = 0.0
    deadline: float = math.inf
    kill_at: float = math.inf  # when a program is killed that was asked to end
    oom_kills: int = 0  # by the kernel, before the call began
    peak: int = 0
    look_at: float = 0.0  # when its memory is measured next
    stops: int = 0  # how often it was stopped
    killed: str | None = None  # why the server killed it

    @property
    def pipes(self) -> tuple[_Pipe, _Pipe]:
        return self.result, self.output

    @property
    def busy(self) -> bool:
        return self.key is not None and self.killed is None

    def take(self, request: Mapping[str, Any]) -> None:
        """Record that this child now runs the requested call."""
        self.key, self.reusable, self.program = request["key"], request["reusable"], request["program"]
        self.began, self.oom_kills, self.peak = time.monotonic(), proc.oom_kills(), 0
        self.deadline = math.inf if request["seconds"] is None else self.began + request["seconds"]
        for pipe in self.pipes:
            pipe.content.clear()

    def end(self, why: str) -> None:
        """Ask a program to end, and kill it some time later; kill anything else at once."""
        if not self.program:
            self.kill(why)
        elif self.killed is None:
            self.killed, self.kill_at = why, time.monotonic() + GRACE
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)  # the child itself ignores it
                os.killpg(self.pid, signal.SIGCONT)  # one that was stopped would not notice

    def kill(self, why: str) -> None:
        self.killed, self.kill_at = why, math.inf
        proc.kill(self.pid)
        os.kill(self.pid, signal.SIGKILL)  # in case it has left its process group

    def answer(self) -> dict[str, Any]:
        """Return the answer to the call, empty if there is none."""
        with suppress(ValueError, RecursionError):  # a learner may write anything to any descriptor
            found = json.loads(self.result.content)
            return found if isinstance(found, dict) else {}
        return {}


def serve(descriptor: int) -> None:
    """Run the server: import what calls need, then fork a child for each request until the owner is gone."""
    _Server(Connection(descriptor)).serve()


class _Server:
    def __init__(self, owner: Connection) -> None:
        self._owner = owner
        self._children: dict[int, _Child] = {}  # by pid
        self._selector = selectors.DefaultSelector()
        self._own: list[int] = []  # descriptors that no child should have
        self._function: Callable[..., Any] = print
        self._loaded: set[str] = set()

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        proc.prctl(proc.PR_SET_CHILD_SUBREAPER, 1)  # inherit the orphans of children that exit, to kill them
        with suppress(OSError):
            os.dup2(2, 1)  # what modules print when they are imported; the owner's stdout is for its results
        setup = self._received()
        sys.path[:] = setup["path"]
        self._load(setup["preload"])
        self._function = resolve_name(setup["function"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from now on it must kill its children before it exits
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)  # noqa: FBT003  # its only parameter
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._owner, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        self._own = [wake.fileno(), *([self._selector.fileno()] if hasattr(self._selector, "fileno") else [])]
        try:
            self._loop(woken)
        finally:
            signal.set_wakeup_fd(-1)
            self._kill_all()

    def _kill_all(self) -> None:
        """End the children, and the orphans that each of them leaves, until no process is left."""
        with suppress(ChildProcessError):
            self._end_programs()
            while True:
                for pid in self._children:
                    proc.kill(pid)
                proc.kill_strays(set())
                self._children.pop(os.wait()[0], None)

    def _end_programs(self) -> None:
        """Ask programs to end, and wait until they have; kill all other children meanwhile."""
        for child in self._children.values():
            child.end("closed")
        while programs := [child for child in self._children.values() if child.program]:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid:
                proc.kill(pid)  # the rest of its process group
                self._children.pop(pid, None)
            elif time.monotonic() > max((each.kill_at for each in programs if each.kill_at < math.inf), default=0.0):
                return
            else:
                time.sleep(POLL_SECONDS / 2)

    def _received(self) -> Any:  # noqa: ANN401  # the set-up, or a request
        """Return what the owner has sent; exit if the owner is gone."""
        try:
            return json.loads(self._owner.recv_bytes())
        except (EOFError, OSError):
            raise SystemExit(0) from None

    def _loop(self, woken: socket.socket) -> None:
        while True:
            requests = []
            for key, _ in self._selector.select(self._pause()):
                if key.fileobj is self._owner:
                    requests.append(self._received())
                elif key.fileobj is woken:
                    woken.recv(1 << 12)
                elif not key.data.read():
                    self._selector.unregister(key.fd)
            for child in self._children.values():
                self._enforce(child)
                self._finish_reusable(child)
            self._continue_stopped()
            self._reap()
            for request in requests:
                self._begin(request)

    def _pause(self) -> float | None:
        """Return how many seconds the loop may wait for events before it must check the limits."""
        busy = [child for child in self._children.values() if child.busy]
        times = [*(child.deadline for child in busy), *(child.kill_at for child in self._children.values())]
        nearest = min(times, default=math.inf) - time.monotonic()
        if any(child.memory is not None for child in busy):
            nearest = min(nearest, POLL_SECONDS)
        return None if nearest == math.inf else min(max(nearest, 0.0), LONGEST_WAIT)

    def _begin(self, request: dict[str, Any]) -> None:
        if "cancel" in request:
            for child in self._children.values():
                if child.key == request["cancel"]:
                    child.end("cancelled")
            return
        if request["reusable"]:
            for child in self._children.values():
                idle = child.reusable and child.key is None and child.memory == request["memory"]
                if idle and _sent(child, request):
                    proc.reset_peak(child.pid)
                    child.take(request)
                    return
        self._fork(request)

    def _load(self, names: Sequence[str]) -> None:
        """Import modules that are not loaded yet; if any name is new, call all functions among the names."""
        if self._loaded.issuperset(names):
            return
        for name in names:
            if ":" in name or name not in self._loaded:
                with suppress(BaseException):  # a call that needs it raises the same error, and that is reported
                    if callable(named := resolve_name(name)):
                        named()
        self._loaded.update(names)
        gc.collect()
        gc.freeze()  # garbage collection in a child must not write to pages that it shares with the server

    def _fork(self, request: dict[str, Any]) -> None:
        self._load(request["preload"])
        result, result_end = _one_way()
        output, output_end = os.pipe()  # programs open /dev/stdout anew, which a socket does not allow
        requests_end, requests = _one_way()
        base = proc.base(os.getpid())
        pid = os.fork()
        if pid == 0:
            others = [key.fd for key in self._selector.get_map().values()]
            others += [*self._own, *(child.requests for child in self._children.values())]
            for descriptor in [*others, result, output, requests]:
                with suppress(OSError):  # on macOS, a fork does not have the selector's
                    os.close(descriptor)
            function = self._function if "rest" not in request else lambda: time.sleep(request["rest"])
            live(function, request, result_end, output_end, requests_end)
        for descriptor in (result_end, output_end, requests_end):
            os.close(descriptor)
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same: whichever runs first
        child = _Child(pid, request["memory"], base, _Pipe(result), _Pipe(output, TAIL_BYTES), requests)
        child.take(request)
        self._children[pid] = child
        for pipe in child.pipes:
            os.set_blocking(pipe.descriptor, False)
            self._selector.register(pipe.descriptor, selectors.EVENT_READ, pipe)

    def _enforce(self, child: _Child) -> None:
        """End a child that is over one of its limits, and kill a program that was asked to end and has not."""
        now = time.monotonic()
        if now >= child.kill_at:
            child.kill(child.killed or "closed")
        if not child.busy:
            return
        if child.memory is not None and now >= child.look_at:
            used = proc.used(child.pid, child.base, NEAR * child.memory)
            if used > child.memory:  # processes that end while they are counted can make the sum too large: count again
                used = min(used, proc.used(child.pid, child.base, NEAR * child.memory))
            child.peak = max(child.peak, used)
            child.look_at = time.monotonic() + PAUSE_SHARE * (time.monotonic() - now)
        if now >= child.deadline:
            child.end("timeout")
        elif len(child.result.content) > MOST_ANSWER:
            child.kill("answer")
        elif child.memory is not None and child.peak > child.memory:
            child.kill("memory")

    def _finish_reusable(self, child: _Child) -> None:
        """Report the call of a reusable child once it has answered; kill the child if it must not be reused."""
        if not child.reusable or not child.busy or not child.result.content.endswith(b"\n"):
            return
        self._report(child, proc.peak(child.pid), 0)
        idle = math.inf if child.memory is None else max(IDLE_SHARE * child.memory, IDLE_BYTES)
        usable = child.answer().get("reusable", False)
        if not usable or proc.children_of(child.pid) or proc.used(child.pid, child.base, idle) > idle:
            child.reusable = False
            proc.kill(child.pid)

    def _continue_stopped(self) -> None:
        """Continue the children that somebody has stopped; give up those that are stopped again and again."""
        for child in self._children.values():
            if child.busy and proc.was_stopped(child.pid):
                child.stops += 1
                if child.stops > STOPS:
                    child.kill("stopped")
                else:
                    os.kill(child.pid, signal.SIGCONT)

    def _reap(self) -> None:
        """Report the children that have exited."""
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
                continue  # an orphan that the server inherited
            proc.kill(pid)  # the rest of its process group
            for pipe in child.pipes:
                pipe.drain()
                with suppress(KeyError):
                    self._selector.unregister(pipe.descriptor)
                os.close(pipe.descriptor)
            os.close(child.requests)
            self._report(child, usage.ru_maxrss << (10 if sys.platform != "darwin" else 0), status)

    def _report(self, child: _Child, peak: int, status: int) -> None:
        """Tell the owner how the call of a child has ended, unless that was reported before."""
        if child.key is None:
            return
        report = {
            "key": child.key,
            "seconds": time.monotonic() - child.began,
            "peak_mb": (child.peak if child.program else peak) / (1 << 20),
            **_ended(child, status),
        }
        child.key = None
        with suppress(ConnectionError):  # the owner has gone; the next read from it ends the server
            self._owner.send_bytes(json.dumps(report).encode())


def _sent(child: _Child, request: Mapping[str, Any]) -> bool:
    """Send a call to an idle child; return False if the child has just died."""
    content = json.dumps(request).encode() + b"\n"
    with suppress(ConnectionError):
        while content:
            content = content[os.write(child.requests, content) :]
    return not content


def _ended(child: _Child, status: int) -> dict[str, Any]:
    """Return how a call ended: with its return value, or with the reason why there is none."""
    reasons = {
        "timeout": ("timeout", f"longer than {child.deadline - child.began:g} s"),
        "memory": ("memory", f"more than {(child.memory or 0) / 1e6:,.0f} MB"),
        "stopped": ("crash", f"stopped {child.stops} times"),
        "answer": ("crash", f"its answer was longer than {MOST_ANSWER / 1e6:,.0f} MB"),
    }
    if child.killed in reasons:
        return _failed(*reasons[child.killed])
    answer = child.answer()
    if "value" in answer:
        return {"status": "ok", "value": answer["value"], "message": "", "outside": False}
    if "memory" in answer:
        return _failed("memory", str(answer["memory"]))
    printed = child.output.content.decode(errors="replace").strip()
    starved = child.memory is not None and mentions_memory(printed)
    if "error" in answer:
        return _failed("memory" if starved else "error", str(answer["error"]))
    return _died(child, os.waitstatus_to_exitcode(status), printed, starved=starved)


def _died(child: _Child, code: int, printed: str, *, starved: bool) -> dict[str, Any]:
    """Return why a call ended without an answer: a crash, lack of memory, or somebody who killed it."""
    # After a failed allocation, LightGBM dies of SIGSEGV instead of raising an exception.
    near = child.memory is not None and (starved or (code < 0 and child.peak > NEAR * child.memory))
    if code == -signal.SIGKILL and proc.oom_kills() > child.oom_kills:
        return _failed("memory", "killed by the system, which had no memory left", outside=not near)
    how = f"ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code} and without an answer"
    last = f": {_last_words(printed)}" if printed else ""
    if near:
        return _failed("memory", f"{how} near its limit of {(child.memory or 0) / 1e6:,.0f} MB{last}")
    return _failed("crash", how + last, outside=-code in OUTSIDE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _last_words(printed: str) -> str:
    """Return the last line of the output, or from a JVM's crash report the line with the cause."""
    reason = re.search(r"^#\s+((SIG[A-Z]+|Internal Error) \(.*)", printed, re.MULTILINE)
    return f"the JVM: {reason[1][:200]}" if reason else printed.splitlines()[-1][-200:]


def _failed(status: str, message: str, *, outside: bool = False) -> dict[str, Any]:
    return {"status": status, "value": None, "message": message, "outside": outside}


def _one_way() -> tuple[int, int]:
    """Return a descriptor to read from and one to write to; unlike a pipe's, others cannot open them through /proc."""
    reader, writer = socket.socketpair()
    reader.shutdown(socket.SHUT_WR)
    writer.shutdown(socket.SHUT_RD)
    return reader.detach(), writer.detach()
