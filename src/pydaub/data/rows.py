"""The features of all rows in the form that learners see, in memory or memory-mapped from files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydaub.data.schema import Array, Form

BLOCK: Final = 1 << 22  # cells checked at a time, to save memory
LIBRARY: Final = b"pydaub.library"  # metadata key: the library whose frames learners get


class Rows(Protocol):
    """The rows of one form."""

    def __len__(self) -> int: ...

    @property
    def features(self) -> int:
        """The number of columns."""

    def first(self, size: int) -> Any:  # noqa: ANN401  # an array, a matrix or a frame
        """Return the first `size` rows, without copying any others."""

    def take(self, rows: Array) -> Self:
        """Return the rows at these positions, in this order."""

    def infinite(self) -> dict[int, int]:
        """Return the number of infinite values by column, for columns that have any."""

    def parts(self) -> Iterator[bytes | Array]:
        """Yield the content of the rows, for a fingerprint."""

    def write(self, stem: Path) -> None:
        """Write files whose names begin with `stem`."""

    @classmethod
    def mapped(cls, stem: Path, features: int) -> Self:
        """Memory-map the files that `write` wrote."""


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """A numeric array in row-major order."""

    array: Array

    def __len__(self) -> int:
        return len(self.array)

    @property
    def features(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def first(self, size: int) -> Array:
        """Return a view."""
        return self.array[:size]

    def take(self, rows: Array) -> MatrixRows:
        """Return the rows at these positions, in this order."""
        return MatrixRows(np.ascontiguousarray(self.array[rows]))

    def infinite(self) -> dict[int, int]:
        """Return the number of infinite values by column, for columns that have any."""
        with np.errstate(all="ignore"):
            if np.isfinite(self.array.sum()):  # the usual case, checked quickly
                return {}
        return _counted(self._count(np.isinf))

    def missing(self) -> list[int]:
        """Return the number of missing values in each column."""
        return self._count(np.isnan).tolist() if self.array.dtype.kind == "f" else [0] * self.features

    def parts(self) -> Iterator[bytes | Array]:
        """Yield the content of the rows, for a fingerprint."""
        yield self.array

    def write(self, stem: Path) -> None:
        """Write one file."""
        np.save(f"{stem}.npy", self.array)

    @classmethod
    def mapped(cls, stem: Path, features: int) -> MatrixRows:
        """Memory-map the files that `write` wrote."""
        values = mapped(stem)
        return cls(values.reshape(len(values), features))

    def _count(self, test: np.ufunc) -> Array:
        """Return the number of values in each column that pass a test."""
        step = max(1, BLOCK // self.features)
        blocks = (self.array[start : start + step] for start in range(0, len(self.array), step))
        return sum((test(block).sum(axis=0) for block in blocks), np.zeros(self.features, dtype=int))


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A CSR matrix with sorted indices, of 32 bits if possible, as all learners accept it."""

    matrix: sparse.csr_matrix

    @classmethod
    def of(cls, values: Any) -> SparseRows:  # noqa: ANN401  # any sparse matrix
        """Return a copy of any sparse matrix in this form."""
        made = sparse.csr_matrix(values, copy=True)
        made.sum_duplicates()
        return cls(_csr(made.data, *_narrow(made.indices, made.indptr), made.shape[1]))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def features(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    def first(self, size: int) -> sparse.csr_matrix:
        """Return the first `size` rows as views."""
        matrix = self.matrix
        end = matrix.indptr[size]
        return _csr(matrix.data[:end], matrix.indices[:end], matrix.indptr[: size + 1], self.features)

    def take(self, rows: Array) -> SparseRows:
        """Return the rows at these positions, in this order."""
        return SparseRows.of(self.matrix[rows])

    def resized(self, features: int) -> SparseRows:
        """Return the rows with this many columns: empty ones are added, or the last ones removed."""
        made = self.matrix.copy()
        made.resize(len(self), features)
        return SparseRows.of(made)

    def infinite(self) -> dict[int, int]:
        """Return the number of infinite values by column, for columns that have any."""
        found = self.matrix.indices[np.isinf(self.matrix.data)] if self.matrix.dtype.kind == "f" else np.array([], int)
        return _counted(np.bincount(found, minlength=self.features))

    def parts(self) -> Iterator[bytes | Array]:
        """Yield the content of the rows, for a fingerprint."""
        yield from (self.matrix.data, self.matrix.indices, self.matrix.indptr)

    def write(self, stem: Path) -> None:
        """Write three files."""
        for name in ("data", "indices", "indptr"):
            np.save(f"{stem}.{name}.npy", getattr(self.matrix, name))

    @classmethod
    def mapped(cls, stem: Path, features: int) -> SparseRows:
        """Memory-map the files that `write` wrote."""
        data, indices, indptr = (
            mapped(stem.with_name(f"{stem.name}.{name}")) for name in ("data", "indices", "indptr")
        )
        return cls(_csr(data, indices, indptr, features))


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Columns of several types: stored as an Arrow table, handed out as frames of pandas or polars.

    Rows in memory are stored in the same way as rows in a file, so that learners get identical frames from both.
    """

    table: pa.Table

    @classmethod
    def of(cls, frame: Any, name: str) -> FrameRows:  # noqa: ANN401  # a frame of either library
        """Return a frame of pandas or polars in this form; an index of pandas is ignored."""
        if isinstance(frame, pd.DataFrame):
            columns = {str(column): _array(frame[column], column, name) for column in frame.columns}
            kept = pa.Schema.from_pandas(frame.iloc[:0].set_axis(list(columns), axis=1), preserve_index=False)
            table, library = pa.table(columns), b"pandas"
            metadata = kept.metadata or {}
        else:
            table, library, metadata = frame.rechunk().to_arrow(), b"polars", {}
        for field in table.schema:
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                raise _unusable(field.name, name, field.type)
        return cls(table.replace_schema_metadata({**metadata, LIBRARY: library}))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def features(self) -> int:
        """The number of columns."""
        return int(self.table.num_columns)

    def first(self, size: int) -> Any:  # noqa: ANN401  # a frame of either library
        """Return the first `size` rows; numbers without missing values are views."""
        table = self.table.slice(0, size)
        if self.table.schema.metadata[LIBRARY] == b"polars":
            import polars  # noqa: ICN001, PLC0415  # an optional library, imported in full so that its name is clear

            return polars.from_arrow(table)
        return table.to_pandas(date_as_object=False, split_blocks=True)

    def take(self, rows: Array) -> FrameRows:
        """Return the rows at these positions, in this order."""
        return FrameRows(self.table.take(pa.array(rows)).combine_chunks())

    def infinite(self) -> dict[int, int]:
        """Return the number of infinite values by column, for columns that have any."""
        found: dict[int, int] = {}
        for place, column in enumerate(self.table.columns):
            if pa.types.is_floating(column.type):
                count = pc.sum(pc.is_inf(column)).as_py()
                found |= {place: count} if count else {}
        return found

    def parts(self) -> Iterator[bytes | Array]:
        """Yield types and hashes of values: the bytes of an Arrow table are undefined where values are missing."""
        yield self.table.schema.metadata[LIBRARY]
        for field in self.table.schema:
            yield f"{field.name}: {field.type}".encode()
            values = self.table[field.name].to_pandas(date_as_object=False)
            yield pd.util.hash_pandas_object(values, index=False).to_numpy()

    def write(self, stem: Path) -> None:
        """Write one file of one batch."""
        with pa.OSFile(f"{stem}.arrow", "wb") as file, pa.ipc.new_file(file, self.table.schema) as writer:
            writer.write_table(self.table.unify_dictionaries())

    @classmethod
    def mapped(cls, stem: Path, features: int) -> FrameRows:
        """Memory-map the files that `write` wrote."""
        table = pa.ipc.open_file(pa.memory_map(f"{stem}.arrow")).read_all()
        if table.num_columns != features:
            raise ValueError(f"{features} columns were expected")
        return cls(table)


FORMS: Final[Mapping[Form, type[Rows]]] = {"matrix": MatrixRows, "sparse": SparseRows, "frame": FrameRows}


def mapped(stem: Path) -> Array:
    """Memory-map a saved array, read-only."""
    return np.asarray(np.load(f"{stem}.npy", mmap_mode="r"))


def _csr(data: Array, indices: Array, indptr: Array, features: int) -> sparse.csr_matrix:
    """Return a matrix of these arrays; scipy's constructor would check or copy them."""
    matrix = sparse.csr_matrix((len(indptr) - 1, features), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True  # stated, because scipy would sort in place, which fails in a mapped file
    return matrix


def _narrow(indices: Array, indptr: Array) -> tuple[Array, Array]:
    fits = indptr[-1] <= np.iinfo(np.int32).max
    return (indices.astype(np.int32), indptr.astype(np.int32)) if fits else (indices, indptr)


def _counted(counts: Array) -> dict[int, int]:
    return {int(place): int(counts[place]) for place in np.flatnonzero(counts)}


def _array(values: pd.Series[Any], column: object, name: str) -> pa.Array:
    try:
        return pa.Array.from_pandas(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _unusable(column, name, str(error).splitlines()[0]) from None


def _unusable(column: object, name: str, found: object) -> InputError:
    return InputError(
        f"Column {str(column)!r} of `{name}` must hold values of one type (numbers, text or dates), got {found}. "
        "Convert it first, for example by astype(str)."
    )
