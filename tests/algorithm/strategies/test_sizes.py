"""Which sizes of a schedule frugal uses."""

from __future__ import annotations

import random

import pytest

from cases import seeds
from pydaub import Frugal, Schedule
from pydaub.algorithm.strategies.sizes import JUMP, NEAR, few, few_for_families


@pytest.mark.parametrize(
    ("sizes", "used"),
    [
        ((500, 1000, 1500, 2500, 4000, 5000, 7500, 11500, 17500, 25500, 38500), (500, 2500, 11500, 38500)),
        (tuple(100 * 2**k for k in range(14)), (6400, 25600, 102400, 819200)),
        (tuple(100 * 2**k for k in range(15)), (6400, 25600, 102400, 409600, 1638400)),  # not more than 8,000
        ((21, 32, 47, 70, 105), (32, 105)),
        ((44,), (44,)),
        ((3000, 10_000), (3000, 10_000)),
        ((9000, 9500, 10_000), (9000, 10_000)),
        ((50, 1_000_000), (50, 1_000_000)),
        # One near all rows is left out where there are enough before it.
        ((500, 1688, 5697, 19_229, 47_290), (500, 1688, 5697, 47_290)),
        ((500, 1688, 5697, 14_698), (500, 1688, 5697, 14_698)),
    ],
)
def test_a_few_of_the_sizes_are_enough(sizes: tuple[int, ...], used: tuple[int, ...]) -> None:
    assert few(sizes) == used
    assert Frugal(["a"], Schedule(sizes)).schedule.sizes == used


@pytest.mark.parametrize("seed", seeds(20, 100))
def test_of_any_schedule_it_takes_a_first_size_and_all_rows(seed: int) -> None:
    rng = random.Random(seed)
    sizes = tuple(sorted(rng.sample(range(1, 100_000), rng.randint(1, 40))))
    used, fewer = few(sizes), few_for_families(sizes)
    for some in (used, fewer):
        assert set(some) <= set(sizes)
        assert some[-1] == sizes[-1]
    assert all(size * JUMP < sizes[-1] for size in used[:-2])
    assert all(size * NEAR < sizes[-1] for size in fewer[:-1])
