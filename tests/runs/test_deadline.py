"""With a time limit: what is done in time, what makes room, and what is left alone."""

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
    Postponed,
    Schedule,
    Scores,
    Table,
    TableEngine,
    Withdrawn,
    run,
)
from pydaub.events import Resumed
from pydaub.runs.deadline import in_time
from pydaub.runs.journal import read
from pydaub.views.lines import lines

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub import Result
    from pydaub.runs.loop import Watch

SIZES = (400, 1_600, 6_400, 25_600)


def curves(rng: random.Random, learners: int) -> Table:
    """Return random curves of learners that cost a second for 10,000 rows."""
    outcomes = {}
    for name in (f"learner {i}" for i in range(learners)):
        score, slope = rng.uniform(0.5, 0.8), rng.uniform(0, 0.15)
        for step, size in enumerate(SIZES):
            outcomes[Allocation(name, size)] = Measurement(1.0, score + slope * (1 - 0.5**step), size / 10_000)
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
    """Unless it is likelier that another is better with a quarter of them."""
    hurried, whole, large = 0, 0, 0
    for seed in range(12):
        rng = random.Random(seed)
        table, limit = curves(rng, rng.randint(3, 150)), rng.uniform(8, 14)
        result = run(kind(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=limit)
        large += (result.selected_size or 0) >= SIZES[-2]
        whole += bool(with_all_rows(result))
        assert result.wall_seconds <= limit
        hurried += result.stopped is not None
    assert hurried > 0
    assert whole >= 11
    assert large >= 11


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_with_more_learners_than_can_be_tried_some_have_all_rows_in_time(workers: int) -> None:
    for seed in range(3):
        table = curves(random.Random(seed), 800)
        result = run(Frugal(table.learners, Schedule(SIZES)), TableEngine(table, workers), time_limit=20.0)
        assert with_all_rows(result)
        assert result.selected_size == SIZES[-1]


@pytest.mark.parametrize(("kind", "workers"), [(Frugal, 1), (Frugal, 2), (Daub, 1)])
def test_a_learner_that_takes_far_too_long_makes_room(tmp_path: Path, kind: type[Frugal | Daub], workers: int) -> None:
    """It can be taken up again: what is measured once the run is resumed is measured once."""
    table = curves(random.Random(4), 8)
    slow = {Allocation(f"learner {i}", size) for i in range(3, 3 + workers) for size in (SIZES[0], SIZES[-1])}
    table = Table(
        {each: replace(found, seconds=1e3 if each in slow else found.seconds) for each, found in table.outcomes.items()}
    )
    path, limit = tmp_path / "journal.jsonl", 60.0
    strategy = kind(table.learners, Schedule(SIZES))
    with Journal(path, strategy.settings) as journal:
        result = run(strategy, TableEngine(table, workers), journal, time_limit=limit)
    assert with_all_rows(result)
    assert result.wall_seconds <= limit
    assert made_room(path) & slow
    again = kind(table.learners, Schedule(SIZES))
    with Journal(path, again.settings) as journal:
        resumed = run(again, TableEngine(table, workers), journal)
    assert resumed.selected_size == SIZES[-1]
    ends = measured(path)
    assert len(ends) == len(set(ends))
    if kind is Daub:
        assert resumed.steps == run(Daub(table.learners, Schedule(SIZES)), TableEngine(table, workers)).steps


def made_room(path: Path) -> set[Allocation]:
    """Return what was ended for another, by the journal."""
    events = read(path)
    ended = {each.allocation for each in events if isinstance(each, Evaluated) and isinstance(each.outcome, Postponed)}
    return ended | {each.allocation for each in events if isinstance(each, Withdrawn)}


def measured(path: Path) -> list[Allocation]:
    """Return what was measured, by the journal."""
    ends = [each for each in read(path) if isinstance(each, Evaluated)]
    return [each.allocation for each in ends if not isinstance(each.outcome, Postponed)]


@pytest.mark.parametrize("workers", [1, 2])
def test_all_rows_are_not_spent_on_what_is_behind_with_fewer(workers: int) -> None:
    """Cheap learners that could have all rows in time do not get them: another is better with a part of the rows."""
    scores = {"poor": [0.75, 0.755, 0.76, 0.76], "fair": [0.77, 0.775, 0.78, 0.78], "good": [0.87, 0.88, 0.89, 0.90]}
    seconds = {"poor": 2.0, "fair": 2.0, "good": 400.0}
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score, seconds[name] * size / SIZES[-1])
            for name, curve in scores.items()
            for size, score in zip(SIZES, curve, strict=True)
        }
    )
    strategy = Frugal(table.learners, Schedule(SIZES), scores=Scores("accuracy", 10_000))
    result = run(strategy, TableEngine(table, workers), time_limit=200.0)
    assert (result.selected, result.selected_size) == ("good", 6_400)


def test_the_chance_to_end_in_time_falls_with_the_seconds_and_rises_with_the_time() -> None:
    chances = [in_time(seconds, 2.0, 10.0) for seconds in (0.0, 1.0, 5.0, 10.0, 20.0, 1e6)]
    assert chances == sorted(chances, reverse=True)
    assert [round(chances[0], 6), chances[3]] == [1.0, 0.5]
    assert in_time(10.0, 2.0, 0.0) == 0.0
    for took in (1.0, 10.0, 100.0, 1e9):
        assert 0.0 <= in_time(10.0, 2.0, 5.0, took) <= in_time(10.0, 2.0, 50.0, took) <= 1.0


def test_a_run_that_stopped_counts_what_was_trained_on_all_rows_in_time(tmp_path: Path) -> None:
    """In the table, the figures, the advice; and once it is resumed, no longer."""
    table, path = curves(random.Random(3), 30), tmp_path / "journal.jsonl"
    strategy = Daub(table.learners, Schedule(SIZES))
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


@pytest.mark.parametrize("kind", [Frugal, Daub])
def test_after_a_failure_the_next_one_gets_its_chance(kind: type[Frugal | Daub]) -> None:
    outcomes: dict[Allocation, Measurement | Failure] = {
        Allocation(name, size): Measurement(1.0, start + 0.04 * step, size / 10_000)
        for name, start in (("first", 0.750), ("second", 0.745), *((f"other {i}", 0.6) for i in range(60)))
        for step, size in enumerate(SIZES)
    }
    table = Table({**outcomes, Allocation("first", SIZES[-1]): Failure("error", "no luck", 0.1)})
    result = run(kind(table.learners, Schedule(SIZES)), TableEngine(table), time_limit=20.0)
    assert (result.selected, result.selected_size) == ("second", SIZES[-1])


@pytest.mark.parametrize("kind", [Frugal, Daub])
def test_with_more_time_a_run_goes_on_and_measures_nothing_twice(tmp_path: Path, kind: type[Frugal | Daub]) -> None:
    table = curves(random.Random(3), 30)
    path, results = tmp_path / "journal.jsonl", []
    for limit in (9.0, None):
        strategy = kind(table.learners, Schedule(SIZES))
        with Journal(path, strategy.settings) as journal:
            results.append(run(strategy, TableEngine(table), journal, time_limit=limit))
    assert (results[0].stopped, results[0].selected_size) == ("time limit", SIZES[-1])
    assert results[1].stopped is None
    ends = measured(path)
    assert len(ends) == len(set(ends))
    if kind is Daub:
        assert results[1].steps == run(Daub(table.learners, Schedule(SIZES)), TableEngine(table)).steps


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
    assert result.selected in {"high", "higher"}
    assert result.selected_size == SIZES[-1]
