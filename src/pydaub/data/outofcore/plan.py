"""The place of each row in the prepared order, computed from the survey and a seed instead of being stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pydaub.data.split import rare_classes
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.data.outofcore.external import Wanted
    from pydaub.data.outofcore.survey import Survey
    from pydaub.data.schema import Array

ROUNDS: Final = 6  # of the Feistel network
BUCKET_SHARE: Final = 1 / 8  # of the memory: while a bucket is written, the next is put together, and held twice
MOST_BUCKETS: Final = 500  # files that are open at the same time


class Permutation:
    """A pseudorandom bijection of range(size), determined by a seed.

    A Feistel network permutes the numbers below a power of four that is at least `size` and less than four times as
    much. A result outside the range is permuted again until it is inside, which keeps the mapping a bijection. Each
    round mixes one half of the bits into the other with its own key.

    >>> order = Permutation(10, [7])
    >>> sorted(order(np.arange(10)).tolist()) == list(range(10))
    True
    """

    def __init__(self, size: int, seed: Sequence[int]) -> None:
        self.size = size
        half = max(1, ((size - 1).bit_length() + 1) // 2)
        self._half, self._mask = np.uint64(half), np.uint64((1 << half) - 1)
        self._keys = np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)

    def __call__(self, places: Array) -> Array:
        """Return the new positions of these positions."""
        found = self._mixed(places.astype(np.uint64))
        while (outside := found >= self.size).any():
            found[outside] = self._mixed(found[outside])
        return found.astype(np.int64)

    def _mixed(self, places: Array) -> Array:
        left, right = places >> self._half, places & self._mask
        for key in self._keys:
            left, right = right, left ^ (_hashed(right + key) & self._mask)
        return (left << self._half) | right


def grouped(numbers: Array, count: int) -> Array:
    """Return the order that sorts numbers below `count` and keeps equal ones as they are.

    >>> grouped(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    short = count <= np.iinfo(np.uint16).max + 1  # numbers of 16 bits are sorted ten times as fast
    return np.argsort(numbers.astype(np.uint16) if short else numbers, kind="stable")


def _hashed(values: Array) -> Array:
    """Return a 64-bit hash in which each bit depends on all bits of the value (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True)
class Plan:
    """How many rows of each class are for validation, the order of each class, and the number of buckets."""

    found: Survey
    valid: tuple[int, ...]
    orders: tuple[Permutation, ...]
    offsets: Array
    buckets: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, found: Survey, wanted: Wanted, memory: int) -> Plan:
        """Return the plan for a survey."""
        counts = np.array(found.counts)
        rows = int(counts.sum())
        wanted.split.check(rows)
        valid = np.minimum(np.floor(wanted.split.share(rows) * counts + 0.5).astype(np.int64), counts - 1)
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
        notes = rare_classes(wanted.split, found.labels.tolist(), counts, valid) if len(counts) > 1 else ()
        return cls(found, tuple(valid.tolist()), orders, offsets, buckets, tuple(notes))

    def keys(self, codes: Array, before: Array) -> Array:
        """Return the sort key of each row, -inf if it is for validation.

        `before` is the number of rows of each class in earlier blocks.
        """
        keys = np.empty(len(codes))
        if not len(codes):
            return keys
        by_class = grouped(codes, len(self.found.counts))
        present, starts = np.unique(codes[by_class], return_index=True)
        for code, mine in zip(present, np.split(by_class, starts[1:]), strict=True):
            ranks = self.orders[code](np.arange(before[code], before[code] + len(mine))) - self.valid[code]
            found = (ranks + self.offsets[code]) / (self.found.counts[code] - self.valid[code])
            if len(self.found.counts) > 1:
                found[ranks == 0] = -1 / (2 + code)  # one row of each class comes before all others
            found[ranks < 0] = -np.inf
            keys[mine] = found
        return keys

    @property
    def train_size(self) -> int:
        """The number of training rows."""
        return sum(self.found.counts) - sum(self.valid)
