from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data.forms import FRAME, POLARS
from pydaub import InputError
from pydaub.data import read

TABLE = pa.table(
    {
        "int": pa.array([1, None, 3]),
        "small": pa.array([1, 2, 3], pa.int8()),
        "bool": pa.array([True, None, False]),
        "null": pa.nulls(3),
        "decimal": pa.array([Decimal("1.5"), None, Decimal(2)]),
        "text": pa.array(["a", None, "ü"]),
        "view": pa.array(["a", None, "ü"], pa.string_view()),
        "category": pa.array(["x", None, "y"]).dictionary_encode(),
        "codes": pa.array([7, None, 8]).dictionary_encode(),
        "date": pa.array([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)]),
        "zoned": pa.array([0, None, 1_500_000_001], pa.timestamp("ns", "UTC")),
        "time": pa.array([dt.time(12), None, dt.time(13)]),
        "span": pa.array([dt.timedelta(1), None, dt.timedelta(2)]),
    }
)


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix in {".parquet", ".pq"}:
        pq.write_table(table, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, str(path))
    else:
        kind = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with kind(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("name", ["x.parquet", "x.pq", "x.feather", "x.arrow", "x.ipc"])
def test_types_are_converted_to_a_few(name: str, tmp_path: Path) -> None:
    rows = read(write(TABLE, tmp_path / name)).rows
    kinds = {column: str(kind) for column, kind in rows.dtypes.items()}
    assert list(kinds) == TABLE.column_names
    assert {kinds[column] for column in ("int", "null", "decimal", "span")} == {"float64"}
    assert {kinds[column] for column in ("date", "zoned")} == {"datetime64[us]"}
    assert kinds["category"] == "category"
    assert kinds["small"] == "int8"
    assert kinds["bool"] == "boolean"
    if name.endswith(("feather", "arrow", "ipc")):  # Parquet stores only categories of text
        assert rows["codes"].cat.categories.tolist() == ["7", "8"]
    for column in ("text", "view", "time"):
        assert pd.api.types.is_string_dtype(rows[column].dtype)
        assert rows[column].isna().tolist() == [False, True, False]
    assert rows["zoned"].iloc[2] == pd.Timestamp("1970-01-01 00:00:01.500000")


def test_an_unnamed_index_is_not_a_column(tmp_path: Path) -> None:
    FRAME[["number"]].iloc[::2].to_parquet(tmp_path / "x.parquet")
    assert list(read(tmp_path / "x.parquet").rows) == ["number"]


def test_files_written_by_polars(tmp_path: Path) -> None:
    POLARS.write_parquet(tmp_path / "x.parquet")
    POLARS.write_ipc(tmp_path / "x.feather")
    for name in ("x.parquet", "x.feather"):
        rows = read(tmp_path / name).rows
        assert rows["text"].isna().sum() == POLARS["text"].null_count()
        assert rows["number"].tolist() == POLARS["number"].to_list()


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.arrow"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PAR1nonsensePAR1", b"ARROW1\0\0nonsenseARROW1"])
def test_other_files_are_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"must be a whole (Parquet|Arrow or Feather) file, got .+|must hold"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.arrow"])
def test_a_damaged_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    whole, random = write(TABLE, tmp_path / name).read_bytes(), Random(0)
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(random.randint(1, 8)):
            damaged[random.randrange(len(whole))] = random.randrange(256)
        (tmp_path / name).write_bytes(damaged)
        with suppress(InputError):
            assert len(read(tmp_path / name).rows)
    (tmp_path / "text.arrow").write_bytes(arrow_text(b"\xff\xfe"))
    with pytest.raises(InputError, match=r"must be a whole Arrow or Feather file, got .*Invalid UTF8"):
        read(tmp_path / "text.arrow")


def arrow_text(content: bytes) -> bytes:
    """Return an Arrow file with this content in a column of text, whatever it is."""
    offsets = np.array([0, len(content)], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema({"a": pa.string()})) as writer:
        writer.write_table(pa.table({"a": column}))
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", ["x.parquet", "x.feather"])
def test_unusable_tables_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(InputError, match="must hold rows, got 13 columns and 0 rows"):
        read(write(TABLE.slice(0, 0), path))
    with pytest.raises(InputError, match=r"Column 'l' of .* must hold numbers, text or dates, got list<.*Leave it out"):
        read(write(pa.table({"l": [[1], [2]]}), path))
    with pytest.raises(InputError, match="must hold numbers, text or dates, got binary"):
        read(write(pa.table({"l": [b"x"]}), path))
    with pytest.raises(InputError, match="must not name two columns alike, got 'a' more than once"):
        read(write(pa.table([[1], [2]], names=["a", " a"]), path))
