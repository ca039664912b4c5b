"""A random order that is computed row by row instead of being stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.data.schema import Array

ROUNDS: Final = 6


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


def _hashed(values: Array) -> Array:
    """Return a 64-bit hash in which each bit depends on all bits of the value (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
