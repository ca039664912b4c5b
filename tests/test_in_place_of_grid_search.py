"""Examples of scikit-learn's own kind, with `DaubSearch` in the place of `GridSearchCV` and nothing else changed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import ComplementNB, GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub import DaubSearch, FitFailed, InputError

both = pytest.mark.parametrize("search", [GridSearchCV, DaubSearch])


@both
def test_a_pipeline_of_components_and_a_regression(search: Any) -> None:
    X, y = load_digits(return_X_y=True)
    pipe = Pipeline([("scaler", StandardScaler()), ("pca", PCA()), ("logistic", LogisticRegression(tol=0.1))])
    param_grid = {"pca__n_components": [5, 30], "logistic__C": np.logspace(-2, 0, 2)}
    found = search(pipe, param_grid, cv=2, error_score="raise", return_train_score=True)
    found.fit(X[:600], y[:600])
    assert found.best_params_["pca__n_components"] == found.best_estimator_.named_steps["pca"].n_components == 30
    results = pd.DataFrame(found.cv_results_)
    name = "param_pca__n_components"
    best = results.groupby(name)[[name, "mean_test_score", "std_test_score"]].apply(
        lambda group: group.nlargest(1, "mean_test_score")
    )
    assert [*best[name]] == [5, 30]
    assert best["std_test_score"].notna().all()
    assert results["mean_train_score"].notna().all()
    assert results["mean_test_score"][found.best_index_] == found.best_score_
    assert not found.multimetric_


@both
def test_a_step_that_is_replaced_and_several_grids(search: Any) -> None:
    X, y = load_iris(return_X_y=True)
    pipe = Pipeline([("reduce", "passthrough"), ("classify", GaussianNB())])
    grids = [
        {"reduce": [PCA(), TruncatedSVD()], "reduce__n_components": [1, 3]},
        {"reduce": [SelectKBest()], "reduce__k": [1, 3], "classify__var_smoothing": [1e-9]},
    ]
    found = search(pipe, grids, error_score="raise").fit(X, y)
    reducer = found.best_estimator_.named_steps["reduce"]
    size = "n_components" if "reduce__n_components" in found.best_params_ else "k"
    assert found.best_params_[f"reduce__{size}"] == getattr(reducer, size) in (1, 3)
    assert grids[0]["reduce"][0].n_components is None  # the values given are not changed
    results, few = found.cv_results_, {f"param_reduce__{name}" for name in ("n_components", "k")}
    kinds = {name: results[name].dtype.kind for name in results if name.startswith("param_")}
    assert kinds == {**dict.fromkeys(few, "i"), "param_reduce": "O", "param_classify__var_smoothing": "f"}
    with_k = [isinstance(each["reduce"], SelectKBest) for each in results["params"]]
    assert [*results["param_reduce__n_components"].mask] == with_k
    assert [*~results["param_reduce__k"].mask] == with_k


@both
def test_nested_cross_validation(search: Any) -> None:
    X, y = load_iris(return_X_y=True)
    folds = KFold(n_splits=3, shuffle=True, random_state=0)
    clf = search(estimator=SVC(kernel="rbf"), param_grid={"C": [1, 10], "gamma": [0.01, 0.1]}, cv=folds)
    assert clf.fit(X, y).best_score_ > 0.9
    assert cross_val_score(clf, X=X, y=y, cv=folds).mean() > 0.9


@both
def test_documents_to_a_vectorizer(search: Any) -> None:
    rng = random.Random(0)
    words = [["faith", "church", "belief"], ["orbit", "moon", "rocket"]]
    target = [place % 2 for place in range(120)]
    data = [" ".join(rng.choices(words[each], k=2) + rng.choices(["the", "of", "and"], k=9)) for each in target]
    pipeline = Pipeline([("vect", TfidfVectorizer()), ("clf", ComplementNB())])
    grid = {"vect__min_df": (1, 3), "vect__ngram_range": ((1, 1), (1, 2)), "clf__alpha": [0.1, 1]}
    found = search(estimator=pipeline, param_grid=grid, verbose=0).fit(data, target)
    assert found.best_estimator_.get_params()["vect__min_df"] in (1, 3)
    assert found.score(data, target) == 1
    assert [*found.predict(np.array(data[:4]))] == target[:4]


def test_names_of_grid_search_are_refused_where_they_mean_something_else() -> None:
    X, y = load_iris(return_X_y=True)
    for settings, message in (
        ({"learners": [("bayes", GaussianNB())], "estimator": GaussianNB()}, "`estimator` must go without `learners`"),
        ({"estimator": "sklearn"}, "`estimator` must be one estimator, got 'sklearn'"),
        ({"learners": GaussianNB(), "error_score": 0.0}, "`error_score` must be nan or 'raise', got 0.0"),
        ({"learners": GaussianNB(), "refit": "AUC"}, "`refit` must be True or False, got 'AUC'"),
        ({"learners": GaussianNB(), "scoring": {"AUC": "roc_auc"}}, "`scoring` must be"),
    ):
        with pytest.raises(InputError, match=message):
            DaubSearch(**{"random_state": 0, **settings}).fit(X, y)
    grid = {"max_depth": [2, -1]}
    search = DaubSearch(DecisionTreeClassifier(), grid, random_state=0)
    assert len(search.fit(X, y).failures_) == 1
    with pytest.raises(FitFailed, match="max_depth=-1 failed"):
        search.set_params(error_score="raise").fit(X, y)


def test_output_is_set_for_the_learners() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = DaubSearch(LinearDiscriminantAnalysis(), {"n_components": [1, 2]}, random_state=0)
    search.set_output(transform="pandas").fit(X, y)
    assert isinstance(search.transform(X), pd.DataFrame)
    assert type(search.set_output(transform="polars").transform(X)).__module__.startswith("polars")
    for kind in ("pandas", "polars"):
        with sklearn.config_context(transform_output=kind):
            found = DaubSearch("logistic,tree", random_state=0).fit(X, y)
        assert found.score(X, y) > 0.9


def test_names_and_order_of_columns_are_checked_as_scikit_learn_does() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = DaubSearch(DecisionTreeClassifier(), random_state=0).fit(X, y)
    assert [*search.feature_names_in_] == [*X.columns]
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        search.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        search.predict(X.rename(columns={X.columns[0]: "other"}))


class Noting:
    """Notes what it is told, and stops once so many tasks have ended."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.seen: list[tuple[str, str]] = []
        self.fitted: Any = None

    def setup(self, estimator: Any, context: Any) -> None:  # noqa: ARG002  # given by name
        self.seen.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # noqa: ARG002  # given by name
        self.seen.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:  # noqa: ARG002  # given by name
        self.seen.append(("end", context.task_name))
        self.fitted = fitted_estimator
        return sum(what == "end" for what, _ in self.seen) >= self.most

    def teardown(self, estimator: Any, context: Any) -> None:  # noqa: ARG002  # given by name
        self.seen.append(("teardown", context.task_name))


