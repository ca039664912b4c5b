"""A file larger than memory -> prepared data, in memory that is bounded: survey, scatter, gather.

The survey (`survey.py`) reads everything once. Then each row is given its place by computing it: its rank within its
class is a seeded permutation of the order in which the class's rows come (`permutation.py`). The first ranks validate,
and of the others the j-th of n gets the key (j + u) / n, with one random u for each class, by which rows are sorted. So
every beginning is a uniform draw that holds each class to within about one row of its share, as `split.py` does it in
memory. Scattering sends each row to one of several files by its key; gathering sorts one file after the other and
writes them on. Rows to validate keep the order of the file.

::

    OUT.work/
      asked.json        what was asked for: another question begins anew
      survey.json       what was found, once the first pass is through
      scattered.json    how far the second pass is: blocks, rows of each class, and lengths of files
      0.rows 1.rows ... valid.rows
    OUT/                the prepared form, as `Prepared.open` maps it; there whole or not at all

Killed and started again, it goes on from the last of these.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from pydaub.data.arrow import frame
from pydaub.data.blocks import Blocks
from pydaub.data.coercion import laid_out, refuse_infinite
from pydaub.data.permutation import Permutation
from pydaub.data.prepared import ABOUT, FORMAT, Prepared, sync
from pydaub.data.rows import LIBRARY, FrameRows, MatrixRows
from pydaub.data.survey import Survey, survey
from pydaub.data.target import CODED, labels_to_json
from pydaub.errors import InputError
from pydaub.records import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydaub.data.schema import Kind, Task

Array: TypeAlias = np.ndarray[Any, Any]

LEAST_MEMORY: Final = 64 << 20  # bytes to work with
BLOCK_SHARE: Final = 1 / 24  # of the memory: a block is held several times over while it is taken apart
BUCKET_SHARE: Final = 1 / 5  # of the memory: a bucket is held twice for a moment
MOST_BUCKETS: Final = 500  # files that are open at a time
CHECKPOINT: Final = 32  # blocks
VALIDATION_ROWS: Final = 100_000  # at most, unless said otherwise: their score is precise to a third of a per cent
SAME_MEMORY: Final = 0.1
LOCK: Final = "lock"
KEY, TARGET, MATRIX = "__key", "__target", "__x"


@dataclass(frozen=True)
class Wanted:
    """What to prepare, and how; all of it plain, since another question begins anew."""

    source: str
    target: str
    fraction: float = 0.3
    validation_rows: int = VALIDATION_ROWS
    drop: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] | None = None
    task: Task | None = None
    seed: int = 0
    encoding: str | None = None


def prepare_out_of_core(
    wanted: Wanted, out: Path, memory: int, progress: Callable[[str, float], None] = lambda *_: None
) -> Prepared:
    """Prepare a file or folder into `out`, with at most so many bytes of working memory.

    `progress` is told which pass it is, and how far, as a share.
    """
    if not isinstance(memory, int) or memory < LEAST_MEMORY:
        raise InputError(
            f"`memory` must leave at least {LEAST_MEMORY >> 20} MB to work with, got {memory / 2**20:,.0f} MB."
        )
    if not 0 < wanted.fraction < 1:
        raise InputError(f"`validation_fraction` must be between 0 and 1, got {wanted.fraction!r}.")
    if whole(wanted.validation_rows, "validation_rows") < 1 or whole(wanted.seed, "seed") < 0:
        raise InputError("`validation_rows` must be at least 1 and `seed` not negative.")
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"`out` must be new or empty, got {out}. Name another one.")
    blocks = Blocks.of(wanted.source, int(BLOCK_SHARE * memory), wanted.encoding)
    work = out.with_name(f"{out.name}.work")
    try:
        memory = _begin(work, wanted, blocks, memory)
        blocks = Blocks.of(wanted.source, int(BLOCK_SHARE * memory), wanted.encoding)
        found = _surveyed(work, wanted, blocks, memory, progress)
        plan = Plan.of(found, wanted, memory)
        _scatter(work, plan, blocks, progress)
        _gather(work, plan, out, progress)
    except OSError as error:
        raise InputError(f"`out` must be a folder with room for the rows twice, got {error.strerror}: {out}.") from None
    finally:
        _let_go(work)
    shutil.rmtree(work)
    return Prepared.open(out)


def _begin(work: Path, wanted: Wanted, blocks: Blocks, memory: int) -> int:
    """Make the working folder, or keep that of the same question; return the memory that it was begun with.

    What Python itself takes differs a little from start to start: blocks must be the same all the same.
    """
    files = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in blocks.paths]
    question = json.loads(json.dumps({**vars(wanted), "source": files, "format": FORMAT}, default=list))
    path = work / "asked.json"
    if work.exists() and not path.exists() and any(work.iterdir()):
        raise InputError(f"{work} must be free to work in, got a folder with other files. Name another `out`.")
    work.mkdir(parents=True, exist_ok=True)
    _hold(work)
    if path.exists():
        asked = json.loads(path.read_text())
        if asked["question"] == question and abs(asked["memory"] - memory) <= SAME_MEMORY * memory:
            return int(asked["memory"])
        for entry in work.iterdir():
            if entry.name != LOCK:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    _write(path, json.dumps({"question": question, "memory": memory}))
    return memory


_held: dict[Path, Any] = {}


def _hold(work: Path) -> None:
    """Keep others from working in the same folder."""
    file = (work / LOCK).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(f"{work} must be worked in by one process at a time, got another one. Wait for it.") from None
    _held[work] = file


def _let_go(work: Path) -> None:
    if work in _held:
        _held.pop(work).close()


def _surveyed(
    work: Path, wanted: Wanted, blocks: Blocks, memory: int, progress: Callable[[str, float], None]
) -> Survey:
    path = work / "survey.json"
    if path.exists():
        return Survey.from_json(json.loads(path.read_text()))
    total = max(blocks.bytes, 1)
    found = survey(
        blocks,
        wanted.target,
        drop=wanted.drop,
        kinds=wanted.kinds,
        task=wanted.task,
        seed=wanted.seed,
        memory=memory,
        progress=lambda read: progress("survey", read / total),
    )
    _write(path, json.dumps(found.to_json()))
    return found


@dataclass(frozen=True)
class Plan:
    """Where rows go: how many of each class validate, the order of each class, and how many buckets there are."""

    found: Survey
    valid: tuple[int, ...]
    orders: tuple[Permutation, ...]
    offsets: Array
    buckets: int
    block: int  # bytes to sort on in one go

    @classmethod
    def of(cls, found: Survey, wanted: Wanted, memory: int) -> Plan:
        """Return the plan of this survey and seed."""
        counts = np.array(found.counts)
        rows = int(counts.sum())
        share = min(wanted.validation_rows, round(wanted.fraction * rows)) / rows
        valid = np.minimum(np.floor(share * counts + 0.5).astype(np.int64), counts - 1)
        if not valid.sum() and rows > 1:
            valid[np.argmax(counts)] = 1
        if rows < 2 or not valid.sum():  # noqa: PLR2004  # one for each side
            raise InputError(f"The data must have rows for training and for validation, got {rows}.")
        size = (found.row_bytes + 16) * (rows - int(valid.sum()))
        buckets = max(1, math.ceil(size / (BUCKET_SHARE * memory)))
        if buckets > MOST_BUCKETS:
            least = size / MOST_BUCKETS / BUCKET_SHARE / 2**20
            raise InputError(
                f"`memory` must be at least {least:,.0f} MB for {size / 1e9:,.0f} GB of rows,"
                f" got {memory / 2**20:,.0f} MB."
            )
        seeds = np.random.SeedSequence(wanted.seed).spawn(len(counts) + 1)
        orders = tuple(
            Permutation(int(count), seed.generate_state(4).tolist())
            for count, seed in zip(counts, seeds[1:], strict=True)
        )
        offsets = np.random.default_rng(seeds[0]).random(len(counts))
        return cls(found, tuple(valid.tolist()), orders, offsets, buckets, int(BLOCK_SHARE * memory))

    def keys(self, codes: Array, before: Array) -> Array:
        """Return each row's key; -inf where it validates. `before` are the rows of each class in earlier blocks."""
        keys = np.empty(len(codes))
        by_class = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[by_class], return_index=True)
        for code, mine in zip(present, np.split(by_class, starts[1:]), strict=True):
            ranks = self.orders[code](np.arange(before[code], before[code] + len(mine))) - self.valid[code]
            found = (ranks + self.offsets[code]) / (self.found.counts[code] - self.valid[code])
            if len(self.found.counts) > 1:
                found[ranks == 0] = -1 / (2 + code)  # one of each class comes first of all, below every other key
            found[ranks < 0] = -np.inf
            keys[mine] = found
        return keys

    @property
    def train_size(self) -> int:
        """How many rows train."""
        return sum(self.found.counts) - sum(self.valid)


