"""Quadratic discriminant analysis that works on small samples, because its covariances are shrunk."""

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
    """Gaussian per class with a shrunk covariance.

    scikit-learn's implementation refuses a class with a single row or with fewer rows than columns, which small samples
    often have. Columns should be scaled.

    Parameters
    ----------
    shrinkage
        Weight of the identity matrix in each covariance, between 0 and 1.
    """

    def __init__(self, shrinkage: float = 0.3) -> None:
        self.shrinkage = shrinkage

    def fit(self, X: Rows, y: Labels) -> QuadraticDiscriminant:
        """Estimate the mean and covariance of each class."""
        rows, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_, self.whiteners_, self.constants_ = [], [], []
        for code in range(len(self.classes_)):
            part = rows[codes == code]
            mean = part.mean(axis=0)
            covariance = (part - mean).T @ (part - mean) / max(len(part) - 1, 1) * (1 - self.shrinkage)
            covariance[np.diag_indices_from(covariance)] += self.shrinkage
            spread, axes = np.linalg.eigh(covariance)
            self.means_.append(mean)
            self.whiteners_.append(axes / np.sqrt(spread))
            self.constants_.append(np.log(len(part) / len(rows)) - np.log(spread).sum() / 2)
        return self

    def _log_likelihoods(self, X: Rows) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        classes = zip(self.means_, self.whiteners_, self.constants_, strict=True)
        return np.column_stack(
            [constant - (((rows - mean) @ whitener) ** 2).sum(axis=1) / 2 for mean, whitener, constant in classes]
        )

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return the most likely class of each row."""
        best = self._log_likelihoods(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        return softmax(self._log_likelihoods(X), axis=1)
