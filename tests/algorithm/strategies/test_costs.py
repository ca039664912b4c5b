"""Costs are what was measured, or what was declared, and follow what is known of relatives."""

from __future__ import annotations

from typing import Any

import pytest

from pydaub import Allocation, InputError, Measurement, Postponed, Scores
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.strategies.costs import MEASURED, OVERRUN, Costs
from pydaub.algorithm.strategies.groups import Groups

FULL = 64_000
NAMES = ("a", "b", "c")


def made(
    costs: Any = MEASURED, growths: Any = None, *, family: bool = False, **seconds: dict[int, float]
) -> tuple[Costs, dict[str, Curve]]:
    curves = {name: Curve(name) for name in NAMES}
    for name, points in seconds.items():
        for size, took in points.items():
            curves[name] = curves[name].extended(size, Measurement(None, 0.5, took, fitting=took, scoring=0.0))
    groups = Groups(NAMES, {}, dict.fromkeys(NAMES, "kin") if family else {})
    return Costs(costs, growths or {}, curves, groups, Scores(rows=1000), FULL), curves


def test_more_rows_are_expected_to_cost_more_and_a_steeper_growth_more_still() -> None:
    usual, _ = made(a={1000: 1.0})
    steep, _ = made(growths={"a": (2.0, 2.0)}, a={1000: 1.0})
    assert 1.0 < usual.of("a", 4000) < usual.of("a", FULL) < steep.of("a", FULL)


def test_what_relatives_have_cost_decides_over_what_is_usual() -> None:
    points: dict[str, Any] = {"a": {1000: 1.0, 4000: 40.0}, "b": {1000: 2.0, 4000: 80.0}, "c": {1000: 0.5}}
    assert made(family=True, **points)[0].of("c", 4000) == pytest.approx(20.0)
    assert made(**points)[0].of("c", 4000) < 20.0


def test_an_evaluation_that_was_ended_makes_the_next_one_dearer_at_its_size_and_beyond() -> None:
    costs, _ = made(a={1000: 1.0})
    before = costs.of("a", 2000)
    costs.ended(Allocation("a", 4000), 100.0)
    assert costs.of("a", 4000) == OVERRUN * 100.0
    assert costs.of("a", 8000) == 2 * OVERRUN * 100.0
    assert costs.of("a", 2000) == before


def test_declared_costs_do_not_depend_on_what_was_measured() -> None:
    costs, curves = made({"a": (0.01, 1.0)}, a={1000: 123.0, 2000: 456.0})
    assert costs.paid(Allocation("a", 2000), curves["a"].measurements[-1]) == costs.of("a", 2000) == 20.0
    assert costs.paid_for("a") == 30.0
    measured, curves = made(a={1000: 123.0, 2000: 456.0})
    assert measured.paid_for("a") == 579.0
    assert measured.paid(Allocation("a", 4000), Postponed(7.0)) == 7.0
    assert (measured.measured, costs.measured) == (True, False)


def test_settings_make_the_same_costs() -> None:
    for given, growths in ((MEASURED, {"a": (2.0,)}), ({"a": (0.01, 1.5)}, {})):
        costs, _ = made(given, growths, a={1000: 1.0})
        again, _ = made(costs.settings["costs"], costs.settings["growths"], a={1000: 1.0})
        assert again.settings == costs.settings
        assert again.of("a", FULL) == costs.of("a", FULL)


@pytest.mark.parametrize(
    "costs", [None, 3, "declared", {"a": 1}, {"a": (1,)}, {"a": (0, 1)}, {"a": (1, 99)}, {"a": "xy"}]
)
def test_other_costs_are_refused(costs: Any) -> None:
    with pytest.raises(InputError, match="`costs` must be"):
        made(costs)


@pytest.mark.parametrize("growths", [{"a": 1}, {"a": (1,) * 9}, {"a": "xy"}])
def test_other_growths_are_refused(growths: Any) -> None:
    with pytest.raises(InputError, match="`growths` must be"):
        made(growths=growths)
