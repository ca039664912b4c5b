"""A plan carried out: engine, journal and loop put together, to the fitted learner and its certificate."""

from __future__ import annotations

import platform
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.registry import Where, open_engine
from pydaub.errors import FitFailed, InputError
from pydaub.learners import built_in
from pydaub.learners.ensemble import EnsembleClassifier, EnsembleRegressor
from pydaub.records import Allocation, Measurement, Started
from pydaub.runs.certificate import certificate_of
from pydaub.runs.drawing import Drawing
from pydaub.runs.journal import JOURNAL, Journal
from pydaub.runs.loop import Loop, Steering
from pydaub.runs.plan import Plan, versions
from pydaub.runs.steering import STEERING, Mailbox

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydaub.engines.base import TaskEngine
    from pydaub.evaluation.evaluate import Task
    from pydaub.learners import Learner
    from pydaub.records import Outcome
    from pydaub.runs.account import Account
    from pydaub.runs.certificate import Certificate
    from pydaub.runs.loop import Watch
    from pydaub.runs.result import Result


NO_ENSEMBLE: Final = "No ensemble: fewer than two learners have all rows, or their predictions could not be combined."


@dataclass(frozen=True)
class Selection:
    """What came of a plan.

    `learners` are all, including those that were added during the run. `fitted` is the selected one, fitted on
    `result.selected_size` rows or, if refitted, on all; `note` says why it was not refitted although that was wanted.
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


def select(  # noqa: PLR0913  # everything that a person may ask for
    plan: Plan,
    where: Where,
    *,
    known: Mapping[Allocation, Outcome] | None = None,
    time_limit: float | None = None,
    watch: Watch | None = None,
    refit: bool = False,
    retry: bool = False,
    hand_over: bool = True,
) -> Selection:
    """Carry a plan out, to the fitted learner.

    With `refit`, the selected learner is fitted once more on all rows, validation rows included, unless the run stopped
    early. With `retry`, learners that have failed get another chance. Without `hand_over`, only the measurements are
    made.
    """
    plan = replace(plan, task=where.suited(plan.task))
    task, added = plan.task, dict[str, "Learner"]()
    started = Started(plan.settings, {**versions(), "platform": platform.platform()})
    with ExitStack() as stack:
        journal = mailbox = None
        if where.folder is not None:
            mailbox = Mailbox(where.folder / STEERING)
            mailbox.clear()  # before anybody can see that the run is going on
            journal = stack.enter_context(_journal(where.folder, started))
        engine = stack.enter_context(open_engine(task, where))

        def admit(name: str) -> None:
            let_in(name, built_in(name, task.data.schema))

        def let_in(name: str, learner: Learner) -> None:
            added[name] = learner
            engine.admit(name, learner)

        steering = None if mailbox is None else Steering(mailbox, admit)
        drawing = Drawing(plan.spaces, task.seed, let_in) if plan.spaces else None
        loop = Loop(
            plan.strategy,
            engine,
            journal,
            started=started,
            known=known,
            time_limit=time_limit,
            watch=watch,
            steering=steering,
            retry=retry,
            drawing=drawing,
        )
        account, fitted, note = loop.run(), None, None
        if hand_over:
            members = _members(account) if task.ensemble else {}
            if len(members) > 1 and (combination := engine.combine(members)):
                loop.combined(combination)
            fitted, note = _handed_over(task, account, engine, refit=refit)
    return Selection(account, {**task.learners, **added}, fitted, note)


def _journal(folder: Path, started: Started) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot write to the folder {folder}: {error.strerror}. Choose another `folder`.") from None
    return Journal(folder / JOURNAL, started.settings, started.versions)


def _members(account: Account) -> dict[Allocation, float]:
    """Return the learners that have all rows, and their scores."""
    return {
        allocation: outcome.valid_score
        for allocation, outcome in account.outcomes.items()
        if allocation.size == account.full_size and isinstance(outcome, Measurement)
    }


def _handed_over(task: Task, account: Account, engine: TaskEngine, *, refit: bool) -> tuple[Any, str | None]:
    """Return the selected learner or the ensemble, refitted if that is wanted, and a note if that failed."""
    result, combined = account.result, account.combined
    if result.selected is None or result.selected_size is None or result.valid_score is None:
        return None, None
    again = refit and result.stopped is None and (task.data.valid_size > 0 or task.cv is not None)
    if task.ensemble and combined is not None and combined.used:
        scores = {each.learner: (each, score) for each, score in _members(account).items()}
        found = {name: _fitted(*scores[name], engine, again=again) for name in combined.weights}
        classes = task.data.schema.classes if task.data.schema.task == "classification" else None
        kind = EnsembleRegressor if classes is None else EnsembleClassifier
        notes = [note for _, note in found.values() if note]
        members = {name: fitted for name, (fitted, _) in found.items()}
        return kind.of(members, combined.weights, classes), " ".join(notes) or None
    return _fitted(Allocation(result.selected, result.selected_size), result.valid_score, engine, again=again)


def _fitted(allocation: Allocation, score: float, engine: TaskEngine, *, again: bool) -> tuple[Any, str | None]:
    """Return the learner that got a score, fitted `again` if that is wanted, and a note if that failed."""
    kept = engine.fitted(allocation, score)
    if not again and kept is not None:
        return kept, None
    try:
        return engine.fit(allocation, with_validation=again), None
    except FitFailed as error:
        if kept is None:
            raise
        return kept, f"{error} The learner that was scored is returned instead."
