"""Misbehaviour to run in a `Nursery`. Workers import this module too, so it must be quick to import."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NoReturn

from pydaub.isolation.child import Answer
from pydaub.isolation.proc import children_of

ENOUGH = 120.0  # seconds; a wait in a test takes this long only if it would never end
MB = 1 << 20
NAP = 0.3  # seconds
KEPT: list[bytes] = []


def call(what: str, **arguments: Any) -> Any:
    """Call one of the functions below by its name."""
    return globals()[what](**arguments)


def echo(value: Any) -> Any:
    return value


def until(path: str) -> int:
    """Return once a file exists."""
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


def told_by(module: str) -> Any:
    """Return what `tell` of a module returns."""
    return import_module(module).tell()


def getpid() -> int:
    return os.getpid()


def tell_pid(path: str, *, then: str = "forever") -> Any:
    """Append the process id to a file, then call another function."""
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return call(then)


def tell_pid_until(path: str, end: str) -> dict[str, Any]:
    """Append the process id to a file, and return it once another file exists."""
    tell_pid(path, then="getpid")
    return {"pid": until(end)}


def forever() -> NoReturn:
    while True:
        time.sleep(1)


def loop() -> NoReturn:
    while True:
        pass


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def loop_in_c(megabytes: int = 0) -> int:
    _held = b"x" * (megabytes << 20)
    return sum(itertools.repeat(0))  # neither releases the GIL nor checks for signals


def sleep_with_the_gil() -> int:
    return int(ctypes.PyDLL(None).sleep(10_000))


def stop(times: int) -> str:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGSTOP)
    return "done"


def leave_the_group() -> NoReturn:
    os.setpgid(0, os.getpgid(os.getppid()))
    forever()


def ignore_signals() -> NoReturn:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    forever()


def segfault() -> bytes:
    return ctypes.string_at(0)


def abort() -> NoReturn:
    os.abort()


def leave() -> NoReturn:
    os._exit(3)


def leave_without_a_word() -> NoReturn:
    os._exit(0)


def last_words() -> NoReturn:
    sys.stderr.write("first\nthe matrix is upset\n")
    os._exit(3)


def close_everything() -> None:
    os.closerange(0, 1000)


def exit_politely() -> NoReturn:
    sys.exit("enough\nof this")


def interrupt() -> NoReturn:
    raise KeyboardInterrupt


def recurse() -> None:
    recurse()


def no_json() -> object:
    return {1, 2}


def print_much() -> str:
    for _ in range(50):
        os.write(1, b"x" * 1_000_000)
    return "done"


def print_for_ever() -> NoReturn:
    while True:
        os.write(1, b"x" * (1 << 16))


def read_input() -> str:
    return sys.stdin.read()


def answer_at_length() -> str:
    return "x" * 3_000_000


class Mute(BaseException):
    """Raises when it is converted to text."""

    def __str__(self) -> str:
        raise type(self)


class MuteError(Mute, Exception):
    """The same, as an Exception."""


def raise_mute() -> NoReturn:
    raise MuteError


def raise_at_length() -> NoReturn:
    raise BaseException("x" * 10_000_000)  # noqa: TRY002  # `except Exception` must not catch it


def raise_lines() -> NoReturn:
    raise ValueError("\nthe first line\nand another")


def raise_bad_alloc() -> NoReturn:
    raise RuntimeError("std::bad_alloc")


def raise_surrogate() -> NoReturn:
    raise ValueError("\ud800")  # cannot be encoded as UTF-8


def kill_itself(path: str) -> None:
    tell_pid(path, then="getpid")
    os.kill(os.getpid(), signal.SIGKILL)


def kill_server() -> NoReturn:
    os.kill(os.getppid(), signal.SIGKILL)
    forever()


def kill_others() -> NoReturn:
    """Kill the other children of the server, until it is killed itself or there are none."""
    time.sleep(0.1)
    for other in children_of(os.getppid()) - {os.getpid()}:
        os.kill(other, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def stop_server(times: int) -> str:
    """Stop the server, again whenever it was continued."""

    def stopped() -> bool:
        return Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    for _ in range(times):
        os.kill(os.getppid(), signal.SIGSTOP)
        until = time.monotonic() + 1.0
        while not stopped() and time.monotonic() < until:  # on a busy machine it stops a little later
            time.sleep(0.001)
        while stopped():
            time.sleep(0.01)
    return "done"


def nap() -> str:
    time.sleep(NAP)
    return "awake"


def scribble(content: str) -> str:
    """Write to every pipe and socket that can be reached, also those of the server and of its other children.

    Files are spared: prepared rows that a learner overwrites are the folder's trouble, in this run and in every other.
    """
    server = os.getppid()
    for descriptor in range(3, 64):
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                continue
            os.set_blocking(descriptor, False)
            os.write(descriptor, content.encode())
    for pid in (server, *children_of(server) - {os.getpid()}):
        for path in Path(f"/proc/{pid}/fd").glob("[3-9]*"):
            with suppress(OSError):
                if path.is_file():
                    continue
                descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                os.write(descriptor, content.encode())
                os.close(descriptor)
    return "done"


def answer_for_ever() -> NoReturn:
    while True:
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.write(descriptor, b"x" * (1 << 20))


def fork_idle(size: int) -> str:
    """Allocate `size` bytes, and start six processes that share them."""
    held = b"x" * size
    others = [pid for _ in range(6) if (pid := os.fork())]
    if len(others) < 6:
        time.sleep(0.7)
        os._exit(0)
    for pid in others:
        os.waitpid(pid, 0)
    return "done" if held else ""


def fill_shared(kind: str, size: int) -> NoReturn:
    """Allocate shared memory in one of several ways, then wait."""
    if kind == "shared_memory":
        kept = SharedMemory(create=True, size=size)
        kept.buf[:] = b"x" * size  # type: ignore[index]  # typeshed: None once it is closed
        kept.unlink()
    elif kind == "anonymous":
        anonymous = mmap.mmap(-1, size)
        for _ in range(size // MB):
            anonymous.write(b"x" * MB)
    else:
        descriptor = os.memfd_create("mine")
        for _ in range(size // MB):
            os.write(descriptor, b"x" * MB)
    forever()


def fill_memory(step: int = MB) -> list[Any]:
    """Allocate 4 GB in steps of `step` bytes."""
    import numpy as np  # noqa: PLC0415  # slow to import

    return [np.ones(step, np.uint8) for _ in range((4 << 30) // step)]


def fill_memory_in_others(step: int) -> None:
    """Start several processes that together use too much memory, though none of them does alone."""
    hold = f"import time; held = b'x' * {step}; time.sleep(10_000)"
    others = [subprocess.Popen([sys.executable, "-c", hold]) for _ in range(4)]
    others[0].wait()


def sum_of_mapped(path: str) -> int:
    import numpy as np  # noqa: PLC0415  # slow to import

    return int(np.load(path, mmap_mode="r").sum())


def start_others(path: str, *, apart: bool, stay: bool) -> None:
    """Start a process that starts another, wait until both have written their process ids, then stay or return."""
    if os.fork() == 0:
        if apart:
            os.setsid()
        os.fork()
        tell_pid(path)
    while len(pids(Path(path))) < 2:
        time.sleep(0.01)
    if stay:
        forever()


def who(*, reusable: bool = True, held: int = 0) -> Answer:
    """Return the process id, and keep `held` bytes in memory."""
    KEPT.append(b"x" * held)
    return Answer({"pid": os.getpid()}, reusable)


def take_and_give_back(size: int) -> dict[str, Any]:
    """Allocate `size` bytes and free them."""
    return {"sum": len(b"x" * size)}


def who_with_another() -> dict[str, Any]:
    """Return the process id, and leave another process running."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"])
    return {"pid": os.getpid(), "other": other.pid}


def surroundings() -> dict[str, Any]:
    return {
        "environment": dict(os.environ),
        "path": sys.path,
        "folder": str(Path.cwd()),
        "default_sigterm": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
    }


def pids(path: Path) -> list[int]:
    """Return the process ids in a file, without a last line that is incomplete."""
    if not path.exists():
        return []
    return [int(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def alive(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(holds: Any) -> None:
    """Return as soon as a condition holds; fail if it never does."""
    end = time.monotonic() + ENOUGH
    while not holds():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.01)
