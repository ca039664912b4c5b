"""The monotone regression of learning curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, InputError, Measurement


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


@pytest.mark.parametrize(("sizes", "measurements"), [(None, ()), ((), None), (5, 5), ((1,), (0.5,)), ("1", "2")])
def test_what_is_no_curve_is_refused(sizes: Any, measurements: Any) -> None:
    with pytest.raises(InputError, match="`measurements` must be "):
        Curve("tree", sizes, measurements)
