"""Regret on measured outcomes, beside the definitions on exact functions."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import STRATEGIES, Allocation, Daub, Failure, InputError, Measurement, Schedule, Table, TableEngine, run
from pydaub.extensions.theory import paper
from pydaub.runs.regret import regret, regrets, spent_on_worse

SIZES = (10, 20, 40, 80)
NOTHING_KNOWN: Any = lambda _name, _score: 1.0  # noqa: E731
scores = st.lists(st.integers(0, 20), min_size=len(SIZES), max_size=len(SIZES))


def table_of(curves: dict[str, list[int]]) -> Table:
    """Return curves with scores in twentieths, and a second for each row."""
    return Table(
        {
            Allocation(name, size): Measurement(1.0, score / 20, float(size))
            for name, of_sizes in curves.items()
            for size, score in zip(SIZES, of_sizes, strict=True)
        }
    )


@given(st.lists(scores, min_size=1, max_size=5), st.integers(1, 20), st.sampled_from(sorted(STRATEGIES)))
def test_it_is_that_of_the_papers_definitions(curves: list[list[int]], twentieths: int, name: str) -> None:
    """A gap of exactly delta counts, although floats are not exact."""
    table = table_of({f"C{place}": each for place, each in enumerate(curves)})
    result = run(STRATEGIES[name](table.learners, Schedule(SIZES)), TableEngine(table))
    f: Any = {name: lambda _n, final=each[-1]: final for name, each in zip(table.learners, curves, strict=True)}
    exact = paper.Problem(f, dict.fromkeys(f, float), SIZES[-1], 1)
    S = [step.allocation for step in result.steps]
    suboptimal = {j for j in f if exact.f_star - f[j](SIZES[-1]) >= twentieths}
    found = regret(result, table.at(SIZES[-1]), twentieths / 20)
    assert found is not None
    assert found.suboptimal == len(suboptimal)
    assert found.seconds == exact.cost(each for each in S if each.learner in suboptimal)
    assert found.share == pytest.approx(found.seconds / exact.cost(S))
    own = exact.cost(each for each in S if each.learner == result.selected)
    assert found.relative == pytest.approx(found.seconds / (len(f) * own))


def test_more_learners_are_suboptimal_at_a_smaller_delta() -> None:
    rng = random.Random(0)
    table = table_of({f"C{place}": [rng.randint(0, 20) for _ in SIZES] for place in range(20)})
    result = run(Daub(table.learners, Schedule(SIZES)), TableEngine(table))
    found = [regret(result, table.at(80), delta) for delta in (0.05, 0.2, 0.5)]
    shares = [each.share for each in found if each]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)


def test_a_learner_that_fails_on_all_rows_is_suboptimal() -> None:
    table = table_of({"good": [10, 11, 12, 12], "broken": [10, 10, 10, 10]})
    table = Table({**table.outcomes, Allocation("broken", 80): Failure("timeout", "too long", 9.0)})
    result = run(Daub(table.learners, Schedule(SIZES)), TableEngine(table))
    found = regret(result, table.at(80), 0.5)
    assert found is not None
    assert (found.suboptimal, found.learners, found.seconds) == (1, 2, 70.0)
    assert found.sentence == (
        "Regret: 32 % of the training time (70.0 s) went to learners that are at least 0.5 worse than the best on all"
        " rows (1 of 2)."
    )
    failed = {name: Failure("error", "broken", 1.0) for name in table.learners}
    assert regret(result, failed, 0.5) is None, "nobody has a score"


def test_without_the_outcomes_on_all_rows_it_is_unknown() -> None:
    table = table_of({"a": [10, 11, 12, 12], "b": [10, 10, 10, 10]})
    results = {
        name: run(STRATEGIES[name](table.learners, Schedule(SIZES)), TableEngine(table)) for name in ("daub", "full")
    }
    assert regret(results["daub"], {"a": table[Allocation("a", 80)]}) is None
    assert regret(results["daub"], {"a": table[Allocation("a", 80)], "b": None}) is None
    assert regrets({"daub": results["daub"]}) == {"daub": None}
    assert regrets(results)["daub"] == regret(results["daub"], table.at(80))


@pytest.mark.parametrize("delta", [0.0, -1.0, math.nan, math.inf])
def test_a_delta_that_is_no_difference_is_refused(delta: float) -> None:
    table = table_of({"a": [10, 11, 12, 12]})
    result = run(Daub(table.learners, Schedule(SIZES)), TableEngine(table))
    with pytest.raises(InputError, match=r"`regret_delta` must be a number greater than 0, got"):
        regret(result, table.at(80), delta)


@given(st.lists(scores, min_size=2, max_size=5), st.integers(1, 20), st.sampled_from(sorted(STRATEGIES)))
def test_what_a_run_itself_knows_agrees_with_its_regret(curves: list[list[int]], twentieths: int, name: str) -> None:
    """Exactly, if what is likely is what comes; if nothing is likely, what it says is true of a part."""
    table = table_of({f"C{place}": each for place, each in enumerate(curves)})
    result = run(STRATEGIES[name](table.learners, Schedule(SIZES)), TableEngine(table))
    delta, full = twentieths / 20, table.at(80)
    final = {name: outcome.valid_score for name, outcome in full.items() if isinstance(outcome, Measurement)}
    known = spent_on_worse(result, lambda name, score: float(round(final[name] - score, 12) > 0), delta)
    unknown = spent_on_worse(result, NOTHING_KNOWN, delta)
    assert known is not None
    assert unknown is not None
    assert known.worse + known.open <= known.learners == len(curves)
    assert unknown.share <= known.share <= unknown.share + unknown.open_share + 1e-9
    if max(final.values()) == result.valid_score:
        true = regret(result, full, delta)
        assert true is not None
        assert (true.suboptimal, true.seconds) == (known.worse, known.seconds)


def test_a_learner_that_failed_is_worse_and_one_that_is_alone_is_not() -> None:
    table = table_of({"good": [10, 11, 12, 12], "broken": [10, 10, 10, 10]})
    table = Table({**table.outcomes, Allocation("broken", 20): Failure("timeout", "too long", 50.0)})
    found = spent_on_worse(run(Daub(table.learners, Schedule(SIZES)), TableEngine(table)), NOTHING_KNOWN)
    assert found is not None
    assert (found.worse, found.open, found.seconds) == (1, 0, 60.0)
    assert found.to_json()["sentence"].startswith("29 % of the training time (60.0 s) went to")
    alone = table_of({"good": [10, 11, 12, 12]})
    assert spent_on_worse(run(Daub(alone.learners, Schedule(SIZES)), TableEngine(alone)), NOTHING_KNOWN) is None
