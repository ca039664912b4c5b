"""Every evaluation in a process of its own, with limits that hold, several at a time."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydaub.errors import InputError, ProtocolError, RefusedAllocation
from pydaub.evaluation.reuse import can_go_on
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Ended, Limits, Nursery
from pydaub.isolation.server import tells_of_memory
from pydaub.records import Allocation, Failure, Outcome, outcome_from_json, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.evaluation.evaluate import Task
    from pydaub.learners import Learner

# Imported once by the server that workers are forked from; what a learner needs beyond that it imports itself.
PRELOAD: Final = ("pydaub.evaluation.workbench", "sklearn.ensemble", "sklearn.svm", "sklearn.neural_network")
LAST: Final = "pydaub.evaluation.evaluate:thread_controller"  # once all libraries with threads are there
NO_LIMITS: Final = Limits()
MOST: Final = 1e18  # of seconds or bytes: what the system's own limits take


class Supervisor(Protocol):
    """What runs calls in isolated children: a `Nursery` here, or one on each node of a cluster."""

    def begin(self, arguments: Mapping[str, Any], limits: Limits, *, again: bool = False) -> int:
        """Start a call and return its key."""

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return the next call that has ended, or None after so many seconds."""

    def cancel(self, key: int) -> None:
        """End a call, of which nothing more is told."""

    def close(self) -> None:
        """End every call."""


class ProcessEngine:
    """An engine of `workers` processes. `folder` is where the task is laid out; `limits` are for each evaluation.

    The fitted learner with the best score so far, and the best one of the full size, are kept in the folder.
    """

    def __init__(self, task: Task, workers: int, folder: Path, limits: Limits = NO_LIMITS) -> None:
        self._workers = whole(workers, "workers")
        if self._workers < 1:
            raise InputError(f"`workers` must be at least 1, got {workers}.")
        check_limits(limits)
        self._open(task, folder, limits, Nursery("pydaub.evaluation.workbench:evaluate_at", preload(task)))

    def _open(self, task: Task, folder: Path, limits: Limits, nursery: Supervisor) -> None:
        self._task, self._limits = task, limits
        self._learners = tuple(task.learners)
        self._start = time.monotonic()
        self._running: dict[int, Allocation] = {}
        self._failed: list[tuple[Allocation, Outcome]] = []  # at once, without a worker
        self._nursery: Supervisor | None = nursery
        self.bench = Workbench(Path(folder).resolve(), self._learners)
        try:
            self._cannot_travel = self.bench.lay_out(task)
        except BaseException:
            self.close()
            raise
        self._warm = {name for name, learner in task.learners.items() if is_warm(learner.estimator)}
        self._going_on = {name for name, learner in task.learners.items() if self._goes_on(learner.estimator)}

    def admit(self, name: str, learner: Learner) -> None:
        """Take in one more learner."""
        self._task = replace(self._task, learners={**self._task.learners, name: learner})
        self._learners = tuple(self._task.learners)
        if failure := self.bench.admit(name, learner):
            self._cannot_travel[name] = failure
        if is_warm(learner.estimator):
            self._warm.add(name)
        if self._goes_on(learner.estimator):
            self._going_on.add(name)

    def _goes_on(self, estimator: Any) -> bool:  # noqa: ANN401
        return self._task.reuse and self._task.cv is None and can_go_on(estimator)

    @property
    def slots(self) -> int:
        """How many evaluations there is room for."""
        return self._workers

    @property
    def free(self) -> int:
        """How many workers are idle."""
        return max(0, self.slots - len(self._running) - len(self._failed))

    def _is_full(self) -> bool:
        return not self.free

    @property
    def clock(self) -> float:
        """Seconds since the engine was made."""
        return time.monotonic() - self._start

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Begin an evaluation. A learner that starts from what it learned before is not evaluated ahead (`reuse`)."""
        if self._is_full() or self._nursery is None:
            raise ProtocolError(f"`submit` must wait for a free worker: all {self.slots} are busy.")
        if allocation.learner not in self._task.learners:
            raise RefusedAllocation(f"`learner` must be one of the task's, got {allocation.learner!r}.")
        if not 1 <= allocation.size <= self._task.data.full_size:
            most = self._task.data.full_size
            raise RefusedAllocation(f"`size` must be at most the {most} training rows, got {allocation.size}.")
        if allocation.learner in self._cannot_travel:
            self._failed.append((allocation, self._cannot_travel[allocation.learner]))
            return
        if guess and allocation.learner in self._going_on:
            raise RefusedAllocation(f"{allocation} must be asked for: it starts from what was asked before.")
        arguments = {
            "folder": str(self.bench.folder),
            "learners": self._learners,
            "learner": allocation.learner,
            "size": allocation.size,
            "above": self.bench.best_score(self._task.data.full_size, allocation.size),
        }
        key = self._nursery.begin(arguments, self._limits, again=allocation.learner in self._warm)
        self._running[key] = allocation

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Wait for a worker to end, at most so many seconds."""
        if self._failed:
            return self._failed.pop(0)
        if not self._running or self._nursery is None:
            raise ProtocolError("`collect` must follow a `submit`: nothing is running.")
        ended = self._nursery.wait(timeout)
        if ended is None:
            return None
        self.bench.tidy(self._task.data.full_size)
        return self._running.pop(ended.key), _outcome(ended, self._limits)

    def cancel(self, allocation: Allocation) -> None:
        """Kill the worker of an evaluation."""
        self._failed = [entry for entry in self._failed if entry[0] != allocation]
        for key in [key for key, running in self._running.items() if running == allocation]:
            del self._running[key]
            if self._nursery is not None:
                self._nursery.cancel(key)

    def close(self) -> None:
        """End every worker and wait until they are gone."""
        self._running.clear()
        self._failed.clear()
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None


