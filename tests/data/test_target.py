from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pydaub import InputError
from pydaub.data.columns import series
from pydaub.data.target import differ_by_spaces, encoded, labels_from_json, labels_to_json

CAT = pd.Categorical(["b", "a", "b", "a"], categories=["z", "b", "a"])
DAY, LATER = date(2020, 1, 1), date(2020, 1, 2)
NOON, NIGHT = datetime(2020, 1, 1, 12), datetime(2020, 1, 1, 23, 59, 59, 123456)  # noqa: DTZ001  # labels have no zone

LABELS = [
    (["b", "a", "b", "a"], ("a", "b"), str),
    (np.array(["b", "a", "b", "a"]), ("a", "b"), str),
    (pd.Series(["b", "a", "b", "a"], index=[9, 9, 8, 8]), ("a", "b"), str),
    (CAT, ("a", "b"), str),
    (pl.Series(["b", "a", "b", "a"]), ("a", "b"), str),
    (pl.Series(["b", "a", "b", "a"], dtype=pl.Categorical), ("a", "b"), str),
    ([2, 1, 2, 1], (1, 2), int),
    (np.array([2, 1, 2, 1], dtype=np.uint8), (1, 2), int),
    (pd.Series([2, 1, 2, 1], dtype="Int64"), (1, 2), int),
    (pd.Categorical([2, 1, 2, 1]), (1, 2), int),
    ([2.0, 1.0, 2.0, 1.0], (1.0, 2.0), float),
    ([0.3, 0.1, 0.3, 0.1], (0.1, 0.3), float),
    ([True, False, True, False], (False, True), bool),
    (pd.Series([True, False, True, False], dtype=object), (False, True), bool),
    (pd.Series([True, False, True, False], dtype="boolean"), (False, True), bool),
    ([LATER, DAY, LATER, DAY], (DAY, LATER), date),
    ([NIGHT, NOON, NIGHT, NOON], (NOON, NIGHT), datetime),
    (pd.Series([NIGHT, NOON, NIGHT, NOON]).dt.tz_localize("UTC"), (NOON, NIGHT), datetime),
]


@pytest.mark.parametrize(("y", "classes", "kind"), LABELS)
def test_labels_of_any_type_keep_their_type_and_are_sorted(y: Any, classes: tuple[Any, ...], kind: type) -> None:
    target = encoded(series(y, "y"), "classification", "y")
    assert target.numbers.tolist() == [1, 0, 1, 0]
    assert tuple(target.labels.tolist()) == classes
    assert {type(label) for label in target.labels.tolist()} == {kind}
    again = labels_from_json(json.loads(json.dumps(labels_to_json(target.labels))))
    assert again.dtype == target.labels.dtype
    assert again.tolist() == target.labels.tolist()


def test_rows_without_a_target_are_marked() -> None:
    target = encoded(series(["a", None, "b", "a", "b"], "y"), None, "y")
    assert target.present.tolist() == [True, False, True, True, True]
    assert target.numbers.tolist() == [0, 1, 0, 1]


def test_numbers_stay_numbers_in_a_regression() -> None:
    target = encoded(series([1, 5, None, 2], "y"), "regression", "y")
    assert target.numbers.tolist() == [1.0, 5.0, 2.0]
    assert not target.labels.size
    assert encoded(series([True, False], "y"), "regression", "y").numbers.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (["a"] * 9, None, "`y` must have at least two classes, got only 'a'"),
        ([None] * 9, None, "`y` must have values, got 9 rows without one"),
        ([f"u{i}" for i in range(9)], None, "classes of several rows, got 9 in 9 rows: it looks like an identifier"),
        (np.arange(100), "classification", "it looks like an identifier. Name another target, or task regression"),
        (["a", "b"] * 5, "regression", "`y` must be numbers for a regression, got 'a'. Is it a class"),
        (["1", "2"] * 5, "regression", "`y` must be numbers for a regression, got '1'"),
        (pd.Categorical(["a", "b"] * 5), "regression", "`y` must be numbers for a regression, got 'a'"),
        (pd.date_range("2020-01-01", periods=5), "regression", "`y` must be numbers for a regression"),
        ([3.5] * 9, None, "`y` must have different values, got only 3.5. Name another target"),
        ([2] * 9, "regression", "`y` must have different values, got only 2.0"),
        ([1.5, np.inf, -np.inf], None, "`y` must be finite, got 2 infinite values"),
        ([1.0, np.inf] * 5, "classification", "`y` must be finite, got infinite labels"),
        ([1, "a"] * 5, None, "`y` must be labels of one type: text, numbers, bools or dates, got int and str"),
        ([b"a", b"b"] * 5, None, "labels of one type: .*, got bytes"),
        ([{1}, {2}] * 5, None, "`y` must be labels, got .1.: unhashable"),
        (
            [2.0**64, 2.0**64 + 4096] * 5,
            "classification",
            r"can be told apart, got 1.84467440737095.*e.19: numbers",
        ),
        ([2**53, 2**53 + 1, 0.5] * 5, "classification", "must be labels that can be told apart"),
        ([1, np.inf] * 5, "classification", "`y` must be finite, got infinite labels"),
        ([10**30, 1] * 5, "classification", "`y` must be numbers of at most 64 bits"),
        (np.array([1, 2] * 5, dtype=complex), "classification", "text, numbers, bools or dates, got complex"),
        ([1, 2] * 5, "clustering", "`task` must be classification or regression, got 'clustering'"),
        ([datetime(2020, 1, 1, tzinfo=UTC), 3] * 5, None, "labels of one type"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(y: Any, task: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encoded(series(y, "y"), task, "y")


def test_one_value_of_many_rows_is_no_regression_target_either() -> None:
    """Data larger than memory is told by its distinct values."""
    with pytest.raises(InputError, match=r"`y` must have different values, got only 2\.5"):
        encoded(pd.Series([2.5]), "regression", "y", rows=100)


def test_a_number_that_is_misspelt_does_not_make_classes_of_a_regression() -> None:
    numbers = [str(number % 90) for number in range(300)]
    with pytest.raises(InputError, match=r"nearly all of its values look like numbers, but 'oops' cannot be read"):
        encoded(pd.Series([*numbers, "oops"]), None, "y")
    with pytest.raises(InputError, match=r"look like numbers, but 'oops' cannot be read"):
        encoded(pd.Series([*map(float, numbers), "oops"]), None, "y")  # from the file of validation rows
    with pytest.raises(InputError, match="`y` must be numbers for a regression, got 'oops'"):
        encoded(pd.Series([*numbers, "oops"]), "regression", "y")
    assert len(encoded(pd.Series([*numbers, "oops"]), "classification", "y").labels) == 91
    stars = [str(number % 30) for number in range(300)]
    assert len(encoded(pd.Series([*stars, "none"] * 2), None, "y").labels) == 31, "so few are classes in any case"


def test_rows_without_a_target_are_said_where_one_class_is_left() -> None:
    with pytest.raises(InputError, match="at least two classes, got only True in 2 rows, and 3 without a value"):
        encoded(pd.Series([True, None, None, True, None]), None, "y")


def test_classes_that_differ_by_spaces_are_noted() -> None:
    assert differ_by_spaces(["yes", " yes", "no", "no ", " maybe"]) == [
        "Classes that differ from others only by spaces: ' yes', 'no '."
    ]
    assert differ_by_spaces([1, 2, True]) == []
