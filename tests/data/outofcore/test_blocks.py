"""Blocks have a known size and common types, whatever the files are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from pydaub import InputError
from pydaub.data.outofcore.blocks import Blocks
from pydaub.data.outofcore.external import LEAST_MEMORY, Wanted, prepare_out_of_core

ROWS = 40
NUMBERS = np.arange(ROWS)


def folder(path: Path, *parts: dict[str, Any]) -> Path:
    path.mkdir()
    for place, columns in enumerate(parts):
        pq.write_table(pa.table(columns), path / f"{place}.parquet")
    return path


def part(**columns: Any) -> dict[str, Any]:
    return {"u": NUMBERS / 3, "v": NUMBERS % 7 * 1.0, "y": NUMBERS % 2, **columns}


DATES = pd.date_range("2020-01-01", periods=ROWS)
TEXT = pa.array(["a", "b"] * (ROWS // 2))


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (NUMBERS, NUMBERS / 2, pa.float64()),
        (NUMBERS.astype(np.int8), NUMBERS, pa.int64()),
        (NUMBERS.astype(np.float32), NUMBERS.astype(np.int16), pa.float32()),
        (NUMBERS.astype(np.float32), NUMBERS, pa.float64()),
        (pa.nulls(ROWS), NUMBERS, pa.int64()),
        (TEXT, pa.nulls(ROWS), pa.string()),
        (TEXT.dictionary_encode(), TEXT, pa.large_string()),
        (TEXT, TEXT.cast(pa.large_string()), pa.large_string()),
        (pa.array(DATES).cast(pa.timestamp("ms")), pa.array(DATES, pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array(DATES).cast(pa.date32()), DATES, pa.timestamp("us")),
    ],
)
def test_files_with_different_types_get_a_common_type(
    one: Any, other: Any, common: pa.DataType, tmp_path: Path
) -> None:
    for name, parts in {"there": (one, other), "back": (other, one)}.items():
        blocks = Blocks.of(folder(tmp_path / name, *(part(v=values) for values in parts)), 1000)
        tables = [block for block, _ in blocks.read()]
        assert {table.schema.field("v").type for table in tables} == {common}
        found = pa.concat_tables(tables)["v"].to_pylist()
        expected = [value for values in parts for value in pa.array(values).to_pylist()]
        assert [str(value)[:10] for value in found] == [
            str(float(value) if pa.types.is_floating(common) else value)[:10] for value in expected
        ]


def test_the_order_of_columns_may_differ(tmp_path: Path) -> None:
    path = folder(tmp_path / "data", part(), dict(reversed(part().items())))
    data = prepare_out_of_core(Wanted(str(path), "y"), tmp_path / "out", LEAST_MEMORY)
    assert [column.name for column in data.schema.columns] == ["u", "v"]
    assert data.full_size + data.valid_size == 2 * ROWS
    (tmp_path / "text").mkdir()
    for name, order in (("a.csv", ["u", "v", "y"]), ("b.csv", ["y", "u", "v"])):
        pd.DataFrame(part())[order].to_csv(tmp_path / "text" / name, index=False)
    same = prepare_out_of_core(Wanted(str(tmp_path / "text"), "y"), tmp_path / "other", LEAST_MEMORY)
    assert np.allclose(same.train(same.full_size).X, data.train(data.full_size).X)


def test_a_file_may_have_no_targets(tmp_path: Path) -> None:
    path = folder(tmp_path / "data", part(y=pa.nulls(ROWS)), part())
    data = prepare_out_of_core(Wanted(str(path), "y"), tmp_path / "out", LEAST_MEMORY)
    assert data.full_size + data.valid_size == ROWS
    assert "Rows without a target were left out: 40." in data.notes


def test_incompatible_files_are_refused_by_file_and_column(tmp_path: Path) -> None:
    without = {name: values for name, values in part().items() if name != "v"}
    for number, (first, second, message) in enumerate(
        [
            (part(v=NUMBERS), part(v=TEXT), "Column 'v' of .*1.parquet must have a type compatible with int64"),
            (part(v=DATES), part(), "Column 'v' of .*1.parquet must have a type compatible with timestamp"),
            (part(y=NUMBERS % 2 == 0), part(), "Column 'y' of .*1.parquet must have a type compatible with bool"),
            (part(v=NUMBERS + 2**60), part(), "Column 'v' of .*0.parquet must hold values that fit double"),
            (part(), without, "1.parquet must have the columns of 0.parquet, got none named 'v'"),
            (without, part(), "1.parquet must have the columns of 0.parquet, got others: 'v'"),
            (part(), {"u": NUMBERS, "v": NUMBERS}, "1.parquet must have the columns .* got none named 'y'"),
            (part(v=[[1]] * ROWS), part(), "Column 'v' of .*0.parquet must hold numbers, text or dates, got list"),
        ]
    ):
        path = folder(tmp_path / str(number), first, second)
        with pytest.raises(InputError, match=message):
            prepare_out_of_core(Wanted(str(path), "y"), tmp_path / "out", LEAST_MEMORY)
        assert not (tmp_path / "out.work").exists()
        if "'v'" in message:  # it can be dropped, whatever its type
            data = prepare_out_of_core(Wanted(str(path), "y", drop=("v",)), tmp_path / f"out{number}", LEAST_MEMORY)
            assert [column.name for column in data.schema.columns] == ["u"]


def test_folders_without_tables_are_refused(tmp_path: Path) -> None:
    folder(tmp_path / "year=2020", part())
    with pytest.raises(InputError, match="must hold all columns in its files, got the partition 'year=2020'"):
        Blocks.of(tmp_path, 1000)
    prepare_out_of_core(Wanted(str(tmp_path / "year=2020"), "y"), tmp_path / "out", LEAST_MEMORY)
    with pytest.raises(
        InputError, match=r"must be data to prepare, got data that is prepared already. Run it: pydaub run"
    ):
        Blocks.of(tmp_path / "out", 1000)


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user, who may not read a file")
def test_files_without_read_permission_are_refused(tmp_path: Path) -> None:
    file, closed = tmp_path / "data.csv", tmp_path / "closed"
    file.write_text("u,y\n1,2\n")
    closed.mkdir()
    for path, mode in ((file, 0o000), (closed, 0o000), (tmp_path, 0o755)):
        path.chmod(mode)
    program = (
        "import os, sys; from pydaub.data.outofcore.blocks import Blocks; from pydaub import InputError\n"
        "os.chdir(sys.argv[1]); os.setgroups([]); os.setuid(65534)\n"
        "for name in ('data.csv', 'closed'):\n"
        "    try: Blocks.of(name, 1000)\n"
        "    except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "data.csv must be a file that can be read, got Permission denied.",
        "closed must be a file that can be read, got Permission denied.",
    ]


@pytest.mark.parametrize("end", ["parquet", "arrow", "feather"])
def test_blocks_keep_their_size_when_text_is_dictionary_encoded(end: str, tmp_path: Path) -> None:
    rows, size = 20_000, 100_000
    short, long = [f"{n}" for n in range(20)], [f"{n}" * 800 for n in range(20)]
    codes = np.random.default_rng(0).integers(0, 20, rows)
    texts = pa.array([(short if place < rows // 2 else long)[code] for place, code in enumerate(codes)])
    table = pa.table({"u": np.arange(rows) / 3, "s": texts.dictionary_encode()})
    path = tmp_path / f"data.{end}"
    if end == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        pf.write_feather(table, path, compression="lz4" if end == "feather" else "uncompressed", chunksize=rows)
    blocks = [block for block, _ in Blocks.of(path, size).read()]
    assert all(block.nbytes <= size for block in blocks)
    assert sum(block.nbytes for block in blocks) > 0.5 * size * len(blocks), "they are not much smaller either"
    found = pa.concat_tables(blocks)
    assert found["u"].equals(table["u"])
    assert found["s"].to_pylist() == texts.to_pylist()


@pytest.fixture(params=["default", "system"])
def _memory_pool(request: pytest.FixtureRequest) -> Iterator[None]:
    """The pool that pyarrow chooses, and the one that `pydaub prepare` sets."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool() if request.param == "system" else before)
    yield
    pa.set_memory_pool(before)


