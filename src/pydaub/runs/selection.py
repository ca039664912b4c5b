"""A task carried through: strategy, engine, journal and run put together, to the fitted learner and its certificate."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO, Ratio, Schedule, exact
from pydaub.algorithm.strategies import STRATEGIES, Frugal, Strategy
from pydaub.algorithm.strategies.frugal import DELTA
from pydaub.engines.isolated import runs_in_jvm
from pydaub.engines.registry import Where, open_engine
from pydaub.errors import FitFailed, InputError
from pydaub.learners import built_in
from pydaub.learners.weka.jar import jar
from pydaub.records import Allocation, Outcome, Started
from pydaub.runs.certificate import Certificate, certificate, proportional
from pydaub.runs.journal import JOURNAL, Journal
from pydaub.runs.loop import Result, Steering, run
from pydaub.runs.steering import STEERING, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydaub.engines.base import TaskEngine
    from pydaub.evaluation.evaluate import Task
    from pydaub.records import Event


SMALLEST_FIRST_SIZE = 20  # fewer rows tell nothing
STEPS = (5, 4)  # from the first size to all rows where there are few


@dataclass(frozen=True)
class Selection:
    """What came of it: `fitted` is the selected learner, fitted on `selected_size` rows or, if refitted, on all."""

    result: Result
    certificate: Certificate | None
    fitted: Any
    note: str | None = None  # why it is not refitted, though that was wanted
    events: tuple[Event, ...] = ()  # the whole journal, whether it was kept in a file or not


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
        **(
            {"weka": jar().version} if any(runs_in_jvm(learner.estimator) for learner in task.learners.values()) else {}
        ),
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
    task = where.suited(task)
    with ExitStack() as stack:
        journal = None
        if where.folder is not None:
            Mailbox(where.folder / STEERING).clear()  # before anybody can see that the run is going on
            journal = stack.enter_context(_journal(where.folder, settings_of(task, strategy)))
        engine = stack.enter_context(open_engine(task, where))
        steering = None
        if where.folder is not None:
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
        fitted, note = _handed_over(task, result, engine, refit=refit)
    claim = certificate(
        result, strategy.learners, validation_rows(task), proportion=is_proportion(task), sure=strategy.sure
    )
    return Selection(result, claim, fitted, note, tuple(events))


def _journal(folder: Path, settings: Mapping[str, Any]) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`folder` must be one that can be written, got {folder}: {error.strerror}.") from None
    return Journal(folder / JOURNAL, settings)


def _handed_over(task: Task, result: Result, engine: TaskEngine, *, refit: bool) -> tuple[Any, str | None]:
    """Return the selected learner, refitted if that is wanted, and a note if it could not be refitted."""
    if result.selected is None or result.selected_size is None or result.valid_score is None:
        return None, None
    allocation = Allocation(result.selected, result.selected_size)
    again = refit and result.stopped is None and (task.data.valid_size > 0 or task.cv is not None)
    kept = engine.fitted(allocation, result.valid_score)
    if not again and kept is not None:
        return kept, None
    try:
        return engine.fit(allocation, with_validation=again), None
    except FitFailed as error:
        if kept is None:
            raise
        return kept, f"{error} The learner that was scored is returned instead."
