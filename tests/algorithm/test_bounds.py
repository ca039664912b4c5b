"""What each bound computes, by hand; the laws that all share are in tests/contracts/test_bounds.py."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, DifferenceBound, InputError, Measurement, NonIncreasing, SlopeBound


def curve_of(points: dict[int, Any], train: Any = 1.0) -> Curve:
    return Curve("any", tuple(points), tuple(Measurement(train, score, 0.0) for score in points.values()))


THREE = curve_of({10: Fraction(1, 10), 20: Fraction(3, 10), 40: Fraction(4, 10)})


def test_the_papers_bound() -> None:
    """The means are 70/3 and 8/30, so the slope is (130/30) / (1400/3); 60 of 100 rows are left."""
    slope = Fraction(130, 30) / Fraction(1400, 3)
    assert SlopeBound()(THREE, 100) == Fraction(4, 10) + 60 * slope


def test_the_straight_line_through_the_last_two_points() -> None:
    assert SlopeBound(points=2)(THREE, 100) == Fraction(4, 10) + 60 * Fraction(1, 200)


def test_the_line_runs_through_corrected_scores() -> None:
    fallen = curve_of({10: 0.5, 20: 0.75, 40: 0.25})
    assert SlopeBound()(fallen, 100) == 0.5


def test_with_one_point_only_the_training_score_is_a_bound() -> None:
    assert SlopeBound()(curve_of({10: 0.5}), 100) == 1.0
    assert SlopeBound(train_cap=False)(curve_of({10: 0.5}), 100) == math.inf
    assert SlopeBound(train_cap=False)(curve_of({100: 0.5}), 100) == 0.5, (
        "at the full size there is nothing to extrapolate"
    )


def test_the_one_sided_difference() -> None:
    def f(n: int) -> Fraction:
        return 1 - Fraction(1, n)

    accuracy: Any = {"any": f}
    for step in (1, 4, 9):
        slope = (f(10) - f(10 - step)) / step
        bound = DifferenceBound(accuracy, step)
        assert bound(curve_of({10: f(10)}, train=2), 100) == min(2, f(10) + 90 * slope)
    assert DifferenceBound(accuracy, 50)(curve_of({10: f(10)}, train=99), 100) == f(10) + 90 * (f(10) - f(1)) / 9
    assert DifferenceBound(accuracy)(curve_of({1: f(1)}), 100) == 1.0
    assert DifferenceBound(accuracy, train_cap=False)(curve_of({1: f(1)}), 100) == math.inf


grid = st.fractions(min_value=0, max_value=1, max_denominator=8)


@given(st.lists(grid, min_size=1, max_size=9))
def test_non_increasing_is_the_smallest_bound_so_far(scores: list[Fraction]) -> None:
    whole = curve_of({10 * (i + 1): score for i, score in enumerate(scores)})
    kept = [NonIncreasing(SlopeBound())(whole.prefix(k), 200) for k in range(3, len(scores) + 1)]
    plain = [SlopeBound()(whole.prefix(k), 200) for k in range(3, len(scores) + 1)]
    assert kept == [min(plain[: k + 1]) for k in range(len(plain))]


@pytest.mark.parametrize("points", [1, 0, -1, 2.5, "3", None])
def test_fewer_than_two_points_are_refused(points: Any) -> None:
    with pytest.raises(InputError, match=r"`points` must be a whole number of at least 2, got"):
        SlopeBound(points=points)


@pytest.mark.parametrize("step", [0, -1, 1.5, None])
def test_a_step_below_one_is_refused(step: Any) -> None:
    with pytest.raises(InputError, match=r"`step` must be a whole number of at least 1, got"):
        DifferenceBound({}, step=step)
