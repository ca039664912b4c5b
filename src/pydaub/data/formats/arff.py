"""ARFF files, the format of WEKA: declared attributes, then dense or sparse rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pv

from pydaub.data.formats.base import FileFormat, Source, content
from pydaub.data.names import brief, checked_names
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydaub.data.formats.stores import File

NUMERIC: Final = ("numeric", "real", "integer")
VALUE: Final = r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s](?:[^,]*[^,\s])?)|)\s*"""
LISTED: Final = re.compile(VALUE + r"(,|$)")
ENTRY: Final = re.compile(r"\s*(\d+)\s+" + VALUE + r"(,|$)")
ATTRIBUTE: Final = re.compile(
    r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s{]+))\s*(.+)""", re.IGNORECASE
)
DATA: Final = re.compile(r"^[ \t]*@data\b[^\n]*$", re.IGNORECASE | re.MULTILINE)
COMMENT: Final = re.compile(r"^[ \t]*%[^\n]*$", re.MULTILINE)
# Arrow's CSV parser reads these differently from ARFF: escapes, and blanks next to quotes and missing values.
TRICKY: Final = ("\\", *(pair for mark in "'\"?" for blank in " \t" for pair in (mark + blank, blank + mark)))
ISO: Final = "yyyy-MM-dd'T'HH:mm:ss"
DATE_PART: Final = re.compile(r"'([^']*)'|y+|M+|d+|H+|m+|s+|S+|[^A-Za-z']+|.")
DATE_PARTS: Final = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%f"}
MOST_CELLS: Final = 200_000_000  # of sparse rows, which are expanded to dense columns


class Attribute(NamedTuple):
    """A declared column: numeric, nominal, string or date.

    `detail` holds the values of a nominal attribute, or the format of a date.
    """

    name: str
    kind: str
    detail: Any = None


def read_arff(path: File, encoding: str | None, _text: Collection[str]) -> Source:
    """Return the rows of an ARFF file, which may be gzipped.

    The target that it declares is the attribute named `class`, or else the last attribute if that is nominal.
    """
    written = content(path, encoding).replace("\r\n", "\n")
    start = DATA.search(written)
    if start is None:
        raise InputError(f"{path} must be an ARFF file, got no line `@data` in it.")
    attributes = header(written[: start.start()], str(path))
    body = written[start.end() + 1 :]
    body = COMMENT.sub("", body) if "%" in body else body
    if not body.strip():
        raise InputError(f"{path} must hold rows, got none after `@data`.")
    if body.lstrip().startswith("{"):
        columns = _sparse(body, attributes, str(path))
    elif _tricky(body):
        columns = _dense(body, attributes, str(path))
    else:
        columns = _quick(body, attributes, str(path))
    typed = [_typed(column, attribute, path) for column, attribute in zip(columns, attributes, strict=True)]
    frame = pd.concat(typed, axis=1)
    last = attributes[-1]
    named = [attribute.name for attribute in attributes if attribute.name.lower() == "class"]
    label = named[0] if named else last.name if last.kind == "nominal" else None
    return Source(path.name, frame, label=label)


def _tricky(body: str) -> bool:
    single, double = body.count("'"), body.count('"')
    return bool(single and double) or single % 2 > 0 or double % 2 > 0 or any(mark in body for mark in TRICKY)


def header(written: str, where: str) -> list[Attribute]:
    """Return the attributes declared in the lines before `@data`."""
    attributes = []
    for line in COMMENT.sub("", written).splitlines():
        if not line.strip().lower().startswith("@attribute"):
            continue
        found = ATTRIBUTE.fullmatch(line.strip())
        if found is None:
            raise InputError(f"{where} must declare attributes as `@attribute name type`, got {line.strip()!r}.")
        *names, kind = found.groups()
        attributes.append(_declared(_value(names), kind.strip(), where))
    if not attributes:
        raise InputError(f"{where} must be an ARFF file, got no `@attribute` in it.")
    names = checked_names((attribute.name for attribute in attributes), where)
    return [attribute._replace(name=name) for attribute, name in zip(attributes, names, strict=True)]


def _declared(name: str, kind: str, where: str) -> Attribute:
    word, _, rest = kind.partition(" ")
    if kind.startswith("{") and kind.endswith("}"):
        values = list(dict.fromkeys(_split(kind[1:-1], where)))
        return Attribute(name, "nominal", [value for value in values if value is not None])
    if word.lower() in NUMERIC:
        return Attribute(name, "numeric")
    if word.lower() == "string":
        return Attribute(name, "string")
    if word.lower() == "date":
        return Attribute(name, "date", _python_form(rest.strip().strip("\"'") or ISO, name, where))
    known = "numeric, real, integer, string, date or {a, list, of, values}"
    raise InputError(f"{where} must declare {name!r} as {known}, got {kind!r}. Relational attributes are not read.")


def _python_form(form: str, name: str, where: str) -> str:
    """Translate a date format of Java, which ARFF uses, to one of Python."""
    parts = []
    for match in DATE_PART.finditer(form):
        part = match.group()
        if part[0].isalpha() and part != "T" and part not in DATE_PARTS:
            raise InputError(f"{where} must give {name!r} a format of {', '.join(DATE_PARTS)}, got {form!r}.")
        parts.append(match[1] if match[1] is not None else DATE_PARTS.get(part, part))
    return "".join(parts)


def _value(groups: list[str | None]) -> str:
    """Return the group that matched (single quotes, double quotes or bare) with its escapes resolved."""
    single, double, bare = groups
    quoted = single if single is not None else double
    return bare or "" if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _split(line: str, where: str) -> list[str | None]:
    """Return the values of one line, with None for an unquoted question mark or an empty value."""
    if "'" not in line and '"' not in line:
        return [None if value in {"", "?"} else value for value in map(str.strip, line.split(","))]
    values: list[str | None] = []
    position = 0
    while True:
        found = LISTED.match(line, position)
        if found is None:
            raise InputError(f"{where} must separate values by commas and close its quotes, got {line[:60]!r}.")
        single, double, bare, end = found.groups()
        missing = single is None and double is None and bare in {None, "?"}
        values.append(None if missing else _value([single, double, bare]))
        if not end:
            return values
        position = found.end()


def _quick(body: str, attributes: list[Attribute], where: str) -> list[pd.Series[Any]]:
    """Return the columns of dense rows, parsed by Arrow."""
    names = [str(position) for position in range(len(attributes))]
    number = [attribute.kind == "numeric" for attribute in attributes]
    types = {name: pa.float64() if is_number else pa.string() for name, is_number in zip(names, number, strict=True)}
    convert = pv.ConvertOptions(
        column_types=types, null_values=["?", ""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pv.ParseOptions(quote_char="'" if "'" in body else '"')
    try:
        source = pa.py_buffer(body.lstrip("\n").encode())
        table = pv.read_csv(source, pv.ReadOptions(column_names=names), parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid:
        return _dense(body, attributes, where)  # reports the faulty line
    return [table[name].to_pandas() for name in names]


def _dense(body: str, attributes: list[Attribute], where: str) -> list[pd.Series[Any]]:
    """Return the columns of dense rows, parsed line by line; slower than `_quick`, but complete."""
    rows = []
    for line in body.splitlines():
        if line.strip():
            rows.append(_split(line, where))
            if len(rows[-1]) != len(attributes):
                expected = f"{len(attributes)} values in every row, one for each attribute"
                raise InputError(f"{where} must have {expected}, got {len(rows[-1])} in {line[:60]!r}.")
    return [pd.Series(column, dtype=object) for column in zip(*rows, strict=True)]


def _sparse(body: str, attributes: list[Attribute], where: str) -> list[pd.Series[Any]]:
    """Return the columns of sparse rows, where an omitted value is zero, or the first value of a nominal."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    if len(lines) * len(attributes) > MOST_CELLS:
        raise InputError(f"{where} must have at most {MOST_CELLS:,} cells, got more. Use svmlight for sparse data.")
    columns: list[Any] = []
    for attribute in attributes:
        empty = 0.0 if attribute.kind == "numeric" else attribute.detail[0] if attribute.kind == "nominal" else None
        columns.append(np.full(len(lines), empty, dtype=float if attribute.kind == "numeric" else object))
    for row, line in enumerate(lines):
        for place, value in _entries(line, len(attributes), where):
            try:
                numeric = attributes[place].kind == "numeric"
                columns[place][row] = np.nan if value is None and numeric else value
            except ValueError:
                raise _not_a_number(attributes[place].name, value, where) from None
    return [pd.Series(column) for column in columns]


