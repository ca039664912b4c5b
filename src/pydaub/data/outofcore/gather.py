"""The last pass: buckets are sorted one after the other and written as prepared data."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from pydaub.data.outofcore.scatter import KEY, MATRIX, TARGET, VALID, bucket
from pydaub.data.prepared import SIDES, described, publish
from pydaub.data.rows import FrameRows
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey

BATCH: Final = 2**20  # bytes of a frame that are written at a time if all columns are numbers
FRAME_ROWS: Final = 1024  # at most, because text can be long


def gather(work: Path, plan: Plan, out: Path, block: int, progress: Callable[[str, float], None]) -> None:
    """Sort the buckets and write them, a block at a time, to `out`, which appears only when it is complete."""
    found = plan.found
    temporary = work / "out"
    shutil.rmtree(temporary, ignore_errors=True)
    digest = described(found.schema, found.labels)
    written = 0
    try:
        temporary.mkdir(parents=True)
        for side, size in zip(SIDES, (plan.train_size, sum(plan.valid)), strict=True):
            tables = _sorted(work, plan, block) if side == "train" else _tables(work / VALID)
            with ExitStack() as stack:
                writer = _Writer(temporary / side, found, size, stack)
                for table in tables if found.form == "matrix" else _even(tables, found):
                    written += table.num_rows
                    writer.write(table)
                    progress("gather", written / sum(found.counts))
            digest.update(writer.target_digest.digest() + writer.rows_digest.digest())
            if writer.written != size:
                raise InputError(f"{work} must hold {size:,} rows for {side}, got {writer.written:,}. Remove it.")
        about = {"notes": found.notes, "fingerprint": digest.hexdigest(), **{side: ["target"] for side in SIDES}}
        publish(temporary, out, found.schema, found.labels, **about)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sorted(work: Path, plan: Plan, block: int) -> Iterator[pa.Table]:
    """Yield the rows of all buckets in the order of their keys."""
    step = max(1, block // (plan.found.row_bytes + 16))
    for number in range(plan.buckets):
        tables = list(_tables(work / bucket(number)))
        if not tables:
            continue
        table = pa.concat_tables(tables).combine_chunks()
        tables.clear()
        pa.default_memory_pool().release_unused()  # otherwise freed memory stays with the process
        order = np.argsort(table[KEY].to_numpy(), kind="stable")
        for start in range(0, len(order), step):
            yield table.take(pa.array(order[start : start + step]))
        del table
        pa.default_memory_pool().release_unused()


def _even(tables: Iterator[pa.Table], found: Survey) -> Iterator[pa.Table]:
    """Yield the rows in batches of a fixed length, so that the output does not depend on the memory."""
    count = min(max(1, BATCH // (8 * (len(found.used) + 2))), FRAME_ROWS)
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        del table  # otherwise it stays in memory while the next one is made
        rows = sum(each.num_rows for each in held)
        if rows >= count:
            joined, whole = pa.concat_tables(held), rows - rows % count
            held.clear()
            for start in range(0, whole, count):
                # A slice would keep the whole table in memory.
                yield joined.take(pa.array(np.arange(start, start + count)))
            held.append(joined.take(pa.array(np.arange(whole, rows))))
            del joined
    if any(each.num_rows for each in held):
        yield pa.concat_tables(held)


def _tables(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a file, which is a sequence of Arrow streams, one per checkpoint."""
    with path.open("rb") as file:
        end = path.stat().st_size
        while file.tell() < end:
            with pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    yield pa.Table.from_batches([batch])


class _Writer:
    """The files of one side of prepared data."""

    def __init__(self, stem: Path, found: Survey, rows: int, stack: ExitStack) -> None:
        self._stem, self._found, self._rows, self._stack = stem, found, rows, stack
        self._target: Any = None
        self._features: Any = None
        self.written = 0
        # Two digests, so that the result does not depend on how many rows are written at a time.
        self.target_digest, self.rows_digest = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)

    def write(self, table: pa.Table) -> None:
        """Append rows, and add them to the digests."""
        target = table[TARGET].to_numpy()
        self.written += len(target)
        if self._target is None:
            self._target = self._array("target", target.dtype, (self._rows,))
        self._target.write(target.data)
        self.target_digest.update(target.data)
        features = table.drop_columns([KEY, TARGET])
        if self._found.form == "matrix":
            column = features[MATRIX]
            values = (column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()).flatten().to_numpy()
            if self._features is None:
                self._features = self._array("rows", values.dtype, (self._rows, len(self._found.used)))
            self._features.write(values.data)
            self.rows_digest.update(values.data)
        else:
            if self._features is None:
                file = self._stack.enter_context(pa.OSFile(f"{self._stem}.rows.arrow", "wb"))
                self._features = self._stack.enter_context(pa.ipc.new_file(file, features.schema))
            self._features.write_table(features.combine_chunks())
            for part in FrameRows(features).parts():
                self.rows_digest.update(part if isinstance(part, bytes) else part.data)

    def _array(self, name: str, dtype: Any, shape: Sequence[int]) -> Any:  # noqa: ANN401  # a dtype and a file
        file = self._stack.enter_context(Path(f"{self._stem}.{name}.npy").open("wb"))  # noqa: SIM115  # the stack closes it
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        return file
