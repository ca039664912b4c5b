"""A file, or a folder of files, that may be larger than memory: read again and again, a block of rows at a time."""

from __future__ import annotations

import codecs
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from pydaub.data.arrow import INDEX
from pydaub.data.csv import MISSING, delimiter
from pydaub.data.files import CSV, FEATHER, PARQUET
from pydaub.data.source import BOM, checked_names, listed
from pydaub.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

READ_AT_ONCE: Final = 1 << 20  # bytes; the default of Parquet reads gigabytes ahead
MOST_AT_ONCE: Final = 1 << 30  # bytes; more is more than 32 bits can count
LOOKED_AT: Final = 1 << 20  # bytes, for the delimiter and the names


@dataclass(frozen=True)
class Blocks:
    """The rows of `paths`, all of one format, in blocks of about `size` bytes.

    `types` are those of the columns of text files; without them all of these come as text.
    """

    paths: tuple[Path, ...]
    size: int
    encoding: str | None = None

    @classmethod
    def of(cls, source: str | Path, size: int, encoding: str | None = None) -> Blocks:
        """Return the blocks of a file, or of all files of a folder in the order of their names."""
        path, size = Path(source), min(size, MOST_AT_ONCE)
        try:
            codecs.lookup(encoding or "utf-8")
        except LookupError:
            raise InputError(f"`encoding` must be one that Python knows, such as latin-1, got {encoding!r}.") from None
        if path.is_file():
            return cls((path,), size, encoding)
        if not path.is_dir():
            raise InputError(f"{path} must be a file or a folder, got no such thing.")
        found = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith((".", "_")))
        kinds = {_kind(each) for each in found}
        if len(kinds) != 1:
            what = "none" if not found else listed(each.name for each in found)
            raise InputError(f"{path} must hold files of one format, CSV, Parquet or Arrow, got {what}.")
        return cls(tuple(found), size, encoding)

    @property
    def are_text(self) -> bool:
        """Whether the types of columns must be found out."""
        return _kind(self.paths[0]) == "text"

    @property
    def bytes(self) -> int:
        """How large the files are together."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def names(self) -> list[str]:
        """The columns, which all files must have alike."""
        first = self._names(self.paths[0])
        for path in self.paths[1:]:
            if (others := self._names(path)) != first:
                differ = sorted({*first} ^ {*others}) or ["their order"]
                raise InputError(f"{path} must have the columns of {self.paths[0].name}, got others: {listed(differ)}.")
        return first

    def _names(self, path: Path) -> list[str]:
        kind = _kind(path)
        try:
            if kind == "parquet":
                return _plain_names(pq.read_schema(path), path)
            if kind == "arrow":
                return _plain_names(pa.ipc.open_file(pa.OSFile(str(path))).schema, path)
            return checked_names(
                next(csv.reader([self._head(path).splitlines()[0]], delimiter=self._parting(path))), str(path)
            )
        except (pa.ArrowException, OSError, UnicodeError, csv.Error, IndexError) as error:
            raise InputError(f"{path} must be a table with names for its columns, got {one_line(error)}.") from None

    def _head(self, path: Path) -> str:
        with pa.input_stream(str(path)) as file:  # unpacked, if it is packed
            text = bytes(file.read(LOOKED_AT)).decode(self.encoding or "utf-8", errors="replace")
        return text.removeprefix(BOM).lstrip("\r\n")

    def _parting(self, path: Path) -> str:
        return delimiter(self._head(path).rpartition("\n")[0] or self._head(path))

    def read(self, types: Mapping[str, pa.DataType] | None = None, skip: int = 0) -> Iterator[tuple[pa.Table, int]]:
        """Yield blocks and how many bytes of the files have been read with them; the first `skip` are passed over."""
        done, place = 0, 0
        for path in self.paths:
            size = path.stat().st_size
            try:
                for table, share in self._blocks(path, types):
                    place += 1
                    if place > skip:
                        yield table, done + int(share * size)
            except (pa.ArrowException, OSError, UnicodeError) as error:
                raise InputError(f"{path} must be a whole table, got {one_line(error)}.") from None
            done += size

    def _blocks(self, path: Path, types: Mapping[str, pa.DataType] | None) -> Iterator[tuple[pa.Table, float]]:
        kind = _kind(path)
        if kind == "text":
            yield from self._text_blocks(path, types or {})
        elif kind == "parquet":
            file = pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AT_ONCE)
            total = max(file.metadata.num_rows, 1)
            packed = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
            width = max(packed // total, 8 * len(file.schema_arrow.names))  # of dictionaries only the codes are counted
            read = 0
            for batch in file.iter_batches(batch_size=max(1, self.size // width)):
                read += batch.num_rows
                yield pa.Table.from_batches([batch]), read / total
        else:
            with pa.OSFile(str(path)) as opened:
                reader = pa.ipc.open_file(opened)
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number)
                    rows = max(1, self.size * batch.num_rows // max(batch.nbytes, 1))
                    for start in range(0, batch.num_rows, rows):
                        share = (number + min(1.0, (start + rows) / batch.num_rows)) / reader.num_record_batches
                        yield pa.Table.from_batches([batch.slice(start, rows)]), share

    def _text_blocks(self, path: Path, types: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.Table, float]]:
        names = self._names(path)
        convert = pv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            column_types={name: types.get(name, pa.string()) for name in names},
        )
        reading = pv.ReadOptions(
            column_names=names,
            skip_rows_after_names=1,
            block_size=self.size,
            encoding=self.encoding or "utf8",
            use_threads=False,
        )
        parse = pv.ParseOptions(delimiter=self._parting(path), newlines_in_values=True)
        size = max(path.stat().st_size, 1)
        read = 0
        with pv.open_csv(str(path), read_options=reading, parse_options=parse, convert_options=convert) as reader:
            for batch in reader:
                read += batch.nbytes
                yield pa.Table.from_batches([batch]), min(1.0, read / size)


def _plain_names(schema: pa.Schema, path: Path) -> list[str]:
    return checked_names([name for name in schema.names if not INDEX.fullmatch(name)], str(path))


def _kind(path: Path) -> str:
    name = path.name.lower()
    for kind, ends in (("text", CSV), ("parquet", PARQUET), ("arrow", FEATHER)):
        if name.endswith(ends):
            return kind
    raise InputError(f"{path} must end in {', '.join((*CSV[:4], *PARQUET, *FEATHER))}, got {path.suffix!r}.")
