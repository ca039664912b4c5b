"""New data in the form that learners were trained on: the same columns, of the same kinds."""

from __future__ import annotations

from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from pydaub.data.columns import FALSE, TRUE, is_number, number_blocks, parsed_dates
from pydaub.data.formats import read
from pydaub.data.frames import is_frame, plain_table
from pydaub.data.names import brief, checked_names, listed, some
from pydaub.data.rows import FrameRows, OwnMatrixRows, Rows, SparseRows, frame_of
from pydaub.data.schema import TEXTS, Column
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydaub.data.schema import Array, Form, Schema


def new_rows(schema: Schema, source: Any, *, encoding: str | None = None) -> Any:  # noqa: ANN401  # rows of any form
    """Convert new data to the form that the learners of a schema were trained on.

    Parameters
    ----------
    schema
        The schema of the training data.
    source
        A file, a folder or a glob, a frame of pandas or polars, a table of pyarrow, a relation of DuckDB, an array or a
        sparse matrix. Columns are matched by name if they have
        names; columns that were not used in training are ignored.
    encoding
        The encoding of a text file that is not UTF-8.

    Returns
    -------
    An array, a sparse matrix or a pandas data frame, as `schema.form` says.

    Raises
    ------
    InputError
        If a column is missing, or holds values of another kind.
    """
    if isinstance(source, str | Path):
        source = read(source, encoding=encoding, text=text_names(schema.columns)).rows
    if sparse.issparse(source) or schema.form == "sparse":
        rows: Rows = _resized(schema, source)
    elif is_frame(source):
        frame = source if isinstance(source, pd.DataFrame) else frame_of(plain_table(source, "source"))
        frame = frame.set_axis(checked_names(frame.columns, "The data"), axis=1)
        rows = laid_out(frame, _known(schema), schema.form)
    else:
        rows = laid_out(_unnamed(schema, source), _known(schema), schema.form)
    refuse_infinite(rows, _known(schema))
    made = rows.first(len(rows))
    return made.astype(np.float64) if schema.form == "matrix" else made


def laid_out(frame: pd.DataFrame, columns: Sequence[Column], form: Form, where: str = "The data") -> Rows:
    """Return these columns of a frame, each converted to its kind; raise if one is missing.

    A matrix has 32-bit floats if they represent every column exactly, otherwise 64-bit floats.
    """
    known = {*frame.columns}
    absent = [column.name for column in columns if column.name not in known]
    if absent:
        raise InputError(f"{where} must have the columns {listed(absent)}, got {listed(frame.columns)}.")
    if form == "frame":
        values = {column.name: _as_kind(frame[column.name].reset_index(drop=True), column) for column in columns}
        return FrameRows.of(pd.DataFrame(values), "frame")
    frame = frame.iloc[:, frame.columns.get_indexer([column.name for column in columns])]
    blocks, kinds = [*number_blocks(frame)], [*frame.dtypes]
    numbers = [place for places in blocks for place in places]
    converted = {
        place: _as_kind(frame.iloc[:, place], columns[place]) for place in sorted({*range(len(columns))} - {*numbers})
    }
    types = {_float_type(kinds[place], columns[place]) for place in numbers}
    types |= {values.dtype for values in converted.values()}
    matrix = np.empty((len(frame), len(columns)), dtype=max(types))
    for place, values in converted.items():
        matrix[:, place] = values
    for places in blocks:
        numbers_of = frame.iloc[:, places].to_numpy()
        for place, values in zip(places, numbers_of.T, strict=True):
            refuse_others(values, columns[place])
        matrix[:, places] = numbers_of
    return OwnMatrixRows(matrix)


def _float_type(kind: Any, column: Column) -> np.dtype[Any]:  # noqa: ANN401  # a type of pandas or of numpy
    """Return the floats for a column of numbers: of 32 bits if they represent it exactly."""
    fits = column.kind == "boolean" or np.can_cast(getattr(kind, "numpy_dtype", kind), np.float32)
    return np.dtype(np.float32 if fits else np.float64)


def refuse_infinite(rows: Rows, columns: Sequence[Column] = ()) -> None:
    """Raise if a column holds infinite values. Columns without names are called after their position."""
    if counts := rows.infinite():
        names = [column.name for column in columns] or (rows.held.column_names if rows.form == "frame" else [])
        called = {place: brief(names[place]) if names else f"x{place}" for place in counts}
        found = some(f"{called[place]} ({count})" for place, count in counts.items())
        raise InputError(f"Features must be finite, got infinite values in {found}. Replace or remove them.")


def refuse_other_truths(columns: Sequence[Column], rows: Any) -> None:  # noqa: ANN401  # a frame or an array
    """Raise if a column that held bools in training, and is not converted, holds anything but these, or 1 and 0."""
    for place, column in enumerate(columns):
        if column.kind != "boolean":
            continue
        values = pd.Series(rows[:, place] if isinstance(rows, np.ndarray) else rows[column.name])
        if is_number(values):
            refuse_others(values.to_numpy(dtype=np.float64, na_value=np.nan), column)
        elif not pd.api.types.is_bool_dtype(values.dtype):
            present = values.dropna().astype(object)
            wrong = [each for each in present if not isinstance(each, Number | np.bool_) or each not in {0, 1}]
            if wrong:
                raise InputError(
                    f"Column {column.name!r} must hold bools, or 1 and 0, got {brief(wrong[0])}. Correct it."
                )


