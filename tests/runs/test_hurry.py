"""Before a time limit a learner gets all rows, as long as that is possible."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pydaub import (
    Account,
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
from pydaub.events import Resumed
from pydaub.runs.journal import read
from pydaub.views.standings import lines

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub import Result
    from pydaub.runs.loop import Watch

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


def with_all_rows(result: Result) -> list[str]:
    """Return the learners that were measured with all rows."""
    return [
        step.allocation.learner
        for step in result.steps
        if step.allocation.size == SIZES[-1] and isinstance(step.outcome, Measurement)
    ]


@pytest.mark.parametrize("kind", [Frugal, Daub])
@pytest.mark.parametrize("workers", [1, 3])
def test_whatever_the_limit_a_learner_has_all_rows_in_time(kind: type[Frugal | Daub], workers: int) -> None:
    hurried = 0
    for seed in range(12):
        rng = random.Random(seed)
        table, limit = curves(rng, rng.randint(3, 150)), rng.uniform(8, 14)
        result = run(kind(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=limit)
        assert with_all_rows(result)
        assert result.wall_seconds <= limit
        hurried += result.stopped is not None
    assert hurried > 0


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_in_the_second_half_of_the_limit_every_worker_trains_on_all_rows(workers: int) -> None:
    for seed in range(3):
        table = curves(random.Random(seed), 800)
        result = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=20.0)
        assert len(with_all_rows(result)) >= workers


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
    assert with_all_rows(result)
    withdrawn = [event for event in read(path) if isinstance(event, Withdrawn)]
    assert {event.allocation for event in withdrawn} & slow
    if size == SIZES[0]:
        assert limit / 2 <= withdrawn[0].clock < 0.6 * limit, "first trainings make room early"
    strategy = Frugal(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        resumed = run(strategy, TableEngine(table, workers), journal)
    assert resumed.steps == run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table, workers)).steps


def test_a_run_that_stopped_counts_what_was_trained_on_all_rows_in_time(tmp_path: Path) -> None:
    """In the table, the figures, the advice; and once it is resumed, no longer."""
    table, path = curves(random.Random(3), 30), tmp_path / "journal.jsonl"
    strategy = Frugal(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        result = run(strategy, TableEngine(table), journal, time_limit=9.0)
    account = Account.of(read(path))
    assert account.result == result
    first = lines(account)[0]
    assert (first.learner, first.size, first.valid) == (result.selected, SIZES[-1], result.valid_score)
    hurried = next(step for step in result.steps if step.allocation == Allocation(first.learner, SIZES[-1]))
    assert (first.bound, account.curve(first.learner).sizes[-1]) == (result.valid_score, SIZES[-1])
    own = [step for step in result.steps if step.allocation.learner == first.learner]
    assert first.seconds == pytest.approx(sum(step.outcome.seconds for step in own))
    assert first.rows == sum(step.allocation.size for step in own) > SIZES[-1]
    assert sum(line.rows for line in lines(account)) == result.rows
    assert hurried.allocation not in result.speculated
    account.take(Resumed(account.clock))
    assert account.result.steps == result.steps[: -len(with_all_rows(result))]
    assert hurried.allocation in account.result.speculated


def test_a_stop_at_the_last_outcome_changes_nothing_once_the_winner_is_selected(tmp_path: Path) -> None:
    scores = {"a": 0.9, "b": 0.8, "c": 0.7}
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score, 100.0 if (name, size) == ("a", SIZES[-1]) else 1.0)
            for name, score in scores.items()
            for size in SIZES
        }
    )

    def once(name: str, watch: Watch | None = None) -> Result:
        strategy = Daub(tuple(scores), Schedule(SIZES))
        with Journal(tmp_path / name, strategy.settings) as journal:
            return run(strategy, TableEngine(table, 3), journal, watch=watch)

    plain = once("plain")
    assert plain.speculated, "others were trained on all rows ahead of their turn"
    stopped = once("stopped", lambda _, account: account.strategy.winner is not None)
    assert stopped.stopped is not None
    assert len(stopped.steps) > len(plain.steps)
    assert once("stopped").steps == plain.steps
    account = Account.of(read(tmp_path / "stopped"))
    assert (account.state, account.result.steps) == ("finished", plain.steps)
    assert account.result.speculated == plain.speculated


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
    assert with_all_rows(second)


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
    assert "high" in with_all_rows(result)
    assert (result.selected, result.selected_size) == ("higher", SIZES[-1])