def _scatter(work: Path, plan: Plan, blocks: Blocks, progress: Callable[[str, float], None]) -> None:
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
        state = json.loads(state_path.read_text())
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
        state = {
            "blocks": state["blocks"] + taken,
            "before": before.tolist(),
            "lengths": {name: (work / name).stat().st_size for name in names},
            "done": taken < CHECKPOINT,
        }
        _write(state_path, json.dumps(state))
        pa.default_memory_pool().release_unused()
    if before.tolist() != list(found.counts):
        raise InputError(f"{blocks.paths[0]} must stay as it is while it is prepared, got other rows the second time.")


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
    block = block.rename_columns([name.strip() for name in block.column_names])
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


def _gather(work: Path, plan: Plan, out: Path, progress: Callable[[str, float], None]) -> None:
    """Sort one bucket after the other and write them on, into a folder that is there whole or not at all."""
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
                for table in _sorted_parts(work, plan, side):
                    written += table.num_rows
                    writer.write(table, digest)
                    progress("gather", written / sum(found.counts))
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


def _sorted_parts(work: Path, plan: Plan, side: str) -> Iterator[pa.Table]:
    if side == "valid":
        yield from _parts(work / "valid.rows")
        return
    step = max(1, plan.block // (plan.found.row_bytes + 16))
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, table: pa.Table, digest: Any) -> None:  # noqa: ANN401  # hashlib names no type
        """Write rows on, and feed them to a fingerprint."""
        target = table[TARGET].to_numpy()
        self.written += len(target)
        if self._target is None:
            self._target = self._array("target", target.dtype, (self._rows,))
        self._target.write(target.data)
        digest.update(target.data)
        features = table.drop_columns([KEY, TARGET])
        if self._found.form == "matrix":
            column = features[MATRIX]
            values = (column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()).flatten().to_numpy()
            if self._features is None:
                self._features = self._array("rows", values.dtype, (self._rows, len(self._found.used)))
            self._features.write(values.data)
            digest.update(values.data)
        else:
            if self._features is None:
                file = self._stack.enter_context(pa.OSFile(f"{self._stem}.rows.arrow", "wb"))
                self._features = self._stack.enter_context(pa.ipc.new_file(file, features.schema))
            self._features.write_table(features.combine_chunks())
            for part in FrameRows(features).parts():
                digest.update(part)

    def _array(self, name: str, dtype: Any, shape: Sequence[int]) -> Any:  # noqa: ANN401  # a file
        file = self._stack.enter_context(Path(f"{self._stem}.{name}.npy").open("wb"))  # noqa: SIM115  # the stack closes it
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        return file


def _write(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all."""
    partial = path.with_name(f".{path.name}")
    partial.write_text(text)
    sync(partial)
    partial.replace(path)
