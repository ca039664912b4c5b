"""A CSV, Parquet or Arrow file, read a few rows at a time."""

from __future__ import annotations

import codecs
import mmap
import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from pydaub.data.formats.arrow import ARROW, PARQUET, named_columns, opened
from pydaub.data.formats.base import BOM, GZIP, FileFormat, format_of, read_as, refuse_zero_bytes, wrong_encoding
from pydaub.data.formats.csv import CSV, MISSING, column_names, delimiter, is_open, open_quote, ragged_row
from pydaub.data.formats.stores import File, Stored, native
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

READ_AHEAD: Final = 1 << 20  # bytes per column; Parquet's default reads gigabytes ahead
LEAST_READ_AHEAD: Final = 1 << 14
HEAD: Final = 1 << 20  # bytes in which the delimiter and the names are found, unless there are very many names
MOST_HEAD: Final = 1 << 26
READS_PER_BLOCK: Final = 8  # a read must be smaller than a block, as rows may be wider than those before
PAGES_PER_BLOCK: Final = 4  # the same for Parquet, where small reads take longer
FIRST_ROWS: Final = 100  # whose width is measured: Parquet's metadata counts only the codes of dictionaries
ARROW_MAGIC: Final = 8  # bytes before the messages of an Arrow file, which are those of an Arrow stream


@dataclass(frozen=True)
class TableFile(ABC):
    """A file of a table. The encoding counts for text only."""

    path: File
    encoding: str | None = None

    @abstractmethod
    def types(self) -> dict[str, pa.DataType]:
        """Return the columns with their types; all columns of a CSV file are text."""

    @abstractmethod
    def need(self, names: Sequence[str], size: int, most: int) -> tuple[int, str]:
        """Return the bytes that reading takes in addition to the rows, and a description of what takes them.

        The number is exact only if it exceeds `most`.
        """

    @abstractmethod
    def tables(self, types: Mapping[str, pa.DataType], size: int) -> Iterator[tuple[pa.Table, float]]:
        """Yield these columns of at most about `size` bytes, with the share of the file that has been read.

        A CSV file is converted to these types; the others keep their own.
        """


def table_file(path: File, encoding: str | None) -> TableFile:
    """Return a file that is read as the ending of its name says."""
    return KINDS[format_of(path, KINDS)](path, encoding)


