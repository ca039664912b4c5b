"""Before a time limit a learner gets all rows, as long as that is possible."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pydaub import (
    Allocation,
    Daub,
    Evaluated,
    Failure,
    Frugal,
    Journal,
    Measurement,
    Schedule,
    Table,
    TableEngine,
    Withdrawn,
    run,
)
from pydaub.runs.journal import read

if TYPE_CHECKING:
    from pathlib import Path

SIZES = (400, 1_600, 6_400, 25_600)


def curves(rng: random.Random, learners: int, *, failing: str = "") -> Table:
    """Return random curves of learners that cost a second for 10,000 rows."""
    outcomes: dict[Allocation, Measurement | Failure] = {}
    for name in (f"learner {i}" for i in range(learners)):
        score, slope = rng.uniform(0.5, 0.8), rng.uniform(0, 0.15)
        for step, size in enumerate(SIZES):
            outcomes[Allocation(name, size)] = (
                Failure("error", "no luck", 1.0)
                if name == failing and size == SIZES[-1]
                else Measurement(1.0, score + slope * (1 - 0.5**step), size / 10_000)
            )
    return Table(outcomes)


@pytest.mark.parametrize("kind", [Frugal, Daub])
@pytest.mark.parametrize("workers", [1, 3])
def test_whatever_the_limit_a_learner_has_all_rows_in_time(kind: type[Frugal | Daub], workers: int) -> None:
    hurried = 0
    for seed in range(12):
        rng = random.Random(seed)
        table, limit = curves(rng, rng.randint(3, 150)), rng.uniform(8, 14)
        result = run(kind(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=limit)
        complete = {each.learner for each in result.speculated if each.size == SIZES[-1]}
        assert complete or any(step.allocation.size == SIZES[-1] for step in result.steps)
        assert result.wall_seconds <= limit
        hurried += bool(complete)
    assert hurried > 0


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_in_the_second_half_of_the_limit_every_worker_trains_on_all_rows(workers: int) -> None:
    for seed in range(3):
        table = curves(random.Random(seed), 800)
        result = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=20.0)
        complete = {each.learner for each in result.speculated if each.size == SIZES[-1]}
        assert len(complete) >= workers


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("size", [SIZES[0], SIZES[-1]])
def test_a_learner_that_takes_far_too_long_makes_room(tmp_path: Path, workers: int, size: int) -> None:
    """It is begun again afterwards, and the run can be resumed as if it had never been ended."""
    table = curves(random.Random(4), 8)
    slow = {Allocation(f"learner {i}", size) for i in range(3, 3 + workers)}
    slow |= {Allocation(each.learner, SIZES[-1]) for each in slow}
    table = Table(
        {each: replace(found, seconds=1e3 if each in slow else found.seconds) for each, found in table.outcomes.items()}
    )
    path, limit = tmp_path / "journal.jsonl", 60.0
    strategy = Frugal(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        result = run(strategy, TableEngine(table, workers), journal, time_limit=limit)
    assert result.stopped == "time limit"
    assert any(each.size == SIZES[-1] for each in result.speculated)
    withdrawn = [event for event in read(path) if isinstance(event, Withdrawn)]
    assert {event.allocation for event in withdrawn} & slow
    if size == SIZES[0]:
        assert limit / 2 <= withdrawn[0].clock < 0.6 * limit, "first trainings make room early"
    strategy = Frugal(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        resumed = run(strategy, TableEngine(table, workers), journal)
    assert resumed.steps == run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table, workers)).steps


def test_where_all_rows_take_too_long_nothing_changes() -> None:
    table = curves(random.Random(1), 30)
    result = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table), time_limit=2.0)
    assert result.stopped == "time limit"
    assert result.selected_size is not None
    assert result.selected_size < SIZES[-1]


def test_after_a_failure_the_next_one_gets_its_chance() -> None:
    table = curves(random.Random(2), 30)
    first = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table), time_limit=9.0)
    table = curves(random.Random(2), 30, failing=first.selected or "")
    second = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table), time_limit=9.0)
    assert isinstance(second.speculated[Allocation(first.selected or "", SIZES[-1])], Failure)
    others = [outcome for each, outcome in second.speculated.items() if each.size == SIZES[-1]]
    assert any(isinstance(outcome, Measurement) for outcome in others)


def test_the_run_can_be_resumed_as_if_nothing_had_happened(tmp_path: Path) -> None:
    table = curves(random.Random(3), 30)
    path, results = tmp_path / "journal.jsonl", []
    for limit in (9.0, None):
        strategy = Frugal(table.learners, Schedule(SIZES))
        with Journal(path, strategy.settings) as journal:
            results.append(run(strategy, TableEngine(table), journal, time_limit=limit))
    whole = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table))
    assert (results[0].stopped, results[0].selected_size) == ("time limit", SIZES[-1])
    assert results[1].steps == whole.steps


@pytest.mark.parametrize("workers", [2, 3])
def test_where_first_evaluations_take_long_a_learner_gets_all_rows_before_half_of_the_limit(
    tmp_path: Path, workers: int
) -> None:
    """800 first evaluations take longer than a training on all rows."""
    table, path = curves(random.Random(5), 800), tmp_path / "journal.jsonl"
    strategy = Frugal(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        run(strategy, TableEngine(table, workers), journal, time_limit=20.0)
    ends = [each.clock for each in read(path) if isinstance(each, Evaluated) and each.allocation.size == SIZES[-1]]
    assert min(ends) < 10.0


def test_a_learner_that_was_ahead_of_the_best_with_as_many_rows_gets_all_of_them() -> None:
    """Learner `high` gains more than any forecast expects, and so does `higher`, which is evaluated much later."""
    level = {f"level {i}": (0.5, 0.5) for i in range(300)}
    scores = {"high": (0.60, 0.95)} | level | {"higher": (0.62, 0.97)}
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, last if size == SIZES[-1] else first, size / 10_000)
            for name, (first, last) in scores.items()
            for size in SIZES
        }
    )
    result = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table), time_limit=20.0)
    assert Allocation("high", SIZES[-1]) in result.speculated
    assert (result.selected, result.selected_size) == ("higher", SIZES[-1])
