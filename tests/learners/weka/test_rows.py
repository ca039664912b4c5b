"""How columns of every kind reach WEKA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

from learners.weka.frames import J48, mixed
from pydaub.learners.weka.classifier import WekaClassifier
from weka_here import needs_weka

pytestmark = needs_weka


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("all", "must be 'from_dtype'"), ([4], "among the 4 columns"), ([-1], "among the 4"), ([True], "4 booleans")],
)
def test_bad_categorical_features_are_refused(wanted: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        WekaClassifier(categorical_features=wanted).fit(X, y)


def test_categories_text_and_booleans_are_nominal() -> None:
    frame, y = mixed()
    for rows in (frame, frame.astype({"colour": "category"}), frame.astype({"colour": object}), pl.from_pandas(frame)):
        fitted = WekaClassifier().fit(rows, y)
        kinds = [None if column.categories is None else list(column.categories) for column in fitted.columns_]
        assert kinds == [["blue", "green", "red"], None, [False, True]]
        assert fitted.score(rows, y) > 0.95
        assert list(fitted.feature_names_in_) == ["colour", "size", "flag"]
    codes = frame.assign(colour=frame["colour"].astype("category").cat.codes, flag=frame["flag"].astype(int))
    by_name = WekaClassifier(categorical_features=["colour"]).fit(codes, y)
    by_place = WekaClassifier(categorical_features=[0]).fit(codes.to_numpy(), y)
    by_mask = WekaClassifier(categorical_features=[True, False, False]).fit(codes.to_numpy(), y)
    assert (
        len(
            {
                tuple(each.predict(rows))
                for each, rows in ((by_name, codes), (by_place, codes.to_numpy()), (by_mask, codes.to_numpy()))
            }
        )
        == 1
    )
    numeric = WekaClassifier(categorical_features=None).fit(codes, y)
    assert all(column.categories is None for column in numeric.columns_)


def test_text_in_an_array_is_nominal_if_declared() -> None:
    frame, y = mixed()
    declared = WekaClassifier(categorical_features=[0, 2])
    for rows in (frame.to_numpy(dtype=object), frame.to_numpy(dtype=object).astype(str)):
        fitted = clone(declared).fit(rows, y)
        assert fitted.score(rows, y) > 0.95
        assert [column.categories is None for column in fitted.columns_] == [False, True, False]
    with pytest.raises(ValueError, match="could not convert string to float"):
        WekaClassifier().fit(frame.to_numpy(dtype=object), y)
    with pytest.raises(ValueError, match="among the 3 columns"):
        WekaClassifier(categorical_features=[99]).fit(frame.to_numpy(dtype=object), y)


def test_labels_of_every_type_have_the_same_text() -> None:
    """RandomForest and others derive random numbers from the text of a row."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 3")
    answers = [clone(forest).fit(X, labels).predict_proba(X) for labels in (y, y.astype(float), y.astype(str))]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_numbers_of_dtype_object_are_numeric() -> None:
    frame, y = mixed()
    fitted = WekaClassifier().fit(frame.astype({"size": object}), y)
    assert fitted.columns_[1].categories is None
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame.astype({"size": object})))


def test_categories_of_several_types_stay_distinct() -> None:
    frame, y = mixed()
    odd = frame.assign(colour=frame["colour"].map({"red": 1, "green": "1", "blue": "1 (2)"}).astype("category"))
    fitted = WekaClassifier().fit(odd, y)
    assert sorted(fitted.columns_[0].labels) == ["1", "1 (2)", "1 (2) (2)"]
    assert fitted.score(odd, y) > 0.95


def test_declared_categories_count_even_if_no_row_has_them() -> None:
    frame, y = mixed()
    declared = pd.CategoricalDtype(["red", "violet", "green", "blue"])
    fitted = WekaClassifier().fit(frame.astype({"colour": declared}), y)
    assert list(fitted.columns_[0].categories) == ["red", "violet", "green", "blue"]
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame.astype({"colour": declared})))


def test_missing_values_and_new_categories_are_missing_to_weka() -> None:
    frame, y = mixed()
    frame.loc[::9, "colour"] = None
    frame.loc[::7, "size"] = np.nan
    frame["nothing"] = np.nan
    frame["no category"] = pd.Categorical([None] * len(frame), categories=[])
    for class_name in (J48, "weka.classifiers.bayes.NaiveBayes", "weka.classifiers.lazy.IBk"):
        fitted = WekaClassifier(class_name).fit(frame, y)
        new, gone = frame.assign(colour="violet"), frame.assign(colour=None)
        assert np.array_equal(fitted.predict_proba(new), fitted.predict_proba(gone))
        assert fitted.score(frame, y) > 0.6


def test_labels_may_have_any_type_and_columns_any_name() -> None:
    frame, y = mixed()
    for labels in (y == "left", np.where(y == "left", 7, -3), np.where(y == "left", "{a,'b}", "% ?")):
        fitted = WekaClassifier().fit(frame, labels)
        assert fitted.score(frame, labels) > 0.95
        assert set(fitted.classes_) == set(labels)
    odd = frame.rename(columns={"colour": "class", "size": "a,'b' {%}", "flag": "class_"})
    assert WekaClassifier().fit(odd, y).score(odd, y) > 0.95


def test_one_class_and_bad_rows_are_refused() -> None:
    frame, y = mixed()
    with pytest.raises(ValueError, match="at least two classes"):
        WekaClassifier().fit(frame, np.full(len(y), "left"))
    for value in (pd.Timestamp(0), pd.Timedelta(1, "D")):
        with pytest.raises(ValueError, match="columns must be numbers, booleans, text or categories, got"):
            WekaClassifier().fit(frame.assign(when=value), y)
    with pytest.raises(ValueError, match="must be finite, got infinity"):
        WekaClassifier().fit(frame.assign(size=np.inf), y)
    with pytest.raises(ValueError, match="0 sample"):
        WekaClassifier().fit(frame[:0], y[:0])
    fitted = WekaClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="'size' must be numeric, as in training"):
        fitted.predict(frame.assign(size="large"))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"size": "weight"}))
