"""DaubSearch is a scikit-learn estimator like any other, over the same run."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from pydaub import AllLearnersFailed, Evaluated, InputError, JournalMismatch, NothingMeasured
from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO
from pydaub.algorithm.strategies import PARAMETERS, STRATEGIES, strategies_with
from pydaub.evaluation.evaluate import LEAST_SCORED
from pydaub.runs.journal import read
from pydaub.runs.steering import Mailbox
from pydaub.search import DaubSearch

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it

LEARNERS = [("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))]
IRIS = load_iris(return_X_y=True)


checked: Any = parametrize_with_checks(
    [
        # With daub: some checks fit twice and want the same, and frugal weighs times.
        DaubSearch(
            [("logistic", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))], strategy="daub"
        ),
        DaubSearch([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4))], strategy="daub"),
        DaubSearch(LogisticRegression(), param_grid={"C": [0.1, 1]}, strategy="daub"),
        DaubSearch([("ridge", Ridge()), ("strong", Ridge(2))], cv=3, strategy="daub"),
    ]
)


@pytest.mark.parametrize(
    ("settings", "varies"), [({}, True), ({"costs": "declared"}, False), ({"strategy": "daub"}, False)], ids=str
)
def test_only_measured_times_make_it_vary(settings: dict[str, Any], *, varies: bool) -> None:
    assert get_tags(DaubSearch({"tree": DecisionTreeClassifier()}, **settings)).non_deterministic is varies


@checked  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def search(learners: Any = LEARNERS, **settings: Any) -> Any:
    return DaubSearch(learners, **{"random_state": 0, **settings})


def test_what_is_known_after_fitting() -> None:
    X, y = IRIS
    found = search().fit(X, y)
    assert found.best_learner_ == "bayes"
    assert found.best_params_ == {"learner": "bayes"}
    assert found.best_size_ == found.result_.full_size == 105
    assert found.best_score_ == found.result_.valid_score
    assert type(found.best_estimator_) is GaussianNB
    assert (found.n_features_in_, found.classes_.tolist(), found.failures_) == (4, [0, 1, 2], {})
    assert found.certificate_.selected == "bayes"
    assert all(each.low <= each.score <= each.high for each in found.outlook_)
    assert found.outlook_ == found.certificate_.prospects
    assert found.schedule_note_ is None
    assert "first size of 500 is too large" in search(strategy="daub").fit(X, y).schedule_note_
    assert found.allocations_ == list(found.result_.steps)
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
    np.testing.assert_array_equal(found.predict_proba(X), found.best_estimator_.predict_proba(X))
    np.testing.assert_array_equal(found.predict_log_proba(X), found.best_estimator_.predict_log_proba(X))
    assert found.score(X, y) == found.best_estimator_.score(X, y)
    assert not hasattr(found, "decision_function")
    assert not hasattr(found, "transform")
    check_is_fitted(found)


class Failing(GaussianNB):
    def fit(self, X: Any, y: Any) -> Failing:
        raise RuntimeError(f"not with {len(y)} rows", X.shape)


def test_the_table_of_allocations() -> None:
    """A row for each; scores of different sizes are never ranked together; what failed comes last."""
    found = search([("failing", Failing()), *LEARNERS], strategy="daub").fit(*IRIS)
    table = pd.DataFrame(found.cv_results_)
    assert len(table) == len(found.allocations_)
    for row, step in zip(table.to_dict("records"), found.allocations_, strict=True):
        assert (row["learner"], row["size"]) == (step.allocation.learner, step.allocation.size)
        assert row["params"] == {"learner": row["learner"]}
    assert found.failures_["failing"].kind == "error"
    for _, group in table.groupby("size"):
        ranks = group["mean_test_score"].rank(ascending=False, method="min", na_option="bottom")
        assert group["rank_test_score"].tolist() == ranks.astype(int).tolist()
    failed = table[table["learner"] == "failing"]
    assert failed["failure"].tolist() == ["error: RuntimeError: ('not with 21 rows', (21, 4))"]
    assert failed["rank_test_score"].tolist() == [3]
    assert failed[["mean_test_score", "mean_train_score", "bound"]].isna().all(axis=None)
    assert (table["seconds"] >= 0).all()
    best = table[(table["learner"] == "bayes") & (table["size"] == 105)]
    assert best["mean_test_score"].tolist() == [found.best_score_]
    assert best["metrics"].tolist()[0]["accuracy"] == found.best_score_


def test_the_selected_classifier_is_adjusted_to_the_score() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 3))
    y = (X[:, 0] + generator.normal(size=3000) > 2).astype(int)  # one in thirteen
    learners = [("logistic", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))]
    given: dict[str, Any] = {"scoring": "f1", "refit": False, "random_state": 0}
    plain, adjusted = (DaubSearch(learners, adjust=adjust, **given).fit(X, y) for adjust in (False, True))
    assert plain.adjustment_ is None
    assert set(adjusted.adjustment_) == {"threshold"}
    assert adjusted.best_score_ > plain.best_score_
    probabilities = plain.best_estimator_.predict_proba(X)[:, 1]
    assert np.array_equal(adjusted.predict(X), (probabilities >= adjusted.adjustment_["threshold"]).astype(int))
    both = DaubSearch(learners, adjust=True, ensemble=True, scoring="neg_log_loss", random_state=0).fit(X, y)
    assert both.adjustment_ is None or set(both.adjustment_) == {"temperature"}
    with pytest.warns(UserWarning, match="Not adjusted to the score: the learner predicts no probabilities"):
        DaubSearch([("ridge", RidgeClassifier())], adjust=True, random_state=0).fit(X, y)
    for parameters, said in (
        ({"cv": 3}, "`adjust` must go without `cv`"),
        ({"scoring": "roc_auc"}, "`adjust` must go with a score of labels or probabilities, got roc_auc"),
        ({"scoring": lambda *_: 1.0}, "`adjust` must go with a scorer by its name"),
    ):
        with pytest.raises(InputError, match=said):
            DaubSearch(learners, adjust=True, **parameters).fit(X, y)


def test_learners_are_combined_if_together_they_are_better() -> None:
    X, y = make_classification(1200, 12, n_informative=6, flip_y=0.1, random_state=3)
    learners = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=4)), ("knn", KNeighborsClassifier())]
    search = DaubSearch(learners, ensemble=True, refit=False, random_state=0).fit(X, y)
    if search.ensemble_ is None:
        assert search.best_learner_ in dict(learners)
    else:
        assert search.best_learner_ == "ensemble"
        assert search.best_params_ == search.ensemble_
        assert [name for name, _ in search.best_estimator_.estimators] == list(search.ensemble_)
    assert search.predict_proba(X).shape == (1200, 2)
    with pytest.warns(UserWarning, match="No ensemble: fewer than two learners have all rows"):
        assert DaubSearch(learners[:1], ensemble=True, random_state=0).fit(X, y).ensemble_ is None
    with pytest.raises(InputError, match="`ensemble` must go without `cv`"):
        DaubSearch(learners, ensemble=True, cv=3).fit(X, y)
    with pytest.raises(InputError, match="`ensemble` must go with a scorer by its name"):
        DaubSearch(learners, ensemble=True, scoring=lambda *_: 1.0).fit(X, y)


def test_all_fail() -> None:
    with pytest.raises(AllLearnersFailed, match=r"The only learner failed: 1 x error \(RuntimeError"):
        search([("failing", Failing())]).fit(*IRIS)


@pytest.mark.parametrize(
    ("grid", "count", "names"),
    [
        ({"C": [0.1, 1]}, 2, {"C"}),
        ([{"C": [0.1]}, {"fit_intercept": [False, True]}], 3, {"C", "fit_intercept"}),
        ({"C": loguniform(0.01, 10)}, 4, {"C"}),
        ({}, 1, set()),
    ],
)
def test_an_estimator_with_parameters_is_a_learner_for_each_combination(grid: Any, count: int, names: set[str]) -> None:
    found = search(LogisticRegression(max_iter=1000), param_grid=grid, n_iter=4).fit(*IRIS)
    assert len({step.allocation.learner for step in found.allocations_}) == count
    parameters = found.best_estimator_.get_params()
    assert {name: parameters[name] for name in found.best_params_} == found.best_params_
    assert found.best_params_ in found.cv_results_["params"]
    assert {name for params in found.cv_results_["params"] for name in params} == names
    again = search(LogisticRegression(max_iter=1000), param_grid=grid, n_iter=4).fit(*IRIS)
    assert again.best_params_ == found.best_params_, "by the seed"


@pytest.mark.parametrize("names", ["tree,logistic", "tree, logistic", ["tree", "logistic"], ("tree", "logistic")])
def test_names_come_in_a_text_or_in_a_list(names: Any) -> None:
    """Their rows are prepared for them: text is encoded."""
    X, y = frame("pandas")
    found = search(names, strategy="daub").fit(X, y)
    assert found.failures_ == {}
    np.testing.assert_array_equal(found.predict(X), search("tree,logistic", strategy="daub").fit(X, y).predict(X))


def test_names_and_estimators_may_be_mixed() -> None:
    X, y = frame("pandas")
    found = search(["tree", ("columns", COLUMNS)], strategy="daub").fit(X, y)
    assert found.failures_ == {}
    assert {*found.cv_results_["learner"]} == {"tree", "columns"}
    assert is_classifier(found)


@pytest.mark.parametrize("learners", [dict(LEARNERS), LEARNERS, tuple(LEARNERS), GaussianNB()])
def test_learners_come_as_people_write_them(learners: Any) -> None:
    assert search(learners).fit(*IRIS).best_learner_ in {"bayes", "gaussiannb"}


def test_it_is_cloned_and_set_like_any_estimator() -> None:
    found = search().fit(*IRIS)
    twin = clone(found)
    assert not hasattr(twin, "best_estimator_")
    assert clone(found).get_params().keys() == found.get_params().keys()
    assert twin.set_params(ratio=2, cv=3).get_params()["ratio"] == 2
    assert LEARNERS[0][1].get_params() == GaussianNB().get_params()
    assert not hasattr(LEARNERS[0][1], "theta_"), "what was given stays unfitted"


def test_the_same_seed_gives_the_same_search() -> None:
    forest = [("a", DecisionTreeClassifier(splitter="random")), ("b", DecisionTreeClassifier(max_features=1))]
    for seed in (lambda: 3, lambda: np.int64(3), lambda: np.random.RandomState(3)):
        runs = [search(forest, strategy="daub", random_state=seed()).fit(*IRIS) for _ in range(2)]
        np.testing.assert_array_equal(*(run.cv_results_["mean_test_score"] for run in runs))
        np.testing.assert_array_equal(*(run.predict(IRIS[0]) for run in runs))
    different = search(forest, strategy="daub", random_state=4).fit(*IRIS)
    assert different.cv_results_["mean_test_score"].tolist() != runs[0].cv_results_["mean_test_score"].tolist()
    timed = [search(forest, random_state=3).fit(*IRIS).allocations_ for _ in range(2)]  # by frugal, which weighs times
    scores = [{step.allocation: step.outcome.valid_score for step in steps} for steps in timed]
    shared = scores[0].keys() & scores[1].keys()
    assert len(shared) >= 2
    assert all(scores[0][allocation] == scores[1][allocation] for allocation in shared), "what is trained is the same"


def test_it_works_in_pipelines_and_cross_validation() -> None:
    X, y = IRIS
    pipeline = make_pipeline(StandardScaler(), search())
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.85
    assert cross_val_score(search(), X, y, cv=3, scoring="neg_log_loss").shape == (3,)
    assert pipeline.fit(X, y).predict(X).shape == y.shape
    inner = Pipeline([("scale", StandardScaler()), ("bayes", GaussianNB())])
    assert search([("inner", inner), *LEARNERS]).fit(X, y).best_score_ > 0.9


class Transforming(ClassifierMixin, PCA):
    """Predicts and transforms."""

    def fit(self, X: Any, y: Any) -> Transforming:
        super().fit(X)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def test_whatever_the_selected_learner_offers_is_delegated() -> None:
    X, y = IRIS
    found = search([("both", Transforming(2))]).fit(X, y)
    reduced = found.transform(X)
    assert reduced.shape == (150, 2)
    np.testing.assert_array_equal(found.inverse_transform(reduced), found.best_estimator_.inverse_transform(reduced))
    svm = search([("svm", LinearSVC())]).fit(X, y)
    assert svm.decision_function(X).shape == (150, 3)
    assert not hasattr(svm, "predict_proba")
    assert not hasattr(search([("svm", LinearSVC())]), "predict_proba"), "known before fitting"


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "score"])
def test_before_fitting_it_says_so(method: str) -> None:
    X, y = IRIS
    arguments = (X, y) if method == "score" else (X,)
    with pytest.raises(NotFittedError, match=r"This DaubSearch instance is not fitted yet"):
        getattr(search(), method)(*arguments)
    with pytest.raises(NotFittedError):
        DaubSearch().predict(X)


def test_what_it_is() -> None:
    assert is_classifier(search())
    assert is_regressor(search([("ridge", Ridge())]))
    assert is_classifier(DaubSearch()), "as far as is known before there is data"
    assert is_regressor(DaubSearch(task="regression"))
    assert not hasattr(DaubSearch(), "transform")
    assert cross_val_score(DaubSearch("knn-5"), *IRIS, cv=3).min() > 0.8, "folds are stratified"
    assert is_classifier(DaubSearch("tree", random_state=0).fit(*IRIS))


def frame(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    size = rng.normal(size=200)
    colour = np.where(rng.random(200) < 0.5, "red", "green")
    y = np.where(size + (colour == "red") > 0.5, "buy", "leave")
    X = pd.DataFrame({"size": size, "colour": colour})
    return (pl.from_pandas(X) if kind == "polars" else X), y


COLUMNS = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"), LogisticRegression()
)


@pytest.mark.parametrize("learners", ["logistic,tree", [("columns", COLUMNS)]])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_of_any_library_are_taken(kind: str, learners: Any) -> None:
    X, y = frame(kind)
    found = search(learners).fit(X, y)
    assert found.failures_ == {}
    assert found.feature_names_in_.tolist() == ["size", "colour"]
    assert set(found.predict(X)) == {"buy", "leave"}
    assert found.classes_.tolist() == ["buy", "leave"]
    assert found.score(X, y) > 0.9
    other = X.rename(columns={"size": "length"}) if kind == "pandas" else X.rename({"size": "length"})
    with pytest.raises(ValueError, match=r"feature names should match|must have the columns 'size', got"):
        found.predict(other)
    with pytest.raises(ValueError, match=r"feature names should match|features|must have the columns 'colour', got"):
        found.predict(X[["size"]])


@pytest.mark.parametrize("form", ["frame", "polars", "array"])
def test_bools_of_training_are_predicted_from_bools_or_1_and_0(form: str) -> None:
    """Other numbers could mean anything: what is predicted from them would be silently wrong."""
    bools = np.arange(80) % 2 == 0

    def rows(values: Any) -> Any:
        made = pd.DataFrame({"b": values, "c": values})
        return {"frame": made, "polars": pl.from_pandas(made), "array": made.to_numpy()}[form]

    search = DaubSearch("tree,logistic", engine="serial").fit(rows(bools), np.where(bools, "u", "v"))
    for right in (bools, bools.astype(int), bools.astype(float)):
        assert search.predict(rows(right)).tolist() == search.predict(rows(bools)).tolist()
    for wrong in (bools + 1, bools * 5, bools / 4 + 0.25, np.where(bools, -1, 0)):
        with pytest.raises(InputError, match=r"Column '\w+' must hold"):
            search.predict(rows(wrong))


def test_columns_with_names_that_are_no_text_are_named_alike_in_fitting_and_predicting() -> None:
    X, y = IRIS
    numbered = pd.DataFrame(X)
    found = search().fit(numbered, y)
    np.testing.assert_array_equal(found.predict(numbered), search().fit(X, y).predict(X))


def test_text_in_an_array_of_objects_is_taken_by_the_portfolio() -> None:
    X, y = frame("pandas")
    for rows in (X, X.to_numpy(dtype=object)):
        found = search("tree,logistic").fit(rows, y)
        assert found.best_score_ > 0.85
        assert found.score(rows, y) > 0.85
        assert found.predict_proba(rows).shape == (len(y), 2)
    numbers = IRIS[0].astype(object)
    assert search().fit(numbers, IRIS[1]).best_learner_ == "bayes"


@pytest.mark.parametrize("make", [csr_matrix, csr_array, lambda X: csr_matrix(X).tocsc()])
def test_sparse_rows_are_taken_as_they_are(make: Any) -> None:
    X, y = make_classification(200, 10, random_state=0)
    X[X < 0] = 0
    found = search([("logistic", LogisticRegression()), ("tree", DecisionTreeClassifier())]).fit(make(X), y)
    assert found.failures_ == {}
    assert found.predict(make(X)).shape == (200,)
    assert search("tree,logistic,naive-bayes-multinomial").fit(make(X), y).score(make(X), y) > 0.7


def test_labels_of_any_kind_come_back() -> None:
    X, y = IRIS
    for labels in (np.array(["x", "y", "ü"]), np.array([-1.0, 0.0, 7.0]), np.array([10, 20, 30], dtype=np.int8)):
        found = search().fit(X, labels[y])
        assert set(found.predict(X).tolist()) == set(labels.tolist())
        assert found.score(X, labels[y]) > 0.9
    assert set(search().fit(X, (y == 0).tolist()).predict(X).tolist()) == {False, True}
    text = np.array(["a", "b", "c"])[y]
    assert search().fit(X, pl.Series(text)).score(X, text) > 0.9
    assert search().fit(X, pd.Series(text, dtype="category")).score(X, text) > 0.9


def test_rows_to_validate_on() -> None:
    X, y = IRIS
    order = np.random.default_rng(0).permutation(len(y))
    train, valid = order[:100], order[100:]
    found = search(refit=False).fit(X[train], y[train], X_val=X[valid], y_val=y[valid])
    assert found.best_size_ == 100
    assert found.best_score_ == found.score(X[valid], y[valid])
    refitted = search().fit(X[train], y[train], X_val=X[valid], y_val=y[valid])
    assert refitted.best_estimator_.class_count_.sum() == 150
    frames = [pd.DataFrame(rows) for rows in (X[train], X[valid])]
    other = search(refit=False).fit(frames[0], y[train], X_val=frames[1], y_val=y[valid])
    assert other.best_score_ == found.best_score_


def test_without_refitting_it_is_the_one_that_was_scored() -> None:
    X, y = IRIS
    assert search(refit=False).fit(X, y).best_estimator_.class_count_.sum() == 105
    assert search(refit=True).fit(X, y).best_estimator_.class_count_.sum() == 150


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=1), ShuffleSplit(2, random_state=0)])
def test_scores_by_cross_validation(cv: Any) -> None:
    X, y = IRIS
    found = search(cv=cv).fit(X, y)
    assert found.best_size_ == 150
    assert found.best_score_ > 0.8
    assert all("valid_score_std" in metrics for metrics in found.cv_results_["metrics"])
    assert found.best_estimator_.class_count_.sum() == 150


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", get_scorer("f1_macro"), None])
def test_the_scorer_scores(scoring: Any) -> None:
    X, y = IRIS
    found = search(scoring=scoring, refit=False).fit(X, y)
    expected = get_scorer("accuracy" if scoring is None else scoring)(found.best_estimator_, X, y)
    assert found.score(X, y) == pytest.approx(expected)
    own = search(scoring=lambda learner, rows, labels: learner.score(rows, labels) - 2, refit=False).fit(X, y)
    assert -2 < own.best_score_ < -1


class Noting(GaussianNB):
    """Notes what weights it was given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Noting:
        self.total_ = None if sample_weight is None else float(np.sum(sample_weight))
        super().fit(X, y, sample_weight)
        return self


