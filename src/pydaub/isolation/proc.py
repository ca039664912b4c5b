"""What the system says: the memory and the children of processes, and what the machine has."""

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
    own = max(status(pid, "RssAnon") - base, 0)
    return own + sum(used(started, 0) for started in children_of(pid))


def peak(pid: int) -> int:
    """Return the peak resident memory of a process in bytes, including the pages of memory-mapped files."""
    return status(pid, "VmHWM")


def reset_peak(pid: int) -> None:
    """Make `peak` count from now on."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def status(pid: int | str, name: str) -> int:
    """Return a field of /proc/PID/status in bytes; 0 if there is none."""
    return figure(f"/proc/{pid}/status", f"{name}:") << 10


def figure(path: str, prefix: str) -> int:
    """Return the number in a line of a file of /proc; 0 if there is none (on macOS, or of an ended process)."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(prefix):
                return int(line.removeprefix(prefix).split()[0])
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
    return figure("/proc/vmstat", "oom_kill ")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process on Linux; do nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def gpus() -> list[str]:
    """Return the GPUs that this process may use, as CUDA numbers them; none where there is no driver for them."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [part.strip() for part in given.split(",") if part.strip() not in {"", "-1"}]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return how many bytes are available, to the system or within a container's limit; None if neither says."""
    found = [figure("/proc/meminfo", "MemAvailable:") << 10]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # the file does not exist, or says "max"
            found.append(int(Path(path).read_text()))
    return min(filter(None, found), default=None)
