from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pydaub import InputError
from pydaub.data import infer_columns, infer_task
from pydaub.data.columns import given_columns, group_codes, nearly_numbers, read_as_text, times

if TYPE_CHECKING:
    from pydaub.data.schema import Kind

N = 60
WORDS = ["the cat sat on mat", "a dog ran far away", "birds sing in trees", "fish swim very deep"]


def of(values: Any, name: str = "x") -> str:
    return infer_columns(pd.DataFrame({name: values}))[0].kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5, None] * 20, "numeric"),
        ([1, 2, 3] * 20, "numeric"),
        ([0, 1] * 30, "boolean"),
        ([0.0, 1.0, None] * 20, "boolean"),
        ([True, False] * 30, "boolean"),
        (["Yes", "no", None] * 20, "boolean"),
        (["T", "F"] * 30, "boolean"),
        (["yes", "false"] * 30, "categorical"),
        (["a", "b", None] * 20, "categorical"),
        (pd.Categorical(["a", "b"] * 30), "categorical"),
        (["2020-01-01", "1999-12-31 10:00", None] * 20, "date"),
        (["2020-01-01", "2020-13-45"] * 30, "categorical"),
        (["2020", "2021"] * 30, "categorical"),
        (pd.date_range("2020-01-01", periods=N), "date"),
        ([f"{WORDS[i % 4]} {i}" for i in range(N)], "text"),
        (WORDS * 15, "categorical"),
        ([f"u{i}" for i in range(N)], "identifier"),
        ([f"u{i}" for i in range(10)], "categorical"),
        (np.arange(N)[::-1] + 1000, "identifier"),
        (np.arange(10), "numeric"),
        (np.arange(N) * 3, "numeric"),
        ([7] * N, "constant"),
        ([None] * N, "constant"),
        ([7, None] * 30, "numeric"),
        (["only"] * N, "constant"),
        (pd.Series([np.nan] * N), "constant"),
    ],
)
def test_the_kind_of_a_column(values: Any, kind: str) -> None:
    assert of(values) == kind


@pytest.mark.parametrize("name", ["id", "ID", "Id", "user_id", "customerId", "index", "uuid", "row id", "row_number"])
def test_distinct_whole_numbers_named_like_an_identifier_are_one(name: str) -> None:
    assert of([3, 10, 42], name) == "identifier"
    assert of([3, 10, 10], name) == "numeric"


@pytest.mark.parametrize("name", ["humid", "paid", "rapid", "idle", "grid"])
def test_words_that_end_in_id_are_not_identifiers(name: str) -> None:
    assert of([3, 10, 42], name) == "numeric"


