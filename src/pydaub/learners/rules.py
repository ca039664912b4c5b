"""Rules of imodels, which is imported only when one of them is trained: that takes a second."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import Labels, Rows


class _Rules(BaseEstimator):
    """Train rules with the defaults of imodels.

    Parameters
    ----------
    kind
        Name of the class in imodels.
    """

    preload: ClassVar[tuple[str, ...]] = ("imodels",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def fit(self, X: Rows, y: Labels) -> _Rules:
        """Train the rules."""
        self.rules_ = getattr(import_module("imodels"), self.kind)().fit(X, y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a prediction for each row."""
        check_is_fitted(self, "rules_")
        return self.rules_.predict(X)


class RulesClassifier(ClassifierMixin, _Rules):
    """Rules that predict a class."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen in `fit`."""
        return self.rules_.classes_

    def predict_proba(self, X: Rows) -> NDArray[Any]:
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "rules_")
        return self.rules_.predict_proba(X)


class RulesRegressor(RegressorMixin, _Rules):
    """Rules that predict a number."""
