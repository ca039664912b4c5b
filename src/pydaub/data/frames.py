"""Frames of any library that narwhals knows: pandas, polars, pyarrow tables, DuckDB relations.

What is not pandas travels as Arrow, which polars, pyarrow and DuckDB share without copies.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa

from pydaub.data.formats.arrow import plain
from pydaub.data.names import checked_names
from pydaub.data.rows import array_of
from pydaub.errors import InputError


def is_frame(X: Any) -> bool:  # noqa: ANN401  # rows of any library
    """Whether rows have named columns."""
    return hasattr(type(X), "columns")  # a lazy frame of polars warns if it is asked itself


def native(X: Any, name: str) -> Any:  # noqa: ANN401  # a frame of any library
    """Return a frame of pandas or polars as it is, and any other as an Arrow table; what is no frame stays."""
    if isinstance(X, pd.DataFrame | pa.Table) or not is_frame(X):
        return X
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_polars():
            raise InputError(f"`{name}` must be a frame, got {type(X).__name__}. Collect it first.")
        return frame.collect(backend="pyarrow").to_native()
    if not isinstance(frame, nw.DataFrame):
        return X
    return (
        frame.to_native() if frame.implementation.is_pandas() or frame.implementation.is_polars() else frame.to_arrow()
    )


def plain_table(X: Any, name: str) -> pa.Table:  # noqa: ANN401  # a frame of any library
    """Return a frame as an Arrow table of a few types, the same whatever library it comes from.

    These are numbers, bools, dates in microseconds, text, and categories of these.
    """
    held = native(X, name)
    names = checked_names(held.column_names if isinstance(held, pa.Table) else held.columns, f"`{name}`")
    if isinstance(held, pd.DataFrame):
        columns = [array_of(held.iloc[:, place], each, name) for place, each in enumerate(names)]
        held = pa.table(columns, names)
    elif not isinstance(held, pa.Table):
        held = held.to_arrow()
    where = f"`{name}`"
    return pa.table([_plain(column, each, where) for each, column in zip(names, held.columns, strict=True)], names)


def plain_column(values: Any, name: str) -> Any:  # noqa: ANN401  # a column of any library
    """Return a column of Arrow, or a frame of one column, as a series of pandas; anything else stays."""
    if is_frame(values) and not isinstance(values, pd.DataFrame):
        held = native(values, name)
        if is_frame(held):
            if len(held.columns) != 1:
                raise InputError(f"`{name}` must be one column, got a frame of {len(held.columns)}.")
            values = held.column(0) if isinstance(held, pa.Table) else held.to_series()
    return values.to_pandas() if isinstance(values, pa.ChunkedArray | pa.Array) else values


def _plain(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return plain(column, name, where)
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices, plain(pa.chunked_array([chunk.dictionary]), name, where).combine_chunks()
        )
        for chunk in column.unify_dictionaries().chunks
    ]
    return pa.chunked_array(chunks) if chunks else plain(column.cast(column.type.value_type), name, where)
