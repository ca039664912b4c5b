from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from data.forms import FORMS, FRAME, LABELS, NUMBERS
from pydaub import InputError
from pydaub.data import Column, Schema, load, new_rows, prepare
from pydaub.data.columns import infer_columns

COLUMNS = (
    Column("n", "numeric"),
    Column("b", "boolean"),
    Column("c", "categorical"),
    Column("id", "identifier"),
    Column("d", "date"),
)
MIXED = Schema("frame", "classification", 4, COLUMNS, ("x", "y"), "label")
MATRIX = Schema("matrix", "classification", 2, COLUMNS[:2], ("x", "y"), "label")
SPARSE = Schema("sparse", "classification", 3, (), (0, 1))


def given(**columns: Any) -> pd.DataFrame:
    start: dict[str, Any] = {"d": ["2020-01-01"] * 3, "c": ["u", "v", None], "b": ["Yes", "no", None], "n": [1, 2, 3]}
    return pd.DataFrame({**start, **columns})


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"n": ["1", "2.0", "3e0"]},
        {"n": pd.array([1, 2, 3], dtype="Int64")},
        {"b": [True, False, None]},
        {"b": pd.array([True, False, None], dtype="boolean")},
        {"b": [1, 0, None]},
        {"b": ["T", "F", None]},
        {"b": pd.Series([1.0, 0, None], dtype=object)},
        {"b": ["1.0", " 0", None]},
        {"b": pd.Categorical([True, False, None])},
        {"n": pd.Categorical([1, 2, 3])},
        {"c": pd.Categorical(["u", "v", None])},
        {"d": pd.to_datetime(["2020-01-01"] * 3)},
        {"d": pd.to_datetime(["2020-01-01"] * 3, utc=True)},
        {"more": [1, 2, 3]},
    ],
)
def test_columns_of_many_types_are_converted_to_one(columns: dict[str, Any]) -> None:
    rows = new_rows(MIXED, given(**columns))
    assert list(rows) == ["n", "b", "c", "d"]
    assert rows["n"].tolist() == [1.0, 2.0, 3.0]
    assert rows["b"].fillna(-1).tolist() == [1, 0, -1]
    assert rows["c"].astype(object).fillna("-").tolist() == ["u", "v", "-"]
    assert rows["d"].tolist() == [pd.Timestamp("2020-01-01")] * 3
    assert new_rows(MATRIX, given(**columns)).dtype == np.float64


@pytest.mark.parametrize("schema", [MIXED, MATRIX])
@pytest.mark.parametrize("pair", [(1, 2), (0, -1), (5, 0), (0.25, 0.5), (1e-50, 1), (2**60, 1), (np.inf, 0)])
@pytest.mark.parametrize("kind", [None, object, "Float64", "category"])
def test_other_numbers_than_0_and_1_are_no_yes_and_no(schema: Schema, pair: tuple[float, float], kind: Any) -> None:
    """They could mean anything: a prediction from them would be silently wrong."""
    values = pd.Series([*pair, None])
    rows = given(b=values if kind is None else values.astype(kind))
    with pytest.raises(InputError, match=r"Column 'b' must hold yes and no, true and false, or 1 and 0, got "):
        new_rows(schema, rows)


DAY = pd.Timestamp("2020-02-03")
# What a value means to each kind; to all others it means nothing.
MEANINGS: list[tuple[Any, dict[str, Any]]] = [
    (0, {"numeric": 0.0, "boolean": 0.0}),
    (1.0, {"numeric": 1.0, "boolean": 1.0}),
    (True, {"boolean": 1.0}),
    ("1", {"numeric": 1.0, "boolean": 1.0}),
    *((each, {"numeric": float(each)}) for each in (2, -1, 0.5, "2")),
    *((each, {"boolean": truth}) for each, truth in {"yes": 1.0, "No": 0.0, " f": 0.0}.items()),
    *((each, {"date": DAY}) for each in ("2020-02-03", DAY)),
    *((each, {}) for each in (1 + 2j, "x", "2020-02-30", pd.Timedelta("1h"))),
]


@pytest.mark.parametrize("kind", ["numeric", "boolean", "date"])
@pytest.mark.parametrize(("value", "meant"), MEANINGS, ids=repr)
@pytest.mark.parametrize("dtype", [None, object, "category"])
def test_a_value_keeps_its_meaning_or_is_refused(kind: Any, value: Any, meant: dict[str, Any], dtype: Any) -> None:
    schema = Schema("frame", "classification", 2, (Column("x", kind), Column("c", "categorical")), ("u", "v"), "y")
    rows = pd.DataFrame({"x": pd.Series([value, value], dtype=dtype), "c": ["u", "v"]})
    if kind in meant:
        assert new_rows(schema, rows)["x"].tolist() == [meant[kind]] * 2
    else:
        with pytest.raises(InputError, match="Column 'x' must hold"):
            new_rows(schema, rows)


@pytest.mark.parametrize("flags", [[True, False, True], [True, None, False]])
def test_bools_that_are_to_be_numbers_are_ones_and_zeros(flags: list[Any]) -> None:
    rows = pd.DataFrame({"x": flags * 10, "n": range(30)})
    (column,) = (each for each in infer_columns(rows, {"x": "numeric"}) if each.name == "x")
    schema = Schema("matrix", "classification", 1, (column,), ("u", "v"), "y")
    assert new_rows(schema, rows)[0].tolist() == [1.0]
    with pytest.raises(InputError, match="or 1 and 0, got 2"):
        new_rows(schema, rows.assign(x=2))


