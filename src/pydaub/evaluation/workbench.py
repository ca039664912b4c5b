"""A task on the disk: what workers map and load, and what they leave for each other and for the end.

::

    FOLDER/
      data/                       the prepared rows, mapped by every worker
      task.pkl                    scoring, folds, seed, ...
      learners/3.pkl              the fourth learner, by value
      learned/3-750.pkl           what it learned on 750 rows, for larger sizes to start from
      fitted/3-21500-0.91.pkl     it itself, fitted on 21,500 rows, with the validation score that it got
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from pydaub.data import Prepared
from pydaub.data.prepared import write_whole
from pydaub.errors import InputError, one_line
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.records import Allocation, Failure, Measurement, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydaub.learners import Learner


class Workbench:
    """The folder of a task. `learners` are the names in their order: files are named by the position."""

    def __init__(self, folder: Path, learners: tuple[str, ...]) -> None:
        self.folder = folder
        self._position = {name: position for position, name in enumerate(learners)}

    def lay_out(self, task: Task) -> dict[str, Failure]:
        """Write all that workers need; return the learners that cannot travel, and why."""
        for part in ("learners", "learned", "fitted"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
            for partial in (self.folder / part).glob(".*"):  # of a worker that was killed while it wrote
                partial.unlink()
        data = self.folder / "data"
        if data.is_symlink() and not data.exists():
            data.unlink()  # what was prepared has moved
        if not data.exists():
            if task.data.folder is not None:
                data.symlink_to(task.data.folder, target_is_directory=True)  # it may be larger than there is room for
            else:
                task.data.save(data)
        elif Prepared.open(data).fingerprint != task.data.fingerprint:
            raise InputError(f"{data} must hold the same rows as this run, got others. Choose another folder.")
        try:
            content = cloudpickle.dumps(replace(task, data=None, learners={}))  # type: ignore[arg-type]  # each has its own file
        except Exception as error:  # noqa: BLE001  # as below
            raise InputError(f"`scoring` and `cv` must be picklable, as workers need, got {one_line(error)}.") from None
        write_whole(self.folder / "task.pkl", content)
        failures = {name: self.admit(name, task.learners[name]) for name in tuple(self._position)}
        return {name: failure for name, failure in failures.items() if failure is not None}

    def admit(self, name: str, learner: Learner) -> Failure | None:
        """Write what workers need of one learner, perhaps a new one; return why it cannot travel, if it cannot."""
        position = self._position.setdefault(name, len(self._position))
        try:
            content = cloudpickle.dumps(learner)
        except Exception as error:  # noqa: BLE001  # whatever its own pickling raises
            return Failure("error", f"it cannot be pickled, as workers need: {one_line(error)}")
        write_whole(self.folder / "learners" / f"{position}.pkl", content)
        return None

    def task(self, learner: str) -> Task:
        """Return the task as it concerns one learner."""
        task: Task = cloudpickle.loads((self.folder / "task.pkl").read_bytes())
        content = (self.folder / "learners" / f"{self._position[learner]}.pkl").read_bytes()
        return replace(task, data=Prepared.open(self.folder / "data"), learners={learner: cloudpickle.loads(content)})

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return how many rows the largest smaller sample had, and what was learned on it; None if there was none."""
        found = self._learned_before(allocation)
        return found and (found[0], cloudpickle.loads(found[1].read_bytes()))

    def _learned_before(self, allocation: Allocation) -> tuple[int, Path] | None:
        files = (self.folder / "learned").glob(f"{self._position[allocation.learner]}-*.pkl")
        kept = [(int(path.stem.partition("-")[2]), path) for path in files]
        return max(((size, path) for size, path in kept if size < allocation.size), default=None)

    def keep(self, allocation: Allocation, learned: Any) -> None:
        """Keep what was learned for larger sizes."""
        write_whole(self._path("learned", allocation), cloudpickle.dumps(learned))

    def shelve(self, allocation: Allocation, score: float, fitted: Any) -> None:
        """Keep a fitted learner; one that cannot be pickled is fitted again when it is needed."""
        try:
            content = cloudpickle.dumps(fitted)
        except Exception:  # noqa: BLE001  # its measurement counts all the same
            return
        write_whole(self._path("fitted", allocation, f"-{score!r}"), content)

    def fitted(self, allocation: Allocation, score: float) -> Any | None:
        """Return the fitted learner that was kept for an allocation and got this score, or None."""
        path = self._path("fitted", allocation, f"-{score!r}")
        return cloudpickle.loads(path.read_bytes()) if path.exists() else None

    def pack(self, allocation: Allocation) -> dict[str, bytes]:
        """Return what an evaluation needs that sees the rows but not this folder: the learner, and what it learned."""
        learned = self._learned_before(allocation)
        learner = self.folder / "learners" / f"{self._position[allocation.learner]}.pkl"
        return self._contents([learner, *([learned[1]] if learned else [])])

    def left_by(self, allocation: Allocation) -> dict[str, bytes]:
        """Return what an evaluation has left, which is then no longer here."""
        position, size = self._position[allocation.learner], allocation.size
        paths = [self._path("learned", allocation), *(self.folder / "fitted").glob(f"{position}-{size}-*.pkl")]
        found = self._contents([path for path in paths if path.exists()])
        for path in paths:
            path.unlink(missing_ok=True)
        return found

    def unpack(self, files: Mapping[str, bytes]) -> None:
        """Take in files of another folder of the same task."""
        for name, content in files.items():
            write_whole(self.folder / name, content)

    def _contents(self, paths: Iterable[Path]) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}

    def best_score(self, full_size: int, size: int) -> float:
        """Return the score from which on a fitted learner of this size is worth keeping."""
        scores = [score for _, kept, score in self._shelf() if size < full_size or kept[1] == full_size]
        return max(scores, default=-float("inf"))

    def tidy(self, full_size: int) -> None:
        """Keep the best fitted learner of all, and the best of the full size; take the others away.

        Of equal ones the largest size counts, and then the learner that is listed first.
        """
        shelf = sorted(self._shelf(), key=lambda entry: (-entry[2], -entry[1][1], entry[1][0]))
        kept = shelf[:1] + [entry for entry in shelf if entry[1][1] == full_size][:1]
        for entry in shelf:
            if entry not in kept:
                entry[0].unlink()

    def _shelf(self) -> Iterator[tuple[Path, tuple[int, int], float]]:
        for path in (self.folder / "fitted").glob("*.pkl"):
            position, size, score = path.stem.split("-", 2)
            yield path, (int(position), int(size)), float(score)

    def _path(self, part: str, allocation: Allocation, more: str = "") -> Path:
        return self.folder / part / f"{self._position[allocation.learner]}-{allocation.size}{more}.pkl"


def evaluate_at(folder: str, learners: list[str], learner: str, size: int, above: float) -> dict[str, Any]:
    """Evaluate in a worker. The fitted learner is kept where its score is at least `above`."""
    bench = Workbench(Path(folder), tuple(learners))
    allocation = Allocation(learner, size)
    evaluation = evaluate(bench.task(learner), allocation, bench)
    outcome = evaluation.outcome
    if evaluation.fitted is not None and isinstance(outcome, Measurement) and outcome.valid_score >= above:
        bench.shelve(allocation, outcome.valid_score, evaluation.fitted)
    return outcome_to_json(outcome)


def fit_at(  # noqa: PLR0913  # plain values, that travel
    folder: str, learners: list[str], learner: str, size: int, path: str, *, with_validation: bool
) -> str:
    """Fit a learner in a worker and leave it at a path."""
    task = Workbench(Path(folder), tuple(learners)).task(learner)
    fitted = fitted_on(task, Allocation(learner, size), with_validation=with_validation)
    write_whole(Path(path), cloudpickle.dumps(fitted))
    return path
