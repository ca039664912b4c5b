"""Laws of what a learner may have on all rows, and of what that is worth."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from pydaub import Measurement
from pydaub.curve import Curve
from pydaub.outlook import FIRST_SHRINKING, FIRST_SPREAD, Outlook, expected

outlooks = st.builds(
    Outlook,
    top=st.sampled_from([1.0, 0.0, 37.5]),
    error=st.floats(0.001, 2.0),
    mean=st.floats(0.0, 1.0),
    spread=st.one_of(st.just(0.0), st.floats(0.001, 1.0)),
)
shares = st.floats(-1.0, 1.5).map(lambda share: round(share, 6))


def curve_of(points: dict[int, float], train: float = 1.0) -> Curve:
    curve = Curve("tree")
    for size, score in points.items():
        curve = curve.extended(size, Measurement(train, score, 1.0))
    return curve


@given(outlooks, shares)
def test_the_gain_is_the_mean_of_what_exceeds_a_score(outlook: Outlook, share: float) -> None:
    score = outlook.top - share * outlook.error
    assume(outlook.spread > 0)

    def excess(z: float) -> float:
        reached = outlook.top - outlook.error * math.exp(-outlook.mean - outlook.spread * z)
        return float(max(reached - score, 0.0) * norm.pdf(z))

    edge = (math.log(outlook.error / (outlook.top - score)) - outlook.mean) / outlook.spread if share > 0 else 0.0
    within = [edge] if abs(edge) < 10 else None
    assert outlook.gain(score) == pytest.approx(quad(excess, -10, 10, points=within, limit=200)[0], abs=1e-6)


@given(outlooks, st.lists(shares, min_size=2, max_size=6))
def test_the_higher_the_score_the_less_there_is_to_gain(outlook: Outlook, given_: list[float]) -> None:
    scores = sorted(outlook.top - share * outlook.error for share in given_)
    for lower, higher in pairwise(scores):
        assert outlook.gain(lower) >= outlook.gain(higher) - 1e-12 >= -1e-12
        assert outlook.gain(lower) - outlook.gain(higher) <= higher - lower + 1e-12
    assert outlook.gain(outlook.top) == 0
    assert outlook.gain(-math.inf) == math.inf


@given(outlooks, st.floats(1e-6, 0.5))
def test_its_worth_is_the_score_from_which_on_it_does_not_pay(outlook: Outlook, price: float) -> None:
    worth = outlook.worth(price)
    assert outlook.gain(worth) == pytest.approx(price, rel=1e-3, abs=1e-8)
    assert worth <= outlook.top
    assert outlook.worth(2 * price) <= worth, "what costs more is worth less"


@given(outlooks, st.floats(1e-6, 0.5), st.floats(0.0, 1.0))
def test_no_worth_and_no_bound_is_above_the_cap(outlook: Outlook, price: float, share: float) -> None:
    cap = outlook.top - share * outlook.error
    capped = Outlook(outlook.top, outlook.error, outlook.mean, outlook.spread, cap)
    assert capped.worth(price) == min(outlook.worth(price), cap)
    assert capped.bound == min(outlook.bound, cap)


def test_with_one_point_a_learner_is_as_learners_are() -> None:
    outlook = expected(curve_of({100: 0.5}), 1600)
    assert (outlook.error, outlook.mean, outlook.spread) == (0.5, 4 * FIRST_SHRINKING, 4 * FIRST_SPREAD)
    assert expected(curve_of({100: 0.5}), 100).spread == 0, "nothing is to come"


@given(st.floats(0.05, 0.9), st.floats(-0.2, 0.09).map(lambda gain: round(gain, 6)))
def test_what_is_to_come_is_measured_by_the_last_gain(first: float, gain: float) -> None:
    near = expected(curve_of({100: first, 200: first + gain}), 800)
    far = expected(curve_of({100: first, 200: first + gain}), 80_000)
    assert near.mean == 0
    assert (near.spread > 0) == (gain > 0), "a fall promises nothing, and it is no threat either"
    assert near.spread <= far.spread, "more rows, more chances"
    assert near.bound >= first + gain - 1e-12
    halved = expected(curve_of({100: first, 400: first + gain}), 800)
    assert halved.spread <= near.spread, "the same gain over two doublings is half of it for each"


def test_the_training_score_caps_it_but_never_below_what_was_seen() -> None:
    assert expected(curve_of({100: 0.5, 200: 0.7}, train=0.72), 800).cap == 0.72
    assert expected(curve_of({100: 0.5, 200: 0.7}, train=0.6), 800).cap == 0.7


@given(st.floats(0.01, 0.99), st.integers(10, 10**6))
def test_few_rows_to_validate_on_leave_more_open(score: float, rows: int) -> None:
    curve = curve_of({100: score, 200: score})
    assert expected(curve, 800).spread == 0
    assert expected(curve, 800, valid_rows=rows).spread > expected(curve, 800, valid_rows=100 * rows).spread > 0


@given(st.lists(st.floats(-1e100, 1.0), min_size=1, max_size=4), st.sampled_from([None, 50]), st.floats(1e-300, 1e300))
def test_no_score_is_too_far_off(scores: list[float], rows: int | None, price: float) -> None:
    curve = curve_of({100 + place: score for place, score in enumerate(scores)})
    outlook = expected(curve, 10**9, valid_rows=rows)
    assert math.isfinite(outlook.gain(0.5))
    assert outlook.worth(price) <= outlook.cap
    assert outlook.bound <= outlook.cap


def test_a_perfect_score_has_a_little_error_left() -> None:
    for rows in (None, 50):
        outlook = expected(curve_of({100: 1.0}), 800, valid_rows=rows)
        assert 0 < outlook.error <= 0.01
        assert outlook.gain(1.0) == 0
