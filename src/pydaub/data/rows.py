"""The features of all rows in the form that learners see, in memory or memory-mapped from files."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from pydaub.errors import KEPT, FolderTrouble, InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydaub.data.schema import Array, Form

BLOCK: Final = 1 << 22  # cells checked at a time, to save memory
CACHE_LINE: Final = 64  # bytes
CSR: Final = ("data", "indices", "indptr")  # the arrays of a CSR matrix
LIBRARY: Final = b"pydaub.library"  # metadata key: the library whose frames learners get


@dataclass(frozen=True)
class Rows(ABC):
    """The rows of one form: an array, a sparse matrix or a table of Arrow."""

    form: ClassVar[Form]
    held: Any

    def __len__(self) -> int:
        return int(self.held.shape[0])

    @property
    def features(self) -> int:
        """The number of columns."""
        return int(self.held.shape[1])

    @abstractmethod
    def first(self, size: int) -> Any:  # noqa: ANN401  # an array, a matrix or a frame
        """Return the first `size` rows, without copying any others."""

    def blocks(self, size: int) -> Any:  # noqa: ANN401  # as above
        """Return the first `size` rows in a form of which slices can be taken without reading the others."""
        return self.first(size)

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """Return the rows at these positions, in this order."""

    def divided(self, first: Array, second: Array) -> tuple[Rows, Rows]:
        """Return the rows at these positions and those at the others; these rows must not be used any more."""
        return self.take(first), self.take(second)

    @abstractmethod
    def infinite(self) -> dict[int, int]:
        """Return how many infinite values each column has that has any, by its place."""

    @abstractmethod
    def parts(self) -> Iterator[bytes | Array]:
        """Yield the content of the rows, for a fingerprint."""

    @abstractmethod
    def write(self, stem: Path) -> None:
        """Write files whose names begin with `stem`."""

    @classmethod
    @abstractmethod
    def mapped(cls, stem: Path, shape: tuple[int, int]) -> Self:
        """Memory-map the files that `write` wrote, of so many rows and columns."""


class MatrixRows(Rows):
    """A numeric array in row-major order."""

    form = "matrix"

    def first(self, size: int) -> Array:
        """Return a view."""
        return self.held[:size]

    def take(self, rows: Array) -> Self:
        """Return the rows at these positions, in this order."""
        return type(self)(np.ascontiguousarray(self.held[rows]))

    def infinite(self) -> dict[int, int]:
        """Return how many infinite values each column has that has any, by its place."""
        with np.errstate(all="ignore"):
            if np.isfinite(self.held.sum()):  # the usual case, checked quickly
                return {}
        counts = self._count(np.isinf)
        return {place: counts[place] for place in np.flatnonzero(counts).tolist()}

    def missing(self) -> Array:
        """Return the number of missing values in each column."""
        return self._count(np.isnan) if self.held.dtype.kind == "f" else np.zeros(self.features, dtype=int)

    def parts(self) -> Iterator[bytes | Array]:
        """Yield the content of the rows, for a fingerprint."""
        yield self.held

    def write(self, stem: Path) -> None:
        """Write one file."""
        save_array(f"{stem}.npy", self.held)

    @classmethod
    def mapped(cls, stem: Path, shape: tuple[int, int]) -> Self:
        """Memory-map the files that `write` wrote."""
        return cls(mapped(stem).reshape(shape))

    def _count(self, test: np.ufunc) -> Array:
        """Return the number of values in each column that pass a test."""
        step = max(1, BLOCK // self.features)
        blocks = (self.held[start : start + step] for start in range(0, len(self), step))
        return sum((test(block).sum(axis=0) for block in blocks), np.zeros(self.features, dtype=int))


class OwnMatrixRows(MatrixRows):
    """A matrix that nobody else uses, whose rows can be put in order without a copy of it."""

    def divided(self, first: Array, second: Array) -> tuple[Rows, Rows]:
        """Return the rows at these positions and those at the others, which all differ, as views."""
        order, matrix = np.concatenate([first, second]), self.held
        step = max(CACHE_LINE // matrix.itemsize, BLOCK // max(len(self), 1))
        for start in range(0, self.features, step):
            columns = slice(start, start + step)
            matrix[: len(order), columns] = matrix[order, columns]
        return MatrixRows(matrix[: len(first)]), MatrixRows(matrix[len(first) : len(order)])


class SparseRows(Rows):
    """A CSR matrix with sorted indices, of 32 bits if possible, as all learners accept it."""

    form = "sparse"

    @classmethod
    def of(cls, values: Any, features: int | None = None) -> Self:  # noqa: ANN401  # any sparse matrix
        """Return a copy of any sparse matrix in this form.

        With `features`, it gets this many columns: empty ones are added, or the last ones removed.
        """
        made = sparse.csr_matrix(values, copy=True)
        made.resize(made.shape[0], features or made.shape[1])
        made.sum_duplicates()
        return cls(sparse.csr_matrix((made.data, made.indices, made.indptr), made.shape))  # which narrows the indices

    def first(self, size: int) -> sparse.csr_matrix:
        """Return the first `size` rows as views."""
        data, indices, indptr = self.parts()
        end = indptr[size]
        return _csr(data[:end], indices[:end], indptr[: size + 1], self.features)

    def take(self, rows: Array) -> Self:
        """Return the rows at these positions, in this order."""
        return self.of(self.held[rows])

    def infinite(self) -> dict[int, int]:
        """Return how many infinite values each column has that has any, by its place."""
        found = self.held.indices[np.isinf(self.held.data)] if self.held.dtype.kind == "f" else np.array([], int)
        return dict(zip(*(part.tolist() for part in np.unique(found, return_counts=True)), strict=True))

    def parts(self) -> Iterator[Array]:
        """Yield the content of the rows, for a fingerprint."""
        yield from (getattr(self.held, name) for name in CSR)

    def write(self, stem: Path) -> None:
        """Write three files."""
        for name, part in zip(CSR, self.parts(), strict=True):
            save_array(f"{stem}.{name}.npy", part)

    @classmethod
    def mapped(cls, stem: Path, shape: tuple[int, int]) -> Self:
        """Memory-map the files that `write` wrote."""
        data, indices, indptr = (mapped(f"{stem}.{name}") for name in CSR)
        return cls(_csr(data, indices, indptr, shape[1]))


class FrameRows(Rows):
    """Columns of several types: stored as an Arrow table, handed out as frames of pandas or polars, or as documents.

    Rows in memory are stored in the same way as rows in a file, so that learners get identical frames from both.
    """

    form = "frame"

    @classmethod
    def of(cls, frame: Any, name: str) -> Self:  # noqa: ANN401  # a frame of either library
        """Return a frame of pandas or polars in this form; an index of pandas is ignored."""
        if isinstance(frame, pd.DataFrame):
            columns = {str(column): array_of(frame[column], column, name) for column in frame.columns}
            with _quiet():
                kept = pa.Schema.from_pandas(frame.iloc[:0].set_axis(list(columns), axis=1), preserve_index=False)
            table, library = pa.table(columns), b"pandas"
            metadata = kept.metadata or {}
        else:
            table, library, metadata = frame.rechunk().to_arrow(), b"polars", {}
        for column in table.schema:
            if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
                raise _unusable(column.name, name, column.type)
        return cls(table.replace_schema_metadata({**metadata, LIBRARY: library}))

    @classmethod
    def of_table(cls, table: pa.Table) -> Self:
        """Return a table of plain types, of which learners get frames of pandas."""
        return cls(table.replace_schema_metadata({LIBRARY: b"pandas"}))

    @classmethod
    def of_texts(cls, texts: Array, name: str) -> Self:
        """Return documents, of which learners get an array of one dimension."""
        table = pa.table({"text": array_of(pd.Series(texts, dtype=object), "text", name)})
        return cls(table.replace_schema_metadata({LIBRARY: b"texts"}))

    def first(self, size: int) -> Any:  # noqa: ANN401  # a frame of either library
        """Return the first `size` rows; numbers without missing values are views."""
        return self.frame(0, size)

    def blocks(self, size: int) -> Any:  # noqa: ANN401  # as `first`, but not in memory
        """Return the first `size` rows such that each slice is read as a frame when it is taken."""
        return _FrameBlocks(self, (size, self.features))

    def frame(self, start: int, size: int) -> Any:  # noqa: ANN401  # as above
        """Return `size` rows from `start` on."""
        table = self.held.slice(start, size)
        if table.schema.metadata[LIBRARY] == b"polars":
            import polars  # noqa: ICN001, PLC0415  # an optional library, imported in full so that its name is clear

            return polars.from_arrow(table)
        if table.schema.metadata[LIBRARY] == b"texts":
            return table.column(0).to_pandas().to_numpy(dtype=object)
        return frame_of(table)

    def take(self, rows: Array) -> Self:
        """Return the rows at these positions, in this order."""
        return type(self)(self._table().take(pa.array(rows)).combine_chunks())

    def infinite(self) -> dict[int, int]:
        """Return how many infinite values each column has that has any, by its place."""
        columns = self._table().columns
        floats = {place: column for place, column in enumerate(columns) if pa.types.is_floating(column.type)}
        counts = {place: pc.sum(pc.is_inf(column)).as_py() for place, column in floats.items()}
        return {place: count for place, count in counts.items() if count}

    def parts(self) -> Iterator[bytes | Array]:
        """Yield types and hashes of values: the bytes of an Arrow table are undefined where values are missing."""
        table = self._table()
        yield table.schema.metadata[LIBRARY]
        for column in table.schema:
            yield f"{column.name}: {column.type}".encode()
            values = table[column.name].to_pandas(date_as_object=False)
            yield pd.util.hash_pandas_object(values, index=False).to_numpy()

    def write(self, stem: Path) -> None:
        """Write one file of one batch."""
        with pa.OSFile(f"{stem}.arrow", "wb") as file, pa.ipc.new_file(file, self.held.schema) as writer:
            writer.write_table(self._table().unify_dictionaries())

    @classmethod
    def mapped(cls, stem: Path, shape: tuple[int, int]) -> Self:
        """Memory-map the files that `write` wrote; batches of rows are looked up when they are used."""
        reader = pa.ipc.open_file(pa.memory_map(f"{stem}.arrow"))
        if len(reader.schema) != shape[1]:
            raise ValueError(f"{shape[1]} columns were expected")
        return cls(_TableFile(reader, shape))

    def _table(self) -> pa.Table:
        """Return all rows as a table."""
        return self.held.slice(0, len(self))


@dataclass(frozen=True)
class _TableFile:
    """A memory-mapped Arrow file, used like a table. Only the batches that hold wanted rows are looked up."""

    reader: Any
    shape: tuple[int, int]
    ends: list[int] = field(default_factory=lambda: [0])  # rows up to each batch that was looked up

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self.reader.schema

    def slice(self, start: int, length: int) -> pa.Table:
        """Return so many rows from `start` on."""
        stop = min(start + length, self.shape[0])
        while self.ends[-1] < stop:
            self.ends.append(self.ends[-1] + self._batch(len(self.ends) - 1).num_rows)
        first, last = bisect_right(self.ends, start) - 1, bisect_left(self.ends, stop)
        batches = [self._batch(number) for number in range(first, last)]
        return pa.Table.from_batches(batches, self.schema).slice(start - self.ends[first], stop - start)

    def _batch(self, number: int) -> pa.RecordBatch:
        try:
            return self.reader.get_batch(number)
        except (pa.ArrowException, OSError, IndexError) as error:  # it has changed since it was opened
            reason = one_line(error).rstrip(".")
            raise FolderTrouble(f"The prepared rows could not be read: {reason}. {KEPT}") from None


@dataclass(frozen=True)
class _FrameBlocks:
    """The first rows of a table. A slice of them is read as a frame when it is asked for."""

    rows: FrameRows
    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, block: slice) -> Any:  # noqa: ANN401  # a frame of either library
        start, stop, _ = block.indices(len(self))
        return self.rows.frame(start, stop - start)


FORMS: Final[Mapping[Form, type[Rows]]] = {kind.form: kind for kind in (MatrixRows, SparseRows, FrameRows)}


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame of pandas; of a table that was none, bools may be missing."""
    was_pandas = b"pandas" in (table.schema.metadata or {})
    nullable = None if was_pandas else {pa.bool_(): pd.BooleanDtype()}.get
    return table.to_pandas(date_as_object=False, split_blocks=True, types_mapper=nullable)