def _entries(line: str, count: int, where: str) -> list[tuple[int, str | None]]:
    """Return the column numbers and values of a sparse row."""
    error = InputError(f"{where} must have sparse rows such as {{0 1.5, 3 yes}}, got {line[:60]!r}.")
    if not (line.startswith("{") and line.endswith("}")):
        raise error
    entries: list[tuple[int, str | None]] = []
    position, inner = 0, line[1:-1].strip()
    while position < len(inner):
        found = ENTRY.match(inner, position)
        if found is None or int(found[1]) >= count:
            raise error
        value = _value(list(found.groups()[1:4]))
        entries.append((int(found[1]), None if found[4] == "?" else value))
        position = found.end()
    return entries


def _typed(column: pd.Series[Any], attribute: Attribute, path: File) -> pd.Series[Any]:
    """Convert a column to its declared type; raise if a value does not fit."""
    column = column.rename(attribute.name)
    if attribute.kind == "numeric":
        numbers = pd.to_numeric(column, errors="coerce").astype(float)
        wrong = numbers.isna() & column.notna()
        if wrong.any():
            raise _not_a_number(attribute.name, column[wrong].iloc[0], str(path))
        return numbers
    if attribute.kind == "string":
        return column.astype("str")
    column = column.str.strip()
    if attribute.kind == "date":
        try:
            return pd.to_datetime(column, format=attribute.detail).astype("datetime64[us]")
        except ValueError as error:
            raise InputError(f"{path} must have dates as declared in {attribute.name!r}, got: {error}.") from None
    unknown = column[column.notna() & ~column.isin(attribute.detail)]
    if len(unknown):
        raise InputError(
            f"{path} must have declared values only in {attribute.name!r}, got {brief(unknown.iloc[0])}."
            " Declare it there."
        )
    return pd.Series(pd.Categorical(column, categories=attribute.detail), name=attribute.name)


def _not_a_number(name: str, value: object, where: str) -> InputError:
    return InputError(f"{where} must have numbers in {name!r}, as declared, got {brief(value)}.")


ARFF: Final = FileFormat("ARFF", (".arff", ".arff.gz"), read_arff)
