"""A node of a cluster: the task is laid out there once, and each evaluation is a child process as on one machine.

What travels is a `Crate`. A node that sees the run's own folder (a shared file system, or the same machine) uses that;
any other fetches the rows once, for all of its workers, into a folder of its own. A worker keeps the server that
forks its children, so that an evaluation costs about as much as at home; when the worker dies its children do too,
and when nothing has come for a while the server ends: Ray may keep the worker for as long as a person's session lasts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IDENTITY: Final = "identity"  # a file by which a node knows that it sees the run's own folder
WHOLE: Final = "whole"  # a file that says that all has arrived
LOCK: Final = "lock"
PREFIX: Final = "pydaub-node-"
ALIKE: Final = ("pydaub", "scikit-learn", "numpy")  # of which other versions could give other scores
LOOK_SECONDS: Final = 0.2  # how often a worker looks whether it has been cancelled
CHUNK: Final = 1 << 27  # bytes of a file that travel at a time
IDLE_SECONDS: Final = 30.0  # for which a worker without an evaluation keeps its server; another takes two to start


@dataclass(frozen=True)
class Crate:
    """All that a node needs: the run's `folder`, and once a node did not see it, handles of the content of its files.

    `fetch`, which comes with the cluster, turns a handle into a block of bytes.
    """

    identity: str
    folder: str
    files: dict[str, list[Any]]
    preload: tuple[str, ...]
    path: tuple[str, ...]  # where modules were found; a node that has these folders looks there too
    versions: dict[str, str]
    fetch: Callable[[Any], Any]

    def settle(self) -> Path | None:
        """Return the folder to work in, after laying out what is missing; None where the files must come along."""
        for name, wanted in self.versions.items():
            if (found := installed().get(name)) != wanted:
                raise InputError(f"Every node must have {name} {wanted}, as this process has, got {found}.")
        with suppress(OSError):
            seen = (Path(self.folder) / IDENTITY).read_text() == self.identity
            if seen and (Path(self.folder) / "data").exists():  # which may be a link to a place that is not shared
                return Path(self.folder)
        folder = copy_of(self.identity)
        if not self.files and not (folder / WHOLE).exists():
            return None
        sweep(besides=folder)
        held = _held(folder)
        try:
            if not (folder / WHOLE).exists():
                fcntl.flock(held, fcntl.LOCK_EX)  # which lets go of the lock first: another may be faster
                if not (folder / WHOLE).exists():
                    self._unpack(folder)
                fcntl.flock(held, fcntl.LOCK_SH)
        except BaseException:  # cancelled, or a disk that is full: others must not wait for this process
            os.close(held)
            raise
        return folder

    def _unpack(self, folder: Path) -> None:
        for name, handles in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for handle in handles:
                    file.write(self.fetch(handle))
        for part in ("learners", "learned", "fitted"):
            (folder / part).mkdir(exist_ok=True)
        (folder / WHOLE).touch()


def copy_of(identity: str) -> Path:
    """Return where a node keeps its copy of a run's rows."""
    return Path(tempfile.gettempdir()) / f"{PREFIX}{identity}"


def _held(folder: Path) -> int:
    """Return a lock on a folder, which is made if it is not there; it is held for as long as this process lives."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.lstat().st_uid != os.getuid():
            raise InputError(f"{folder} must be our own, got somebody else's.")
        with suppress(FileNotFoundError):  # somebody has swept it away meanwhile
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(held), (folder / LOCK).stat()):
                return held
            os.close(held)


def sweep(besides: Path | None = None) -> None:
    """Take away what runs that were killed have left: folders that no living process holds."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if folder == besides:
            continue
        with suppress(OSError):  # it is in use, or somebody else's, or just gone
            held = os.open(folder / LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(held)


def clear(identity: str) -> None:
    """Take away the copy of a run that is over."""
    shutil.rmtree(copy_of(identity), ignore_errors=True)


def installed() -> dict[str, str]:
    """Return the versions on which scores depend."""
    return {name: version(name) for name in ALIKE}


class Station:
    """A worker's side of a run: where its task lies, and the server of its children."""

    def __init__(self, crate: Crate, folder: Path) -> None:
        self.identity = crate.identity
        self.folder = folder
        self.away = str(self.folder) != crate.folder
        sys.path += [place for place in crate.path if place not in sys.path and Path(place).exists()]
        self.nursery = Nursery("pydaub.evaluation.workbench:evaluate_at", crate.preload)

    def evaluate(
        self, arguments: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes], *, again: bool
    ) -> dict[str, Any]:
        """Evaluate in a child; return how it ended and, where the run's folder is not seen, the files that it left."""
        bench = Workbench(self.folder, tuple(arguments["learners"]))
        allocation = Allocation(arguments["learner"], arguments["size"])
        if self.away:
            bench.unpack(files)
        key = self.nursery.begin({**arguments, "folder": str(self.folder)}, limits, again=again)
        ended = None
        while ended is None or ended.key != key:
            ended = self.nursery.wait(LOOK_SECONDS)
        return {"ended": asdict(ended), "files": bench.left_by(allocation) if self.away else {}, "away": self.away}


_station: Station | None = None
_turn = threading.Lock()  # held by an evaluation, and while an idle server is ended
_leaving: threading.Timer | None = None


def evaluate_there(
    crate: Crate, arguments: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes], *, again: bool
) -> dict[str, Any]:
    """Evaluate in this worker of a cluster, which is set up for the run when the first evaluation comes.

    Where the rows are not to be had the answer is empty.
    """
    global _leaving  # noqa: PLW0603  # as `_station`
    with _turn:
        if _leaving is not None:
            _leaving.cancel()
        try:
            station = _set_up(crate)
            answer = {} if station is None else station.evaluate(arguments, limits, files, again=again)
        except BaseException:  # cancelled, in the middle of anything: nothing of it may reach the next evaluation
            _close()
            raise
        _leaving = threading.Timer(IDLE_SECONDS, _leave)
        _leaving.daemon = True  # the worker may end before
        _leaving.start()
        return answer


def _set_up(crate: Crate) -> Station | None:
    global _station  # noqa: PLW0603  # one for each worker process, which lives longer than an evaluation
    if _station is None or _station.identity != crate.identity:
        _close()
        folder = crate.settle()
        _station = None if folder is None else Station(crate, folder)
    return _station


def _close() -> None:
    global _station  # noqa: PLW0603  # as above
    if _station is not None:
        _station.nursery.close()
        _station = None


def _leave() -> None:
    """End the server of a worker that has been idle, unless an evaluation has come just now."""
    if _turn.acquire(blocking=False):
        try:
            _close()
        finally:
            _turn.release()
