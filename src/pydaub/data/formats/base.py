"""What every format provides, and the steps that the text formats share."""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from pydaub.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from pydaub.data.formats.stores import File
    from pydaub.data.schema import Array

GZIP: Final = b"\x1f\x8b"
BOM: Final = "\ufeff"
MARKS: Final = {  # the first bytes of text that is not UTF-8; those of UTF-32 begin with those of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows as a format gives them, before anything is inferred from them.

    Attributes
    ----------
    name
        The name of the file or data set, for messages.
    rows
        A pandas data frame or, for sparse formats, a CSR matrix.
    target
        The target, if the format stores it apart from `rows`.
    label
        The column of `rows` that the source itself declares as its target.
    """

    name: str
    rows: Any
    target: Array | None = None
    label: str | None = None


class FileFormat(NamedTuple):
    """A format that is recognised by the ending of a file's name.

    `read` takes the path, the encoding of a text file (None for UTF-8), and the columns to read as text even if all
    of their values look like numbers. A format that stores types or its own encoding ignores the last two. `table`
    is there if several files can make one table; it takes the types of some columns instead.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[File, str | None, Collection[str]], Source]
    table: Callable[[File, str | None, Mapping[str, pa.DataType]], pa.Table] | None = None

    def matches(self, path: File) -> bool:
        """Whether the name of this file has one of the endings."""
        return path.name.lower().endswith(self.endings)


class NamedFormat(NamedTuple):
    """Data that is not a file but has a name, such as `openml:61`."""

    name: str
    matches: Callable[[str], bool]
    read: Callable[[str], Source]


def format_of(path: File, known: Iterable[FileFormat]) -> FileFormat:
    """Return the format of a file among the known ones; raise if there is none."""
    for each in known:
        if each.matches(path):
            return each
    endings = [end for each in known for end in each.endings if not end.endswith((".gz", ".bz2"))]
    raise InputError(
        f"{path} must end in one of {', '.join(endings)} (text also in .gz), got {path.suffix!r}. Rename or convert it."
    )


def what_is_there(path: Path) -> str:
    """Return what is at a path that is not a file: a folder, a pipe, a device, or nothing."""
    if path.is_dir():
        return "a folder"
    if path.is_fifo():
        return "a pipe. Write its content to a file first"
    return "a device" if path.exists() else "no such file"


@contextmanager
def read_as(path: File, what: str) -> Iterator[None]:
    """Report errors of the libraries that read a file in one line."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error) as error:
        if isinstance(error, OSError) and error.errno:
            raise InputError(f"{path} must be a file that can be read, got {os.strerror(error.errno)}.") from None
        reason = one_line(error).rstrip(".")
        raise InputError(f"{path} must be a whole {what}, got {reason}. Fetch or write it again.") from None


def content(path: File, encoding: str | None) -> str:
    """Return the text of a file, which may be gzipped, without a byte-order mark."""
    check_encoding(encoding)
    raw = path.read_bytes()
    if raw.startswith(GZIP):
        with read_as(path, "gzip file"):
            raw = gzip.decompress(raw)
    try:
        text = raw.decode(encoding or "utf-8").removeprefix(BOM)
    except UnicodeError as error:
        raise wrong_encoding(path, encoding, error, raw) from None
    refuse_zero_bytes(path, text)
    if not text or text.isspace():
        raise InputError(f"{path} must hold rows, got an empty file.")
    return text


def check_encoding(encoding: str | None) -> None:
    """Raise if Python does not know this encoding of text; some of its codecs, such as rot13, are for other things."""
    try:
        name = "utf-8" if encoding is None else encoding
        codecs.lookup(name)
        with suppress(UnicodeError):
            b"a".decode(name)
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"`encoding` must be one of text that Python knows, such as latin-1, got {encoding!r}."
        ) from None


def wrong_encoding(path: File, encoding: str | None, error: Exception | None = None, head: bytes = b"") -> InputError:
    """Return the error for a file that is not text in its encoding; its first bytes may tell which it is."""
    where = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
    marked = next((name for mark, name in MARKS.items() if head.startswith(mark)), None)
    found = f"{marked.upper()} text" if marked else f"something else{where}"
    return InputError(
        f"{path} must be {encoding or 'UTF-8'} text, got {found}. "
        f"Name its encoding{'' if marked else ', for example'}: --encoding {marked or 'latin-1'}."
    )


def refuse_zero_bytes(path: File, text: str) -> None:
    """Raise if the text contains zero bytes, as a binary file or UTF-16 read as UTF-8 does."""
    if "\0" in text:
        raise InputError(
            f"{path} must be text, got zero bytes in it. Name its encoding (--encoding utf-16?) or format."
        )
