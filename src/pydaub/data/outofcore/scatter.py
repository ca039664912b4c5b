"""The second pass over the file: each row is written to the bucket of its sort key, with checkpoints."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from pydaub.data.coercion import laid_out, refuse_infinite, refuse_others
from pydaub.data.formats.arrow import frame
from pydaub.data.outofcore.behind import Behind
from pydaub.data.outofcore.plan import grouped
from pydaub.data.outofcore.survey import alike
from pydaub.data.rows import FrameRows, MatrixRows
from pydaub.data.schema import TEXTS
from pydaub.data.target import finite, stored
from pydaub.data.writing import sync, write_whole
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pydaub.data.outofcore.blocks import Blocks
    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey
    from pydaub.data.schema import Array, Column

CHECKPOINT: Final = 32  # blocks between two checkpoints
KEY, TARGET, MATRIX = "__key", "__target", "__x"  # columns of the buckets
VALID: Final = "valid.rows"
ROWS_AT_A_TIME: Final = 1 << 12  # of which all columns fit into the processor's cache


def scatter(work: Path, plan: Plan, blocks: Blocks, progress: Callable[[str, float], None]) -> None:
    """Write each row to the bucket of its key, or to the validation rows; resume from the last checkpoint."""
    found = plan.found
    state_path = work / "scattered.json"
    names = [*(bucket(number) for number in range(plan.buckets)), VALID]
    state: dict[str, Any] = {
        "blocks": 0,
        "before": [0] * len(found.counts),
        "lengths": dict.fromkeys(names, 0),
        "done": False,
    }
    if state_path.exists():
        saved = json.loads(state_path.read_text())
        files = {work / name: length for name, length in saved["lengths"].items()}
        if saved["lengths"].keys() == {*names} and all(
            file.exists() and file.stat().st_size >= length for file, length in files.items()
        ):
            state = saved  # otherwise rows were lost, and the pass starts again
    for name, length in state["lengths"].items():  # rows after the last checkpoint are written again
        with (work / name).open("ab") as file:
            file.truncate(length)
    types = {name: pa.type_for_alias(kind) for name, kind in found.types.items()}
    before, total = np.array(state["before"], dtype=np.int64), max(blocks.bytes, 1)
    reading = blocks.read(types, skip=state["blocks"])
    while not state["done"]:
        taken = 0
        with ExitStack() as stack, Behind() as behind:
            rows = _Buckets(work, plan.buckets, stack)
            for block, read in islice(reading, CHECKPOINT):
                table, codes = _rows_of(block, found, str(blocks.paths[0]))
                keys = plan.keys(codes, before)
                before += np.bincount(codes, minlength=len(before))
                behind.do(rows.write, *rows.grouped(table.append_column(KEY, pa.array(keys)), keys))
                taken += 1
                progress("scatter", read / total)
            behind.wait()
        for name in (*names, "."):  # before the checkpoint, which must not exist without its rows
            sync(work / name)
        state = {
            "blocks": state["blocks"] + taken,
            "before": before.tolist(),
            "lengths": {name: (work / name).stat().st_size for name in names},
            "done": taken < CHECKPOINT,
        }
        write_whole(state_path, json.dumps(state).encode(), durable=True)
    if before.tolist() != list(found.counts):
        raise InputError(f"{blocks.paths[0]} must not change while it is prepared, got other rows in the second pass.")


def bucket(number: int) -> str:
    """Return the name of the file of a bucket."""
    return f"{number}.rows"


class _Buckets:
    """Files to which rows are appended, each as an Arrow stream that ends with the checkpoint."""

    def __init__(self, folder: Path, count: int, stack: ExitStack) -> None:
        self._folder, self._count, self._stack = folder, count, stack
        self._writers: dict[str, Any] = {}

    def grouped(self, table: pa.Table, keys: Array) -> tuple[pa.Table, Array]:
        """Return the rows in the order of their buckets, the validation rows last, and where each bucket begins."""
        valid, last = np.isneginf(keys), self._count - 1
        places = np.where(valid, self._count, np.clip(np.where(valid, 0.0, keys) * self._count, 0, last).astype(int))
        order = grouped(places, self._count + 1)
        return table.take(pa.array(order)), np.searchsorted(places[order], np.arange(self._count + 2))

    def write(self, table: pa.Table, ends: Array) -> None:
        """Append rows to their buckets."""
        for number in np.flatnonzero(np.diff(ends)).tolist():
            name = VALID if number == self._count else bucket(number)
            if name not in self._writers:
                file = self._stack.enter_context(pa.OSFile(str(self._folder / name), "ab"))
                self._writers[name] = self._stack.enter_context(pa.ipc.new_stream(file, table.schema))
            self._writers[name].write_table(table.slice(ends[number], ends[number + 1] - ends[number]))


def _rows_of(block: pa.Table, found: Survey, where: str) -> tuple[pa.Table, Array]:
    """Return the rows of a block that have a target, in the form that learners see, and the codes of their classes."""
    values = frame(block.select([found.target]), where)[found.target]
    if not (present := values.notna().to_numpy()).all():
        block, values = block.filter(pa.array(present)), values[present].reset_index(drop=True)
    codes, target = _coded(values, found)
    if not block.num_rows:
        return pa.table({TARGET: pa.array(target)}), codes
    columns = {column.name: _column(block[column.name], column, where) for column in found.used}
    if found.form == "matrix":
        matrix = _matrix(columns.values(), block.num_rows, found)
        refuse_infinite(MatrixRows(matrix), found.used)
        table = pa.table({MATRIX: pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), len(columns))})
    else:
        table = alike(pa.table({name: _missing_as_null(values) for name, values in columns.items()}), found.used)
        refuse_infinite(FrameRows(table), found.used)
    return table.append_column(TARGET, pa.array(target)), codes


def _column(values: pa.ChunkedArray, column: Column, where: str) -> pa.ChunkedArray | Array:
    """Return a column converted to its kind, as `laid_out` does, but without pandas where its type fits already.

    Numbers and dates are NumPy's, with NaN and NaT where they are missing.
    """
    types, kind = pa.types, values.type
    if column.kind in TEXTS and (types.is_string(kind) or types.is_large_string(kind)):
        return values
    number = types.is_integer(kind) or types.is_floating(kind) or (types.is_boolean(kind) and column.kind == "boolean")
    if number if column.kind in {"numeric", "boolean"} else column.kind == "date" and types.is_timestamp(kind):
        if types.is_boolean(kind):
            return values.cast(pa.float32()).to_numpy()
        found: Array = values.to_numpy()
        refuse_others(found, column)
        return found
    return laid_out(frame(pa.table({column.name: values}), where), [column], "frame", where).held[column.name]


def _missing_as_null(values: pa.ChunkedArray | Array) -> pa.ChunkedArray | pa.Array:
    if not isinstance(values, np.ndarray):
        return values
    return pa.array(values.astype(np.float64) if values.dtype.kind in "iu" else values, from_pandas=True)


def _matrix(columns: Iterable[Any], rows: int, found: Survey) -> Array:
    """Return columns as a matrix in row-major order, filled a few rows at a time, which is four times as fast."""
    numbers = [each if isinstance(each, np.ndarray) else each.to_numpy() for each in columns]
    made = np.empty((rows, len(numbers)), dtype=found.dtype)
    for start in range(0, rows, ROWS_AT_A_TIME):
        for place, values in enumerate(numbers):
            made[start : start + ROWS_AT_A_TIME, place] = values[start : start + ROWS_AT_A_TIME]
    return made


def _coded(values: pd.Series[Any], found: Survey) -> tuple[Array, Array]:
    """Return the codes of the classes of rows, and their targets as they are stored."""
    if found.task == "regression":
        return np.zeros(len(values), dtype=np.int64), finite(values, found.target)
    plain = values.astype(object) if found.labels.dtype.kind == "O" else values.to_numpy().astype(found.labels.dtype)
    codes = pd.Index(found.labels).get_indexer(pd.Index(plain))
    if (codes < 0).any():
        odd = values[codes < 0].iloc[0]
        raise InputError(f"`{found.target}` must hold the same values as in the first pass, got {odd!r}. Start again.")
    return codes, stored(codes, found.labels)