def test_weights_without_routing_go_to_every_learner() -> None:
    X, y = IRIS
    found = search([("a", Noting()), ("knn", KNeighborsClassifier())]).fit(X, y, sample_weight=np.full(150, 2.0))
    assert found.best_estimator_.total_ == 300.0
    assert found.failures_["knn"].message == "TypeError: KNeighborsClassifier takes no sample weights"
    assert search([("a", Noting())]).fit(X, y).best_estimator_.total_ is None
    piped = search([("a", make_pipeline(StandardScaler(), Noting()))]).fit(X, y, sample_weight=np.full(150, 2.0))
    assert piped.best_estimator_[-1].total_ == 300.0


def test_weights_with_routing_go_to_those_who_ask() -> None:
    X, y = IRIS
    weights = np.full(150, 2.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asking, silent = (Noting().set_fit_request(sample_weight=wanted) for wanted in (True, False))
        assert search([("a", asking)]).fit(X, y, sample_weight=weights).best_estimator_.total_ == 300.0
        both = search([("b", silent), ("a", asking)], strategy="full").fit(X, y, sample_weight=weights)
        assert (both.best_learner_, both.best_estimator_.total_) == ("b", None), "equals: the first"
        with pytest.raises(TypeError, match=r"unexpected argument\(s\) {'sample_weight'}, which are not routed"):
            search([("a", silent)]).fit(X, y, sample_weight=weights)
        with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.* not explicitly set"):
            search([("a", Noting())]).fit(X, y, sample_weight=weights)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search([("a", asking)]))
        assert pipeline.fit(X, y, sample_weight=weights)[-1].best_estimator_.total_ == 300.0
        scores = cross_val_score(search([("a", asking)]), X, y, cv=2, params={"sample_weight": weights})
        assert scores.shape == (2,)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        one_class = np.where(y == 0, 1.0, 1e-9)
        found = search([("a", silent)], scoring=scorer).fit(X, y, sample_weight=one_class)
        assert found.best_score_ == pytest.approx(1.0), "the first class is easy"
        assert found.score(X, y, sample_weight=one_class) == pytest.approx(1.0)
        assert search("tree,naive-bayes-gaussian").fit(X, y, sample_weight=weights).failures_ == {}


