"""Adjusted classifiers: another threshold or temperature, saved and cloned like any learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from pydaub.learners.adjusted import AdjustedClassifier, adjusted, tempered
from pydaub.runs.saving import load, save

if TYPE_CHECKING:
    from pathlib import Path

X, Y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
LABELS = np.array(["a", "b", "c"])[Y]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_a_temperature_keeps_the_order_and_sums_to_one(temperature: float) -> None:
    plain = np.random.default_rng(0).dirichlet(np.full(4, 3.0), size=500)
    plain[0] = [1, 0, 0, 0]
    found = tempered(plain, temperature)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.array_equal(np.argmax(found, axis=1), np.argmax(plain, axis=1))
    assert np.allclose(tempered(found, 1 / temperature)[1:], plain[1:], atol=1e-6)
    if temperature != 1:
        most = found.max(axis=1) < plain.max(axis=1) if temperature > 1 else found.max(axis=1) > plain.max(axis=1)
        assert most[1:].all()


def test_a_threshold_decides_between_two_classes() -> None:
    two = LABELS != "c"
    fitted = LogisticRegression().fit(X[two], LABELS[two])
    for threshold in (0.0, 0.2, 0.8, 1.1):
        found = adjusted(fitted, {"threshold": threshold}).predict(X)
        assert np.array_equal(found == "b", fitted.predict_proba(X)[:, 1] >= threshold)
    assert adjusted(fitted, None) is fitted


def test_it_is_cloned_fitted_and_saved_like_a_learner(tmp_path: Path) -> None:
    fitted = adjusted(LogisticRegression().fit(X, LABELS), {"temperature": 2.0})
    assert save(fitted, tmp_path, X).reason is None
    assert np.array_equal(load(tmp_path).predict_proba(X), fitted.predict_proba(X))
    again = clone(AdjustedClassifier(LogisticRegression(), temperature=2.0)).fit(X, LABELS)
    assert np.allclose(again.predict_proba(X), fitted.predict_proba(X))
    assert np.array_equal(again.predict(X), again.estimator_.predict(X))
