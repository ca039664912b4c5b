"""The laws of `UpperBound`, checked on random curves for every bound class of the core and of `extensions/bounds/`."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, DifferenceBound, Measurement, NonIncreasing, SlopeBound, UpperBound
from pydaub.algorithm import bounds
from pydaub.extensions.bounds import confidence, fitted, spline
from pydaub.extensions.bounds.confidence import ConfidenceBound
from pydaub.extensions.bounds.fitted import FittedBound
from pydaub.extensions.bounds.spline import RegressionSpline

FULL_SIZE = 1000
Points = tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Interpolated:
    """The exact accuracy that `DifferenceBound` needs: straight lines through the points, also beyond the ends."""

    points: Points

    def __call__(self, size: int) -> Any:
        if len(self.points) == 1:
            return self.points[0][1]
        segments = list(pairwise(self.points))
        (left, low), (right, high) = next((pair for pair in segments if size <= pair[1][0]), segments[-1])
        return low if low == high else low + (high - low) * Fraction(size - left, right - left)


def slopes(_: Points) -> list[UpperBound]:
    return [SlopeBound(), SlopeBound(points=2, train_cap=False)]


def differences(points: Points) -> list[UpperBound]:
    accuracy = {"any": Interpolated(points), "twin": Interpolated(points)}
    return [DifferenceBound(accuracy), DifferenceBound(accuracy, step=7, train_cap=False)]


def non_increasing(points: Points) -> list[UpperBound]:
    return [*(NonIncreasing(bound) for bound in slopes(points)), *(NonIncreasing(b, 2) for b in differences(points))]


def fits(_: Points) -> list[UpperBound]:
    return [FittedBound("isotonic"), FittedBound("concave"), FittedBound("concave", train_cap=False)]


def splines(_: Points) -> list[UpperBound]:
    return [RegressionSpline(1000), RegressionSpline(train_cap=False)]


def confident(_: Points) -> list[UpperBound]:
    return [ConfidenceBound(10**6, 52 * 11), ConfidenceBound(10**6, 52 * 11, "bernstein", 0.9)]


# How to make the bounds of each class for a curve with these points. A new class needs a line here.
Make = Callable[[Points], list[UpperBound]]
MAKERS: dict[type, list[Make]] = {
    SlopeBound: [slopes],
    DifferenceBound: [differences],
    NonIncreasing: [non_increasing],
    FittedBound: [fits],
    RegressionSpline: [splines],
    ConfidenceBound: [confident],
}


def over(*makers: Make) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", makers, ids=[make.__name__ for make in makers])


every_bound = over(*(make for makers in MAKERS.values() for make in makers))
every_valid_bound = over(slopes, differences, non_increasing, fits)  # on exact scores, and tight at the full size
every_line = over(slopes, differences, non_increasing, fits)

sizes = st.lists(st.integers(2, FULL_SIZE - 1), min_size=2, max_size=6, unique=True).map(sorted)
scores = st.fractions(min_value=0, max_value=1, max_denominator=16)


@st.composite
def random_points(draw: st.DrawFn) -> Points:
    return tuple((size, draw(scores)) for size in draw(sizes))


@st.composite
def concave_points(draw: st.DrawFn) -> Points:
    """A curve up to the full size that never falls and has diminishing returns."""
    places = [*draw(sizes), FULL_SIZE]
    slopes_ = sorted(draw(st.lists(scores, min_size=len(places) - 1, max_size=len(places) - 1)), reverse=True)
    score = draw(scores)
    found = [(places[0], score)]
    for (size, following), slope in zip(pairwise(places), slopes_, strict=True):
        score += slope * (following - size)
        found.append((following, score))
    return tuple(found)


def curve_of(points: Points, train: Any = 10**9, learner: str = "any") -> Curve:
    return Curve(learner, tuple(size for size, _ in points), tuple(Measurement(train, s, 0.0) for _, s in points))


def has_train_cap(bound: Any) -> bool:
    return has_train_cap(bound.bound) if hasattr(bound, "bound") else getattr(bound, "train_cap", False)


def test_every_bound_class_in_the_module_is_checked_here() -> None:
    found = {
        kind
        for module in (bounds, confidence, fitted, spline)
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and "__call__" in vars(kind)
    }
    assert found - {UpperBound} == set(MAKERS)


@every_bound
@given(points=random_points(), train=scores)
def test_a_bound_is_pure(make: Make, points: Points, train: Fraction) -> None:
    curve = curve_of(points, train)
    before = copy.deepcopy(curve)
    for bound in make(points):
        assert bound(curve, FULL_SIZE) == bound(curve, FULL_SIZE)
        assert curve == before, "the curve is not changed"


@every_bound
@given(points=random_points(), train=scores)
def test_equal_curves_have_equal_bounds(make: Make, points: Points, train: Fraction) -> None:
    """However the curve was built, and whatever the learner is called: identical learners must tie exactly."""
    built, twin = Curve("any"), curve_of(points, train, learner="twin")
    for size, score in points:
        built = built.extended(size, Measurement(train, score, 0.0))  # type: ignore[arg-type]  # exact scores
    for bound in make(points):
        assert bound(built, FULL_SIZE) == bound(curve_of(points, train), FULL_SIZE) == bound(twin, FULL_SIZE)


@every_bound
@given(points=random_points())
def test_two_points_are_enough_for_a_finite_bound(make: Make, points: Points) -> None:
    for bound in make(points):
        assert math.isfinite(bound(curve_of(points), FULL_SIZE))


@every_bound
@given(points=random_points(), last=scores)
def test_at_the_full_size_no_line_is_left_to_extend(make: Make, points: Points, last: Fraction) -> None:
    whole = (*points, (FULL_SIZE, last))
    curve = curve_of(whole)
    for bound in make(whole):
        if isinstance(bound, ConfidenceBound):
            assert bound(curve, FULL_SIZE) <= min(1, last + bound.radius(float(last)))
        elif isinstance(bound, FittedBound | RegressionSpline):
            measured = [score for _, score in whole]
            assert min(measured) <= bound(curve, FULL_SIZE) <= max(measured)
        elif isinstance(bound, NonIncreasing):  # an earlier bound may have been lower
            assert bound(curve, FULL_SIZE) <= curve.valid[-1]
        else:
            assert bound(curve, FULL_SIZE) == curve.valid[-1]


@every_valid_bound
@given(points=concave_points())
def test_on_a_well_behaved_curve_the_bound_is_valid_and_reaches_the_score_at_the_full_size(
    make: Make, points: Points
) -> None:
    curve, final = curve_of(points), points[-1][1]
    for bound in make(points):
        assert bound(curve, FULL_SIZE) == final
        for length in range(2, len(points)):
            assert bound(curve.prefix(length), FULL_SIZE) >= final


@every_bound
@given(points=random_points(), train=scores)
def test_the_training_score_caps_a_bound_that_says_so(make: Make, points: Points, train: Fraction) -> None:
    capped, uncapped = curve_of(points, train), curve_of(points)
    for bound in make(points):
        limit = train if has_train_cap(bound) else math.inf
        assert bound(capped, FULL_SIZE) == min(bound(uncapped, FULL_SIZE), limit)


@every_line
@given(places=sizes, start=scores, slope=scores)
def test_a_straight_line_is_extrapolated_exactly(
    make: Make, places: list[int], start: Fraction, slope: Fraction
) -> None:
    points = tuple((size, start + slope * size) for size in places)
    for bound in make(points):
        assert bound(curve_of(points), FULL_SIZE) == start + slope * FULL_SIZE


@over(slopes, differences, non_increasing, fits, splines)
@given(places=sizes, score=st.floats(-1e6, 1e6))
def test_a_plateau_stays_where_it_is_in_floating_point_too(make: Make, places: list[int], score: float) -> None:
    """Exactly, so that ties stay ties."""
    points = tuple((size, score) for size in places)
    for bound in make(points):
        assert bound(curve_of(points), FULL_SIZE) == score


@every_bound
@given(points=random_points())
def test_a_pickled_bound_is_the_same_bound(make: Make, points: Points) -> None:
    for bound, again in zip(make(points), make(points), strict=True):
        loaded = pickle.loads(pickle.dumps(bound))
        assert loaded == bound == again
        assert loaded(curve_of(points), FULL_SIZE) == bound(curve_of(points), FULL_SIZE)
        assert bounds.described(loaded) == bounds.described(bound) == bounds.described(again), "settings are compared"
        assert " at 0x" not in bounds.described(bound), "an address differs in every process"


def test_the_names_of_bounds_in_settings_are_stable() -> None:
    """They are written to journals: a run is resumed only with the same bound."""
    assert bounds.described(SlopeBound()) == "SlopeBound(points=3, train_cap=True)"
    assert bounds.described(NonIncreasing(SlopeBound(2, train_cap=False))) == (
        "NonIncreasing(bound=SlopeBound(points=2, train_cap=False), points=3)"
    )
    assert bounds.described(DifferenceBound({}, 7)) == "DifferenceBound(accuracy={}, step=7, train_cap=True)"
    assert bounds.described(curve_of) == f"{__name__}.curve_of", "a function by its name"  # type: ignore[arg-type]
    assert bounds.described(FittedBound()) == "FittedBound(fit='concave', train_cap=True)"
    assert bounds.described(ConfidenceBound(100, 9)) == (
        "ConfidenceBound(rows=100, looks=9, interval='hoeffding', confidence=0.95)"
    )
