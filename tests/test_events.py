from __future__ import annotations

import json
import math
from dataclasses import replace
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
    Withdrawn,
)
from pydaub.events import Event, from_json, to_json

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
    Withdrawn(A, 1 / 3),
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


@pytest.mark.parametrize("outcome", [Measurement(None, 0.5, 1.0), Failure("error", "x"), Postponed(1.0)])
def test_retries_are_journalled_and_not_compared(outcome: Any) -> None:
    event = from_json(to_json(Evaluated(A, replace(outcome, retries=2), 1.0)))
    assert isinstance(event, Evaluated)
    assert (event.outcome, event.outcome.retries) == (outcome, 2)
    assert "retries" not in to_json(Evaluated(A, outcome, 1.0)), "older journals have none"
    for nonsense in (-1, 1.5, "x", None):
        with pytest.raises(InputError, match=r"`retries` must "):
            replace(outcome, retries=nonsense)
