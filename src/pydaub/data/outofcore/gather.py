"""The last pass: buckets are sorted one after the other and written as prepared data."""

from __future__ import annotations

import hashlib
import shutil
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pydaub.data.outofcore.behind import Behind, ahead
from pydaub.data.outofcore.scatter import KEY, MATRIX, TARGET, VALID, bucket
from pydaub.data.prepared import SIDES, described, publish
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey
    from pydaub.data.schema import Array

BATCH: Final = 2**22  # bytes of the batches in which a frame is written


def gather(  # called once
    work: Path, plan: Plan, out: Path, beside: Mapping[str, str], progress: Callable[[str, float], None]
) -> None:
    """Sort the buckets and write them to `out`, which appears only when it is complete.

    Files `beside` the rows are written too.
    """
    found = plan.found
    temporary = work / "out"
    shutil.rmtree(temporary, ignore_errors=True)
    digest = described(found.schema, found.labels)
    written = 0
    try:
        temporary.mkdir(parents=True)
        for side, size in zip(SIDES, (plan.train_size, sum(plan.valid)), strict=True):
            with ExitStack() as stack, Behind() as writing, Behind() as digesting:
                writer = _Writer(temporary / side, found, size, stack, (writing, digesting))
                for table, order in ahead(_sorted(work, plan) if side == "train" else _unsorted(work)):
                    for done in writer.write(table, order):
                        progress("gather", (written + done) / sum(found.counts))
                    written += table.num_rows
                    del table, order
                writer.finish()
                writing.wait()
                digesting.wait()
            digest.update(writer.digest())
            if writer.written != size:
                raise InputError(f"{work} must hold {size:,} rows for {side}, got {writer.written:,}. Remove it.")
        about = {
            "notes": (*found.notes, *plan.notes),
            "fingerprint": digest.hexdigest(),
            **{side: ["target"] for side in SIDES},
        }
        publish(temporary, out, found.schema, found.labels, beside=beside, **about)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sorted(work: Path, plan: Plan) -> Iterator[tuple[pa.Table, Array]]:
    """Yield the rows of each bucket, and the order of their keys."""
    for number in range(plan.buckets):
        tables = list(_tables(work / bucket(number)))
        if not tables:
            continue
        table = pa.concat_tables(tables).combine_chunks()
        tables.clear()
        pa.default_memory_pool().release_unused()  # otherwise freed memory stays with the process
        keys = table[KEY].to_numpy()
        order = np.argsort(keys)
        if not np.diff(keys[order]).all():  # equal keys, which are rare, keep their order
            order = np.argsort(keys, kind="stable")
        yield table, order
        del table, keys, order
        pa.default_memory_pool().release_unused()


def _unsorted(work: Path) -> Iterator[tuple[pa.Table, Array]]:
    """Yield the validation rows, a few at a time, which keep their order."""
    for table in _tables(work / VALID):
        yield table, np.arange(table.num_rows)


def _tables(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a file, which is a sequence of Arrow streams, one per checkpoint."""
    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            with pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    yield pa.Table.from_batches([batch])


class _Writer:
    """The files of one side of prepared data. They do not depend on how many rows are written at a time."""

    def __init__(self, stem: Path, found: Survey, rows: int, stack: ExitStack, threads: tuple[Behind, Behind]) -> None:
        self._stem, self._found, self._rows, self._stack = stem, found, rows, stack
        self._writing, self._digesting = threads
        self._target: Any = None
        self._features: Any = None
        self._waiting: list[pa.Table] = []  # rows of the next batch of a frame
        self._bytes = 0
        self._digests: defaultdict[str, hashlib.blake2b] = defaultdict(lambda: hashlib.blake2b(digest_size=16))
        self.written = 0

    def write(self, table: pa.Table, order: Array) -> Iterator[int]:
        """Append rows in this order, and add them to the digests; yield now and then how many are written."""
        target = table[TARGET].to_numpy()[order]
        self.written += len(target)
        if self._target is None:
            self._target = self._array("target", target.dtype, (self._rows,))
        self._target.write(target.data)
        self._digests[TARGET].update(target.data)
        features = table.drop_columns([KEY, TARGET])
        yield from (self._write_frame if self._found.form == "frame" else self._write_matrix)(features, order)

    def digest(self) -> bytes:
        """Return a digest of all rows that were written."""
        return b"".join(each.digest() for each in self._digests.values())

    def finish(self) -> None:
        """Write the rows of the last batch of a frame."""
        if self._waiting:
            self._end_batch()

    def _write_matrix(self, table: pa.Table, order: Array) -> Iterator[int]:
        column = table[MATRIX]
        values = (column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()).flatten().to_numpy()
        matrix = values.reshape(len(order), -1)
        if self._features is None:
            self._features = self._array("rows", values.dtype, (self._rows, len(self._found.used)))
        step = max(1, BATCH // matrix.strides[0])
        for start in range(0, len(order), step):
            some = np.take(matrix, order[start : start + step], axis=0)
            self._writing.do(self._features.write, some.data)
            self._digesting.do(self._digests[MATRIX].update, some.data)
            yield start + len(some)

    def _write_frame(self, table: pa.Table, order: Array) -> Iterator[int]:
        """Write the rows in batches, each of which ends where `BATCH` more bytes are full."""
        ends = self._bytes + np.cumsum(_row_bytes(table)[order])
        cuts = np.flatnonzero(np.diff(ends // BATCH, prepend=self._bytes // BATCH))
        self._bytes = int(ends[-1]) if len(ends) else self._bytes
        start = 0
        for end in cuts.tolist():
            self._waiting.append(table.take(pa.array(order[start:end])))
            self._end_batch()
            start = end
            yield end
        self._waiting.append(table.take(pa.array(order[start:])))

    def _end_batch(self) -> None:
        waiting, self._waiting = [table for table in self._waiting if table.num_rows], []
        if not waiting:
            return
        table = waiting[0]
        if len(waiting) > 1 or any(column.null_count for column in table.columns):
            # A copy even of a single table: unused bits of a bitmap are defined only there.
            table = pa.concat_tables([*waiting, table.slice(0, 0)]).combine_chunks()
        if self._features is None:
            file = self._stack.enter_context(pa.OSFile(f"{self._stem}.rows.arrow", "wb"))
            self._features = self._stack.enter_context(pa.ipc.new_file(file, table.schema))
        self._writing.do(self._features.write_table, table)
        self._digesting.do(self._digest, table)

    def _digest(self, table: pa.Table) -> None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            for values in _contents(column.chunk(0)):
                self._digests[f"x{name}"].update(values)

    def _array(self, name: str, dtype: Any, shape: Sequence[int]) -> Any:  # noqa: ANN401  # a dtype and a file
        file = self._stack.enter_context(Path(f"{self._stem}.{name}.npy").open("wb"))  # noqa: SIM115  # the stack closes it
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        return file


def _row_bytes(table: pa.Table) -> Array:
    """Return the bytes of each row: eight for each column, and its text."""
    found = np.full(table.num_rows, 8 * table.num_columns)
    for column in table.columns:
        if pa.types.is_large_string(column.type):
            found += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    return found


def _contents(column: pa.Array) -> Iterator[Any]:
    """Yield the values of a column as bytes, which are defined also where a value is missing."""
    if pa.types.is_large_string(column.type):
        yield pc.fill_null(pc.binary_length(column), -1).to_numpy().data
        offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
        yield memoryview(column.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    elif pa.types.is_floating(column.type):
        yield pc.fill_null(column, np.nan).to_numpy().data
    else:
        yield pc.fill_null(column.cast(pa.int64()), np.iinfo(np.int64).min).to_numpy().data
