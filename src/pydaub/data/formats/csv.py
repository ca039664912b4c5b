"""Text tables: one row a line, columns parted by comma, semicolon, tab or bar, names in the first line."""

from __future__ import annotations

import csv
import re
from io import StringIO
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.csv as pv

from pydaub.data.formats.arrow import frame
from pydaub.data.formats.source import Source, checked_names, content
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

DELIMITERS: Final = (",", ";", "\t", "|")
MISSING: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
LOOKED_AT: Final = 20  # lines, for the delimiter
QUOTED: Final = re.compile(r'"[^"]*"')


def read_csv(path: Path, encoding: str | None = None, text: Collection[str] = ()) -> Source:
    """Return the rows of a text table, gzipped or not. The columns named in `text` are not taken for numbers or dates.

    Types are found over the whole file. A column without a name is called by its position: `column 1`.
    """
    written = content(path, encoding).lstrip("\r\n")
    table = parsed(written, str(path), delimiter(written), text)
    return Source(path.name, frame(table, str(path)))


def delimiter(written: str) -> str:
    r"""Return what parts the columns: the candidate that occurs equally often in the first lines, and most often.

    >>> delimiter("a;b;c\n1,5;2,5;3,5")
    ';'
    """
    lines = [QUOTED.sub("", line) for line in written[: 1 << 20].splitlines()[:LOOKED_AT] if line.strip()]

    def steadiness(candidate: str) -> tuple[bool, int]:
        first = lines[0].count(candidate)
        return first > 0 and all(line.count(candidate) == first for line in lines), first

    return max(DELIMITERS, key=steadiness)


def parsed(written: str, where: str, parting: str, text: Collection[str]) -> pa.Table:
    """Return the table that stands in a text whose first line names the columns."""
    try:
        names = checked_names(next(csv.reader(StringIO(written, newline=""), delimiter=parting)), where)
    except csv.Error as error:
        raise InputError(f"{where} must name its columns in the first line, got: {error}.") from None
    raw = pa.py_buffer(written.encode())
    convert = pv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=True,
        column_types={name: pa.string() for name in text if name in names},
    )
    ragged: list[pv.InvalidRow] = []

    def note(row: pv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    parse = pv.ParseOptions(delimiter=parting, newlines_in_values='"' in written, invalid_row_handler=note)
    read = pv.ReadOptions(column_names=names, skip_rows_after_names=1)
    try:
        return pv.read_csv(raw, read_options=read, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid as error:
        if not ragged:
            raise InputError(f"{where} must be a table of text, got: {error}.") from None
        row = ragged[0]
        raise InputError(
            f"{where} must have {row.expected_columns} columns in every line, as in its first, got "
            f"{row.actual_columns} in {row.text[:60]!r}. Repair or remove that line."
        ) from None
