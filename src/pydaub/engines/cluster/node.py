"""A node of a cluster: it gets the task once, and runs each evaluation in a child process as on one machine.

What Ray sends is a `Crate`. A node that sees the run's own folder (on a shared file system, or because it is the same
machine) uses that. Any other node copies the rows once, for all of its workers, into a folder of its own. They come in
parts, read one after the other on the owner's node, so that no process and no object store ever holds all. A worker
keeps the server that forks its children, so that an evaluation costs about as much as on one machine. The children die
with the worker. A server without work ends after a while, because Ray may keep its worker for as long as the user stays
connected.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pydaub.engines.registry import WORK
from pydaub.errors import ClusterLost, InputError
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Limits, Nursery
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydaub.data.schema import Array

IDENTITY: Final = "identity"  # a file by which a node recognises the run's own folder
WHOLE: Final = "whole"  # a file that marks a complete copy
LOCK: Final = "lock"
UNPACKING: Final = "unpacking"  # a file that is locked by the process that unpacks
PREFIX: Final = "pydaub-node-"
KEPT: Final = "The measurements are kept: the run can be resumed."
ALIKE: Final = ("pydaub", "scikit-learn", "numpy")  # must have the same versions everywhere, or scores could differ
LOOK_SECONDS: Final = 0.2  # how often a worker checks whether its evaluation was cancelled
PART: Final = 1 << 23  # bytes of a file that are sent at a time
AHEAD: Final = 2  # parts that are read while another one is written
IDLE_SECONDS: Final = 30.0  # for which a worker without an evaluation keeps its server; a new one starts in 2 s


@dataclass(frozen=True)
class Crate:
    """What a node needs for a run.

    `folder` is the run's own; `files` are the sizes of those files in it that a node copies if it does not see the
    folder. `parts` yields the content of a file between two positions.
    """

    identity: str
    folder: str
    files: dict[str, int]
    preload: tuple[str, ...]
    path: tuple[str, ...]  # the owner's sys.path; a node also searches those of its folders that exist there
    versions: dict[str, str]
    parts: Callable[[str, int, int], Iterator[Any]]

    def settle(self) -> Path:
        """Return the folder to work in, after copying the files if this node does not see the run's own."""
        for name, wanted in self.versions.items():
            if (found := installed().get(name)) != wanted:
                raise InputError(f"Every node must have {name} {wanted}, as this process has, got {found}.")
        with suppress(OSError):
            seen = (Path(self.folder) / IDENTITY).read_text() == self.identity
            if seen and (Path(self.folder) / "data").exists():  # `data` may link to a place that is not shared
                return Path(self.folder)
        folder = copy_of(self.identity)
        sweep(besides=folder)
        held = _held(folder)
        try:
            # Another lock than the one that is held for life: waiting to upgrade that one would never end, because the
            # process that has unpacked keeps its share of it.
            with (folder / UNPACKING).open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                if not (folder / WHOLE).exists():
                    self._copy(folder)
        except BaseException:  # cancelled, or the disk is full: release the lock for other processes
            os.close(held)
            raise
        return folder

    def _copy(self, folder: Path) -> None:
        """Copy the files, from where a copy ended whose worker was killed."""
        try:
            for name, size in self.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    for part in self.parts(str(Path(self.folder) / name), file.tell(), size):
                        file.write(part)
            Workbench(folder).make_folders()
            (folder / WHOLE).touch()
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            shutil.rmtree(folder / "data", ignore_errors=True)
            raise ClusterLost(
                f"The rows, {sum(self.files.values()) / 1e9:,.1f} GB, do not fit into {folder.parent} on the node"
                f" {socket.gethostname()}. Make room, set TMPDIR there to another folder, or make {self.folder} visible"
                f" at the same path. {KEPT}"
            ) from None


def parts_from(node: str) -> Callable[[str, int, int], Iterator[Any]]:
    """Return a function that yields the parts of a file on a node of the cluster."""

    def parts(path: str, start: int, stop: int) -> Iterator[Any]:
        import ray  # noqa: PLC0415  # an optional dependency, which takes a second to import
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

        there = NodeAffinitySchedulingStrategy(node, soft=False)
        reading = ray.remote(read_part).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
        coming: deque[Any] = deque()
        for place in range(start, stop, PART):
            coming.append(reading.remote(path, place, min(PART, stop - place)))
            if len(coming) > AHEAD:
                yield ray.get(coming.popleft())
        while coming:
            yield ray.get(coming.popleft())

    return parts


def read_part(path: str, start: int, size: int) -> Array:
    """Return some bytes of a file, as an array because Ray shares those between processes without copying."""
    found = np.fromfile(path, np.uint8, size, offset=start)
    if len(found) < size:
        raise EOFError(f"{path} has become shorter")
    return found


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
    try:
        return {name: version(name) for name in ALIKE}
    except PackageNotFoundError as error:
        raise InputError(f"{error.name} must be installed on every node, got none on {socket.gethostname()}.") from None


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
        arguments = {**arguments, "folder": str(self.folder)}
        if arguments.get("gpu"):
            arguments["gpu"] = gpu()
        key = self.nursery.begin(arguments, limits, reusable=reusable)
        ended = None
        while ended is None or ended.key != key:
            ended = self.nursery.wait(LOOK_SECONDS)
        return {"ended": asdict(ended), "files": bench.take_out(allocation) if self.away else {}, "away": self.away}


def gpu() -> str:
    """Return the GPU that Ray has assigned to the evaluation of this worker, as CUDA numbers it."""
    import ray  # noqa: PLC0415  # an optional dependency, which takes a second to import

    return ",".join(ray.get_runtime_context().get_accelerator_ids()["GPU"])


_station: Station | None = None
_turn = threading.Lock()  # held during an evaluation, and while an idle server is closed
_leaving: threading.Timer | None = None


def evaluate_there(
    crate: Crate, arguments: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes], *, reusable: bool
) -> dict[str, Any]:
    """Evaluate in this Ray worker, which is set up for the run at its first evaluation."""
    global _leaving  # noqa: PLW0603  # as `_station`
    with _turn:
        if _leaving is not None:
            _leaving.cancel()
        try:
            answer = _set_up(crate).evaluate(arguments, limits, files, reusable=reusable)
        except BaseException:  # cancelled at any point: the next evaluation must not see what this one has left
            _close()
            raise
        _leaving = threading.Timer(IDLE_SECONDS, _leave)
        _leaving.daemon = True  # must not keep the worker alive
        _leaving.start()
        return answer


def _set_up(crate: Crate) -> Station:
    global _station  # noqa: PLW0603  # one for each worker process, which outlives an evaluation
    if _station is None or _station.identity != crate.identity:
        _close()
        _heed_cancellation()
        _station = Station(crate, crate.settle())
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
