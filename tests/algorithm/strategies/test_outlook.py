"""What is known of the learners of a run, and what time costs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydaub import Allocation, Frugal, Measurement, Schedule, Scores
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


@given(
    st.lists(st.lists(st.integers(-1000, 1000), min_size=4, max_size=4), min_size=2, max_size=8),
    st.sampled_from([2.0**-10, 1.0, 2.0**20]),
    st.sampled_from([-(2.0**10), 0.0, 2.0**10]),
)
@settings(deadline=None, max_examples=30)
def test_the_unit_and_the_zero_of_an_unbounded_score_do_not_matter(
    points: list[list[int]], unit: float, zero: float
) -> None:
    """All values are exact in binary, so nothing is rounded: regression errors, negative r2, scores without a limit."""
    assert asked_for(points, 1.0, 0.0) == asked_for(points, unit, unit * zero)


def asked_for(points: list[list[int]], unit: float, zero: float) -> list[Allocation]:
    """Return what is asked for when these scores are given in another unit."""
    names = [f"x{number}" for number in range(len(points))]
    costs = {name: (1e-4 * (number + 1), 1.0) for number, name in enumerate(names)}
    strategy = Frugal(names, Schedule(SIZES), scores=Scores("s", top=None, proportion=False), costs=costs)
    found = []
    while asked := strategy.ask():
        place = strategy.schedule.sizes.index(asked.size)
        strategy.tell(asked, Measurement(None, unit * points[int(asked.learner[1:])][place] + zero, 1.0))
        found.append(Allocation(asked.learner, asked.size))
    return found
