"""Rotation forest: each tree is trained on differently rotated columns (Rodriguez, Kuncheva and Alonso 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pydaub.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Labels, RandomState, Rows


class Rotation(TransformerMixin, BaseEstimator):
    """Split columns into random groups and rotate each group to its principal axes.

    Parameters
    ----------
    group_size
        Number of columns per group.
    fraction
        Share of the rows, drawn with replacement for each group, that determine its axes.
    random_state
        Seed for groups and rows.
    """

    def __init__(self, group_size: int = 3, fraction: float = 0.75, random_state: RandomState = None) -> None:
        self.group_size = group_size
        self.fraction = fraction
        self.random_state = random_state

    def fit(self, X: Rows, y: object = None) -> Rotation:  # noqa: ARG002  # scikit-learn passes y
        """Draw the groups and compute their axes."""
        if self.group_size < 1 or not 0 < self.fraction <= 1:
            got = f"{self.group_size} and {self.fraction}"
            raise InputError(f"`group_size` must be at least 1 and `fraction` above 0 and at most 1, got {got}.")
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        random = check_random_state(self.random_state)
        count, width = rows.shape
        self.groups_ = np.array_split(random.permutation(width), -(-width // self.group_size))
        self.axes_ = []
        for group in self.groups_:
            drawn = random.randint(count, size=max(1, int(self.fraction * count)))
            part = rows[np.ix_(drawn, group)]
            part = part - part.mean(axis=0)
            self.axes_.append(np.linalg.eigh(part.T @ part)[1])
        return self

    def transform(self, X: Rows) -> NDArray[Any]:
        """Return the rotated rows."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        rotated = np.empty_like(rows)
        for group, axes in zip(self.groups_, self.axes_, strict=True):
            rotated[:, group] = rows[:, group] @ axes
        return rotated


class RotatedTree(Pipeline):
    """Pipeline of a rotation and a tree that passes sample weights on to the tree."""

    def fit(self, X: Rows, y: Labels = None, sample_weight: Labels = None) -> RotatedTree:
        """Rotate the rows and train the tree."""
        return super().fit(X, y, tree__sample_weight=sample_weight)


def rotation_forest(tree: Estimator, n_estimators: int = 10) -> Estimator:
    """Return a bagging ensemble of trees, each with its own rotation and bootstrap sample."""
    forest = BaggingClassifier if is_classifier(tree) else BaggingRegressor
    return forest(RotatedTree([("rotation", Rotation()), ("tree", tree)]), n_estimators=n_estimators)
