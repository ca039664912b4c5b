"""CSV files: one row per line, with commas, semicolons, tabs or bars between columns, and names in the first line."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.csv as pv

from pydaub.data.formats.arrow import frame
from pydaub.data.formats.base import FileFormat, Source, content
from pydaub.data.names import checked_names
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pydaub.data.formats.stores import File

DELIMITERS: Final = (",", ";", "\t", "|")
MISSING: Final = (
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None", "?",
)  # fmt: skip
SAMPLED_LINES: Final = 20  # lines from which the delimiter is guessed
ROWS, LARGEST = 1000, 1 << 26  # rows of a block of Arrow, each of whose columns is an object; and bytes of it
SMALL: Final = 1 << 24  # bytes; with many columns, threads cost more than they save in a small file
UNCLOSED: Final = "Is a quote not closed there?"
LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
NOT_BLANK: Final = re.compile(r"[^\r\n]")
QUOTED: Final = re.compile(r'"[^"]*"')


def read_csv(path: File, encoding: str | None, text: Collection[str]) -> Source:
    """Return the rows of a CSV file, which may be gzipped.

    The types of columns are inferred from the whole file. A column without a name is called after its position:
    `column 1`.
    """
    return Source(path.name, frame(csv_table(path, encoding, dict.fromkeys(text, pa.string())), str(path)))


def csv_table(path: File, encoding: str | None, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a CSV file as a table."""
    return _parsed(content(path, encoding).lstrip("\r\n"), str(path), types)


def column_as_written(path: File, encoding: str | None, name: str) -> pa.ChunkedArray:
    """Return one column of a CSV file as text; what is read as missing is null."""
    table = _parsed(content(path, encoding).lstrip("\r\n"), str(path), {name: pa.string()}, only=name)
    return table[name]


def delimiter(written: str) -> str:
    r"""Guess the delimiter: the candidate that occurs equally often in each of the first lines, and most often.

    >>> delimiter("a;b;c\n1,5;2,5;3,5")
    ';'
    """
    lines = [QUOTED.sub("", line) for line in written[: 1 << 20].splitlines()[:SAMPLED_LINES] if line.strip()]

    def steadiness(candidate: str) -> tuple[bool, int]:
        first = lines[0].count(candidate)
        return first > 0 and all(line.count(candidate) == first for line in lines), first

    return max(DELIMITERS, key=steadiness)


def block_size(written: bytes, least: int = 1 << 20) -> int:
    r"""Return a size of blocks for Arrow, each of which must hold the longest line.

    >>> block_size(b"a,b\n1,2\n", 4)
    4
    >>> block_size(b"a,b\n1,22222222\n", 4)
    22
    """
    size, place = least, 0
    while place + size < len(written):
        end = written.rfind(b"\n", place, place + size)
        if end < 0:  # the line that begins here is longer
            end = written.find(b"\n", place + size)
            end = len(written) if end < 0 else end
            size = 2 * (end + 1 - place)
        place = end + 1
    return size


def column_names(written: str, separator: str, where: str) -> tuple[list[str], bool]:
    """Return the names in the first line, and whether any row follows."""
    end = 0

    def lines() -> Iterator[str]:  # not StringIO, which needs four bytes for each character of the file
        nonlocal end
        for line in LINE.finditer(written):
            end = line.end()
            yield line[0]

    try:
        names = checked_names(next(csv.reader(lines(), delimiter=separator)), where)
        return names, NOT_BLANK.search(written, end) is not None
    except csv.Error:
        raise InputError(
            f"{where} must name its columns in the first line, got a name of more than {csv.field_size_limit():,}"
            f" characters. {UNCLOSED}"
        ) from None


