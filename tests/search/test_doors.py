"""The command line and Python are two doors to the same run."""

from __future__ import annotations

from dataclasses import fields
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cli.commands import call
from pydaub import DaubSearch, InputError
from pydaub.data import Prepared
from pydaub.runs.folder import Request, RunFolder
from search.rows import table

LEARNERS = ["tree", "logistic", "naive-bayes-gaussian"]
pytestmark = pytest.mark.filterwarnings("ignore:Columns left out", "ignore:Classes with few", "ignore:Column .* would")


ASKED: list[dict[str, Any]] = [
    {},
    {"time": "day"},
    {"group": "customer", "drop": "zip,same"},
    {"group": "customer", "time": "day"},
    {"kind": {"zip": "categorical"}, "strategy": "daub"},
    {"cv": 3},
    {"group": "customer", "cv": 3},
    {"validation_fraction": 0.4, "validation_rows": 70, "metrics": "all"},
    {"drop": "city,day,smokes"},  # numbers alone
    {"sizes": "50,100", "score_rows": "all", "learner_timeout": "2m", "learner_memory": "2GB", "time_limit": "1h"},
]


@pytest.mark.parametrize(("seed", "asked"), [*enumerate(ASKED)], ids=str)
def test_the_same_file_and_seed_give_the_same_run(seed: int, asked: dict[str, Any], tmp_path: Path) -> None:
    """Every setting, the rows with their split and kinds, and every outcome."""
    rows = table(seed)
    costs: dict[str, Any] = {} if "strategy" in asked else {"costs": "declared"}
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items() if name != "kind"]
    kinds = starmap("--kind={}={}".format, asked.get("kind", {}).items())
    done = call(
        *("run", tmp_path / "rows.csv", "--target", "label", "--learners", ",".join(LEARNERS), "--seed", seed),
        *(*options, *kinds, *(f"--{name}={value}" for name, value in costs.items())),
        *("--quiet", "--jobs", 1, "--out", tmp_path / "run"),
    )
    assert done.code == 0, done.err
    folder = RunFolder(tmp_path / "run")
    read = pd.read_csv(tmp_path / "rows.csv")
    search = DaubSearch(LEARNERS, random_state=seed, **asked, **costs, folder=tmp_path / "search", n_jobs=1)
    search.fit(read.drop(columns="label"), read["label"])
    here, there = search.report_.account, folder.account()
    assert here.settings == there.settings
    assert [(step.allocation, score(step)) for step in here.steps] == [
        (step.allocation, score(step)) for step in there.steps
    ]
    data = Prepared.open(folder.path / "data")
    assert here.settings["data"] == data.fingerprint


def score(step: Any) -> object:
    return getattr(step.outcome, "valid_score", step.outcome)


@pytest.mark.parametrize("make", [lambda rows: rows, pl.from_pandas, lambda rows: pl.from_pandas(rows).to_arrow()])
def test_new_rows_are_brought_to_the_kinds_of_the_search(make: Any) -> None:
    """By name, in any order of columns, with or without those that are no features."""
    rows = table()
    X, y = rows.drop(columns="label"), rows["label"]
    search = DaubSearch(LEARNERS, time="day", drop=["zip"], random_state=0, strategy="daub").fit(make(X), y)
    expected = search.predict(make(X))
    np.testing.assert_array_equal(expected, search.predict(make(X.iloc[:, ::-1])))
    np.testing.assert_array_equal(expected, search.predict(X.drop(columns=["zip", "day", "row_id"])))
    with pytest.raises(InputError, match=r"must have the columns 'city', got"):
        search.predict(make(X.drop(columns="city")))
    with pytest.raises(InputError, match=r"Column 'number' must hold numbers, got 'x'"):
        search.predict(X.assign(number="x"))


def test_text_dates_are_dates() -> None:
    """A category for each day would teach nothing about later ones."""
    rows = table()
    X, y = rows[["number", "day"]], np.where(rows["day"] < "2024-02-20", "early", "late")
    search = DaubSearch("tree", random_state=0).fit(X, y)
    assert search.best_score_ == 1.0
    assert search.predict(pd.DataFrame({"number": [0.0], "day": ["2031-05-06 00:00:00"]})) == ["late"]


def test_arrays_are_taken_where_the_search_was_fitted_on_a_frame() -> None:
    rows = table()
    X, y = rows[["row_id", "number", "zip"]], rows["label"]
    search = DaubSearch(LEARNERS, random_state=0, strategy="daub").fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(search.predict(X.to_numpy()), search.predict(X))


