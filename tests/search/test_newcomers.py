"""What a newcomer tries in Python works, or is refused in a sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import pydaub
from pydaub import DaubSearch
from search.rows import table

ROWS = table(rows=120).drop(columns=["row_id", "same"])
X, Y = ROWS.drop(columns="label"), ROWS["label"]
pytestmark = pytest.mark.filterwarnings("ignore:Column .* would")
LONGEST = 45  # words of a refusal


def search(learners: Any = ("tree", "logistic"), **settings: Any) -> Any:
    return DaubSearch(list(learners) if isinstance(learners, tuple) else learners, random_state=0, **settings)


WORKS: dict[str, Callable[[], object]] = {
    "a list of names": lambda: search(["tree", "logistic"]).fit(X, Y).predict(X),
    "names in a text": lambda: search("tree, logistic").fit(X, Y).predict(X),
    "a dict of estimators": lambda: search({"bayes": GaussianNB()}).fit(X[["number", "zip"]].fillna(0), Y),
    "times and amounts with units": lambda: search(time_limit="1m", learner_timeout="30s", learner_memory="2 GB").fit(
        X, Y
    ),
    "all cores": lambda: search(n_jobs=-1).fit(X, Y),
    "columns in another order": lambda: search().fit(X, Y).predict(X.iloc[:, ::-1]),
    "categories that were never seen": lambda: search().fit(X, Y).predict(X.assign(city="Paris")),
    "frames of another library": lambda: search().fit(pl.from_pandas(X), Y).predict(X),
    "lists of lists": lambda: search("tree").fit(X.fillna(0).to_numpy().tolist(), Y.tolist()),
    "probabilities": lambda: search("logistic").fit(X, Y).predict_proba(X),
    "validation rows": lambda: search().fit(X[:80], Y[:80], X_val=X[80:], y_val=Y[80:]),
    "the latest rows validate": lambda: search(time="day").fit(X, Y),
    "groups": lambda: search(group="customer").fit(X, Y),
    "labels that are true or false": lambda: search().fit(X, Y == "stays").predict(X),
    "cross-validation around it": lambda: cross_val_score(search(), X, Y, cv=2),
    "a leaderboard": lambda: search().fit(X, Y).leaderboard_[["learner", "score"]],
    "a space": lambda: pydaub.Space("tree", DecisionTreeClassifier(), parameters={"max_depth": [1, 2]}),
    "a metric made a scorer": lambda: search(scoring=make_scorer(f1_score, pos_label="stays")).fit(X, Y),
}


@pytest.mark.parametrize("what", WORKS)
def test_this_works(what: str) -> None:
    assert WORKS[what]() is not None


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: search().fit(ROWS, "label"), r"Give X\.drop\(columns='label'\) and X\['label'\]"),
    (lambda: search().fit("rows.csv", Y), r"`X` must be a table of rows, got a str\. Read the file first"),
    (lambda: search().fit(["a text"] * 120, Y), r'got texts without a column\. Give pandas\.DataFrame\({"text": X}\)'),
    (lambda: search().fit(X), r"`y` must be given"),
    (lambda: search().fit(X, pd.get_dummies(Y)), r"`y` must be one column, got 2\. Search for each of them in turn"),
    (lambda: search().fit(X, Y.where(Y.index > 3)), r"`y` must have a value for each row"),
    (lambda: search().fit(X, Y, eval_set=[(X, Y)]), r"got eval_set\. Validation rows are `X_val` and `y_val`"),
    (lambda: search([GaussianNB(), RandomForestClassifier()]).fit(X, Y), r"Give it a name: \(name, estimator\)"),
    (lambda: search(GaussianNB).fit(X, Y), r"got the class GaussianNB\. Write GaussianNB\(\)"),
    (lambda: search("rf").fit(X, Y), r"got 'rf'\. Did you mean forest-100"),
    (lambda: search(["RandomForestClassifier"]).fit(X, Y), r"Did you mean forest-100"),
    (lambda: search("lgbm").fit(X, Y), r"Did you mean lightgbm"),
    (lambda: search("all").fit(X, Y), r"Did you mean sklearn"),
    (lambda: search("tree", param_grid={"max_depth": [1]}).fit(X, Y), r"got a name\. Give an estimator"),
    (lambda: search(scoring="rmse").fit(X, Y), r"Did you mean neg_root_mean_squared_error"),
    (lambda: search(scoring="AUC").fit(X, Y), r"Did you mean roc_auc\?"),
    (lambda: search(scoring=f1_score).fit(X, Y), r"sklearn\.metrics\.make_scorer\(f1_score\) makes one"),
    (lambda: search(scoring=lambda y, found: (y == found).mean()).fit(X, Y), r"make_scorer\(<lambda>\) makes"),
    (lambda: search(scoring=["accuracy", "f1"]).fit(X, Y), r"Choose one: there is one score to select by"),
    (lambda: search(cv=TimeSeriesSplit()).fit(X, Y), r"Name a column with `time`, so that the latest rows validate"),
    (lambda: search(time_limit="10 secs").fit(X, Y), r"`time_limit` must be a time such as 90s, 10m or 2h"),
    (lambda: search().predict(X), r"is not fitted yet\. Call 'fit'"),
    (lambda: search().fit(X, Y).predict(X[["city"]]), r"must have the columns 'number', .*, got 'city'"),
    (lambda: search().fit(X, Y).predict({"city": "Rome"}), r"got a dict\. Give pandas\.DataFrame\(\[X\]\)"),
    (
        lambda: search(["perceptron"]).fit(X, Y).predict_proba(X),
        r"perceptron, which was selected, gives no probabilities",
    ),
    (lambda: DaubSearch("tree", folder="run").fit(X, Y), r"`random_state` must be a whole number where a `folder`"),
    (lambda: pydaub.load("nowhere"), r"nowhere must be the folder of a run, got nothing there"),
]


@pytest.mark.parametrize(("tried", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_this_is_refused_with_what_to_do(tried: Callable[[], object], told: str) -> None:
    with pytest.raises((ValueError, AttributeError), match=told) as refusal:
        tried()
    message = str(refusal.value)
    assert "\n" not in message
    assert len(message.split()) <= LONGEST
    assert not re.search(r"object at 0x|Traceback", message)


def test_a_search_is_saved_like_any_estimator(tmp_path: Any) -> None:
    found = search().fit(X, Y)
    joblib.dump(found, tmp_path / "search.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "search.joblib").predict(X), found.predict(X))


def test_a_method_that_the_winner_lacks_is_not_there() -> None:
    """So that tools which ask `hasattr` see what there is."""
    assert not hasattr(search(["perceptron"]).fit(X, Y), "predict_proba")
    assert hasattr(search(["logistic"]).fit(X, Y), "predict_proba")
    assert not hasattr(search({"bayes": GaussianNB()}), "transform")
