"""Tests of what learners may expect by what others have gained."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Measurement
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.outlook import FLAT_DEVIATION
from pydaub.algorithm.strategies.groups import Groups
from pydaub.algorithm.strategies.relatives import LEAST, MANY, Relatives, pooled_gain

SIZES: Final = (100, 400, 1600)
gains = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.floats(-0.5, 2), min_size=1, max_size=8), min_size=1, max_size=6
)


def curve_of(scores: list[float]) -> Curve:
    """Return a curve with these scores at the first sizes."""
    return Curve("any", SIZES[: len(scores)], tuple(Measurement(None, score, 1.0) for score in scores))


def relatives_of(scores: dict[str, list[float]]) -> Relatives:
    """Return the relatives with these scores; the family of a learner is the first letter of its name."""
    curves = {name: curve_of(points) for name, points in scores.items()}
    relatives = Relatives(Groups(scores, {}, {name: name[0] for name in scores}), curves, SIZES[-1])
    for name, points in scores.items():
        assert relatives.join(name) == (len(points) > 1)
    return relatives


@given(gains, st.sampled_from("abcdefg"), st.floats(0, 0.1))
def test_a_learner_expects_something_between_its_family_and_all_families(
    known: dict[str, list[float]], family: str, chance: float
) -> None:
    mean, deviation = pooled_gain(known, family, 4.0, chance)
    overall = fmean(map(fmean, known.values()))
    ends = sorted((overall, fmean(known.get(family, [overall]))))
    assert ends[0] - 1e-9 <= mean <= ends[1] + 1e-9
    assert deviation >= FLAT_DEVIATION / 2 - 1e-9
    assert deviation <= pooled_gain(known, family, 4.0, 0.0)[1] + 1e-9, "chance is no difference between learners"


@given(st.floats(0.05, 1), st.floats(0.05, 1), st.integers(1, 6))
def test_the_more_of_its_family_are_known_the_surer_it_is(own: float, others: float, count: int) -> None:
    distance, deviation = math.inf, math.inf
    for known in range(1, count + 1):
        before = distance, deviation
        mean, deviation = pooled_gain({"a": [own] * known, "b": [others] * 4, "c": [others] * 4}, "a", 4.0, 0.0)
        distance = abs(mean - own)
        assert distance <= before[0] + 1e-9
        assert deviation < before[1]


def test_of_a_family_that_nobody_knows_less_is_known() -> None:
    known = {"a": [0.3, 0.31, 0.29], "b": [0.1, 0.11, 0.09]}
    assert pooled_gain(known, "c", 4.0, 0.0)[0] == pytest.approx(0.2)
    assert pooled_gain(known, "c", 4.0, 0.0)[1] > 2 * pooled_gain(known, "a", 4.0, 0.0)[1]


def test_what_is_expected_is_what_the_error_fell_by() -> None:
    halved = {f"a{place}": [1 - error, 1 - error / 1.5, 1 - error / 2] for place, error in enumerate((0.2, 0.3, 0.4))}
    on_the_way = {f"b{place}": [0.5, 0.6] for place in range(5)}
    relatives = relatives_of({**halved, **on_the_way, "a9": [0.5]})
    expected = relatives.expected("a9", 1.0, 0.0)
    assert expected is not None
    assert expected[0] == pytest.approx(math.log(2))
    assert relatives.expected("b0", 1.0, 0.0) is None, "one family tells another nothing"


def test_few_tell_nothing_and_neither_do_learners_without_a_family() -> None:
    scores = {f"{family}0": [0.6, 0.7, 0.8] for family in "abcdef"[:LEAST]}
    assert relatives_of({**scores, "x0": [0.6]}).expected("x0", 1.0, 0.0) is not None
    perfect = {**scores, "a0": [1.0, 1.0, 1.0]}
    assert relatives_of({**perfect, "x0": [0.6]}).expected("x0", 1.0, 0.0) is None, "nothing to reduce"
    curves = {"x": curve_of([0.5])}
    alone = Relatives(Groups(curves, {}, {}), curves, SIZES[-1])
    assert not alone.join("x")
    assert alone.expected("x", 1.0, 0.0) is None


def test_when_many_are_known_one_more_tells_little() -> None:
    curves = {f"a{place}": curve_of([0.6, 0.7, 0.8]) for place in range(3 * MANY)}
    relatives = Relatives(Groups(curves, {}, dict.fromkeys(curves, "a")), curves, SIZES[-1])
    told = [place for place, name in enumerate(curves, 1) if relatives.join(name)]
    assert told == [*range(1, MANY + 1), 2 * MANY, 3 * MANY]
