from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from pydaub import Allocation, Asked, Evaluated, Failure, InputError, Measurement, Postponed
from pydaub.events import from_json, to_json


class HalfPrecision(float):
    """Like numpy's scalars: a number whose arithmetic is its own."""

    def __sub__(self, other: float) -> float:
        return 42.0


def test_numbers_of_other_types_become_plain_floats() -> None:
    """A run computes with the very numbers that its journal gives back."""
    measurement = Measurement(HalfPrecision(0.5), 1, True)
    assert [type(value) for value in (measurement.train_score, measurement.valid_score, measurement.seconds)] == [
        float,
        float,
        float,
    ]
    third: Any = Fraction(1, 3)
    assert Measurement(third, 0.5, 0).train_score is third


def test_further_figures_are_plain_and_finite() -> None:
    """They are what no strategy looks at: one that is no number is left out, and no measurement is lost for it."""
    given: Any = {"auc": HalfPrecision(0.5), "log_loss": math.inf, "r2": math.nan, 7: 1, "f1": True}
    measurement = Measurement(0.5, 0.5, 1.0, given)
    assert measurement.metrics == {"auc": 0.5, "7": 1.0, "f1": 1.0}
    assert all(type(value) is float for value in measurement.metrics.values())
    assert Measurement(0.5, 0.5, 1.0).metrics == {}
    assert "metrics" not in to_json(Evaluated(Allocation("tree", 500), Measurement(0.5, 0.5, 1.0), 1.0))
    assert hash(measurement) == hash(Measurement(0.5, 0.5, 1.0)), "a measurement can be a key"
    assert measurement != Measurement(0.5, 0.5, 1.0)


@pytest.mark.parametrize("parts", [None, 5, "abc", {0.5}])
def test_parts_are_scores_in_an_order(parts: Any) -> None:
    with pytest.raises(InputError, match="`parts` must be a tuple of scores, got"):
        Measurement(1.0, 0.5, 0.1, parts=parts)


@pytest.mark.parametrize("metrics", [5, "auc", [("auc", 0.5)], None])
def test_metrics_are_figures_by_name(metrics: Any) -> None:
    with pytest.raises(InputError, match="`metrics` must be figures by name, got"):
        Measurement(0.5, 0.5, 1.0, metrics)


@pytest.mark.parametrize("metrics", [{"auc": "0.5"}, {"auc": None}, {"auc": [1.0]}, {"auc": 10**400}])
def test_a_figure_that_is_no_number_is_refused(metrics: Any) -> None:
    with pytest.raises(InputError, match=r"`auc` must be a number, got"):
        Measurement(0.5, 0.5, 1.0, metrics)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 5), r"`learner` must be a name, got ''"),
        ((None, 5), r"`learner` must be a name, got None"),
        ((7, 5), r"`learner` must be a name, got 7"),
        (("a", 0), r"`size` must be at least 1, got 0"),
        (("a", -3), r"`size` must be at least 1, got -3"),
        (("a", 1.5), r"`size` must be a whole number, got 1.5"),
        (("a", "10"), r"`size` must be a whole number, got '10'"),
        (("a", True), r"`size` must be a whole number, got True"),
        (("a", math.nan), r"`size` must be a whole number, got nan"),
    ],
)
def test_an_allocation_refuses_nonsense(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Allocation(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((math.nan, 0.5, 1.0), r"`train_score` must be finite, .* got nan. Report a Failure instead"),
        ((0.5, math.inf, 1.0), r"`valid_score` must be finite, .* got inf"),
        ((0.5, -math.inf, 1.0), r"`valid_score` must be finite, .* got -inf"),
        ((0.5, 0.5, -1.0), r"`seconds` must not be negative, got -1.0"),
        ((0.5, 0.5, math.nan), r"`seconds` must be finite"),
        (("0.5", 0.5, 1.0), r"`train_score` must be a number, got '0.5'"),
        ((0.5, None, 1.0), r"`valid_score` must be a number, got None"),
        ((0.5, 1e300, 1.0), r"`valid_score` must be finite, at most 1e\+100 in size, got 1e\+300"),
        ((10**400, 0.5, 1.0), r"`train_score` must be a number, got 1000"),
        ((0.5, 1j, 1.0), r"`valid_score` must be a number, got 1j"),
    ],
)
def test_a_measurement_refuses_nonsense(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Measurement(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("oops", "x"), r"`kind` must be one of error, timeout, memory, crash, refused, got 'oops'"),
        (("error", None), r"`message` must be text, got None"),
        (("error", "x", -1), r"`seconds` must be finite and not negative, got -1"),
        (("error", "x", math.nan), r"`seconds` must be finite and not negative, got nan"),
        (("error", "x", "1"), r"`seconds` must be a number, got '1'"),
    ],
)
def test_a_failure_refuses_nonsense(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Failure(*arguments)


def test_the_limit_of_an_allocation_is_journalled_and_not_compared() -> None:
    event = from_json(to_json(Asked(Allocation("tree", 500, 2.5), None)))
    assert isinstance(event, Asked)
    assert event.allocation.limit == 2.5
    assert Allocation("tree", 500, 2.5) == Allocation("tree", 500)
    assert len({Allocation("tree", 500, 2.5), Allocation("tree", 500)}) == 1
    for nonsense in (0, -1.0, float("nan"), "x"):
        with pytest.raises(InputError, match=r"`limit` must be"):
            Allocation("tree", 500, nonsense)  # type: ignore[arg-type]  # nonsense


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, "x"])
def test_what_is_postponed_has_taken_some_time(seconds: Any) -> None:
    with pytest.raises(InputError, match=r"`seconds` must be"):
        Postponed(seconds)


@pytest.mark.parametrize("optional", [{"fitting": -1.0}, {"scoring": math.inf}, {"scored": 0}, {"scored": 1.5}])
def test_optional_figures_of_a_measurement_are_checked(optional: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"`{next(iter(optional))}` must "):
        Measurement(None, 0.5, 1.0, **optional)
