from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from data.forms import FORMS, FRAME, GAPS, LABELS, NUMBERS, POLARS, ROWS
from pydaub import InputError
from pydaub.data import Split, prepare

FORM_OF = {"csr": "sparse", "csc": "sparse", "empty": "sparse", "pandas": "frame", "polars": "frame"} | {
    "texts": "frame",
    "objects": "frame",
}


@pytest.mark.parametrize("wrong", [[1, 2] * 20, [0.25, 0.5] * 20, ["yes", "no"] * 20, [True, 2] * 20])
@pytest.mark.parametrize("of_objects", [False, True])
def test_bools_are_validated_on_bools_or_1_and_0(wrong: list[Any], *, of_objects: bool) -> None:
    def frame(values: list[Any]) -> pd.DataFrame:
        return pd.DataFrame({"b": pd.Series(values, dtype=object if of_objects else None), "n": range(40)})

    train, labels = pd.DataFrame({"b": [True, False] * 20, "n": range(40)}), ["u", "v"] * 20
    for right in ([True, False] * 20, [1, 0] * 20, [1.0, None] * 20):
        assert prepare(train, labels, validation=(frame(right), labels)).valid_size == 40
    with pytest.raises(InputError, match=r"Column 'b' .*must hold"):
        prepare(train, labels, validation=(frame(wrong), labels))


@pytest.mark.parametrize("form", FORMS)
def test_x_keeps_its_type_and_all_columns(form: str) -> None:
    given = FORMS[form]
    data = prepare(given, LABELS)
    made = data.train(5).X
    assert data.schema.form == FORM_OF.get(form, "matrix")
    assert made.shape == (5, given.shape[1])
    assert data.schema.features == given.shape[1]
    assert len(data.schema.used) == len(data.schema.columns) == (0 if data.schema.form == "sparse" else given.shape[1])
    assert prepare(given, LABELS, columns=False).schema.columns == ()
    if form in {"pandas", "polars"}:
        assert type(made) is type(given)
    if data.schema.form == "matrix" and form != "object numbers":
        assert made.dtype == given.dtype
        assert made.flags.c_contiguous


def test_sparse_matrices_become_csr_with_32_bit_indices() -> None:
    made = prepare(FORMS["csc"], LABELS).train(9).X
    assert isinstance(made, sparse.csr_matrix)
    assert (made.indices.dtype, made.indptr.dtype, made.has_sorted_indices) == (np.int32, np.int32, True)


def test_the_original_is_not_changed() -> None:
    unsorted = sparse.csr_matrix(([1.0, 2.0] * 30, [3, 1] * 30, range(0, 61, 1)), shape=(60, 4))
    before = unsorted.indices.copy()
    prepare(unsorted, LABELS)
    assert unsorted.indices.tolist() == before.tolist()


def test_missing_numbers_are_counted() -> None:
    columns = prepare(GAPS, LABELS).schema.columns
    assert [column.missing for column in columns] == np.isnan(GAPS).sum(axis=0).tolist()
    assert [column.name for column in columns] == ["x0", "x1", "x2", "x3"]
    masked = np.ma.masked_array(NUMBERS, mask=np.isnan(GAPS))
    assert prepare(masked, LABELS).schema.columns == columns


def test_column_names_become_text() -> None:
    data = prepare(pd.DataFrame(NUMBERS), LABELS)
    assert list(data.train(3).X.columns) == ["0", "1", "2", "3"] == [column.name for column in data.schema.columns]


