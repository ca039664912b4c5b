"""An evaluation takes the sample, fits the learner and scores it; errors of the learner become failures."""

from __future__ import annotations

import random
import re
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import _scorer, accuracy_score, get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from pydaub import Allocation, Failure, Measurement
from pydaub.data import Prepared, Split, prepare
from pydaub.evaluation import evaluate as module
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on, seed_of, uses_threads
from pydaub.learners import listed

A = Allocation("a", 60)


class Rules(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent class; subclasses do something else in `fit` too."""

    def fit(self, X: Any, y: Any) -> Rules:
        self.rows_ = len(y)
        self.X_, self.y_ = X, y
        self.classes_, counts = np.unique(y, return_counts=True)
        self.best_ = self.classes_[np.argmax(counts)]
        self.do()
        return self

    def do(self) -> None:
        """Do nothing; subclasses do something."""

    def predict(self, X: Any) -> Any:
        return np.full(X.shape[0], self.best_)


def rows(task: str = "classification", count: int = 100) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(count, 4))
    signal = X[:, 0] + 0.4 * rng.normal(size=count)
    return X, (np.array(["no", "yes"], dtype=object)[(signal > 0).astype(int)] if task == "classification" else signal)


def task_of(estimator: Any, data: Prepared | None = None, **settings: Any) -> Task:
    return Task(data or prepare(*rows()), listed([("a", estimator)]), **settings)


def measured(task: Task, allocation: Allocation = A) -> Measurement:
    outcome = evaluate(task, allocation).outcome
    assert isinstance(outcome, Measurement), outcome
    return outcome


def failed(task: Task) -> Failure:
    evaluation = evaluate(task, A)
    assert isinstance(evaluation.outcome, Failure)
    assert evaluation.fitted is None
    return evaluation.outcome


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss", "roc_auc_ovr", get_scorer("f1_macro")])
def test_a_measurement_equals_fitting_and_scoring_by_hand(scoring: Any) -> None:
    data = prepare(*rows())
    task = task_of(GaussianNB(), data, scoring=scoring, metrics="all")
    for size in (10, 60, data.full_size):
        outcome = measured(task, Allocation("a", size))
        sample, valid = data.train(size), data.valid()
        fitted = GaussianNB().fit(sample.X, sample.y)
        score = get_scorer("accuracy" if scoring is None else scoring)
        assert outcome.train_score == pytest.approx(score(fitted, sample.X, sample.y))
        assert outcome.valid_score == pytest.approx(score(fitted, valid.X, valid.y))
        assert outcome.metrics["accuracy"] == pytest.approx(fitted.score(valid.X, valid.y))
        assert set(outcome.metrics) == {"accuracy", "precision", "recall", "f1", "log_loss", "auc"}
        assert outcome.seconds > 0


def test_a_regression_is_measured() -> None:
    data = prepare(*rows("regression"))
    outcome = measured(task_of(LinearRegression(), data, scoring="neg_mean_absolute_error", metrics="all"))
    assert outcome.metrics["mean_absolute_error"] == pytest.approx(-outcome.valid_score)
    assert set(outcome.metrics) == {"r2", "mean_absolute_error", "root_mean_squared_error"}
    assert not measured(task_of(LinearRegression(), data, metrics="none")).metrics


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize(
    ("task", "scoring", "has_parts"),
    [
        ("classification", None, True),
        ("classification", "accuracy", True),
        ("classification", "f1_macro", True),
        ("classification", "f1_weighted", False),
        ("classification", get_scorer("accuracy"), False),
        ("regression", None, True),
        ("regression", "r2", True),
        ("regression", "neg_mean_squared_error", True),
        ("regression", "neg_mean_absolute_error", True),
        ("regression", "neg_median_absolute_error", False),
    ],
)
def test_with_all_rows_the_score_is_also_kept_in_parts_that_average_to_it(
    task: str, scoring: Any, cv: Any, *, has_parts: bool
) -> None:
    data = prepare(*rows(task), split=Split(none=True) if cv else Split())
    learner = LinearRegression() if task == "regression" else GaussianNB()
    outcome = measured(task_of(learner, data, scoring=scoring, cv=cv), Allocation("a", data.full_size))
    assert bool(outcome.parts) == has_parts
    if has_parts:
        assert np.mean(outcome.parts) == pytest.approx(outcome.valid_score, rel=0.01 if cv else 1e-4), (
            "folds differ by a row"
        )
    assert not measured(task_of(learner, data, scoring=scoring, cv=cv), Allocation("a", data.full_size // 2)).parts


def test_the_fitted_learner_is_the_one_that_was_scored() -> None:
    data = prepare(*rows())
    given = DecisionTreeClassifier(splitter="random")
    evaluation = evaluate(task_of(given, data), A)
    valid = data.valid()
    assert isinstance(evaluation.outcome, Measurement)
    assert evaluation.fitted.score(valid.X, valid.y) == evaluation.outcome.valid_score
    assert not hasattr(given, "tree_"), "the given estimator is not changed"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RuntimeError("no way\nsecond line"), "error", "RuntimeError: no way"),
        (KeyError("x"), "error", "KeyError: 'x'"),
        (ValueError(), "error", "ValueError"),
        (MemoryError("too large"), "memory", "MemoryError: too large"),
        (RuntimeError("x" * 9999), "error", "RuntimeError: " + "x" * 486),
        (StopIteration(), "error", "StopIteration"),
    ],
)
def test_an_exception_in_fit_is_a_failure(error: Exception, kind: str, message: str) -> None:
    class Raising(Rules):
        def do(self) -> None:
            raise error

    outcome = failed(task_of(Raising()))
    assert (outcome.kind, outcome.message) == (kind, message)


def test_an_error_in_predict_is_a_failure() -> None:
    class NoPrediction(Rules):
        def predict(self, X: Any) -> Any:
            raise ArithmeticError(len(X))

    class TooFew(Rules):
        def predict(self, X: Any) -> Any:
            return super().predict(X[1:])

    assert failed(task_of(NoPrediction())).message.startswith("ArithmeticError")
    assert "inconsistent numbers of samples" in failed(task_of(TooFew())).message


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), None, "0.5", True, [0.5], 1j])
def test_a_score_that_is_not_a_finite_number_is_a_failure(score: Any) -> None:
    outcome = failed(task_of(GaussianNB(), scoring=lambda _learner, _X, _y: score))
    assert outcome.message.startswith("ValueError: the score must be a finite number, got")


class Patching(DecisionTreeClassifier):
    """Changes how scikit-learn scores, as a library may do that replaces parts of it."""

    def fit(self, X: Any, y: Any, **more: Any) -> Patching:
        _scorer._SCORERS["accuracy"]._score_func = lambda *_, **__: 0.999  # noqa: SLF001  # nothing public does it
        super().fit(X, y, **more)
        return self


def test_a_learner_that_changes_the_scorer_does_not_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_scorer._SCORERS, "accuracy", make_scorer(accuracy_score))  # noqa: SLF001  # as above
    outcome = failed(task_of(Patching(max_depth=1), scoring="accuracy"))
    said = r"RuntimeError: its accuracy is 0\.999, but that of its predictions is 0\.\d+: something .*"
    assert re.fullmatch(said, outcome.message)


def test_scores_may_be_numpy_numbers() -> None:
    for score in (np.float32(0.5), np.int64(1), 1, np.array(0.5)[()]):
        outcome = measured(task_of(GaussianNB(), scoring=lambda _learner, _X, _y, score=score: score))
        assert outcome.valid_score == float(score)
        assert type(outcome.valid_score) is float


def test_a_sample_of_one_class_fails_only_learners_that_need_two() -> None:
    X, y = rows()
    y = np.where(np.arange(len(y)) < 97, "often", "seldom")
    data = prepare(X, y)
    task = Task(data, listed([("svm", SVC()), ("rules", Rules())]))
    assert set(data.train(2).y) == {"often", "seldom"}, "a row of each class comes first"
    outcome = evaluate(task, Allocation("svm", 1)).outcome
    assert isinstance(outcome, Failure)
    assert "class" in outcome.message
    assert isinstance(evaluate(task, Allocation("rules", 1)).outcome, Measurement)


def test_a_learner_is_measured_even_if_its_metrics_fail() -> None:
    class Half(GaussianNB):
        def predict_proba(self, X: Any) -> Any:
            raise NotImplementedError(len(X))

    assert not measured(task_of(Half())).metrics
    X, y = rows()
    data = prepare(X, (y == "yes").astype(int))
    assert not measured(task_of(Ridge(), data, scoring="r2")).metrics, "a regressor predicts no labels"


def test_the_seed_depends_only_on_run_learner_and_size() -> None:
    task, other = task_of(GaussianNB()), task_of(RandomForestClassifier(), threads=7)
    assert seed_of(task, A) == seed_of(other, A)
    seeds = {
        seed_of(task_of(GaussianNB(), seed=seed), Allocation(name, size))
        for seed in range(5)
        for name in ("a", "b", "a/1")
        for size in (1, 11, 60)
    }
    assert len(seeds) == 45
    assert all(0 <= seed < 2**31 for seed in seeds)


class Random(Rules):
    """Uses all sources of randomness."""

    def __init__(self, random_state: Any = None, inner: Any = None) -> None:
        self.random_state = random_state
        self.inner = inner

    def do(self) -> None:
        self.drawn_ = (random.random(), np.random.rand(), self.random_state)  # noqa: NPY002


def test_randomness_is_reproducible_and_does_not_disturb_the_process() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = (random.random(), np.random.rand())  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    drawn = [evaluate(task_of(Random()), A).fitted.drawn_ for _ in range(2)]
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert drawn[0] != evaluate(task_of(Random(), seed=1), A).fitted.drawn_


def test_unset_seeds_are_set_at_every_depth_and_others_are_kept() -> None:
    task = task_of(Random(inner=Random(inner=make_pipeline(Random(3)))))
    fitted = evaluate(task, A).fitted
    seed = seed_of(task, A)
    assert fitted.random_state == fitted.inner.random_state == seed
    assert fitted.inner.inner[0].random_state == 3


class Threads(Rules):
    """Records its own number of threads, and whether the libraries are limited to two."""

    def __init__(self, n_jobs: Any = None, thread_count: Any = None) -> None:
        self.n_jobs = n_jobs
        self.thread_count = thread_count

    def do(self) -> None:
        self.seen_ = {self._now()}

    def predict(self, X: Any) -> Any:
        self.seen_.add(self._now())
        return super().predict(X)

    def _now(self) -> tuple[Any, Any, bool]:
        return self.n_jobs, self.thread_count, all(pool["num_threads"] <= 2 for pool in threadpool_info())


@pytest.mark.parametrize(("given", "seen"), [(None, 2), (-1, 2), (8, 2), (1, 1), (2, 2), (0, 2)])
def test_threads_are_limited_and_the_parameter_is_restored(
    given: Any, seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are limited during prediction too; a small sample gets one."""
    small = evaluate(task_of(Threads(given, given), threads=2), A).fitted
    assert small.seen_ == {(1, 1, True)}
    monkeypatch.setattr(module, "THREADED", 0)
    task = task_of(Threads(given, given), threads=2)
    module.thread_controller.cache_clear()  # other tests may have loaded libraries since
    with threadpool_limits(8):
        every = (evaluate(task, A).fitted, fitted_on(task, A))
    for fitted in every:
        assert fitted.seen_ == {(seen, seen, True)}
        assert (fitted.n_jobs, fitted.thread_count) == (given, given)
    piped = evaluate(task_of(make_pipeline(StandardScaler(), KNeighborsClassifier(n_jobs=given)), threads=2), A)
    assert piped.fitted[-1].n_jobs == given


@pytest.mark.parametrize(
    ("estimator", "uses"),
    [
        (Threads(), True),
        (Threads(1, 1), False),
        (Threads(1, 4), True),
        (RandomForestClassifier(), True),
        (RandomForestClassifier(n_jobs=1), False),
        (make_pipeline(StandardScaler(), ExtraTreesClassifier()), True),
        (make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), True),
        (BaggingClassifier(), False),
        (KNeighborsClassifier(), False),
        (KNeighborsClassifier(n_jobs=-1), True),
        (LogisticRegression(), False),
    ],
    ids=str,
)
def test_what_uses_threads_is_known_from_its_class_and_parameters(estimator: Any, *, uses: bool) -> None:
    assert uses_threads(estimator) is uses


