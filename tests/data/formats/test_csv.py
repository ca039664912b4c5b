from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import InputError
from pydaub.data import read
from pydaub.data.formats.csv import MISSING, _read, csv_table, delimiter


def frame(folder: Path, content: str | bytes, name: str = "x.csv", **options: Any) -> pd.DataFrame:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, **options).rows


CONTENT = "a,b,c\n1,x,2.5\n2,,?\nNA,z z,1e3\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["x.csv", "x.TSV", "x.txt", "x.data", "x.csv.gz"])
def test_every_delimiter_and_ending_is_read(separator: str, name: str, tmp_path: Path) -> None:
    content = CONTENT.replace(",", separator).encode()
    rows = frame(tmp_path, gzip.compress(content, mtime=0) if name.endswith("gz") else content, name)
    assert list(rows) == ["a", "b", "c"]
    assert rows["a"].fillna(-1).tolist() == [1, 2, -1]
    assert rows["b"].fillna("-").tolist() == ["x", "-", "z z"]
    assert rows["c"].fillna(-1).tolist() == [2.5, -1, 1000]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("a,b\n1;2,3", ","),
        ('"a,b";c\n"x,y,z";1', ";"),
        ("alone\n1\n2", ","),
        ("a|b|c\n1|2,5|3", "|"),
        ("a,b;c,d;e\n1,2;3;4\n", ";"),
    ],
)
def test_the_delimiter_is_the_one_that_occurs_equally_often_in_every_line(content: str, found: str) -> None:
    assert delimiter(content) == found


def test_types_are_inferred_from_the_whole_file(tmp_path: Path) -> None:
    lines = "".join(f"{i},{i}\n" for i in range(200_000))
    rows = frame(tmp_path, f"a,b\n{lines}7,n/k\n")
    assert rows["a"].dtype.kind == "i"
    assert rows["b"].iloc[-1] == "n/k"


POOL = pa.proxy_memory_pool(pa.default_memory_pool())  # it counts; all that it has allocated must be freed before it
VALUES = (
    ("1", "-3"), ("1.5", "2e3"), ("true", "0"), ("", "NA"), ("2020-01-01",), ("2020-01-01 10:00:00",),
    ("2020-01-01 10:00:00.5",), ("2020-01-01T10:00:00Z",), ("10:00",), ("a", '"1, 2"'), ("99999999999999999999",),
)  # fmt: skip