@pytest.mark.usefixtures("_memory_pool")
def test_a_file_is_refused_if_its_pages_or_batches_do_not_fit_into_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {f"x{place}": rng.normal(size=400_000) for place in range(10)}
    )  # 32 MB, where 64 MB is all there is
    large = {"row_group_size": 400_000, "data_page_size": 1 << 30, "max_rows_per_page": 1 << 30}
    pq.write_table(table, tmp_path / "pages.parquet", use_dictionary=False, **large)
    pq.write_table(table, tmp_path / "dictionary.parquet", dictionary_pagesize_limit=1 << 30, **large)
    pq.write_table(table, tmp_path / "group.parquet", use_dictionary=False, row_group_size=400_000)
    pf.write_feather(table, tmp_path / "packed.feather", compression="zstd", chunksize=400_000)
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(file, table.schema, options=options) as stream:
            stream.write_table(table)
    pf.write_feather(table, tmp_path / "small.feather", compression="zstd", chunksize=10_000)
    pf.write_feather(table, tmp_path / "mapped.feather", compression="uncompressed", chunksize=400_000)
    for name in ("pages.parquet", "dictionary.parquet", "packed.feather", "stream.arrow"):
        with pytest.raises(
            InputError, match=r"must be readable with 22 MB at a time, got \d+ MB for .* MB more memory"
        ):
            Blocks.of(tmp_path / name, 1 << 20).check_memory(LEAST_MEMORY)
        Blocks.of(tmp_path / name, 1 << 20).check_memory(8 * LEAST_MEMORY)
    for name in ("group.parquet", "small.feather", "mapped.feather"):
        Blocks.of(tmp_path / name, 1 << 20).check_memory(LEAST_MEMORY)
    with pytest.raises(InputError, match="MB more memory, or write the file again in smaller pieces"):
        prepare_out_of_core(Wanted(str(tmp_path / "pages.parquet"), "x0"), tmp_path / "out", LEAST_MEMORY)
    assert not (tmp_path / "out.work").exists()
