"""Laws of the forecast of a learner's score with more rows, and of what the learner is worth."""

from __future__ import annotations

import math
from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pydaub.algorithm.experience import FARTHEST, LEVELS, NORMAL, Moments, learned, reductions
from pydaub.algorithm.forecast import SMALLEST_SHARE, Forecast, Price, Scale, gain_of, noise_of, use
from pydaub.algorithm.recorded import FIRST, STEPS

slopes = st.none() | st.floats(-5.0, 5.0)
doublings = st.floats(0.1, 30.0)
spreads = st.lists(st.floats(-FARTHEST, FARTHEST), max_size=5).map(
    lambda places: learned(reduce(Moments.with_one, places, Moments()))
)
steps = st.lists(st.tuples(st.floats(0.5, 4.0), st.floats(0.001, 1000.0)), min_size=1, max_size=3)


@st.composite
def forecasts(draw: st.DrawFn) -> Forecast:
    ahead = tuple(draw(steps))
    return Forecast(
        draw(st.sampled_from([Scale(1.0, logarithmic=True), Scale(0.0), Scale(37.5)])),
        draw(st.floats(0.001, 2.0)),
        draw(slopes),
        draw(st.just(0.0) | st.floats(0.0, 0.5)),
        ahead,
        tuple(draw(spreads) for _ in ahead),
    )


prices = st.builds(Price, st.floats(1e-7, 1.0), st.floats(1e-3, 1e6))


@given(forecasts(), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_quantiles_ascend_to_the_bound(forecast: Forecast, level: float, other: float) -> None:
    low, high = sorted((level, other))
    assert forecast.quantile(low) <= forecast.quantile(high)
    assert forecast.quantile(0.5) == pytest.approx(forecast.likely)
    assert forecast.likely <= forecast.bound == forecast.quantile(0.95) <= forecast.scale.top + 1e-9


@given(forecasts(), st.floats(0.001, 0.999))
def test_the_chance_of_a_quantile_is_what_is_left(forecast: Forecast, level: float) -> None:
    reached = forecast.quantile(level)
    assume(not forecast.scale.logarithmic or reached > 2 * SMALLEST_SHARE)  # below, scores count alike
    unit = 1e-6 * max(forecast.error, abs(forecast.scale.top))
    assert forecast.chance(reached + unit) <= 1 - level + 1e-3
    assert forecast.chance(reached - unit) >= 1 - level - 1e-3


@given(forecasts(), prices)
def test_the_worth_is_where_the_expected_gain_is_zero(forecast: Forecast, price: Price) -> None:
    room = forecast.room(price)
    costs = [each / forecast.error for each in price.of(seconds for _, seconds in forecast.steps)]
    gain, _ = gain_of(forecast.tree, room / forecast.error, costs)
    assert abs(gain) <= 1e-6 * max(costs[0], room / forecast.error)


@given(forecasts(), prices, st.floats(1.0, 10.0))
def test_dearer_time_lowers_the_worth(forecast: Forecast, price: Price, factor: float) -> None:
    room = forecast.room(price)
    assert forecast.room(Price(price.delta * factor, price.spent)) >= room * (1 - 1e-6)
    assert forecast.room(Price(price.delta, price.spent * factor)) <= room * (1 + 1e-6)


@given(forecasts(), prices)
def test_the_bound_that_costs_little_is_never_below_the_worth(forecast: Forecast, price: Price) -> None:
    assert forecast.most(price) >= forecast.worth(price) - 1e-9 * max(abs(forecast.worth(price)), 1.0)


@given(forecasts(), prices, st.floats(0.01, 100.0))
def test_it_pays_where_others_have_a_larger_error_than_its_room(
    forecast: Forecast, price: Price, factor: float
) -> None:
    room = forecast.room(price)
    if abs(factor - 1) > 1e-3:
        assert forecast.pays(price, room * factor) == (factor > 1)


@given(forecasts(), prices, st.sampled_from([2.0**-20, 1024.0]))
def test_the_unit_of_an_error_does_not_matter(forecast: Forecast, price: Price, unit: float) -> None:
    scale = Scale(0.0)
    known = (forecast.slope, forecast.noise, forecast.steps, forecast.spreads)
    one, other = Forecast(scale, forecast.error, *known), Forecast(scale, forecast.error * unit, *known)
    assert other.room(Price(price.delta * unit, price.spent)) == pytest.approx(unit * one.room(price))


@given(st.floats(0.001, 5.0))
def test_a_loss_and_what_it_is_the_logarithm_of_have_the_same_error(loss: float) -> None:
    logarithmic, plain = Scale.of(1.0, math.exp(-loss), [], proportion=True), Scale.of(0.0, -loss, [])
    assert logarithmic.error(math.exp(-loss)) == pytest.approx(plain.error(-loss))
    assert logarithmic.score(loss) == pytest.approx(math.exp(plain.score(loss)))


@given(st.floats(-10.0, 10.0), st.floats(-10.0, 10.0) | st.none(), st.lists(st.floats(-10.0, 10.0), max_size=5))
def test_no_score_is_above_the_top(best: float, top: float | None, others: list[float]) -> None:
    scale = Scale.of(top, best, sorted([best, *others]))
    assert scale.top >= best
    assert scale.error(best) >= 0
    assert scale.error(best - 1) > scale.error(best)


def test_fewer_rows_make_a_forecast_less_certain() -> None:
    scale = Scale(1.0, logarithmic=True)
    noises = [noise_of(scale, 0.1, rows) for rows in (100, 1000, 10_000)]
    assert noises == sorted(noises, reverse=True)
    assert noise_of(scale, 0.1, None) == 0.0
    wide, narrow = (Forecast(scale, 0.1, 0.05, noise, ((2.0, 1.0),), (NORMAL,)) for noise in (noises[0], 0.0))
    assert wide.bound > narrow.bound
    assert wide.quantile(0.05) < narrow.quantile(0.05)


def test_each_step_costs_what_it_adds_to_the_logarithm_of_the_time() -> None:
    price = Price(0.01, 5.0)
    assert price.of([5.0]) == pytest.approx([0.01]), "delta to double the time"
    assert sum(price.of([1.0, 30.0, 124.0])) == pytest.approx(0.01 * math.log2(160 / 5))


def test_a_benchmark_may_forecast_by_another_table() -> None:
    before = reductions(0.1, 2.0)
    try:
        use(
            tuple((0.0,) * len(LEVELS) for _ in FIRST), tuple(tuple((1.0,) * len(LEVELS) for _ in row) for row in STEPS)
        )
        assert set(reductions(None, 2.0)) == {0.0}
        assert set(reductions(0.1, 2.0)) == {1.0}
    finally:
        use()
    assert reductions(0.1, 2.0) == before
