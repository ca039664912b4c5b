"""Processes as /proc shows them: their memory, their children, and how to kill them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36


def kill(pid: int) -> None:
    """Kill every process in the process group of a child."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_strays(known: set[int]) -> None:
    """Kill children of this process other than the known ones: orphans that it inherited from a child that exited."""
    for pid in children_of(os.getpid()) - known:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def used(pid: int, base: int) -> int:
    """Return the memory in bytes that a child and its descendants use, less the `base` that a fresh child has.

    Pages of memory-mapped files are not counted: they hold the training data, which all workers share.
    """
    own = max(anonymous(pid) - base, 0)
    return own + sum(used(started, 0) for started in children_of(pid))


def anonymous(pid: int) -> int:
    """Return the resident memory of a process in bytes, without the pages of memory-mapped files."""
    return status(str(pid), "RssAnon")


def peak(pid: int) -> int:
    """Return the peak resident memory of a process in bytes, including the pages of memory-mapped files."""
    return status(str(pid), "VmHWM")


def reset_peak(pid: int) -> None:
    """Make `peak` count from now on."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def status(pid: str, name: str) -> int:
    """Return a field of /proc/PID/status in bytes; 0 if there is none (on macOS, or after the process has ended)."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
    return 0


def children_of(pid: int) -> set[int]:
    """Return the process ids of the direct children of a process."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (thread / "children").read_text().split()))
    return found


def oom_kills() -> int:
    """Return how many processes the kernel's OOM killer has killed since the machine started."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process on Linux; do nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
