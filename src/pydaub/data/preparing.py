"""Arrays and data frames, prepared for learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from pydaub.data.assembly import About, Table, assembled
from pydaub.data.coercion import laid_out, refuse_infinite, refuse_other_truths
from pydaub.data.columns import (
    form_of,
    given_columns,
    group_codes,
    infer_columns,
    is_polars,
    left_out,
    read_as_text,
    series,
    times,
)
from pydaub.data.frames import is_frame, native, plain_column, plain_table
from pydaub.data.names import checked_names, listed
from pydaub.data.rows import FrameRows, MatrixRows, Rows, SparseRows, frame_of
from pydaub.data.schema import Column
from pydaub.data.split import DEFAULT_SPLIT, check_split
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.data.prepared import Prepared
    from pydaub.data.schema import Array, Kind, Task
    from pydaub.data.split import Split


def prepare(  # noqa: PLR0913  # the options of the estimator
    X: Any,  # noqa: ANN401  # scikit-learn's name for features of any library
    y: Any,  # noqa: ANN401  # labels of any library
    *,
    validation: tuple[Any, Any] | None = None,
    split: Split = DEFAULT_SPLIT,
    sample_weight: Any = None,  # noqa: ANN401  # numbers of any library
    groups: Any = None,  # noqa: ANN401  # labels of any library
    time: Any = None,  # noqa: ANN401  # dates or numbers of any library
    task: Task | None = None,
    seed: int = 0,
    columns: bool = True,
    inferred: bool = False,
    kinds: Mapping[str, Kind] | None = None,
    target: str | None = None,
) -> Prepared:
    """Return arrays, a sparse matrix or a frame in their final order, divided into training and validation rows.

    Parameters
    ----------
    X
        The features: an array, a sparse matrix, a frame of pandas or polars, a table of pyarrow, a relation of DuckDB,
        or a list of documents. All columns are kept. An array of numbers keeps its type; an array of objects becomes
        an array of floats if all of them are numbers, and otherwise a frame. The column names of a frame become text.
    y
        The target; rows in which it is missing are left out.
    validation
        Validation rows as a pair of X and y. If None, they are split off as `split` says.
    split
        How validation rows are chosen.
    sample_weight
        The weight of each row.
    groups
        The group of each row; rows of one group are never divided between training and validation.
    time
        The time of each row; the latest rows become validation rows. With groups, those of the groups that begin last.
    task
        Classification or regression. If None, it is inferred from the target.
    seed
        The seed of the order and the split.
    columns
        Whether to describe the columns in the schema; False is faster.
    inferred
        Whether the columns of a frame are taken as `load` takes those of a file: their kinds are inferred from their
        values, they are converted to these, and constants and identifiers are left out.
    kinds
        With `inferred`, kinds that override the inferred ones, by column name.
    target
        The name of the target, for the schema.

    Examples
    --------
    >>> prepare([[1.0], [2.0], [3.0], [4.0], [5.0]] * 4, ["a", "b", "a", "b", "a"] * 4).full_size
    14
    """
    check_split(split)
    rows = _rows(X, "X")
    table = Table(
        rows,
        _column(y, rows, "y"),
        None if sample_weight is None else _weights(sample_weight, rows),
        None if groups is None else group_codes(_column(groups, rows, "groups"), "groups"),
        None if time is None else times(_column(time, rows, "time"), "time"),
    )
    other = None if validation is None else _validation(validation, rows)
    if inferred and rows.form == "frame":
        about = described(frame_of(rows.held), kinds, target)
        table = table._replace(rows=_as_described(rows, about))
        other = other and other._replace(rows=_as_described(other.rows, about))
    elif kinds:
        raise InputError(f"`kind` must name columns of a frame, got {type(X).__name__} without names.")
    else:
        about = About(_columns(rows) if columns else (), target)
    if other is not None and not inferred:
        refuse_other_truths(about.columns, frame_of(other.rows.held) if other.rows.form == "frame" else other.rows.held)
    return assembled(table, other, about, split=split, task=task, seed=seed)


def described(frame: pd.DataFrame, kinds: Mapping[str, Kind] | None, target: str | None = None) -> About:
    """Describe features by their values, with notes on those that are left out or only look like numbers."""
    columns = infer_columns(frame, kinds)
    return About(columns, target, (*left_out(columns), *read_as_text(frame, columns, kinds)))


def _as_described(rows: Rows, about: About) -> Rows:
    """Return the columns of a frame that learners see, each converted to its kind."""
    used = [column for column in about.columns if column.used]
    return laid_out(frame_of(rows.held), used, form_of(about.columns))


def _rows(X: Any, name: str) -> Rows:  # noqa: ANN401  # features of any library
    rows: Rows
    if sparse.issparse(X):
        if X.dtype.kind not in "biuf":
            raise InputError(f"`{name}` must hold numbers, got a sparse matrix of {X.dtype}.")
        rows = SparseRows.of(X)
    elif is_frame(X):
        rows = _frame_rows(native(X, name), name)
    elif is_texts(X):
        rows = FrameRows.of_texts(np.asarray(X, dtype=object), name)
    else:
        array = _array(X, name)
        numbers = array.dtype.kind in "biuf"
        rows = MatrixRows(array) if numbers else _frame_rows(pd.DataFrame(array).infer_objects().add_prefix("x"), name)
    if not len(rows) or not rows.features:
        count = len(X) if hasattr(X, "__len__") else len(rows)
        raise InputError(f"`{name}` must have rows and columns, got {count} rows and {rows.features} columns.")
    refuse_infinite(rows)
    return rows


def is_texts(X: Any) -> bool:  # noqa: ANN401  # features of any library
    """Whether these are documents, one text for each row, as vectorizers take them."""
    if isinstance(X, pd.DataFrame) or not isinstance(X, list | tuple | np.ndarray | pd.Series):
        return False
    return getattr(X, "ndim", 1) == 1 and len(X) > 0 and all(isinstance(text, str) for text in X)


def _frame_rows(frame: Any, name: str) -> FrameRows:  # noqa: ANN401  # a frame of either library
    if isinstance(frame, pa.Table):
        return FrameRows.of_table(plain_table(frame, name))
    if not isinstance(frame, pd.DataFrame) and not is_polars(frame):
        raise InputError(f"`{name}` must be a frame of a known library, got {type(frame).__name__}.")
    names = checked_names(frame.columns, f"`{name}`")
    if isinstance(frame, pd.DataFrame):
        frame = frame.set_axis(names, axis=1)
    return FrameRows.of(frame, name)


def _array(X: Any, name: str) -> Array:  # noqa: ANN401  # features of any library
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(float), np.nan)
    try:
        array = np.asarray(X)
        if array.dtype.kind == "O" and array.ndim == 2:  # noqa: PLR2004  # rows and columns
            array = _floats(array)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be a table of rows and columns, got {type(X).__name__}: {error}.") from None
    if array.ndim != 2:  # noqa: PLR2004  # rows and columns
        raise InputError(f"`{name}` must have rows and columns, got an array of {array.ndim} dimensions. Reshape it.")
    if array.dtype.kind not in "biufOUMT":
        raise InputError(f"`{name}` must hold numbers, text or dates, got an array of {array.dtype}.")
    return array


def _floats(array: Array) -> Array:
    """Return an array of objects as floats if all of them are numbers, otherwise unchanged."""
    if any(isinstance(value, str | bytes) for value in array.flat):
        return array
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        return array


def _column(given: Any, rows: Rows, name: str) -> pd.Series[Any]:  # noqa: ANN401  # a column of any library
    values = series(plain_column(given, name), name)
    if len(values) != len(rows):
        raise InputError(f"`{name}` must have one value for each row of `X`, got {len(values)} for {len(rows)}.")
    return values


def _weights(given: Any, rows: Rows) -> Array:  # noqa: ANN401  # numbers of any library
    values = _column(given, rows, "sample_weight")
    try:
        weights = values.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"`sample_weight` must be numbers, got: {error}.") from None
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("`sample_weight` must be finite and not negative, with some above 0, got others.")
    return weights


def _validation(validation: Any, train: Rows) -> Table:  # noqa: ANN401  # nonsense is of any type
    if not isinstance(validation, tuple | list) or len(validation) != 2:  # noqa: PLR2004  # X and y
        raise InputError(f"`validation` must be a pair of X and y, got {type(validation).__name__}.")
    rows = _rows(validation[0], "validation X")
    if rows.form != train.form:
        raise InputError(
            f"`validation` must be of the same kind as `X`, got a {rows.form} where `X` is a {train.form}."
        )
    if rows.form == "frame":
        names = train.held.column_names
        absent = [name for name in names if name not in rows.held.column_names]
        if absent:
            raise InputError(f"`validation` must have the columns of `X`, got none named {listed(absent)}.")
        rows = FrameRows(rows.held.select(names))
    if rows.features != train.features:
        raise InputError(f"`validation` must have {train.features} columns, as `X` has, got {rows.features}.")
    return Table(rows, _column(validation[1], rows, "validation y"))


def _columns(rows: Rows) -> tuple[Column, ...]:
    """Describe the columns; all of them are used."""
    if isinstance(rows, FrameRows):
        return given_columns(frame_of(rows.held))
    if isinstance(rows, MatrixRows):
        kind: Kind = "boolean" if rows.held.dtype.kind == "b" else "numeric"
        return tuple(Column(f"x{place}", kind, missing) for place, missing in enumerate(rows.missing().tolist()))
    return ()