@given(
    st.lists(st.tuples(*[st.lists(st.sampled_from(VALUES), min_size=1, max_size=2)] * 2), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_types_are_those_that_arrow_infers_whatever_the_first_block_holds(
    columns: list[tuple[list[tuple[str, ...]], ...]], random: Random
) -> None:
    """Each column may hold other kinds of values in its second half."""
    names = [f"c{place}" for place in range(len(columns))]
    lines = [[random.choice(random.choice(kinds[row // 20])) for kinds in columns] for row in range(40)]
    written = pa.py_buffer("\n".join(map(",".join, [names, *lines])).encode())
    options = pv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=200)
    convert = pv.ConvertOptions(null_values=MISSING, strings_can_be_null=True)
    assert _read(written, options, pv.ParseOptions(), {}).equals(pv.read_csv(written, options, None, convert))


def test_memory_is_needed_for_the_table_and_a_few_blocks(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(f"c{place}" for place in range(20)), *["0.123," * 19 + "1.5"] * 40_000]))
    usual = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        table = csv_table(path, None, {})
    finally:
        pa.set_memory_pool(usual)
    assert POOL.max_memory() < 1.6 * table.nbytes


def test_columns_may_be_read_as_text(tmp_path: Path) -> None:
    rows = frame(tmp_path, "zip,n,d\n01234,1,2020-01-01\n", text=["zip", "absent"])
    assert rows["zip"].tolist() == ["01234"]
    assert str(rows["d"].dtype) == "datetime64[us]"


def test_quoted_values_may_contain_commas_newlines_and_quotes(tmp_path: Path) -> None:
    rows = frame(tmp_path, 'a,"b, c"\n"x\ny, ""z""",1\n"",2\n')
    assert list(rows) == ["a", "b, c"]
    assert rows["a"].iloc[0] == 'x\ny, "z"'


@pytest.mark.parametrize("long", ["a line", "a quoted value of many lines", "the last line"])
def test_lines_of_any_length_are_read(long: str, tmp_path: Path) -> None:
    """Arrow reads blocks of a megabyte, each of which must hold a whole row."""
    text = "x" * 3_000_000
    value = f'"{"x" * 99}\n' + 40_000 * f"{'x' * 99}\n" + '"' if long.startswith("a quoted") else text
    last = text if long == "the last line" else "z"
    rows = frame(tmp_path, f"a,b\n1,y\n2,{value if long.startswith('a ') else 'w'}\n3,{last}\n")
    assert rows["a"].tolist() == [1, 2, 3]
    second = {"a line": 3_000_000, "a quoted value of many lines": 4_000_100}.get(long, 1)
    assert rows["b"].str.len().tolist() == [1, second, len(last)]


def test_bools_dates_and_times(tmp_path: Path) -> None:
    rows = frame(tmp_path, "b,t,h\ntrue,2020-01-01T10:00:00Z,12:30\nfalse,2020-01-02T10:00:00Z,13:00\n,,\n")
    assert rows["b"].tolist() == [True, False, pd.NA]
    assert rows["t"].iloc[0] == pd.Timestamp("2020-01-01 10:00")
    assert rows["h"].iloc[0] == "12:30:00"


def test_a_byte_order_mark_windows_newlines_and_blank_names(tmp_path: Path) -> None:
    rows = frame(tmp_path, b"\xef\xbb\xbf, b ,\r\n1,2,3\r\n")
    assert list(rows) == ["column 1", "b", "column 3"]
    assert rows.iloc[0].tolist() == [1, 2, 3]


def test_names_may_contain_newlines_and_blank_lines_may_come_first(tmp_path: Path) -> None:
    rows = frame(tmp_path, '\n\n\t"b\nc"\n1\t2\n3\t4\n')
    assert list(rows) == ["column 1", "b\nc"]
    assert rows["column 1"].tolist() == [1, 3]


def test_an_encoding_may_be_named(tmp_path: Path) -> None:
    rows = frame(tmp_path, "größe,b\nä,1\n".encode("latin-1"), encoding="latin-1")
    assert list(rows) == ["größe", "b"]
    assert frame(tmp_path, "a,b\nä,1\n".encode("utf-16"), encoding="utf-16")["a"].tolist() == ["ä"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must hold rows, got an empty file"),
        (b" \n\n", "must hold rows, got an empty file"),
        (b"\xef\xbb\xbf", "must hold rows, got an empty file"),
        (b"a,b\n", "must hold rows, got 2 columns and 0 rows"),
        (b"a,b,a\n1,2,3\n", "must not name two columns alike, got 'a' more than once"),
        (b"a,b\n1,2\n1,2,3\n", "must have 2 columns in every line, as in its first, got 3 in '1,2,3'"),
        (b"a,b\n1,2\n1\n", "must have 2 columns in every line, as in its first, got 1 in '1'"),
        ("a,b\ngrün,2\n".encode("latin-1"), "must be UTF-8 text, got something else at byte 6.*--encoding latin-1"),
        (b"a,b", "must hold rows, got 2 columns and 0 rows.$"),
        (b"a,b\n", "must hold rows, got 2 columns and 0 rows.$"),
        (b'a,"b,c\n1,2,3\n', "must hold rows, got 2 columns and 0 rows. Is a quote not closed there"),
        (b'a,b\n1,"2\n3,4\n', "must close every quote, got one that is open at its end"),
        (b'a,b,c\n1,"2,3\n3,4,5\n"', "must have 3 columns in every line.*got 2.*Is a quote not closed there"),
        ("a,b\n1,2\n".encode("utf-16"), "must be UTF-8 text, got UTF-16 text. Name its encoding: --encoding utf-16"),
        ("a,b\n1,2\n".encode("utf-32"), "must be UTF-8 text, got UTF-32 text. Name its encoding: --encoding utf-32"),
        (
            b'"' + b"x" * 200_000 + b"\n1\n",
            "first line, got a name of more than 131,072 characters. Is a quote not closed",
        ),
        (b"a,b\n\0,2\n", "must be text, got zero bytes in it"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "must be a whole gzip file, got"),
        (b"\x1f\x8bnonsense", "must be a whole gzip file, got"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        frame(tmp_path, content)


def test_an_encoding_must_exist_and_fit(tmp_path: Path) -> None:
    for name in ("klingon", "rot13", "base64", "a\0b", "\ud800"):  # codecs of other things are none of text
        with pytest.raises(InputError, match="`encoding` must be one of text that Python knows, such as latin-1, got"):
            frame(tmp_path, "a,b\n1,2\n", encoding=name)
    with pytest.raises(InputError, match="`encoding` must be one of text that Python knows"):
        frame(tmp_path, "a,b\n1,2\n", encoding="klingon")
    with pytest.raises(InputError, match="must be ascii text, got something else at byte 4"):
        frame(tmp_path, "a,b\nä,2\n", encoding="ascii")
