from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pydaub.errors import InputError
from pydaub.learners.rotation import Rotation, rotation_forest

# A row of weight 2 is drawn for the axes as often as a row of weight 1.
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": "the rows for the axes are drawn at random, whatever their weights"
}


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [Rotation(), rotation_forest(DecisionTreeClassifier(), 3)],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, Rotation) else WEIGHTS,
)
def test_they_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@settings(max_examples=100)
@given(st.integers(1, 12), st.integers(1, 30), st.integers(1, 5), st.integers(0, 99))
def test_a_rotation_keeps_distances(width: int, count: int, group_size: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, width))
    rows[:, 0] = 1.0  # a constant column has no variance
    rotated = Rotation(group_size, random_state=seed).fit_transform(rows)
    assert np.allclose(np.linalg.norm(rotated, axis=1), np.linalg.norm(rows, axis=1))


def test_each_tree_has_its_own_rotation_and_the_seed_decides() -> None:
    X, y = make_classification(300, random_state=0)
    forest = rotation_forest(DecisionTreeClassifier()).set_params(random_state=5).fit(X, y)
    assert len({tuple(np.concatenate(tree["rotation"].groups_)) for tree in forest.estimators_}) > 1
    again = clone(forest).fit(X, y)
    assert (forest.predict_proba(X) == again.predict_proba(X)).all()
    assert (forest.predict(X) == pickle.loads(pickle.dumps(forest)).predict(X)).all()


def test_it_beats_a_tree_on_an_oblique_border() -> None:
    """A single tree needs many splits for a border that is oblique to all columns."""
    rows = np.random.default_rng(0).normal(size=(600, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    labels = rows.sum(axis=1) > 0
    tree = DecisionTreeClassifier(random_state=0)
    forest = rotation_forest(tree).set_params(random_state=0)
    assert cross_val_score(forest, rows, labels).mean() > cross_val_score(tree, rows, labels).mean()


@pytest.mark.parametrize("parameters", [{"group_size": 0}, {"fraction": 0}, {"fraction": 1.5}])
def test_bad_parameters_are_refused(parameters: Any) -> None:
    with pytest.raises(InputError, match=r"`group_size` must be at least 1 and `fraction` above 0 and at most 1, got"):
        Rotation(**parameters).fit(np.eye(3))
