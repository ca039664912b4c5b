"""The forecast of seconds: exact where seconds grow as declared, and between what was declared and what was seen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Measurement
from pydaub.algorithm.seconds import USUAL_GROWTH, Growth, enough, evaluation_ahead, seconds_ahead

EXPONENT, STARTING, SECONDS, FACTOR = (
    st.floats(0.5, 2.0),
    st.floats(0, 10_000),
    st.floats(0.1, 100.0),
    st.floats(1, 500),
)


def points(*times: tuple[int, float, float, int | None]) -> list[tuple[int, Measurement]]:
    """Return sizes and measurements from sizes, seconds of fitting and of scoring, and the rows scored."""
    return [
        (size, Measurement(None, 0.5, fitting + scoring + 9.0, fitting=fitting, scoring=scoring, scored=scored))
        for size, fitting, scoring, scored in times
    ]


@given(EXPONENT, STARTING, st.floats(0.0, 1.0), SECONDS, FACTOR)
def test_seconds_that_grow_as_declared_are_forecast_exactly_from_any_sizes(
    exponent: float, starting: float, per_row: float, seconds: float, factor: float
) -> None:
    growth, size = Growth(exponent, starting, per_row), round(300 * factor)

    def measured(rows: int, scored: int) -> tuple[int, float, float, int]:
        grown = (rows + starting) / (100 + starting)
        return rows, seconds * grown**exponent, seconds * grown**per_row * scored / 50, scored

    known = points(measured(100, 50), measured(300, 100))  # twice as many rows were scored
    for some in (known, known[:1], known[1:]):
        assert seconds_ahead(some, size, growth, rows=500) == pytest.approx(sum(measured(size, 500)[1:3]))
    assert evaluation_ahead(known, size, growth, rows=500) == pytest.approx(sum(measured(size, 500)[1:3]) + 9.0)


@given(EXPONENT, STARTING, SECONDS, st.floats(0.2, 5.0), FACTOR)
def test_of_a_growth_that_differs_from_the_declared_one_a_part_lasts(
    exponent: float, starting: float, seconds: float, ratio: float, factor: float
) -> None:
    growth, size = Growth(exponent, starting), round(400 * factor)
    declared = seconds * ((400 + starting) / (100 + starting)) ** exponent
    known, as_declared = (
        points((100, seconds, 0.0, None), (400, last, 0.0, None)) for last in (ratio * declared, declared)
    )
    grown, expected = (seconds_ahead(each, size, growth) / each[-1][1].own_seconds for each in (known, as_declared))
    assert (grown - expected) * (ratio - 1) >= -1e-9 * expected, "it moves to the side of what was seen"
    distance = math.log((size + starting) / (400 + starting))
    assert abs(math.log(grown / expected)) <= growth.lasts * distance + 1e-9, "and not without limit"
    unknown = seconds_ahead(known, size, growth._replace(lasts=0.6)) / known[-1][1].own_seconds
    assert abs(math.log(unknown / expected)) >= abs(math.log(grown / expected)) - 1e-9, "further where less is known"


def test_starting_does_not_grow_with_the_rows() -> None:
    one = points((1000, 1.0, 0.0, None))
    assert seconds_ahead(one, 8000, Growth(1.0, 0)) == pytest.approx(8.0)
    assert seconds_ahead(one, 8000, Growth(1.0, 6000)) == pytest.approx(2.0)


def test_a_short_time_says_nothing_of_how_it_grows() -> None:
    tiny, growth = points((100, 1e-5, 0.0, None), (200, 1e-3, 0.0, None)), Growth(1.0, 0)
    assert seconds_ahead(tiny, 2000, growth) == pytest.approx(1e-2)
    near = Growth(1.0, 0, 0.7)
    assert seconds_ahead(points((100, 0.0, 1.0, 10)), 1000, near, rows=20) == pytest.approx(2 * 10**0.7)


def test_where_fitting_and_scoring_are_not_told_apart_their_sum_is_taken_for_fitting() -> None:
    known = [(100, Measurement(1.0, 0.5, 1.0)), (200, Measurement(1.0, 0.5, 4.0))]
    split = points((100, 1.0, 0.0, None), (200, 4.0, 0.0, None))
    assert seconds_ahead(known, 400, rows=7) == seconds_ahead(split, 400) > 4.0
    assert USUAL_GROWTH.lasts > Growth().lasts, "more of what was seen counts where nothing is known"


def test_what_is_enough_is_more_the_farther_ahead() -> None:
    assert enough(5.0, 1000, 1000) == 5.0
    assert 5.0 < enough(5.0, 1000, 2000) < enough(5.0, 1000, 64_000) < 15.0
