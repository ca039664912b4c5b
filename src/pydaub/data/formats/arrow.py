"""Parquet, Feather and Arrow files; and Arrow tables of any origin as plain pandas frames."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pydaub.data.formats.source import Source, checked_names
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

INDEX: Final = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name


def read_parquet(path: Path) -> Source:
    """Return the rows of a Parquet file."""
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} must be a Parquet file, got something else: {_first_line(error)}") from None
    return Source(path.name, frame(table, str(path)))


def read_feather(path: Path) -> Source:
    """Return the rows of a Feather (version 2) or Arrow file, or of an Arrow stream kept in a file."""
    try:
        with pa.memory_map(str(path)) as file:
            table = _opened(file).read_all()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} must be an Arrow or Feather file, got something else: {_first_line(error)}") from None
    return Source(path.name, frame(table, str(path)))


def frame(table: pa.Table, where: str) -> pd.DataFrame:
    """Return a table as a frame of numbers (NaN where missing), bools, dates in microseconds, text and categories."""
    table = table.drop_columns([name for name in table.column_names if INDEX.fullmatch(name)])
    names = checked_names(table.column_names, where)
    if not table.num_rows or not names:
        raise InputError(f"{where} must hold rows, got {len(names)} columns and {table.num_rows} rows.")
    columns = [plain(column, name, where) for column, name in zip(table.columns, names, strict=True)]
    bools = {pa.bool_(): pd.BooleanDtype()}  # which may be missing
    return pa.table(columns, names=names).to_pandas(ignore_metadata=True, split_blocks=True, types_mapper=bools.get)


def _opened(file: pa.NativeFile) -> Any:  # noqa: ANN401  # one of two reader classes of an untyped library
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def plain(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a column in one of the few types that the rest of this package knows."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, _text(chunk.dictionary, name, where))
            for chunk in column.unify_dictionaries().chunks
        ]
        return pa.chunked_array(chunks)
    casts = (
        # pandas would make objects of these
        (pa.float64(), (types.is_null, types.is_decimal)),
        (pa.timestamp("us"), (types.is_date, types.is_timestamp)),
        (pa.string(), (types.is_time,)),
        (pa.int64(), (types.is_duration,)),
        (pa.large_string(), (types.is_string_view,)),
        (kind, (types.is_boolean, types.is_integer, types.is_floating, types.is_string, types.is_large_string)),
    )
    for wanted, known in casts:
        if any(is_known(kind) for is_known in known):
            return column.cast(wanted, safe=False)  # nanoseconds are cut; a zone becomes UTC
    raise InputError(f"Column {name!r} of {where} must hold numbers, text or dates, got {kind}. Leave it out there.")


def _text(categories: pa.Array, name: str, where: str) -> pa.Array:
    """Return categories of any type as text, so that new rows find them whatever type they come in."""
    return plain(pa.chunked_array([categories]), name, where).cast(pa.large_string()).combine_chunks()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
