"""What is known of the learners of a run, and what time costs."""

from __future__ import annotations

import math

import pytest

from pydaub import Measurement, Schedule, Scores
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.strategies.costs import MEASURED, Costs
from pydaub.algorithm.strategies.groups import Groups
from pydaub.algorithm.strategies.outlook import LARGE, QUICK_SHARE, Outlook

SIZES = (400, 1600, 6400, 25_600)


def outlook_of(curves: dict[str, list[float]], scores: Scores) -> Outlook:
    known = {name: Curve(name) for name in curves}
    groups = Groups(curves, {}, {})
    found = Outlook(known, Schedule(SIZES), Costs(MEASURED, {}, known, groups, scores, SIZES[-1]), groups, scores, 0.01)
    for place, size in enumerate(SIZES):
        for name, curve in curves.items():
            if place < len(curve):
                known[name] = known[name].extended(size, Measurement(None, curve[place], size / 100))
                found.take(name)
                found.of(name)
    return found


def test_delta_counts_less_where_errors_are_small() -> None:
    stakes = [
        outlook_of({"a": [score], "b": [0.3], "c": [0.3]}, Scores(rows=1000)).stake for score in (0.5, 0.9, 0.99, 0.999)
    ]
    assert stakes[0] == 1.0
    assert stakes == sorted(stakes, reverse=True)
    assert stakes[-1] == pytest.approx(3 * 0.001 / LARGE, rel=0.01)


def test_a_quick_first_look_counts_as_a_share_of_training_everything() -> None:
    found = outlook_of({"a": [0.5], "b": [0.6, 0.7]}, Scores(rows=1000))
    assert found.price(0.001).spent == pytest.approx(QUICK_SHARE * 2 * SIZES[-1] / 100)
    assert found.price(1e6).spent == 1e6


def test_who_has_had_all_rows_is_not_forecast() -> None:
    found = outlook_of({"a": [0.5, 0.6, 0.7, 0.75], "b": [0.5, 0.6]}, Scores(rows=1000))
    assert found.of("a") is None
    later = found.of("b")
    assert later is not None
    assert [seconds for _, seconds in later.steps] == pytest.approx([64.0, 256.0], rel=0.01)
    assert later.slope == pytest.approx(math.log(math.log(0.5) / math.log(0.6)) / 2), "over two doublings"


def test_steps_that_bring_much_make_others_promise_more_whose_curve_is_known() -> None:
    scores = Scores(rows=100_000)
    rising, flat = (
        outlook_of({"a": a, "b": a, "c": [0.5, 0.6], "d": [0.5]}, scores) for a in ([0.5, 0.9, 0.99], [0.5] * 3)
    )
    more, less, one, other = rising.of("c"), flat.of("c"), rising.of("d"), flat.of("d")
    assert more is not None
    assert less is not None
    assert more.likely > less.likely
    assert one == other, "of which only one point is known, nobody else tells anything"