def test_parameters_that_cannot_be_restored_are_no_failure() -> None:
    """CatBoost refuses to change them once it is fitted."""
    catboost = pytest.importorskip("catboost")
    learner = catboost.CatBoostClassifier(iterations=1, thread_count=4, verbose=0, allow_writing_files=False)
    evaluation = evaluate(task_of(learner), A)
    assert isinstance(evaluation.outcome, Measurement), evaluation.outcome
    assert evaluation.fitted.get_params()["thread_count"] == 1


def test_a_learner_without_parameters_is_accepted() -> None:
    class Bare:
        def get_params(self, **_: Any) -> dict[str, Any]:
            return {}

        def fit(self, _X: Any, y: Any) -> Bare:
            self.first = y[0]
            return self

        def predict(self, X: Any) -> Any:
            return np.full(len(X), self.first)

    assert measured(task_of(Bare(), scoring=lambda learner, X, y: float(np.mean(learner.predict(X) == y))))
    assert "score" in failed(task_of(Bare())).message


def test_warnings_of_learners_are_ignored() -> None:
    class Warning_(Rules):
        def do(self) -> None:
            warnings.warn("no convergence", RuntimeWarning, stacklevel=1)

    assert measured(task_of(Warning_()))


class Weighted(Rules):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighted:
        self.weights_ = sample_weight
        super().fit(X, y)
        return self


