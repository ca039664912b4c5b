"""What the system says: the memory and the children of processes, and what the machine has.

On Linux it is read from /proc; elsewhere (macOS) psutil says it, as far as it can (`portable.py`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import stat
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydaub.isolation import portable

if TYPE_CHECKING:
    from collections.abc import Iterable

LINUX: Final = sys.platform == "linux"
PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
ROUNDS: Final = 100  # of killing processes that fork meanwhile
# How the names of files in shared memory begin: memfd_create, POSIX, anonymous shared mappings, System V.
SHARED: Final = ("/memfd:", "/dev/shm/", "/dev/zero", "/SYSV")  # noqa: S108  # it creates none of them


def kill(pid: int) -> None:
    """Kill every process in the process group of a child."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_strays(known: set[int]) -> None:
    """Kill children of this process other than the known ones: orphans that it inherited from a child that exited."""
    for pid in children_of(os.getpid()) - known:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_marked(marker: str, session: int | None = None) -> None:
    """Kill every process that has inherited a variable of this name, or that is in this session, if one is given.

    A process that has left its session and its parent still has the environment that it was started with.
    """
    for _ in range(ROUNDS):  # they may fork while they are killed
        found = [
            pid
            for pid in processes()
            if marker.encode() in _environment(pid) or (session is not None and _session(pid) == session)
        ]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.01)


def processes() -> set[int]:
    """Return the ids of all processes."""
    if not LINUX:
        return portable.processes()
    return {int(entry.name) for entry in Path("/proc").glob("[0-9]*")}


def _session(pid: int) -> int | None:
    with suppress(OSError):
        ended = status(pid, "VmSize") == 0 if LINUX else portable.ended(pid)
        return None if ended else os.getsid(pid)  # a zombie cannot be killed
    return None


def _environment(pid: int) -> bytes:
    if not LINUX:
        return portable.environment(pid)
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def was_stopped(pid: int) -> bool:
    """Return whether a child of this process is stopped, or was since this was last asked."""
    if not hasattr(os, "waitid"):
        return False
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG) is not None
    return False


def used(pid: int, base: int, enough: float = 0.0) -> int:
    """Return the memory in bytes that a child and its descendants use, less the `base` that a fresh child has.

    Each page counts once, however many of these processes share it. Shared memory counts; pages of other mapped files
    do not: they hold the training data, which all workers share. Where a quick upper bound is at most `enough`, that is
    returned: to find out which pages are shared takes some milliseconds for each gigabyte.
    """
    tree = [pid, *descendants(pid)]
    if not LINUX:
        return max(sum(map(portable.resident, tree)) - base, 0)
    anonymous, mapped = zip(*(_resident(each) for each in tree), strict=True)
    files = _shared_files(tree)
    bound = sum(anonymous) - base + sum(mapped) + sum(files.values())
    if bound <= enough:
        return max(bound, 0)
    own = anonymous[0]
    if len(tree) > 1:
        shares = [figure(f"/proc/{each}/smaps_rollup", "Pss_Anon:") << 10 for each in tree]
        # Where the system does not say what is shared, all of it counts; a process that has ended meanwhile has none.
        own = max(own, sum(share or _resident(each)[0] for each, share in zip(tree, shares, strict=True)))
    if any(mapped):
        for inode, size in _mapped_shared(tree).items():
            files[inode] = max(files.get(inode, 0), size)
    return max(own - base, 0) + sum(files.values())


def _resident(pid: int) -> tuple[int, int]:
    """Return how many bytes of anonymous and of shared memory a process has in memory."""
    found = {"RssAnon": 0, "RssShmem": 0}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in found:
                found[name] = int(value.split()[0]) << 10
    return found["RssAnon"], found["RssShmem"]


