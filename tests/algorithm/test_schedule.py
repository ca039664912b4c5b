"""Geometric and listed schedules."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import PAPER_SIZES, InputError, Schedule


def test_the_ratio_is_the_decimal_that_was_written() -> None:
    """1.1 x 10 is 11, although the binary 1.1 is slightly larger."""
    assert math.ceil(Fraction(1.1) * 10) == 12
    for ratio in (1.1, "1.1", Decimal("1.1"), Fraction(11, 10), "11/10"):
        assert Schedule.geometric(100, 10, ratio).sizes[:4] == (10, 11, 13, 15)


def test_each_size_is_rounded_up_before_the_next_is_computed() -> None:
    assert Schedule.geometric(38_500, 500, "1.5").sizes == (
        500, 750, 1125, 1688, 2532, 3798, 5697, 8546, 12819, 19229, 28844, 38500,
    )  # fmt: skip


def test_the_papers_eleven_sizes() -> None:
    assert PAPER_SIZES == (500, 1000, 1500, 2500, 4000, 5000, 7500, 11500, 17500, 25500, 38500)
    assert Schedule.listed(38_500).sizes == PAPER_SIZES
    assert Schedule.listed(21_500).sizes == (*PAPER_SIZES[:9], 21_500)
    assert Schedule.listed(50_000).sizes == (*PAPER_SIZES, 50_000)
    assert Schedule.listed(100).sizes == (100,)


ratios = st.fractions(min_value=Fraction(101, 100), max_value=10)


@given(full=st.integers(1, 10**12), first=st.integers(1, 10**6), ratio=ratios)
def test_geometric_sizes_follow_the_rule_or_the_error_names_the_largest_first_size(
    full: int, first: int, ratio: Fraction
) -> None:
    if first * ratio**2 <= full:
        sizes = Schedule.geometric(full, first, ratio).sizes
        assert sizes[0] == first
        assert sizes[-1] == full
        for size, following in pairwise(sizes):
            assert following == min(math.ceil(ratio * size), full) > size
        return
    with pytest.raises(InputError) as raised:
        Schedule.geometric(full, first, ratio)
    message = str(raised.value)
    if "No `first_size` works" in message:
        assert ratio**2 > full
        return
    largest = int(message.rsplit(maxsplit=1)[-1].rstrip("."))
    assert Schedule.geometric(full, largest, ratio).sizes[0] == largest
    with pytest.raises(InputError, match="largest `first_size` that works"):
        Schedule.geometric(full, largest + 1, ratio)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, 10, 1), r"`ratio` must be greater than 1, got 1"),
        ((100, 10, 0.5), r"`ratio` must be greater than 1, got 0.5"),
        ((100, 10, "fast"), r"`ratio` must be a finite number greater than 1, got 'fast'"),
        ((100, 10, "1_5"), r"`ratio` must be a finite number greater than 1, got '1_5'"),
        ((100, 10, "1_5/2"), r"`ratio` must be a finite number greater than 1, got '1_5/2'"),
        ((100, 10, math.nan), r"`ratio` must be a finite number greater than 1, got nan"),
        ((100, 10, math.inf), r"`ratio` must be a finite number greater than 1, got inf"),
        ((100, 10, Decimal("sNaN")), r"`ratio` must be a finite number"),
        ((100, 10, "1/0"), r"`ratio` must be a finite number greater than 1, got '1/0'"),
        ((100, 10, "1e400"), r"`ratio` must be less than 1e\+18, got 1e400"),
        ((100, 10, "1e-999999999"), r"`ratio` must be greater than 1"),
        ((100, 10, 10**400), r"`ratio` must be less than 1e\+18"),
        ((100, 10**400, 2), r"The largest `first_size` that works is 25"),
        ((100, 10, None), r"`ratio` must be a finite number greater than 1, got None"),
        ((100, 0, 1.5), r"`first_size` must be at least 1, got 0"),
        ((100, 10.5, 1.5), r"`first_size` must be a whole number, got 10.5"),
        (("100", 10, 1.5), r"`full_size` must be a whole number, got '100'"),
        ((100, 50, 1.5), r"at most the full size 100, got 50 x 1.5\^2. The largest `first_size` .* is 44"),
        ((3, 1, 2), r"No `first_size` works: choose a smaller ratio, or give at least 4 rows"),
        ((0, 1, 1.5), r"`full_size` must be at least 1, got 0"),
        ((-5, 1, 2), r"`full_size` must be at least 1, got -5"),
        ((10**9, 10**6, "1.00001"), r"`ratio` must give at most 10000 sizes from 1000000 to 1000000000, got 1.00001"),
    ],
)
def test_geometric_refuses_invalid_arguments(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Schedule.geometric(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, []), r"`sizes` must be at least one and strictly grow from 1 or more, got \(\)"),
        ((100, [5, 5]), r"strictly grow .*, got \(5, 5\)"),
        ((100, [9, 5]), r"strictly grow"),
        ((100, [0, 5]), r"strictly grow from 1 or more"),
        ((100, [1.5]), r"`sizes` must be a whole number, got 1.5"),
        ((0, [5]), r"`full_size` must be at least 1, got 0"),
        ((100, 5), r"`sizes` must be a list of whole numbers, got 5"),
        ((100, "12"), r"`sizes` must be a whole number, got '1'"),
        ((None, [5]), r"`full_size` must be a whole number, got None"),
    ],
)
def test_listed_refuses_invalid_arguments(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Schedule.listed(*arguments)
