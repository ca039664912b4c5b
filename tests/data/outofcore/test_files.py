"""Odd files are read correctly, and files that are not tables are refused in one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pydaub import InputError
from pydaub.data.outofcore.blocks import Blocks
from pydaub.data.outofcore.external import LEAST_MEMORY, Wanted, prepare_out_of_core

SIZE = 1 << 20
ROWS = [f"{place * 1.5},{place % 7},{'ab'[place % 2]}" for place in range(40)]
PLAIN = "\n".join(["u,v,y", *ROWS]) + "\n"


def read(path: Path, encoding: str | None = None) -> pd.DataFrame:
    return pa.concat_tables([block for block, _ in Blocks.of(path, SIZE, encoding).read()]).to_pandas()


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        b"\n\n\n" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        b"\r\n\r\n" + PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.encode("utf-8-sig"),
        ("\n\n" + PLAIN).encode("utf-8-sig"),
        PLAIN.rstrip("\n").encode(),
        PLAIN.replace("\n", "\n\n").encode(),
        PLAIN.replace(",", ";").encode(),
        gzip.compress(PLAIN.encode()),
        gzip.compress(("\n" + PLAIN).encode()),
    ],
    ids=["plain", "blank", "crlf", "blank-crlf", "bom", "bom-blank", "no-end", "gaps", "semicolon", "gz", "gz-blank"],
)
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_a_csv_file_is_the_same_however_it_is_written(content: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    expected = pd.DataFrame([row.split(",") for row in ROWS], columns=["u", "v", "y"])
    assert read(tmp_path / name).astype(object).equals(expected.astype(object))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_names_and_cells_may_contain_newlines(end: str, tmp_path: Path) -> None:
    lines = ['"one', 'name",y', '"a', 'cell",1', '"b,c","2', '"']
    (tmp_path / "data.csv").write_bytes(end.join([*lines, ""]).encode())
    found = read(tmp_path / "data.csv")
    assert found.columns.tolist() == [f"one{end}name", "y"]
    assert found.to_numpy().tolist() == [[f"a{end}cell", "1"], ["b,c", f"2{end}"]]


def test_other_encodings_are_read_if_they_are_named(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "data.csv").write_text("ü,y\n1,ö\n", encoding=encoding)
        assert read(tmp_path / "data.csv", encoding).to_dict("list") == {"ü": ["1"], "y": ["ö"]}
        with pytest.raises(
            InputError, match=r"must be UTF-8 text, got (UTF-16 text|something else at byte 0). Name its encoding"
        ):
            read(tmp_path / "data.csv")


def test_an_arrow_stream_saved_as_a_file_is_read(tmp_path: Path) -> None:
    table = pa.table({"u": [1.0, 2.0], "y": [0, 1]})
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert read(tmp_path / "data.arrow").equals(table.to_pandas())


def parquet(path: Path) -> bytes:
    pq.write_table(pa.table({"u": np.arange(500.0), "y": np.arange(500) % 2}), path / "made")
    return (path / "made").read_bytes()


def feather(path: Path) -> bytes:
    pd.DataFrame({"u": np.arange(500.0), "y": np.arange(500) % 2}).to_feather(path / "made")
    return (path / "made").read_bytes()


def test_a_file_that_is_not_a_table_is_refused_in_one_line_and_leaves_nothing_behind(tmp_path: Path) -> None:
    odd = {
        "empty.csv": (b"", "must name its columns in its first line, got an empty file"),
        "blank.csv": (b"\n\n", "must name its columns in its first line, got an empty file"),
        "names.csv": (b"u,v,y\n", "must hold rows, got none"),
        "open.csv": (b"u,v,y", "must hold rows, got none"),
        "twice.csv": (b"u,u,y\n1,2,3\n", "must not name two columns alike, got 'u'"),
        "ragged.csv": (
            b"u,v,y\n1,2,3\n1,2\n",
            "must have 3 columns in every line, as in its first, got 2 in '1,2'. Repair",
        ),
        "zeros.csv": (b"u,y\n\0,1\n", "must be text, got zero bytes in it"),
        "late.csv": (b"u,y\n" + b"1,2\n" * 500_000 + b"\xff,2\n", "must be UTF-8 text, got something else"),
        "quote.csv": (b'u,y\n1,2\n"' + b"1,2\n" * 500_000, "must have rows of less than .* Is a quote not closed"),
        "small.csv": (b'u,y\n1,2\n1,"2\n3,4\n', "must close every quote, got one that is open at its end"),
        "small.csv.gz": (
            gzip.compress(b'u,y,z\n1,2,"\n3,4,5\n'),
            "must close every quote, got one that is open at its",
        ),
        "torn.csv.gz": (gzip.compress(PLAIN.encode())[:-30], "must be a whole text table, got .*[Tt]runcated"),
        "parquet.csv": (parquet(tmp_path), "must be UTF-8 text, got something else"),
        "csv.parquet": (PLAIN.encode(), "must be a whole Parquet file, got .*magic bytes"),
        "empty.parquet": (b"", "must be a whole Parquet file, got .*0 bytes"),
        "torn.parquet": (parquet(tmp_path)[:-100], "must be a whole Parquet file, got .*magic bytes"),
        "csv.feather": (PLAIN.encode(), "must be a whole Arrow file, got .*Not an Arrow file"),
        "empty.feather": (b"", "must be a whole Arrow file, got .*empty file"),
        "torn.feather": (feather(tmp_path)[:-100], "must be a whole Arrow file, got .*Not an Arrow file"),
    }
    (tmp_path / "made").unlink()
    for name, (content, message) in odd.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message) as refusal:
            prepare_out_of_core(Wanted(str(tmp_path / name), "y"), tmp_path / "out", LEAST_MEMORY)
        assert name in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert (tmp_path / name).read_bytes() == content
        (tmp_path / name).unlink()
        assert not list(tmp_path.iterdir())
