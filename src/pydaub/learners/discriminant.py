"""Quadratic discriminant analysis for small samples: a Gaussian for each class, pulled towards a round one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import Labels, Rows


class QuadraticDiscriminant(ClassifierMixin, BaseEstimator):
    """A Gaussian for each class whose covariance is mixed with `roundness` of the identity.

    scikit-learn's own refuses a class of one row, or of fewer rows than columns, as a small sample may have.
    Columns are expected to be scaled.
    """

    def __init__(self, roundness: float = 0.3) -> None:
        self.roundness = roundness

    def fit(self, X: Rows, y: Labels) -> QuadraticDiscriminant:  # scikit-learn's signature
        """Find mean, axes and spread of each class."""
        rows, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_, self.whiteners_, self.constants_ = [], [], []
        for code in range(len(self.classes_)):
            part = rows[codes == code]
            mean = part.mean(axis=0)
            covariance = (part - mean).T @ (part - mean) / max(len(part) - 1, 1) * (1 - self.roundness)
            covariance[np.diag_indices_from(covariance)] += self.roundness
            spread, axes = np.linalg.eigh(covariance)
            self.means_.append(mean)
            self.whiteners_.append(axes / np.sqrt(spread))
            self.constants_.append(np.log(len(part) / len(rows)) - np.log(spread).sum() / 2)
        return self

    def _log_likelihoods(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        classes = zip(self.means_, self.whiteners_, self.constants_, strict=True)
        return np.column_stack(
            [constant - (((rows - mean) @ whitener) ** 2).sum(axis=1) / 2 for mean, whitener, constant in classes]
        )

    def predict(self, X: Rows) -> NDArray[Any]:  # scikit-learn's signature
        """Return the most likely class of each row."""
        best = self._log_likelihoods(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the probability of each class, in the order of `classes_`."""
        return softmax(self._log_likelihoods(X), axis=1)
