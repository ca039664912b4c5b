"""A journal, read at any moment, gives the picture of the run at that moment."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pydaub import (
    STRATEGIES,
    AllLearnersFailed,
    Allocation,
    Asked,
    Daub,
    Evaluated,
    Full,
    Journal,
    JournalError,
    Measurement,
    NothingMeasured,
    Result,
    Schedule,
    Selected,
    SlopeBound,
    Started,
    Stopped,
    Strategy,
    Submitted,
    Table,
    TableEngine,
    run,
)
from pydaub.records import Event, Steered
from pydaub.runs.certificate import projected_seconds
from pydaub.runs.journal import read
from pydaub.views.view import Picture, result_of, strategy_of
from tables import random_schedule, random_table

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def case(seed: int) -> tuple[Table, Schedule, int, float | None]:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule, failures=rng.choice([0.0, 0.2, 0.6]))
    return table, schedule, rng.choice([1, 3, 8]), rng.choice([None, None, rng.uniform(0.01, 60)])


def journalled(
    path: Path, strategy: Strategy, table: Table, workers: int, limit: float | None
) -> tuple[Result, list[Event]]:
    with Journal(path, {**strategy.settings, "data": "x"}) as journal:
        try:
            result = run(strategy, TableEngine(table, workers), journal, time_limit=limit)
        except (AllLearnersFailed, NothingMeasured) as error:
            result = error.result
    return result, read(path)


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written matters here, not the disk."""
    monkeypatch.setattr("os.fdatasync", lambda _descriptor: None)


@every_strategy
def test_a_journal_tells_what_the_run_told(kind: type[Strategy], tmp_path: Path) -> None:
    for seed in range(40):
        table, schedule, workers, limit = case(seed)
        strategy = kind(table.learners, schedule)
        result, events = journalled(tmp_path / f"{seed}.jsonl", strategy, table, workers, limit)
        again, found = result_of(events)
        for name in ("selected", "selected_size", "full_size", "steps", "failures", "speculated", "stopped"):
            assert getattr(found, name) == getattr(result, name), name
        assert (found.valid_score, found.rows, found.seconds) == (result.valid_score, result.rows, result.seconds)
        assert found.abandoned == result.abandoned
        assert found.wall_seconds == pytest.approx(result.wall_seconds)
        assert again.settings == strategy.settings
        assert [again.bound(name) for name in table.learners] == [strategy.bound(name) for name in table.learners]


@every_strategy
def test_every_beginning_of_a_journal_is_a_beginning_of_the_run(kind: type[Strategy], tmp_path: Path) -> None:
    for seed in range(12):
        table, schedule, workers, limit = case(seed)
        whole, events = journalled(tmp_path / f"{seed}.jsonl", kind(table.learners, schedule), table, workers, limit)
        for length in range(1, len(events) + 1):
            beginning = events[:length]
            _, found = result_of(beginning)
            outcomes = {event.allocation: event.outcome for event in beginning if isinstance(event, Evaluated)}
            assert found.steps == whole.steps[: len(found.steps)]
            assert {step.allocation: step.outcome for step in found.steps} | dict(found.speculated) == outcomes
            if len(found.steps) < len(whole.steps):
                following = whole.steps[len(found.steps)].allocation
                assert following not in outcomes, "it ends where an outcome is missing"
            began = {event.allocation for event in beginning if isinstance(event, Submitted)}
            assert found.abandoned == len(began - set(outcomes))
            check_selection(found, whole, beginning)


def check_selection(found: Result, whole: Result, events: list[Event]) -> None:
    measured = [
        (event.outcome.valid_score, event.allocation.size)
        for event in events
        if isinstance(event, Evaluated) and isinstance(event.outcome, Measurement)
    ]
    if found.stopped is None:
        assert (found.selected, len(found.steps)) == (whole.selected, len(whole.steps))
    else:
        last = events[-1]
        assert found.stopped == (last.reason if isinstance(last, Stopped) else "not finished")
        best = max(measured, default=(None, None))
        assert (found.valid_score, found.selected_size) == best, "the best so far, the larger of equals"


def test_a_run_that_goes_on_after_it_was_stopped_is_not_finished_until_it_is(tmp_path: Path) -> None:
    table = Table(
        {Allocation(name, size): Measurement(1.0, 0.5, 1.0) for name in "ab" for size in (10, 20, 40, 80, 160)}
    )
    schedule, path = Schedule(table.sizes), tmp_path / "run.jsonl"
    stopped, events = journalled(path, Daub(table.learners, schedule), table, 1, 2.5)
    assert (stopped.stopped, result_of(events)[1].stopped) == ("time limit", "time limit")
    assert result_of(events)[1].wall_seconds == stopped.wall_seconds == 2.5
    first = [event for event in events if isinstance(event, Stopped)]
    ended, events = journalled(path, Daub(table.learners, schedule), table, 1, None)
    assert ended.stopped is None
    assert ended.resumed == 2
    assert ended.wall_seconds == result_of(events)[1].wall_seconds == 2.5 + len(ended.steps) - 2
    position = events.index(first[0])
    assert result_of(events[: position + 1])[1].stopped == "time limit"
    assert result_of(events[: position + 2])[1].stopped == "not finished"
    assert result_of(events)[1].stopped is None