GROUPS = np.arange(150) // 5


class Grouped(GaussianNB):
    """Keeps the rows that it has seen."""

    def fit(self, X: Any, y: Any) -> Grouped:
        self.groups_ = set(X[:, -1].tolist())
        super().fit(X[:, :-1], y)
        return self

    def predict(self, X: Any) -> Any:
        assert not self.groups_ & set(X[:, -1].tolist()) or self.groups_ >= set(X[:, -1].tolist())
        return super().predict(X[:, :-1])

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X[:, :-1])


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("cv", [None, GroupKFold(3)])
def test_groups_are_kept_together(cv: Any, *, routing: bool) -> None:
    X, y = IRIS
    X = np.column_stack([X, GROUPS])
    with sklearn.config_context(enable_metadata_routing=routing):
        found = search([("a", Grouped()), ("b", Grouped(var_smoothing=0.1))], cv=cv).fit(X, y, groups=GROUPS)
        assert found.failures_ == {}
        assert found.best_score_ > 0.8


def test_groups_reach_a_search_within_cross_validation() -> None:
    X, y = IRIS
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(search(cv=GroupKFold(3)), X, y, cv=GroupKFold(2), params={"groups": GROUPS})
        assert scores.min() > 0.8


def test_other_things_given_to_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"`fit` must be given `sample_weight` and `groups` at most, got weight"):
        search().fit(*IRIS, weight=5)
    with pytest.raises(InputError, match=r"`y` must be given: DaubSearch requires y to be passed"):
        search().fit(IRIS[0])


