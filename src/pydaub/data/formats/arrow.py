"""Parquet, Feather and Arrow files, and the conversion of Arrow tables to pandas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pydaub.data.formats.base import FileFormat, Source, read_as
from pydaub.data.formats.stores import Stored, native
from pydaub.data.names import checked_names
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydaub.data.formats.stores import File

PLAIN: Final = frozenset((pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.bool_(), pa.string()))  # as they are
FEW_ROWS: Final = 1000  # pandas is slow with many columns, unless those of one type are together, which needs a copy
INDEX: Final = re.compile(r"__index_level_\d+__")  # the name pandas gives to an unnamed index


def read_parquet(path: File, _encoding: str | None, _text: Collection[str]) -> Source:
    """Return the rows of a Parquet file."""
    return Source(path.name, frame(parquet_table(path, None, {}), str(path)))


def read_arrow(path: File, _encoding: str | None, _text: Collection[str]) -> Source:
    """Return the rows of a Feather (version 2) or Arrow file; an Arrow stream saved as a file is read too."""
    return Source(path.name, frame(arrow_table(path, None, {}), str(path)))


def parquet_table(path: File, _encoding: str | None, _types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a Parquet file as a table."""
    with read_as(path, "Parquet file"):
        table = pq.ParquetFile(native(path)).read()
        table.validate(full=True)
    return table


def arrow_table(path: File, _encoding: str | None, _types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return an Arrow file as a table."""
    with read_as(path, "Arrow or Feather file"), _mapped(path) as file:
        table = opened(file).read_all()
        table.validate(full=True)  # a damaged file may hold text that is no text, or point outside of itself
    return table


def _mapped(path: File) -> pa.NativeFile:
    return native(path) if isinstance(path, Stored) else pa.memory_map(str(path))


def opened(file: pa.NativeFile) -> Any:  # noqa: ANN401  # pyarrow has two reader classes and no types
    """Return a reader of an Arrow file, or of an Arrow stream saved as a file."""
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid as not_a_file:
        file.seek(0)
        try:
            return pa.ipc.open_stream(file)
        except pa.ArrowInvalid:
            raise not_a_file from None


def frame(table: pa.Table, where: str) -> pd.DataFrame:
    """Return a table as a frame of numbers (NaN where missing), bools, dates in microseconds, text and categories."""
    names = named_columns(table.schema, where)
    if not table.num_rows or not names:
        raise InputError(f"{where} must hold rows, got {len(names)} columns and {table.num_rows} rows.")
    table = pa.table({name: plain(table[raw], name, where) for name, raw in names.items()})
    nullable = {pa.bool_(): pd.BooleanDtype()}
    found = table.to_pandas(
        ignore_metadata=True,
        split_blocks=table.num_rows > FEW_ROWS,
        self_destruct=True,  # frees each column of the table once it is converted, unless the caller holds it
        types_mapper=nullable.get,
    )
    pa.default_memory_pool().release_unused()  # which Arrow would keep
    return found


def named_columns(schema: pa.Schema, where: str) -> dict[str, str]:
    """Return the names under which learners see the columns, each with its name in the file.

    An unnamed index of pandas is not a column.
    """
    raw = [name for name in schema.names if not INDEX.fullmatch(name)]
    return dict(zip(checked_names(raw, where), raw, strict=True))


def plain(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a column in one of the few types that the rest of this package handles."""
    kind, types = column.type, pa.types
    if kind in PLAIN:
        return column
    if types.is_dictionary(kind):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, _text(chunk.dictionary, name, where))
            for chunk in column.unify_dictionaries().chunks
        ]
        return pa.chunked_array(chunks)
    casts = (
        (pa.float64(), (types.is_null, types.is_decimal)),  # which pandas would convert to objects
        (pa.timestamp("us"), (types.is_date, types.is_timestamp)),
        (pa.string(), (types.is_time,)),
        (pa.int64(), (types.is_duration,)),
        (pa.large_string(), (types.is_string_view,)),
        (kind, (types.is_boolean, types.is_integer, types.is_floating, types.is_string, types.is_large_string)),
    )
    for wanted, checks in casts:
        if any(check(kind) for check in checks):
            return column.cast(wanted, safe=False)  # truncates nanoseconds and converts time zones to UTC
    raise InputError(f"Column {name!r} of {where} must hold numbers, text or dates, got {kind}. Leave it out there.")


def _text(categories: pa.Array, name: str, where: str) -> pa.Array:
    """Return categories of any type as text, so that they match those of new rows of another type."""
    return plain(pa.chunked_array([categories]), name, where).cast(pa.large_string()).combine_chunks()


PARQUET: Final = FileFormat("Parquet", (".parquet", ".pq"), read_parquet, parquet_table)
ARROW: Final = FileFormat("Arrow", (".feather", ".arrow", ".ipc"), read_arrow, arrow_table)