def test_weights_are_in_the_order_of_the_rows() -> None:
    X, y = rows()
    X[:, 0] = np.arange(len(y))
    data = prepare(X, y, sample_weight=np.arange(len(y)) + 1.0)
    fitted = evaluate(task_of(Weighted(), data), A).fitted
    np.testing.assert_array_equal(fitted.weights_, fitted.X_[:, 0] + 1)
    fitted = evaluate(task_of(make_pipeline(StandardScaler(), Weighted()), data), A).fitted
    np.testing.assert_allclose(fitted[-1].weights_, fitted[0].inverse_transform(fitted[-1].X_)[:, 0] + 1)
    assert failed(task_of(KNeighborsClassifier(), data)).message == (
        "TypeError: KNeighborsClassifier takes no sample weights"
    )
    folds = task_of(Weighted(), data, cv=3)
    assert measured(folds)


def test_with_metadata_routing_weights_go_where_they_are_requested() -> None:
    X, y = rows()
    weights = np.where(y == "yes", 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        data = prepare(X, y, sample_weight=weights)
        asking = Weighted().set_fit_request(sample_weight=True)
        assert evaluate(task_of(asking, data), A).fitted.weights_ is not None
        silent = Weighted().set_fit_request(sample_weight=False)
        assert evaluate(task_of(silent, data), A).fitted.weights_ is None
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        outcome = measured(task_of(silent, data, scoring=scorer))
        valid = data.valid()
        predicted = evaluate(task_of(silent, data), A).fitted.predict(valid.X)
        assert outcome.valid_score == float(predicted[0] == "yes"), "the other class has weight 0"
        task = task_of(Weighted(), data, config={**sklearn.get_config(), "enable_metadata_routing": False})
        assert evaluate(task, A).fitted.weights_ is not None, "weights go to `fit` directly"


@pytest.mark.parametrize("cv", [3, KFold(4), StratifiedKFold(3, shuffle=True, random_state=1), GroupKFold(3)])
def test_cross_validation_agrees_with_scikit_learn(cv: Any) -> None:
    X, y = rows()
    data = prepare(X, y, groups=np.arange(len(y)) // 4, split=Split(none=True))
    assert data.valid_size == 0
    outcome = measured(task_of(GaussianNB(), data, cv=cv, scoring="accuracy", metrics="all"))
    sample = data.train(60)
    expected = cross_validate(
        GaussianNB(),
        sample.X,
        sample.y,
        groups=sample.groups if cv == 3 or isinstance(cv, GroupKFold) else None,
        cv=StratifiedGroupKFold(3) if cv == 3 else cv,  # integer `cv` keeps groups together
        scoring="accuracy",
        return_train_score=True,
    )
    assert outcome.valid_score == pytest.approx(np.mean(expected["test_score"]))
    assert outcome.train_score == pytest.approx(np.mean(expected["train_score"]))
    assert outcome.metrics["valid_score_std"] == pytest.approx(np.std(expected["test_score"]))
    assert outcome.metrics["accuracy"] == pytest.approx(outcome.valid_score)
    assert evaluate(task_of(GaussianNB(), data, cv=cv), A).fitted is None


def test_impossible_folds_are_a_failure() -> None:
    assert "Cannot have number of splits" in failed(task_of(GaussianNB(), cv=61)).message


def frames(kind: str, count: int = 100) -> tuple[Any, Any]:
    X, y = rows(count=count)
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.array(["red", "green"])[(X[:, 1] > 0).astype(int)]})
    if kind == "category":
        frame["colour"] = frame["colour"].astype("category")
    return (pl.from_pandas(frame) if kind == "polars" else frame), y


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("kind", ["pandas", "polars", "category"])
def test_frames_stay_frames(kind: str, cv: Any) -> None:
    X, y = frames(kind)
    learner = make_pipeline(make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"), SVC())
    assert measured(task_of(learner, prepare(X, y), cv=cv))
    fitted = evaluate(task_of(Rules(), prepare(X, y)), A).fitted
    assert type(fitted.X_) is type(X)


@pytest.mark.parametrize("cv", [None, 3])
def test_sparse_rows_stay_sparse(cv: Any) -> None:
    X, y = rows()
    data = prepare(csr_array(np.where(X > 0, X, 0)), y)
    assert measured(task_of(LogisticRegression(), data, cv=cv))
    assert evaluate(task_of(Rules(), data), A).fitted.X_.format == "csr"


@pytest.mark.parametrize("kind", ["matrix", "sparse", "pandas", "polars", "category"])
def test_a_learner_can_be_fitted_on_the_validation_rows_too(kind: str) -> None:
    X, y = frames(kind) if kind not in {"matrix", "sparse"} else rows()
    data = prepare(csr_array(X) if kind == "sparse" else X, y, sample_weight=np.ones(len(y)))
    full = Allocation("a", data.full_size)
    task = task_of(Weighted(), data)
    assert fitted_on(task, full).rows_ == data.full_size
    fitted = fitted_on(task, full, with_validation=True)
    assert fitted.rows_ == fitted.X_.shape[0] == len(fitted.weights_) == 100
    np.testing.assert_array_equal(fitted.y_[data.full_size :], data.valid().y)
    kind_of = type(data.train(60).X)
    assert isinstance(fitted.X_, kind_of)
    if kind in {"pandas", "category"}:
        pd.testing.assert_frame_equal(
            fitted.X_.sort_values("size", ignore_index=True), X.sort_values("size", ignore_index=True)
        )


def test_categories_that_occur_only_in_validation_rows_are_kept() -> None:
    X, y = frames("category")
    other = X.assign(colour=pd.Categorical(["blue", "red"] * 50))
    data = prepare(X, y, validation=(other, y))
    learner = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype")
    fitted = fitted_on(task_of(learner, data), Allocation("a", 100), with_validation=True)
    assert fitted.is_categorical_.tolist() == [False, True]
    kept = fitted_on(task_of(Rules(), data), Allocation("a", 100), with_validation=True).X_["colour"]
    assert kept.tolist() == [*data.train(100).X["colour"], *data.valid().X["colour"]]


def test_with_cross_validation_all_rows_are_training_rows() -> None:
    data = prepare(*rows(), split=Split(none=True))
    assert fitted_on(task_of(Rules(), data, cv=3), Allocation("a", 100), with_validation=True).rows_ == 100


def test_a_scorer_that_does_not_suit_the_task_is_a_failure() -> None:
    assert failed(task_of(GaussianNB(), scoring="neg_mean_absolute_error")).kind == "error"
    data = prepare(*rows("regression"))
    assert failed(task_of(DecisionTreeRegressor(), data, scoring="roc_auc")).kind == "error"
    own = make_scorer(mean_absolute_error, greater_is_better=False)
    assert measured(task_of(DecisionTreeRegressor(), data, scoring=own)).valid_score < 0


@settings(max_examples=20)
@given(st.integers(1, 70))
def test_a_sample_of_any_size_consists_of_the_first_rows(size: int) -> None:
    data = prepare(*rows())
    fitted = evaluate(task_of(Rules(), data), Allocation("a", size)).fitted
    np.testing.assert_array_equal(fitted.X_, data.train(data.full_size).X[:size])


def test_scikit_learns_configuration_comes_from_the_task() -> None:
    class Configured(Rules):
        def do(self) -> None:
            self.config_ = sklearn.get_config()

    with sklearn.config_context(transform_output="pandas"):
        task = task_of(Configured())
    assert evaluate(task, A).fitted.config_["transform_output"] == "pandas"
    assert sklearn.get_config()["transform_output"] == "default"
    assert clone(Configured()).get_params() == {}


def test_with_few_rows_small_samples_are_scored_on_a_part_and_all_rows_on_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pydaub.evaluation.evaluate.LEAST_SCORED", 20)
    X, y = rows(count=400)
    data = prepare(X, y)
    task = task_of(GaussianNB(), data, scoring="accuracy", score_rows="few")
    for size, scored in ((10, 20), (60, 60), (data.full_size - 1, None), (data.full_size, None)):
        outcome = measured(task, Allocation("a", size))
        sample, valid = data.train(size), data.valid(scored)
        fitted = GaussianNB().fit(sample.X, sample.y)
        assert outcome.scored == scored
        assert outcome.valid_score == pytest.approx(fitted.score(valid.X, valid.y))
        most = min(size, len(valid.y))
        assert outcome.train_score == pytest.approx(fitted.score(sample.X[:most], sample.y[:most]))
        assert bool(outcome.metrics) == (size == data.full_size)
    assert measured(replace(task, train_scores=False)).train_score is None
    assert measured(replace(task, score_rows="all")).scored is None


def test_seconds_of_fitting_and_of_scoring_are_told_apart() -> None:
    class Slow(GaussianNB):
        def fit(self, X: Any, y: Any) -> Any:
            time.sleep(0.2)
            return super().fit(X, y)

        def predict(self, X: Any) -> Any:
            time.sleep(0.1)
            return super().predict(X)

    outcome = measured(task_of(Slow(), scoring="accuracy", train_scores=False))
    assert outcome.fitting is not None
    assert outcome.scoring is not None
    assert outcome.fitting >= 0.2
    assert outcome.scoring >= 0.1
    assert outcome.own_seconds == outcome.fitting + outcome.scoring <= outcome.seconds
