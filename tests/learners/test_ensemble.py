"""Ensembles: a weighted mean of learners that predicts, is cloned and is saved like one learner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pydaub.learners.ensemble import EnsembleClassifier, EnsembleRegressor
from pydaub.runs.saving import load, save

X, Y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
LABELS = np.array(["a", "b", "c"])[Y]


def members() -> dict[str, object]:
    return {"tree": DecisionTreeClassifier(max_depth=3).fit(X, LABELS), "line": LogisticRegression().fit(X, LABELS)}


def test_probabilities_are_the_weighted_mean() -> None:
    fitted = members()
    ensemble = EnsembleClassifier.of(fitted, {"tree": 0.25, "line": 0.75}, ("a", "b", "c"))
    wanted = 0.25 * fitted["tree"].predict_proba(X) + 0.75 * fitted["line"].predict_proba(X)  # type: ignore[attr-defined]
    assert np.allclose(ensemble.predict_proba(X), wanted)
    assert np.array_equal(ensemble.predict(X), labels_of(wanted))


def labels_of(probabilities: np.ndarray) -> np.ndarray:
    return np.array(["a", "b", "c"])[np.argmax(probabilities, axis=1)]


def test_a_learner_without_probabilities_votes() -> None:
    ridge = RidgeClassifier().fit(X, LABELS)
    ensemble = EnsembleClassifier.of({"ridge": ridge}, {"ridge": 1.0}, ("a", "b", "c"))
    assert np.array_equal(ensemble.predict(X), ridge.predict(X))
    assert set(np.unique(ensemble.predict_proba(X))) == {0.0, 1.0}


def test_a_learner_that_has_not_seen_a_class_gives_it_nothing() -> None:
    few = LABELS != "b"
    ensemble = EnsembleClassifier.of(
        {"tree": DecisionTreeClassifier().fit(X[few], LABELS[few])}, {"tree": 1.0}, ("a", "b", "c")
    )
    assert not ensemble.predict_proba(X)[:, 1].any()


def test_numbers_are_the_weighted_mean() -> None:
    rows, target = make_regression(200, 5, random_state=0)
    fitted = {"tree": DecisionTreeRegressor(max_depth=3).fit(rows, target), "line": Ridge().fit(rows, target)}
    ensemble = EnsembleRegressor.of(fitted, {"tree": 0.5, "line": 0.5})
    assert np.allclose(ensemble.predict(rows), (fitted["tree"].predict(rows) + fitted["line"].predict(rows)) / 2)


def test_a_clone_is_trained_anew() -> None:
    ensemble = clone(EnsembleClassifier.of(members(), {"tree": 0.5, "line": 0.5}, ("a", "b", "c")))
    assert ensemble.set_params(tree__max_depth=2).fit(X, LABELS).predict(X).shape == (300,)
    assert ensemble.estimators_[0].get_depth() == 2


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_it_is_saved_without_a_pickle(kind: str, tmp_path: Path) -> None:
    if kind == "classification":
        ensemble = EnsembleClassifier.of(members(), {"tree": 0.5, "line": 0.5}, ("a", "b", "c"))
    else:
        ensemble = EnsembleRegressor.of({"line": Ridge().fit(X, Y)}, {"line": 1.0})
    assert save(ensemble, tmp_path, X).reason is None
    assert np.array_equal(load(tmp_path).predict(X), ensemble.predict(X))
