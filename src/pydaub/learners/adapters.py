"""Estimators of others, made to work on samples of any size and on labels of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import check_array, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Labels, Rows


def _has_probabilities(coded: LabelCoded) -> bool:
    return hasattr(getattr(coded, "estimator_", coded.estimator), "predict_proba")


class LabelCoded(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that is given the labels as 0, 1, 2 ... without gaps, and answers with the labels."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def fit(self, X: Rows, y: Labels, **fit_params: object) -> LabelCoded:  # scikit-learn's signature
        """Train the classifier on the codes of the labels."""
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes, **fit_params)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:  # scikit-learn's signature
        """Return a label for each row."""
        check_is_fitted(self, "estimator_")
        codes = np.asarray(self.estimator_.predict(X)).ravel()  # CatBoost answers with a column
        return self.classes_[codes.astype(np.intp)]

    @property
    def n_features_in_(self) -> int:
        """How many columns it was trained on."""
        return self.estimator_.n_features_in_

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own type
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class _Nearest(BaseEstimator):
    """The mean or the vote of the nearest rows: of all rows where the sample is smaller than `n_neighbors`."""

    _kind: Any

    def __init__(self, n_neighbors: int = 5, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X: Rows, y: Labels) -> Estimator:  # scikit-learn's signature
        """Keep the rows."""
        (rows,) = indexable(X)
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        self.neighbours_ = self._kind(min(self.n_neighbors, count), n_jobs=self.n_jobs).fit(
            X, column_or_1d(y, warn=True)
        )
        self.n_features_in_ = self.neighbours_.n_features_in_
        return self

    def predict(self, X: Rows) -> NDArray[Any]:  # scikit-learn's signature
        """Return a prediction for each row."""
        check_is_fitted(self)
        return self.neighbours_.predict(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own type
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NearestClassifier(ClassifierMixin, _Nearest):
    """The class that is most frequent among the nearest rows, however few rows the sample has."""

    _kind = KNeighborsClassifier

    def fit(self, X: Rows, y: Labels) -> NearestClassifier:  # scikit-learn's signature
        """Keep the rows."""
        super().fit(X, y)
        self.classes_ = self.neighbours_.classes_
        return self

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the share of each class among the nearest rows."""
        check_is_fitted(self)
        return self.neighbours_.predict_proba(X)


class NearestRegressor(RegressorMixin, _Nearest):
    """The mean of the nearest rows, however few rows the sample has."""

    _kind = KNeighborsRegressor
