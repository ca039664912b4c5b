"""Evaluate every allocation in a process of its own: what one machine and a cluster share, and one machine."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import cloudpickle

from pydaub.engines.base import fit_failed
from pydaub.engines.registry import COMBINE, EVALUATE, FIT, PRELOAD
from pydaub.engines.worker import TROUBLE
from pydaub.errors import FolderTrouble, ProtocolError, RefusedAllocation
from pydaub.evaluation.combining import Combination
from pydaub.evaluation.evaluate import parameters_of
from pydaub.evaluation.reuse import can_go_on
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import NO_LIMITS, Ended, Limits, Nursery
from pydaub.records import Allocation, Failure, Outcome, Postponed, from_one, outcome_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.engines.cluster.fleet import Fleet
    from pydaub.evaluation.evaluate import Task
    from pydaub.learners import Learner

LAST: Final = "pydaub.evaluation.evaluate:find_libraries"  # called once all libraries with threads are imported


class IsolatedEngine:
    """An engine over a supervisor, which runs calls in child processes: a `Nursery` here, a `Fleet` on a cluster.

    `slots` returns how many evaluations there is room for at the moment. The task is written to `folder`, where workers
    find it, and where the fitted learner with the best score so far and the best one of the full size are kept.
    `limits` hold for each evaluation.
    """

    def __init__(
        self, task: Task, folder: Path, limits: Limits, supervisor: Nursery | Fleet, slots: Callable[[], int]
    ) -> None:
        self._supervisor, self._closed = supervisor, False
        self._start = time.monotonic()
        self._running: dict[int, Allocation] = {}
        self._failed: list[tuple[Allocation, Outcome]] = []  # without having been sent to a worker
        self._limits, self._full_size, self._peak = limits, task.data.full_size, task.metrics != "none"
        self._reuse, self._kept = task.reuse and task.cv is None, task.kept
        self._learners: dict[str, Learner] = {}
        self._in_jvm: set[str] = set()
        self._needed: dict[str, list[str]] = {}  # what the server should import for each learner
        for name, learner in task.learners.items():
            self._know(name, learner)
        self._bench = Workbench(Path(folder).resolve())
        try:
            self._ask_slots, self._slots = slots, slots()
            self._unpicklable = self._bench.lay_out(task)
        except BaseException:
            self.close()
            raise

    def admit(self, name: str, learner: Learner) -> None:
        """Add a learner to the task."""
        self._know(name, learner)
        if failure := self._bench.admit(name, learner):
            self._unpicklable[name] = failure

    def _know(self, name: str, learner: Learner) -> None:
        self._learners[name], self._needed[name] = learner, packages(learner)
        if runs_in_jvm(learner.estimator):
            self._in_jvm.add(name)

    @property
    def free(self) -> int:
        """How many more evaluations there is room for."""
        self._slots = self._ask_slots()
        return max(0, self._slots - len(self._running) - len(self._failed))

    @property
    def clock(self) -> float:
        """Seconds since the engine was opened."""
        return time.monotonic() - self._start

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Begin an evaluation.

        A guess is refused if the learner starts from what it learned on a smaller sample: its result must depend only
        on what the strategy has asked for (see `evaluation/reuse.py`).
        """
        # Compare with the room that was last reported: a node may have been lost since, and then Ray queues the call.
        if self._closed or len(self._running) + len(self._failed) >= self._slots:
            raise ProtocolError(f"`submit` must wait for a free worker: all {self._slots} are busy.")
        if allocation.learner not in self._learners:
            raise RefusedAllocation(f"`learner` must be one of the task's, got {allocation.learner!r}.")
        if allocation.size > self._full_size:
            raise RefusedAllocation(
                f"`size` must be at most the {self._full_size} training rows, got {allocation.size}."
            )
        if allocation.learner in self._unpicklable:
            self._failed.append((allocation, self._unpicklable[allocation.learner]))
            return
        if guess and self._reuse and can_go_on(self._learners[allocation.learner].estimator):
            raise RefusedAllocation(f"{allocation} must not be guessed: it starts from the sizes asked for before.")
        arguments = {
            "folder": str(self._bench.folder),
            "learner": allocation.learner,
            "size": allocation.size,
            "above": self._bench.best_score(self._full_size, allocation.size, self._kept),
        }
        limits = self._limits
        if allocation.limit is not None and allocation.limit < (limits.seconds or math.inf):
            limits = replace(limits, seconds=allocation.limit)
        reusable, needed = allocation.learner in self._in_jvm, self._needed[allocation.learner]
        key = self._supervisor.begin(arguments, limits, reusable=reusable, preload=needed)
        self._running[key] = allocation

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait until an evaluation has ended, for at most `timeout` seconds."""
        if self._failed:
            return self._failed.pop(0)
        if not self._running:
            raise ProtocolError("`collect` must follow a `submit`: nothing is running.")
        ended = self._supervisor.wait(timeout)
        if ended is None:
            return None
        self._bench.tidy(self._full_size, self._kept)
        allocation = self._running.pop(ended.key)
        if ended.status == "timeout" and (allocation.limit or math.inf) < (self._limits.seconds or math.inf):
            return allocation, Postponed(ended.seconds)
        return allocation, _outcome(ended, peak=self._peak)

    def cancel(self, allocation: Allocation) -> None:
        """Kill the worker of an evaluation."""
        self._failed = [entry for entry in self._failed if entry[0] != allocation]
        for key in [key for key, running in self._running.items() if running == allocation]:
            del self._running[key]
            self._supervisor.cancel(key)

    def close(self) -> None:
        """Kill every worker and wait until they are gone."""
        self._running.clear()
        self._failed.clear()
        self._closed = True
        self._supervisor.close()
        self._bench.clear_encoded()

    def fitted(self, allocation: Allocation, score: float) -> Any | None:  # noqa: ANN401  # an estimator of any class
        """Return the fitted learner that got this validation score, or None if it was not kept."""
        return self._bench.fitted(allocation, score)

    def combine(self, members: Mapping[Allocation, float]) -> Combination | None:
        """Choose an ensemble among fitted learners, in a process of its own."""
        arguments = {
            "folder": str(self._bench.folder),
            "members": [(each.learner, each.size, score) for each, score in members.items()],
        }
        ended = self._alone(COMBINE, arguments)
        if ended is None or ended.status != "ok" or not ended.value:
            return None
        return Combination(**ended.value)

    def _alone(self, call: str, arguments: dict[str, Any]) -> Ended | None:
        """Run a call in a process of its own on this machine, under the limits that the user set."""
        with closing(Nursery(call)) as nursery:
            nursery.begin(arguments, self._limits)
            ended = nursery.wait()
        if ended is not None and ended.status == "ok" and TROUBLE in ended.value:
            raise FolderTrouble(ended.value[TROUBLE])
        return ended

    def fit(self, allocation: Allocation, *, with_validation: bool) -> Any:  # noqa: ANN401  # as above
        """Fit a learner once more, in a process of its own on this machine, under the limits that the user set."""
        path = self._bench.folder / "selected.pkl"
        arguments = {
            "folder": str(self._bench.folder),
            "learner": allocation.learner,
            "size": allocation.size,
            "path": str(path),
            "with_validation": with_validation,
        }
        ended = self._alone(FIT, arguments)
        if ended is not None and ended.status != "ok":
            raise fit_failed(allocation, Failure(ended.status, ended.message, ended.seconds))
        content = path.read_bytes()
        path.unlink()
        return cloudpickle.loads(content)


class ProcessEngine(IsolatedEngine):
    """An engine with `workers` processes on this machine; see `IsolatedEngine`."""

    def __init__(self, task: Task, workers: int, folder: Path, limits: Limits = NO_LIMITS) -> None:
        count = from_one(workers, "workers")
        super().__init__(task, folder, limits, Nursery.taken(EVALUATE, PRELOAD), lambda: count)


def preload(task: Task) -> list[str]:
    """Return what a server should import for all learners of a task."""
    needed = {name: None for learner in task.learners.values() for name in packages(learner)}
    return [*PRELOAD, *needed]


def packages(learner: Learner) -> list[str]:
    """Return what a server should import for a learner: the packages that its parts come from."""
    modules = {type(part).__module__ for part in _parts(learner.estimator)}
    ours = {module for module in modules if module.startswith("pydaub.")}  # the WEKA adapter imports JPype
    others = {module.partition(".")[0] for module in modules - ours} - {"sklearn", "__main__", "builtins"}
    return [*sorted(ours | others), LAST]


def runs_in_jvm(estimator: Any) -> bool:  # noqa: ANN401  # of any class
    """Return whether a learner should reuse a worker whose JVM is already running."""
    return any(getattr(part, "runs_in_jvm", False) for part in _parts(estimator))


def _parts(estimator: Any) -> list[Any]:  # noqa: ANN401  # of any class
    """Return an estimator and the estimators among its parameters."""
    return [estimator, *(part for part in parameters_of(estimator).values() if hasattr(part, "fit"))]


def _outcome(ended: Ended, *, peak: bool) -> Outcome:
    if ended.status != "ok":
        return Failure(ended.status, ended.message, ended.seconds)
    fields = ended.value
    if TROUBLE in fields:
        raise FolderTrouble(fields[TROUBLE])
    if peak and "valid_score" in fields:
        fields.setdefault("metrics", {})["peak_mb"] = round(ended.peak_mb, 1)
    return outcome_from_json(fields)
