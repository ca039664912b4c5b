"""Evaluate every allocation in a process of its own: what one machine and a cluster share, and one machine."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.base import fit_failed
from pydaub.engines.registry import MEMORY_SHARE, PRELOAD, WORK
from pydaub.engines.worker import TROUBLE, UNPICKLABLE, check
from pydaub.errors import FitFailed, FolderTrouble, ProtocolError, RefusedAllocation, is_of_learner, one_line
from pydaub.evaluation.combining import Combination
from pydaub.evaluation.commands import before_it
from pydaub.evaluation.evaluate import THREADED, parameters_of, uses_threads
from pydaub.evaluation.reuse import can_go_on
from pydaub.evaluation.workbench import Workbench, unpickled
from pydaub.isolation.nursery import NO_LIMITS, Ended, Limits, Nursery
from pydaub.isolation.proc import available_memory, cores, gpus
from pydaub.learners.commands import Command
from pydaub.records import Allocation, Failure, Outcome, Postponed, from_one, outcome_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydaub.engines.cluster.fleet import Fleet
    from pydaub.evaluation.evaluate import Task
    from pydaub.learners import Learner

LOGGER: Final = logging.getLogger("pydaub")
HANDLING_SECONDS: Final = 600.0  # the least time limit for loading and saving fitted learners
LEAST: Final = 0.1  # seconds for a call that should have ended before it began
NO_PICKLES: Final = 'In Python, `DaubSearch(engine="serial")` needs no pickles.'
DAMAGED: Final = "its answer could not be understood"
CORES_FOR: Final = 2  # workers whose cores a training may use for each `THREADED` cells of its sample
NOTE: Final = "processes.txt"  # in the folder of a task, as long as there may be processes of it
LAST: Final = "pydaub.evaluation.evaluate:find_libraries"  # called once all libraries with threads are imported


class IsolatedEngine:
    """An engine over a supervisor, which runs calls in child processes: a `Nursery` here, a `Fleet` on a cluster.

    `slots` returns how many evaluations there is room for at the moment. Learners that use a GPU get one of `gpus`, or
    as many as a command says, one evaluation at a time for each; where there is none, they use the CPU. The task is
    written to `folder`, where workers find it, and where the fitted learner with the best score so far and the best one
    of the full size are kept. `limits` hold for each evaluation.
    """

    def __init__(  # noqa: PLR0913  # what to run, where, and with what
        self,
        task: Task,
        folder: Path,
        limits: Limits,
        supervisor: Nursery | Fleet,
        slots: Callable[[], int],
        *,
        gpus: Sequence[str] = (),
    ) -> None:
        self._supervisor, self._closed = supervisor, False
        self._here = supervisor if isinstance(supervisor, Nursery) else None  # where it runs calls on this machine
        self._finishing: Nursery | None = None  # for what follows a run on a cluster, or after `close`
        self._start = time.monotonic()
        self._running: dict[int, Allocation] = {}
        self._failed: list[tuple[Allocation, Outcome]] = []  # without having been sent to a worker
        self._gpus, self._gpu_of = list(gpus), dict[Allocation, str]()  # those that are free, and who has the others
        self._has_gpus, self._queued = bool(gpus), list[Allocation]()  # who waits for one
        self._limits, self._full_size, self._peak = limits, task.data.full_size, task.metrics != "none"
        self._columns = task.data.schema.features
        self._other_cores: dict[Allocation, int] = {}  # how many other workers' cores an evaluation uses
        self._reuse, self._kept = task.reuse and task.cv is None, task.kept
        self._learners: dict[str, Learner] = {}
        self._in_jvm: set[str] = set()
        self._on_gpu: set[str] = set()
        self._not_on_gpu: set[str] = set()  # on a cluster whose GPUs cannot be reserved, even if one joins
        self._threaded: set[str] = set()
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
        uses_gpu = any(getattr(part, "uses_gpu", False) for part in _parts(learner.estimator))
        if uses_gpu and not self._has_gpus and not self._here:
            self._not_on_gpu.add(name)
        if self._has_gpus and uses_gpu:
            self._on_gpu.add(name)
        elif name not in self._in_jvm and self._here and uses_threads(learner.estimator):
            self._threaded.add(name)

    @property
    def free(self) -> int:
        """How many more evaluations there is room for."""
        self._slots = self._ask_slots()
        return max(0, self._slots - self._busy)

    @property
    def _busy(self) -> int:
        return len(self._running) + len(self._failed) + len(self._queued) + sum(self._other_cores.values())

    @property
    def clock(self) -> float:
        """Seconds since the engine was opened."""
        return time.monotonic() - self._start

    def spreads(self, allocation: Allocation) -> bool:
        """Whether the sample is large, and the learner can use several threads; on a cluster, each has one CPU."""
        return self._slots > 1 and allocation.learner in self._threaded and self._most_cores(allocation) > 1

    def _most_cores(self, allocation: Allocation) -> int:
        """Return the number of workers whose cores make the training of a learner with threads faster."""
        return allocation.size * self._columns // THREADED * CORES_FOR

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        """Begin an evaluation.

        A guess is refused if the learner starts from what it learned on a smaller sample: its result must depend only
        on what the strategy has asked for (see `evaluation/reuse.py`).
        """
        # Compare with the room that was last reported: a node may have been lost since, and then Ray queues the call.
        if self._closed or self._busy >= self._slots:
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
        if guess and self._command(allocation):
            raise RefusedAllocation(f"{allocation} must not be guessed: a command may start from the sizes before.")
        allocation = self._unhurried(allocation)
        if len(self._gpus) < self._gpus_for(allocation):
            if guess:
                raise RefusedAllocation(f"{allocation} must not be guessed: every GPU is in use.")
            self._queued.append(allocation)
            return
        self._begin(allocation)

    def _begin(self, allocation: Allocation) -> None:
        """Send an evaluation to a worker, with a GPU if the learner uses one."""
        if count := self._gpus_for(allocation):
            self._gpu_of[allocation] = ",".join(self._gpus[:count])
            del self._gpus[:count]
        cores = min(self._slots - self._busy, self._most_cores(allocation)) if self.spreads(allocation) else 1
        self._other_cores[allocation] = cores - 1
        arguments = {
            "call": "evaluate",
            "folder": str(self._bench.folder),
            "learner": allocation.learner,
            "size": allocation.size,
            "gpu": self._gpu_of.get(allocation, "" if allocation.learner in self._not_on_gpu else None),
            "cores": cores,
            "above": self._bench.best_score(self._full_size, allocation.size, self._kept),
        }
        limits = self._limits
        if allocation.limit is not None and allocation.limit < (limits.seconds or math.inf):
            limits = replace(limits, seconds=allocation.limit)
        reusable, needed = allocation.learner in self._in_jvm, self._needed[allocation.learner]
        if self._here and (command := self._command(allocation)):
            arguments["seconds"] = limits.seconds
            limits = replace(limits, memory=command.memory or limits.memory)
            key = self._here.begin(arguments, limits, program=True, preload=needed)
        else:
            key = self._supervisor.begin(arguments, limits, reusable=reusable, preload=needed)
        self._running[key] = allocation

    def _gpus_for(self, allocation: Allocation) -> int:
        """Return how many GPUs an evaluation needs."""
        if allocation.learner not in self._on_gpu:
            return 0
        command = self._command(allocation)
        return command.gpu if command else 1

    def _unhurried(self, allocation: Allocation) -> Allocation:
        """Return an allocation without the limit that it would not be begun above, if it is a command's first one.

        A limit without a forecast is meant for learners that take seconds: it would end trainings that take minutes
        again and again.
        """
        first = self._command(allocation) and before_it(self._bench, allocation, allocation.size - 1) is None
        return replace(allocation, limit=None) if first else allocation

    def _command(self, allocation: Allocation) -> Command | None:
        estimator = self._learners[allocation.learner].estimator
        return estimator if isinstance(estimator, Command) else None

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
        self._other_cores.pop(allocation, None)
        self._pass_gpu_on(allocation)
        if ended.losses:
            words = f"{allocation.learner} on {allocation.size:,} rows"
            LOGGER.warning("%s was killed, but not by pydaub. Times that it was begun again: %d.", words, ended.losses)
        if ended.status == "timeout" and (allocation.limit or math.inf) < (self._limits.seconds or math.inf):
            return allocation, Postponed(ended.seconds, ended.losses)
        return allocation, replace(_outcome(ended, peak=self._peak), retries=ended.losses)

    def cancel(self, allocation: Allocation) -> None:
        """Kill the worker of an evaluation."""
        self._failed = [entry for entry in self._failed if entry[0] != allocation]
        self._queued = [each for each in self._queued if each != allocation]
        for key in [key for key, running in self._running.items() if running == allocation]:
            del self._running[key]
            self._supervisor.cancel(key)
        self._other_cores.pop(allocation, None)
        self._pass_gpu_on(allocation)

    def _pass_gpu_on(self, allocation: Allocation) -> None:
        """Give the GPU of an evaluation that has ended to the next one that waits."""
        if given := self._gpu_of.pop(allocation, None):
            self._gpus += given.split(",")
        while self._queued and len(self._gpus) >= self._gpus_for(self._queued[0]):
            self._begin(self._queued.pop(0))

    def close(self) -> None:
        """Kill every worker and wait until they are gone."""
        self._running.clear()
        self._failed.clear()
        self._queued.clear()
        self._other_cores.clear()
        self._closed = True
        self._supervisor.close()
        if self._finishing is not None:
            self._finishing.close()
            self._finishing = None
        self._bench.clear_encoded()
        self._bench.clear_selected()

    def fitted(self, allocation: Allocation, score: float) -> Path | None:
        """Return the file of the fitted learner that got this validation score, or None if it was not kept."""
        return self._bench.kept(allocation, score)

    def combine(self, members: Mapping[Allocation, float]) -> Combination | None:
        """Choose an ensemble among fitted learners, in a process of its own, under the limits that the user set."""
        arguments = {"members": [(each.learner, each.size, score) for each, score in members.items()]}
        (ended,) = self._finished([{"call": "combine", **arguments}], (), self._limits)
        return Combination(**ended.value) if ended.status == "ok" and ended.value else None

    def fit(
        self, allocations: Sequence[Allocation], *, with_validation: bool, until: float = math.inf
    ) -> dict[Allocation, Any]:
        """Fit learners once more, in processes on this machine, under the limits that the user set; return files.

        Those that can use all cores come one after the other.
        """
        alone = [[each] for each in allocations if self.spreads(each)]
        together = [each for each in allocations if not self.spreads(each)]
        ends: dict[Allocation, Ended] = {}
        for part in [*alone, *([together] if together else [])]:
            fixed = {"call": "fit", "with_validation": with_validation, "cores": max(1, self._at_once // len(part))}
            calls = [{**fixed, "learner": each.learner, "size": each.size} for each in part]
            needed = self._needed_by(each.learner for each in part)
            ends |= zip(part, self._finished(calls, needed, self._limits, until), strict=True)
        found: dict[Allocation, Any] = {}
        for allocation in allocations:
            ended = ends[allocation]
            if ended.status != "ok":
                found[allocation] = fit_failed(allocation, Failure(ended.status, ended.message, ended.seconds))
            elif UNPICKLABLE in ended.value:
                found[allocation] = FitFailed(
                    f"{allocation.learner} cannot be pickled after its training: {ended.value[UNPICKLABLE]}."
                    f" {NO_PICKLES}"
                )
            else:
                found[allocation] = self._bench.selected(allocation, with_validation=with_validation)
        return found

    def loaded(self, references: Mapping[str, Path]) -> dict[str, Any]:
        """Load learners into this process, if loading them in another one does no harm."""
        failure = self.handle(f"{check.__module__}:{check.__name__}", references)
        if failure is None:
            try:
                return {name: unpickled(path) for name, path in references.items()}
            except BaseException as error:
                if not is_of_learner(error):
                    raise
                failure = Failure("error", one_line(error))
        names = ", ".join(references)
        raise FitFailed(f"{names} cannot be loaded after the training: {failure.kind}: {failure.message}. {NO_PICKLES}")

    def handle(self, function: str, references: Mapping[str, Path], **arguments: Any) -> Any:  # noqa: ANN401  # plain values
        """Call a function with fitted learners in a process of its own, with limits of time and memory."""
        available = available_memory()
        limits = Limits(
            max(HANDLING_SECONDS, self._limits.seconds or 0.0), int(MEMORY_SHARE * available) if available else None
        )
        members = {name: str(path) for name, path in references.items()}
        call = {"call": "handle", "function": function, "members": members, **arguments}
        (ended,) = self._finished([call], self._needed_by(references), limits)
        if ended.status != "ok":
            return Failure(ended.status, ended.message, ended.seconds)
        return ended.value.get("value")

    def _needed_by(self, learners: Iterable[str]) -> list[str]:
        return [*{name: None for each in learners for name in self._needed[each]}]

    def _finished(
        self, calls: Sequence[Mapping[str, Any]], preload: Sequence[str], limits: Limits, until: float = math.inf
    ) -> list[Ended]:
        """Carry out calls after the run, on this machine, as many at a time as there are workers; return their ends."""
        nursery = None if self._closed else self._here
        if nursery is None:
            nursery = self._finishing = self._finishing or Nursery(WORK, PRELOAD)
        waiting, places = list(enumerate(calls)), dict[int, int]()
        found: dict[int, Ended] = {}
        while waiting or places:
            while waiting and len(places) < self._at_once:
                place, call = waiting.pop(0)
                arguments = {"folder": str(self._bench.folder), **call}
                seconds = min(math.inf if limits.seconds is None else limits.seconds, max(until - self.clock, LEAST))
                own = replace(limits, seconds=None if seconds == math.inf else seconds)
                places[nursery.begin(arguments, own, preload=preload)] = place
            try:
                ended = nursery.wait()
            except BaseException:  # Ctrl-C
                for key in places:
                    nursery.cancel(key)
                raise
            if ended is not None:
                found[places.pop(ended.key)] = _checked(ended)
        for ended in found.values():
            if ended.status == "ok" and TROUBLE in ended.value:
                raise FolderTrouble(ended.value[TROUBLE])
        return [found[place] for place in range(len(calls))]

    @property
    def _at_once(self) -> int:
        return max(1, min(self._slots, cores()))


class ProcessEngine(IsolatedEngine):
    """An engine with `workers` processes on this machine; see `IsolatedEngine`."""

    def __init__(self, task: Task, workers: int, folder: Path, limits: Limits = NO_LIMITS) -> None:
        count, nursery = from_one(workers, "workers"), Nursery.taken(WORK, PRELOAD)
        nursery.note(Path(folder).resolve() / NOTE)
        super().__init__(task, folder, limits, nursery, lambda: count, gpus=gpus())


def preload(task: Task) -> list[str]:
    """Return what a server should import for all learners of a task."""
    needed = {name: None for learner in task.learners.values() for name in packages(learner)}
    return [*PRELOAD, *needed]


def packages(learner: Learner) -> list[str]:
    """Return what a server should import for a learner: the packages that its parts come from."""
    parts = _parts(learner.estimator)
    modules = {type(part).__module__ for part in parts} | {name for part in parts for name in _preload(part)}
    ours = {module for module in modules if module.startswith("pydaub.")}  # the WEKA adapter imports JPype
    others = {module.partition(".")[0] for module in modules - ours} - {"sklearn", "__main__", "builtins"}
    return [*sorted(ours | others), LAST]


def _preload(estimator: Any) -> tuple[str, ...]:  # noqa: ANN401  # of any class
    """Return the packages that one of our adapters imports when it is fitted."""
    kind = type(estimator)
    return getattr(kind, "preload", ()) if kind.__module__.startswith("pydaub.") else ()


def runs_in_jvm(estimator: Any) -> bool:  # noqa: ANN401  # of any class
    """Return whether a learner should reuse a worker whose JVM is already running."""
    return any(getattr(part, "runs_in_jvm", False) for part in _parts(estimator))


def _parts(estimator: Any) -> list[Any]:  # noqa: ANN401  # of any class
    """Return an estimator and the estimators among its parameters."""
    return [estimator, *(part for part in parameters_of(estimator).values() if hasattr(part, "fit"))]


def _checked(ended: Ended) -> Ended:
    """Return the end of a call that answers with an object; a learner may write anything to any descriptor."""
    if ended.status != "ok" or isinstance(ended.value, dict):
        return ended
    return replace(ended, status="crash", message=DAMAGED, value=None)


def _outcome(ended: Ended, *, peak: bool) -> Outcome:
    ended = _checked(ended)
    if ended.status != "ok":
        return Failure(ended.status, ended.message, ended.seconds)
    fields = ended.value
    if TROUBLE in fields:
        raise FolderTrouble(fields[TROUBLE])
    try:
        if peak and "valid_score" in fields:
            fields.setdefault("metrics", {})["peak_mb"] = round(ended.peak_mb, 1)
        return outcome_from_json(fields)
    except (TypeError, ValueError, KeyError, AttributeError):  # a learner may write anything to any descriptor
        return Failure("crash", DAMAGED, ended.seconds)
