"""One file of a table, text, Parquet or Arrow, read a few rows at a time."""

from __future__ import annotations

import codecs
import csv
import mmap
import os
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from pydaub.data.formats.arrow import INDEX
from pydaub.data.formats.csv import MISSING, delimiter
from pydaub.data.formats.files import CSV, FEATHER, PARQUET
from pydaub.data.formats.source import BOM, GZIP, checked_names
from pydaub.data.outofcore import footprint
from pydaub.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

READ_AT_ONCE: Final = 1 << 20  # bytes of a column; the default of Parquet reads gigabytes ahead
READ_AT_LEAST: Final = 1 << 14
LOOKED_AT: Final = 1 << 20  # bytes, for the delimiter and the names
SHARES: Final = 8  # how many reads make a block: rows may be wider than those before
FIRST_ROWS: Final = 100  # of Parquet, for how wide they are: of dictionaries its headers count only the codes
STREAM: Final = b"\xff\xff\xff\xff"  # with which an Arrow stream kept in a file begins


class Part(Protocol):
    """A file of a table."""

    @property
    def path(self) -> Path:
        """Where it is."""

    def types(self) -> dict[str, pa.DataType]:
        """Return its columns; those of text files are all text."""

    def need(self, names: Sequence[str], most: int, /) -> tuple[int, str]:
        """Return the bytes that reading takes beyond the rows themselves, and what takes them, in words."""

    def tables(
        self, names: Sequence[str], types: Mapping[str, pa.DataType], size: int, /
    ) -> Iterator[tuple[pa.Table, float]]:
        """Yield rows, with these columns, of about `size` bytes or less, and the share that has been read with them.

        `types` are those that columns of text files are to have, text if none is given.
        """


def part(path: Path, encoding: str | None) -> Part:
    """Return a file by the end of its name."""
    kind = kind_of(path)
    return Text(path, encoding) if kind == "text" else Parquet(path) if kind == "Parquet" else Arrow(path)


def kind_of(path: Path) -> str:
    """Return the format of a file: text, Parquet or Arrow."""
    name = path.name.lower()
    for kind, ends in (("text", CSV), ("Parquet", PARQUET), ("Arrow", FEATHER)):
        if name.endswith(ends):
            return kind
    raise InputError(f"{path} must end in {', '.join((*CSV[:4], *PARQUET, *FEATHER))}, got {path.suffix!r}.")


