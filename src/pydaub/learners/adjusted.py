"""A classifier with another threshold, or with probabilities that are less or more extreme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Labels, Rows

SMALLEST_PROBABILITY: Final = 1e-15


class AdjustedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predict as another classifier does, with another threshold or temperature.

    Parameters
    ----------
    estimator
        The classifier. It must have probabilities.
    threshold
        With two classes, the probability from which the second one is predicted; None leaves that to the classifier.
    temperature
        Probabilities are raised to the power 1 / temperature, and divided by their sum: above 1 they become less
        extreme, below 1 more. Their order does not change.
    """

    def __init__(self, estimator: Estimator, threshold: float | None = None, temperature: float = 1.0) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.temperature = temperature

    def fit(self, X: Rows, y: Labels) -> Self:
        """Train the classifier; threshold and temperature stay as they are."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return tempered(np.asarray(self.estimator_.predict_proba(X), dtype=float), self.temperature)

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        check_is_fitted(self, "estimator_")
        if self.threshold is None:
            return np.asarray(self.estimator_.predict(X))
        return self.classes_[(self.predict_proba(X)[:, 1] >= self.threshold).astype(int)]


def adjusted(fitted: Estimator, adjustment: Mapping[str, float] | None) -> Estimator:
    """Return a fitted classifier with these parameters of `AdjustedClassifier`; the same one if there are none."""
    if adjustment is None:
        return fitted
    found = AdjustedClassifier(fitted, **adjustment)
    found.estimator_, found.classes_ = fitted, fitted.classes_
    return found


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return probabilities that are less extreme for a temperature above 1, and more extreme below."""
    if temperature == 1:
        return probabilities
    logarithms = np.log(np.maximum(probabilities, SMALLEST_PROBABILITY)) / temperature
    found = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)
