"""What confidence bounds prove of learners in a run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import Daub, Elimination, Failure, Frugal, Measurement, NonIncreasing, Schedule, Scores, SlopeBound
from pydaub.algorithm.proof import prove
from pydaub.extensions.bounds.confidence import INTERVALS, ConfidenceBound
from worlds import World, worlds

SIZES = (10, 20, 40, 80)


@pytest.mark.parametrize("kind", [Daub, Elimination])
@given(world=worlds(), data=st.data())
def test_with_any_noise_within_the_intervals_nothing_false_is_proved(
    kind: Any, world: World, data: st.DataObject
) -> None:
    """At every moment of a run, on curves that are well-behaved."""
    f, sizes, N = world.problem.f, world.schedule.sizes, world.N
    bound = ConfidenceBound(10 ** data.draw(st.integers(2, 8)), looks=len(f) * len(sizes))
    strategy, final = kind(list(f), world.schedule, bound), {j: float(f[j](N)) for j in f}
    assert strategy.proof() is None, "nothing is measured yet"
    while (asked := strategy.ask()) is not None:
        noise = bound.radius(0.5) * data.draw(st.floats(-0.999, 0.999))
        strategy.tell(asked, Measurement(1.0, float(f[asked.learner](asked.size)) + noise, 0.0))
        proof = strategy.proof()
        assert proof is not None
        assert proof.at_least <= final[proof.best] + 1e-9
        assert all(final[j] <= most + 1e-9 for j, most in proof.at_most.items())
        assert all(final[j] < final[proof.best] for j in proof.worse)


@pytest.mark.parametrize("interval", INTERVALS)
def test_who_is_far_below_is_ruled_out(interval: str) -> None:
    strategy = Daub(["good", "bad", "broken"], Schedule(SIZES), interval, scores=Scores(rows=10**6))
    while (asked := strategy.ask()) is not None:
        score = {"good": 0.9, "bad": 0.5}.get(asked.learner)
        strategy.tell(asked, Failure("error", "broken", 0.1) if score is None else Measurement(1.0, score, 0.1))
    proof = strategy.proof()
    assert proof is not None
    assert (proof.best, [*proof.worse], proof.confidence) == ("good", ["bad"], 0.95)
    assert 0.5 < proof.worse["bad"] < proof.at_least < 0.9
    assert proof.to_json()["worse"] == ["bad"], "and nothing is said of one that failed"


def test_without_a_probability_there_is_no_proof() -> None:
    for strategy in (Daub(["a", "b"], Schedule(SIZES)), Frugal(["a", "b"], Schedule(SIZES))):
        asked = strategy.ask()
        assert asked is not None
        strategy.tell(asked, Measurement(1.0, 0.5, 0.1))
        assert strategy.proof() is None


def test_learners_that_join_are_not_covered_by_the_probability() -> None:
    strategy = Daub(["a", "b"], Schedule(SIZES), "hoeffding", scores=Scores(rows=10**6))
    for _ in range(3):
        asked = strategy.ask()
        assert asked is not None
        strategy.tell(asked, Measurement(1.0, 0.5, 0.1))
    assert strategy.proof() is not None
    strategy.add("late")
    assert strategy.proof() is None
    curves = {"a": strategy.curve("a")}
    assert prove(NonIncreasing(ConfidenceBound(100, 4)), curves, strategy.schedule) is not None
    assert prove(NonIncreasing(SlopeBound()), curves, strategy.schedule) is None
