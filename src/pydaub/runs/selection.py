"""A plan carried out: engine, journal and loop put together, to the fitted learner and its certificate."""

from __future__ import annotations

import platform
import time
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydaub.engines.registry import Where, open_engine
from pydaub.errors import InputError
from pydaub.evaluation.workbench import PARTS
from pydaub.events import Started
from pydaub.isolation.proc import machine
from pydaub.learners import built_in
from pydaub.runs import JOURNAL, LINKED
from pydaub.runs.certificate import certificate_of
from pydaub.runs.commands import check_place, handed_over, refuse_addition
from pydaub.runs.drawing import Drawing
from pydaub.runs.handover import Handed, HandOver
from pydaub.runs.journal import Journal
from pydaub.runs.loop import Loop, Steering
from pydaub.runs.plan import Plan, versions
from pydaub.runs.steering import STEERING, Mailbox
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydaub.learners import Learner
    from pydaub.records import Allocation, Outcome
    from pydaub.runs.account import Account
    from pydaub.runs.certificate import Certificate
    from pydaub.runs.interrupting import Interrupt
    from pydaub.runs.loop import Watch
    from pydaub.runs.result import Result
    from pydaub.runs.saving import Saved


LEAST: Final = 2.0  # seconds that a run has within a time limit, however long it took to begin
SAVING, SAVING_SHARE = 1.5, 0.1  # seconds to save the learner and to end, and the most of the time that is kept for it
NOT_ADJUSTED: Final = (
    "Not adjusted to the score: the learner predicts no probabilities, or could not be used to predict."
)
NO_ENSEMBLE: Final = "No ensemble: fewer than two learners have all rows, or their predictions could not be combined."


@dataclass(frozen=True)
class Selection:
    """What came of a plan.

    `learners` are all, including those that were added during the run. `fitted` is the selected one, fitted on
    `result.selected_size` rows or, if `refitted`, on all; `note` says why it was not, although that was wanted. If it
    was to be saved, `saved` is its file, and `fitted` is None.
    """

    account: Account
    learners: Mapping[str, Learner]
    fitted: Any
    refitted: bool = False
    note: str | None = None
    saved: Saved | None = None

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
    save_to: Path | None = None,
    interrupt: Interrupt | None = None,
    began: float | None = None,
) -> Selection:
    """Carry a plan out, to the fitted learner.

    A time limit counts from `began`, a moment of `time.monotonic`, and then includes that the learner is saved. With
    `refit`, the selected learner is fitted once more on all rows, validation rows included, unless the run was stopped
    by hand or before any learner had all training rows; a time limit includes that. With `retry`, learners that have
    failed get another chance. Without `hand_over`, only the measurements are made. With `save_to`, the learner is saved
    in that folder and not loaded into this process. With `interrupt`, Ctrl-C stops the run with the best learner so
    far, or ends that it is fitted once more.
    """
    check_place(plan.task, where)
    plan = replace(plan, task=where.suited(plan.task))
    task, added = plan.task, dict[str, "Learner"]()
    described = {name: learner.description for name, learner in task.learners.items() if learner.description}
    circumstances = {**versions(), "platform": platform.platform(), "machine": machine()}
    started = Started(plan.settings, circumstances, described)
    with ExitStack() as stack:
        journal = mailbox = None
        if where.folder is not None:
            _check(where.folder)
            mailbox = Mailbox(where.folder / STEERING)
            mailbox.clear()  # before anybody can see that the run is going on
            journal = stack.enter_context(_journal(where.folder, started, plan.defaults))
        engine = stack.enter_context(open_engine(task, where))

        def admit(name: str) -> None:
            refuse_addition(task, name)
            let_in(name, built_in(name, task.data.schema))

        def let_in(name: str, learner: Learner) -> None:
            added[name] = learner
            engine.admit(name, learner)

        steering = None if mailbox is None else Steering(mailbox, admit)
        drawing = Drawing(plan.spaces, task.seed, let_in) if plan.spaces else None
        spared, limit = interrupt is not None, _left(time_limit, began)
        after = HandOver(task, engine, refit=refit, workers=where.at_once, time_limit=limit, spared=spared)

        def reserved(account: Account) -> float:
            """Return the seconds that are needed later; until something is measured, those before do not count."""
            if time_limit is None or limit is None or account.improvements:
                return after.seconds(account)
            return limit - time_limit

        loop = Loop(
            plan.strategy,
            engine,
            journal,
            started=started,
            known=known,
            time_limit=limit,
            watch=watch,
            steering=steering,
            retry=retry,
            drawing=drawing,
            reserve=reserved if hand_over else None,
            keep_open=hand_over,
            interrupt=interrupt,
        )
        with interrupt or nullcontext():
            account = loop.run()
        handed, chosen = Handed(), account.leader
        if hand_over and chosen is not None and (saved := handed_over(task, chosen, where)):
            handed = Handed(saved=saved)
        elif hand_over:
            if combination := after.combine(account):
                loop.combined(combination)
            if adjustment := after.adjust(account):
                loop.adjusted(adjustment)
            handed = after.hand_over(account, save_to)
    return Selection(account, {**task.learners, **added}, *handed)


def _left(time_limit: float | None, began: float | None) -> float | None:
    """Return the seconds for a run and what is fitted once more, of a limit for all since `began`, saving included."""
    if time_limit is None or began is None or isinstance(time_limit, bool) or not time_limit > 0:
        return time_limit  # the loop refuses what is no limit
    left = max(time_limit - (time.monotonic() - began), min(time_limit, LEAST))
    return left - min(SAVING, SAVING_SHARE * left)


def _check(folder: Path) -> None:
    """Refuse a folder in which a link could lead what the run writes elsewhere."""
    if folder.is_dir():
        Folder(folder).refuse_links(but=LINKED)
        for part in PARTS:
            if (folder / part).is_dir():
                Folder(folder, part).refuse_links()


def _journal(folder: Path, started: Started, defaults: Mapping[str, Any]) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot write to the folder {folder}: {error.strerror}. Choose another `folder`.") from None
    return Journal(folder / JOURNAL, started.settings, started.versions, started.descriptions, defaults)
