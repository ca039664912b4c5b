"""The default portfolio on awkward data; tests/contracts/test_learners.py has the laws of each learner."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import skops.io

from learners.samples import Rows, made, quick
from pydaub.data.schema import Schema, Task
from pydaub.learners import Portfolio, portfolio, recipes
from pydaub.learners.base import EXTRAS

TASKS: tuple[Task, ...] = ("classification", "regression")
TWO = Schema("matrix", "classification", 4, classes=("a", "b"))

# One learner for each kind of preprocessing, and those of the optional packages, which read rows in their own ways.
READERS = {
    "classification": "dummy,stump,hist-gradient-boosting,lightgbm,xgboost,catboost,adaboost,ridge,knn-25,"
    "naive-bayes-*,figs,rotation-forest-10",
    "regression": "dummy,stump,hist-gradient-boosting,lightgbm,xgboost,catboost,adaboost,ridge,knn-25,figs,huber",
}


def check(learners: Portfolio, rows: Rows) -> None:
    for name, learner in learners.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the data has a constant column, and `quick` allows few rounds
            predictions = quick(learner.estimator).fit(rows.X, rows.y).predict(rows.new)
        assert predictions.shape == (rows.new.shape[0],), name
        if rows.schema.task == "regression":
            assert np.isfinite(predictions).all(), name
        else:
            assert set(predictions) <= set(rows.y), name


@pytest.mark.parametrize("task", TASKS)
def test_every_learner_that_accepts_sparse_rows_trains_on_them(task: Task) -> None:
    rows = made("sparse", task)
    check(portfolio("sklearn", rows.schema), rows)


@pytest.mark.parametrize("form", ["missing", "frame", "polars", "numbers"])
@pytest.mark.parametrize("task", TASKS)
def test_every_preprocessing_works_on_every_form_of_rows(task: Task, form: str) -> None:
    rows = made(form, task)
    check(portfolio(READERS[task], rows.schema), rows)


@pytest.mark.parametrize(("width", "spec"), [(100, "sklearn"), (2, READERS["classification"])])
def test_twenty_rows_of_seven_classes_are_enough(width: int, spec: str) -> None:
    rows = made("matrix", rows=20, width=width, classes=7)
    check(portfolio(spec, rows.schema), rows)


def test_every_learner_copes_with_a_class_of_one_row_and_a_class_that_the_sample_lacks() -> None:
    rows = made("matrix", classes=3)
    y = np.where(rows.y == "class c", "class a", rows.y)
    y[0] = "class d"
    lacking = Schema("matrix", "classification", 4, rows.schema.columns, ("class a", "class b", "class c", "class d"))
    check(portfolio("sklearn", lacking), Rows(lacking, rows.X, y, rows.new))


@pytest.mark.parametrize("task", TASKS)
def test_a_column_may_be_empty_in_the_sample(task: Task) -> None:
    rows = made("missing", task)
    rows.X[:, 1] = np.nan
    check(portfolio(READERS[task], rows.schema), rows)
    rows = made("frame", task)
    rows.X[["x[1]", "colour", "day", "note"]] = None
    check(portfolio(READERS[task], rows.schema), rows)


@pytest.mark.parametrize("task", TASKS)
def test_skops_saves_trained_learners_without_code(task: Task) -> None:
    """A trained learner contains no function, because skops could only save it as code."""
    for form in ("frame", "sparse"):
        rows = made(form, task)
        for name in ("ridge", "stump", *(("naive-bayes-multinomial",) if task == "classification" else ())):
            fitted = quick(portfolio(name, rows.schema)[name].estimator).fit(rows.X, rows.y)
            saved = skops.io.dumps(fitted)
            types = skops.io.get_untrusted_types(data=saved)
            assert all(re.fullmatch(r"numpy\.dtype|(sklearn|pydaub\.learners)\..+\.[A-Z]\w*", kind) for kind in types)
            assert (skops.io.loads(saved, trusted=types).predict(rows.new) == fitted.predict(rows.new)).all()


def test_every_family_of_the_paper_has_a_counterpart() -> None:
    """The keys are the 41 learners of the paper's appendix."""
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


def test_sparse_rows_exclude_the_learners_that_need_dense_ones() -> None:
    sparse = Schema("sparse", "classification", 4, classes=("a", "b"))
    assert set(recipes(sparse)) - set(portfolio("sklearn", sparse)) == {
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


def test_more_than_two_classes_exclude_the_learners_for_two() -> None:
    three = Schema("matrix", "classification", 4, classes=("a", "b", "c"))
    assert set(portfolio("sklearn", TWO)) - set(portfolio("sklearn", three)) == {"one-rule", "rule-list"}


def test_optional_packages_are_imported_only_when_used_and_may_be_missing() -> None:
    code = f"""
import sys
from pydaub.data.schema import Schema
from pydaub.learners import portfolio, recipes
optional = {set(EXTRAS)!r}
schema = Schema("matrix", "classification", 4, classes=(0, 1))
assert portfolio("sklearn,-lightgbm,-xgboost,-catboost", schema)
assert not optional & set(sys.modules), optional & set(sys.modules)
sys.modules.update(dict.fromkeys(optional))  # makes their import fail
import importlib.util, pydaub.learners.base as base
base.find_spec = lambda name: None if name in optional else importlib.util.find_spec(name)
missing = set(recipes(schema)) - set(portfolio("sklearn", schema))
assert missing == {{"lightgbm", "xgboost", "catboost", "one-rule", "rule-list", "figs"}}, missing
"""
    subprocess.run([sys.executable, "-c", code], check=True)
