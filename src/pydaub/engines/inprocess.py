"""Evaluate the learners of a task in this process, one after the other."""

from __future__ import annotations

import math
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydaub.engines.base import fit_failed
from pydaub.engines.serial import SerialEngine
from pydaub.errors import is_of_learner, one_line
from pydaub.evaluation.combining import Combination, combine
from pydaub.evaluation.encoded import MOST_MEMORY, Encoded
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.records import Allocation, Failure, Measurement, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydaub.learners import Learner


class InProcessEngine(SerialEngine):
    """A `SerialEngine` for a task. It keeps in memory what `evaluation/workbench.py` keeps in a folder."""

    def __init__(self, task: Task) -> None:
        super().__init__(self._evaluated)
        self._task = task
        self._learned: dict[str, dict[int, Any]] = {}  # by learner and size
        self._encoded: dict[str, Encoded] = {}  # the last used one last
        self._fitted: dict[Allocation, tuple[float, Any, Any]] = {}  # the score, the learner, and what it predicts

    def admit(self, name: str, learner: Learner) -> None:
        """Add a learner to the task."""
        self._task = replace(self._task, learners={**self._task.learners, name: learner})

    def fitted(self, allocation: Allocation, score: float) -> Any | None:  # noqa: ANN401  # an estimator of any class
        """Return the fitted learner that got this validation score, or None if it was not kept."""
        kept, fitted, _ = self._fitted.get(allocation, (math.nan, None, None))
        return fitted if kept == score else None

    def combine(self, members: Mapping[Allocation, float]) -> Combination | None:
        """Choose an ensemble among fitted learners."""
        kept = [each for each, score in members.items() if self.fitted(each, score) is not None]
        found = {each.learner: self._fitted[each][2] for each in kept}
        return combine(self._task, {name: predicted for name, predicted in found.items() if predicted is not None})

    def fit(
        self,
        allocations: Sequence[Allocation],
        *,
        with_validation: bool,
        until: float = math.inf,  # noqa: ARG002  # none can be ended
    ) -> dict[Allocation, Any]:
        """Fit learners once more, one after the other."""
        found: dict[Allocation, Any] = {}
        for allocation in allocations:
            try:
                found[allocation] = fitted_on(self._task, allocation, with_validation=with_validation)
            except BaseException as error:
                if not is_of_learner(error):
                    raise
                found[allocation] = fit_failed(allocation, Failure("error", one_line(error)))
        return found

    def loaded(self, references: Mapping[str, Any]) -> dict[str, Any]:
        """Return the learners, which are in this process."""
        return dict(references)

    def handle(self, function: str, references: Mapping[str, Any], **arguments: Any) -> Any:  # noqa: ANN401  # plain values
        """Call a function with fitted learners, the prepared rows, and plain values."""
        try:
            return resolve_name(function)(self.loaded(references), self._task.data, **arguments)
        except BaseException as error:
            if not is_of_learner(error):
                raise
            return Failure("error", one_line(error))

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return the size of the largest smaller sample and what was learned on it; None if there is none."""
        smaller = [each for each in self._learned.get(allocation.learner, {}).items() if each[0] < allocation.size]
        return max(smaller, key=lambda each: each[0], default=None)

    def keep(self, allocation: Allocation, learned: Any) -> None:  # noqa: ANN401  # whatever the learner needs
        """Keep what was learned, from which larger sizes can start."""
        self._learned.setdefault(allocation.learner, {})[allocation.size] = learned

    def encoded(self, key: str, make: Callable[[], Encoded]) -> Encoded:
        """Return the encoded rows of this key; those that were used last are kept."""
        found = self._encoded.pop(key, None) or make()
        if found.size is None:
            return found
        self._encoded[key] = found
        while len(self._encoded) > 1 and sum(each.size or 0 for each in self._encoded.values()) > MOST_MEMORY:
            del self._encoded[next(iter(self._encoded))]
        return Encoded(found.steps, found.train.copy(), found.valid.copy())  # a learner may write to its rows

    def close(self) -> None:
        """Forget what waits to be collected, and the encoded rows."""
        super().close()
        self._encoded.clear()

    def _evaluated(self, allocation: Allocation) -> Outcome:
        evaluation = evaluate(self._task, allocation, self)
        outcome = evaluation.outcome
        if isinstance(outcome, Measurement) and evaluation.fitted is not None:
            self._fitted[allocation] = (outcome.valid_score, evaluation.fitted, evaluation.predicted)
            self._tidy()
        return outcome

    def _tidy(self) -> None:
        """Forget the fitted learners except the best of all and the best of the full size, several for an ensemble."""
        position = {name: number for number, name in enumerate(self._task.learners)}
        order = sorted(self._fitted, key=lambda each: (-self._fitted[each][0], -each.size, position[each.learner]))
        full = [each for each in order if each.size == self._task.data.full_size]
        self._fitted = {each: self._fitted[each] for each in {*order[:1], *full[: self._task.kept]}}
