"""The last pass of preparing out of core: buckets, sorted one after the other, become the prepared form."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from pydaub.data.outofcore.scatter import KEY, MATRIX, TARGET
from pydaub.data.prepared import ABOUT, FORMAT, sync
from pydaub.data.rows import FrameRows
from pydaub.data.target import labels_to_json
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey

BATCH: Final = 2**20  # bytes of a frame that are written at a time, if all columns were numbers
FRAME_ROWS: Final = 1024  # at most, as text can be long


def gather(work: Path, plan: Plan, out: Path, block: int, progress: Callable[[str, float], None]) -> None:
    """Sort one bucket after the other and write them on, a block at a time; `out` is there whole or not at all."""
    found = plan.found
    temporary = work / "out"
    shutil.rmtree(temporary, ignore_errors=True)
    about_schema = {"format": FORMAT, "schema": found.schema.to_json(), "labels": labels_to_json(found.labels)}
    digest = hashlib.blake2b(json.dumps(about_schema, sort_keys=True).encode(), digest_size=16)
    written = 0
    try:
        temporary.mkdir(parents=True)
        for side, size in (("train", plan.train_size), ("valid", sum(plan.valid))):
            with _Writer(temporary / side, found, size) as writer:
                parts = _sorted_parts(work, plan, side, block)
                for table in parts if found.form == "matrix" else _even(parts, found):
                    written += table.num_rows
                    writer.write(table)
                    progress("gather", written / sum(found.counts))
            digest.update(writer.target_digest.digest() + writer.rows_digest.digest())
            if writer.written != size:
                raise InputError(f"{work} must hold {size:,} rows for {side}, got {writer.written:,}. Remove it.")
        about = {
            **about_schema,
            "notes": found.notes,
            "fingerprint": digest.hexdigest(),
            "train": ["target"],
            "valid": ["target"],
        }
        (temporary / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
        for file in [*temporary.iterdir(), temporary]:
            sync(file)
        if out.exists():
            out.rmdir()
        temporary.rename(out)
        sync(out.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sorted_parts(work: Path, plan: Plan, side: str, block: int) -> Iterator[pa.Table]:
    if side == "valid":
        yield from _parts(work / "valid.rows")
        return
    step = max(1, block // (plan.found.row_bytes + 16))
    for number in range(plan.buckets):
        parts = list(_parts(work / f"{number}.rows"))
        if not parts:
            continue
        table = pa.concat_tables(parts).combine_chunks()
        parts.clear()
        pa.default_memory_pool().release_unused()  # what is freed would stay with the process
        order = np.argsort(table[KEY].to_numpy(), kind="stable")
        for start in range(0, len(order), step):
            yield table.take(pa.array(order[start : start + step]))
        del table
        pa.default_memory_pool().release_unused()


def _even(parts: Iterator[pa.Table], found: Survey) -> Iterator[pa.Table]:
    """Yield the same rows in batches of as many, whatever the memory is: it must change no byte of what is written."""
    count = min(max(1, BATCH // (8 * (len(found.used) + 2))), FRAME_ROWS)
    held: list[pa.Table] = []
    for part in parts:
        held.append(part)
        del part  # or it is held while the next one is made
        rows = sum(each.num_rows for each in held)
        if rows >= count:
            joined, whole = pa.concat_tables(held), rows - rows % count
            held.clear()
            for start in range(0, whole, count):
                yield joined.take(pa.array(np.arange(start, start + count)))  # not a slice, which would keep all of it
            held.append(joined.take(pa.array(np.arange(whole, rows))))
            del joined
    if any(each.num_rows for each in held):
        yield pa.concat_tables(held)


def _parts(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a file: streams one after the other, one for each checkpoint."""
    with path.open("rb") as file:
        end = path.stat().st_size
        while file.tell() < end:
            with pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    yield pa.Table.from_batches([batch])


class _Writer:
    """The files of one side of prepared data, written on and on."""

    def __init__(self, stem: Path, found: Survey, rows: int) -> None:
        self._stem, self._found, self._rows = stem, found, rows
        self._stack = ExitStack()
        self._target: Any = None
        self._features: Any = None
        self.written = 0
        # Each is of a stream of its own, so that it does not matter how many rows are written at a time.
        self.target_digest, self.rows_digest = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, table: pa.Table) -> None:
        """Write rows on, and feed them to the fingerprints."""
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

    def _array(self, name: str, dtype: Any, shape: Sequence[int]) -> Any:  # noqa: ANN401  # a file
        file = self._stack.enter_context(Path(f"{self._stem}.{name}.npy").open("wb"))  # noqa: SIM115  # the stack closes it
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        return file
