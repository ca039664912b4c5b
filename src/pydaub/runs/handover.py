"""What follows a run: an ensemble, an adjustment, and the learners that are handed over, if wanted fitted once more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydaub.errors import TIME_LIMIT, FitFailed
from pydaub.evaluation.adjusting import Adjustment
from pydaub.learners.adjusted import adjusted
from pydaub.learners.ensemble import assembled
from pydaub.records import Allocation, Failure, Measurement
from pydaub.runs.account import SURE
from pydaub.runs.saving import Saved, not_saved, saved_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydaub.engines.base import TaskEngine
    from pydaub.evaluation.combining import Combination
    from pydaub.evaluation.evaluate import Task
    from pydaub.runs.account import Account

SAVE: Final = "pydaub.runs.saving:save_members"
ADJUST: Final = "pydaub.evaluation.adjusting:adjust"
START: Final = 2.0  # seconds until processes for it have started
USUAL_MEMBERS: Final = 3  # learners in an ensemble, at most
MOST_OF_LIMIT: Final = 0.45  # the largest share of a time limit that is kept for it; where that is too little, none is
LATEST: Final = 1.1  # of the time limit, when learners that are fitted once more must be ready
NOT_AGAIN: Final = "Not trained once more with the validation rows, because that was interrupted: {}."
TOO_LATE: Final = "Not trained once more with the validation rows, because that would exceed the time limit: {}."


class Handed(NamedTuple):
    """What a run hands over: the fitted learner, whether it has all rows, and if it should, why not; or its file."""

    fitted: Any = None
    refitted: bool = False
    note: str | None = None
    saved: Saved | None = None


class HandOver:
    """Hands over what a run has selected.

    Parameters
    ----------
    task, engine
        What was run, and where.
    refit
        Whether learners are fitted once more, validation rows included.
    workers
        How many are fitted at the same time.
    time_limit
        Seconds that the run and this may take together.
    spared
        Whether Ctrl-C ends only that learners are fitted once more; those that were scored are then handed over.
    """

    def __init__(  # noqa: PLR0913  # what a person may ask for
        self,
        task: Task,
        engine: TaskEngine,
        *,
        refit: bool,
        workers: int,
        time_limit: float | None = None,
        spared: bool = False,
    ) -> None:
        self._task, self._engine, self._workers, self._spared = task, engine, workers, spared
        self._refit = refit and (task.data.valid_size > 0 or task.cv is not None)
        self._in_reach: dict[Allocation, bool] = {}  # whether the limit left time for this when it became the best
        self._limit = math.inf if time_limit is None else time_limit

    def seconds(self, account: Account) -> float:
        """Return how long this will probably take, if the run ended now; 0 if the limit leaves no time for it."""
        if not (self._refit or self._task.ensemble or self._task.adjust) or account.best_with_all_rows == -math.inf:
            return 0.0
        if not (members := self._members(account)):
            return 0.0
        best = sorted(members, key=lambda each: -members[each].valid_score)[: self._task.kept]
        found = START
        if self._task.adjust:  # it needs predictions; for an ensemble, they were kept
            found += sum(members[each].scoring or 0.0 for each in best)
        if self._refit:
            found += self._fitting({each: members[each] for each in self._usual(account, best, members)})
        if best[0] not in self._in_reach:  # it has just become the best
            left = self._limit - self._engine.clock
            self._in_reach[best[0]] = found <= min(left, MOST_OF_LIMIT * self._limit)
        return found if self._in_reach[best[0]] else 0.0

    def _usual(
        self, account: Account, best: Sequence[Allocation], members: Mapping[Allocation, Measurement]
    ) -> list[Allocation]:
        """Return the learners that will probably be handed over: the best one, and in an ensemble others near to it."""
        first, most = members[best[0]], USUAL_MEMBERS if self._task.ensemble else 1
        least = first.valid_score - SURE * (account.scores.standard_error(best[0].size, first) or 0.0)
        return [each for each in best[:most] if members[each].valid_score >= least]

    def combine(self, account: Account) -> Combination | None:
        """Return the ensemble of the learners that have all rows."""
        scores = {each: outcome.valid_score for each, outcome in self._members(account).items()}
        return self._engine.combine(scores) if self._task.ensemble and len(scores) > 1 else None

    def adjust(self, account: Account) -> Adjustment | None:
        """Return how what is handed over is adjusted to the score; None if that is not wanted, or not possible."""
        weights, scores = self._chosen(account)
        if not self._task.adjust or not scores:
            return None
        found = {each: self._engine.fitted(each, score) for each, score in scores.items()}
        if missing := [each for each, fitted in found.items() if fitted is None]:
            found |= self._engine.fit(missing, with_validation=False)
        if any(isinstance(fitted, FitFailed) for fitted in found.values()):
            return None
        references = {each.learner: reference for each, reference in found.items()}
        fields = self._engine.handle(
            ADJUST, references, weights=None if weights is None else dict(weights), scoring=self._task.scoring
        )
        return None if isinstance(fields, Failure) or not fields else Adjustment(**fields)

    def hand_over(self, account: Account, save_to: Path | None = None) -> Handed:
        """Return the selected learner, or the ensemble; with `save_to`, save it in a folder instead.

        A learner that cannot be saved is no error: `Handed.saved` says why. One that cannot be returned is.
        """
        if save_to is None:
            return self._handed_over(account, None)
        try:
            return self._handed_over(account, save_to)
        except FitFailed as error:
            return Handed(saved=not_saved(save_to, str(error)))

    def _handed_over(self, account: Account, save_to: Path | None) -> Handed:
        weights, scores = self._chosen(account)
        if not scores:
            return Handed()
        found, refitted, note = self._fitted(account, scores)
        references = {each.learner: reference for each, reference in found.items()}
        known = account.adjusted if self._task.adjust else None
        adjustment = known.parameters if known and known.used else None
        if save_to is not None:
            arguments = {"weights": None if weights is None else dict(weights), "adjustment": adjustment}
            return Handed(None, refitted, note, self._saved(references, arguments, save_to))
        loaded = self._engine.loaded(references)
        return Handed(adjusted(assembled(loaded, weights, self._task.data.schema), adjustment), refitted, note)

    def _chosen(self, account: Account) -> tuple[Mapping[str, float] | None, dict[Allocation, float]]:
        """Return the weights of the ensemble, if one is used, and the scores of the learners that are handed over."""
        result, combined, members = account.result, account.combined, self._members(account)
        if result.selected is None or result.selected_size is None or result.valid_score is None:
            return None, {}
        if self._task.ensemble and combined is not None and combined.used:
            names = {each.learner: each for each in members}
            return combined.weights, {names[name]: members[names[name]].valid_score for name in combined.weights}
        return None, {Allocation(result.selected, result.selected_size): result.valid_score}

    def _saved(self, references: Mapping[str, Any], arguments: Mapping[str, Any], folder: Path) -> Saved:
        """Save learners; if even trying to save them as data does harm, as a pickle."""
        for safely in (True, False):
            failure = self._engine.handle(SAVE, references, **arguments, folder_out=str(folder), safely=safely)
            if not isinstance(failure, Failure):
                return saved_in(folder)
        return not_saved(folder, f"{failure.kind}: {failure.message}")

    def _fitted(
        self, account: Account, scores: Mapping[Allocation, float]
    ) -> tuple[dict[Allocation, Any], bool, str | None]:
        """Return the learners that got these scores, whether all were fitted once more, and a note if one was not.

        The learners are references of the engine.
        """
        kept = {each: self._engine.fitted(each, score) for each, score in scores.items()}
        again = self._in_time(account, [*scores])
        missing = [each for each, fitted in kept.items() if fitted is None and each not in again]
        # One that was not kept must be fitted in any case.
        needed = any(kept[each] is None for each in again)
        until, notes = math.inf if needed else LATEST * self._limit, list[str]()
        try:
            found = self._engine.fit(again, with_validation=True, until=until) if again else {}
        except KeyboardInterrupt:
            if needed or not self._spared:
                raise
            found = {}
            notes.append(NOT_AGAIN.format(", ".join(each.learner for each in again)))
        found |= self._engine.fit(missing, with_validation=False) if missing else {}
        for each, fitted in found.items():
            if not isinstance(fitted, FitFailed):
                kept[each] = fitted
            elif kept[each] is None:
                raise fitted
            else:
                notes.append(f"{fitted} The learner that was scored is returned instead.")
        late = [each.learner for each in scores if each not in again]
        if late and self._wanted(account):
            notes.append(TOO_LATE.format(", ".join(late)))
        return kept, bool(again) and not notes, " ".join(notes) or None

    def _wanted(self, account: Account) -> bool:
        """Return whether learners are to be fitted once more: not in a run that was stopped by hand, or too early."""
        stopped = account.result.stopped
        return self._refit and (stopped is None or (stopped == TIME_LIMIT and bool(self._members(account))))

    def _in_time(self, account: Account, wanted: Sequence[Allocation]) -> list[Allocation]:
        """Return the learners that are to be fitted once more, as far as the time limit allows, quickest first."""
        if not self._wanted(account):
            return []
        members, found = self._members(account), list[Allocation]()
        for each in sorted(wanted, key=lambda each: members[each].seconds if each in members else 0.0):
            known = {one: members[one] for one in (*found, each) if one in members}
            if self._engine.clock + self._fitting(known) <= self._limit:
                found.append(each)
        return [each for each in wanted if each in found]

    def _fitting(self, outcomes: Mapping[Allocation, Measurement]) -> float:
        """Return how long it takes to fit learners once more, validation rows included."""
        data = self._task.data
        more = 1 + data.valid_size / data.full_size
        seconds = {each: more * (outcome.seconds - (outcome.scoring or 0.0)) for each, outcome in outcomes.items()}
        alone = sum(seconds.pop(each) for each in outcomes if self._engine.spreads(each))
        return alone + max(max(seconds.values(), default=0.0), sum(seconds.values()) / self._workers)

    @staticmethod
    def _members(account: Account) -> dict[Allocation, Measurement]:
        """Return the outcomes of the learners that have all rows."""
        return {
            allocation: outcome
            for allocation, outcome in account.outcomes.items()
            if allocation.size == account.full_size and isinstance(outcome, Measurement)
        }
