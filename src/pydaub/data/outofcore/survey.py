"""The first pass over the file: its columns, its classes and the number of its rows.

Types, missing values and classes are found in all rows. The kind of a column (category or free text, number or
identifier) is inferred from a random sample of rows, where `infer_columns` normally uses all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pydaub.data.coercion import laid_out
from pydaub.data.columns import (
    check_kinds,
    check_roles,
    first_odd,
    form_of,
    infer_columns,
    is_number,
    is_whole,
    left_out,
    read_as_text,
    task_of,
)
from pydaub.data.formats.arrow import frame, plain
from pydaub.data.rows import LIBRARY
from pydaub.data.schema import TEXTS, Column, Schema
from pydaub.data.spellings import Merged, merged
from pydaub.data.target import (
    EXACT,
    differ_by_spaces,
    encoded,
    labels_from_json,
    labels_to_json,
    refuse_nearly_numbers,
    whole_labels,
)
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydaub.data.outofcore.blocks import Blocks
    from pydaub.data.outofcore.external import Wanted
    from pydaub.data.schema import Array, Form, Kind, Task

SAMPLE: Final = 50_000  # rows, or fewer if they are wide
SAMPLE_SHARE: Final = 0.1  # of the memory
ARRAY: Final = 1024  # bytes that Arrow takes for an array of text besides its values
MOST_LABELS: Final = 100_000  # distinct values of a target that are counted; with more it is not a class
TYPES: Final = (pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us"))  # of text columns: the first that fits
NEARLY_GAPLESS: Final = 0.98
FEW: Final = 12  # distinct values of a column that are kept: the ways to write yes and no
GLANCE: Final = 64  # rows that usually show that a column has more
SHOWN: Final = 1000  # columns after which progress is shown


@dataclass(frozen=True)
class Survey:
    """What was found. `counts` has the rows of each class; for a regression, one entry with all rows."""

    types: dict[str, str]  # of CSV columns, by their names in Arrow
    columns: tuple[Column, ...]
    form: Form
    dtype: str  # of a matrix
    task: Task
    labels: Array
    counts: tuple[int, ...]
    target: str
    rows: int
    row_bytes: int
    notes: tuple[str, ...]

    @property
    def used(self) -> list[Column]:
        """The columns that learners see."""
        return [column for column in self.columns if column.used]

    @property
    def schema(self) -> Schema:
        """The schema of the prepared data."""
        return Schema(self.form, self.task, len(self.used), self.columns, tuple(self.labels.tolist()), self.target)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "labels": labels_to_json(self.labels)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Survey:
        """Return the survey that `to_json` described."""
        return cls(
            **{
                **fields,
                "columns": tuple(Column(**column) for column in fields["columns"]),
                "labels": labels_from_json(fields["labels"]),
                "counts": tuple(fields["counts"]),
                "notes": tuple(fields["notes"]),
            }
        )


def survey(blocks: Blocks, wanted: Wanted, memory: int, progress: Callable[[str, float], None]) -> Survey:
    """Read all blocks once and describe them."""
    names, target, kinds = blocks.names, wanted.target, wanted.kinds or {}
    check_roles([("target", target)], names, blocks.paths[0].name)
    check_kinds(kinds, [name for name in names if name != target])
    progress("survey", 0.0)
    found = _Found(blocks, wanted, memory)
    total, before = max(blocks.bytes, 1), 0
    for block, read in blocks.read():
        for share in found.take(block):
            progress("survey", (before + share * (read - before)) / total)
        before = read
        progress("survey", read / total)
    if not found.rows:
        raise InputError(f"{blocks.paths[0]} must hold rows, got none.")
    return found.result()


class _Found:
    """What has been found so far, in memory that does not grow with the number of rows."""

    def __init__(self, blocks: Blocks, wanted: Wanted, memory: int) -> None:
        self.text, self.where = blocks.are_text, str(blocks.paths[0])
        self.target, self.task, self.kinds = wanted.target, wanted.task, wanted.kinds or {}
        self.rng = np.random.default_rng([wanted.seed, 1])
        self.memory = memory
        self.rows = 0
        self.missing: Counter[str] = Counter()
        self.candidates = {name: [] if self.kinds.get(name) in TEXTS else list(TYPES) for name in blocks.names}
        self.odd: dict[str, str] = {}  # in columns that are no numbers: the first text that is none
        self.few: dict[str, set[Any]] = {}  # the distinct values of columns that have only few
        self.labels: Counter[Any] | None = Counter()
        self.label_type: pa.DataType = pa.null()
        self.sample: list[pa.Table] = []
        self.sample_bytes = 0
        self.keys, self.limit = np.array([]), 1.0  # of the sample; only smaller ones join it
        self.most = SAMPLE

    def take(self, block: pa.Table) -> Iterator[float]:
        """Look at a block; yield now and then the share of it that is done, because there may be very many columns."""
        self.rows += block.num_rows
        for place, (name, column) in enumerate(zip(block.column_names, block.columns, strict=True)):
            if place % SHOWN == SHOWN - 1:
                yield place / block.num_columns
            nan = pc.sum(pc.is_nan(column)).as_py() if pa.types.is_floating(column.type) else 0
            self.missing[name] += column.null_count + (nan or 0)
            if self.text:
                self._narrow(name, column)
            self._keep_few(name, column)
        self._count(block[self.target])
        self._draw(block)

    def _narrow(self, name: str, column: pa.ChunkedArray) -> None:
        """Remove every type that this block contradicts, so that no later block can bring it back."""
        if self.candidates[name]:
            trimmed = pc.utf8_trim_whitespace(column)
            before = self.candidates[name]
            self.candidates[name] = [kind for kind in before if _casts(trimmed, kind)]
            if pa.float64() in before and pa.float64() not in self.candidates[name]:
                odd = first_odd(pc.unique(trimmed.drop_null()).to_pandas())
                self.odd |= {} if odd is None else {name: odd}

    def _keep_few(self, name: str, column: pa.ChunkedArray) -> None:
        """Keep the distinct values of a column as long as they are few: a sample may lack the rare ones."""
        known = self.few.setdefault(name, set())
        for part in (column.slice(0, GLANCE), column):
            if len(known) <= FEW:  # otherwise they are not needed any more
                known |= {value for value in _distinct(part) if value is not None and value == value}  # noqa: PLR0124  # NaN

    def _count(self, column: pa.ChunkedArray) -> None:
        if self.labels is None:
            return
        column = plain(column, self.target, "The data")  # as in the second pass
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = column.filter(pc.invert(pc.is_nan(column)), null_selection_behavior="drop")
        self.label_type = column.type
        found = pc.value_counts(column.drop_null())
        if len(found) > MOST_LABELS:
            self.labels = None
            return
        for entry in found.tolist():
            self.labels[entry["values"]] += entry["counts"]
        if len(self.labels) > MOST_LABELS:
            self.labels = None

    def _draw(self, block: pa.Table) -> None:
        """Keep the rows with the smallest random keys: a uniform sample, whatever the order of the file."""
        keys = self.rng.random(block.num_rows)
        chosen = keys < self.limit
        if chosen.any():
            # `take` would copy the whole block first. Many small arrays would take more than their values.
            self.sample.append(block.filter(pa.array(chosen)).combine_chunks())
            self.sample_bytes += self.sample[-1].nbytes + ARRAY * block.num_columns
            self.keys = np.concatenate([self.keys, keys[chosen]])
        if len(self.keys) > 2 * self.most or self.sample_bytes > SAMPLE_SHARE * self.memory:
            self._thin_out()

    def _thin_out(self) -> pa.Table:
        """Reduce what was drawn to the rows with the smallest keys, in their order, and return them."""
        table = pa.concat_tables(self.sample)
        most = int(SAMPLE_SHARE * self.memory * table.num_rows / max(table.nbytes, 1)) // 2
        self.most = max(100, min(self.most, most))
        order = np.argsort(self.keys, kind="stable")[: self.most]
        self.keys = self.keys[order]
        self.sample = [table.take(pa.array(order)).combine_chunks()]
        self.sample_bytes = self.sample[0].nbytes
        self.limit = self.keys[-1] if len(order) == self.most else 1.0
        return self.sample[0]

    def result(self) -> Survey:
        types = {name: candidates[0] if candidates else pa.string() for name, candidates in self.candidates.items()}
        types = types if self.text else {}
        types |= {name: pa.string() for name, kind in types.items() if kind == pa.float64() and self._is_rounded(name)}
        sample = self._thin_out()
        if types:
            sample = pa.table({name: _typed(sample[name], types[name]) for name in sample.column_names})
        rows = frame(sample, self.where)
        columns = self._columns(rows.drop(columns=self.target), types)
        form, notes = form_of(columns), [*left_out(columns), *read_as_text(rows, columns, self.kinds, self.odd)]
        used = [column for column in columns if column.used]
        held = laid_out(rows, used, form).held
        held = alike(held, used) if form == "frame" else held
        if same := self._merged_labels(types):
            notes.append(same.note)
            types |= {self.target: pa.string()} if same.apart else {}
        task, labels, counts = self._classes(rows[self.target], types)
        notes += differ_by_spaces(labels.tolist())
        if self.missing[self.target]:
            notes.append(f"Rows without a target were left out: {self.missing[self.target]:,}.")
        return Survey(
            types={name: str(kind) for name, kind in types.items()},
            columns=columns,
            form=form,
            dtype=str(held.dtype) if form == "matrix" else "",
            task=task,
            labels=labels,
            counts=counts,
            target=self.target,
            rows=self.rows,
            row_bytes=held.nbytes // len(rows),
            notes=tuple(notes),
        )

    def _columns(self, rows: pd.DataFrame, types: Mapping[str, pa.DataType]) -> tuple[Column, ...]:
        columns = []
        for column in infer_columns(rows, self.kinds):
            kind = column.kind
            if column.name not in self.kinds and kind not in {"date", "text", "identifier"}:
                kind = self._with_the_rare(rows[column.name], kind, types.get(column.name))
            if kind == "numeric" and column.name not in self.kinds and self._counts_rows(rows[column.name]):
                kind = "identifier"
            columns.append(replace(column, kind=kind, missing=self.missing[column.name], distinct=None))
        return tuple(columns)

    def _is_rounded(self, name: str) -> bool:
        """Whether a column of floats seems constant only because they cannot tell large whole numbers apart."""
        numbers = {*map(float, self.few[name])} if name not in (self.target, *self.kinds) else set()
        return len(numbers) == 1 < len(self.few[name]) and abs(numbers.pop()) >= EXACT

    def _with_the_rare(self, sample: pd.Series[Any], kind: Kind, type_: pa.DataType | None) -> Kind:
        """Return the kind of a column by the sample, and by the values that it lacks, if they were kept."""
        name, found = str(sample.name), list(self.few[str(sample.name)])
        if len(found) > FEW and kind not in {"constant", "boolean"}:
            return kind  # no rare value makes it one of these
        values = pa.array(found) if type_ is None else _typed(pa.array(found, pa.string()), type_)
        rare = frame(pa.table({name: values}), self.where)[name]
        together = pd.concat([sample, rare], ignore_index=True)
        if self.missing[name]:
            together = together.reindex(range(len(together) + 1))
        return infer_columns(together.to_frame(name))[0].kind

    def _counts_rows(self, values: pd.Series[Any]) -> bool:
        """Whether a column numbers the rows: whole, distinct in the sample, in a range about as long as the file."""
        numbers = values.dropna().to_numpy()
        if len(numbers) < len(values) or len(np.unique(numbers)) < len(numbers) or not is_whole(numbers):
            return False
        return bool(NEARLY_GAPLESS * self.rows <= numbers.max() - numbers.min() + 1 <= self.rows)

    def _merged_labels(self, types: Mapping[str, pa.DataType]) -> Merged | None:
        """Return what is to be said of classes that are written in several ways."""
        kind = types.get(self.target, pa.string())
        if not self.labels or kind == pa.string() or pa.types.is_timestamp(kind):
            return None
        values = _typed(pa.array(list(self.labels), pa.string()), kind).to_pandas().drop_duplicates()
        if len(values) == len(self.labels) or (self.task or task_of(values, self.rows)) != "classification":
            return None
        return merged(self.labels, bools=kind == pa.bool_())

    def _classes(self, sample: pd.Series[Any], types: Mapping[str, pa.DataType]) -> tuple[Task, Array, tuple[int, ...]]:
        """Return the task, the sorted classes, and the number of rows of each."""
        present = self.rows - self.missing[self.target]
        if not present:
            raise InputError(f"`{self.target}` must have values, got {self.rows:,} rows without one.")
        if self.labels is None:
            if self.task is None:
                refuse_nearly_numbers(sample, self.rows, self.target, self.odd.get(self.target))
            if self.task == "classification" or not is_number(sample):
                raise InputError(
                    f"`{self.target}` must have classes of several rows, got more than {MOST_LABELS:,} classes."
                )
            return "regression", np.array([]), (present,)
        counts = np.array(list(self.labels.values()))
        values = pa.array(list(self.labels), self.label_type)
        if self.target in types:
            values = _typed(values, types[self.target])
        series = whole_labels(frame(pa.table({"y": values}), "y")["y"])
        found = encoded(series, self.task, self.target, present)
        if found.task == "regression":
            return found.task, found.labels, (present,)
        return found.task, found.labels, tuple(np.bincount(found.numbers, counts).astype(int).tolist())


def alike(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return columns with the same types in every block, whatever its values."""
    types = {"boolean": pa.float32(), "numeric": pa.float64(), "date": pa.timestamp("us")}
    made = []
    for column in columns:
        values = table[column.name]
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        made.append(values.cast(types.get(column.kind, pa.large_string())))
    schema = pa.schema([(column.name, values.type) for column, values in zip(columns, made, strict=True)])
    return pa.table(made, schema=schema.with_metadata({LIBRARY: b"pandas"}))


def _distinct(values: pa.ChunkedArray) -> list[Any]:
    """Return the distinct values of a column, or the first of them if they are many."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        return list(pc.unique(values)[: FEW + 2].to_pylist())
    except pa.ArrowNotImplementedError:  # such as lists, which are no features
        return []


def _casts(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _typed(column: Any, kind: pa.DataType) -> Any:  # noqa: ANN401  # an array or a chunked array
    return column if kind == pa.string() else pc.utf8_trim_whitespace(column).cast(kind)
