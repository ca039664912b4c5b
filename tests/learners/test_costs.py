"""Declared costs: every learner has one, and it grows as it should."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub.algorithm.strategies.costs import EXPONENTS
from pydaub.learners.costs import ALL_ROUNDS, COSTS, GROWTHS, STOPPED, cost_of, growths_of, promises_of, with_costs
from pydaub.learners.families import strong
from pydaub.learners.sklearn import CLASSIFIERS, REGRESSORS


class Own:
    """An estimator that nobody knows."""


@pytest.mark.parametrize("recipe", [*CLASSIFIERS, *REGRESSORS], ids=lambda recipe: recipe.name)
def test_every_learner_of_the_portfolios_has_a_cost(recipe: Any) -> None:
    if recipe.package:
        pytest.importorskip(recipe.package)
    cost = cost_of(recipe.name, recipe.make())
    assert cost.factor > 0
    assert 1 <= cost.rows <= EXPONENTS[1]
    assert cost.seconds(20_000, 10, 2) >= 2 * cost.seconds(10_000, 10, 2)
    assert cost.seconds(1000, 20, 2) >= cost.seconds(1000, 10, 2)


def test_a_learner_of_ones_own_costs_what_its_kind_costs() -> None:
    forest, larger = RandomForestClassifier(100), make_pipeline(StandardScaler(), RandomForestRegressor(1000))
    assert cost_of("mine", larger).factor == pytest.approx(10 * cost_of("mine", forest).factor)
    assert cost_of("forest-100", Own()) == cost_of("forest-100", None), "a name of the portfolios is enough"
    assert cost_of("svm-rbf", None).rows > cost_of("logistic", None).rows
    known = json.loads(COSTS.read_text())
    factors = sorted(cost[0] for cost, *_ in known.values())
    assert factors[0] < cost_of("mine", Own()).factor < factors[-1]


def test_only_declared_costs_are_filled_in() -> None:
    assert with_costs({"delta": 0.1}, {"a": None}) == {"delta": 0.1}
    assert with_costs({"costs": "measured"}, {"a": None}) == {"costs": "measured"}
    few, many = (with_costs({"costs": "declared"}, {"logistic": None}, 10, classes)["costs"] for classes in (2, 20))
    assert few["logistic"][0] < many["logistic"][0]
    assert few["logistic"][1] == many["logistic"][1]


def test_what_is_declared_of_a_kind_holds_for_its_estimators_in_pipelines_too() -> None:
    made = {"svm": make_pipeline(StandardScaler(), SVC()), "forest": RandomForestClassifier(100), "own": Own()}
    growths = growths_of(made)
    assert growths.keys() == {"svm", "forest"}, "nothing is known of others"
    assert growths["svm"].exponent > growths["forest"].exponent
    assert growths["svm"].per_row > growths["forest"].per_row == 0.0


def test_boosting_has_more_to_do_before_its_first_row_than_trees_have() -> None:
    pytest.importorskip("lightgbm")
    made = {recipe.name: recipe.make() for recipe in strong("classification") if recipe.package in {"", "lightgbm"}}
    growths = growths_of(made)
    assert growths["lightgbm-1"] == growths["histograms-1"] == GROWTHS[STOPPED]
    assert growths["lightgbm-all-1"] == GROWTHS[ALL_ROUNDS]
    tree = growths_of({"tree": DecisionTreeClassifier()})["tree"]
    for name in ("lightgbm-1", "lightgbm-all-1"):
        assert growths[name].exponent * growths[name].distance(1000, 8000) < tree.exponent * tree.distance(1000, 8000)


def test_strong_and_quick_learners_promise_most_and_slow_ones_least() -> None:
    promises = promises_of({recipe.name: recipe.make() for recipe in CLASSIFIERS if not recipe.package}, 1000)
    order = sorted(promises, key=lambda name: -promises[name])
    assert {"forest-20", "perceptron"} < set(order[:10]), order
    assert {"svm-poly-2", "knn-25"} < set(order[-10:]), order
    later = promises_of({"svm-rbf": SVC(), "forest-100": RandomForestClassifier(100)}, 8000)
    assert later["svm-rbf"] / later["forest-100"] < promises["svm-rbf"] / promises["forest-100"], "it is slow then"


def test_a_learner_of_ones_own_promises_what_its_kind_does_and_of_others_nothing_is_known() -> None:
    own = {"mine": RandomForestClassifier(100), "larger": RandomForestClassifier(500), "other": Own()}
    promises = promises_of({**own, "forest-100": None}, 1000)
    assert promises["mine"] == pytest.approx(promises["forest-100"])
    assert promises["larger"] < promises["mine"], "of equally strong ones, the cheaper one is first"
    assert "other" not in promises
