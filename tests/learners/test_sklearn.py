"""The laws of the default portfolios, run over every learner and every form of rows."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
from typing import Any

import cloudpickle
import numpy as np
import pytest
import skops.io
from sklearn.base import clone

from learners.samples import FORMS, Rows, made
from pydaub.data.schema import Schema, Task
from pydaub.learners import Portfolio, classification, portfolio, recipes, regression
from pydaub.learners.recipe import EXTRAS

TASKS: dict[Task, Any] = {"classification": classification, "regression": regression}
TWO = Schema("matrix", "classification", 4, classes=("a", "b"))
NUMBER = Schema("matrix", "regression", 4)
FEWER = {"n_estimators": 3, "iterations": 3, "max_iter": 20}  # rounds matter to scores alone

# One for each way of preparing rows, and those of the optional packages, which read rows in ways of their own.
READERS = {
    "classification": "dummy,stump,hist-gradient-boosting,lightgbm,xgboost,catboost,adaboost,ridge,knn-25,"
    "naive-bayes-*,figs,rotation-forest-10",
    "regression": "dummy,stump,hist-gradient-boosting,lightgbm,xgboost,catboost,adaboost,ridge,knn-25,figs,huber",
}


def quick(estimator: Any) -> Any:
    """Return the estimator with few rounds, seeded."""
    settings = {}
    for key, value in estimator.get_params().items():
        last = key.rpartition("__")[2]
        if last in FEWER and type(value) is int:
            settings[key] = FEWER[last]
        elif last == "random_state":
            settings[key] = 1
    return clone(estimator).set_params(**settings)


def predicted(estimator: Any, rows: Rows) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant columns and few rounds: such is the data, such is `quick`
        return quick(estimator).fit(rows.X, rows.y).predict(rows.new)


def check(learners: Portfolio, rows: Rows) -> None:
    for name, learner in learners.items():
        answers = predicted(learner.estimator, rows)
        assert answers.shape == (rows.new.shape[0],), name
        if rows.schema.task == "regression":
            assert np.isfinite(answers).all(), name
        else:
            assert set(answers) <= set(rows.y), name


@pytest.mark.parametrize("form", ["matrix", "missing", "sparse", "frame"])
@pytest.mark.parametrize("task", TASKS)
def test_every_learner_learns_from_rows_of_every_form(task: Task, form: str) -> None:
    rows = made(form, task)
    check(TASKS[task](rows.schema), rows)


@pytest.mark.parametrize("form", [form for form in FORMS if form not in {"matrix", "missing", "sparse", "frame"}])
@pytest.mark.parametrize("task", TASKS)
def test_every_way_of_preparing_works_on_every_kind_of_frame(task: Task, form: str) -> None:
    rows = made(form, task)
    check(portfolio(READERS[task], rows.schema), rows)


@pytest.mark.parametrize(
    ("form", "width", "spec"),
    [("matrix", 300, "sklearn"), ("matrix", 2, "sklearn"), ("frame", 30, READERS["classification"])],
)
def test_twenty_rows_of_seven_classes_are_enough(form: str, width: int, spec: str) -> None:
    rows = made(form, rows=20, width=width, classes=7)
    check(portfolio(spec, rows.schema), rows)


def test_a_class_of_one_row_and_one_that_comes_later_are_no_obstacle() -> None:
    rows = made("matrix", classes=3)
    y = np.where(rows.y == "class c", "class a", rows.y)
    y[0] = "class d"
    lacking = Schema("matrix", "classification", 4, rows.schema.columns, ("class a", "class b", "class c", "class d"))
    check(classification(lacking), Rows(lacking, rows.X, y, rows.new))


def test_a_column_without_any_value_in_the_sample_is_no_obstacle() -> None:
    for task in TASKS:
        rows = made("missing", task)
        rows.X[:, 1] = np.nan
        check(portfolio(READERS[task], rows.schema), rows)
        rows = made("frame", task)
        rows.X[["x[1]", "colour", "day", "note"]] = None
        check(portfolio(READERS[task], rows.schema), rows)


@pytest.mark.parametrize("task", TASKS)
def test_learners_are_saved_as_data_alone(task: Task) -> None:
    """Nothing that is fitted holds a function: such could only be saved as code."""
    for form in ("frame", "sparse"):
        rows = made(form, task)
        for name in ("ridge", "stump", *(("naive-bayes-multinomial",) if task == "classification" else ())):
            fitted = quick(portfolio(name, rows.schema)[name].estimator).fit(rows.X, rows.y)
            saved = skops.io.dumps(fitted)
            types = skops.io.get_untrusted_types(data=saved)
            assert all(re.fullmatch(r"numpy\.dtype|(sklearn|pydaub\.learners)\..+\.[A-Z]\w*", kind) for kind in types)
            assert (skops.io.loads(saved, trusted=types).predict(rows.new) == fitted.predict(rows.new)).all()


@pytest.mark.parametrize("task", TASKS)
def test_learners_travel(task: Task) -> None:
    """Unfitted and fitted, by pickle and by cloudpickle, and answer the same afterwards."""
    rows = made("frame", task)
    for name, learner in TASKS[task](rows.schema).items():
        again = pickle.loads(pickle.dumps(learner.estimator))
        assert again.get_params().keys() == learner.estimator.get_params().keys(), name
    for name, learner in portfolio(READERS[task], rows.schema).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = quick(learner.estimator).fit(rows.X, rows.y)
            again = pickle.loads(cloudpickle.dumps(fitted))
            assert (again.predict(rows.new) == fitted.predict(rows.new)).all(), name


@pytest.mark.parametrize("schema", [TWO, NUMBER], ids=lambda schema: schema.task)
def test_names_are_stable_and_descriptions_are_one_line(schema: Schema) -> None:
    learners = TASKS[schema.task](schema)
    assert len(learners) > 40
    for name, learner in learners.items():
        assert learner.name == name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert re.fullmatch(r"\S.{3,90}[^.]", learner.description)
    assert len({learner.description for learner in learners.values()}) == len(learners)


@pytest.mark.parametrize("schema", [TWO, NUMBER], ids=lambda schema: schema.task)
def test_seeds_and_threads_are_left_to_whoever_trains(schema: Schema) -> None:
    for name, learner in TASKS[schema.task](schema).items():
        for key, value in learner.estimator.get_params().items():
            if key.endswith(("random_state", "n_jobs")):
                assert value is None or (name, value) == ("catboost", 0), (name, key)


def test_two_portfolios_share_nothing() -> None:
    assert classification(TWO)["tree"].estimator is not classification(TWO)["tree"].estimator


def test_the_families_of_the_paper_are_there() -> None:
    """The 41 of its appendix, and what stands for each here."""
    counterparts = {
        "SimpleCart REPTree": "tree-pruned",
        "J48 J48graft": "tree-entropy",
        "J48 -M 4": "tree-leaf-10",
        "BFTree": "tree-leaves-50",
        "DecisionStump": "stump",
        "RandomTree": "random-tree",
        "RandomForest -depth 10": "forest-10-depth-10",
        "RandomForest -I 5": "forest-5",
        "RotationForest": "rotation-forest-10",
        "LADTree": "adaboost",
        "NaiveBayes NaiveBayesUpdateable NBTree": "naive-bayes-gaussian",
        "DecisionTable DTNB": "naive-bayes-categorical",
        "HyperPipes VFI NNge": "nearest-centroid",
        "SMO RBFKernel": "svm-rbf",
        "SMO PolyKernel": "svm-linear",
        "SMO NormalizedPolyKernel": "svm-poly-2",
        "RBFNetwork": "rbf-network",
        "Logistic LMT": "logistic",
        "SimpleLogistic": "sgd-logistic",
        "SPegasos": "sgd-hinge",
        "MultilayerPerceptron": "mlp",
        "IBk -K 1": "knn-1",
        "IBk -K 5": "knn-5",
        "IBk -K 10": "knn-10",
        "IBk -K 25": "knn-25",
        "ZeroR": "dummy",
        "ConjunctiveRule": "one-rule",
        "JRip PART Ridor": "rule-list",
    }
    assert set(counterparts.values()) <= set(recipes(TWO))


def test_sparse_rows_leave_out_those_that_cannot_take_them() -> None:
    sparse = Schema("sparse", "classification", 4, classes=("a", "b"))
    assert set(recipes(sparse)) - set(classification(sparse)) == {
        "figs",
        "hist-gradient-boosting",
        "lda",
        "naive-bayes-categorical",
        "naive-bayes-gaussian",
        "one-rule",
        "qda",
        "rotation-forest-10",
        "rule-list",
    }


def test_what_knows_two_classes_is_left_out_where_there_are_more() -> None:
    three = Schema("matrix", "classification", 4, classes=("a", "b", "c"))
    assert set(classification(TWO)) - set(classification(three)) == {"one-rule", "rule-list"}


def test_optional_packages_are_imported_only_when_used() -> None:
    """Nor does their absence matter."""
    code = f"""
import sys
from importlib.abc import MetaPathFinder
from pydaub.data.schema import Schema
from pydaub.learners import classification, portfolio, recipes
optional = {set(EXTRAS)!r}
schema = Schema("matrix", "classification", 4, classes=(0, 1))
assert portfolio("sklearn,-lightgbm,-xgboost,-catboost,-one-rule,-rule-list,-figs", schema)
assert not optional & set(sys.modules), optional & set(sys.modules)
sys.modules.update(dict.fromkeys(optional))  # so that an import fails and find_spec has no answer
import importlib.util, pydaub.learners.recipe as recipe
recipe.find_spec = lambda name: None if name in optional else importlib.util.find_spec(name)
missing = set(recipes(schema)) - set(classification(schema))
assert missing == {{"lightgbm", "xgboost", "catboost", "one-rule", "rule-list", "figs"}}, missing
"""
    subprocess.run([sys.executable, "-c", code], check=True)
