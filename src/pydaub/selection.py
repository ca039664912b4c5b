"""A task carried through: strategy, engine, journal and run put together, to the fitted learner and its certificate."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from pydaub.certificate import Certificate, certificate
from pydaub.engines.processes import NO_LIMITS, ProcessEngine, check_limits, cores, fit_in_worker
from pydaub.engines.serial import SerialEngine
from pydaub.errors import InputError, PydaubError, one_line
from pydaub.evaluation import Task, evaluate, fitted_on
from pydaub.journal import Journal
from pydaub.records import Allocation, Failure, Measurement, Outcome
from pydaub.run import Result, run
from pydaub.schedule import PAPER_FIRST_SIZE, PAPER_RATIO, Ratio, Schedule, exact
from pydaub.strategies import STRATEGIES, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.nursery import Limits
    from pydaub.records import Event


SMALLEST_FIRST_SIZE = 20  # fewer rows tell nothing


class FitFailed(PydaubError):
    """The selected learner could not be fitted once more."""


@dataclass(frozen=True)
class Where:
    """Where evaluations run: in this process (no workers), or in so many of their own, with these limits for each.

    `folder` is where the task is laid out and the journal kept; without one nothing is left behind.
    """

    workers: int | None = None
    limits: Limits = NO_LIMITS
    folder: Path | None = None

    def __post_init__(self) -> None:
        check_limits(self.limits)

    @property
    def threads(self) -> int:
        """How many threads each evaluation may have, so that all together do not exceed the cores."""
        return max(1, cores() // (self.workers or 1))


@dataclass(frozen=True)
class Selection:
    """What came of it: `fitted` is the selected learner, fitted on `selected_size` rows or, if refitted, on all."""

    result: Result
    certificate: Certificate | None
    fitted: Any


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
        full = [entry[0] for kept, entry in self.kept.items() if kept.size == self.task.data.full_size]
        best = max(entry[0] for entry in self.kept.values())
        self.kept = {
            kept: entry
            for kept, entry in self.kept.items()
            if entry[0] == best or (kept.size == self.task.data.full_size and entry[0] == max(full))
        }

    def fitted(self, allocation: Allocation) -> Any | None:
        return self.kept.get(allocation, (0.0, None))[1]


def schedule_for(
    full_size: int, first_size: int | None = None, ratio: Ratio = PAPER_RATIO
) -> tuple[Schedule, str | None]:
    """Return the paper's schedule, or one that begins lower where there are too few rows, and a word about that."""
    if first_size is not None:
        return Schedule.geometric(full_size, first_size, ratio), None
    largest = int(full_size / exact(ratio) ** 2)
    if largest >= PAPER_FIRST_SIZE:
        return Schedule.geometric(full_size, PAPER_FIRST_SIZE, ratio), None
    note = f"The paper's first size of {PAPER_FIRST_SIZE} is too large for {full_size:,} training rows"
    if largest < SMALLEST_FIRST_SIZE:
        return Schedule((full_size,)), f"{note}: every learner gets all of them."
    return Schedule.geometric(full_size, largest, ratio), f"{note}: it is {largest} instead."


def strategy_named(name: str, learners: Mapping[str, Any], schedule: Schedule) -> Strategy:
    """Return the strategy of that name."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(f"`strategy` must be one of {', '.join(STRATEGIES)}, got {name!r}.")
    return STRATEGIES[name](tuple(learners), schedule)


def settings_of(task: Task, strategy: Strategy) -> dict[str, Any]:
    """Return what makes two runs the same, in plain JSON values: the first line of the journal."""
    # Not `repr` alone: scikit-learn shortens it.
    given = {name: (learner.estimator, learner.estimator.get_params()) for name, learner in task.learners.items()}
    told = re.sub(r" at 0x[0-9a-f]+", "", repr(given))
    return {
        **strategy.settings,
        "data": task.data.fingerprint,
        "definitions": hashlib.blake2b(told.encode(), digest_size=16).hexdigest(),
        "scoring": re.sub(r" at 0x[0-9a-f]+", "", str(task.scoring)),
        "cv": re.sub(r" at 0x[0-9a-f]+", "", str(task.cv)),
        "seed": task.seed,
        "reuse": task.reuse,
    }


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
    with ExitStack() as stack:
        folder = where.folder
        if folder is None and where.workers is not None:
            folder = Path(tempfile.mkdtemp(prefix="pydaub-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        journal = None
        if where.folder is not None:
            try:
                where.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"`folder` must be one that can be written, got {where.folder}: {error.strerror}."
                ) from None
            path = where.folder / "journal.jsonl"
            journal = stack.enter_context(Journal(path, settings_of(task, strategy)))
        if where.workers is None or folder is None:
            bench: Any = _Desk(task)
            engine: Any = SerialEngine(bench)
        else:
            engine = ProcessEngine(task, where.workers, folder, where.limits)
            bench = engine.bench
        result = run(strategy, engine, journal, known=known, time_limit=time_limit, watch=watch)
        fitted = _fitted(task, result, bench, where, refit=refit)
    return Selection(result, certificate(result, strategy.learners, task.data.valid_size), fitted)


def _fitted(task: Task, result: Result, bench: Any, where: Where, *, refit: bool) -> Any:
    """Return the selected learner: the one that was measured if it was kept, else fitted again."""
    if result.selected is None or result.selected_size is None:
        return None
    allocation = Allocation(result.selected, result.selected_size)
    again = refit and result.stopped is None and (task.data.valid_size > 0 or task.cv is not None)
    if not again and (kept := bench.fitted(allocation)) is not None:
        return kept
    if where.workers is None:
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
    return cloudpickle.loads(path.read_bytes())


def _not_again(allocation: Allocation, failure: Failure) -> str:
    return (
        f"{allocation.learner} must be fitted once more to be handed over, got {failure.kind}: {failure.message}."
        " Raise the limits for a learner, or go without refitting."
    )
