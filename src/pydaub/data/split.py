"""The order of rows and their division into training and validation rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pydaub.data.names import brief, some
from pydaub.errors import InputError
from pydaub.records import VALIDATION_FRACTION, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.data.schema import Array

FEW: Final = 30  # validation rows of a class; with fewer, the standard error of its recall is up to 0.1


@dataclass(frozen=True, slots=True)
class Split:
    """How validation rows are chosen if none are given.

    Parameters
    ----------
    fraction
        The fraction of rows to validate on.
    by_time
        Take the latest rows: by the time column, or by the order of the rows if there is none.
    none
        Take no rows, for cross-validation.
    most
        The largest number of rows to validate on; None for no limit.
    """

    fraction: float = VALIDATION_FRACTION
    by_time: bool = False
    none: bool = False
    most: int | None = None

    def __post_init__(self) -> None:
        given: Any = self.fraction
        if not isinstance(given, Real) or not 0 < given < 1:  # type: ignore[operator]  # float() fails on huge integers
            raise InputError(f"`validation_fraction` must be between 0 and 1, got {given!r}.")
        if self.most is not None and whole(self.most, "validation_rows") < 1:
            raise InputError(f"`validation_rows` must be at least 1, got {self.most}.")

    def share(self, rows: int) -> float:
        """Return the share of so many rows to validate on."""
        return self.fraction if self.most is None else min(self.fraction, self.most / max(rows, 1))

    def check(self, rows: int) -> None:
        """Raise if the fraction of so many rows leaves none to validate on, or none to train on."""
        if rows > 1 and not 0 < round(self.fraction * rows) < rows:
            side = "validate" if self.fraction < 1 / 2 else "train"  # less than a half
            raise InputError(
                f"`validation_fraction` must leave a row to {side} on, got {self.fraction:g} of {rows:,} rows."
            )


def rare_classes(split: Split, names: Sequence[object], counts: Array, valid: Array) -> list[str]:
    """Return notes: classes without a validation row, and if the largest number of them leaves very few of some.

    `counts` and `valid` are all rows and the validation rows of each class.
    """
    none = np.flatnonzero((valid == 0) & (counts > 0)) if valid.sum() else np.array([], dtype=int)
    notes = (
        [f"Classes without a validation row: {some(brief(names[code]) for code in none.tolist())}."]
        if len(none)
        else []
    )
    few = np.flatnonzero((valid < FEW) & (split.fraction * counts >= valid + 1))
    if split.share(int(counts.sum())) == split.fraction or not len(few):
        return notes
    shown = some(f"{brief(names[code])} ({valid[code]})" for code in few.tolist())
    note = f"Classes with few of the {valid.sum():,} validation rows, so that scores that depend on them are uncertain"
    return [*notes, f"{note}: {shown}. More `validation_rows` would help."]


def check_split(given: object) -> None:
    """Raise if this does not say how rows are divided."""
    if not isinstance(given, Split):
        raise InputError(f"`split` must be a Split, got {given!r}.")


DEFAULT_SPLIT: Final = Split()


def shuffled(codes: Array | None, size: int, rng: np.random.Generator) -> Array:
    """Return a random order of rows in which every prefix is a stratified sample.

    The j-th of the n rows of a class, in random order, gets the key (j + u) / n, with one random u per class, and rows
    are sorted by key. A prefix then holds each class to within about one row of its share. One row of each class comes
    first, so that no sample lacks a class: many learners and metrics fail without one.
    """
    rows = rng.permutation(size)
    if codes is None:
        return rows
    ranks, counts = _ranks(codes[rows])
    offsets = rng.random(len(counts))
    keys = (ranks + offsets[codes[rows]]) / counts[codes[rows]]
    order = rows[np.argsort(keys, kind="stable")]
    later = pd.Series(codes[order]).duplicated().to_numpy()
    return np.concatenate([order[~later], order[later]])


def by_fraction(codes: Array | None, size: int, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return stratified training and validation rows; each class keeps at least one training row."""
    order = shuffled(codes, size, rng)
    if codes is None:
        free = np.arange(size) < size - 1
    else:
        ranks, counts = _ranks(codes[order])
        free = ranks < counts[codes[order]] - 1
    inside = np.zeros(size, dtype=bool)
    inside[order[free][: max(1, round(fraction * size))]] = True
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def by_groups(groups: Array, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return training and validation rows without a group in both, as close to the fraction as a greedy pass gets."""
    sizes = np.bincount(groups)
    if len(sizes) < 2:  # noqa: PLR2004  # one for each side
        raise InputError(
            "Rows must have at least two groups to be divided by, got one. Leave them out, or give validation rows."
        )
    wanted, total = fraction * len(groups), 0
    taken = np.zeros(len(sizes), dtype=bool)
    for group in rng.permutation(len(sizes)):
        if abs(total + sizes[group] - wanted) < abs(total - wanted):
            taken[group] = True
            total += sizes[group]
    if taken.all() or not taken.any():
        taken[np.argmin(sizes)] ^= True  # each side needs a group: move the smallest
    inside = taken[groups]
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def by_time(time: Array, fraction: float) -> tuple[Array, Array]:
    """Return training rows and the latest rows; rows of the same time stay together unless all times are equal."""
    order = np.argsort(time, kind="stable")
    size = len(order)
    cut = min(max(size - round(fraction * size), 1), size - 1)
    steps = np.flatnonzero(time[order][1:] != time[order][:-1]) + 1
    if len(steps):
        cut = steps[np.argmin(np.abs(steps - cut))]
    return np.sort(order[:cut]), np.sort(order[cut:])


def by_group_times(groups: Array, time: Array, fraction: float) -> tuple[Array, Array]:
    """Return training rows and those of the groups that begin last; no group is in both."""
    codes = np.unique(groups, return_inverse=True)[1]
    first = np.full(codes.max() + 1, time.max())
    np.minimum.at(first, codes, time)
    if len(np.unique(first)) < 2:  # noqa: PLR2004  # one for each side
        raise InputError("Groups must begin at different times to be divided by these, got one. Leave `time` out.")
    return by_time(first[codes], fraction)


def _ranks(codes: Array) -> tuple[Array, Array]:
    """Return each row's position among the rows of its class, and the number of rows of each class."""
    return pd.Series(codes).groupby(codes).cumcount().to_numpy(), np.bincount(codes)
