"""Find an engine by its name: which engines there are, how they differ, and how each is opened."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.isolation.nursery import NO_LIMITS, Limits, Nursery
from pydaub.isolation.proc import available_memory, cores
from pydaub.records import from_one

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pydaub.engines.base import TaskEngine
    from pydaub.evaluation.evaluate import Task

ENGINES: Final = ("serial", "processes", "ray")
# What runs in worker processes, by its names, so that it can be started before anything heavy is imported here. The
# server imports `PRELOAD` once, before it forks workers, and what a learner needs besides before its first worker.
WORK: Final = "pydaub.engines.worker:work_at"
PRELOAD: Final = (
    *("pydaub.engines.worker", "sklearn.ensemble", "sklearn.svm", "sklearn.neural_network"),
    "pydaub.engines.worker:warm_up",
)
MEMORY_SHARE: Final = 0.8  # of a machine's memory, for all evaluations on it together


@dataclass(frozen=True)
class Where:
    """Where evaluations run.

    Parameters
    ----------
    workers
        How many evaluations run at the same time. None means one for each core with the engine "processes", and one
        for each CPU of the cluster with "ray"; "serial" has none.
    limits
        Time and memory for each evaluation.
    folder
        Where the task is written and the journal is kept. Without one, nothing is left behind.
    engine
        One of `ENGINES`. None chooses "processes" if workers or limits are given, and "serial" otherwise.
    address
        The Ray cluster, for the engine "ray": host:port, "local" for a new one on this machine, or None for the one
        that is running here.
    """

    workers: int | None = None
    limits: Limits = NO_LIMITS
    folder: Path | None = None
    engine: str | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            from_one(self.workers, "workers")
        if self.address is not None and self.name != "ray":
            raise InputError(f"`address` must go with the engine ray, got {self.name!r}.")
        if self.name == "serial" and (self.workers is not None or self.limits != NO_LIMITS):
            raise InputError(
                "The number of workers and limits for a training must be left out with the engine serial, which runs in"
                " this process. Choose the engine processes."
            )

    @property
    def name(self) -> str:
        """The engine that was named or chosen."""
        return _chosen(self.engine, self.workers, self.limits)

    @property
    def at_once(self) -> int:
        """How many evaluations run on this machine at the same time, if it is not a cluster."""
        return 1 if self.name == "serial" else self.workers or cores()

    @property
    def threads(self) -> int:
        """How many threads each evaluation may use. On a cluster it reserves one CPU."""
        return 1 if self.name == "ray" else max(1, cores() // self.at_once)

    @property
    def description(self) -> str:
        """The place in words."""
        if self.name == "processes":
            return f"{self.at_once:,} worker{'' if self.at_once == 1 else 's'}"
        return "this process" if self.name == "serial" else "a Ray cluster"

    def with_default_memory(self) -> Where:
        """Return this place with a limit for each process that shares the memory out, unless one is set already."""
        if self.name != "processes" or self.limits.memory is not None or (available := available_memory()) is None:
            return self
        memory = int(MEMORY_SHARE * available) // self.at_once
        return replace(self, limits=replace(self.limits, memory=memory))

    def started_early(self) -> AbstractContextManager[None]:
        """Start what evaluations need while this process still imports and reads, if the engine allows."""
        return Nursery.early(WORK, PRELOAD) if self.name == "processes" else nullcontext()

    def connect(self) -> str | None:
        """Check that the engine can be used, before a run begins; return what users should know about it."""
        if self.name != "ray":
            return None
        from pydaub.engines.cluster.ray import LOCAL, connect  # noqa: PLC0415  # an optional dependency

        connect(self.address, self.workers)
        if self.address != LOCAL:
            return None
        return "Started a Ray cluster that listens on loopback only, requires a token and sends no usage statistics."

    def disconnect(self) -> None:
        """Leave a cluster that `connect` has entered."""
        if self.name == "ray":
            from pydaub.engines.cluster.ray import disconnect  # noqa: PLC0415  # an optional dependency

            disconnect()

    def suited(self, task: Task) -> Task:
        """Return the task as it can run here.

        The engine "serial" keeps what learners have learned in memory only. A resumed run would not find it again, so
        in a run that can be resumed learners do not start from it at all.
        """
        return replace(task, reuse=False) if self.name == "serial" and self.folder is not None else task


def workers_from(n_jobs: object, limits: Limits, engine: str | None) -> int | None:
    """Return the workers for a number of jobs as scikit-learn counts them: -1 means all cores, None means one."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(f"`n_jobs` must be a whole number other than 0, or None, got {n_jobs!r}.")
    jobs = None if n_jobs is None else int(n_jobs)
    name = _chosen(engine, jobs, limits)
    if name == "processes":
        return 1 if jobs is None else jobs if jobs > 0 else max(1, cores() + 1 + jobs)
    return None if name == "ray" and jobs is not None and jobs < 0 else jobs


def _chosen(engine: Any, workers: int | None, limits: Limits) -> str:  # noqa: ANN401  # users pass anything
    if engine is None:
        return "serial" if workers is None and limits == NO_LIMITS else "processes"
    if not isinstance(engine, str) or engine not in ENGINES:
        raise InputError(f"`engine` must be one of {', '.join(ENGINES)}, got {engine!r}.")
    return engine


@contextmanager
def open_engine(task: Task, where: Where) -> Iterator[TaskEngine]:
    """Open the engine for a task; on exit, close it and delete its folder if that is a temporary one."""
    with ExitStack() as stack:
        folder = where.folder
        if folder is None and where.name != "serial":
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="pydaub-", ignore_cleanup_errors=True)))
        engine = _opened(task, where, folder or Path())
        stack.callback(engine.close)
        yield engine


def _opened(task: Task, where: Where, folder: Path) -> TaskEngine:
    """Return the engine; each is imported here because it needs scikit-learn, or Ray, an optional dependency."""
    if where.name == "serial":
        from pydaub.engines.inprocess import InProcessEngine  # noqa: PLC0415

        return InProcessEngine(task)
    if where.name == "processes":
        from pydaub.engines.processes import ProcessEngine  # noqa: PLC0415

        return ProcessEngine(task, where.at_once, folder, where.limits)
    from pydaub.engines.cluster.ray import RayEngine  # noqa: PLC0415

    return RayEngine(task, folder, where.limits, address=where.address, workers=where.workers)
