"""A computed order is a bijection that looks random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub.data.outofcore.plan import Permutation


@given(size=st.integers(1, 3000), seed=st.integers(0, 2**32))
def test_every_position_occurs_once(size: int, seed: int) -> None:
    order = Permutation(size, [seed])
    places = order(np.arange(size))
    assert np.array_equal(np.sort(places), np.arange(size))
    parts = [order(part) for part in np.array_split(np.arange(size), 5)]
    assert np.array_equal(np.concatenate(parts), places), "rows can be placed in parts"


def test_the_order_depends_on_the_seed() -> None:
    one, same, other = (Permutation(1000, seed)(np.arange(1000)) for seed in ([1, 2], [1, 2], [1, 3]))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("size", [100, 1000, 4096, 5000])
def test_positions_are_uniform(size: int) -> None:
    """Over many seeds, the positions of two neighbouring rows are uniform: a chi-squared test with ten by ten cells."""
    seeds, rows = 2000, np.array([0, 1])
    first, second = np.array([Permutation(size, [seed])(rows) for seed in range(seeds)]).T
    table = np.histogram2d(first * 10 // size, second * 10 // size, bins=10, range=[[0, 10], [0, 10]])[0]
    expected = seeds / 100
    assert ((table - expected) ** 2 / expected).sum() < 99 + 5 * np.sqrt(2 * 99)


def test_a_large_order_is_uncorrelated() -> None:
    size = 1_000_003
    places = Permutation(size, [0])(np.arange(size))
    assert abs(np.corrcoef(np.arange(size), places)[0, 1]) < 5 / np.sqrt(size)
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 5 / np.sqrt(size)
