"""Wrappers that make other libraries' estimators work on labels of any type and on samples of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Labels, Rows


def checked_labels(y: Labels) -> NDArray[Any]:
    """Return labels as a one-dimensional array; raise ValueError if they are not those of a classification."""
    y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None)
    check_classification_targets(y)
    return y


def wrapped_has(method: str) -> Callable[[Any], bool]:
    """Return a condition for `available_if`: whether the wrapped estimator has this method."""
    return lambda wrapper: hasattr(getattr(wrapper, "estimator_", wrapper.estimator), method)


class LabelCoded(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Train a classifier on labels that are coded as 0, 1, 2, ... and predict the original labels.

    Parameters
    ----------
    estimator
        Classifier to wrap.
    """

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def fit(self, X: Rows, y: Labels, **fit_params: object) -> LabelCoded:
        """Train the classifier on the codes of the labels."""
        self.classes_, codes = np.unique(checked_labels(y), return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes, **fit_params)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        check_is_fitted(self, "estimator_")
        codes = np.asarray(self.estimator_.predict(X)).ravel()  # CatBoost returns a column
        return self.classes_[codes.astype(np.intp)]

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in `fit`."""
        return self.estimator_.n_features_in_

    @available_if(wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class _Nearest(BaseEstimator):
    """Nearest neighbours that use all rows if the sample has fewer than `n_neighbors`."""

    _kind: Any

    def __init__(self, n_neighbors: int = 5, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X: Rows, y: Labels) -> Estimator:
        """Store the rows."""
        count = min(self.n_neighbors, _num_samples(X))
        self.neighbours_ = self._kind(count, n_jobs=self.n_jobs).fit(X, column_or_1d(y, warn=True))
        self.n_features_in_ = self.neighbours_.n_features_in_
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a prediction for each row."""
        check_is_fitted(self)
        return self.neighbours_.predict(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NearestClassifier(ClassifierMixin, _Nearest):
    """Predict the most frequent class among the nearest rows, however small the sample is."""

    _kind = KNeighborsClassifier

    def fit(self, X: Rows, y: Labels) -> NearestClassifier:
        """Store the rows."""
        super().fit(X, y)
        self.classes_ = self.neighbours_.classes_
        return self

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the share of each class among the nearest rows."""
        check_is_fitted(self)
        return self.neighbours_.predict_proba(X)


class NearestRegressor(RegressorMixin, _Nearest):
    """Predict the mean of the nearest rows, however small the sample is."""

    _kind = KNeighborsRegressor
