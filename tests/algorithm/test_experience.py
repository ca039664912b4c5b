"""Laws of what recorded curves and the steps of a run tell of the next step."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub.algorithm.experience import (
    FARTHEST,
    LEVELS,
    NORMAL,
    WEIGHTS,
    Experience,
    Moments,
    at_places,
    learned,
    place_of,
    reductions,
)

slopes = st.none() | st.floats(-5.0, 5.0)
doublings = st.floats(0.1, 30.0)
places = st.floats(-FARTHEST, FARTHEST)


def reduced(seen: list[float]) -> Moments:
    return reduce(Moments.with_one, seen, Moments())


@given(slopes, doublings)
def test_recorded_quantiles_ascend(slope: float | None, over: float) -> None:
    found = reductions(slope, over)
    assert len(found) == len(LEVELS)
    assert all(low <= high for low, high in pairwise(found))


def test_the_levels_are_the_middles_of_what_each_quantile_stands_for() -> None:
    assert math.isclose(sum(WEIGHTS), 1)
    before = 0.0
    for level, weight in zip(LEVELS, WEIGHTS, strict=True):
        assert math.isclose(level, before + weight / 2)
        before += weight
    assert [round(0.5 * math.erfc(-z / math.sqrt(2)), 3) for z in NORMAL] == [*LEVELS]


@given(slopes, doublings, places)
def test_a_place_is_that_of_its_reduction(slope: float | None, over: float, place: float) -> None:
    recorded = reductions(slope, over)
    (reduction,) = at_places(recorded, [place])
    (again,) = at_places(recorded, [place_of(recorded, reduction)])
    assert again == pytest.approx(reduction, abs=1e-9)


@given(st.lists(places, max_size=40), st.floats(1.0, 3.0))
def test_learned_places_ascend_and_a_kind_that_surprises_spreads_them(seen: list[float], surprise: float) -> None:
    usual, wide = learned(reduced(seen)), learned(reduced(seen), surprise)
    assert all(low < high for low, high in pairwise(usual))
    assert wide[-1] - wide[0] == pytest.approx(surprise * (usual[-1] - usual[0]))
    assert wide[LEVELS.index(0.5)] == pytest.approx(usual[LEVELS.index(0.5)])


@given(places, st.integers(1, 200))
def test_the_steps_of_a_run_draw_the_forecast_to_where_they_fell(place: float, count: int) -> None:
    few, many = (learned(reduced([place] * times * count))[LEVELS.index(0.5)] for times in (1, 10))
    assert abs(many - place) <= abs(few - place) + 1e-9
    assert learned(reduced([place] * 10_000)) == pytest.approx([place] * len(LEVELS), abs=0.1)
    assert learned(Moments()) == NORMAL


@given(st.lists(places, min_size=2, max_size=60))
def test_the_more_alike_the_steps_of_a_run_are_the_narrower_is_the_forecast(seen: list[float]) -> None:
    middle = sum(seen) / len(seen)
    nearer = [(place + middle) / 2 for place in seen]
    narrow, wide = (learned(reduced(each)) for each in (nearer, seen))
    assert narrow[-1] - narrow[0] <= wide[-1] - wide[0] + 1e-9


def test_a_run_teaches_the_size_and_the_family_first() -> None:
    known = Experience()
    recorded = reductions(None, 2.0)
    for _ in range(20):
        known.add(0, "x", recorded, recorded[-1])
    own, size, other = known.spread(0, "x"), known.spread(0, None), known.spread(1, None)
    assert sum(own) > sum(size) > sum(other) > sum(NORMAL)
    assert own[-1] - own[0] < size[-1] - size[0] < other[-1] - other[0] < NORMAL[-1] - NORMAL[0]