def fit_in_worker(bench: Workbench, arguments: dict[str, Any], limits: Limits = NO_LIMITS) -> Failure | None:
    """Call `workbench.fit_at` in a process of its own; return why it failed, if it did."""
    nursery = Nursery("pydaub.evaluation.workbench:fit_at", PRELOAD)
    try:
        nursery.begin({"folder": str(bench.folder), **arguments}, limits)
        ended = nursery.wait()
        return None if ended is None or ended.status == "ok" else Failure(ended.status, ended.message, ended.seconds)
    finally:
        nursery.close()


def check_limits(limits: Limits) -> None:
    """Refuse limits under which nothing could run."""
    given: dict[str, object] = {"learner_timeout": limits.seconds, "learner_memory": limits.memory}
    for name, limit in given.items():
        unit = "seconds" if name == "learner_timeout" else "bytes"
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < MOST):
            raise InputError(
                f"`{name}` must be a number of {unit}, more than 0 and less than {MOST:g}, got {limit!r}."
                " Leave it out for no limit."
            )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return how many bytes of memory are to be had, by the system or by a container's limit; None if neither says."""
    found = []
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # not there, or "max"
            found.append(int(Path(path).read_text()))
    return min(found, default=None)


def preload(task: Task) -> list[str]:
    """Return what the server should import: also the packages that the learners come from."""
    parts = [part for learner in task.learners.values() for part in _parts(learner.estimator)]
    modules = {type(part).__module__ for part in parts}
    ours = {module for module in modules if module.startswith("pydaub.")}  # WEKA's brings JPype
    packages = {module.partition(".")[0] for module in modules - ours} - {"sklearn", "__main__", "builtins"}
    return [*PRELOAD, *sorted(ours | packages), LAST]


def _parts(estimator: Any) -> list[Any]:  # noqa: ANN401
    """Return an estimator and those within it."""
    inner = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    return [estimator, *(part for part in inner if hasattr(part, "fit"))]


def is_warm(estimator: Any) -> bool:  # noqa: ANN401
    """Whether the next training of such learners should find the process as it was left: with its JVM started."""
    return any(getattr(part, "runs_in_jvm", False) for part in _parts(estimator))


def _outcome(ended: Ended, limits: Limits) -> Outcome:
    if ended.status != "ok":
        return Failure(ended.status, ended.message, ended.seconds)
    fields = ended.value
    if "metrics" in fields:
        fields["metrics"]["peak_mb"] = round(ended.peak_mb, 1)
    outcome = outcome_from_json(fields)
    if isinstance(outcome, Failure) and limits.memory is not None and tells_of_memory(outcome.message):
        return replace(outcome, kind="memory")  # libraries in C++ have exceptions of their own for it
    return outcome