def save_array(path: Path | str, array: Array) -> None:
    """Save an array. On a full disk the error says so, which NumPy's does not if it writes to the file by itself."""
    with open(path, "wb") as file:  # noqa: PTH123  # of either type
        np.save(SimpleNamespace(write=file.write), array)  # all that it needs


def mapped(stem: Path | str, *, writable: bool = False) -> Array:
    """Memory-map a saved array, read-only or such that what is written to it does not reach the file."""
    return np.asarray(np.load(f"{stem}.npy", mmap_mode="c" if writable else "r"))


def _csr(data: Array, indices: Array, indptr: Array, features: int) -> sparse.csr_matrix:
    """Return a matrix of these arrays; scipy's constructor would check or copy them."""
    matrix = sparse.csr_matrix((len(indptr) - 1, features), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True  # stated, because scipy would sort in place, which fails in a mapped file
    return matrix


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress pandas' warning about how Arrow 25 reads dates with a time zone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*returning an ndarray that drops timezone information", DeprecationWarning)
        yield


def array_of(values: pd.Series[Any], column: object, name: str) -> pa.Array:
    """Return a column of pandas as an Arrow array; raise if its values are not of one type."""
    try:
        with _quiet():
            return pa.Array.from_pandas(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kinds = sorted({type(value).__name__ for value in values.dropna()})
        raise _unusable(column, name, " and ".join(kinds) if len(kinds) > 1 else str(error).splitlines()[0]) from None


def _unusable(column: object, name: str, found: object) -> InputError:
    return InputError(
        f"Column {str(column)!r} of `{name}` must hold values of one type (numbers, text or dates), got {found}. "
        "Convert it first: mixed values by astype(str), sparse columns by sparse.to_dense()."
    )