def text_names(columns: Iterable[Column]) -> list[str]:
    """Return the columns to read as text even if all of their values look like numbers."""
    return [column.name for column in columns if column.kind in TEXTS]


def _as_kind(values: pd.Series[Any], column: Column) -> pd.Series[Any]:
    """Convert a column to its kind: floats, dates in microseconds, or text; raise if a value does not fit."""
    if column.as_given:
        return values
    if column.kind in TEXTS:
        return _as_text(values)
    if column.kind == "date":
        return parsed_dates(values, f"Column {column.name!r} must hold")
    if column.kind == "boolean" and not is_number(values):
        return _as_booleans(values, column)
    return _as_numbers(values, column)


def refuse_others(numbers: Array, column: Column) -> None:
    """Raise if a column that was yes and no in training holds other numbers than 1 and 0, which could mean anything."""
    if column.kind != "boolean":
        return
    others = (numbers != 0) & (numbers != 1) & ~np.isnan(numbers)
    if others.any():
        raise _no_boolean(column, numbers[others][0].item())


def _no_boolean(column: Column, value: object) -> InputError:
    return InputError(
        f"Column {column.name!r} must hold yes and no, true and false, or 1 and 0, got {brief(value)}. Correct it."
    )


def _as_numbers(values: pd.Series[Any], column: Column) -> pd.Series[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object).infer_objects()
    if is_number(values) and column.kind == "boolean" and values.dtype.kind != "c":
        refuse_others(values.to_numpy(dtype=np.float64, na_value=np.nan), column)
    truths = column.kind == "boolean"  # to other numbers, a bool means nothing
    if (not is_number(values) or values.dtype.kind == "c") and not (
        truths and pd.api.types.is_bool_dtype(values.dtype)
    ):
        plain = values.astype(object)
        numbers = pd.to_numeric(plain, errors="coerce")
        odd = numbers.isna() | (plain.map(_is_bool) & (not truths)) if numbers.dtype.kind != "c" else True
        wrong = plain[odd & plain.notna()]
        if len(wrong):
            raise InputError(f"Column {column.name!r} must hold numbers, got {brief(wrong.iloc[0])}. Correct it.")
        values = numbers
    dtype = _float_type(values.dtype, column)
    return pd.Series(values.to_numpy(dtype=dtype, na_value=np.nan) if values.hasnans else values.to_numpy(dtype=dtype))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _as_booleans(values: pd.Series[Any], column: Column) -> pd.Series[Any]:
    if pd.api.types.is_bool_dtype(values.dtype):
        return _as_numbers(values, column)
    plain = values.astype(object)
    numbers = plain.map(truth)
    wrong = plain[numbers.isna() & plain.notna()]
    if len(wrong):
        raise _no_boolean(column, wrong.iloc[0])
    return numbers.astype(np.float32)


def truth(value: object) -> float:
    """Return 1 for yes, 0 for no, and NaN for anything else.

    >>> [truth(value) for value in ("Yes", "f", True, 0.0, " 1.0", 2, "maybe")]
    [1.0, 0.0, 1.0, 0.0, 1.0, nan, nan]
    """
    text = str(value).strip().lower()
    if text in TRUE or text in FALSE:
        return float(text in TRUE)
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return number if number in {0.0, 1.0} else np.nan


def _as_text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return text, or categories that are text; whole numbers get no decimal point."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.rename_categories([_text(category) for category in values.cat.categories])
    if isinstance(values.dtype, pd.StringDtype):
        return values
    texts = [None if missing else _text(value) for value, missing in zip(values, values.isna(), strict=True)]
    return pd.Series(texts, dtype="str")


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if _is_bool(value) else str(value)


def _unnamed(schema: Schema, source: Any) -> pd.DataFrame:  # noqa: ANN401  # anything that numpy accepts
    """Return an array as a frame with the column names of the schema."""
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise InputError(f"The data must be a table, got: {error}.") from None
    if array.ndim != 2 or array.shape[1] != schema.features:  # noqa: PLR2004  # rows and columns
        raise InputError(f"The data must have {schema.features} columns, got an array of shape {array.shape}.")
    if array.dtype == bool and not schema.columns:  # nothing is known of the columns but that they are numbers
        array = array.astype(np.float32)
    return pd.DataFrame(array, columns=[column.name for column in _known(schema)]).infer_objects()


def _known(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of X; columns of an array that were not described are numeric."""
    if schema.form == "frame" and not schema.columns:
        raise InputError("`schema` must describe its columns, got none. Prepare the data with columns=True.")
    if schema.form == "matrix" and not schema.columns:
        return tuple(Column(f"x{place}", "numeric") for place in range(schema.features))
    return schema.used


def _resized(schema: Schema, source: Any) -> SparseRows:  # noqa: ANN401  # nonsense may be of any type
    if schema.form != "sparse":
        raise InputError(f"The data must have named columns, as in training, got a sparse matrix of {source.shape}.")
    if not sparse.issparse(source):
        raise InputError(f"The data must be a sparse matrix or an svmlight file, got {type(source).__name__}.")
    return SparseRows.of(source, schema.features)