@pytest.mark.parametrize(
    "events", [[], [Selected("a")], [Asked(Allocation("a", 1), None), Started({"strategy": "daub"})]]
)
def test_a_journal_without_a_beginning_is_refused(events: list[Event]) -> None:
    with pytest.raises(JournalError, match=r"A journal must begin with its settings, got none"):
        result_of(events)


SETTINGS = Daub(["a", "b"], Schedule((1, 2, 4))).settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategy": "best"}, r"must name a known strategy, learners and sizes, got KeyError\('best'\)"),
        ({"strategy": None}, r"must name a known strategy"),
        ({"learners": 5}, r"`learners` must be a list of names"),
        ({"sizes": 5}, r"must name a known strategy"),
        ({"sizes": [4, 2]}, r"`sizes` must be at least one and strictly grow"),
        ({"bound": "mine"}, r"must be of a run with the usual bound, got mine"),
        ({"bound": None}, r"must be of a run with the usual bound, got None"),
    ],
)
def test_settings_that_say_nothing_are_refused(change: dict[str, Any], message: str) -> None:
    assert strategy_of(SETTINGS).settings == SETTINGS
    with pytest.raises((JournalError, ValueError), match=message):
        strategy_of({**SETTINGS, **change})
    for name in ("strategy", "learners", "sizes"):
        with pytest.raises(JournalError, match=r"must name a known strategy, learners and sizes"):
            strategy_of({key: value for key, value in SETTINGS.items() if key != name})


def test_a_run_with_a_bound_of_ones_own_is_refused() -> None:
    """It cannot be worked out again from what the journal holds."""
    strategy = Daub(["a"], Schedule((1, 2, 4)), SlopeBound(train_cap=False))
    with pytest.raises(JournalError, match=r"usual bound, got SlopeBound\(points=3, train_cap=False\)"):
        result_of([Started(strategy.settings)])


@every_strategy
def test_a_picture_shows_what_has_happened_so_far(kind: type[Strategy]) -> None:
    for seed in range(20):
        table, schedule, workers, _ = case(seed)
        strategy = kind(table.learners, schedule)
        picture = Picture(strategy)
        outcomes: dict[Allocation, Any] = {}
        began: list[Allocation] = []
        assert (picture.standings, picture.rows, picture.seconds, picture.largest) == ([], 0, 0, 0)

        def watch(event: Event, picture: Picture = picture, outcomes: Any = outcomes, began: Any = began) -> None:
            picture.take(event)
            if isinstance(event, Submitted):
                began.append(event.allocation)
            if isinstance(event, Evaluated):
                outcomes[event.allocation] = event.outcome
            check_picture(picture, outcomes, began)

        try:
            run(strategy, TableEngine(table, workers), watch=watch)
        except AllLearnersFailed:
            assert {standing.learner for standing in picture.standings} == set(table.learners)


def check_picture(picture: Picture, outcomes: dict[Allocation, Any], began: list[Allocation]) -> None:
    assert picture.outcomes == outcomes
    assert sorted(picture.running, key=str) == sorted(set(began) - set(outcomes), key=str)
    assert picture.rows == sum(allocation.size for allocation in outcomes)
    assert picture.seconds == pytest.approx(sum(outcome.seconds for outcome in outcomes.values()))
    assert picture.largest == max((allocation.size for allocation in outcomes), default=0)
    strategy = picture.strategy
    expected = projected_seconds(outcomes.items(), strategy.learners, strategy.schedule.full_size)
    assert picture.projected == expected
    standings = picture.standings
    assert {standing.learner: standing.size for standing in standings} == {
        name: max(allocation.size for allocation in outcomes if allocation.learner == name)
        for name in {allocation.learner for allocation in outcomes}
    }
    for standing in standings:
        assert standing.outcome == outcomes[Allocation(standing.learner, standing.size)]
        assert standing.bound == strategy.bound(standing.learner)
    measured = [standing for standing in standings if isinstance(standing.outcome, Measurement)]
    assert standings[: len(measured)] == measured, "those that failed come last"
    bounds = [standing.bound for standing in measured if standing.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert all(standing.bound is not None for standing in measured[: len(bounds)])


def test_a_journal_of_a_run_that_has_only_begun(tmp_path: Path) -> None:
    strategy = Full(["a"], Schedule((1, 2)))
    with Journal(tmp_path / "run.jsonl", strategy.settings):
        pass
    _, found = result_of(read(tmp_path / "run.jsonl"))
    assert (found.selected, found.stopped, found.steps, found.abandoned) == (None, "not finished", (), 0)


def test_a_picture_knows_what_a_person_did() -> None:
    picture = Picture(Daub(["a", "b"], Schedule((10, 20, 40))))
    picture.take(Submitted(Allocation("a", 10)))
    picture.take(Submitted(Allocation("b", 10)))
    picture.take(Steered("pause", None, 1.0))
    picture.take(Steered("drop", "a", 2.0))
    assert picture.paused
    assert picture.running == [Allocation("b", 10)]
    picture.take(Steered("resume", None, 3.0))
    assert not picture.paused
