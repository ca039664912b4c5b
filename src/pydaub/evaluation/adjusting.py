"""Adjust a fitted classifier to the score: its threshold, or the temperature of its probabilities.

As for an ensemble, the value that is used is chosen on all validation rows, and the scores that are reported come from
rows that did not choose: for each fifth of the rows, the value, and the weights of an ensemble's members, are chosen on
the other four.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from pydaub.errors import InputError
from pydaub.evaluation.combining import FOLDS, MOST_ROWS, Array, chosen, scorer_of
from pydaub.learners.adjusted import tempered
from pydaub.learners.ensemble import probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.data import Prepared, Schema

THRESHOLDS: Final = 100  # that are tried
EXTREME: Final = 10.0  # the largest temperature; the smallest is its inverse
BINARY: Final = 2  # classes
USUAL: Final = math.nextafter(0.5, 1.0)  # threshold


class Adjustment(NamedTuple):
    """What is adjusted, to which value, and scores on rows that did not choose: with it, and without."""

    method: str
    value: float
    score: float
    plain: float


def method_for(scoring: Any, schema: Schema) -> str:
    """Return "threshold" or "temperature": what a score depends on.

    Raises
    ------
    InputError
        If neither can be adjusted for this score, or for this target.
    """
    if schema.task != "classification":
        raise InputError("`adjust` must go with a classification, got a regression.")
    if not isinstance(scoring, str | None):
        raise InputError(f"`adjust` must go with a scorer by its name, got {scoring!r}.")
    # Score four rows of two classes: with given probabilities, with less extreme ones, and with another threshold.
    classes = np.asarray(schema.classes)[:BINARY]
    second, rows = np.array([0.1, 0.3, 0.6, 0.9]), np.arange(4)
    score = scorer_of(scoring, classes[[0, 1, 0, 1]], classes)
    plain = np.column_stack([1 - second, second])
    if not math.isclose(score(plain, rows), score(tempered(plain, 2.0), rows)):
        return "temperature"
    if math.isclose(score(plain, rows), score(np.column_stack([1 - second**0.5, second**0.5]), rows)):
        raise InputError(
            f"`adjust` must go with a score of labels or probabilities, got {scoring}: it depends on their order alone."
        )
    if len(schema.classes) > BINARY:
        raise InputError(
            f"`adjust` must go with two classes, or with a score of probabilities as neg_log_loss, got"
            f" {len(schema.classes):,} classes and {scoring or 'accuracy'}."
        )
    return "threshold"


def adjust(
    members: Mapping[str, Any], data: Prepared, *, weights: Mapping[str, float] | None, scoring: str | None
) -> dict[str, Any]:
    """Return how a fitted learner, or the ensemble of several, is adjusted, as fields; none if it is not possible."""
    method, sample = method_for(scoring, data.schema), data.valid(MOST_ROWS)
    classes, truth = np.asarray(data.schema.classes), np.asarray(sample.y)
    if weights is None and not all(hasattr(fitted, "predict_proba") for fitted in members.values()):
        return {}  # in an ensemble, the labels of such a member count as certain
    each = np.stack([probabilities(fitted, sample.X, classes) for fitted in members.values()])
    if not np.all(np.isfinite(each)):
        return {}
    choose, apply = (_threshold, _decided) if method == "threshold" else (_temperature, tempered)
    score, everything = scorer_of(scoring, truth, classes), np.arange(len(truth))
    adjusted, plain = np.empty_like(each[0]), np.empty_like(each[0])
    for fold in range(FOLDS):
        held = everything % FOLDS == fold
        others = everything[~held]
        predicted = np.average(each, axis=0, weights=None if weights is None else chosen(each, others, score))
        plain[held], adjusted[held] = predicted[held], apply(predicted[held], choose(predicted, others, score))
    predicted = np.average(each, axis=0, weights=None if weights is None else [weights[name] for name in members])
    value = choose(predicted, everything, score)
    return Adjustment(method, value, score(adjusted, everything), score(plain, everything))._asdict()


def _decided(predicted: Array, threshold: float) -> Array:
    second = predicted[:, 1] >= threshold
    return np.column_stack([~second, second]).astype(float)


def _threshold(predicted: Array, rows: Array, score: Callable[[Array, Array], float]) -> float:
    """Return the threshold with the best score on these rows; of equal ones the one nearest to a half.

    They lie between probabilities that occur, or below all, so that ties do not matter. The usual one is just above a
    half: with equal probabilities, classifiers predict the first class.
    """
    levels = np.unique(np.quantile(predicted[rows, 1], np.linspace(0, 1, THRESHOLDS), method="nearest"))
    between = np.concatenate([levels[:1] / 2, (levels[1:] + levels[:-1]) / 2])
    scores = {float(level): score(_decided(predicted, level), rows) for level in (USUAL, *between[between != 0.5])}  # noqa: PLR2004  # see above
    return max(scores, key=lambda level: (scores[level], -abs(level - 0.5)))


def _temperature(predicted: Array, rows: Array, score: Callable[[Array, Array], float]) -> float:
    """Return the temperature with the best score on these rows."""
    found = minimize_scalar(
        lambda logarithm: -score(tempered(predicted, math.exp(logarithm)), rows),
        bounds=(-math.log(EXTREME), math.log(EXTREME)),
        method="bounded",
    )
    return float(math.exp(found.x))
