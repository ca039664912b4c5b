"""The folder of a task: what workers need to evaluate it, and what they leave for each other and for the end.

::

    FOLDER/
      data/                         the prepared rows, memory-mapped by every worker
      task.pkl                      scoring, folds, seed, ...
      learners/DIGEST.pkl           a learner, pickled by value; DIGEST is computed from its name
      encoded/KEY/                  rows that were encoded for all learners, while the run goes on; at most 1 GiB in all
      encoded/valid-4000            which validation rows score a learner with few rows; small, not part of the 1 GiB
      learned/DIGEST-750.pkl        what it learned on 750 rows, from which larger sizes start
      fitted/DIGEST-21500-0.91.pkl  the learner fitted on 21,500 rows, and its validation score
      predicted/DIGEST-21500-0.91.pkl  what it predicts for validation rows, by which an ensemble is chosen
      DIGEST-21500-all-rows-selected.pkl  a learner that was fitted once more, until it is handed over

Each pickle ends with a digest of its content. The task, the learners and the rows are needed: where they are missing or
damaged, or cannot be written, `FolderTrouble` stops the run. What was learned and the fitted learners are conveniences:
where they are missing or damaged, or the disk is full, learners are trained without them. None of it is ever the fault
of a learner.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import cloudpickle

from pydaub.data.checksums import Damaged
from pydaub.data.rowfiles import open_rows
from pydaub.data.writing import read_sealed, write_sealed, write_whole
from pydaub.errors import KEPT, FolderTrouble, InputError, is_of_learner, one_line
from pydaub.evaluation.encoded import Encoded, make_room, read, touch, write
from pydaub.records import Allocation, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pydaub.data import Prepared
    from pydaub.evaluation.evaluate import Task
    from pydaub.learners import Learner

FITTED, PREDICTED = "fitted", "predicted"
PARTS: Final = ("learners", "learned", FITTED, PREDICTED, "encoded")
COMMANDS: Final = "commands"  # a folder for each learner that is a command, and in it one for each size
ROWS: Final = "rows"  # a folder for the files of rows that commands are given
UNSAFE, LONGEST = re.compile(r"[^A-Za-z0-9_=+-]+"), 80  # characters of names that not every file system allows
SELECTED: Final = "-selected"  # how the names of learners that are fitted once more end


class _Fitted(NamedTuple):
    """A fitted learner in the folder."""

    path: Path
    digest: str
    size: int
    score: float


class Workbench:
    """The folder of a task, as its owner and its workers see it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._position: dict[str, int] = {}  # of the learners that this process has admitted, by digest

    def lay_out(self, task: Task) -> dict[str, Failure]:
        """Write everything that workers need; return the learners that cannot be pickled, and why."""
        with self._needed("written"):
            self.clear_encoded()
            self.clear_selected()
            self.make_folders()
            for part in PARTS:
                for partial in (self.folder / part).glob(".*"):  # left by a worker that was killed while writing
                    partial.unlink()
            self._lay_out_rows(task)
        try:
            content = cloudpickle.dumps(replace(task, data=None, learners={}))  # type: ignore[arg-type]  # both have files of their own
        except BaseException as error:  # pickling calls code of the user, which may raise anything
            if not is_of_learner(error):
                raise
            raise InputError(f"`scoring` and `cv` must be picklable, as workers need, got {one_line(error)}.") from None
        with self._needed("written"):
            write_sealed(self.folder / "task.pkl", content)
        failures = {name: self.admit(name, learner) for name, learner in task.learners.items()}
        return {name: failure for name, failure in failures.items() if failure is not None}

    def _lay_out_rows(self, task: Task) -> None:
        data = self.folder / "data"
        if data.is_symlink() and not data.exists():
            data.unlink()  # the prepared rows have moved
        if not data.exists():
            if task.data.folder is not None:
                data.symlink_to(task.data.folder, target_is_directory=True)  # the rows may be too large to copy
            else:
                self._save_rows(task.data, data)
        elif task.data.folder == data.resolve():
            return  # the caller has opened and checked these rows
        elif open_rows(data, checked=True).fingerprint != task.data.fingerprint:
            raise InputError(f"{data} must hold the same rows as this run, got others. Choose another folder.")

    def _save_rows(self, rows: Prepared, folder: Path) -> None:
        for partial in self.folder.glob(f".{folder.name}.*"):  # left by a process that was killed while writing
            shutil.rmtree(partial, ignore_errors=True)
        try:
            rows.save(folder)
            rows.map_saved(folder)  # the workers need them, this process does not
        except InputError as error:
            raise FolderTrouble(f"{error} {KEPT}") from None

    def place(self, allocation: Allocation) -> Path:
        """Return the folder of a command for a size, which stays."""
        name = UNSAFE.sub("-", allocation.learner)[:LONGEST]
        if name != allocation.learner:
            name = f"{name}-{_digest(allocation.learner)[:8]}"
        return self.folder / COMMANDS / name / str(allocation.size)

    def make_folders(self) -> None:
        """Create the folders for learners and for what they leave."""
        for part in PARTS:
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def admit(self, name: str, learner: Learner) -> Failure | None:
        """Write the file of one learner; return a Failure if it cannot be pickled."""
        self._position.setdefault(_digest(name), len(self._position))
        try:
            content = cloudpickle.dumps(learner)
        except BaseException as error:  # pickling calls code of the user, which may raise anything
            if not is_of_learner(error):
                raise
            return Failure("error", f"it cannot be pickled, as workers need: {one_line(error)}")
        with self._needed("written"):
            write_sealed(self._learner(name), content)
        return None

    @contextmanager
    def _needed(self, what: str) -> Iterator[None]:
        """Turn trouble with files that are needed into `FolderTrouble`."""
        try:
            yield
        except (OSError, Damaged) as error:
            file = getattr(error, "filename", None) or self.folder
            reason = getattr(error, "strerror", None) or error
            gone = f"{self.folder} is gone: if it was moved, resume the run there."
            raise FolderTrouble(
                f"{file} could not be {what}: {reason}. {KEPT if self.folder.exists() else gone}"
            ) from None

    def task(self, learner: str) -> Task:
        """Return the task with this learner only."""
        with self._needed("read"):
            content, own = read_sealed(self.folder / "task.pkl"), read_sealed(self._learner(learner))
        data = self.rows()
        return replace(cloudpickle.loads(content), data=data, learners={learner: cloudpickle.loads(own)})

    def rows(self) -> Prepared:
        """Return the prepared rows."""
        with self._needed("read"):
            try:
                rows = open_rows(self.folder / "data")
            except InputError as error:
                raise FolderTrouble(f"{error} {KEPT}") from None
        rows.shared = self.folder / "encoded"
        return rows

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return the size of the largest smaller sample and what was learned on it; None if there is none."""
        with suppress(Exception):  # unpickling calls code of the user; the learner is trained without it
            if found := self._learned_before(allocation):
                return found[0], unpickled(found[1])
        return None

    def _learned_before(self, allocation: Allocation) -> tuple[int, Path] | None:
        files = (self.folder / "learned").glob(f"{_digest(allocation.learner)}-*.pkl")
        kept = [(int(size), path) for path in files if (size := path.stem.partition("-")[2]).isdecimal()]
        return max(((size, path) for size, path in kept if size < allocation.size), default=None)

    def keep(self, allocation: Allocation, learned: Any) -> None:
        """Keep what was learned, from which larger sizes can start."""
        with suppress(Exception):  # pickling calls code of the user; the measurement is valid all the same
            write_sealed(self._path("learned", allocation), cloudpickle.dumps(learned))

    def encoded(self, key: str, make: Callable[[], Encoded]) -> Encoded:
        """Return the encoded rows of this key, which one worker makes while the others wait.

        Where they cannot be kept, each worker makes its own.
        """
        folder = self.folder / "encoded" / key
        alone = folder.with_suffix(".alone")  # says that the rows are not kept
        if (found := _encoded(folder)) or alone.exists():
            return found or make()
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(folder.with_suffix(".lock").open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError:  # for example, on a file system without locks
                return make()
            if (found := _encoded(folder)) or alone.exists():
                return found or make()
            made = make()
            with suppress(OSError):
                if not self._keep_encoded(folder, made):
                    alone.touch()
        return _encoded(folder) or made

    def _keep_encoded(self, folder: Path, made: Encoded) -> bool:
        """Write encoded rows; return False if they cannot be kept."""
        if made.size is None or not make_room(folder.parent, made.size):
            return False
        partial = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            partial.mkdir()
            write(made.train, partial / "train")
            write(made.valid, partial / "valid")
            write_sealed(partial / "steps.pkl", cloudpickle.dumps((made.steps, made.train.shape[1])))
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)  # it still exists only after an error
        return True

    def clear_encoded(self) -> None:
        """Delete all encoded rows and their folder."""
        shutil.rmtree(self.folder / "encoded", ignore_errors=True)

    def shelve(self, allocation: Allocation, score: float, fitted: Any, predicted: Any = None) -> None:
        """Keep a fitted learner, and what it predicts, if given.

        One that cannot be pickled is not kept, and is refitted if it is selected.
        """
        try:
            content = cloudpickle.dumps(fitted)
        except BaseException:  # noqa: BLE001  # pickling calls code of the user; the measurement is valid all the same
            return
        with suppress(OSError):
            write_sealed(self._path(FITTED, allocation, f"-{score!r}"), content)
            if predicted is not None:
                write_sealed(self._path(PREDICTED, allocation, f"-{score!r}"), cloudpickle.dumps(predicted))

    def kept(self, allocation: Allocation, score: float) -> Path | None:
        """Return the file of the fitted learner that was kept with this validation score, or None."""
        path = self._path(FITTED, allocation, f"-{score!r}")
        with suppress(OSError, Damaged):
            read_sealed(path)
            return path
        return None

    def predicted(self, allocation: Allocation, score: float) -> Any | None:
        """Return what the learner that got this validation score predicts, or None if that was not kept."""
        with suppress(OSError, Damaged):
            return unpickled(self._path(PREDICTED, allocation, f"-{score!r}"))
        return None

    def selected(self, allocation: Allocation, *, with_validation: bool) -> Path:
        """Return the file for a learner that is fitted once more."""
        return self._path(".", allocation, f"-{'all' if with_validation else 'training'}-rows{SELECTED}")

    def write_selected(self, path: Path, content: bytes) -> None:
        """Write a learner that was fitted once more."""
        with self._needed("written"):
            write_sealed(path, content)

    def clear_selected(self) -> None:
        """Delete the learners that were fitted once more."""
        for path in self.folder.glob(f"*{SELECTED}.pkl"):
            with suppress(OSError):
                path.unlink()

    def pack(self, allocation: Allocation) -> dict[str, bytes]:
        """Return the files that an evaluation needs besides the rows and the task: the learner and what it learned."""
        learned = self._learned_before(allocation)
        return self._contents([self._learner(allocation.learner), *([learned[1]] if learned else [])])

    def take_out(self, allocation: Allocation) -> dict[str, bytes]:
        """Remove the files that an evaluation has left, and return them."""
        name = f"{_digest(allocation.learner)}-{allocation.size}-*.pkl"
        left = [path for part in (FITTED, PREDICTED) for path in (self.folder / part).glob(name)]
        paths = [self._path("learned", allocation), *left]
        found = self._contents([path for path in paths if path.exists()])
        for path in paths:
            path.unlink(missing_ok=True)
        return found

    def unpack(self, files: Mapping[str, bytes]) -> None:
        """Write files that come from another folder of the same task."""
        for name, content in files.items():
            write_whole(self.folder / name, content)

    def _contents(self, paths: Iterable[Path]) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}

    def best_score(self, full_size: int, size: int, kept: int = 1) -> float:
        """Return the lowest score with which a fitted learner of this size is worth keeping."""
        scores = sorted(each.score for each in self._shelf() if size < full_size or each.size == full_size)
        count = kept if size == full_size else 1
        return scores[-count] if len(scores) >= count else -float("inf")

    def tidy(self, full_size: int, kept: int = 1) -> None:
        """Delete the fitted learners except the best of all and the `kept` best of the full size.

        Among equal scores the largest size is the best, then the learner that was admitted first.
        """
        unknown = len(self._position)
        shelf = sorted(
            self._shelf(), key=lambda each: (-each.score, -each.size, self._position.get(each.digest, unknown))
        )
        best = shelf[:1] + [each for each in shelf if each.size == full_size][:kept]
        for each in shelf:
            if each not in best:
                with suppress(OSError):
                    each.path.unlink()
                    (self.folder / PREDICTED / each.path.name).unlink(missing_ok=True)

    def _shelf(self) -> Iterator[_Fitted]:
        for path in (self.folder / FITTED).glob("*.pkl"):
            try:
                digest, size, score = path.stem.split("-", 2)
                found = _Fitted(path, digest, int(size), float(score))
            except ValueError:
                continue  # the name of a file that is not ours
            yield found

    def _learner(self, name: str) -> Path:
        return self.folder / "learners" / f"{_digest(name)}.pkl"

    def _path(self, part: str, allocation: Allocation, more: str = "") -> Path:
        return self.folder / part / f"{_digest(allocation.learner)}-{allocation.size}{more}.pkl"


def unpickled(path: Path) -> Any:
    """Return what a file of the folder holds."""
    return cloudpickle.loads(read_sealed(path))


def _encoded(folder: Path) -> Encoded | None:
    """Return the encoded rows in a folder; None if there are none that can be read."""
    with suppress(OSError, ValueError):
        steps, features = cloudpickle.loads(read_sealed(folder / "steps.pkl"))
        touch(folder)
        return Encoded(steps, read(folder / "train", features), read(folder / "valid", features))
    return None


@lru_cache(maxsize=1 << 16)
def _digest(name: str) -> str:
    """Return the name of a learner's files: learners may have any names, file systems allow few."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
