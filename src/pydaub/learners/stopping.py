"""Boosting that finds its number of rounds: it stops once the error on a part of its own sample stops falling."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from pydaub.learners.adapters import checked_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Labels, RandomState, Rows

TWO: Final = 2
ROUNDS: Final = ("n_estimators", "iterations")
HELD_OUT, MOST_HELD_OUT = 0.1, 10_000  # share and largest number of rows to judge the rounds by
MOST_TREES: Final = 2000  # of all classes together, so that many classes do not multiply the time
HIGHEST_RATE: Final = 0.25  # to which the learning rate is raised at most, where many classes leave few rounds
MISSING: Final = -1  # code of a category that is missing or new


def _for_classes(parameters: Mapping[str, Any], classes: int) -> dict[str, Any]:
    """Return the parameters of a booster that change with so many classes: its rounds, and its learning rate.

    >>> _for_classes({"n_estimators": 1000, "learning_rate": 0.03}, 10)
    {'n_estimators': 200, 'learning_rate': 0.15}
    >>> _for_classes({"iterations": 1000, "learning_rate": 0.12}, 5000)
    {'iterations': 1, 'learning_rate': 0.25}
    >>> _for_classes({"n_estimators": 100, "learning_rate": 0.03}, 10)
    {}
    """
    most = max(MOST_TREES // classes, 1)
    name = next((each for each in ROUNDS if parameters.get(each)), None)
    if name is None or parameters[name] <= most:
        return {}
    rate = parameters.get("learning_rate")
    raised = {} if rate is None else {"learning_rate": max(rate, min(rate * parameters[name] / most, HIGHEST_RATE))}
    return {name: most, **raised}


class _EarlyStopped(MetaEstimatorMixin, BaseEstimator):
    """Train a booster of LightGBM, XGBoost or CatBoost until more rounds no longer help.

    A tenth of the sample is held out for that. The rounds up to the best one are kept. With more than two classes, each
    round is a tree for each class, and there are at most 2,000 trees. If rounds are fewer for that reason, each learns
    more: the learning rate is raised in proportion, up to 0.25.

    Parameters
    ----------
    estimator
        Booster; its number of rounds is the most that it may have.
    patience
        Rounds without an improvement after which training ends; None to train all rounds on all rows.
    categorical_features
        Positions of columns whose values are codes of categories. XGBoost takes them for numbers.
    random_state
        Seed for the choice of the rows that are held out.
    """

    def __init__(
        self,
        estimator: Estimator,
        patience: int | None = 30,
        categorical_features: Sequence[int] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.patience = patience
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _train(self, X: Rows, y: NDArray[Any], weights: Any, kept: NDArray[np.intp]) -> None:  # noqa: ANN401  # of any library
        """Train the booster; rows at the positions `kept` are not held out."""
        booster, rows = clone(self.estimator), self._rows(X)
        classes = len(getattr(self, "classes_", ()))
        if classes > TWO:
            booster.set_params(**_for_classes(booster.get_params(), classes))
        order = check_random_state(self.random_state).permutation(len(y))
        order = np.concatenate([order[~np.isin(order, kept)], kept])
        count = min(int(HELD_OUT * len(y)), MOST_HELD_OUT, len(y) - len(kept)) if self.patience else 0
        trained, held = np.sort(order[count:]), np.sort(order[:count])
        options = {} if weights is None else {"sample_weight": np.asarray(weights)[trained]}
        if count:
            options |= self._stopping(booster, (_safe_indexing(rows, held), y[held]))
        if self._library == "lightgbm" and self.categorical_features:
            options["categorical_feature"] = list(self.categorical_features)
        if self._library == "catboost" and self.categorical_features:
            options["cat_features"] = list(self.categorical_features)
        self.estimator_ = booster.fit(_safe_indexing(rows, trained), y[trained], **options)
        self.n_features_in_ = X.shape[1]

    @property
    def _library(self) -> str:
        return type(self.estimator).__module__.partition(".")[0]

    def _stopping(self, booster: Estimator, held: tuple[Rows, NDArray[Any]]) -> dict[str, Any]:
        """Return the arguments of `fit` with which the booster stops early, each library in its own way."""
        match self._library:
            case "lightgbm":
                stop = import_module("lightgbm").early_stopping(self.patience, verbose=False)
                named = "eval_X" in signature(booster.fit).parameters  # since 4.7
                rows = {"eval_X": held[0], "eval_y": held[1]} if named else {"eval_set": [held]}
                return {**rows, "callbacks": [stop]}
            case "xgboost":
                booster.set_params(early_stopping_rounds=self.patience)
                return {"eval_set": [held], "verbose": False}
            case _:
                return {"eval_set": held, "early_stopping_rounds": self.patience}

    def _rows(self, X: Rows) -> Rows:
        """Return rows as the library takes them: CatBoost wants categories as whole numbers."""
        if self._library != "catboost" or not self.categorical_features or issparse(X):
            return X
        frame = pd.DataFrame(np.asarray(X))
        places = list(self.categorical_features)
        codes = frame[places].fillna(MISSING).astype(np.int32)
        return pd.concat([codes, frame.drop(columns=places)], axis=1)[list(frame.columns)]

    def _predicted(self, X: Rows) -> NDArray[Any]:
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(self._rows(X))).ravel()  # CatBoost returns a column

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class EarlyStoppedClassifier(ClassifierMixin, _EarlyStopped):
    """A booster that classifies, with labels of any type, and stops once more rounds no longer help."""

    def fit(self, X: Rows, y: Labels, sample_weight: Any = None) -> EarlyStoppedClassifier:  # noqa: ANN401  # of any library
        """Train the booster on codes of the labels; each class keeps a row to train on."""
        self.classes_, first, codes = np.unique(checked_labels(y), return_index=True, return_inverse=True)
        self._train(X, codes, sample_weight, first)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        return self.classes_[self._predicted(X).astype(np.intp)]

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(self._rows(X))


class EarlyStoppedRegressor(RegressorMixin, _EarlyStopped):
    """A booster that predicts numbers, and stops once more rounds no longer help."""

    def fit(self, X: Rows, y: Labels, sample_weight: Any = None) -> EarlyStoppedRegressor:  # noqa: ANN401  # of any library
        """Train the booster."""
        target = column_or_1d(y, warn=True)
        self._train(X, target, sample_weight, np.arange(min(1, len(target))))
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a number for each row."""
        return self._predicted(X)
