from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from pydaub.learners.discriminant import QuadraticDiscriminant


@parametrize_with_checks([QuadraticDiscriminant()])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_without_shrinkage_it_is_plain_quadratic_discriminant_analysis() -> None:
    X, y = load_iris(return_X_y=True)
    parts = [X[y == label] for label in (0, 1, 2)]
    density = np.array([multivariate_normal(part.mean(axis=0), np.cov(part.T)).pdf(X) for part in parts]).T
    found = QuadraticDiscriminant(shrinkage=0).fit(X, y).predict_proba(X)
    assert np.allclose(found, density / density.sum(axis=1, keepdims=True))


def test_a_class_may_have_one_row_or_fewer_rows_than_columns() -> None:
    X, y = load_iris(return_X_y=True)
    X = scale(np.hstack([X, np.random.default_rng(0).normal(size=(150, 60))]))
    y[:] = np.where(np.arange(150) == 149, 7, y % 2)
    found = QuadraticDiscriminant().fit(X, y)
    assert found.classes_.tolist() == [0, 1, 7]
    assert found.predict(X[-1:]).tolist() == [7]