def test_estimators_of_ones_own_get_the_rows_as_they_are() -> None:
    """Besides the columns that divide the rows or are left out."""
    rows = table()
    X = rows[["number", "customer", "day", "zip", "city"]].fillna(0.0)
    search = DaubSearch([("bayes", GaussianNB())], group="customer", drop=["day", "city"], random_state=0)
    search.fit(X, rows["label"])
    assert search.best_estimator_.feature_names_in_.tolist() == ["number", "zip"]
    np.testing.assert_array_equal(search.predict(X), search.predict(X[["number", "zip"]]))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"time": "dya"}, r"`time` must be a column of `X`, got 'dya'. Did you mean 'day'"),
    ({"group": 5}, r"`group` must be the name of a column, got 5"),
    ({"group": "zip", "drop": ["zip"]}, r"`drop` must not be the column of `group`, got 'zip' for both"),
    ({"time": "day", "cv": 3}, r"`cv` must go without `time`"),
    ({"kind": {"zipp": "numeric"}}, r"Kinds must be given for columns of the data, got 'zipp'"),
    ({"kind": "zip=numeric"}, r"`kind` must be kinds by the names of columns, or None, got 'zip=numeric'"),
    ({"kind": {"zip": "number"}}, r"The kind of 'zip' must be among numeric, .*, got 'number'"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_columns_that_do_not_fit_are_refused(asked: dict[str, Any], message: str) -> None:
    rows = table()
    with pytest.raises(InputError, match=message):
        DaubSearch(LEARNERS, **asked).fit(rows.drop(columns="label"), rows["label"])


def test_what_needs_names_or_learners_by_name_is_refused_without() -> None:
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40) % 2
    with pytest.raises(InputError, match=r"`time` must name a column of a frame, got rows without names: ndarray"):
        DaubSearch("tree", time="day").fit(X, y)
    with pytest.raises(InputError, match=r"`kind` must name columns of a frame, got ndarray without names"):
        DaubSearch("tree", kind={"zip": "numeric"}).fit(X, y)
    rows = table()
    with pytest.raises(InputError, match=r"`kind` must go with learners by name: estimators of your own get columns"):
        DaubSearch([("tree", DecisionTreeClassifier())], kind={"x": "date"}).fit(pd.DataFrame(X), y)
    with pytest.raises(InputError, match=r"`groups`, got both"):
        DaubSearch("tree", group="zip").fit(rows.drop(columns="label"), rows["label"], groups=rows["zip"])
    with pytest.raises(InputError, match=r"`time` must go without `X_val`"):
        DaubSearch("tree", time="day").fit(rows, rows["label"], X_val=rows, y_val=rows["label"])


def test_what_a_request_can_ask_for_is_a_parameter_of_the_search() -> None:
    """Under the same name, but for those that scikit-learn names otherwise, and what only files and commands need."""
    other = {"data", "target", "parameters", "encoding", "weka_jar", "validation"}  # `fit` takes rows instead
    other |= {"rows", "full_size"}
    named = {"fraction": "validation_fraction", "seed": "random_state", "kinds": "kind"}
    asked = {named.get(field.name, field.name) for field in fields(Request)} - other
    assert asked - {*DaubSearch().get_params()} == set()


def test_columns_that_should_perhaps_divide_the_rows_are_named_at_both_doors(tmp_path: Path) -> None:
    """Unless the rows are divided by something already."""
    rows = table().assign(customer=np.arange(240) % 60)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    said = "Column 'day' is a date: {} would validate", "Column 'customer' repeats about 4 times: {} would keep"
    asked = ("run", tmp_path / "rows.csv", "--target", "label", "--learners", "tree", "--jobs", 1)
    told = call(*asked, "--out", tmp_path / "one").err
    assert all(words in told for words in map(str.format, said, ("`--time day`", "`--group customer`")))
    assert "would" not in call(*asked, "--group", "customer", "--out", tmp_path / "two").err
    assert "would" not in call(*asked, "--quiet", "--out", tmp_path / "three").err
    with pytest.warns(UserWarning, match="would") as warned:
        DaubSearch("tree", random_state=0).fit(rows.drop(columns="label"), rows["label"])
    found = "\n".join(str(each.message) for each in warned)
    assert all(words in found for words in map(str.format, said, ("`time='day'`", "`group='customer'`")))