NONSENSE: list[tuple[dict[str, Any], str]] = [
    ({"learners": None}, r"`learners` must be a list of"),
    ({"learners": []}, r"`learners` must name at least one"),
    ({"learners": "treee"}, r"got 'treee'. Did you mean tree"),
    ({"learners": GaussianNB}, r"must be an estimator, got the class GaussianNB. Write GaussianNB\(\)"),
    ({"learners": [("a", 1)]}, r"Learner 'a' must be a scikit-learn estimator, got int"),
    ({"learners": [GaussianNB()]}, r"Give it a name"),
    ({"learners": [*LEARNERS, *LEARNERS]}, r"Each learner must have a name of its own, got 'bayes' twice"),
    ({"param_grid": {"C": [1]}}, r"`param_grid` must go with one estimator as `learners`"),
    ({"learners": GaussianNB(), "param_grid": {"C": [1]}}, r"must name parameters of GaussianNB, got 'C'"),
    ({"learners": GaussianNB(), "param_grid": 5}, r"must be a dict of parameters to lists"),
    ({"learners": GaussianNB(), "param_grid": {"priors": []}}, r"must have a list of values"),
    ({"learners": GaussianNB(), "param_grid": {"priors": [None]}, "n_iter": 0}, r"`n_iter` must be at least 1"),
    ({"strategy": "best"}, r"`strategy` must be one of frugal, daub, .*, got 'best'"),
    ({"strategy": []}, r"`strategy` must be one of frugal, daub, .*, got \[\]"),
    ({"first_size": 0}, r"`first_size` must be at least 1, got 0"),
    ({"first_size": 1000}, r"The largest `first_size` that works is 46"),
    ({"first_size": 1.5}, r"`first_size` must be a whole number"),
    ({"ratio": 1}, r"`ratio` must be greater than 1, got 1"),
    ({"ratio": "x"}, r"`ratio` must be a finite number greater than 1, got 'x'"),
    ({"scoring": "accurcy"}, r"`scoring` must be a scorer of scikit-learn, got 'accurcy'. Did you mean accuracy"),
    ({"scoring": 5}, r"`scoring` must be a name, a callable or None, got 5"),
    ({"scoring": ["accuracy"]}, r"`scoring` must be a name, a callable or None"),
    ({"cv": 1}, r"`cv` must be a number of folds from 2, a splitter or None, got 1"),
    ({"cv": 2.5}, r"`cv` must be a number of folds"),
    ({"cv": "x"}, r"`cv` must be a number of folds"),
    ({"cv": True}, r"`cv` must be a number of folds"),
    ({"cv": [(np.arange(5), np.arange(5))]}, r"`cv` must be a number of folds"),
    ({"validation_fraction": 0}, r"fraction` must be between 0 and 1, got 0"),
    ({"validation_fraction": "x"}, r"fraction` must be between 0 and 1, got 'x'"),
    ({"n_jobs": 0}, r"`n_jobs` must be a whole number other than 0, or None, got 0"),
    ({"n_jobs": "all"}, r"`n_jobs` must be a whole number other than 0, or None, got 'all'"),
    ({"time_limit": True}, r"`time_limit` must be a number of seconds"),
    ({"ensemble": "no"}, r"`ensemble` must be True or False, got 'no'"),
    ({"reuse": None}, r"`reuse` must be True or False, got None"),
    ({"verbose": "a"}, r"`verbose` must be True, False, a number or None, got 'a'"),
    ({"time_limit": 0}, r"`time_limit` must be a number of seconds, more than 0, got 0"),
    ({"time_limit": "1 x"}, r"`time_limit` must be a time such as 90s, 10m or 2h, got '1 x'"),
    ({"learner_timeout": 0}, r"`learner_timeout` must be a number of seconds, more than 0"),
    ({"learner_timeout": "x"}, r"`learner_timeout` must be a time such as 90s, 10m or 2h, got 'x'"),
    ({"learner_memory": -5}, r"`learner_memory` must be a number of bytes, more than 1,000,000"),
    ({"learner_memory": "4 XB"}, r"`learner_memory` must be an amount with a unit, such as 500MB or 2GB, got '4 XB'"),
    ({"folder": 5}, r"`folder` must be a path or None, got 5"),
    ({"folder": "/proc/nowhere/at/all"}, r"Cannot write to the folder /proc/nowhere/at/all"),
    ({"random_state": "x"}, r"`random_state` must be a whole number, a RandomState or None, got 'x'"),
    ({"random_state": -1}, r"`random_state` must be a whole number, a RandomState or None, got -1"),
]


