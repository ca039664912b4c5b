"""The monotone regression of learning curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, InputError, Measurement
from pydaub.algorithm.curve import Growth, extended, seconds_ahead


def curve_of(scores: list[Any]) -> Curve:
    curve = Curve("any")
    for index, score in enumerate(scores):
        curve = curve.extended(10 * (index + 1), Measurement(1.0, score, 0.0))
    return curve


def test_two_scores_meet_in_the_middle() -> None:
    assert curve_of([0.5, 0.25]).valid == (0.375, 0.375)


def test_the_correction_does_not_cascade() -> None:
    """Alg. 1 changes f[n] and f[n/r] only, even if f[n/r] is then below f[n/r^2]."""
    assert curve_of([0.75, 0.75, 0.25]).valid == (0.75, 0.5, 0.5)


def test_later_corrections_start_from_corrected_scores() -> None:
    assert curve_of([0.5, 0.25, 0.25]).valid == (0.375, 0.3125, 0.3125)


scores = st.lists(st.fractions(min_value=-1, max_value=1, max_denominator=16), max_size=12)


@given(scores)
def test_the_correction_keeps_the_sum_and_changes_only_the_last_two_points(raw: list[Fraction]) -> None:
    curve = curve_of(raw)
    assert [m.valid_score for m in curve.measurements] == raw, "raw scores are kept"
    assert sum(curve.valid) == sum(raw), "the sum does not change"
    if raw == sorted(raw):
        assert list(curve.valid) == raw, "a monotone curve is not changed"
    if len(raw) > 1:
        assert curve.valid[-1] >= curve.valid[-2], "the last two never fall"
        assert curve.prefix(len(raw) - 1).valid[:-1] == curve.valid[:-2], "older points do not change"


@given(scores)
def test_a_prefix_is_the_curve_as_it_was_at_that_length(raw: list[Fraction]) -> None:
    for length in range(len(raw) + 1):
        assert curve_of(raw).prefix(length) == curve_of(raw[:length])


def test_sizes_must_strictly_increase() -> None:
    curve = curve_of([0.5])
    with pytest.raises(InputError, match=r"`sizes` of 'any' must strictly grow from 1 or more, got \(10, 10\)"):
        curve.extended(10, Measurement(1.0, 0.5, 0.0))
    nonsense: Any = "x"
    with pytest.raises(InputError, match=r"`sizes` must be a whole number, got 'x'"):
        Curve("any", (nonsense,), curve.measurements)
    with pytest.raises(InputError, match=r"must strictly grow from 1 or more, got \(-5,\)"):
        Curve("any", (-5,), curve.measurements)
    with pytest.raises(InputError, match=r"must have the same length, got 1 and 0"):
        Curve("any", (10,), ())


def points(*times: tuple[int, float, float, int | None]) -> list[tuple[int, Measurement]]:
    """Return sizes and measurements from sizes, seconds of fitting and of scoring, and the rows scored."""
    return [
        (size, Measurement(None, 0.5, fitting + scoring + 9.0, fitting=fitting, scoring=scoring, scored=scored))
        for size, fitting, scoring, scored in times
    ]


@given(
    exponent=st.floats(1.0, 3.0),
    per_row=st.floats(0.0, 0.35),
    seconds=st.floats(0.1, 100.0),
    factor=st.floats(1.0, 100.0),
)
def test_costs_that_grow_by_a_power_are_extended_exactly(
    exponent: float, per_row: float, seconds: float, factor: float
) -> None:
    known = points(
        (100, seconds, seconds, 50), (300, seconds * 3**exponent, seconds * 3**per_row * 2, 100)
    )  # twice as many rows were scored
    size = round(300 * factor)
    fitting, scoring = seconds * (size / 100) ** exponent, seconds * (size / 100) ** per_row * 500 / 50
    assert seconds_ahead(known, size, rows=500) == pytest.approx(fitting + scoring)


def test_what_is_declared_holds_where_little_is_measured() -> None:
    kernel, near = Growth(2.0, 2.0, 1.0, 1.2), Growth(per_row=0.7, most_per_row=1.2)
    one = points((100, 1.0, 0.0, None))
    assert seconds_ahead(one, 1000) == pytest.approx(10**1.1)
    assert seconds_ahead(one, 1000, kernel) == pytest.approx(100.0)
    flat = points((100, 1.0, 0.0, None), (200, 1.0, 0.0, None))
    assert seconds_ahead(flat, 2000) == pytest.approx(10.0), "at least with the rows"
    assert seconds_ahead(flat, 2000, kernel) == pytest.approx(100.0), "at least with their square"
    assert seconds_ahead(points((100, 0.0, 1.0, 10)), 1000, near, rows=20) == pytest.approx(2 * 10**0.7)
    tiny = points((100, 1e-5, 0.0, None), (200, 1e-3, 0.0, None))
    assert seconds_ahead(tiny, 2000) == pytest.approx(1e-3 * 10**1.1), "so short a time says nothing of how it grows"


def test_where_fitting_and_scoring_are_not_told_apart_their_sum_is_extended() -> None:
    known = [(100, Measurement(1.0, 0.5, 1.0)), (200, Measurement(1.0, 0.5, 4.0))]
    assert seconds_ahead(known, 400) == pytest.approx(16.0) == pytest.approx(extended([(100, 1.0), (200, 4.0)], 400))


@pytest.mark.parametrize(("sizes", "measurements"), [(None, ()), ((), None), (5, 5), ((1,), (0.5,)), ("1", "2")])
def test_what_is_no_curve_is_refused(sizes: Any, measurements: Any) -> None:
    with pytest.raises(InputError, match="`measurements` must be "):
        Curve("tree", sizes, measurements)
