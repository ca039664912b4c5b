"""Find an engine by its name: which engines there are, how they differ, and how each is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.limits import NO_LIMITS, check_limits, check_workers, cores, memory_each, threads_each
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.engines.base import TaskEngine
    from pydaub.evaluation.evaluate import Task
    from pydaub.isolation.nursery import Limits


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
        check_limits(self.limits)
        if self.workers is not None:
            check_workers(self.workers)
        self.kind.check(self)

    @classmethod
    def from_jobs(
        cls,
        n_jobs: object,
        limits: Limits = NO_LIMITS,
        folder: Path | None = None,
        engine: str | None = None,
        address: str | None = None,
    ) -> Where:
        """Return the place for a number of jobs as scikit-learn counts them: -1 means all cores, None means one."""
        if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
            raise InputError(f"`n_jobs` must be a whole number other than 0, or None, got {n_jobs!r}.")
        jobs = None if n_jobs is None else int(n_jobs)
        workers = _kind(engine, jobs, limits).workers_from(jobs)
        return cls(workers, limits, folder, engine, address)

    @property
    def kind(self) -> Kind:
        """The engine that was named or chosen."""
        return _kind(self.engine, self.workers, self.limits)

    @property
    def isolated(self) -> bool:
        """Whether each evaluation runs in a process of its own."""
        return self.kind.isolated

    @property
    def threads(self) -> int:
        """How many threads each evaluation may use."""
        return self.kind.threads(self)

    @property
    def description(self) -> str:
        """The place in words, such as "2 workers"."""
        return self.kind.description(self)

    def with_default_memory(self) -> Where:
        """Return this place with the engine's default memory limit, unless a limit is set already."""
        if self.limits.memory is not None or (memory := self.kind.default_memory(self)) is None:
            return self
        return replace(self, limits=replace(self.limits, memory=memory))

    def connect(self) -> str | None:
        """Check that the engine can be used, before a run begins; return what users should know about it."""
        return self.kind.connect(self)

    def suited(self, task: Task) -> Task:
        """Return the task as it can run here.

        The engine "serial" keeps what learners have learned in memory only. A resumed run would not find it again, so
        in a run that can be resumed learners do not start from it at all.
        """
        return task if self.isolated or self.folder is None else replace(task, reuse=False)


@contextmanager
def open_engine(task: Task, where: Where) -> Iterator[TaskEngine]:
    """Open the engine for a task; on exit, close it and delete its folder if that is a temporary one."""
    with ExitStack() as stack:
        engine = where.kind.open(task, where, stack)
        stack.callback(engine.close)
        yield engine


class Kind(ABC):
    """What distinguishes an engine from the others."""

    name: str
    isolated = True  # whether each evaluation runs in a process of its own

    def check(self, where: Where) -> None:
        """Raise InputError if the engine cannot do what is asked for."""
        if where.address is not None:
            raise InputError(f"`address` must go with the engine ray, got {self.name!r}.")

    @abstractmethod
    def workers_from(self, jobs: int | None) -> int | None:
        """Return the number of workers for a number of jobs as scikit-learn counts them."""

    @abstractmethod
    def threads(self, where: Where) -> int:
        """Return how many threads each evaluation may use."""

    def default_memory(self, where: Where) -> int | None:  # noqa: ARG002  # for engines that need it
        """Return the memory limit of each evaluation in bytes if the user sets none; None for no limit."""
        return None

    @abstractmethod
    def description(self, where: Where) -> str:
        """Return the place in words."""

    def connect(self, where: Where) -> str | None:  # noqa: ARG002  # for engines that need it
        """Check that the engine can be used; return what users should know about it."""
        return None

    @abstractmethod
    def open(self, task: Task, where: Where, stack: ExitStack) -> TaskEngine:
        """Return the engine; the stack cleans up after it."""


class _Serial(Kind):
    name = "serial"
    isolated = False

    def check(self, where: Where) -> None:
        super().check(where)
        if where.workers is not None or where.limits != NO_LIMITS:
            raise InputError(
                "`workers` and limits must be left out with the engine serial, which runs in this process, got"
                f" {where.workers} and {where.limits}. Choose the engine processes."
            )

    def workers_from(self, jobs: int | None) -> int | None:
        return jobs

    def threads(self, where: Where) -> int:  # noqa: ARG002  # one evaluation at a time
        return threads_each(1)

    def description(self, where: Where) -> str:  # noqa: ARG002  # always the same
        return "this process"

    def open(self, task: Task, where: Where, stack: ExitStack) -> TaskEngine:  # noqa: ARG002  # it needs no folder
        from pydaub.engines.inprocess import InProcessEngine  # noqa: PLC0415  # imports scikit-learn

        return InProcessEngine(task)


class _Processes(Kind):
    name = "processes"

    def workers_from(self, jobs: int | None) -> int | None:
        if jobs is None:
            return 1
        return jobs if jobs > 0 else max(1, cores() + 1 + jobs)

    def threads(self, where: Where) -> int:
        return threads_each(_workers(where))

    def default_memory(self, where: Where) -> int | None:
        return memory_each(_workers(where))

    def description(self, where: Where) -> str:
        workers = _workers(where)
        return f"{workers:,} worker{'' if workers == 1 else 's'}"

    def open(self, task: Task, where: Where, stack: ExitStack) -> TaskEngine:
        from pydaub.engines.processes import ProcessEngine  # noqa: PLC0415  # imports scikit-learn

        return ProcessEngine(task, _workers(where), _folder(where, stack), where.limits)


class _Ray(Kind):
    name = "ray"

    def check(self, where: Where) -> None:
        """Accept everything: an address is checked when it is connected to."""

    def workers_from(self, jobs: int | None) -> int | None:
        return None if jobs is None or jobs < 0 else jobs

    def threads(self, where: Where) -> int:  # noqa: ARG002  # each evaluation reserves one CPU
        return 1

    def description(self, where: Where) -> str:  # noqa: ARG002  # nodes come and go
        return "a Ray cluster"

    def connect(self, where: Where) -> str | None:
        from pydaub.engines.cluster.ray import LOCAL, connect  # noqa: PLC0415  # an optional dependency

        connect(where.address, where.workers)
        if where.address != LOCAL:
            return None
        return "Started a Ray cluster that listens on loopback only, requires a token and sends no usage statistics."

    def open(self, task: Task, where: Where, stack: ExitStack) -> TaskEngine:
        from pydaub.engines.cluster.ray import RayEngine  # noqa: PLC0415  # an optional dependency

        return RayEngine(task, _folder(where, stack), where.limits, address=where.address, workers=where.workers)


KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (_Serial(), _Processes(), _Ray())}
ENGINES: Final = tuple(KINDS)


def _kind(engine: Any, workers: int | None, limits: Limits) -> Kind:  # noqa: ANN401  # users pass anything
    name = engine if engine is not None else "serial" if workers is None and limits == NO_LIMITS else "processes"
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"`engine` must be one of {', '.join(ENGINES)}, got {engine!r}.")
    return KINDS[name]


def _workers(where: Where) -> int:
    return cores() if where.workers is None else where.workers


def _folder(where: Where, stack: ExitStack) -> Path:
    if where.folder is not None:
        return where.folder
    return Path(stack.enter_context(TemporaryDirectory(prefix="pydaub-", ignore_cleanup_errors=True)))
