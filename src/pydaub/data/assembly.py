"""The last step of every preparation: rows and targets are divided and put in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from pydaub.data.names import brief, listed
from pydaub.data.prepared import Part, Prepared
from pydaub.data.schema import Schema
from pydaub.data.split import Split, by_fraction, by_group_times, by_groups, by_time, rare_classes, shuffled
from pydaub.data.target import Target, differ_by_spaces, encoded, stored
from pydaub.errors import InputError
from pydaub.records import whole

if TYPE_CHECKING:
    from pydaub.data.rows import Rows
    from pydaub.data.schema import Array, Column, Task


class Table(NamedTuple):
    """Rows in their original order, with target, weights, group numbers and times."""

    rows: Rows
    y: pd.Series[Any]
    weights: Array | None = None
    groups: Array | None = None
    time: Array | None = None


class About(NamedTuple):
    """What is known about the data as a whole. `target` is the name of the target column, if it was a column."""

    columns: tuple[Column, ...] = ()
    target: str | None = None
    notes: tuple[str, ...] = ()


def assembled(  # noqa: PLR0913  # both the data and how to prepare it
    table: Table, validation: Table | None, about: About, *, split: Split, task: Task | None, seed: int
) -> Prepared:
    """Return the data in its final order, divided into training and validation rows."""
    seed = whole(seed, "seed")
    if seed < 0:
        raise InputError(f"`seed` must not be negative, got {seed}.")
    rng = np.random.default_rng(seed)
    ys = [table.y] if validation is None else [table.y, validation.y]
    # Encoded together, so that classes have the same codes on both sides.
    target = encoded(pd.concat(ys, ignore_index=True), task, about.target or "y")
    present = np.flatnonzero(target.present[: len(table.y)])
    codes = target.numbers if target.task == "classification" else None
    if validation is None:
        train, valid = _divided(table, present, codes, split, rng)
    else:
        train, valid = np.arange(len(present)), np.arange(len(present), len(target.numbers))
    _check_sides(target, train, valid, needed=validation is not None or not split.none)
    train = train[shuffled(None if codes is None else codes[train], len(train), rng)]
    held = stored(target.numbers, target.labels)
    schema = Schema(
        table.rows.form, target.task, table.rows.features, about.columns, tuple(target.labels.tolist()), about.target
    )
    if validation is None:
        places, other = (present[train], present[valid]), table
        rows = table.rows.divided(*places)
    else:
        places, other = (present[train], np.flatnonzero(target.present[len(table.y) :])), validation
        rows = table.rows.take(places[0]), validation.rows.take(places[1])
    return Prepared(
        schema,
        target.labels,
        _part(table, rows[0], places[0], held[train]),
        _part(other, rows[1], places[1], held[valid]),
        (*about.notes, *_notes(target, train), *(_rare(target, valid, split) if validation is None else ())),
    )


def _divided(
    table: Table, present: Array, codes: Array | None, split: Split, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the positions of training and validation rows among the rows that have a target."""
    size = len(present)
    timed = split.by_time or table.time is not None
    if split.none:
        return np.arange(size), np.arange(0)
    split.check(size)
    if timed:
        time = np.arange(size) if table.time is None else table.time[present]
        if table.groups is not None:
            return by_group_times(table.groups[present], time, split.share(size))
        return by_time(time, split.share(size))
    if table.groups is not None:
        return by_groups(np.unique(table.groups[present], return_inverse=True)[1], split.share(size), rng)
    return by_fraction(codes, size, split.share(size), rng)


def _check_sides(target: Target, train: Array, valid: Array, *, needed: bool) -> None:
    if not len(train) or (needed and not len(valid)):
        raise InputError(
            f"The data must have rows for training and for validation, got {len(train)} and {len(valid)}. "
            "Give more rows that have a target, or validation rows."
        )
    if not len(target.labels):
        return
    seen, asked = (np.unique(target.numbers[rows]) for rows in (train, valid))
    if len(seen) == 1:
        only = target.labels[target.numbers[train[0]]]
        raise InputError(
            f"The training rows must have at least two classes, got only {brief(only)}. Divide them differently, "
            "or give more rows."
        )
    if len(asked) and not np.isin(asked, seen).any():
        there, here = (listed(target.labels[codes].tolist(), 5) for codes in (asked, seen))
        raise InputError(
            f"The validation rows must have classes of the training rows, which are {here}, got {there}. Divide the"
            " rows differently, or give the classes the same names in both."
        )


def _part(table: Table, rows: Rows, places: Array, target: Array) -> Part:
    weights, groups = (None if values is None else values[places] for values in (table.weights, table.groups))
    return Part(rows, target, weights, groups)


def _notes(target: Target, train: Array) -> list[str]:
    notes = []
    missing = int((~target.present).sum())
    if missing:
        notes.append(f"Rows without a target were left out: {missing}.")
    if len(target.labels):
        names = target.labels.tolist()
        notes += differ_by_spaces(names)
        single = np.flatnonzero(np.bincount(target.numbers) == 1)
        unseen = np.flatnonzero(np.bincount(target.numbers[train], minlength=len(names)) == 0)
        if len(single):
            notes.append(f"Classes with a single row: {listed(names[code] for code in single)}.")
        if len(unseen):
            notes.append(f"Classes without a training row: {listed(names[code] for code in unseen)}.")
    return notes


def _rare(target: Target, valid: Array, split: Split) -> list[str]:
    names = target.labels.tolist()
    if not names:
        return []
    counts, found = (np.bincount(codes, minlength=len(names)) for codes in (target.numbers, target.numbers[valid]))
    return rare_classes(split, names, counts, found)
