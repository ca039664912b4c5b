"""A computed order is a bijection that looks random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub.data.outofcore.permutation import Permutation


@given(size=st.integers(1, 3000), seed=st.integers(0, 2**32))
def test_every_place_is_taken_once(size: int, seed: int) -> None:
    order = Permutation(size, [seed])
    places = order(np.arange(size))
    assert np.array_equal(np.sort(places), np.arange(size))
    parts = [order(np.arange(start, min(start + 7, size))) for start in range(0, size, 7)]
    assert np.array_equal(np.concatenate(parts), places), "a part of it is the part of the whole"


def test_the_seed_decides() -> None:
    one, same, other = (Permutation(1000, seed)(np.arange(1000)) for seed in ([1, 2], [1, 2], [1, 3]))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("size", [100, 1000, 4096, 5000])
def test_where_rows_go_is_even(size: int) -> None:
    """Over many seeds, the first rows and their neighbours go everywhere alike: chi-squared, ten by ten parts."""
    seeds = 4000
    first, second = (
        np.array([Permutation(size, [seed])(np.array([row]))[0] for seed in range(seeds)]) for row in (0, 1)
    )
    table = np.histogram2d(first * 10 // size, second * 10 // size, bins=10, range=[[0, 10], [0, 10]])[0]
    expected = seeds / 100
    assert ((table - expected) ** 2 / expected).sum() < 99 + 5 * np.sqrt(2 * 99)


def test_a_large_order_has_no_drift() -> None:
    size = 1_000_003
    places = Permutation(size, [0])(np.arange(size))
    assert abs(np.corrcoef(np.arange(size), places)[0, 1]) < 5 / np.sqrt(size)
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 5 / np.sqrt(size)
