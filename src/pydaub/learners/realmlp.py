"""RealMLP (Holzmüller, Grinsztajn and Steinwart, 2024): a neural network with tuned defaults for tables.

The network is pytabkit's, on PyTorch. It trains on a GPU where there is one that the worker may use.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from pydaub.learners.adapters import checked_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import Labels, RandomState, Rows


class _RealMLP(BaseEstimator):
    """Train the network; a fifth of the sample decides which epoch is kept.

    Parameters
    ----------
    n_epochs
        How often the sample is gone through.
    hidden_width
        Units in each of the three hidden layers.
    p_drop
        Share of the units that is left out in each step of the training.
    n_jobs
        Number of threads.
    random_state
        Seed.
    """

    uses_gpu: ClassVar[bool] = True
    preload: ClassVar[tuple[str, ...]] = ("pytabkit",)  # takes seconds to import

    def __init__(
        self,
        n_epochs: int = 256,
        hidden_width: int = 256,
        p_drop: float = 0.15,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.hidden_width = hidden_width
        self.p_drop = p_drop
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(self, kind: str, X: Rows, y: NDArray[Any]) -> None:
        for name in ("pytorch_lightning", "lightning.pytorch"):
            logging.getLogger(name).setLevel(logging.ERROR)  # it praises its makers' products at every training
        network = getattr(import_module("pytabkit"), kind)(
            n_epochs=self.n_epochs,
            hidden_width=self.hidden_width,
            p_drop=self.p_drop,
            n_threads=self.n_jobs or 1,
            random_state=self.random_state,
            verbosity=0,
        )
        self.network_ = network.fit(np.asarray(X, dtype=np.float32), np.array(y))  # which may be read-only
        self.network_.to("cpu")  # so that it can be loaded where there is no GPU
        self.n_features_in_ = X.shape[1]

    def _rows(self, X: Rows) -> NDArray[np.float32]:
        check_is_fitted(self, "network_")
        return np.asarray(X, dtype=np.float32)


class RealMLPClassifier(ClassifierMixin, _RealMLP):
    """The network as a classifier, with labels of any type."""

    def fit(self, X: Rows, y: Labels) -> RealMLPClassifier:
        """Train the network on codes of the labels."""
        self.classes_, codes = np.unique(checked_labels(y), return_inverse=True)
        self._train("RealMLP_TD_Classifier", X, codes)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        return np.asarray(self.network_.predict_proba(self._rows(X)), dtype=float)


class RealMLPRegressor(RegressorMixin, _RealMLP):
    """The network as a regressor."""

    def fit(self, X: Rows, y: Labels) -> RealMLPRegressor:
        """Train the network."""
        self._train("RealMLP_TD_Regressor", X, np.asarray(column_or_1d(y, warn=True), dtype=np.float32))
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a number for each row."""
        return np.asarray(self.network_.predict(self._rows(X)), dtype=float).ravel()