@pytest.mark.parametrize(("settings", "message"), NONSENSE, ids=lambda value: str(value)[:40])
def test_nonsense_is_refused(settings: dict[str, Any], message: str) -> None:
    learners = settings.pop("learners") if "learners" in (settings := dict(settings)) else LEARNERS
    estimator = DaubSearch(learners, **{"random_state": 0, **settings})  # a constructor checks nothing
    repr(estimator)
    with pytest.raises(InputError, match=message):
        estimator.fit(*IRIS)


def test_half_a_validation_set_and_two_ways_to_validate_are_refused() -> None:
    X, y = IRIS
    for half in ({"X_val": X}, {"y_val": y}):
        with pytest.raises(InputError, match=r"`X_val` and `y_val` must be given together, got one of them"):
            search().fit(X, y, **half)
    with pytest.raises(InputError, match=r"`cv` must be None where `X_val` is given"):
        search(cv=3).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(InputError, match=r"`validation y` must have one value for each row"):
        search().fit(X, y, X_val=X, y_val=y[1:])
    with pytest.raises(ValueError, match=r"X has 3 features, but DaubSearch is expecting 4"):
        search().fit(X, y, X_val=X[:, 1:], y_val=y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (IRIS[0][:1], [0], r"n_samples=1|1 sample"),
        (IRIS[0][:10], [0] * 10, r"`y` must have at least two classes|1 class"),
        (np.full((10, 2), np.inf), [0, 1] * 5, r"infinit"),
        (IRIS[0], np.arange(150), r"it looks like an identifier"),
        (IRIS[0], IRIS[1][:-1], r"one value for each row|inconsistent"),
        (IRIS[0][:, :0], IRIS[1], r"0 feature"),
        (IRIS[0], np.where(IRIS[1], np.inf, 1.0), r"infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:The number of unique classes")  # scikit-learn's own word on it
def test_data_that_cannot_be_learned_is_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search().fit(X, y)


@pytest.mark.parametrize("count", [6, 10, 21])
def test_few_rows_are_enough(count: int) -> None:
    X, y = make_classification(count, 4, random_state=0)
    found = search([("stump", DecisionTreeClassifier(max_depth=1)), ("bayes", GaussianNB())]).fit(X, y)
    assert found.schedule_note_.endswith("every learner gets all of them.")
    assert found.predict(X).shape == (count,)


@pytest.mark.parametrize("count", [3, 62, 63, 200])
@pytest.mark.parametrize("form", [dict, list])
def test_many_learners_are_printed_as_scikit_learn_prints_them(count: int, form: type) -> None:
    """Although only those that it shows are formatted."""
    many = DaubSearch(form({f"nb {number}": GaussianNB(var_smoothing=number + 1.0) for number in range(count)}.items()))
    assert repr(many) == BaseEstimator.__repr__(many)
    assert len(many.learners) == count


def test_the_picture_in_a_notebook() -> None:
    before = search()._repr_html_()
    assert "GaussianNB" in before
    assert "DecisionTreeClassifier" in before
    assert "GaussianNB" in search().fit(*IRIS)._repr_html_()
    assert "DaubSearch" in DaubSearch()._repr_html_()
    nonsense: Any = 5
    assert "DaubSearch" in DaubSearch(nonsense)._repr_html_()


def test_a_fitted_search_survives_pickling() -> None:
    found = search().fit(*IRIS)
    twin = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(twin.predict(IRIS[0]), found.predict(IRIS[0]))
    assert twin.result_ == found.result_
    assert twin.certificate_ == found.certificate_
    assert twin.cv_results_["learner"].tolist() == found.cv_results_["learner"].tolist()


class Slow(ClassifierMixin, BaseEstimator):
    def __init__(self, seconds: float = 0.0, megabytes: int = 0) -> None:
        self.seconds = seconds
        self.megabytes = megabytes

    def fit(self, X: Any, y: Any) -> Slow:
        rows = np.ones(self.megabytes * 2**17)
        time.sleep(self.seconds)
        self.classes_, self.seen_ = np.unique(y), (X.shape, rows.size)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def test_two_workers_give_the_answer_of_one_process() -> None:
    X, y = IRIS
    learners = [*LEARNERS, ("logistic", LogisticRegression(max_iter=1000)), ("tree", DecisionTreeClassifier())]
    # Strategies that weigh time may decide differently: two runs do not measure the same times.
    serial, parallel = (search(learners, strategy="daub", n_jobs=jobs).fit(X, y) for jobs in (None, 2))
    assert parallel.best_learner_ == serial.best_learner_
    for name in ("learner", "size", "mean_test_score", "mean_train_score", "bound"):
        np.testing.assert_array_equal(parallel.cv_results_[name], serial.cv_results_[name])
    np.testing.assert_array_equal(parallel.predict_proba(X), serial.predict_proba(X))
    assert all("peak_mb" in metrics for metrics in parallel.cv_results_["metrics"])


def test_limits_hold_for_each_learner() -> None:
    learners = [("slow", Slow(600.0)), ("large", Slow(megabytes=2000)), *LEARNERS]
    limits = {"learner_timeout": 5, "learner_memory": 500 * 2**20}
    found = search(learners, **limits, n_jobs=2, refit=False).fit(*IRIS)
    assert found.failures_["slow"].kind == "timeout"
    assert found.failures_["large"].kind == "memory"
    assert found.best_learner_ == "bayes"


def test_a_time_limit_ends_with_the_best_so_far() -> None:
    learners = [("first", GaussianNB()), ("slow", Slow(0.6))]
    found = search(learners, time_limit=0.5).fit(*IRIS)
    assert found.result_.stopped == "time limit"
    assert (found.best_learner_, found.best_size_ < 105) == ("first", True)
    assert found.certificate_.sentences[0].startswith("No certificate: no learner has had all")
    assert found.best_estimator_.class_count_.sum() == found.best_size_, "not refitted: the time is over"
    with pytest.raises(NothingMeasured):
        search([("slow", Slow(600.0))], time_limit=0.5, n_jobs=1).fit(*IRIS)


def test_a_search_that_was_killed_goes_on_in_its_folder(tmp_path: Path) -> None:
    class Interrupted(GaussianNB):
        def fit(self, X: Any, y: Any) -> Any:
            if len(y) > 60 and (tmp_path / "armed").exists():
                raise KeyboardInterrupt
            return super().fit(X, y)

    learners = [("a", Interrupted()), *LEARNERS]
    whole = search(learners, strategy="daub", folder=tmp_path / "whole").fit(*IRIS)
    (tmp_path / "armed").touch()
    with pytest.raises(KeyboardInterrupt):
        search(learners, strategy="daub", folder=tmp_path / "parts").fit(*IRIS)
    (tmp_path / "armed").unlink()
    before = [event for event in read(tmp_path / "parts" / "journal.jsonl") if isinstance(event, Evaluated)]
    assert {event.allocation.size for event in before} == {21, 32, 47}
    found = search(learners, strategy="daub", folder=str(tmp_path / "parts")).fit(*IRIS)
    assert found.result_.resumed == len(before)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
    again = search(learners, strategy="daub", folder=tmp_path / "parts").fit(*IRIS)
    assert again.best_learner_ == found.best_learner_
    with pytest.raises(JournalMismatch, match=r"other settings: .*seed"):
        search(learners, strategy="daub", folder=tmp_path / "parts", random_state=1).fit(*IRIS)


@pytest.mark.parametrize("strategy", ["frugal", "daub", "full", "subset", "elimination", "halving"])
def test_every_strategy_finds_a_learner(strategy: str) -> None:
    found = search(strategy=strategy).fit(*IRIS)
    assert found.best_size_ == 105
    assert found.best_learner_ == "bayes"


def test_what_users_should_know_of_their_data_is_a_warning() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    known = np.where(np.arange(len(y)) == 7, "alone", np.where(y, "yes", "no"))
    with pytest.warns(UserWarning, match="Classes with") as warned:
        search("tree").fit(X, known)
    told = [str(each.message) for each in warned]
    assert told == ["Classes with a single row: 'alone'.", "Classes without a validation row: 'alone'."]
    assert {Path(each.filename) for each in warned} == {Path(__file__)}


def test_the_portfolio_on_real_data() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = search("knn-5,tree,logistic").fit(X, y)
    assert found.best_score_ > 0.92
    assert found.failures_ == {}
    assert found.best_learner_ in {"knn-5", "logistic"}
    assert is_classifier(found)
    X, y = load_diabetes(return_X_y=True)
    found = search("knn-5,tree,ridge,dummy").fit(X, y)
    assert found.best_learner_ in {"ridge", "knn-5"}
    assert 0.2 < found.best_score_ < 0.8
    assert is_regressor(found)
    assert found.score(X, y) > 0.3


def test_it_tells_what_it_does_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    search([("failing", Failing()), *LEARNERS], verbose=1).fit(*IRIS)
    told = capsys.readouterr()
    assert not told.out
    assert re.search(r"bayes with 32 rows: validation 0\.", told.err)
    assert "failing with 32 rows failed: error (RuntimeError" in told.err
    search().fit(*IRIS)
    assert not capsys.readouterr().err


def test_splitters_that_need_the_order_of_rows_are_refused() -> None:
    for cv in (TimeSeriesSplit(3), PredefinedSplit([0, 1] * 75)):
        with pytest.raises(
            InputError, match=r"`cv` must be a splitter of rows in any order, got .*: rows are shuffled"
        ):
            search(cv=cv).fit(*IRIS)


@pytest.mark.parametrize(
    ("cv", "groups", "why"),
    [
        (5, np.arange(150) // 40, "n_splits=5 greater than the number of groups"),
        (GroupKFold(3), None, "The 'groups' parameter should not be None"),
        (StratifiedKFold(140), None, "n_splits=140"),
    ],
)
def test_folds_that_cannot_be_made_are_no_fault_of_the_learners(cv: Any, groups: Any, why: str) -> None:
    np.random.seed(3)  # noqa: NPY002  # the user's own
    with pytest.raises(InputError, match=rf"`cv` must divide the \d+ rows of the first size, got .*{why}"):
        search(cv=cv).fit(*IRIS, groups=groups)
    assert np.random.random() == np.random.RandomState(3).random()  # noqa: NPY002  # as above


def test_a_folder_needs_a_seed_that_stays(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`random_state` must be a whole number where a `folder` is given, got None"):
        search(folder=tmp_path, random_state=None).fit(*IRIS)


def test_a_scorer_must_suit_the_target() -> None:
    with pytest.raises(
        InputError, match=r"`scoring` must suit the target, a classification, got 'roc_auc': ValueError"
    ):
        search(scoring="roc_auc").fit(*IRIS)
    X, y = make_classification(60, random_state=0)
    with pytest.raises(InputError, match="label that 1 and the other 0, or choose f1_macro, the mean over all classes"):
        search(scoring="f1").fit(X, np.where(y, "yes", "no"))
    wanted = r"rows of every class among the 18 rows to validate, got none of class True\. Give"
    with pytest.warns(UserWarning, match="Classes with"), pytest.raises(InputError, match=wanted):
        search(scoring="roc_auc").fit(X, np.arange(60) == 7)
    with pytest.raises(InputError, match=r"`scoring` must suit the target, a classification, got 'r2'"):
        search(scoring="r2").fit(X, np.where(np.arange(60) < 7, "rare", np.where(y, "yes", "no")))
    with pytest.raises(InputError, match=r"label that 1 and the other 0\.$"):
        search(scoring="average_precision").fit(X, np.where(y, "yes", "no"))


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "neg_log_loss", "neg_brier_score", "balanced_accuracy"])
def test_scores_of_rare_classes_work_from_search_to_report(scoring: str) -> None:
    X, y = make_classification(600, weights=[0.9], random_state=0)
    learners = [*LEARNERS, ("svm", LinearSVC())]
    found = search(learners, scoring=scoring).fit(X, y)
    scores = found.report_.account.scores
    assert (scores.name, scores.top) == (scoring, 0.0 if scoring.startswith("neg_") else 1.0)
    assert found.best_score_ <= scores.top
    assert found.score(X, y) == pytest.approx(get_scorer(scoring)(found.best_estimator_, X, y))
    assert not any("mistake" in words for words in found.certificate_.sentences), "a difference is no number of rows"
    at_full = [step.outcome for step in found.allocations_ if step.allocation.size == found.best_size_]
    assert all(outcome.parts for outcome in at_full)
    assert scoring in found.report_.html
    if failure := found.failures_.get("svm"):
        assert "LinearSVC has none of the following attributes: predict_proba" in failure.message


def test_a_missing_target_is_refused() -> None:
    X, y = IRIS
    with pytest.raises(InputError, match=r"`y` must have a value for each row: input y contains NaN, 1 times"):
        search().fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))


