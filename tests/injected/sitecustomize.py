"""Faults of the disk and of the clock, in every Python process that finds this folder on its PYTHONPATH.

`PYDAUB_FAULT` describes the fault as JSON (see `injection.Fault`). Only what happens in one folder counts: opening a
file for writing, writing, flushing to the disk, renaming, linking, making a folder, truncating and removing. What C
code of a library writes to an open file does not; that such a file was opened, and is flushed or renamed, does.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "PYDAUB_FAULT"
MAIN: Final = "PYDAUB_FAULT_MAIN"  # process id of the command itself
# Audit events of Python, with the places among their arguments of the path that is changed, and of the descriptor of
# the folder that it is relative to.
EVENTS: Final = {
    **dict.fromkeys(("os.rename", "os.link"), (1, 3)),
    "os.symlink": (1, 2),
    "os.mkdir": (0, 2),
    **dict.fromkeys(("os.remove", "os.rmdir"), (0, 1)),
    "os.truncate": (0, None),
}
ALLOCATE: Final = {"open", "write", "os.rename", "os.link", "os.symlink", "os.mkdir", "fsync"}  # need room on the disk
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Injection:
    """Counts what this process does in the folder, and makes the fault happen."""

    def __init__(self, kind: str, folder: str, place: str, at: int, marker: str) -> None:
        self.kind, self.folder, self.at, self.marker = kind, folder, at, Path(marker)
        self.mine = (place == "main") == (os.environ.setdefault(MAIN, str(os.getpid())) == str(os.getpid()))
        self.count, self.busy = 0, False

    def meet(self, what: str, path: Any, data: Any = None, descriptor: int = -1) -> None:
        """Note that this is about to happen; raise, wait or die if the fault is due."""
        path = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if self.busy or not path.startswith(self.folder):
            return
        self.busy = True  # what is done here is none of ours
        try:
            self._happen(what, path, data, descriptor)
        finally:
            self.busy = False

    def _happen(self, what: str, path: str, data: Any, descriptor: int) -> None:
        due = self.mine and self._counts()
        if self.kind == "count" and self.mine:
            with self.marker.open("a") as file:
                file.write(f"{self.count} {what} {path[len(self.folder) :]}\n")
        elif self.kind == "slow":
            time.sleep(0.002)
        elif self.kind == "kill" and due:
            self.marker.touch()
            if data is not None:  # in the middle of a write
                REAL_WRITE(descriptor, bytes(memoryview(data).cast("B")[: len(data) // 2]))
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.kind == "once" and due:
            self.marker.touch()
            raise OSError(errno.EIO if what == "fsync" else errno.ENOSPC, "injected", path)
        elif self.kind == "full" and what in ALLOCATE:
            if due:
                self.marker.touch()
            if self.marker.exists():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def _counts(self) -> bool:
        """Count this; return whether the fault is due now, for the first time in any process."""
        self.count += 1
        return self.count >= self.at and not self.marker.exists()


REAL_WRITE: Final = os.write
REAL_OPEN: Final = io.open
REAL_OS_OPEN: Final = os.open
FAULTS: Final[list[Injection]] = []  # the fault, if there is one


class Raw(io.FileIO):
    """A file whose writes are watched."""

    def write(self, data: Any) -> int:
        FAULTS[0].meet("write", path_of(self.fileno()), data, self.fileno())
        return super().write(data)


def path_of(descriptor: int) -> str:
    """Return the path of an open file."""
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return ""


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Watch what Python reports of itself."""
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & WRITING:
            FAULTS[0].meet(event, path)
    elif event in EVENTS:
        path_at, folder_at = EVENTS[event]
        path, folder = arguments[path_at], -1 if folder_at is None else arguments[folder_at]
        FAULTS[0].meet(event, path_of(path) if isinstance(path, int) else within(folder, path))


def within(folder: int | None, path: Any) -> Any:
    """Return the whole path of what is named relative to the descriptor of a folder, if it is."""
    if folder is None or folder < 0 or not isinstance(path, str | bytes | os.PathLike):
        return path
    return str(Path(path_of(folder)) / os.fsdecode(path))


def os_open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """Open a file, as `os.open` does; the audit event does not say relative to what."""
    if dir_fd is not None and flags & WRITING:
        FAULTS[0].meet("open", within(dir_fd, path))
    return REAL_OS_OPEN(path, flags, mode, dir_fd=dir_fd)


def write(descriptor: int, data: Any) -> int:
    """Write, as `os.write` does."""
    FAULTS[0].meet("write", path_of(descriptor), data, descriptor)
    return REAL_WRITE(descriptor, data)


def flushing(real: Any) -> Any:
    """Return `os.fsync` or `os.fdatasync`, watched."""

    def flush(file: Any) -> None:
        FAULTS[0].meet("fsync", path_of(file if isinstance(file, int) else file.fileno()))
        real(file)

    return flush


def opened(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **named: Any) -> Any:
    """Open a file, as `open` does."""
    if not set(mode) & set("wax+"):
        return REAL_OPEN(file, mode, buffering, *more, **named)
    given = dict(zip(("encoding", "errors", "newline", "closefd", "opener"), more, strict=False)) | named
    raw = Raw(file, mode.replace("b", "").replace("t", ""), given.pop("closefd", True), given.pop("opener", None))
    if not buffering:
        return raw
    buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    if "b" in mode:
        return buffered
    text: Any = io.TextIOWrapper(buffered, line_buffering=buffering == 1, **given)
    text.mode = mode  # as `open` does
    return text


def inject(fault: Injection) -> None:
    """Watch what this process and its forked children do."""
    FAULTS.append(fault)
    if fault.kind == "clock":
        jump_about()
        return
    sys.addaudithook(audit)
    os.open, os.write, os.fsync = os_open, write, flushing(os.fsync)
    if hasattr(os, "fdatasync"):
        os.fdatasync = flushing(os.fdatasync)
    io.open = builtins.open = opened
    os.register_at_fork(after_in_child=lambda: setattr(fault, "count", 0))


def jump_about() -> None:
    """Let the clock on the wall jump by up to ten days at each look; the monotonic clock is left alone."""
    real, real_ns, rng = time.time, time.time_ns, random.Random(0)
    time.time = lambda: real() + rng.uniform(-864_000.0, 864_000.0)
    time.time_ns = lambda: real_ns() + rng.randint(-864_000, 864_000) * 10**9


if VARIABLE in os.environ:
    inject(Injection(**json.loads(os.environ[VARIABLE])))
