"""What psutil says of processes and of the machine, where there is no /proc (macOS)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def processes() -> set[int]:
    """Return the ids of all processes."""
    import psutil

    return {*psutil.pids()}


def ended(pid: int) -> bool:
    """Return whether a process has ended, though its parent may not know yet."""
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def environment(pid: int) -> bytes:
    """Return the environment of a process; empty if it has ended, or is somebody else's."""
    import psutil

    with suppress(psutil.Error, OSError):
        return b"\0".join(os.fsencode(f"{name}={value}") for name, value in psutil.Process(pid).environ().items())
    return b""


def children_of(pid: int) -> set[int]:
    """Return the process ids of the direct children of a process."""
    import psutil

    with suppress(psutil.Error):
        return {child.pid for child in psutil.Process(pid).children()}
    return set()


def opened(name: str) -> dict[Path, int]:
    """Return the files of this name that processes have open, each with one of these processes."""
    import psutil

    found: dict[Path, int] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.update(
                {Path(file.path): process.pid for file in process.open_files() if Path(file.path).name == name}
            )
    return found


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes: pages of mapped files count, compressed pages do not."""
    import psutil

    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def available_memory() -> int:
    """Return how many bytes are available."""
    import psutil

    return int(psutil.virtual_memory().available)
