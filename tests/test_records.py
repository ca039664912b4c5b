from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from pydaub import (
    Allocation,
    Asked,
    Combined,
    Drawn,
    Evaluated,
    Failure,
    InputError,
    Limited,
    Measurement,
    Postponed,
    Resumed,
    Selected,
    Started,
    Stopped,
    Submitted,
)
from pydaub.records import Event, from_json, to_json

A = Allocation("tree", 500)
EVENTS: list[Event] = [
    Started({"strategy": "daub", "kind": "any", "sizes": [1, 2]}),
    Asked(A, None),
    Asked(A, 0.1 + 0.2),
    Evaluated(A, Measurement(0.1 + 0.2, -1e-300, 1 / 3), 2 / 3),
    Evaluated(A, Failure("crash", "Größe „ü“ \n\ud800", 0.5), 1.0),
    Submitted(A),
    Evaluated(A, Measurement(0.5, 0.25, 1.0, {"auc": 0.1 + 0.2, "peak_mb": 1e9}), 2.0),
    Evaluated(A, Measurement(0.5, 0.25, 1.0, {}, (0.1 + 0.2, -1.0)), 2.0),
    Evaluated(A, Measurement(None, 0.25, 1.0, fitting=0.1 + 0.2, scoring=1 / 3, scored=4000), 2.0),
    Evaluated(A, Measurement(0.5, 0.25, 1.0, retries=2), 2.0),
    Evaluated(A, Postponed(1 / 3), 2.0),
    Selected("tree", 2.5),
    Combined({"tree": 0.25, "line": 0.75}, 0.9, 0.8, 2.75),
    Drawn("space 9", {"C": 0.25, "branch": 1}, "C 3.1"),
    Resumed(3.0),
    Limited(600.0),
    Started({"strategy": "daub"}, {"python": "3.11.7"}),
    Started({"strategy": "daub"}, {"python": "3.11.7"}, {"tree": "a decision tree"}),
    Stopped("time limit", 1 / 3),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_survives_json(event: Event) -> None:
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


def test_an_event_of_a_kind_not_known_here_is_skipped() -> None:
    assert from_json({"kind": "from the future", "x": 1}) is None


def test_an_infinite_bound_is_written_as_none() -> None:
    assert to_json(Asked(A, math.inf))["bound"] is None


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
    assert "metrics" not in to_json(Evaluated(A, Measurement(0.5, 0.5, 1.0), 1.0))
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


def test_what_an_older_journal_lacks_is_empty() -> None:
    fields = {"kind": "evaluated", "learner": "tree", "size": 5, "train_score": 1, "valid_score": 0.5, "seconds": 1}
    assert from_json({**fields, "clock": 1}) == Evaluated(Allocation("tree", 5), Measurement(1.0, 0.5, 1.0), 1.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "submitted", "learner": "tree"},
        {"kind": "submitted", "learner": "", "size": 5},
        {"kind": "stopped", "reason": "time limit"},
        {"kind": "stopped", "reason": "time limit", "clock": "soon"},
        {"kind": "stopped", "clock": 1.0},
        {
            "kind": "evaluated",
            "learner": "a",
            "size": 1,
            "train_score": 1,
            "valid_score": 1,
            "seconds": 1,
            "clock": None,
        },
        {
            "kind": "evaluated",
            "learner": "a",
            "size": 1,
            "train_score": 1,
            "valid_score": 1,
            "seconds": 1,
            "clock": 1,
            "metrics": [1],
        },
    ],
)
def test_an_event_that_lacks_something_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, InputError)):
        from_json(fields)


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
        (("oops", "x"), r"`kind` must be one of error, timeout, memory, crash, got 'oops'"),
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


@pytest.mark.parametrize("outcome", [Measurement(None, 0.5, 1.0), Failure("error", "x"), Postponed(1.0)])
def test_retries_are_journalled_and_not_compared(outcome: Any) -> None:
    event = from_json(to_json(Evaluated(A, replace(outcome, retries=2), 1.0)))
    assert isinstance(event, Evaluated)
    assert (event.outcome, event.outcome.retries) == (outcome, 2)
    assert "retries" not in to_json(Evaluated(A, outcome, 1.0)), "older journals have none"
    for nonsense in (-1, 1.5, "x", None):
        with pytest.raises(InputError, match=r"`retries` must "):
            replace(outcome, retries=nonsense)


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, "x"])
def test_what_is_postponed_has_taken_some_time(seconds: Any) -> None:
    with pytest.raises(InputError, match=r"`seconds` must be"):
        Postponed(seconds)


@pytest.mark.parametrize("optional", [{"fitting": -1.0}, {"scoring": math.inf}, {"scored": 0}, {"scored": 1.5}])
def test_optional_figures_of_a_measurement_are_checked(optional: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"`{next(iter(optional))}` must "):
        Measurement(None, 0.5, 1.0, **optional)