def test_an_array_of_bools_goes_where_nothing_is_known_of_columns() -> None:
    schema = Schema("matrix", "classification", 2, (), ("u", "v"))
    assert new_rows(schema, np.array([[True, False]])).tolist() == [[1.0, 0.0]]


def test_categories_become_text_whatever_they_look_like() -> None:
    made = [new_rows(MIXED, given(c=c))["c"].tolist()[:2] for c in ([1, 2, 3], [1.0, 2.0, None], ["1", "2", "3"])]
    assert made == [["1", "2"]] * 3
    assert new_rows(MIXED, given(c=pd.Categorical([1, 2, 1])))["c"].tolist() == ["1", "2", "1"]
    assert new_rows(MIXED, given(c=[True, False, True]))["c"].tolist() == ["true", "false", "true"]
    assert new_rows(MIXED, given(c=[1.5, 2.0, 2.5]))["c"].tolist() == ["1.5", "2", "2.5"]


def test_rows_of_other_libraries() -> None:
    assert list(new_rows(MIXED, pl.DataFrame(given()))) == ["n", "b", "c", "d"]
    assert new_rows(MATRIX, pl.DataFrame(given()))[:, 0].tolist() == [1, 2, 3]
    assert new_rows(MATRIX, [[1, True], [2, False]]).tolist() == [[1, 1], [2, 0]]
    assert new_rows(MATRIX, np.array([["1", "yes"]], dtype=object)).tolist() == [[1, 1]]


def test_a_file_of_new_rows_needs_no_target(tmp_path: Path) -> None:
    train = pd.DataFrame({"code": ["01", "A", "02"] * 9, "n": [1, 2, 4] * 9, "y": ["u", "v", "v"] * 9})
    train.to_csv(tmp_path / "train.csv", index=False)
    schema = load(tmp_path / "train.csv", "y").schema
    (tmp_path / "new.csv").write_text("n,code\n5,01\n6,02\n")
    rows = new_rows(schema, tmp_path / "new.csv")
    assert rows["code"].tolist() == ["01", "02"]
    (tmp_path / "new.csv").write_text("größe,n,code\nä,5,1\n", encoding="latin-1")
    assert new_rows(schema, tmp_path / "new.csv", encoding="latin-1")["n"].tolist() == [5]


def test_sparse_rows_get_the_width_of_the_training_rows() -> None:
    narrow, wide = sparse.csr_matrix([[1.0, 0]]), sparse.csc_array([[0, 0, 3.0, 4.0]])
    assert new_rows(SPARSE, narrow).toarray().tolist() == [[1, 0, 0]]
    assert new_rows(SPARSE, wide).toarray().tolist() == [[0, 0, 3]]
    assert narrow.shape == (1, 2)


@pytest.mark.parametrize("form", FORMS)
def test_training_rows_keep_their_columns_as_new_rows(form: str) -> None:
    schema = prepare(FORMS[form], LABELS).schema
    rows = new_rows(schema, FORMS[form])
    assert rows.shape == FORMS[form].shape
    if form == "pandas":
        assert rows["ranks"].tolist() == FRAME["ranks"].tolist()
    if schema.form == "matrix":
        assert np.array_equal(rows, FORMS[form].astype(float), equal_nan=True)


def test_columns_that_were_not_described() -> None:
    assert new_rows(prepare(NUMBERS, LABELS, columns=False).schema, NUMBERS).shape == NUMBERS.shape
    with pytest.raises(InputError, match="`schema` must describe its columns, got none"):
        new_rows(prepare(FRAME, LABELS, columns=False).schema, FRAME)


@pytest.mark.parametrize(
    ("schema", "rows", "message"),
    [
        (MIXED, given().drop(columns="c"), "The data must have the columns 'c', got 'd', 'b', 'n'"),
        (MIXED, given(n=["1", "two", None]), "Column 'n' must hold numbers, got 'two'"),
        (MIXED, given(n=[1, np.inf, np.inf]), r"Features must be finite, got infinite values in 'n' \(2\)"),
        (
            MIXED,
            given(b=["yes", "no", "perhaps"]),
            "Column 'b' must hold yes and no, true and false, or 1 and 0, got 'perhaps'",
        ),
        (
            MIXED,
            given(d=["2020-01-01", "soon", None]),
            "Column 'd' must hold ISO dates such as 2016-02-12, got 'soon'.$",
        ),
        (MIXED, given(d=[1, 2, 3]), "Column 'd' must hold ISO dates such as 2016-02-12, got 1.$"),
        (MATRIX, [[1, 2, 3]], r"The data must have 2 columns, got an array of shape \(1, 3\)"),
        (MATRIX, [1, 2], r"The data must have 2 columns, got an array of shape \(2,\)"),
        (MATRIX, [[1], [2, 3]], "The data must be a table, got"),
        (MATRIX, sparse.csr_matrix((2, 2)), "The data must have named columns, as in training, got a sparse matrix"),
        (SPARSE, [[1, 2, 3]], "The data must be a sparse matrix or an svmlight file, got list"),
        (SPARSE, given(), "The data must be a sparse matrix or an svmlight file, got DataFrame"),
        (MIXED, "none.csv", "none.csv must be a file that can be read, got no such file"),
    ],
)
def test_rows_that_do_not_fit_are_refused(schema: Schema, rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        new_rows(schema, rows)