def test_learners_cannot_write_to_the_rows_of_others() -> None:
    """One that scales in place is measured on a copy or fails; the others do not notice."""
    greedy = make_pipeline(StandardScaler(copy=False), GaussianNB())
    both = search([("greedy", greedy), ("near", KNeighborsClassifier(3))], strategy="full").fit(*IRIS)
    full = search([("near", KNeighborsClassifier(3))], strategy="full").fit(*IRIS)
    near = both.cv_results_["mean_test_score"][both.cv_results_["learner"] == "near"]
    assert near.tolist() == full.cv_results_["mean_test_score"].tolist()


class Inviting(GaussianNB):
    """Asks for one more learner when it is trained for the first time."""

    def __init__(self, mailbox: str = "") -> None:
        super().__init__()
        self.mailbox = mailbox

    def fit(self, X: Any, y: Any) -> Inviting:
        if not Path(self.mailbox).exists():
            Mailbox(Path(self.mailbox)).send("add", "tree")
        return super().fit(X, y)


def test_a_learner_that_is_added_during_the_search_can_win(tmp_path: Path) -> None:
    """The table of results and the parameters know it, also when the search is fitted again."""
    mailbox = tmp_path / "run" / "steering"
    learners = [("inviting", Inviting(str(mailbox))), ("bayes", GaussianNB())]
    for _ in range(2):
        found = DaubSearch(learners, folder=tmp_path / "run", n_jobs=1, strategy="daub", random_state=0).fit(*IRIS)
        assert "tree" in set(found.cv_results_["learner"])
        assert found.best_params_ == {"learner": found.best_learner_}


