"""A function of the user's own as an engine."""

from __future__ import annotations

import math
import os
import signal
import sys
from typing import Any

import pytest

from pydaub import Allocation, Daub, Failure, Measurement, Outcome, Schedule, SerialEngine, run
from tables import collected

A = Allocation("tree", 500)


def outcome_of(evaluate: Any) -> Outcome:
    engine = SerialEngine(evaluate)
    engine.submit(A)
    return collected(engine)[1]


def test_the_return_value_is_the_outcome() -> None:
    for outcome in (Measurement(0.9, 0.8, 0.1), Failure("timeout", "over 60 s", 60.0)):
        assert outcome_of(lambda _, outcome=outcome: outcome) == outcome


def test_an_exception_or_any_other_return_value_is_a_failure() -> None:
    def broken(_: Allocation) -> Outcome:
        raise MemoryError

    def exits(_: Allocation) -> Outcome:
        sys.exit("enough")

    def panics(_: Allocation) -> Outcome:
        raise BaseException("a library in Rust")  # noqa: TRY002  # as its bindings do

    def not_a_number(_: Allocation) -> Outcome:
        return Measurement(0.9, math.nan, 1.0)

    for evaluate, message in (
        (broken, "MemoryError"),
        (exits, "SystemExit: enough"),
        (panics, "BaseException: a library in Rust"),
        (
            not_a_number,
            "InputError: `valid_score` must be finite, at most 1e+100 in size, got nan. Report a Failure instead.",
        ),
        (lambda _: 0.5, "a Measurement or a Failure must be returned, got 0.5"),
        (lambda _: None, "a Measurement or a Failure must be returned, got None"),
        ("nonsense", "TypeError: 'str' object is not callable"),
    ):
        outcome = outcome_of(evaluate)
        assert isinstance(outcome, Failure)
        assert (outcome.kind, outcome.message) == ("error", message)


def test_the_seconds_of_a_failure_are_within_the_life_of_the_engine() -> None:
    for evaluate in (lambda _: 1 / 0, lambda _: None):
        engine = SerialEngine(evaluate)  # type: ignore[arg-type]  # on purpose
        engine.submit(A)
        assert 0 <= collected(engine)[1].seconds <= engine.clock


def test_the_user_can_interrupt_it() -> None:
    def interrupted(_: Allocation) -> Outcome:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Daub(["tree"], Schedule.geometric(10_000)), SerialEngine(interrupted))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_handler_can_end_it(number: signal.Signals) -> None:
    def signalled(_: Allocation) -> Outcome:
        os.kill(os.getpid(), number)
        return Measurement(0.9, 0.8, 0.1)

    before = signal.signal(number, lambda *_: sys.exit("terminated"))
    try:
        with pytest.raises(SystemExit, match="terminated"):
            run(Daub(["tree"], Schedule.geometric(10_000)), SerialEngine(signalled))
    finally:
        signal.signal(number, before)
