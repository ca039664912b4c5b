"""A learner that starts from a smaller sample ends up as the same learner."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pydaub import Allocation, Measurement
from pydaub.data import Sample, prepare
from pydaub.evaluation.encoded import Encoded
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.reuse import CONVEX, SUMS, can_go_on, fit_again
from pydaub.learners import listed

SIZES = (60, 90, 200)
CLASSIFIERS: dict[str, Any] = {
    "logistic": LogisticRegression(tol=1e-10, max_iter=10_000),
    "logistic, no intercept": LogisticRegression(tol=1e-10, max_iter=10_000, fit_intercept=False),
    "logistic, liblinear": LogisticRegression(solver="liblinear", tol=1e-10),
    "logistic, newton": LogisticRegression(solver="newton-cholesky", tol=1e-10),
    "logistic, sparse": LogisticRegression(solver="saga", l1_ratio=1.0, C=0.3, tol=1e-10, max_iter=10_000),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=10_000)),
    "one step": make_pipeline(LogisticRegression(tol=1e-10, max_iter=10_000)),
    "nothing before": Pipeline([("x", "passthrough"), ("y", LogisticRegression(tol=1e-10, max_iter=10_000))]),
}
REGRESSORS: dict[str, Any] = {
    "lasso": Lasso(0.05, tol=1e-12, max_iter=100_000),
    "lasso, positive": Lasso(0.05, positive=True, tol=1e-12, max_iter=100_000),
    "elastic": ElasticNet(0.05, tol=1e-12, max_iter=100_000),
    "huber": HuberRegressor(tol=1e-10, max_iter=10_000),
    "poisson": PoissonRegressor(tol=1e-10, max_iter=10_000),
    "gamma": GammaRegressor(tol=1e-10, max_iter=10_000, fit_intercept=False),
    "tweedie": TweedieRegressor(power=1.5, tol=1e-10, max_iter=10_000),
}
NAIVE: dict[str, Any] = {
    "bernoulli": BernoulliNB(binarize=1.5),
    "multinomial": MultinomialNB(),
    "complement": ComplementNB(norm=True),
    "multinomial, priors": MultinomialNB(class_prior=[0.2, 0.3, 0.5]),
}


class Memory:
    """Keeps what was learned, and records from which size each learner started."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        self.starts: list[int] = []  # the size from which each started

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        size = max((size for size in self.kept if size < allocation.size), default=None)
        self.starts.append(size or 0)
        return None if size is None else (size, self.kept[size])

    def keep(self, allocation: Allocation, learned: Any) -> None:
        self.kept[allocation.size] = learned

    def encoded(self, key: str, make: Callable[[], Encoded]) -> Encoded:  # noqa: ARG002  # nothing is shared
        return make()