class _CsvFile(TableFile):
    """A CSV file, which may be gzipped. A byte-order mark and blank lines before the names are skipped."""

    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self._head()[0], pa.string())

    def need(self, _names: Sequence[str], _size: int, _most: int) -> tuple[int, str]:
        return 0, ""  # text is read in blocks of any size

    def tables(self, types: Mapping[str, pa.DataType], size: int) -> Iterator[tuple[pa.Table, float]]:
        found, has_rows, separator, blank = self._head()
        if not has_rows:
            return
        wanted = {found[-1]: pa.string(), **types}  # the last column shows whether a quote is open at the end
        convert = pv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            include_columns=list(wanted),
            column_types=wanted,
        )
        reading = pv.ReadOptions(
            column_names=found,
            skip_rows=blank,
            skip_rows_after_names=1,
            block_size=max(size // READS_PER_BLOCK, 1),  # Arrow reads some dozens of these ahead
            encoding=self.encoding or "utf8",
            use_threads=False,
        )
        parse = pv.ParseOptions(delimiter=separator, newlines_in_values=True)
        total, unclosed = max(self.path.stat().st_size, 1), False
        with read_as(self.path, "text table"), native(self.path) as raw:
            try:
                for batch in pv.open_csv(self._unpacked(raw), reading, parse, convert):
                    table = pa.Table.from_batches([batch])
                    if table.num_rows:
                        unclosed = is_open(table[found[-1]])
                    yield table.select(list(types)), min(1.0, raw.tell() / total)
            except pa.ArrowInvalid as error:
                raise self._explained(error, size) from None
        if unclosed and self._last_character() != '"':
            raise open_quote(str(self.path))

    def _explained(self, error: pa.ArrowInvalid, size: int) -> Exception:
        if "straddl" in str(error):
            return InputError(
                f"{self.path} must have rows of less than {size:,} bytes, got a longer one. Is a quote not closed in"
                " it? Otherwise give more memory."
            )
        if ragged := re.search(r"Expected (\d+) columns, got (\d+): (.*)", str(error), re.DOTALL):
            expected, found, text = ragged.groups()
            return ragged_row(str(self.path), int(expected), int(found), text)
        return wrong_encoding(self.path, self.encoding) if "invalid UTF8" in str(error) else error

    def _unpacked(self, raw: pa.NativeFile) -> pa.NativeFile:
        packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        return pa.CompressedInputStream(raw, "gzip") if packed else raw

    def _last_character(self) -> str:
        """Return the last character that is not blank."""
        decoder, last = codecs.getincrementaldecoder(self.encoding or "utf-8")(), ""
        with read_as(self.path, "text table"), native(self.path) as raw:
            source = self._unpacked(raw)
            while content := source.read(HEAD):
                last = decoder.decode(content).rstrip()[-1:] or last
        return last

    def _head(self) -> tuple[list[str], bool, str, int]:
        """Return the names, whether any row follows, the delimiter, and the number of blank lines before the names."""
        with read_as(self.path, "text table"), native(self.path) as raw:
            source, head, wanted = self._unpacked(raw), b"", HEAD
            while True:
                head += bytes(source.read(wanted - len(head)))
                found = self._parsed(head, ended=len(head) < wanted)
                if found[1] or len(head) < wanted or wanted >= MOST_HEAD:
                    return found
                wanted *= 4  # the names may be longer than what was read

    def _parsed(self, head: bytes, *, ended: bool) -> tuple[list[str], bool, str, int]:
        """Do the same for the first bytes of a file, or all of them."""
        try:  # incrementally, because the last character may be cut
            text = codecs.getincrementaldecoder(self.encoding or "utf-8")().decode(head).removeprefix(BOM)
        except UnicodeError as error:
            raise wrong_encoding(self.path, self.encoding, error, head) from None
        refuse_zero_bytes(self.path, text)
        written = text.lstrip("\r\n")
        if not written.strip():
            raise InputError(f"{self.path} must name its columns in its first line, got an empty file.")
        blank = len(text[: len(text) - len(written)].splitlines())
        separator = delimiter(written if ended else written.rpartition("\n")[0] or written)
        return *column_names(written, separator, str(self.path)), separator, blank


class _ParquetFile(TableFile):
    """A Parquet file, of which one page per column is in memory at a time."""

    def types(self) -> dict[str, pa.DataType]:
        with read_as(self.path, "Parquet file"):
            return _types(pq.read_schema(native(self.path)), self.path)

    def need(self, names: Sequence[str], size: int, most: int) -> tuple[int, str]:
        """Return what the pages and dictionaries of the largest row group take.

        The metadata has the size of whole columns only. If these are too large, the first page of each column is read,
        one column at a time, to measure what its pages take.
        """
        with read_as(self.path, "Parquet file"):
            file, picked = self._opened(names, size)
            columns = range(file.metadata.num_columns)

            def whole(group: int) -> int:
                chunks = [file.metadata.row_group(group).column(place) for place in columns]
                mine = [chunk for chunk in chunks if chunk.path_in_schema in picked]
                return sum(chunk.total_uncompressed_size + chunk.total_compressed_size for chunk in mine)

            largest = max(range(file.num_row_groups), key=whole, default=0)
            need = whole(largest) if file.num_row_groups else 0
            if need > most:
                need = sum(next(_held(file.iter_batches(1, [largest], [name])), 0) for name in picked)
            return need, "pages and dictionaries of a row group, which are decompressed as a whole"

    def tables(self, types: Mapping[str, pa.DataType], size: int) -> Iterator[tuple[pa.Table, float]]:
        """Yield rows; how many is estimated from the width of the rows before. Text may be dictionary-encoded."""
        with read_as(self.path, "Parquet file"):
            file, picked = self._opened(list(types), size)
            total, read, width = max(file.metadata.num_rows, 1), 0, 0.0
            for group in range(file.num_row_groups):
                about = file.metadata.row_group(group)
                if not about.num_rows:
                    continue
                if not width:
                    first = next(file.iter_batches(FIRST_ROWS, [group], picked))
                    width = first.nbytes / first.num_rows
                width = max(width, 8 * len(types), about.total_byte_size / about.num_rows)
                rows = max(1, int(size / PAGES_PER_BLOCK / width))
                for batch in file.iter_batches(rows, [group], picked):
                    read += batch.num_rows
                    width = batch.nbytes / batch.num_rows
                    table = pa.Table.from_batches([batch]).select(picked).rename_columns(list(types))
                    yield table, read / total

    def _opened(self, names: Sequence[str], size: int) -> tuple[pq.ParquetFile, list[str]]:
        """Return the file, and the columns as they are named in it."""
        ahead = min(max(size // max(len(names), 1), LEAST_READ_AHEAD), READ_AHEAD)
        file = pq.ParquetFile(native(self.path), pre_buffer=False, buffer_size=ahead, page_checksum_verification=True)
        return file, _picked(file.schema_arrow, names, self.path)


class _ArrowFile(TableFile):
    """A memory-mapped Arrow or Feather file, or an Arrow stream saved as a file."""

    def types(self) -> dict[str, pa.DataType]:
        with read_as(self.path, "Arrow file"):
            return _types(self._opened()[0].schema, self.path)

    def need(self, names: Sequence[str], _size: int, _most: int) -> tuple[int, str]:
        """Return what the largest batch takes once it is decompressed; 0 if batches are not compressed.

        Each batch is decompressed one column at a time to measure that: its metadata does not say.
        """
        held: Counter[int] = Counter()
        with read_as(self.path, "Arrow file"):
            reader, mapped = self._opened()
            start = ARROW_MAGIC if isinstance(reader, pa.RecordBatchFileReader) else 0
            for raw in _picked(reader.schema, names, self.path):
                source = pa.BufferReader(pa.py_buffer(mapped))
                source.seek(start)
                place = reader.schema.get_field_index(raw)
                options = pa.ipc.IpcReadOptions(included_fields=[place], use_threads=False)
                for number, taken in enumerate(_held(iter(pa.ipc.open_stream(source, options=options)))):
                    held[number] += taken
                    mapped.madvise(mmap.MADV_DONTNEED)
        return max(held.values(), default=0), "a compressed batch, which is decompressed as a whole"

    def tables(self, types: Mapping[str, pa.DataType], size: int) -> Iterator[tuple[pa.Table, float]]:
        """Yield slices of batches; mapped pages take memory only once they are read."""
        with read_as(self.path, "Arrow file"):
            reader, mapped = self._opened()
            picked = _picked(reader.schema, types, self.path)  # selected below: a reader of some columns copies them
            for batch, before, after in _batches(reader):
                rows = max(1, size * batch.num_rows // max(batch.nbytes, 1))
                for start in range(0, batch.num_rows, rows):
                    some = batch.slice(start, rows)
                    columns = [_copied(some[raw], mapped) for raw in picked]
                    share = before + (after - before) * (start + some.num_rows) / batch.num_rows
                    yield pa.table(columns, list(types)), share
                del batch, some  # before the next one is decompressed

    def _opened(self) -> tuple[Any, mmap.mmap]:
        if isinstance(self.path, Stored):
            raise InputError(f"{self.path} must be a local file, or a Parquet or CSV file, got an Arrow file. Copy it.")
        with self.path.open("rb") as file:
            if not self.path.stat().st_size:
                raise EOFError("an empty file")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return opened(pa.BufferReader(pa.py_buffer(mapped))), mapped


def _batches(reader: Any) -> Iterator[tuple[pa.RecordBatch, float, float]]:  # noqa: ANN401  # pyarrow has no types
    """Yield batches, with the shares of the file before and after each; the number of a stream's is unknown."""
    if isinstance(reader, pa.RecordBatchFileReader):
        total = reader.num_record_batches
        for number in range(total):
            yield reader.get_batch(number), number / total, (number + 1) / total
    else:
        for batch in reader:
            yield batch, 0.0, 1.0


def _held(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """Yield the bytes that Arrow allocates for each batch, including the buffers of the reader."""
    while True:
        before = _allocated()
        batch = next(batches, None)
        if batch is None:
            return
        taken = _allocated() - before
        del batch
        pa.default_memory_pool().release_unused()  # otherwise freed memory stays with the process
        yield taken


def _allocated() -> int:
    """Return the bytes in all memory pools: Parquet pages ignore `pa.set_memory_pool`."""
    return sum(getattr(pa, f"{name}_memory_pool")().bytes_allocated() for name in pa.supported_memory_backends())


def _copied(column: pa.Array, mapped: mmap.mmap) -> pa.Array:
    """Copy values to memory of their own and release the mapped pages, which would add up to megabytes per column."""
    made = pa.concat_arrays([column, column.slice(0, 0)])  # a single array would not be copied
    mapped.madvise(mmap.MADV_DONTNEED)
    return made


def _picked(schema: pa.Schema, names: Iterable[str], path: File) -> list[str]:
    """Return the columns as they are named in the file."""
    raw = named_columns(schema, str(path))
    return [raw[name] for name in names]


def _types(schema: pa.Schema, path: File) -> dict[str, pa.DataType]:
    return {name: schema.field(raw).type for name, raw in named_columns(schema, str(path)).items()}


KINDS: Final[Mapping[FileFormat, type[TableFile]]] = {CSV: _CsvFile, PARQUET: _ParquetFile, ARROW: _ArrowFile}
