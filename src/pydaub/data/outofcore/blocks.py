"""A file or a folder of files that may be larger than memory, read in blocks of rows, as often as needed.

All blocks have the same columns with the same types, whatever the files are: the Arrow types that `plain` returns, but
without dictionaries, so that the memory of a block is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from pydaub.data.formats.base import check_encoding
from pydaub.data.formats.csv import CSV
from pydaub.data.formats.folders import cast, common_types, files_of
from pydaub.data.loading import is_prepared
from pydaub.data.outofcore.behind import ahead
from pydaub.data.outofcore.files import TableFile, table_file
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from pydaub.data.formats.stores import File

LARGEST_BLOCK: Final = 1 << 30  # bytes, so that the 32-bit offsets of text suffice
TRIMMED: Final = 2  # blocks after which freed memory is returned to the system, which then clears it again
READING_SHARE: Final = 1 / 3  # of the memory, for what must be decompressed as a whole


@dataclass(frozen=True)
class Blocks:
    """The rows of `files`, all of one format, in blocks of about `size` bytes. Columns of CSV files are text."""

    files: tuple[TableFile, ...]
    types: Mapping[str, pa.DataType]
    size: int

    @classmethod
    def of(cls, source: str | Path, size: int, encoding: str | None = None, drop: Collection[str] = ()) -> Blocks:
        """Return the blocks of a file, or of the files of a folder or a glob."""
        check_encoding(encoding)
        files = tuple(table_file(path, encoding) for path in _paths(source))
        return cls(files, common_types([(each.path, each.types()) for each in files], drop), size)

    @property
    def paths(self) -> tuple[File, ...]:
        """The paths of the files."""
        return tuple(each.path for each in self.files)

    @property
    def are_text(self) -> bool:
        """Whether the types of columns must be inferred."""
        return CSV.matches(self.files[0].path)

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    def check_memory(self, memory: int) -> None:
        """Raise if reading a file takes more than its share of the memory, in addition to the rows."""
        most = int(READING_SHARE * memory)
        for each in self.files:
            need, what = each.need(self.names, self.size, most)
            if need > most:
                raise InputError(
                    f"{each.path} must be readable with {most / 1e6:,.0f} MB at a time, got {need / 1e6:,.0f} MB for"
                    f" {what}. Give {(need / READING_SHARE - memory) / 1e6:,.0f} MB more memory, or write the file"
                    " again in smaller pieces."
                )

    def read(self, types: Mapping[str, pa.DataType] | None = None, skip: int = 0) -> Iterator[tuple[pa.Table, int]]:
        """Yield blocks, without the first `skip`, and how many bytes of the files have been read up to each.

        `types` gives the types of the columns of CSV files; the default is text. While a block is used, a thread reads
        the next one.
        """
        for number, block in enumerate(ahead(self._read(types, skip)), start=1):
            yield block
            del block
            if number % TRIMMED == 0:
                pa.default_memory_pool().release_unused()  # otherwise freed memory stays with the process

    def _read(self, types: Mapping[str, pa.DataType] | None, skip: int) -> Iterator[tuple[pa.Table, int]]:
        done, place = 0, 0
        wanted = {**self.types, **(types or {})}
        for each in self.files:
            size = each.path.stat().st_size
            for table, share in self._blocks(each, wanted):
                place += 1
                if place > skip:
                    yield table, done + int(share * size)
            done += size

    def _blocks(self, each: TableFile, types: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.Table, float]]:
        """Collect the tables of a file into blocks."""
        size = min(self.size, LARGEST_BLOCK)
        held: list[pa.Table] = []
        room, share = size, 0.0
        for table, now in each.tables(types, size):
            for piece in _pieces(table, size):
                piece = cast(piece, types, each.path)  # noqa: PLW2901  # the same rows in other types
                taken = piece.nbytes  # which is slow with many columns
                if held and taken > room:
                    yield pa.concat_tables(held), share
                    held, room = [], size
                held.append(piece)
                room -= taken
            share = now
        if held:
            yield pa.concat_tables(held), share


def _paths(source: str | Path) -> list[File]:
    """Return the files of the source, which must not be prepared already."""
    if is_prepared(source):
        raise InputError(
            f"{source} must be data to prepare, got data that is prepared already. Run it: pydaub run {source}"
        )
    return files_of(source)


def _pieces(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """Yield slices of at least one row and at most `size` bytes once dictionaries are decoded."""
    for start in range(0, table.num_rows, max(1, size // 8)):  # so that measuring them takes little memory too
        yield from _halves(table.slice(start, max(1, size // 8)), size)


def _halves(table: pa.Table, size: int) -> Iterator[pa.Table]:
    if table.num_rows <= 1 or _decoded_size(table) <= size:
        yield table
        return
    middle = table.num_rows // 2
    yield from _halves(table.slice(0, middle), size)
    yield from _halves(table.slice(middle), size)


def _decoded_size(table: pa.Table) -> int:
    """Return the bytes of a table without dictionaries and views, which store a repeated text once."""
    total, types = 0, pa.types
    if not any(types.is_dictionary(kind) or types.is_string_view(kind) for kind in table.schema.types):
        return table.nbytes
    for column in table.columns:
        if types.is_dictionary(column.type):
            for chunk in column.chunks:
                texts = chunk.dictionary.cast(pa.large_string())
                total += 8 * len(chunk) + (pc.sum(pc.binary_length(texts).take(chunk.indices)).as_py() or 0)
        elif types.is_string_view(column.type):
            total += 8 * len(column) + (pc.sum(pc.binary_length(column.cast(pa.large_string()))).as_py() or 0)
        else:
            total += column.nbytes
    return total