def test_every_parameter_of_a_strategy_is_one_of_the_search() -> None:
    given = DaubSearch().get_params()
    assert {name for name in PARAMETERS if name not in given} == set()
    assert {given[name] for name in PARAMETERS} == {None}, "None stands for the strategy's own default"
    found = search(strategy="daub", bound="line", train_bound=False, sizes=[30, 60]).fit(*IRIS)
    settings = found.report_.account.settings
    assert (settings["bound"], settings["train_bound"], settings["sizes"][:2]) == ("line", False, [30, 60])
    with pytest.raises(InputError, match="`delta` must go with the strategy frugal, got 'daub'"):
        search(strategy="daub", delta=0.1).fit(*IRIS)


def described(section: str) -> dict[str, str]:
    """Return the entries of a section of the class's docstring."""
    text = inspect.cleandoc(DaubSearch.__doc__ or "").split(f"{section}\n{'-' * len(section)}\n")[1]
    parts = re.split(r"^(\S.*)$", text.split("\n\n")[0], flags=re.MULTILINE)[1:]
    return {name: " ".join(words.split()) for name, words in zip(parts[::2], parts[1::2], strict=True)}


def test_every_parameter_and_attribute_has_an_entry_of_its_own() -> None:
    parameters = inspect.signature(DaubSearch).parameters
    assert {*described("Parameters")} == {*parameters}
    fitted = DaubSearch([("bayes", GaussianNB())], random_state=0).fit(pd.DataFrame(IRIS[0]).add_prefix("x"), IRIS[1])
    assert {*described("Attributes")} == {name for name in vars(fitted) if name.endswith("_")}


def test_the_defaults_are_described_as_they_are() -> None:
    entries = described("Parameters")
    for name, each in PARAMETERS.items():
        default = f'"{each.default}"' if each.kind is str else each.default
        assert f"None stands for {default}." in entries[name], name
        having = " and ".join(f'"{strategy}"' for strategy in strategies_with(name))
        assert entries[name].startswith(f"With {having}"), name
        assert all(f'"{choice}"' in entries[name] for choice in each.names()), name
    assert f"None stands for {PAPER_FIRST_SIZE}, or fewer" in entries["first_size"]
    assert f"None stands for {PAPER_RATIO}." in entries["ratio"]
    assert all(f'"{name}"' in entries["strategy"] for name in STRATEGIES)
    few = " and ".join(f'"{name}"' for name, kind in STRATEGIES.items() if kind.score_rows == "few")
    assert f'"few" with {few}, "all" with others' in entries["score_rows"]
    assert f"({LEAST_SCORED:,}, or as many" in entries["score_rows"]
