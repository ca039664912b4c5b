"""Laws of what a learner may have on all rows, and of what that is worth."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from pydaub import Measurement
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.outlook import FIRST_SHRINKING, FIRST_SPREAD, VALUES, WEIGHTS, Outlook, expected

steps = st.tuples(st.floats(0.5, 4.0), st.floats(0.001, 1000.0))
outlooks = st.builds(
    Outlook,
    top=st.sampled_from([1.0, 0.0, 37.5]),
    error=st.floats(0.001, 2.0),
    shrinking=st.one_of(st.none(), st.just(0.0), st.floats(0.001, 1.0)),
    noise=st.one_of(st.just(0.0), st.floats(1e-5, 0.01)),
    steps=st.lists(steps, min_size=1, max_size=3).map(tuple),
)
shares = st.floats(-1.0, 1.5).map(lambda share: round(share, 6))
rates = st.floats(1e-7, 0.01)


def curve_of(points: dict[int, float], train: float = 1.0) -> Curve:
    curve = Curve("tree")
    for size, score in points.items():
        curve = curve.extended(size, Measurement(train, score, 1.0))
    return curve


def exceeding(outlook: Outlook, score: float) -> float:
    """Return by how much a learner with one step left exceeds the score, by integration."""
    mean, spread = outlook._ahead(outlook.error, outlook.shrinking, outlook.steps[0][0])  # noqa: SLF001

    def excess(z: float) -> float:
        reached = outlook.top - outlook.error * math.exp(-mean - spread * z)
        return float(max(reached - score, 0.0) * norm.pdf(z))

    if not spread:
        return float(max(outlook.top - outlook.error * math.exp(-mean) - score, 0.0))
    room = outlook.top - score
    edge = (math.log(outlook.error / room) - mean) / spread if room > 0 else 0.0
    within = [edge] if abs(edge) < 10 else None
    return float(quad(excess, -10, 10, points=within, limit=200)[0])


@given(outlooks, shares, rates)
def test_the_gain_is_the_mean_of_what_exceeds_a_score_less_its_time(
    outlook: Outlook, share: float, rate: float
) -> None:
    outlook = replace(outlook, steps=outlook.steps[:1])
    score = outlook.top - share * outlook.error
    wanted = exceeding(outlook, score) - rate * outlook.steps[0][1]
    assert outlook.gain(score, rate) == pytest.approx(wanted, abs=1e-6)


@given(outlooks, shares, rates)
def test_who_has_more_steps_goes_on_only_if_what_the_next_one_shows_is_worth_it(
    outlook: Outlook, share: float, rate: float
) -> None:
    assume(len(outlook.steps) > 1)
    (doublings, seconds), *others = outlook.steps
    score = outlook.top - share * outlook.error
    mean, spread = outlook._ahead(outlook.error, outlook.shrinking, doublings)  # noqa: SLF001
    wanted = -rate * seconds
    for value, weight in zip(VALUES, WEIGHTS, strict=True):
        shrunk = mean + spread * value
        then = replace(
            outlook,
            error=outlook.error * math.exp(-shrunk),
            shrinking=max(shrunk / doublings, 0.0),
            steps=tuple(others),
        )
        wanted += weight * max(then.gain(score, rate), 0.0)
    assert outlook.gain(score, rate) == pytest.approx(wanted, abs=1e-9)
    assert outlook.gain(score, rate) >= -rate * seconds - 1e-12, "at most the next step is lost"


def test_the_nodes_stand_for_a_normal_variable() -> None:
    for power, moment in enumerate([1, 0, 1, 0, 3, 0, 15, 0, 105]):
        assert sum(weight * value**power for value, weight in zip(VALUES, WEIGHTS, strict=True)) == pytest.approx(
            moment, abs=1e-9
        )


@given(outlooks, st.lists(shares, min_size=2, max_size=6), rates)
def test_the_higher_the_score_the_less_there_is_to_gain(outlook: Outlook, given_: list[float], rate: float) -> None:
    scores = sorted(outlook.top - share * outlook.error for share in given_)
    for lower, higher in pairwise(scores):
        assert outlook.gain(lower, rate) >= outlook.gain(higher, rate) - 1e-12
        assert outlook.gain(lower, rate) - outlook.gain(higher, rate) <= higher - lower + 1e-12
    assert outlook.gain(outlook.top, rate) == -rate * outlook.steps[0][1]
    assert outlook.gain(-math.inf, rate) == math.inf


@given(outlooks, rates)
def test_its_worth_is_the_score_from_which_on_it_does_not_pay(outlook: Outlook, rate: float) -> None:
    worth = outlook.worth(rate)
    price = rate * sum(seconds for _, seconds in outlook.steps)
    assert outlook.gain(worth, rate) == pytest.approx(0.0, abs=1e-3 * price + 1e-8)
    assert worth <= outlook.top
    assert outlook.worth(2 * rate) <= worth, "what costs more is worth less"


@given(outlooks, rates, st.floats(1.0, 4.0), st.floats(0.0, 1.0))
def test_what_it_is_worth_is_convex_in_the_rate(outlook: Outlook, rate: float, more: float, share: float) -> None:
    cheap, dear = outlook.reserve(rate), outlook.reserve(more * rate)
    between = outlook.reserve(rate * (1 + share * (more - 1)))
    assert between <= cheap + share * (dear - cheap) + 1e-7 * max(abs(cheap), abs(dear), 1.0)


@given(outlooks, rates)
def test_a_dear_learner_is_worth_more_if_it_may_be_given_up_on_the_way(outlook: Outlook, rate: float) -> None:
    sure = replace(outlook, shrinking=0.0, noise=0.0)
    at_once, in_stages = ((4.0, 100.0),), ((2.0, 0.0), (2.0, 100.0))
    known = [replace(sure, steps=steps).worth(rate) for steps in (at_once, in_stages)]
    assert known[0] == pytest.approx(known[1], abs=1e-6), "where nothing is open, nothing can be learnt"
    if 100 * rate > outlook.error:
        open_ = [replace(sure, shrinking=0.3, steps=steps).worth(rate) for steps in (at_once, in_stages)]
        assert open_[0] < open_[1]


@given(outlooks, rates, st.floats(0.0, 1.0))
def test_no_worth_and_no_bound_is_above_the_cap(outlook: Outlook, rate: float, share: float) -> None:
    cap = outlook.top - share * outlook.error
    capped = replace(outlook, cap=cap)
    assert capped.worth(rate) == min(outlook.worth(rate), cap)
    assert capped.bound == min(outlook.bound, cap)


def test_with_one_point_a_learner_is_as_learners_are() -> None:
    outlook = expected(curve_of({100: 0.5}), [400, 1600])
    assert (outlook.error, outlook.shrinking) == (0.5, None)
    assert [doublings for doublings, _ in outlook.steps] == [2, 2]
    assert outlook.bound == 1 - 0.5 * math.exp(-4 * FIRST_SHRINKING - 2 * 4 * FIRST_SPREAD)


def test_its_next_sizes_take_as_long_as_the_sizes_before_let_expect() -> None:
    curve = Curve("tree").extended(100, Measurement(1.0, 0.5, 1.0)).extended(200, Measurement(1.0, 0.5, 4.0))
    doublings, seconds = zip(*expected(curve, [400, 800]).steps, strict=True)
    assert doublings == (1.0, 1.0)
    assert seconds == pytest.approx((16.0, 64.0), rel=1e-3)


@given(st.floats(0.05, 0.9), st.floats(-0.2, 0.09).map(lambda gain: round(gain, 6)))
def test_what_is_to_come_is_measured_by_the_last_gain(first: float, gain: float) -> None:
    near = expected(curve_of({100: first, 200: first + gain}), [800])
    far = expected(curve_of({100: first, 200: first + gain}), [80_000])
    assert near.shrinking is not None
    assert (near.shrinking > 0) == (gain > 0), "a fall promises nothing, and it is no threat either"
    assert near.bound <= far.bound, "more rows, more chances"
    assert near.bound >= first + gain - 1e-12
    halved = expected(curve_of({100: first, 400: first + gain}), [800])
    assert halved.shrinking is not None
    assert halved.shrinking <= near.shrinking, "the same gain over two doublings is half of it for each"


def test_the_training_score_caps_it_but_never_below_what_was_seen() -> None:
    assert expected(curve_of({100: 0.5, 200: 0.7}, train=0.72), [800]).cap == 0.72
    assert expected(curve_of({100: 0.5, 200: 0.7}, train=0.6), [800]).cap == 0.7


@given(st.floats(0.01, 0.95), st.integers(10, 10**6))
def test_few_rows_to_validate_on_leave_more_open(score: float, rows: int) -> None:
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
def test_no_score_is_too_far_off(scores: list[float], rows: int | None, rate: float, sizes: list[int]) -> None:
    curve = curve_of({100 + place: score for place, score in enumerate(scores)})
    outlook = expected(curve, sizes, valid_rows=rows)
    assert math.isfinite(outlook.gain(0.5, rate))
    assert outlook.worth(rate) <= outlook.cap
    assert outlook.bound <= outlook.cap


def test_a_perfect_score_has_a_little_error_left() -> None:
    for rows in (None, 50):
        outlook = expected(curve_of({100: 1.0}), [800], valid_rows=rows)
        assert 0 < outlook.error <= 0.01
        assert outlook.gain(1.0, 0.0) == 0