@pytest.mark.parametrize("jobs", [None, 2])
def test_callbacks_hear_of_every_allocation_and_may_stop_the_search(jobs: int | None) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    learners = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}
    whole, few = Noting(1000), Noting(2)
    search = DaubSearch(learners, strategy="daub", n_jobs=jobs, random_state=0)
    search.set_callbacks(whole).fit(X, y)
    assert whole.seen[:2] == [("setup", "fit"), ("begin", "fit")]
    assert whole.seen[-2:] == [("end", "fit"), ("teardown", "fit")]
    ended = [name for what, name in whole.seen if what == "end"]
    wanted = {f"{step.allocation.learner} on {step.allocation.size:,} rows" for step in search.allocations_}
    assert wanted <= {*ended[:-1]} <= {name for what, name in whole.seen if what == "begin"}
    assert whole.fitted.score(X, y) == search.score(X, y)
    allocations = len(search.allocations_)
    search.set_callbacks(few).fit(X, y)
    assert search.result_.stopped is not None
    assert len(search.allocations_) <= 2 < allocations
    assert search.best_learner_ in learners
    place = search.best_index_  # None if it was evaluated ahead of time
    assert place is None or search.allocations_[place].allocation.learner == search.best_learner_
    assert few.seen[-1] == ("teardown", "fit")
    assert search.predict(X).shape == y.shape


def test_scikit_learns_own_progress_bar(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    search: Any = DaubSearch({"bayes": GaussianNB()}, random_state=0)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert "DaubSearch - fit" in capfd.readouterr().out