def _shared_files(tree: Iterable[int]) -> dict[int, int]:
    """Return the sizes in bytes of the files in shared memory that processes have open to write, by inode."""
    found: dict[int, int] = {}
    for pid in tree:
        with suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    if not os.readlink(entry.path).startswith(SHARED):  # noqa: PTH115  # several times as fast
                        continue
                    if entry.stat(follow_symlinks=False).st_mode & stat.S_IWUSR:
                        file = entry.stat()
                        found[file.st_ino] = file.st_blocks * 512
    return found


def _mapped_shared(tree: Iterable[int]) -> dict[int, int]:
    """Return how many bytes of shared memory processes have mapped to write, by inode."""
    found: Counter[int] = Counter()
    for pid in tree:
        inode = None
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines():
                words = line.split(maxsplit=5)
                if not words[0].endswith(":"):  # the first line of a mapping: addresses, rights, ..., inode, path
                    shared = len(words) == 6 and words[5].startswith(SHARED) and "w" in words[1]  # noqa: PLR2004
                    inode = int(words[4]) if shared else None
                elif inode is not None and words[0] == "Pss:":
                    found[inode] += int(words[1]) << 10
    return found


def peak(pid: int) -> int:
    """Return the peak resident memory of a process in bytes, including the pages of memory-mapped files.

    Where the system does not say, it is the present one.
    """
    return status(pid, "VmHWM") if LINUX else portable.resident(pid)


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return status(pid, "VmRSS") if LINUX else portable.resident(pid)


def base(pid: int) -> int:
    """Return the memory in bytes that a fresh fork of this process shares with it, as `used` counts."""
    return status(pid, "RssAnon") if LINUX else portable.resident(pid)


def reset_peak(pid: int) -> None:
    """Make `peak` count from now on."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def status(pid: int | str, name: str) -> int:
    """Return a field of /proc/PID/status in bytes; 0 if there is none, as everywhere but on Linux."""
    return figure(f"/proc/{pid}/status", f"{name}:") << 10 if LINUX else 0


def figure(path: str, prefix: str) -> int:
    """Return the number in a line of a file of /proc; 0 if there is none, as of an ended process."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(prefix):
                return int(line.removeprefix(prefix).split()[0])
    return 0


def children_of(pid: int) -> set[int]:
    """Return the process ids of the direct children of a process."""
    if not LINUX:
        return portable.children_of(pid)
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (thread / "children").read_text().split()))
    return found


def descendants(pid: int) -> set[int]:
    """Return the process ids of all processes below a process."""
    found, waiting = set[int](), [pid]
    while waiting:
        new = children_of(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def oom_kills() -> int:
    """Return how many processes the kernel's OOM killer has killed since the machine started."""
    return figure("/proc/vmstat", "oom_kill ")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process on Linux; do nothing on other systems."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def writers_of(name: str) -> dict[Path, int]:
    """Return the files of this name that processes have open to write, each with one of these processes.

    Only processes of this user are looked at, or all for root.
    """
    if not LINUX:
        return portable.opened(name)
    found: dict[Path, int] = {}
    for pid in processes():
        with suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with suppress(OSError, ValueError, IndexError):
                    path = Path(os.readlink(entry.path))  # noqa: PTH115  # several times as fast
                    if path.name == name:
                        flags = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0]
                        if int(flags, 8) & (os.O_WRONLY | os.O_RDWR):
                            found[path] = pid
    return found


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
    if not LINUX:
        return portable.available_memory()
    found = [figure("/proc/meminfo", "MemAvailable:") << 10]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # the file does not exist, or says "max"
            found.append(int(Path(path).read_text()))
    return min(filter(None, found), default=None)


def machine() -> str:
    """Return the processor, the number of cores and the memory, as far as the system says."""
    model = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    memory = figure("/proc/meminfo", "MemTotal:") << 10
    count = cores()
    found = [
        model or platform.machine(),
        f"{count} core{'s' * (count > 1)}",
        f"{memory / 1e9:.0f} GB" if memory else "",
    ]
    return ", ".join(filter(None, found))
