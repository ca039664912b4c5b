"""What learners do wrong, as calls for a `Nursery`; workers import it too, so it is quick to import."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

ENOUGH = 60.0  # seconds that no wait in a test comes near, unless it would wait for ever
MB = 1 << 20
KEPT: list[bytes] = []


def call(what: str, **arguments: Any) -> Any:
    """Do one of the things below."""
    return globals()[what](**arguments)


def echo(value: Any) -> Any:
    return value


def until(path: str) -> int:
    """Return once a file is there."""
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


def getpid() -> int:
    return os.getpid()


def tell_pid(path: str, *, then: str = "forever") -> Any:
    """Write down who runs this, and go on."""
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return call(then)


def tell_pid_until(path: str, end: str) -> dict[str, Any]:
    """Write down who runs this, and return that as a learner's outcome once a file is there."""
    tell_pid(path, then="getpid")
    return {"pid": until(end)}


def forever() -> NoReturn:
    while True:
        time.sleep(1)


def loop() -> NoReturn:
    while True:
        pass


def loop_in_c() -> int:
    return sum(itertools.repeat(0))  # neither gives the GIL back nor looks for signals


def sleep_with_the_gil() -> int:
    return int(ctypes.PyDLL(None).sleep(10_000))


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


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
    """Cannot even say what is wrong."""

    def __str__(self) -> str:
        raise type(self)


class MuteError(Mute, Exception):
    """The same, as learners raise it."""


def raise_mute() -> NoReturn:
    raise MuteError


def raise_at_length() -> NoReturn:
    raise BaseException("x" * 10_000_000)  # noqa: TRY002  # what no `except Exception` catches


def raise_lines() -> NoReturn:
    raise ValueError("\nthe first line\nand another")


def raise_surrogate() -> NoReturn:
    raise ValueError("\ud800")  # which no UTF-8 holds


def fill_memory(step: int = MB) -> list[Any]:
    """Take 4 GB in steps of so many bytes."""
    import numpy as np  # noqa: PLC0415  # only where it is needed

    return [np.ones(step, np.uint8) for _ in range((4 << 30) // step)]


def fill_memory_in_others(step: int) -> None:
    """Have several processes take a share each, none too much of it."""
    hold = f"import time; held = b'x' * {step}; time.sleep(10_000)"
    others = [subprocess.Popen([sys.executable, "-c", hold]) for _ in range(4)]
    others[0].wait()


def sum_of_mapped(path: str) -> int:
    import numpy as np  # noqa: PLC0415  # as above

    return int(np.load(path, mmap_mode="r").sum())


def start_others(path: str, *, apart: bool, stay: bool) -> None:
    """Start a process that starts another, have both write down who they are, and stay or go."""
    if os.fork() == 0:
        if apart:
            os.setsid()
        os.fork()
        tell_pid(path)
    while len(pids(Path(path))) < 2:
        time.sleep(0.01)
    if stay:
        forever()


def who(failure: str | None = None, held: int = 0) -> dict[str, Any]:
    """Return who runs this, as the outcome of a learner, and keep so many bytes."""
    KEPT.append(b"x" * held)
    return {"pid": os.getpid(), **({"failure": failure} if failure else {})}


def take_and_give_back(size: int) -> dict[str, Any]:
    """Use so many bytes for a moment."""
    return {"sum": len(b"x" * size)}


def who_with_another() -> dict[str, Any]:
    """The same, and leave a process running."""
    return {**who(), "other": subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"]).pid}


def surroundings() -> dict[str, Any]:
    return {"environment": dict(os.environ), "path": sys.path, "folder": str(Path.cwd())}


def pids(path: Path) -> list[int]:
    """Return the whole lines of what was written down."""
    if not path.exists():
        return []
    return [int(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def alive(pid: int) -> bool:
    """Whether a process still does something; one that only waits for its parent to look at it does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(holds: Any) -> None:
    """Return when a condition holds; fail if it never does."""
    end = time.monotonic() + ENOUGH
    while not holds():
        assert time.monotonic() < end, "this should have come about long ago"
        time.sleep(0.01)
