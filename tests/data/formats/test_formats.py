from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydaub import InputError
from pydaub.data import load, read


def test_the_ending_of_the_name_decides(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"must end in one of .csv, .*\.svmlight .*got '.xlsx'. Rename or convert it"):
        read(tmp_path / "x.xlsx")


def test_a_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.csv must be a file that can be read, got no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(InputError, match="must hold files of one format, CSV, Parquet or Arrow, got none"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"must be a file that can be read, got a pipe. Write its content to a file"):
        read(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="must be a file that can be read, got a device"):
        read("/dev/zero")
    with pytest.raises(InputError, match="must be a file that can be read, got"):
        read("x" * 5000 + ".csv")
    with pytest.raises(InputError, match="must be a file that can be read, got"):
        read("a\0b.csv")


@pytest.mark.parametrize("source", [None, 3, "", b"x.csv", ["x.csv"]])
def test_a_source_is_a_path(source: Any) -> None:
    with pytest.raises(InputError, match="`source` must be the path of a file, or openml:ID, got"):
        read(source)


ENDS = [".csv", ".tsv", ".parquet", ".feather", ".arff", ".svm", ".csv.gz", ".svm.bz2"]
ARFF = b"@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"
nonsense = st.binary(max_size=60) | st.text("ab,;\n\t'\"{}%@?01.-: x\\", max_size=60).map(str.encode)


@settings(max_examples=150)
@given(st.sampled_from(ENDS), st.sampled_from([b"", ARFF, b"a,b\n"]), nonsense, st.sampled_from([None, "a"]))
def test_nonsense_is_read_or_refused_with_an_input_error(
    end: str, begin: bytes, content: bytes, target: str | None
) -> None:
    with TemporaryDirectory() as folder, suppress(InputError):
        path = Path(folder) / f"x{end}"
        path.write_bytes(begin + content)
        load(path, target)
