"""The second pass over a file that is larger than memory: each row to the bucket of its key, with checkpoints."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from pydaub.data.coercion import laid_out, refuse_infinite
from pydaub.data.formats.arrow import frame
from pydaub.data.prepared import sync, write_whole
from pydaub.data.rows import LIBRARY, MatrixRows
from pydaub.data.target import CODED
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydaub.data.outofcore.blocks import Blocks
    from pydaub.data.outofcore.plan import Plan
    from pydaub.data.outofcore.survey import Survey

Array: TypeAlias = np.ndarray[Any, Any]

CHECKPOINT: Final = 32  # blocks
KEY, TARGET, MATRIX = "__key", "__target", "__x"  # columns of what is scattered


def scatter(work: Path, plan: Plan, blocks: Blocks, progress: Callable[[str, float], None]) -> None:
    """Send each row to the bucket of its key, or to those that validate."""
    found = plan.found
    state_path = work / "scattered.json"
    names = [f"{number}.rows" for number in range(plan.buckets)] + ["valid.rows"]
    state: dict[str, Any] = {
        "blocks": 0,
        "before": [0] * len(found.counts),
        "lengths": dict.fromkeys(names, 0),
        "done": False,
    }
    if state_path.exists():
        saved = json.loads(state_path.read_text())
        if all(_length(work / name) >= length for name, length in saved["lengths"].items()):
            state = saved  # else something was lost, and the pass begins again
    for name, length in state["lengths"].items():  # what was written after the last checkpoint is written again
        with (work / name).open("ab") as file:
            file.truncate(length)
    types = {name: pa.type_for_alias(kind) for name, kind in found.types.items()} if found.types else None
    before, total = np.array(state["before"], dtype=np.int64), max(blocks.bytes, 1)
    reading = blocks.read(types, skip=state["blocks"])
    while not state["done"]:
        taken = 0
        with _Streams(work) as streams:
            for block, read in islice(reading, CHECKPOINT):
                table, codes = _rows_of(block, found, str(blocks.paths[0]))
                keys = plan.keys(codes, before)
                before += np.bincount(codes, minlength=len(before))
                _send(table.append_column(KEY, pa.array(keys)), keys, plan.buckets, streams)
                taken += 1
                progress("scatter", read / total)
                pa.default_memory_pool().release_unused()  # what is freed would stay with the process
        for file in [*(work / name for name in names), work]:  # a checkpoint must not be there without its rows
            sync(file)
        state = {
            "blocks": state["blocks"] + taken,
            "before": before.tolist(),
            "lengths": {name: (work / name).stat().st_size for name in names},
            "done": taken < CHECKPOINT,
        }
        write_whole(state_path, json.dumps(state).encode(), durable=True)
    if before.tolist() != list(found.counts):
        raise InputError(f"{blocks.paths[0]} must stay as it is while it is prepared, got other rows the second time.")


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class _Streams:
    """Files to which rows are added, each in a stream of its own that ends with the checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._writers: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, name: str, rows: pa.Table) -> None:
        """Add rows to a file."""
        if name not in self._writers:
            file = self._stack.enter_context((self._folder / name).open("ab"))
            self._writers[name] = self._stack.enter_context(pa.ipc.new_stream(file, rows.schema))
        self._writers[name].write_table(rows)


def _send(table: pa.Table, keys: Array, buckets: int, streams: _Streams) -> None:
    """Write each row to the bucket of its key."""
    valid = np.isneginf(keys)
    places = np.where(valid, buckets, np.clip(np.where(valid, 0.0, keys) * buckets, 0, buckets - 1).astype(np.int64))
    order = np.argsort(places, kind="stable")
    table = table.take(pa.array(order))
    ends = np.searchsorted(places[order], np.arange(buckets + 2))
    for number in range(buckets + 1):
        if ends[number + 1] > ends[number]:
            name = "valid.rows" if number == buckets else f"{number}.rows"
            streams.write(name, table.slice(ends[number], ends[number + 1] - ends[number]))


def _rows_of(block: pa.Table, found: Survey, where: str) -> tuple[pa.Table, Array]:
    """Return the rows of a block that have a target, laid out as learners see them, and their classes."""
    rows = frame(block.select([*(column.name for column in found.used), found.target]), where)
    rows = rows[rows[found.target].notna()].reset_index(drop=True)
    codes, stored = _coded(rows[found.target], found)
    if not len(rows):
        return pa.table({TARGET: pa.array(stored)}), codes
    laid = laid_out(rows, found.used, found.form, where)
    refuse_infinite(laid, [column.name for column in found.used])
    if isinstance(laid, MatrixRows):
        flat = pa.array(laid.array.astype(found.dtype).reshape(-1))
        table = pa.table({MATRIX: pa.FixedSizeListArray.from_arrays(flat, len(found.used))})
    else:
        table = _alike(laid.table, found)  # type: ignore[attr-defined]  # the other form
    return table.append_column(TARGET, pa.array(stored)), codes


def _alike(table: pa.Table, found: Survey) -> pa.Table:
    """Return columns of types that are the same in every block, whatever values it holds."""
    types = {"boolean": pa.float32(), "numeric": pa.float64(), "date": pa.timestamp("us")}
    columns = []
    for column in found.used:
        values = table[column.name]
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        columns.append(values.cast(types.get(column.kind, pa.large_string())))
    schema = pa.schema([(column.name, values.type) for column, values in zip(found.used, columns, strict=True)])
    return pa.table(columns, schema=schema.with_metadata({LIBRARY: b"pandas"}))


def _coded(values: pd.Series[Any], found: Survey) -> tuple[Array, Array]:
    """Return the classes of rows as codes, and their targets as they are laid down."""
    if found.task == "regression":
        numbers = values.to_numpy(dtype=float)
        if np.isinf(numbers).any():
            raise InputError(f"`{found.target}` must be finite, got infinite values. Remove those rows.")
        return np.zeros(len(numbers), dtype=np.int64), numbers
    plain = values.astype(object) if found.labels.dtype.kind == "O" else values.to_numpy().astype(found.labels.dtype)
    codes = pd.Index(found.labels).get_indexer(pd.Index(plain))
    if (codes < 0).any():
        odd = values[codes < 0].iloc[0]
        raise InputError(f"`{found.target}` must hold what it held the first time, got {odd!r}. Start again.")
    narrow = np.min_scalar_type(-len(found.labels))
    return codes, codes.astype(narrow) if found.labels.dtype.kind in CODED else found.labels[codes]
