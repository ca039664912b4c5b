"""A node of a cluster: it gets the task once, and runs each evaluation in a child process as on one machine.

What Ray sends is a `Crate`. A node that sees the run's own folder (on a shared file system, or because it is the same
machine) uses that. Any other node fetches the rows once, for all of its workers, into a folder of its own. A worker
keeps the server that forks its children, so that an evaluation costs about as much as on one machine. The children die
with the worker. A server without work ends after a while, because Ray may keep its worker for as long as the user stays
connected.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.registry import WORK
from pydaub.errors import InputError
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IDENTITY: Final = "identity"  # a file by which a node recognises the run's own folder
WHOLE: Final = "whole"  # a file that marks a complete copy
LOCK: Final = "lock"
UNPACKING: Final = "unpacking"  # a file that is locked by the process that unpacks
PREFIX: Final = "pydaub-node-"
ALIKE: Final = ("pydaub", "scikit-learn", "numpy")  # must have the same versions everywhere, or scores could differ
LOOK_SECONDS: Final = 0.2  # how often a worker checks whether its evaluation was cancelled
CHUNK: Final = 1 << 27  # bytes of a file that are sent at a time
IDLE_SECONDS: Final = 30.0  # for which a worker without an evaluation keeps its server; a new one starts in 2 s


@dataclass(frozen=True)
class Crate:
    """What a node needs for a run.

    `folder` is the run's own. `files` is empty until some node does not see that folder; then it maps the files to
    references to their content. `fetch` turns a reference into a block of bytes.
    """

    identity: str
    folder: str
    files: dict[str, list[Any]]
    preload: tuple[str, ...]
    path: tuple[str, ...]  # the owner's sys.path; a node also searches those of its folders that exist there
    versions: dict[str, str]
    fetch: Callable[[Any], Any]

    def settle(self) -> Path | None:
        """Return the folder to work in, after copying what is missing; None if the crate must bring the files."""
        for name, wanted in self.versions.items():
            if (found := installed().get(name)) != wanted:
                raise InputError(f"Every node must have {name} {wanted}, as this process has, got {found}.")
        with suppress(OSError):
            seen = (Path(self.folder) / IDENTITY).read_text() == self.identity
            if seen and (Path(self.folder) / "data").exists():  # `data` may link to a place that is not shared
                return Path(self.folder)
        folder = copy_of(self.identity)
        if not self.files and not (folder / WHOLE).exists():
            return None
        sweep(besides=folder)
        held = _held(folder)
        try:
            # Another lock than the one that is held for life: waiting to upgrade that one would never end, because the
            # process that has unpacked keeps its share of it.
            with (folder / UNPACKING).open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                if not (folder / WHOLE).exists():
                    self._unpack(folder)
        except BaseException:  # cancelled, or the disk is full: release the lock for other processes
            os.close(held)
            raise
        return folder

    def _unpack(self, folder: Path) -> None:
        for name, references in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for reference in references:
                    file.write(self.fetch(reference))
        Workbench(folder).make_folders()
        (folder / WHOLE).touch()


def copy_of(identity: str) -> Path:
    """Return the folder in which a node keeps its copy of a run's rows."""
    return Path(tempfile.gettempdir()) / f"{PREFIX}{identity}"


def _held(folder: Path) -> int:
    """Create a folder if necessary, and lock it for as long as this process lives; return the descriptor."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.lstat().st_uid != os.getuid():
            raise InputError(f"{folder} must belong to this user, but it belongs to another.")
        with suppress(FileNotFoundError):  # another process has just deleted the folder
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(held), (folder / LOCK).stat()):
                return held
            os.close(held)


def sweep(besides: Path | None = None) -> None:
    """Delete the copies of runs that were killed: folders that no living process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if folder == besides:
            continue
        with suppress(OSError):  # locked, owned by another user, or already deleted
            held = os.open(folder / LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(held)


def clear(identity: str) -> None:
    """Delete the copy of a run that has ended."""
    shutil.rmtree(copy_of(identity), ignore_errors=True)


def installed() -> dict[str, str]:
    """Return the versions of the packages on which scores depend."""
    return {name: version(name) for name in ALIKE}


class Station:
    """A worker's part in a run: the folder of the task, and the server that forks children."""

    def __init__(self, crate: Crate, folder: Path) -> None:
        self.identity = crate.identity
        self.folder = folder
        self.away = str(self.folder) != crate.folder
        sys.path += [place for place in crate.path if place not in sys.path and Path(place).exists()]
        self.nursery = Nursery(WORK, crate.preload)

    def evaluate(
        self, arguments: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes], *, reusable: bool
    ) -> dict[str, Any]:
        """Evaluate in a child; return how it ended and, if the run's folder is not visible, the files that it left."""
        bench = Workbench(self.folder)
        allocation = Allocation(arguments["learner"], arguments["size"])
        if self.away:
            bench.unpack(files)
        key = self.nursery.begin({**arguments, "folder": str(self.folder)}, limits, reusable=reusable)
        ended = None
        while ended is None or ended.key != key:
            ended = self.nursery.wait(LOOK_SECONDS)
        return {"ended": asdict(ended), "files": bench.take_out(allocation) if self.away else {}, "away": self.away}


_station: Station | None = None
_turn = threading.Lock()  # held during an evaluation, and while an idle server is closed
_leaving: threading.Timer | None = None


def evaluate_there(
    crate: Crate, arguments: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes], *, reusable: bool
) -> dict[str, Any]:
    """Evaluate in this Ray worker, which is set up for the run at its first evaluation.

    The answer is empty if the worker has no access to the rows.
    """
    global _leaving  # noqa: PLW0603  # as `_station`
    with _turn:
        if _leaving is not None:
            _leaving.cancel()
        try:
            station = _set_up(crate)
            answer = {} if station is None else station.evaluate(arguments, limits, files, reusable=reusable)
        except BaseException:  # cancelled at any point: the next evaluation must not see what this one has left
            _close()
            raise
        _leaving = threading.Timer(IDLE_SECONDS, _leave)
        _leaving.daemon = True  # must not keep the worker alive
        _leaving.start()
        return answer


def _set_up(crate: Crate) -> Station | None:
    global _station  # noqa: PLW0603  # one for each worker process, which outlives an evaluation
    if _station is None or _station.identity != crate.identity:
        _close()
        _heed_cancellation()
        folder = crate.settle()
        _station = None if folder is None else Station(crate, folder)
    return _station


def _heed_cancellation() -> None:
    """Let SIGINT raise KeyboardInterrupt, by which Ray cancels; a node that a script starts with `&` ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _close() -> None:
    global _station  # noqa: PLW0603  # as above
    if _station is not None:
        _station.nursery.close()
        _station = None


def _leave() -> None:
    """Close the server of an idle worker, unless an evaluation has just arrived."""
    if _turn.acquire(blocking=False):
        try:
            _close()
        finally:
            _turn.release()
