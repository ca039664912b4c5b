"""Confidence bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Curve, InputError, Measurement
from pydaub.extensions.bounds.confidence import ConfidenceBound

sizes = st.lists(st.integers(1, 5000), min_size=2, max_size=12, unique=True).map(sorted)


@st.composite
def curves(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    places = draw(sizes)
    return places, [draw(st.floats(0, 1, allow_subnormal=False)) for _ in places]


@given(curves(), st.sampled_from(["hoeffding", "bernstein"]))
def test_a_confidence_bound_never_rises_along_a_curve(points: tuple[list[int], list[float]], interval: str) -> None:
    places, scores = points
    curve = Curve("any", tuple(places), tuple(Measurement(1.0, each, 0.0) for each in scores))
    bound = ConfidenceBound(2000, 100, interval)
    along = [bound(curve.prefix(length), 5001) for length in range(1, len(places) + 1)]
    assert along == sorted(along, reverse=True)
    assert along[0] == 1.0


def test_fewer_rows_make_a_wider_interval() -> None:
    bound = ConfidenceBound(1000, 10)
    assert bound.radius(0.5, 100) > bound.radius(0.5) == bound.radius(0.5, 5000)
    assert ConfidenceBound(1000, 10, "bernstein").radius(0.99) < bound.radius(0.99)
    assert ConfidenceBound(1, 10, "bernstein").radius(0.99) == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConfidenceBound(0, 5), "`rows` must be at least 1, got 0"),
        (lambda: ConfidenceBound(5, 0), "`looks` must be at least 1, got 0"),
        (lambda: ConfidenceBound(5, 5, "normal"), "`interval` must be one of hoeffding, bernstein, got 'normal'"),
        (lambda: ConfidenceBound(5, 5, confidence=1), "`confidence` must be between 0 and 1, got 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