def test_labels_weights_and_groups_follow_their_rows() -> None:
    number = np.arange(ROWS)
    data = prepare(number[:, None], LABELS, sample_weight=number, groups=number // 3 * 10)
    for sample in (data.train(30), data.valid()):
        rows = sample.X[:, 0]
        assert sample.y.tolist() == LABELS[rows].tolist()
        assert sample.weights is not None
        assert sample.weights.tolist() == rows.tolist()
        assert sample.groups is not None
        assert sample.groups.tolist() == (rows // 3).tolist()
    train, valid = data.train(data.full_size), data.valid()
    assert not set(train.groups) & set(valid.groups)  # type: ignore[arg-type]  # they have groups
    assert (data.full_size, data.valid_size) == (42, 18)


def test_the_latest_rows_are_for_validation() -> None:
    number = np.arange(ROWS)
    for time in (number, pd.date_range("2020-01-01", periods=ROWS), pl.Series(number)):
        data = prepare(number[:, None], LABELS, time=time)
        assert sorted(data.valid().X[:, 0]) == list(range(42, 60))
    by_order = prepare(number[:, None], LABELS, split=Split(0.5, by_time=True))
    assert by_order.valid().X.min() == 30
    both = prepare(number[:, None], LABELS, time=number, groups=number // 4)
    assert sorted(both.valid().X[:, 0]) == list(range(40, 60))


@pytest.mark.parametrize("form", FORMS)
def test_validation_rows_may_be_given(form: str) -> None:
    rows = FORMS[form]
    other = rows[:9] if form != "pandas" else rows.iloc[:9]
    other = other if form not in {"pandas", "polars"} else other[list(reversed(rows.columns))]
    data = prepare(rows, LABELS, validation=(other, LABELS[:9]))
    assert (data.full_size, data.valid_size) == (ROWS, 9)
    assert data.valid().y.tolist() == LABELS[:9].tolist()
    if form in {"pandas", "polars"}:
        assert list(data.valid().X.columns) == list(rows.columns)


def test_classes_without_training_rows_are_noted() -> None:
    data = prepare(NUMBERS, LABELS, validation=(NUMBERS[:4], ["no", "yes", "never", None]))
    assert data.schema.classes == ("never", "no", "perhaps", "yes")
    assert data.notes == (
        "Rows without a target were left out: 1.",
        "Classes with a single row: 'never'.",
        "Classes without a training row: 'never'.",
    )
    assert data.valid().y.tolist() == ["no", "yes", "never"]


def test_rows_without_a_target_and_rare_classes_are_noted() -> None:
    labels = [None, None, "rare", *["a", "b", "c"] * 19]
    data = prepare(NUMBERS, labels)
    assert data.full_size + data.valid_size == 58
    assert "rare" in data.train(data.full_size).y
    assert data.notes == (
        "Rows without a target were left out: 2.",
        "Classes with a single row: 'rare'.",
        "Classes without a validation row: 'rare'.",
    )


def test_ten_rows_are_enough() -> None:
    data = prepare(NUMBERS[:10], [0, 1] * 5)
    assert (data.full_size, data.valid_size, data.schema.task) == (7, 3, "classification")


class Foreign:
    """An object that no library can convert."""


WITH_INF = np.where(np.arange(240).reshape(60, 4) == 6, np.inf, GAPS)
WEIGHTS = np.ones(ROWS)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((WITH_INF, LABELS), {}, r"Features must be finite, got infinite values in x2 \(1\)"),
        ((WITH_INF.astype(np.float32), LABELS), {}, r"infinite values in x2 \(1\)"),
        ((pd.DataFrame(WITH_INF, columns=list("abcd")), LABELS), {}, r"infinite values in 'c' \(1\)"),
        ((pl.DataFrame(WITH_INF, schema=list("abcd")), LABELS), {}, r"infinite values in 'c' \(1\)"),
        ((sparse.csr_matrix(np.where(np.isinf(WITH_INF), -np.inf, 0)), LABELS), {}, r"infinite values in x2 \(1\)"),
        ((NUMBERS[:, 0], LABELS), {}, "`X` must have rows and columns, got an array of 1 dimensions. Reshape it"),
        ((NUMBERS[:, :0], LABELS), {}, "`X` must have rows and columns, got 60 rows and 0 columns"),
        ((NUMBERS[:0], LABELS[:0]), {}, "`X` must have rows and columns, got 0 rows"),
        ((pd.DataFrame(), []), {}, "`X` must have rows and columns, got 0 rows and 0 columns"),
        ((Foreign(), LABELS), {}, "`X` must have rows and columns, got an array of 0 dimensions"),
        (([[1], [2, 3]], LABELS), {}, "`X` must be a table of rows and columns, got list"),
        ((NUMBERS + 1j, LABELS), {}, "`X` must hold numbers, text or dates, got an array of complex128"),
        ((sparse.csr_matrix(NUMBERS + 1j), LABELS), {}, "`X` must hold numbers, got a sparse matrix of complex128"),
        ((POLARS.lazy(), LABELS), {}, "`X` must be a frame, got LazyFrame. Collect it first"),
        ((FRAME.rename(columns={"gaps": "number"}), LABELS), {}, "must not name two columns alike, got 'number'"),
        (
            (FRAME.assign(bad=[1, "a", None] * 20), LABELS),
            {},
            "Column 'bad' of `X` must hold values of one type.*int and str",
        ),
        ((FRAME.assign(bad=[[1]] * 60), LABELS), {}, "Column 'bad' of `X` must hold values of one type.*got list"),
        ((NUMBERS, LABELS[:9]), {}, "`y` must have one value for each row of `X`, got 9 for 60"),
        ((NUMBERS, np.ones((60, 2))), {}, "`y` must be one column, got 2 dimensions"),
        ((NUMBERS, ["a"] * 60), {}, "`y` must have at least two classes, got only 'a'"),
        ((NUMBERS, LABELS), {"seed": -1}, "`seed` must not be negative, got -1"),
        ((NUMBERS, LABELS), {"seed": 1.5}, "`seed` must be a whole number, got 1.5"),
        ((NUMBERS, LABELS), {"sample_weight": WEIGHTS[:3]}, "`sample_weight` must have one value for each row"),
        ((NUMBERS, LABELS), {"sample_weight": -WEIGHTS}, "`sample_weight` must be finite and not negative"),
        ((NUMBERS, LABELS), {"sample_weight": WEIGHTS * 0}, "`sample_weight` must be finite and not negative"),
        ((NUMBERS, LABELS), {"sample_weight": LABELS}, "`sample_weight` must be numbers, got: "),
        ((NUMBERS, LABELS), {"groups": [1]}, "`groups` must have one value for each row of `X`, got 1"),
        ((NUMBERS, LABELS), {"groups": WEIGHTS}, "Rows must have at least two groups to be divided by, got one"),
        ((NUMBERS, LABELS), {"groups": LABELS}, "must have classes of the training rows, which are 'no', 'yes', got"),
        ((NUMBERS, LABELS), {"groups": [*range(30), *range(30)]}, None),
        ((NUMBERS, LABELS), {"validation": (NUMBERS[:2], ["no.", "yes."])}, r"got 'no\.', 'yes\.'\. Divide the rows"),
        ((NUMBERS, LABELS), {"time": LABELS}, "`time` must be numbers or ISO dates such as 2016-02-12, got"),
        ((NUMBERS, LABELS), {"validation": NUMBERS}, "`validation` must be a pair of X and y, got ndarray"),
        ((NUMBERS, LABELS), {"validation": (FRAME, LABELS)}, "must be of the same kind as `X`, got a frame where"),
        ((FRAME, LABELS), {"validation": (POLARS, LABELS)}, "`validation` must have the columns of `X`"),
        ((NUMBERS, LABELS), {"validation": (NUMBERS[:, :2], LABELS)}, "must have 4 columns, as `X` has, got 2"),
        ((NUMBERS, LABELS), {"validation": (NUMBERS, LABELS[:2])}, "`validation y` must have one value for each row"),
        ((FRAME, LABELS), {"validation": (FRAME[["flag"]], LABELS)}, "got none named 'number', 'gaps'"),
        (
            (NUMBERS[:9], [1, 1, 1, 1, 1, 1, 1, 2, 2]),
            {"time": range(9)},
            "training rows must have at least two classes",
        ),
        ((NUMBERS[:1], [0.5]), {}, "rows for training and for validation, got 1 and 0"),
        ((NUMBERS[:1], [0.5]), {"time": [1]}, "rows for training and for validation, got 0 and 1"),
        (
            (NUMBERS, LABELS),
            {"validation": (NUMBERS[:1], [None])},
            "rows for training and for validation, got 60 and 0",
        ),
    ],
)
def test_nonsense_is_refused(arguments: tuple[Any, Any], options: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert prepare(*arguments, **options).full_size
        return
    with pytest.raises(InputError, match=message):
        prepare(*arguments, **options)
