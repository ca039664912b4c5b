from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, DifferenceBound, InputError, Measurement, NonIncreasing, SlopeBound
from pydaub.algorithm.bounds import least_squares_slope


def curve_of(points: dict[int, Any], train: Any = 1.0) -> Curve:
    return Curve("any", tuple(points), tuple(Measurement(train, score, 0.0) for score in points.values()))


THREE = curve_of({10: Fraction(1, 10), 20: Fraction(3, 10), 40: Fraction(4, 10)})


def test_the_papers_bound() -> None:
    """By hand: the means are 70/3 and 8/30, so the slope is (130/30) / (1400/3), and 60 rows are left of 100."""
    slope = Fraction(130, 30) / Fraction(1400, 3)
    assert SlopeBound()(THREE, 100) == Fraction(4, 10) + 60 * slope


def test_the_training_score_caps_it() -> None:
    low = curve_of({10: 0.1, 20: 0.3, 40: 0.4}, train=0.35)
    assert SlopeBound()(low, 100) == 0.35
    assert SlopeBound(train_cap=False)(low, 100) > 0.9


def test_the_straight_line_through_the_last_two_points() -> None:
    assert SlopeBound(points=2)(THREE, 100) == Fraction(4, 10) + 60 * Fraction(1, 200)


def test_corrected_scores_are_used() -> None:
    fallen = curve_of({10: 0.5, 20: 0.75, 40: 0.25})
    assert SlopeBound()(fallen, 100) == 0.5


def test_with_one_point_only_the_training_score_bounds() -> None:
    assert SlopeBound()(curve_of({10: 0.5}), 100) == 1.0
    assert SlopeBound(train_cap=False)(curve_of({10: 0.5}), 100) == math.inf
    assert SlopeBound(train_cap=False)(curve_of({100: 0.5}), 100) == 0.5, "at the full size nothing is left to guess"


@given(st.floats(-1e6, 1e6), st.lists(st.integers(1, 10**9), min_size=2, max_size=5, unique=True))
def test_a_plateau_has_no_slope_at_all(score: float, sizes: list[int]) -> None:
    """Exactly zero, in floats too, so that ties stay ties."""
    assert least_squares_slope(tuple(sorted(sizes)), (score,) * len(sizes)) == 0


@given(st.fractions(), st.fractions(), st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True))
def test_a_line_has_its_own_slope(slope: Fraction, start: Fraction, sizes: list[int]) -> None:
    sizes.sort()
    scores: Any = tuple(start + slope * size for size in sizes)
    assert least_squares_slope(tuple(sizes), scores) == slope


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
def test_non_increasing_is_the_least_bound_so_far(scores: list[Fraction]) -> None:
    whole = curve_of({10 * (i + 1): score for i, score in enumerate(scores)})
    kept = [NonIncreasing(SlopeBound())(whole.prefix(k), 200) for k in range(3, len(scores) + 1)]
    plain = [SlopeBound()(whole.prefix(k), 200) for k in range(3, len(scores) + 1)]
    assert kept == [min(plain[: k + 1]) for k in range(len(plain))]


@pytest.mark.parametrize("points", [1, 0, -1, 2.5, "3", None])
def test_points_must_make_a_line(points: Any) -> None:
    with pytest.raises(InputError, match=r"`points` must be a whole number of at least 2, got"):
        SlopeBound(points=points)


@pytest.mark.parametrize("step", [0, -1, 1.5, None])
def test_a_step_must_go_back(step: Any) -> None:
    with pytest.raises(InputError, match=r"`step` must be a whole number of at least 1, got"):
        DifferenceBound({}, step=step)