@contextmanager
def _read_as(path: Path, what: str) -> Iterator[None]:
    """Tell what is wrong with a file in one line."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, csv.Error) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else one_line(error).rstrip(".")
        raise InputError(f"{path} must be a whole {what}, got {reason}.") from None


@dataclass(frozen=True)
class Text:
    """A text table, gzipped or not. Blank lines before the names, and a mark of byte order, are passed over."""

    path: Path
    encoding: str | None

    def types(self) -> dict[str, pa.DataType]:
        """Return its columns, all of them text."""
        return dict.fromkeys(self._head()[0], pa.string())

    def need(self, _names: Sequence[str], _most: int) -> tuple[int, str]:
        """Return nothing: text is read by the block."""
        return 0, ""

    def tables(
        self, names: Sequence[str], types: Mapping[str, pa.DataType], size: int
    ) -> Iterator[tuple[pa.Table, float]]:
        """Yield rows in the types that are wanted."""
        found, parting, blank, has_rows = self._head()
        if not has_rows:
            return
        convert = pv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            include_columns=list(names),
            column_types={name: types.get(name, pa.string()) for name in names},
        )
        reading = pv.ReadOptions(
            column_names=found,
            skip_rows=blank,
            skip_rows_after_names=1,
            block_size=max(size // SHARES, 1),  # some dozens of which are read ahead
            encoding=self.encoding or "utf8",
            use_threads=False,
        )
        parse = pv.ParseOptions(delimiter=parting, newlines_in_values=True)
        total = max(self.path.stat().st_size, 1)
        with _read_as(self.path, "text table"), pa.OSFile(str(self.path)) as raw:
            try:
                opened = pv.open_csv(self._unpacked(raw), reading, parse, convert)
                for batch in opened:
                    yield pa.Table.from_batches([batch]), min(1.0, raw.tell() / total)
            except pa.ArrowInvalid as error:
                raise self._explained(error, size) from None

    def _explained(self, error: pa.ArrowInvalid, size: int) -> Exception:
        """Return what Arrow's reader means where that is not plain."""
        if "straddl" in str(error):
            return InputError(
                f"{self.path} must have rows of less than {size:,} bytes, got a longer one. Is a quote not closed in"
                " it? Else give more memory."
            )
        if "invalid UTF8" in str(error):
            return InputError(
                f"{self.path} must be {self.encoding or 'UTF-8'} text, got something else. Name its encoding, for"
                " example --encoding latin-1."
            )
        return error

    def _unpacked(self, raw: pa.NativeFile) -> pa.NativeFile:
        packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        return pa.CompressedInputStream(raw, "gzip") if packed else raw

    def _head(self) -> tuple[list[str], str, int, bool]:
        """Return the names, what parts them, how many lines before them are blank, and whether any row follows."""
        with _read_as(self.path, "text table"), pa.OSFile(str(self.path)) as raw:
            began = bytes(self._unpacked(raw).read(LOOKED_AT))
            try:  # the last character may be cut
                text = codecs.getincrementaldecoder(self.encoding or "utf-8")().decode(began).removeprefix(BOM)
            except UnicodeError:
                raise self._explained(pa.ArrowInvalid("invalid UTF8"), 0) from None
            if "\0" in text:
                raise InputError(
                    f"{self.path} must be text, got zero bytes in it. Name its encoding (--encoding utf-16?) or format."
                )
            written = text.lstrip("\r\n")
            if not written.strip():
                raise InputError(f"{self.path} must name its columns in its first line, got an empty file.")
            blank = len(text[: len(text) - len(written)].splitlines())
            whole = written if len(began) < LOOKED_AT else written.rpartition("\n")[0] or written
            parting = delimiter(whole)
            lines = StringIO(written, newline="")
            names = checked_names(next(csv.reader(lines, delimiter=parting)), str(self.path))
            return names, parting, blank, bool(written[lines.tell() :].strip("\r\n"))


