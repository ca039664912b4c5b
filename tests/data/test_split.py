from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import InputError
from pydaub.data import Split, prepare
from pydaub.data.split import by_fraction, by_group_times, by_groups, by_time, shuffled
from pydaub.records import VALIDATION_FRACTION

classes = st.lists(st.integers(0, 4), min_size=2, max_size=80).map(
    lambda codes: np.unique(codes, return_inverse=True)[1]
)
fractions = st.floats(0.05, 0.95)
seeds = st.integers(0, 1000)


@given(classes, seeds)
def test_every_prefix_is_stratified(codes: np.ndarray, seed: int) -> None:
    order = shuffled(codes, len(codes), np.random.default_rng(seed))
    assert sorted(order) == list(range(len(codes)))
    counts = np.bincount(codes)
    for size in range(1, len(codes) + 1):
        expected = counts * size / len(codes)
        found = np.bincount(codes[order[:size]], minlength=len(counts))
        assert (np.abs(found - expected) <= 1 + expected / size * len(counts)).all()


def test_every_row_of_a_class_is_equally_likely_to_come_first() -> None:
    codes = np.array([0] * 4 + [1] * 4)
    first = [shuffled(codes, 8, np.random.default_rng(seed))[0] for seed in range(4000)]
    assert np.bincount(first, minlength=8) == pytest.approx([500] * 8, abs=120)


def test_the_order_depends_on_the_seed() -> None:
    orders = [shuffled(None, 100, np.random.default_rng(seed)).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


@given(classes, fractions, seeds)
def test_validation_rows_are_stratified_and_leave_each_class_a_training_row(
    codes: np.ndarray, fraction: float, seed: int
) -> None:
    counts = np.bincount(codes)
    rng = np.random.default_rng(seed)
    train, valid = by_fraction(codes, len(codes), fraction, rng)
    assert sorted([*train, *valid]) == list(range(len(codes)))
    assert len(valid) >= (counts > 1).any()
    assert set(codes[train]) == set(codes)
    assert len(valid) <= max(1, round(fraction * len(codes)))
    share = np.bincount(codes[valid], minlength=len(counts))
    assert (share <= counts * fraction + 1 + len(counts)).all()


def test_the_default_is_thirty_percent_of_each_class() -> None:
    assert Split().fraction == VALIDATION_FRACTION
    codes = np.repeat([0, 1], [700, 300])
    _, valid = by_fraction(codes, 1000, VALIDATION_FRACTION, np.random.default_rng(0))
    assert np.bincount(codes[valid]) == pytest.approx([210, 90], abs=1)


@pytest.mark.parametrize("how", [{}, {"groups": np.arange(1000) // 10}, {"time": np.arange(1000)}])
def test_at_most_so_many_rows_validate(how: dict[str, Any]) -> None:
    codes, rows = np.repeat([0, 1], [990, 10])[::-1], np.arange(1000.0)[:, None]
    few, all_of_them, default = (prepare(rows, codes, **how, split=Split(most=most)) for most in (100, 500, None))
    assert (few.full_size, few.valid_size) == (900, 100)
    assert all_of_them.fingerprint == default.fingerprint
    assert set(all_of_them.notes) <= {"Classes without a validation row: 1."}, "by groups and by time"
    noted = [note for note in few.notes if "few of the 100 validation rows" in note]
    assert len(noted) == 1
    assert re.search(r": 1 \(\d+\)\.", noted[0])


def test_a_class_without_a_validation_row_is_noted() -> None:
    data = prepare(np.arange(100.0)[:, None], np.repeat(["a", "b"], [99, 1]))
    assert "Classes without a validation row: 'b'." in data.notes


def test_a_regression_is_divided_without_classes() -> None:
    train, valid = by_fraction(None, 10, 0.3, np.random.default_rng(0))
    assert (len(train), len(valid)) == (7, 3)


@given(classes, fractions, seeds)
def test_groups_stay_together(groups: np.ndarray, fraction: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if groups.max() == 0:
        with pytest.raises(InputError, match="Rows must have at least two groups to be divided by, got one"):
            by_groups(groups, fraction, rng)
        return
    train, valid = by_groups(groups, fraction, rng)
    assert sorted([*train, *valid]) == list(range(len(groups)))
    assert len(train)
    assert len(valid)
    assert not set(groups[train]) & set(groups[valid])


def test_many_groups_come_close_to_the_fraction() -> None:
    groups = np.repeat(np.arange(100), np.random.default_rng(0).integers(1, 20, 100))
    _, valid = by_groups(groups, 0.3, np.random.default_rng(1))
    assert len(valid) / len(groups) == pytest.approx(0.3, abs=0.01)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60).map(np.array), fractions)
def test_validation_is_later_than_training(time: np.ndarray, fraction: float) -> None:
    train, valid = by_time(time, fraction)
    assert sorted([*train, *valid]) == list(range(len(time)))
    assert len(train)
    assert len(valid)
    if len(set(time.tolist())) > 1:
        assert time[train].max() < time[valid].min()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=2, max_size=60), fractions)
def test_the_groups_that_begin_last_validate(rows: list[tuple[int, int]], fraction: float) -> None:
    """No group is in both parts, and every group for validation begins after those for training."""
    groups, time = np.array(rows).T
    begins = {group: time[groups == group].min() for group in groups.tolist()}
    if len(set(begins.values())) < 2:
        with pytest.raises(InputError, match="Groups must begin at different times to be divided by these, got one"):
            by_group_times(groups, time, fraction)
        return
    train, valid = by_group_times(groups, time, fraction)
    assert sorted([*train, *valid]) == list(range(len(groups)))
    assert max(begins[each] for each in groups[train].tolist()) < min(begins[each] for each in groups[valid].tolist())


def test_the_fraction_decides_how_many_rows_are_latest() -> None:
    train, valid = by_time(np.arange(10)[::-1], 0.3)
    assert (train.tolist(), valid.tolist()) == ([3, 4, 5, 6, 7, 8, 9], [0, 1, 2])


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan"), "0.3", None, True, 10**400])
def test_a_fraction_is_between_0_and_1(fraction: float) -> None:
    with pytest.raises(InputError, match="`validation_fraction` must be between 0 and 1, got"):
        Split(fraction)
