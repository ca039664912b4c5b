"""A plan carried out: engine, journal and loop put together, to the fitted learner and its certificate."""

from __future__ import annotations

import math
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from pydaub.engines.processes import NO_LIMITS, ProcessEngine, check_limits, cores, fit_in_worker
from pydaub.engines.serial import SerialEngine
from pydaub.errors import FitFailed, InputError, one_line
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.learners import built_in
from pydaub.records import Allocation, Failure, Measurement, Outcome
from pydaub.runs.certificate import certificate_of
from pydaub.runs.journal import JOURNAL, Journal
from pydaub.runs.loop import Steering, conduct
from pydaub.runs.plan import Plan, versions
from pydaub.runs.steering import STEERING, Mailbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.isolation.nursery import Limits
    from pydaub.learners import Learner
    from pydaub.runs.account import Account, Result
    from pydaub.runs.certificate import Certificate
    from pydaub.runs.loop import Watch

ENGINES = ("processes", "ray")
SMALLEST_FIRST_SIZE = 20  # fewer rows tell nothing
STEPS = (5, 4)  # from the first size to all rows where there are few


@dataclass(frozen=True)
class Where:
    """Where evaluations run: in this process (no workers), or in so many of their own, with these limits for each.

    `folder` is where the task is laid out and the journal kept; without one nothing is left behind. With the engine
    "ray" they run on the cluster at `address`, on all of its CPUs or on so many workers.
    """

    workers: int | None = None
    limits: Limits = NO_LIMITS
    folder: Path | None = None
    engine: str = ENGINES[0]
    address: str | None = None

    def __post_init__(self) -> None:
        check_limits(self.limits)
        if self.engine not in ENGINES:
            raise InputError(f"`engine` must be one of {', '.join(ENGINES)}, got {self.engine!r}.")
        if self.address is not None and not self.on_cluster:
            raise InputError(f"`address` must go with the engine ray, got {self.engine!r}.")

    @property
    def on_cluster(self) -> bool:
        """Whether evaluations run elsewhere than on this machine."""
        return self.engine == "ray"

    @property
    def isolated(self) -> bool:
        """Whether each evaluation runs in a process of its own."""
        return self.workers is not None or self.on_cluster

    @property
    def threads(self) -> int:
        """How many threads each evaluation may have, so that all together do not exceed the cores."""
        return 1 if self.on_cluster else max(1, cores() // (self.workers or 1))


@dataclass(frozen=True)
class Selection:
    """What came of a plan.

    Attributes
    ----------
    account
        The account of the run.
    learners
        All learners, those included that were added during the run.
    fitted
        The selected learner, fitted on `result.selected_size` rows or, if refitted, on all.
    note
        Why it was not refitted although that was wanted.
    """

    account: Account
    learners: Mapping[str, Learner]
    fitted: Any
    note: str | None = None

    @property
    def result(self) -> Result:
        """What the run did."""
        return self.account.result

    @property
    def certificate(self) -> Certificate | None:
        """What may be claimed."""
        return certificate_of(self.account)


@dataclass
class _Desk:
    """What a task in this process keeps between evaluations: the counterpart of `Workbench`."""

    task: Task
    learned: dict[Allocation, Any] = field(default_factory=dict)
    kept: dict[Allocation, tuple[float, Any]] = field(default_factory=dict)

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        kept = [each for each in self.learned if each.learner == allocation.learner and each.size < allocation.size]
        last = max(kept, key=lambda each: each.size, default=None)
        return None if last is None else (last.size, self.learned[last])

    def keep(self, allocation: Allocation, learned: Any) -> None:
        self.learned[allocation] = learned

    def __call__(self, allocation: Allocation) -> Outcome:
        evaluation = evaluate(self.task, allocation, self)
        outcome = evaluation.outcome
        if isinstance(outcome, Measurement) and evaluation.fitted is not None:
            self._shelve(allocation, outcome.valid_score, evaluation.fitted)
        return outcome

    def _shelve(self, allocation: Allocation, score: float, fitted: Any) -> None:
        """Keep the best fitted learner of all, and the best of the full size."""
        self.kept[allocation] = (score, fitted)
        position = {name: number for number, name in enumerate(self.task.learners)}
        order = sorted(self.kept, key=lambda each: (-self.kept[each][0], -each.size, position[each.learner]))
        full = [each for each in order if each.size == self.task.data.full_size]
        self.kept = {each: self.kept[each] for each in {*order[:1], *full[:1]}}

    def fitted(self, allocation: Allocation, score: float) -> Any | None:
        kept, fitted = self.kept.get(allocation, (math.nan, None))
        return fitted if kept == score else None


def select(  # noqa: PLR0913  # everything that a person may ask for
    plan: Plan,
    where: Where,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    refit: bool = False,
    hand_over: bool = True,
) -> Selection:
    """Carry a plan out, to the fitted learner.

    With `refit`, the selected learner is fitted once more on all rows, validation rows included, unless the run stopped
    early. Without `hand_over`, only the measurements are made.
    """
    task, strategy = plan.task, plan.strategy
    if not where.isolated and where.folder is not None:
        task = replace(task, reuse=False)  # what was learned is not kept there: a resumed run would start from nothing
        plan = replace(plan, task=task)
    with ExitStack() as stack:
        folder = where.folder
        if folder is None and where.isolated:
            folder = Path(tempfile.mkdtemp(prefix="pydaub-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        settings, journal = plan.settings, None
        if where.folder is not None:
            Mailbox(where.folder / STEERING).clear()  # before anybody can see that the run is going on
            journal = stack.enter_context(_journal(where.folder, settings))
        engine, bench = _engine(task, where, folder)
        stack.callback(engine.close)
        added: dict[str, Learner] = {}

        def admit(name: str) -> None:
            added[name] = built_in(name, task.data.schema)
            engine.admit(name, added[name])

        steering = None
        if where.folder is not None and where.isolated:
            steering = Steering(Mailbox(where.folder / STEERING), admit)
        account = conduct(strategy, engine, journal, known=known, time_limit=time_limit, watch=watch, steering=steering)
        task = replace(task, learners={**task.learners, **added})
        fitted, note = _handed_over(task, account.result, bench, where, refit=refit) if hand_over else (None, None)
    return Selection(account, task.learners, fitted, note)


def _engine(task: Task, where: Where, folder: Path | None) -> tuple[Any, Any]:
    """Return the engine, and where it keeps what it has fitted."""
    if not where.isolated or folder is None:
        desk = _Desk(task)
        return SerialEngine(desk), desk
    if where.on_cluster:
        from pydaub.engines.cluster.ray import RayEngine  # noqa: PLC0415  # an extra

        cluster = RayEngine(task, folder, where.limits, address=where.address, workers=where.workers)
        return cluster, cluster.bench
    engine = ProcessEngine(task, where.workers or 1, folder, where.limits)
    return engine, engine.bench


def _journal(folder: Path, settings: Mapping[str, Any]) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`folder` must be one that can be written, got {folder}: {error.strerror}.") from None
    return Journal(folder / JOURNAL, settings, versions())


def _handed_over(task: Task, result: Result, bench: Any, where: Where, *, refit: bool) -> tuple[Any, str | None]:
    """Return the selected learner: fitted once more if wanted, or else the one that was measured, if it was kept."""
    if result.selected is None or result.selected_size is None or result.valid_score is None:
        return None, None
    allocation = Allocation(result.selected, result.selected_size)
    again = refit and result.stopped is None and (task.data.valid_size > 0 or task.cv is not None)
    kept = bench.fitted(allocation, result.valid_score)
    if not again and kept is not None:
        return kept, None
    try:
        return _fitted(task, allocation, bench, where, again=again), None
    except FitFailed as error:
        if kept is None:
            raise
        return kept, f"{error} The one that was scored is handed over instead."


def _fitted(task: Task, allocation: Allocation, bench: Any, where: Where, *, again: bool) -> Any:
    """Return a learner fitted on an allocation, or `again` with the validation rows too."""
    if not where.isolated:
        try:
            return fitted_on(task, allocation, with_validation=again)
        except Exception as error:
            raise FitFailed(_not_again(allocation, Failure("error", one_line(error)))) from error
    path = bench.folder / "selected.pkl"
    arguments = {
        "learners": list(task.learners),
        "learner": allocation.learner,
        "size": allocation.size,
        "path": str(path),
        "with_validation": again,
    }
    failure: Failure | None = fit_in_worker(bench, arguments, where.limits)
    if failure is not None:
        raise FitFailed(_not_again(allocation, failure))
    content = path.read_bytes()
    path.unlink()
    return cloudpickle.loads(content)


def _not_again(allocation: Allocation, failure: Failure) -> str:
    return (
        f"{allocation.learner} must be fitted once more to be handed over, got {failure.kind}: {failure.message}."
        " Raise the limits for a learner, or go without refitting."
    )
