"""Laws of the forecast of a learner's full-data score, and of what the learner is worth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pydaub import Measurement
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.outlook import (
    FIRST_DEVIATION,
    FIRST_MEAN,
    FLAT_DEVIATION,
    NODES,
    WEIGHTS,
    Outlook,
    expected,
)

steps = st.tuples(st.floats(0.5, 4.0), st.floats(0.001, 1000.0))
outlooks = st.builds(
    Outlook,
    top=st.sampled_from([1.0, 0.0, 37.5]),
    error=st.floats(0.001, 2.0),
    last_reduction=st.one_of(st.none(), st.just(0.0), st.floats(-1.0, 1.0)),
    noise=st.one_of(st.just(0.0), st.floats(1e-5, 0.01)),
    steps=st.lists(steps, min_size=1, max_size=3).map(tuple),
)
rates = st.floats(1e-7, 0.01)
POSITIONS, FACTORS = np.polynomial.legendre.leggauss(200)


def curve_of(points: dict[int, float], train: float = 1.0) -> Curve:
    curve = Curve("tree")
    for size, score in points.items():
        curve = curve.extended(size, Measurement(train, score, 1.0))
    return curve


def expected_excess(outlook: Outlook, score: float) -> float:
    """Integrate numerically by how much a learner with one step left exceeds the score on average."""
    mean, deviation = outlook.log_reduction(outlook.error, outlook.last_reduction, outlook.steps[0][0])
    if not deviation:
        return max(outlook.top - outlook.error * math.exp(-mean) - score, 0.0)
    room = outlook.top - score
    if room <= 0:
        return 0.0
    start = min(max((math.log(outlook.error / room) - mean) / deviation, -12.0), 12.0)
    z = start + (12.0 - start) * (POSITIONS + 1) / 2
    excess = room - outlook.error * np.exp(-mean - deviation * z)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return float(np.sum(FACTORS * excess * density) * (12.0 - start) / 2)


def net_gain(outlook: Outlook, score: float, rate: float) -> float:
    """Return the expected gain over the score less the price of the time, if training stops when it does not pay."""
    (doublings, seconds), *others = outlook.steps
    if not others:
        return expected_excess(outlook, score) - rate * seconds
    mean, deviation = outlook.log_reduction(outlook.error, outlook.last_reduction, doublings)
    gain = -rate * seconds
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        reduction = mean + deviation * node
        then = replace(
            outlook,
            error=outlook.error * math.exp(-reduction),
            last_reduction=reduction / doublings,
            steps=tuple(others),
        )
        gain += weight * max(net_gain(then, score, rate), 0.0)
    return gain


@given(outlooks, rates, st.floats(0.001, 1.0))
def test_the_worth_is_the_score_at_which_the_expected_gain_is_zero(outlook: Outlook, rate: float, share: float) -> None:
    reserve = outlook.worth(rate)
    cost = rate * sum(seconds for _, seconds in outlook.steps)
    assert net_gain(outlook, reserve, rate) == pytest.approx(0.0, abs=1e-3 * cost + 1e-6)
    assert reserve <= outlook.top
    distance = share * (outlook.error + cost)
    assert net_gain(outlook, reserve - distance, rate) >= -1e-6, "below it, going on pays"
    assert net_gain(outlook, reserve + distance, rate) <= 1e-6, "above it, going on does not pay"


@given(outlooks, rates)
def test_a_higher_price_of_time_lowers_the_worth(outlook: Outlook, rate: float) -> None:
    assert outlook.worth(2 * rate) <= outlook.worth(rate)


@given(outlooks, rates, st.floats(0.001, 1000.0))
def test_where_the_search_starts_changes_the_worth_by_rounding_only(
    outlook: Outlook, rate: float, factor: float
) -> None:
    found = outlook.top - outlook.worth(rate)
    assert outlook.room(rate, factor * found) == pytest.approx(found, rel=1e-6, abs=1e-9)


@given(outlooks, rates, st.floats(1e-3, 1e3))
def test_the_bound_that_costs_little_is_never_below_the_worth(outlook: Outlook, rate: float, cost: float) -> None:
    """Also for learners with one point whose times grow with the rows, which share what they know."""
    doublings = [each for each, _ in outlook.steps]
    regular = tuple((each, cost * 2 ** sum(doublings[: place + 1])) for place, each in enumerate(doublings))
    for each in (outlook, replace(outlook, last_reduction=None, steps=regular)):
        assert each.most(rate) >= each.worth(rate) - 1e-9 * max(abs(each.worth(rate)), 1.0)


@given(outlooks, rates, st.floats(-1.0, 1.0))
def test_it_pays_where_the_worth_is_higher(outlook: Outlook, rate: float, share: float) -> None:
    worth = outlook.worth(rate)
    score = worth + share * (outlook.top - worth)
    assume(abs(share) > 1e-6)
    assert outlook.pays(rate, score) == (worth > score)


def test_the_quadrature_is_exact_for_the_moments_of_a_normal_variable() -> None:
    for power, moment in enumerate([1, 0, 1, 0, 3, 0, 15, 0, 105]):
        assert sum(weight * node**power for node, weight in zip(NODES, WEIGHTS, strict=True)) == pytest.approx(
            moment, abs=1e-9
        )


@given(outlooks, rates, st.floats(1.0, 4.0), st.floats(0.0, 1.0))
def test_the_worth_is_convex_in_the_rate(outlook: Outlook, rate: float, more: float, share: float) -> None:
    low, high = outlook.worth(rate), outlook.worth(more * rate)
    between = outlook.worth(rate * (1 + share * (more - 1)))
    assert between <= low + share * (high - low) + 1e-7 * max(abs(low), abs(high), 1.0)


@given(outlooks, rates)
def test_stages_raise_the_worth_of_an_expensive_learner_whose_forecast_is_uncertain(
    outlook: Outlook, rate: float
) -> None:
    certain = replace(outlook, last_reduction=0.0, noise=0.0)
    at_once, in_stages = ((4.0, 100.0),), ((2.0, 1e-3), (2.0, 100.0))
    known = [replace(certain, steps=steps).worth(rate) for steps in (at_once, in_stages)]
    slack = FLAT_DEVIATION * (outlook.error + 100 * rate) + 1e-6
    assert known[0] <= known[1] + 2e-3 * rate + 1e-6, "up to the price of the first stage"
    assert known[0] == pytest.approx(known[1], abs=8 * slack), "a certain forecast leaves little to learn on the way"
    if 100 * rate > outlook.error:
        uncertain = [replace(certain, last_reduction=0.3, steps=steps).worth(rate) for steps in (at_once, in_stages)]
        assert uncertain[0] < uncertain[1]


def test_a_learner_with_one_point_gets_the_average_forecast() -> None:
    outlook = expected(curve_of({100: 0.5}), [400, 1600])
    assert (outlook.error, outlook.last_reduction) == (0.5, None)
    assert [doublings for doublings, _ in outlook.steps] == [2, 2]
    assert outlook.bound == 1 - 0.5 * math.exp(-4 * FIRST_MEAN - 2 * 4 * FIRST_DEVIATION)


def test_the_seconds_of_the_next_sizes_are_extrapolated_from_the_sizes_before() -> None:
    curve = Curve("tree").extended(100, Measurement(1.0, 0.5, 1.0)).extended(200, Measurement(1.0, 0.5, 4.0))
    doublings, seconds = zip(*expected(curve, [400, 800]).steps, strict=True)
    assert doublings == (1.0, 1.0)
    assert seconds == pytest.approx((16.0, 64.0), rel=1e-3)


@given(st.floats(0.05, 0.9), st.floats(-0.2, 0.09).map(lambda gain: round(gain, 6)))
def test_the_forecast_follows_the_last_gain(first: float, gain: float) -> None:
    near = expected(curve_of({100: first, 200: first + gain}), [800])
    far = expected(curve_of({100: first, 200: first + gain}), [80_000])
    assert near.last_reduction is not None
    assert (near.last_reduction > 0) == (gain > 0)
    assert near.bound <= far.bound, "more rows never lower the bound"
    assert near.bound >= first + gain - 1e-12
    halved = expected(curve_of({100: first, 400: first + gain}), [800])
    assert halved.last_reduction is not None
    assert halved.last_reduction == pytest.approx(near.last_reduction / 2), "over two doublings, half as much for each"


@given(st.floats(0.05, 0.95), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.05, 0.3]))
def test_the_training_score_is_no_cap(score: float, train: float, gain: float) -> None:
    points = {100: score, 400: min(score + gain, 0.96)}
    assert expected(curve_of(points, train=train), [1600]) == expected(curve_of(points), [1600])


@given(st.floats(0.05, 0.9), st.floats(1.02, 1.1), rates)
def test_a_flat_or_falling_step_leaves_a_chance(score: float, factor: float, rate: float) -> None:
    flat = expected(curve_of({100: score, 400: score}), [1600, 12_800])
    falling = expected(curve_of({100: 1 - (1 - score) / factor, 400: score}), [1600, 12_800])
    rising = expected(curve_of({100: 1 - (1 - score) * factor, 400: score}), [1600, 12_800])
    assert score < flat.bound < score + 0.03 * (1 - score)
    assert flat.bound < falling.bound < rising.bound, "the larger the last step, the less certain is the next"
    assert flat.worth(rate) <= falling.worth(rate) <= rising.worth(rate)
    free = replace(flat, steps=tuple((doublings, 1e-12) for doublings, _ in flat.steps))
    assert free.worth(rate) > score, "if it costs nothing, the chance is worth it"


@given(st.floats(1e-9, 1e9), st.floats(0.1, 0.9), st.floats(0.5, 1.5))
def test_the_unit_of_an_error_does_not_matter(unit: float, error: float, change: float) -> None:
    points = {100: -error, 400: -error * change}
    one = expected(curve_of(points), [1600], top=0.0)
    other = expected(curve_of({size: unit * score for size, score in points.items()}), [1600], top=0.0)
    assert other.error == pytest.approx(unit * one.error)
    assert other.bound == pytest.approx(unit * one.bound)


@given(st.floats(0.01, 0.95), st.integers(10, 10**6))
def test_fewer_validation_rows_make_the_forecast_less_certain(score: float, rows: int) -> None:
    curve = curve_of({100: score, 200: score})
    assert expected(curve, [800]).noise == 0
    few, many = expected(curve, [800], valid_rows=rows), expected(curve, [800], valid_rows=100 * rows)
    assert few.noise > many.noise > 0
    assert few.bound >= many.bound >= score


@given(
    st.lists(st.floats(-1e100, 1.0), min_size=1, max_size=4),
    st.sampled_from([None, 50]),
    st.floats(1e-300, 1e100),
    st.sampled_from([[10**9], [10**4, 10**9], [105, 10**5, 10**9]]),
)
def test_extreme_scores_do_not_overflow(scores: list[float], rows: int | None, rate: float, sizes: list[int]) -> None:
    curve = curve_of({100 + place: score for place, score in enumerate(scores)})
    outlook = expected(curve, sizes, valid_rows=rows)
    assert math.isfinite(outlook.worth(rate))
    assert outlook.worth(rate) <= outlook.top
    assert outlook.bound <= outlook.top


def test_a_perfect_score_keeps_a_small_error() -> None:
    for rows in (None, 50):
        assert 0 < expected(curve_of({100: 1.0}), [800], valid_rows=rows).error <= 0.01


@given(outlooks, st.floats(-0.5, 1.0), st.floats(0.005, 0.5), rates)
def test_a_learner_whose_relatives_are_known_is_worth_at_most_its_bound_on_the_worth(
    outlook: Outlook, mean: float, deviation: float, rate: float
) -> None:
    known = replace(outlook, seen=(mean, deviation))
    assert known.worth(rate) <= known.most(rate) + 1e-6 * max(1.0, abs(known.most(rate)), outlook.error)
    assert known.likely == pytest.approx(outlook.top - outlook.error * math.exp(-mean))
