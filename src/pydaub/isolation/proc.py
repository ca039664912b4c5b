"""What the system says of processes: their memory, whom they have started, and their end."""

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
    """End a child and everything in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_strays(known: set[int]) -> None:
    """End processes that left their group and were left to us by a child that has ended."""
    for pid in children_of(os.getpid()) - known:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def used(pid: int, base: int) -> int:
    """Return the memory of a child and of those it has started, in bytes, beyond what a fresh child has.

    Pages of mapped files are not counted: they are the data, which all workers share.
    """
    own = max(anonymous(pid) - base, 0)
    return own + sum(used(started, 0) for started in children_of(pid))


def anonymous(pid: int) -> int:
    """Return the memory of a process, in bytes, without the pages of mapped files."""
    return status(str(pid), "RssAnon")


def peak(pid: int) -> int:
    """Return the most memory that a process has had, in bytes, those pages included."""
    return status(str(pid), "VmHWM")


def forget_peak(pid: int) -> None:
    """Have `peak` count from now on."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def status(pid: str, name: str) -> int:
    """Return a line of /proc/PID/status in bytes, 0 where there is none: macOS, or a process that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
    return 0


def children_of(pid: int) -> set[int]:
    """Return the processes that a process has started and that have not ended."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (thread / "children").read_text().split()))
    return found


def oom_kills() -> int:
    """Return how often the system has killed a process for want of memory since it was started."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def prctl(option: int, value: int) -> None:
    """Set what Linux keeps for a process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
