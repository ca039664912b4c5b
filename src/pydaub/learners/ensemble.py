"""A weighted mean of learners, which predicts like one learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pydaub.data import Schema
    from pydaub.learners.base import Estimator, Labels, Rows


class _Ensemble(_BaseComposition, BaseEstimator):
    """What both kinds of ensembles share.

    Parameters
    ----------
    estimators
        Pairs of a name and a learner.
    weights
        The weight of each learner.
    """

    def __init__(self, estimators: Sequence[tuple[str, Estimator]], weights: Sequence[float]) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def of(cls, fitted: Mapping[str, Estimator], weights: Mapping[str, float], classes: Any = None) -> Self:  # noqa: ANN401  # an array
        """Return an ensemble of learners that are fitted already."""
        members = [(name, fitted[name]) for name in weights]
        ensemble = cls(members, list(weights.values()))
        ensemble.estimators_ = [member for _, member in members]
        if classes is not None:
            ensemble.classes_ = np.asarray(classes)
        return ensemble

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  # as scikit-learn has it
        """Return the parameters, and with `deep` those of the learners."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401  # of any type
        """Set parameters, also those of the learners."""
        self._set_params("estimators", **params)
        return self

    def fit(self, X: Rows, y: Labels) -> Self:
        """Train each learner."""
        self.estimators_ = [clone(estimator).fit(X, y) for _, estimator in self.estimators]
        return self

    def _mean(self, predictions: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        return np.average(np.asarray(predictions, dtype=float), axis=0, weights=np.asarray(self.weights))


class EnsembleClassifier(ClassifierMixin, _Ensemble):
    """Predict the class with the highest weighted mean probability.

    A learner without probabilities gives its class the probability 1.

    Parameters
    ----------
    estimators, weights
        Pairs of a name and a learner, and the weight of each.
    """

    def fit(self, X: Rows, y: Labels) -> Self:
        """Train each learner."""
        self.classes_ = np.unique(np.asarray(y))
        return super().fit(X, y)

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the weighted mean of the probabilities of each class, in the order of `classes_`."""
        check_is_fitted(self, "estimators_")
        return self._mean([probabilities(member, X, self.classes_) for member in self.estimators_])

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        found = self.predict_proba(X)
        return self.classes_[np.argmax(found, axis=1)]


class EnsembleRegressor(RegressorMixin, _Ensemble):
    """Predict the weighted mean of what the learners predict.

    Parameters
    ----------
    estimators, weights
        Pairs of a name and a learner, and the weight of each.
    """

    def predict(self, X: Rows) -> NDArray[np.float64]:
        """Return a number for each row."""
        check_is_fitted(self, "estimators_")
        return self._mean([np.asarray(member.predict(X), dtype=float).ravel() for member in self.estimators_])


def assembled(fitted: Mapping[str, Estimator], weights: Mapping[str, float] | None, schema: Schema) -> Estimator:
    """Return the ensemble of fitted learners with these weights; the only learner if there are no weights."""
    if weights is None:
        (learner,) = fitted.values()
        return learner
    if schema.task == "classification":
        return EnsembleClassifier.of(fitted, weights, schema.classes)
    return EnsembleRegressor.of(fitted, weights)


def probabilities(fitted: Estimator, X: Rows, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability of each of the sorted `classes`; 1 for what is predicted by a learner without any."""
    if hasattr(fitted, "predict_proba"):
        found = np.zeros((X.shape[0], len(classes)))
        found[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X)
        return found
    return (np.asarray(fitted.predict(X)).ravel()[:, None] == classes[None, :]).astype(float)
