"""A task carried through: strategy, engine, journal and run put together, to the fitted learner and its certificate."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO, Ratio, Schedule, exact
from pydaub.algorithm.strategies import STRATEGIES, Frugal, Strategy
from pydaub.algorithm.strategies.frugal import DELTA
from pydaub.engines.processes import NO_LIMITS, ProcessEngine, check_limits, cores, fit_in_worker, is_warm
from pydaub.engines.serial import SerialEngine
from pydaub.errors import FitFailed, InputError, one_line
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.learners import built_in
from pydaub.learners.weka.jar import jar
from pydaub.records import Allocation, Failure, Measurement, Outcome, Started
from pydaub.runs.certificate import Certificate, certificate, proportional
from pydaub.runs.journal import JOURNAL, Journal
from pydaub.runs.loop import Result, Steering, run
from pydaub.runs.steering import STEERING, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.isolation.nursery import Limits
    from pydaub.records import Event


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
    """What came of it: `fitted` is the selected learner, fitted on `selected_size` rows or, if refitted, on all."""

    result: Result
    certificate: Certificate | None
    fitted: Any
    note: str | None = None  # why it is not refitted, though that was wanted
    events: tuple[Event, ...] = ()  # the whole journal, whether it was kept in a file or not


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


def schedule_for(
    full_size: int, first_size: int | None = None, ratio: Ratio = PAPER_RATIO
) -> tuple[Schedule, str | None]:
    """Return the paper's schedule, or one that begins lower where there are too few rows, and a word about that."""
    if first_size is not None:
        return Schedule.geometric(full_size, first_size, ratio), None
    r = exact(ratio)
    if full_size >= PAPER_FIRST_SIZE * (1 + r + r**2):
        return Schedule.geometric(full_size, PAPER_FIRST_SIZE, ratio), None
    # Three sizes for every learner would cost more than all rows: begin lower, and end with all rows exactly.
    note = f"The paper's first size of {PAPER_FIRST_SIZE} is too large for {full_size:,} training rows"
    for steps in STEPS:
        sizes = sorted({math.ceil(full_size / r**step) for step in range(steps + 1)})
        if sizes[0] >= SMALLEST_FIRST_SIZE and len(sizes) > steps and sum(sizes[:3]) < full_size:
            return Schedule(tuple(sizes)), f"{note}: it is {sizes[0]} instead."
    return Schedule((full_size,)), f"{note}: every learner gets all of them."


def strategy_for(name: str, task: Task, schedule: Schedule, delta: float | None = None) -> Strategy:
    """Return the strategy of that name; one that weighs losses is told of what kind the scores are."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(f"`strategy` must be one of {', '.join(STRATEGIES)}, got {name!r}.")
    if STRATEGIES[name] is Frugal:
        rows = validation_rows(task) if is_proportion(task) else None
        return Frugal(tuple(task.learners), schedule, DELTA if delta is None else delta, rows, _top(task.scoring))
    if delta is not None:
        raise InputError(f"`delta` must go with the strategy frugal, got {name!r}.")
    return STRATEGIES[name](tuple(task.learners), schedule)


def _top(scoring: Any) -> float | None:
    """Return the best score there can be. Errors count negatively with scikit-learn's scorers, and are called so."""
    if callable(scoring):
        return None
    return 0.0 if isinstance(scoring, str) and scoring.startswith("neg_") else 1.0


def settings_of(task: Task, strategy: Strategy) -> dict[str, Any]:
    """Return what makes two runs the same, in plain JSON values: the first line of the journal."""
    told = {name: _described(learner.estimator) for name, learner in task.learners.items()}
    return {
        **strategy.settings,
        "data": task.data.fingerprint,
        "definitions": hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest(),
        "scoring": _described(task.scoring),
        "cv": _described(task.cv),
        "seed": task.seed,
        "reuse": task.reuse,
        **({"weka": jar().version} if any(is_warm(learner.estimator) for learner in task.learners.values()) else {}),
    }


def _described(thing: Any) -> str:
    """Return text that changes with a thing's parameters, and with its code where that is a person's own."""
    if isinstance(thing, str | int | None):
        return str(thing)
    parameters = thing.get_params() if hasattr(thing, "get_params") else {}
    told = f"{thing!r} {parameters!r}"  # not `repr` alone: scikit-learn shortens it
    for part in (thing, *parameters.values()):
        code = getattr(part, "__code__", None)
        told += "" if code is None else f" {code.co_code.hex()} {code.co_consts!r}"
        told += f" {type(part).__module__}"  # a person's file has a name that changes with its content
        if type(part).__module__ == "__main__":
            with suppress(OSError, TypeError):  # typed in, or built in
                told += inspect.getsource(type(part))
    return re.sub(r" at 0x[0-9a-f]+", "", told)


def is_proportion(task: Task) -> bool:
    """Whether scores are shares of rows, so that their noise is known: of scorers by name, as these are called."""
    if task.scoring is None:
        return task.data.schema.task == "classification"
    return isinstance(task.scoring, str) and proportional(task.scoring)


def validation_rows(task: Task) -> int:
    """Return how many rows a score at the full size is of: by cross-validation, all of them."""
    return task.data.valid_size if task.cv is None else task.data.full_size


def select(  # noqa: PLR0913  # what a person may ask for
    task: Task,
    strategy: Strategy,
    where: Where,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Callable[[Event], None] | None = None,
    refit: bool = False,
) -> Selection:
    """Carry a task through to its fitted learner.

    With `refit`, the selected learner is fitted once more on all rows, those for validation included; that is
    not done where the time limit has passed.
    """
    if not where.isolated and where.folder is not None:
        task = replace(task, reuse=False)  # what was learned is not kept there: resumed, it would start from nothing
    with ExitStack() as stack:
        folder = where.folder
        if folder is None and where.isolated:
            folder = Path(tempfile.mkdtemp(prefix="pydaub-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        journal = None
        if where.folder is not None:
            Mailbox(where.folder / STEERING).clear()  # before anybody can see that the run is going on
            journal = stack.enter_context(_journal(where.folder, settings_of(task, strategy)))
        engine, bench = _engine(task, where, folder)
        stack.callback(engine.close)
        steering = None
        if where.folder is not None and where.isolated:
            steering = Steering(
                Mailbox(where.folder / STEERING), lambda name: engine.admit(name, built_in(name, task.data.schema))
            )
        events: list[Event] = journal.events if journal else [Started(settings_of(task, strategy))]

        def take(event: Event) -> None:
            if journal is None:
                events.append(event)
            if watch:
                watch(event)

        result = run(strategy, engine, journal, known=known, time_limit=time_limit, watch=take, steering=steering)
        added = [name for name in strategy.learners if name not in task.learners]
        if added:
            task = replace(
                task, learners={**task.learners, **{name: built_in(name, task.data.schema) for name in added}}
            )
        fitted, note = _handed_over(task, result, bench, where, refit=refit)
    claim = certificate(
        result, strategy.learners, validation_rows(task), proportion=is_proportion(task), sure=strategy.sure
    )
    return Selection(result, claim, fitted, note, tuple(events))


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
    return Journal(folder / JOURNAL, settings)


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
