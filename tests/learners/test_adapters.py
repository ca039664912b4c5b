from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pydaub.learners.adapters import LabelCoded, NearestClassifier, NearestRegressor

X = np.arange(12.0).reshape(6, 2)
Y = np.array(["b", "a", "b", "c", "c", "a"])


@parametrize_with_checks([LabelCoded(DecisionTreeClassifier(max_depth=3)), NearestClassifier(), NearestRegressor()])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_they_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


class Picky(LogisticRegression):
    """Accepts only the labels 0, 1, 2, ... and predicts a column of floats, as some boosting libraries do."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        assert sorted(set(y)) == list(range(len(set(y))))
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        return super().predict(X).astype(float)[:, None]


@pytest.mark.parametrize("labels", [Y, np.array([7, -2, 7, 30, 30, -2]), np.array([0.5, 1, 0.5, 2, 2, 1]).astype(str)])
def test_labels_of_any_type_are_predicted(labels: Any) -> None:
    coded = LabelCoded(Picky()).fit(X, labels, sample_weight=np.ones(6))
    plain = LogisticRegression().fit(X, labels)
    assert (coded.predict(X) == plain.predict(X)).all()
    assert coded.predict(X).dtype == labels.dtype
    assert np.allclose(coded.predict_proba(X), plain.predict_proba(X))
    assert (coded.classes_ == plain.classes_).all()


def test_there_are_probabilities_if_the_estimator_has_them() -> None:
    assert hasattr(LabelCoded(LogisticRegression()), "predict_proba")
    assert not hasattr(LabelCoded(LinearSVC()), "predict_proba")


def test_all_rows_are_neighbours_if_the_sample_is_smaller() -> None:
    assert np.allclose(NearestRegressor(25).fit(X, X[:, 0]).predict(X), X[:, 0].mean())
    assert NearestClassifier(25).fit(X, list("aaabbb")).predict_proba(X).tolist() == [[0.5, 0.5]] * 6


def test_on_larger_samples_they_agree_with_scikit_learn() -> None:
    assert (NearestClassifier(3).fit(X, Y).predict(X) == KNeighborsClassifier(3).fit(X, Y).predict(X)).all()
    target = X[:, 0] ** 2
    assert (NearestRegressor(3).fit(X, target).predict(X) == KNeighborsRegressor(3).fit(X, target).predict(X)).all()
