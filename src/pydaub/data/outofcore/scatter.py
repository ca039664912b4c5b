"""The second pass over the file: each row is written to the bucket of its sort key, with checkpoints."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from pydaub.data.coercion import laid_out, refuse_infinite
from pydaub.data.formats.arrow import frame
from pydaub.data.outofcore.survey import alike
from pydaub.data.prepared import sync, write_whole
from pydaub.data.target import finite, stored
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydaub.data.outofcore.blocks import Blocks
    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey
    from pydaub.data.schema import Array

CHECKPOINT: Final = 32  # blocks between two checkpoints
KEY, TARGET, MATRIX = "__key", "__target", "__x"  # columns of the buckets
VALID: Final = "valid.rows"


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
        if all(file.exists() and file.stat().st_size >= length for file, length in files.items()):
            state = saved  # otherwise rows were lost, and the pass starts again
    for name, length in state["lengths"].items():  # rows after the last checkpoint are written again
        with (work / name).open("ab") as file:
            file.truncate(length)
    types = {name: pa.type_for_alias(kind) for name, kind in found.types.items()}
    before, total = np.array(state["before"], dtype=np.int64), max(blocks.bytes, 1)
    reading = blocks.read(types, skip=state["blocks"])
    while not state["done"]:
        taken = 0
        with ExitStack() as stack:
            rows = _Buckets(work, plan.buckets, stack)
            for block, read in islice(reading, CHECKPOINT):
                table, codes = _rows_of(block, found, str(blocks.paths[0]))
                keys = plan.keys(codes, before)
                before += np.bincount(codes, minlength=len(before))
                rows.write(table.append_column(KEY, pa.array(keys)), keys)
                taken += 1
                progress("scatter", read / total)
                pa.default_memory_pool().release_unused()  # otherwise freed memory stays with the process
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

    def write(self, table: pa.Table, keys: Array) -> None:
        """Append each row to the bucket of its key."""
        valid, last = np.isneginf(keys), self._count - 1
        places = np.where(valid, self._count, np.clip(np.where(valid, 0.0, keys) * self._count, 0, last).astype(int))
        order = np.argsort(places, kind="stable")
        table = table.take(pa.array(order))
        ends = np.searchsorted(places[order], np.arange(self._count + 2))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            name = VALID if number == self._count else bucket(number)
            if name not in self._writers:
                file = self._stack.enter_context((self._folder / name).open("ab"))
                self._writers[name] = self._stack.enter_context(pa.ipc.new_stream(file, table.schema))
            self._writers[name].write_table(table.slice(ends[number], ends[number + 1] - ends[number]))


def _rows_of(block: pa.Table, found: Survey, where: str) -> tuple[pa.Table, Array]:
    """Return the rows of a block that have a target, in the form that learners see, and the codes of their classes."""
    rows = frame(block.select([*(column.name for column in found.used), found.target]), where)
    rows = rows[rows[found.target].notna()].reset_index(drop=True)
    codes, target = _coded(rows[found.target], found)
    if not len(rows):
        return pa.table({TARGET: pa.array(target)}), codes
    laid = laid_out(rows, found.used, found.form, where)
    refuse_infinite(laid, found.used)
    if found.form == "matrix":
        flat = pa.array(laid.held.astype(found.dtype).reshape(-1))
        table = pa.table({MATRIX: pa.FixedSizeListArray.from_arrays(flat, len(found.used))})
    else:
        table = alike(laid.held, found.used)
    return table.append_column(TARGET, pa.array(target)), codes


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