def _parsed(written: str, where: str, types: Mapping[str, pa.DataType], *, only: str | None = None) -> pa.Table:
    separator = delimiter(written)
    names, has_rows = column_names(written, separator, where)
    if not has_rows:
        return _without_rows(names, where)
    ragged: list[pv.InvalidRow] = []

    def note(row: pv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    parse = pv.ParseOptions(delimiter=separator, newlines_in_values='"' in written, invalid_row_handler=note)
    ends_quoted = next((character for character in reversed(written) if not character.isspace()), "") == '"'
    encoded = written.encode()
    del written  # it may be large, and the table needs as much memory again
    line = encoded.find(b"\n") + 1
    size, threads = block_size(encoded, min(max(1 << 20, ROWS * line), LARGEST)), len(encoded) > SMALL
    given = {name: kind for name, kind in types.items() if name in names}
    try:
        while True:
            options = pv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=size, use_threads=threads)
            try:
                table = _read(pa.py_buffer(encoded), options, parse, given, only)
                break
            except pa.ArrowInvalid as error:
                if "straddl" not in str(error) or size > len(encoded):
                    raise
                size *= 8  # a row of many lines, in quotes
    except pa.ArrowInvalid as error:
        if "straddl" in str(error):
            raise open_quote(where) from None
        if not ragged:
            raise InputError(f"{where} must be a table of text, got: {error}.") from None
        row = ragged[0]
        raise ragged_row(where, row.expected_columns, row.actual_columns, row.text) from None

    pa.default_memory_pool().release_unused()  # which Arrow would keep
    if only is None and is_open(table[-1]) and not ends_quoted:
        raise open_quote(where)
    return table


def _read(
    encoded: pa.Buffer,
    options: pv.ReadOptions,
    parse: pv.ParseOptions,
    given: Mapping[str, pa.DataType],
    only: str | None = None,
) -> pa.Table:
    """Return the table, or `only` one of its columns, with the types that Arrow infers unless they are given.

    To infer types, Arrow keeps all blocks until the end. So those of the first block are tried first: if they fit all
    blocks, they are the same.
    """

    def convert(types: Mapping[str, pa.DataType] | pa.Schema) -> pv.ConvertOptions:
        columns = None if only is None else [only]
        return pv.ConvertOptions(
            null_values=MISSING, strings_can_be_null=True, column_types=types, include_columns=columns
        )

    if options.block_size < len(encoded):
        with suppress(pa.ArrowInvalid):  # they do not fit, or what is wrong is found again below
            with pv.open_csv(encoded, options, parse, convert(given)) as reader:
                first = reader.schema
            return pv.read_csv(encoded, options, parse, convert(first))
    return pv.read_csv(encoded, options, parse, convert(given))


def _without_rows(names: list[str], where: str) -> pa.Table:
    """Return an empty table, which may be one of several files."""
    if any("\n" in name for name in names):
        raise InputError(f"{where} must hold rows, got {len(names)} columns and 0 rows. {UNCLOSED}")
    return pa.table({name: pa.nulls(0) for name in names})


def is_open(column: pa.ChunkedArray) -> bool:
    """Return whether the last value of a last column may be what follows a quote that is not closed.

    Arrow takes everything after it as one value. It may also be a value that ends with a quote at the end of the file.
    """
    last = column[-1].as_py() if len(column) else None
    return isinstance(last, str) and "\n" in last


def open_quote(where: str) -> InputError:
    """Return the error for a quote that is not closed."""
    return InputError(f"{where} must close every quote, got one that is open at its end.")


def ragged_row(where: str, expected: int, found: int, text: str) -> InputError:
    """Return the error for a row that has another number of columns than the first line."""
    advice = UNCLOSED if "\n" in text else "Repair or remove that line."
    return InputError(
        f"{where} must have {expected} columns in every line, as in its first, got {found} in {text[:60]!r}. {advice}"
    )


CSV: Final = FileFormat(
    "CSV",
    tuple(f"{end}{packed}" for packed in ("", ".gz") for end in (".csv", ".tsv", ".txt", ".data")),
    read_csv,
    csv_table,
)