@pytest.mark.parametrize("rows", [2, 3, 30])
def test_columns_of_numbers_are_described_together_as_they_are_one_by_one(rows: int) -> None:
    rng = np.random.default_rng(rows)
    columns: dict[str, Any] = {}
    for number in range(200):
        values = rng.permuted(np.arange(rows) + rng.integers(-2, 2)) if number % 3 else rng.integers(0, 3, rows)
        if number % 2:
            columns[f"x{number}"] = values
        else:
            columns[f"x{number}"] = np.where(rng.random(rows) < number % 5 / 4, np.nan, values / (1 + number % 4 // 2))
    columns |= {"id": rng.permutation(rows), "large": 2**62 + np.arange(rows), "zero": [0.0, -0.0] + [1.0] * (rows - 2)}
    frame = pd.DataFrame(columns)
    one_by_one = frame.astype({name: "Int64" if kind.kind == "i" else "Float64" for name, kind in frame.dtypes.items()})
    assert infer_columns(frame) == infer_columns(one_by_one)


def test_columns_are_counted() -> None:
    column = infer_columns(pd.DataFrame({"x": [1.0, 2.0, 2.0, None]}))[0]
    assert (column.name, column.missing, column.distinct, column.used) == ("x", 1, 2, True)


def test_given_kinds_override_inferred_ones() -> None:
    frame = pd.DataFrame({"zip": [1, 2, 3], "id": [4, 5, 7]})
    assert [c.kind for c in infer_columns(frame, {"zip": "categorical", "id": "numeric"})] == ["categorical", "numeric"]
    with pytest.raises(InputError, match=r"Kinds must be given for columns of the data, got 'zap'. It has 'zip', 'id'"):
        infer_columns(frame, {"zap": "numeric"})
    nonsense: Any = {"zip": "number"}
    with pytest.raises(InputError, match=r"The kind of 'zip' must be among numeric, .*, got 'number'"):
        infer_columns(frame, nonsense)


def test_all_columns_of_a_users_own_frame_are_used() -> None:
    frame = pd.DataFrame(
        {
            "constant": [1] * N,
            "identifier": range(N),
            "bool": [True, False] * 30,
            "yes": ["yes", "no"] * 30,
            "iso": ["2020-01-01"] * N,
            "date": pd.date_range("2020-01-01", periods=N),
            "text": [f"{WORDS[i % 4]} {i}" for i in range(N)],
            "names": [f"u{i}" for i in range(N)],
            "codes": pd.Categorical([1, 2] * 30),
            "nothing": pd.Series([None] * N, dtype=object),
        }
    )
    columns = given_columns(frame)
    assert all(column.used for column in columns)
    assert [column.kind for column in columns] == [
        *("numeric", "numeric", "boolean", "categorical", "categorical"),
        *("date", "text", "categorical", "categorical", "categorical"),
    ]
    assert [column.name for column in columns if column.as_given] == ["codes"]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        (np.repeat(range(50), 5), "classification"),
        (np.repeat(range(51), 5), "regression"),
        (np.repeat(range(50), 4), "regression"),
        ([0.5, 1.0] * 50, "regression"),
        (np.arange(1000), "regression"),
        (pd.Categorical([1, 2, 3]), "classification"),
        (pd.Series([1.5, None, 2.5]), "regression"),
        (pl.Series(["u", "v"]), "classification"),
        (pl.Series([0.25, None]), "regression"),
        ([1.5, None], "regression"),
        (np.array([1.5, 2.5], dtype=object), "regression"),
        (pd.date_range("2020-01-01", periods=9), "classification"),
        (np.array([[1], [2], [1]]), "classification"),
    ],
)
def test_whether_a_target_is_a_class(y: Any, task: str) -> None:
    assert infer_task(y) == task


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((3, 2)), r"`y` must be one column, got 2 dimensions and shape \(3, 2\)"),
        (pd.DataFrame({"a": [1], "b": [2]}), r"`y` must be one column"),
        (np.array(3), "`y` must be one column, got 0 dimensions"),
        (3, "`y` must be one column of values, got int"),
    ],
)
def test_a_target_must_be_one_column(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        infer_task(y)


def test_groups_and_times() -> None:
    assert group_codes(pd.Series(["b", "a", "b"]), "group").tolist() == [0, 1, 0]
    assert np.argsort(times(pd.Series(["2020-01-02", "2019-05-05T10:00"]), "time")).tolist() == [1, 0]
    assert times(pd.Series([2, 1]), "time").tolist() == [2, 1]
    with pytest.raises(InputError, match="`group` must have a value in every row, got 1 without"):
        group_codes(pd.Series(["a", None]), "group")
    with pytest.raises(InputError, match="`group` must be labels, got: unhashable"):
        group_codes(pd.Series([[1], [2]]), "group")
    with pytest.raises(InputError, match="`time` must have a value in every row, got 2 without"):
        times(pd.Series([None, None, 1.0]), "time")
    with pytest.raises(InputError, match="`time` must be numbers or ISO dates such as 2016-02-12, got"):
        times(pd.Series(["yesterday", "today"]), "time")


NUMBERS = [f"{number / 7:.3f}" for number in range(100)]


@pytest.mark.parametrize("odd", ["oops", "1,5", "-", "12 %", "1_000"])
def test_a_value_that_keeps_a_column_from_being_numeric_is_named(odd: str) -> None:
    frame = pd.DataFrame({"size": [*NUMBERS[:60], odd, *NUMBERS[60:]], "name": [f"item {each}" for each in range(101)]})
    (note,) = read_as_text(frame, infer_columns(frame))
    assert note.startswith("Column 'size' counts as identifier, not as numeric: ")
    assert note.endswith(f": nearly all of its values look like numbers, but {odd!r} cannot be read as one.")
    kinds: dict[str, Kind] = {"size": "categorical"}
    assert read_as_text(frame, infer_columns(frame, kinds), kinds) == [], "it was asked for"
    sample = frame.drop(index=60)
    assert read_as_text(sample, infer_columns(frame), odd={"size": odd, "name": "item 0"}) == [note]


def test_columns_of_other_texts_get_no_note() -> None:
    frame = pd.DataFrame(
        {
            "number": np.arange(100) / 7,
            "code": [f"A{number}" for number in range(100)],
            "few": ["1", "2", "x", None] * 25,
            "mixed": [*NUMBERS[:50], *(f"{text} kg" for text in NUMBERS[50:])],
            "day": [f"2016-02-{number % 28 + 1:02d}" for number in range(100)],
        }
    )
    assert read_as_text(frame, infer_columns(frame)) == []
    assert nearly_numbers(pd.Series([{1}, {2}] * 50)) is None
    assert nearly_numbers(pd.Series([*NUMBERS, 1.0])) is None
    assert nearly_numbers(pd.Series(NUMBERS)) is None, "all of them are numbers"
