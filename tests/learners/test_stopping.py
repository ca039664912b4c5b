"""Boosters that find their number of rounds: what they hold out, what they keep, and labels, categories and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression

from pydaub.evaluation.evaluate import changed_parameters
from pydaub.learners.costs import kind_of
from pydaub.learners.families import FAMILIES, strong
from pydaub.learners.stopping import HELD_OUT, HIGHEST_RATE

LIBRARIES = ("lightgbm", "xgboost", "catboost")
X, Y = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
LABELS = np.array(["red", "green", "blue"])[Y]


def booster(library: str, task: Any = "classification", **settings: Any) -> Any:
    pytest.importorskip(library.partition("-")[0])
    made = FAMILIES[library].make(task, {"learning_rate": 0.5, **settings})
    return made.set_params(**changed_parameters(made, seed=0, threads=1))


def rounds(fitted: Any) -> int:
    inner = fitted.estimator_
    if hasattr(inner, "best_iteration_") and inner.best_iteration_ is not None:
        return int(inner.best_iteration_)
    return int(inner.best_iteration)


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_stops_and_predicts_labels_as_they_were(library: str) -> None:
    fitted = booster(library).fit(X, LABELS)
    assert rounds(fitted) < 900
    assert is_classifier(fitted)
    assert list(fitted.classes_) == ["blue", "green", "red"]
    assert np.mean(fitted.predict(X) == LABELS) > 0.9
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(clone(fitted).fit(X, LABELS).predict(X), fitted.predict(X)), "by the same seed"


@pytest.mark.parametrize("library", LIBRARIES)
def test_with_many_classes_fewer_rounds_learn_more_each(library: str) -> None:
    many = np.repeat(np.arange(20), 10)
    rate = {
        classes: booster(library, learning_rate=0.03).fit(X, y).estimator_.get_params()["learning_rate"]
        for classes, y in ((2, Y % 2), (20, many))
    }
    assert rate == {2: 0.03, 20: HIGHEST_RATE}


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_predicts_numbers(library: str) -> None:
    rows, target = make_regression(300, 5, noise=1.0, random_state=0)
    fitted = booster(library, "regression").fit(rows, target)
    assert is_regressor(fitted)
    assert fitted.score(rows, target) > 0.8


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_class_with_one_row_is_trained_on_and_a_tiny_sample_works(library: str) -> None:
    labels = LABELS.astype(object)
    labels[17] = "rare"
    for seed in range(2):
        fitted = booster(library).set_params(random_state=seed).fit(X, labels)
        assert fitted.predict_proba(X).shape == (200, 4)
    assert len(booster(library).fit(X[:6], np.array(["a", "b"] * 3)).predict(X[:6])) == 6


@pytest.mark.parametrize("library", LIBRARIES)
def test_categories_missing_values_weights_and_sparse_rows(library: str) -> None:
    rows = np.column_stack([Y.astype(float), X])
    rows[::7, 0] = np.nan
    given = booster(library).set_params(categorical_features=[0])
    fitted = given.fit(rows, LABELS, sample_weight=np.ones(200))
    assert np.mean(fitted.predict(rows) == LABELS) > 0.9
    sparse = booster(library).fit(csr_matrix(X), LABELS)
    assert np.mean(sparse.predict(csr_matrix(X)) == LABELS) > 0.9


def test_a_tenth_is_held_out() -> None:
    fitted = booster("lightgbm").fit(X, LABELS)
    assert HELD_OUT == 0.1
    trained = fitted.estimator_.booster_.trees_to_dataframe()
    assert trained[trained["node_depth"] == 1]["count"].max() <= 180


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_without_patience_all_rounds_are_trained_on_all_rows(task: Any) -> None:
    fitted = booster("lightgbm-all", task, n_estimators=60).fit(X, Y)
    trees = fitted.estimator_.booster_.trees_to_dataframe()
    assert fitted.estimator_.booster_.current_iteration() == 60
    assert trees[trees["node_depth"] == 1]["count"].max() == 200
    assert fitted.score(X, Y) > 0.9


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_portfolio_has_a_hundred_learners_of_its_families(task: Any) -> None:
    found = strong(task)
    assert 100 <= len(found) <= 200
    assert len({recipe.name for recipe in found}) == len(found)
    assert len({recipe.description for recipe in found}) == len(found), "none comes twice"
    assert len({recipe.family for recipe in found}) >= 8


def test_the_kind_of_a_wrapped_booster_is_that_of_the_booster() -> None:
    assert kind_of(booster("lightgbm"))[0] == "LGBM"
