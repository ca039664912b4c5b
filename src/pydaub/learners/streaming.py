"""Learners that see a block of rows at a time: they train on more rows than fit into memory.

Most learners copy their sample, so that memory ends their race. These read mapped rows block by block: once for means
and deviations, and then once for each epoch, through `partial_fit`. They are learners of their own, the same at every
size, so that their curves are curves of one thing; `sgd-logistic`, which goes over its rows until it converges, is
another.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pydaub.learners.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydaub.learners.base import Estimator, Labels, Rows

BLOCK: Final = 50_000  # rows


def _inner_has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, method)


class _Streamed(BaseEstimator):
    """An estimator with `partial_fit`, fed block by block with rows that are scaled, gaps filled with the mean."""

    def __init__(self, estimator: Estimator, epochs: int = 1, block: int = BLOCK) -> None:
        self.estimator = estimator
        self.epochs = epochs
        self.block = block

    def fit(self, X: Rows, y: Labels) -> Self:
        """Read the rows once for the scale, and once for each epoch."""
        self.scaler_ = StandardScaler()
        for rows in self._blocks(X):
            self.scaler_.partial_fit(rows)
        self.estimator_ = clone(self.estimator)
        classes = self._prepare(y)
        for _ in range(self.epochs):
            for start, rows in zip(range(0, len(X), self.block), self._scaled(X), strict=True):
                self.estimator_.partial_fit(rows, y[start : start + self.block], **classes)
        self.n_features_in_ = X.shape[1]
        return self

    def _prepare(self, y: Labels) -> dict[str, Any]:  # noqa: ARG002  # a regression has no classes
        return {}

    def _blocks(self, X: Rows) -> Iterator[Rows]:
        for start in range(0, len(X), self.block):
            yield np.asarray(X[start : start + self.block], dtype=np.float64)

    def _scaled(self, X: Rows) -> Iterator[Rows]:
        for rows in self._blocks(X):
            yield np.nan_to_num(self.scaler_.transform(rows), copy=False)

    def _answers(self, method: str, X: Rows) -> Any:  # noqa: ANN401  # as the estimator's
        check_is_fitted(self)
        answers = [getattr(self.estimator_, method)(rows) for rows in self._scaled(X)]
        return np.concatenate(answers) if answers else np.empty(0)

    def predict(self, X: Rows) -> Labels:
        """Predict block by block."""
        return self._answers("predict", X)


class StreamedClassifier(ClassifierMixin, _Streamed):
    """A classifier of this kind."""

    def _prepare(self, y: Labels) -> dict[str, Any]:
        self.classes_ = np.unique(y)
        return {"classes": self.classes_}

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Rows) -> Any:  # noqa: ANN401  # an array
        """Return probabilities block by block."""
        return self._answers("predict_proba", X)

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Rows) -> Any:  # noqa: ANN401  # an array
        """Return margins block by block."""
        return self._answers("decision_function", X)


class StreamedRegressor(RegressorMixin, _Streamed):
    """A regressor of this kind."""


def _of(kind: type[_Streamed], make: Callable[[], Any], epochs: int = 1) -> Callable[[], Any]:
    return lambda: kind(make(), epochs=epochs)


LOGISTIC: Final = partial(SGDClassifier, loss="log_loss")
STREAMED_CLASSIFIERS: Final = tuple(
    Recipe(f"stream-{name}", f"{words}, block by block", "none", _of(StreamedClassifier, make, epochs), numbers=True)
    for name, words, make, epochs in (
        ("naive-bayes", "Naive Bayes with a Gaussian for each column", GaussianNB, 1),
        ("sgd-logistic", "Logistic regression by gradient descent, 3 epochs", LOGISTIC, 3),
        ("sgd-hinge", "Linear SVM by gradient descent, 3 epochs", partial(SGDClassifier, average=True), 3),
        ("mlp", "Neural network, 100 hidden units, 5 epochs", MLPClassifier, 5),
    )
)
STREAMED_REGRESSORS: Final = tuple(
    Recipe(f"stream-{name}", f"{words}, block by block", "none", _of(StreamedRegressor, make, epochs), numbers=True)
    for name, words, make, epochs in (
        ("sgd", "Least squares by gradient descent, 3 epochs", partial(SGDRegressor, average=True), 3),
        ("mlp", "Neural network, 100 hidden units, 5 epochs", MLPRegressor, 5),
    )
)