@dataclass(frozen=True)
class Parquet:
    """A Parquet file."""

    path: Path

    def types(self) -> dict[str, pa.DataType]:
        """Return its columns."""
        with _read_as(self.path, "Parquet file"):
            return _types(pq.read_schema(self.path), self.path)

    def need(self, names: Sequence[str], most: int) -> tuple[int, str]:
        """Return what the pages take of one row group, the largest in this."""
        wanted = {raw for raw, name in _named(pq.read_schema(self.path), self.path).items() if name in names}
        with _read_as(self.path, "Parquet file"), self.path.open("rb") as opened:
            about = pq.ParquetFile(opened).metadata
            paths = [about.schema.column(place).path for place in range(about.num_columns)]
            places = [place for place, path in enumerate(paths) if path in wanted]
            groups = (about.row_group(number) for number in range(about.num_row_groups))
            pages = max((footprint.of_row_group(opened, group, places, most) for group in groups), default=0)
            return pages, "pages, and dictionaries, of a row group that are unpacked at a time"

    def tables(
        self, names: Sequence[str], _types: Mapping[str, pa.DataType], size: int
    ) -> Iterator[tuple[pa.Table, float]]:
        """Yield rows, as many as are expected to have their share of `size`; text may come in dictionaries."""
        with _read_as(self.path, "Parquet file"):
            ahead = min(max(size // max(len(names), 1), READ_AT_LEAST), READ_AT_ONCE)
            file = pq.ParquetFile(self.path, pre_buffer=False, buffer_size=ahead, page_checksum_verification=True)
            columns = {name: raw for raw, name in _named(file.schema_arrow, self.path).items()}
            picked = [columns[name] for name in names]
            total, read, width = max(file.metadata.num_rows, 1), 0, 0.0
            for group in range(file.num_row_groups):
                about = file.metadata.row_group(group)
                if not about.num_rows:
                    continue
                if not width:
                    first = next(file.iter_batches(FIRST_ROWS, [group], picked))
                    width = first.nbytes / first.num_rows
                width = max(width, 8 * len(names), about.total_byte_size / about.num_rows)
                rows = max(1, int(size / SHARES / width))
                for batch in file.iter_batches(rows, [group], picked):
                    read += batch.num_rows
                    width = batch.nbytes / batch.num_rows
                    table = pa.Table.from_batches([batch]).select(picked).rename_columns(list(names))
                    yield table, read / total


@dataclass(frozen=True)
class Arrow:
    """An Arrow or Feather file, or a stream kept in a file; mapped."""

    path: Path

    def types(self) -> dict[str, pa.DataType]:
        """Return its columns."""
        with _read_as(self.path, "Arrow file"):
            return _types(self._opened(self._mapped()).schema, self.path)

    def need(self, _names: Sequence[str], _most: int) -> tuple[int, str]:
        """Return what the largest batch takes that must be unpacked."""
        with _read_as(self.path, "Arrow file"):
            file = pa.BufferReader(pa.py_buffer(self._mapped()))
            file.seek(0 if self._is_stream() else 8)  # after its magic word a file is a stream, and an index of it
            largest = 0
            for message in pa.ipc.MessageReader.open_stream(file):
                if message.type == "record batch":
                    largest = max(largest, footprint.of_batch(message))
            return largest, "a packed batch, which is unpacked as a whole"

    def tables(
        self, names: Sequence[str], _types: Mapping[str, pa.DataType], size: int
    ) -> Iterator[tuple[pa.Table, float]]:
        """Yield rows of batches; mapped, these take memory only where they are looked at."""
        with _read_as(self.path, "Arrow file"):
            mapped = self._mapped()
            reader = self._opened(mapped)
            named = {name: raw for raw, name in _named(reader.schema, self.path).items()}
            picked = [named[name] for name in names]  # afterwards: a reader of some columns copies what it maps
            for batch, before, after in self._batches(reader):
                rows = max(1, size * batch.num_rows // max(batch.nbytes, 1))
                for start in range(0, batch.num_rows, rows):
                    some = batch.slice(start, rows)
                    columns = [_copied(some[raw], mapped) for raw in picked]
                    share = before + (after - before) * (start + some.num_rows) / batch.num_rows
                    yield pa.table(columns, list(names)), share
                del batch, some  # before the next is unpacked

    def _batches(self, reader: Any) -> Iterator[tuple[pa.RecordBatch, float, float]]:  # noqa: ANN401  # untyped
        """Yield batches, each with the shares of the file before and after it; of a stream these are not known."""
        if self._is_stream():
            for batch in reader:
                yield batch, 0.0, 1.0
        else:
            total = reader.num_record_batches
            for number in range(total):
                yield reader.get_batch(number), number / total, (number + 1) / total

    def _mapped(self) -> mmap.mmap:
        with self.path.open("rb") as file:
            if not self.path.stat().st_size:
                raise EOFError("an empty file")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _is_stream(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(len(STREAM)) == STREAM

    def _opened(self, mapped: mmap.mmap) -> Any:  # noqa: ANN401  # one of two readers
        opened = pa.ipc.open_stream if self._is_stream() else pa.ipc.open_file
        return opened(pa.BufferReader(pa.py_buffer(mapped)))


def _copied(column: pa.Array, mapped: mmap.mmap) -> pa.Array:
    """Return values in memory of their own, and let go of the pages that were looked at: megabytes for each column."""
    made = pa.concat_arrays([column, column.slice(0, 0)])  # of one array alone there would be no copy
    mapped.madvise(mmap.MADV_DONTNEED)
    return made


def _named(schema: pa.Schema, path: Path) -> dict[str, str]:
    """Return the names of columns as they are in the file, each with its name for people."""
    raw = [name for name in schema.names if not INDEX.fullmatch(name)]
    return dict(zip(raw, checked_names(raw, str(path)), strict=True))


def _types(schema: pa.Schema, path: Path) -> dict[str, pa.DataType]:
    return {name: schema.types[schema.names.index(raw)] for raw, name in _named(schema, path).items()}
