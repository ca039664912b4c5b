"""Combine fitted learners: greedy selection with replacement on their validation predictions (Caruana et al., 2004).

The weights are those that do best on the validation rows, so their score there is too high. The scores that are
reported come from rows that did not choose: for each fifth of the rows, the weights, and the best member, are chosen on
the other four.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from pydaub.evaluation.metrics import quick_scorer
from pydaub.learners.ensemble import probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.data import Prepared
    from pydaub.evaluation.evaluate import Task

Array: TypeAlias = np.ndarray[Any, Any]

ROUNDS: Final = 25  # learners in the ensemble, counted with repetition
PATIENCE: Final = 6  # rounds without an improvement
FOLDS: Final = 5
MOST_ROWS: Final = 20_000  # validation rows that are used


class Combination(NamedTuple):
    """An ensemble: the weights of its learners, and scores on rows that did not choose.

    `score` is that of the ensemble, `alone` that of the member which was best on the other rows.
    """

    weights: dict[str, float]
    score: float
    alone: float


def predictions(data: Prepared, fitted: Any, X: Any) -> Array | None:
    """Return what a learner predicts for the rows by which an ensemble is chosen; None if it cannot be a member.

    `X` are all validation rows, as the learner needs them.
    """
    classes = _classes(data)
    try:
        found = np.asarray(fitted.predict(X)).ravel() if classes is None else probabilities(fitted, X, classes)
    except Exception:  # noqa: BLE001  # a learner may raise anything; the others can still be combined
        return None
    found = found.astype(float if classes is None else np.float32)
    found = found[data.valid_places(MOST_ROWS)] if data.valid_size > MOST_ROWS else found
    return found if np.all(np.isfinite(found)) else None


def combine(task: Task, predicted: Mapping[str, Array]) -> Combination | None:
    """Return the ensemble of learners that have predicted this, by name; None if there are fewer than two."""
    if len(predicted) < 2:  # noqa: PLR2004  # to combine
        return None
    sample, classes = task.data.valid(MOST_ROWS), _classes(task.data)
    members, truth = np.stack(list(predicted.values())), np.asarray(sample.y)
    score = scorer_of(task.scoring, truth, classes)
    everything = np.arange(len(truth))
    weights = chosen(members, everything, score)
    together, alone = np.empty_like(members[0]), np.empty_like(members[0])
    for fold in range(FOLDS):
        held = everything % FOLDS == fold
        others = everything[~held]
        together[held] = np.average(members[:, held], axis=0, weights=chosen(members, others, score))
        alone[held] = members[int(np.argmax([score(member, others) for member in members]))][held]
    shares = {name: round(float(weight), 4) for name, weight in zip(predicted, weights, strict=True) if weight}
    return Combination(shares, score(together, everything), score(alone, everything))


def chosen(members: Array, rows: Array, score: Callable[[Array, Array], float]) -> Array:
    """Return the weights of members x rows (x classes) of predictions that score best on these rows."""
    counts, best, best_score, best_round = np.zeros(len(members)), np.zeros(len(members)), -np.inf, 0
    total = np.zeros_like(members[0])
    for number in range(1, ROUNDS + 1):
        scores = [score((total + member) / number, rows) for member in members]
        place = int(np.argmax(scores))
        counts[place] += 1
        total += members[place]
        if scores[place] > best_score:
            best, best_score, best_round = counts.copy(), scores[place], number
        elif number - best_round >= PATIENCE:
            break
    return best / best.sum()


def _classes(data: Prepared) -> Array | None:
    return np.asarray(data.schema.classes) if data.schema.task == "classification" else None


def scorer_of(scoring: Any, truth: Array, classes: Array | None) -> Callable[[Array, Array], float]:
    """Return a function that scores predictions (of classes: probabilities) on some rows, given by their numbers."""
    name = scoring or ("r2" if classes is None else "accuracy")
    if classes is not None and (quick := quick_scorer(name, classes)):
        codes = np.searchsorted(classes, truth)

        def quickly(predicted: Array, rows: Array) -> float:
            found = quick(codes[rows], predicted[rows])
            if math.isnan(found):
                raise ValueError(f"{name} must be known for these rows, got nan")
            return found

        return quickly
    scorer = get_scorer(name)

    def score(predicted: Array, rows: Array) -> float:
        fixed = FixedRegressor(predicted) if classes is None else FixedClassifier(predicted, classes)
        return float(scorer(fixed, rows, truth[rows]))

    return score


class FixedRegressor(RegressorMixin, BaseEstimator):
    """Predict what is given for each row; rows are their numbers."""

    def __init__(self, predicted: Array) -> None:
        self.predicted = predicted

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Array) -> Array:
        """Return what is given."""
        return self.predicted[X]


class FixedClassifier(ClassifierMixin, BaseEstimator):
    """Predict the given probabilities of each row; rows are their numbers."""

    def __init__(self, predicted: Array, classes: Array) -> None:
        self.predicted, self.classes = predicted, classes
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities."""
        totals = self.predicted[X].sum(axis=1, keepdims=True)
        return self.predicted[X] / np.where(totals > 0, totals, 1.0)

    def predict(self, X: Array) -> Array:
        """Return the classes with the highest probabilities."""
        return self.classes_[np.argmax(self.predicted[X], axis=1)]
