"""The place of each row in the prepared order, computed from the survey and a seed instead of being stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pydaub.data.outofcore.permutation import Permutation
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pydaub.data.outofcore.survey import Survey
    from pydaub.data.schema import Array

BUCKET_SHARE: Final = 1 / 5  # of the memory: while it is sorted, a bucket is held twice
MOST_BUCKETS: Final = 500  # files that are open at the same time


@dataclass(frozen=True)
class Plan:
    """How many rows of each class are for validation, the order of each class, and the number of buckets."""

    found: Survey
    valid: tuple[int, ...]
    orders: tuple[Permutation, ...]
    offsets: Array
    buckets: int

    @classmethod
    def of(cls, found: Survey, *, fraction: float, most_valid: int, seed: int, memory: int) -> Plan:
        """Return the plan for a survey, with a fraction of the rows for validation but at most `most_valid`."""
        counts = np.array(found.counts)
        rows = int(counts.sum())
        share = min(most_valid, round(fraction * rows)) / rows
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
        seeds = np.random.SeedSequence(seed).spawn(len(counts) + 1)
        orders = tuple(
            Permutation(int(count), seed.generate_state(4).tolist())
            for count, seed in zip(counts, seeds[1:], strict=True)
        )
        offsets = np.random.default_rng(seeds[0]).random(len(counts))
        return cls(found, tuple(valid.tolist()), orders, offsets, buckets)

    def keys(self, codes: Array, before: Array) -> Array:
        """Return the sort key of each row, -inf if it is for validation.

        `before` is the number of rows of each class in earlier blocks.
        """
        keys = np.empty(len(codes))
        if not len(codes):
            return keys
        by_class = np.argsort(codes, kind="stable")
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