def rows(seed: int = 0, count: int = SIZES[-1]) -> tuple[Any, Any, Any]:
    """Return features, three classes, and positive numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    signal = X @ [1.0, -0.5, 0.2, 0.0] + 0.3 * rng.normal(size=count)
    return X, np.array(["low", "mid", "top"], dtype=object)[np.digitize(signal, [-0.5, 0.5])], np.exp(signal)


def grown(estimator: Any, X: Any, y: Any, sizes: tuple[int, ...] = SIZES) -> tuple[list[Any], Memory]:
    """Return the learner after each size."""
    memory = Memory()
    found = [
        fit_again(
            clone(estimator), Sample(partial(X.__getitem__, slice(size)), y[:size]), memory, Allocation("a", size)
        )
        for size in sizes
    ]
    return found, memory


def learned(estimator: Any) -> Any:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    names = ("coef_", "intercept_", "scale_", "feature_log_prob_", "feature_count_", "class_count_", "class_log_prior_")
    return {name: np.array(getattr(last, name)) for name in names if hasattr(last, name)}


def assert_same(first: Any, second: Any, tolerance: float) -> None:
    one, two = learned(first), learned(second)
    assert one.keys() == two.keys()
    assert one
    for name, value in one.items():
        np.testing.assert_allclose(value, two[name], rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
def test_a_convex_learner_reaches_the_same_solution_from_any_start(name: str) -> None:
    estimator = {**CLASSIFIERS, **REGRESSORS}[name]
    X, labels, numbers = rows()
    y = labels if name in CLASSIFIERS else numbers
    if name == "logistic, liblinear":
        y = y == "top"
    assert can_go_on(estimator)
    found, memory = grown(estimator, X, y)
    assert memory.starts == [0, 60, 90], "each size starts from the previous one"
    for size, fitted in zip(SIZES, found, strict=True):
        fresh = clone(estimator).fit(X[:size], y[:size])
        assert_same(fitted, fresh, 2e-3)
        np.testing.assert_allclose(learned(fitted)["coef_"], learned(fresh)["coef_"], atol=2e-3)
        assert fitted.get_params()["steps" if isinstance(fitted, Pipeline) else "tol"], "its parameters are intact"


@pytest.mark.parametrize("name", ["logistic", "lasso", "poisson"])
def test_it_really_starts_from_the_earlier_solution(name: str) -> None:
    """Fitting the same rows again takes fewer iterations."""
    estimator = {**CLASSIFIERS, **REGRESSORS}[name]
    X, labels, numbers = rows()
    y = labels if name in CLASSIFIERS else numbers
    memory = Memory()
    sample = Sample(lambda: X, y)
    first = fit_again(clone(estimator), sample, memory, Allocation("a", 60))
    second = fit_again(clone(estimator), sample, memory, Allocation("a", 90))
    assert np.max(second.n_iter_) < np.max(first.n_iter_)


@settings(max_examples=25)
@given(st.integers(0, 2**20), st.sampled_from(sorted(NAIVE)), st.lists(st.integers(12, 100), min_size=2, unique=True))
def test_adding_rows_to_counts_is_exact(seed: int, name: str, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(100, 3)).astype(float)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 97)])
    ordered = tuple(sorted(sizes))
    found, _ = grown(NAIVE[name], X, y, ordered)
    for size, fitted in zip(ordered, found, strict=True):
        fresh = clone(NAIVE[name]).fit(X[:size], y[:size])
        for key, value in learned(fitted).items():
            np.testing.assert_array_equal(value, learned(fresh)[key], err_msg=key)
        np.testing.assert_array_equal(fitted.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("form", ["pandas", "polars", "sparse", "float32"])
@pytest.mark.parametrize("name", ["multinomial", "logistic"])
def test_rows_of_every_type_work(name: str, form: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(SIZES[-1], 3)).astype(float)
    y = rng.integers(0, 2, SIZES[-1])
    make: Any = {
        "pandas": lambda values: pd.DataFrame(values, columns=list("abc")),
        "polars": lambda values: pl.DataFrame(values, schema=list("abc")),
        "sparse": csr_array,
        "float32": lambda values: values.astype(np.float32),
    }[form]
    estimator = {**NAIVE, **CLASSIFIERS}[name]
    found, _ = grown(estimator, make(X), y)
    assert_same(found[-1], clone(estimator).fit(make(X), y), 2e-3 if form == "float32" else 1e-4)


@pytest.mark.parametrize("name", ["logistic", "scaled", "multinomial", "bernoulli"])
def test_a_new_class_starts_from_scratch(name: str) -> None:
    estimator = {**NAIVE, **CLASSIFIERS}[name]
    X, _, _ = rows()
    X = np.abs(X)
    y = np.arange(SIZES[-1]) % 2
    y[70::3] = 2  # not among the first 60
    found, _ = grown(estimator, X, y)
    assert found[0].classes_.tolist() == [0, 1]
    for size, fitted in zip(SIZES, found, strict=True):
        assert_same(fitted, clone(estimator).fit(X[:size], y[:size]), 2e-3)
    assert found[1].classes_.tolist() == [0, 1, 2]


def test_a_new_category_starts_from_scratch() -> None:
    X = np.array(["red", "green", "blue"], dtype=object)[np.arange(SIZES[-1]) % 3][:, None]
    X[95:, 0] = "new"
    y = (np.arange(SIZES[-1]) % 3 == 0).astype(int)
    estimator = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(tol=1e-10, max_iter=10_000))
    found, _ = grown(estimator, X, y)
    assert [fitted[-1].n_features_in_ for fitted in found] == [3, 3, 4]
    for size, fitted in zip(SIZES, found, strict=True):
        assert_same(fitted, clone(estimator).fit(X[:size], y[:size]), 2e-3)
        assert fitted.predict(X).shape == (SIZES[-1],)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS, *NAIVE])
def test_the_learner_of_the_smaller_sample_is_not_changed(name: str) -> None:
    """It may be the best so far and be returned at the end."""
    estimator = {**CLASSIFIERS, **REGRESSORS, **NAIVE}[name]
    X, labels, numbers = rows()
    X = np.abs(X)
    y = numbers if name in REGRESSORS else labels
    if name == "logistic, liblinear":
        y = y == "top"
    memory, before = Memory(), []
    for size in SIZES:
        sample = Sample(partial(X.__getitem__, slice(size)), y[:size])
        fitted = fit_again(clone(estimator), sample, memory, Allocation("a", size))
        before.append((fitted, deepcopy(learned(fitted)), fitted.predict(X)))
    for fitted, then, predicted in before:
        for key, value in learned(fitted).items():
            np.testing.assert_array_equal(value, then[key])
        np.testing.assert_array_equal(fitted.predict(X), predicted)


def test_the_users_value_of_warm_start_is_kept() -> None:
    X, y, _ = rows()
    for warm_start in (False, True):
        found, _ = grown(LogisticRegression(warm_start=warm_start), X, y)
        assert [fitted.warm_start for fitted in found] == [warm_start] * 3


class Own(LogisticRegression):
    """A subclass, which may treat `warm_start` differently."""


class OwnPipeline(Pipeline):
    """A subclass, which may resample rows before its last step, as imbalanced-learn does."""


OTHERS: dict[str, Any] = {
    "forest": RandomForestClassifier(5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "network": MLPClassifier((3,), max_iter=2000, random_state=0),
    "sgd": SGDClassifier(random_state=0),
    "ridge": Ridge(),
    "gaussian": GaussianNB(var_smoothing=0.1),
    "categorical": CategoricalNB(),
    "naive after scaling": make_pipeline(StandardScaler(), BernoulliNB()),
    "huber without intercept": HuberRegressor(fit_intercept=False),
    "a subclass": Own(),
    "a subclass of Pipeline": OwnPipeline([("a", StandardScaler()), ("b", LogisticRegression())]),
    "a pipeline in a pipeline": make_pipeline(StandardScaler(), make_pipeline(LogisticRegression())),
}


@pytest.mark.parametrize("name", OTHERS)
def test_learners_that_would_differ_start_from_scratch(name: str) -> None:
    X, _, numbers = rows()
    X = np.floor(np.abs(X))
    y = (numbers > 1).astype(int)
    assert not can_go_on(OTHERS[name])
    task, memory = Task(prepare(X, y), listed([("it", OTHERS[name])])), Memory()
    for size in (60, 120):
        evaluate(task, Allocation("it", size), memory)
    assert not memory.starts
    assert not memory.kept


def test_every_class_that_starts_from_smaller_samples_is_tested_here() -> None:
    tested = [*CLASSIFIERS.values(), *REGRESSORS.values(), *NAIVE.values()]
    assert {type(estimator) for estimator in tested} >= {*CONVEX, *SUMS}


def test_sizes_may_be_skipped() -> None:
    """Not every strategy asks for all sizes."""
    X, labels, _ = rows()
    X = np.abs(X)
    for estimator in (CLASSIFIERS["logistic"], NAIVE["multinomial"]):
        found, memory = grown(estimator, X, labels, (60, 200))
        assert memory.starts == [0, 60]
        assert_same(found[-1], clone(estimator).fit(X, labels), 2e-3)


def test_an_evaluation_starts_from_a_smaller_sample_only_if_allowed() -> None:
    """Not with sample weights, not if `reuse` is off, and not without a memory."""
    X, y, _ = rows()
    learners = listed([("a", LogisticRegression())])
    cases: list[tuple[list[int], Any, bool]] = [([0, 60], None, True), ([], None, False), ([], np.ones(len(y)), True)]
    for expected, weights, reuse in cases:
        data = prepare(X, y, sample_weight=weights)
        task, memory = Task(data, learners, reuse=reuse), Memory()
        for size in (60, 90):
            assert isinstance(evaluate(task, Allocation("a", size), memory).outcome, Measurement)
        assert memory.starts == expected
        assert isinstance(evaluate(task, Allocation("a", 90)).outcome, Measurement)


@pytest.mark.parametrize("name", ["logistic", "scaled", "lasso", "huber", "multinomial"])
def test_scores_with_and_without_reuse_agree(name: str) -> None:
    estimator = {**CLASSIFIERS, **REGRESSORS, **NAIVE}[name]
    X, labels, numbers = rows(3, 400)
    data = prepare(np.abs(X), numbers if name in REGRESSORS else labels)
    sizes = (90, 140, data.full_size)
    task = Task(data, listed([("a", estimator)]))
    memory = Memory()
    for size in sizes:
        warm = evaluate(task, Allocation("a", size), memory).outcome
        cold = evaluate(task, Allocation("a", size)).outcome
        assert isinstance(warm, Measurement)
        assert isinstance(cold, Measurement)
        assert warm.valid_score == pytest.approx(cold.valid_score, abs=1e-3)
        assert warm.train_score == pytest.approx(cold.train_score, abs=1e-3)
