"""Learners that train on more rows than fit into memory, because they read one block of rows at a time.

Most learners copy their sample and fail when it outgrows memory. These read memory-mapped rows block by block through
`partial_fit`: once for means and deviations, then once per epoch. How the columns of a frame are encoded is learned
from its first block, which is a random sample. They do the same at every size, so their learning curves are comparable
across sizes. They differ from learners like `sgd-logistic`, which repeat until they converge.
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
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pydaub.learners.adapters import wrapped_has
from pydaub.learners.base import Estimator, Labels, Recipe, Rows

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK: Final = 50_000  # rows
CELLS: Final = 5_000_000  # of a block once it is encoded: wide rows come in shorter blocks


class _Streamed(BaseEstimator):
    """Train an estimator block by block on standardized rows, with missing values replaced by the mean.

    Parameters
    ----------
    estimator
        Estimator with `partial_fit`.
    epochs
        Number of passes over the rows.
    block
        Number of rows per block, fewer if they are wide.
    columns
        Transformer of a frame to standardized numbers; None if the rows are a matrix. It is fitted on the first block.
    """

    reads_blocks = True  # `fit` slices the rows, which need not be in memory

    def __init__(
        self, estimator: Estimator, epochs: int = 1, block: int = BLOCK, columns: Estimator | None = None
    ) -> None:
        self.estimator = estimator
        self.epochs = epochs
        self.block = block
        self.columns = columns

    def fit(self, X: Rows, y: Labels) -> Self:
        """Read the rows once for the scale, unless they are a frame, and once per epoch."""
        self.n_features_in_ = width = X.shape[1]
        if self.columns is None:
            self.scaler_ = StandardScaler()
        else:
            first = _sliced(X, slice(self.block))
            self.scaler_ = clone(self.columns).fit(first)
            width = self.scaler_.transform(first[:1]).shape[1]
        self.block_ = min(self.block, max(1, CELLS // width))
        if self.columns is None:
            for block in gen_batches(len(X), self.block_):
                self.scaler_.partial_fit(np.asarray(X[block], dtype=np.float64))
        self.estimator_ = clone(self.estimator)
        classes = self._prepare(y)
        for _ in range(self.epochs):
            for block in gen_batches(len(X), self.block_):
                self.estimator_.partial_fit(self._scaled(_sliced(X, block)), y[block], **classes)
        return self

    def _prepare(self, y: Labels) -> dict[str, Any]:  # noqa: ARG002  # classifiers need it
        return {}

    def _scaled(self, rows: Rows) -> Rows:
        rows = np.asarray(rows, dtype=np.float64) if self.columns is None else rows
        return np.nan_to_num(self.scaler_.transform(rows), copy=False)

    def _answers(self, method: str, X: Rows) -> Any:  # noqa: ANN401  # scikit-learn has no types
        check_is_fitted(self)
        answer = getattr(self.estimator_, method)
        answers = [answer(self._scaled(_sliced(X, block))) for block in gen_batches(len(X), self.block_)]
        return np.concatenate(answers) if answers else np.empty(0)

    def predict(self, X: Rows) -> Labels:
        """Predict block by block."""
        return self._answers("predict", X)


def _sliced(rows: Rows, block: slice) -> Rows:
    """Return some rows of an array, a frame, or rows that are read when they are sliced."""
    return rows.iloc[block] if hasattr(rows, "iloc") else rows[block]


class StreamedClassifier(ClassifierMixin, _Streamed):
    """Train a classifier block by block; parameters as in the base class."""

    def _prepare(self, y: Labels) -> dict[str, Any]:
        self.classes_ = np.unique(y)
        return {"classes": self.classes_}

    @available_if(wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Rows) -> Any:  # noqa: ANN401  # scikit-learn has no types
        """Return class probabilities block by block."""
        return self._answers("predict_proba", X)

    @available_if(wrapped_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Rows) -> Any:  # noqa: ANN401  # scikit-learn has no types
        """Return decision values block by block."""
        return self._answers("decision_function", X)


class StreamedRegressor(RegressorMixin, _Streamed):
    """Train a regressor block by block; parameters as in the base class."""


def _streamed(
    kind: type[_Streamed], name: str, description: str, make: Callable[[], Estimator], epochs: int = 1
) -> Recipe:
    return Recipe(
        f"stream-{name}", f"{description}, block by block", "streamed", lambda: kind(make(), epochs=epochs), dense=True
    )


_classifier, _regressor = partial(_streamed, StreamedClassifier), partial(_streamed, StreamedRegressor)
LOGISTIC: Final = partial(SGDClassifier, loss="log_loss")
STREAMED_CLASSIFIERS: Final = (
    _classifier("naive-bayes", "Naive Bayes with a Gaussian per column", GaussianNB),
    _classifier("sgd-logistic", "Logistic regression by gradient descent, 3 epochs", LOGISTIC, 3),
    _classifier("sgd-hinge", "Linear SVM by gradient descent, 3 epochs", partial(SGDClassifier, average=True), 3),
    _classifier("mlp", "Neural network, 100 hidden units, 5 epochs", MLPClassifier, 5),
)
STREAMED_REGRESSORS: Final = (
    _regressor("sgd", "Least squares by gradient descent, 3 epochs", partial(SGDRegressor, average=True), 3),
    _regressor("mlp", "Neural network, 100 hidden units, 5 epochs", MLPRegressor, 5),
)
