"""Frugal with several trainings outstanding: any order of outcomes, ended trainings, boosts and drops in between."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cases import seeds
from pydaub import (
    Account,
    AllLearnersFailed,
    Allocation,
    Evaluated,
    Frugal,
    InputError,
    Journal,
    Measurement,
    Outcome,
    Postponed,
    ProtocolError,
    Schedule,
    Table,
    TableEngine,
    run,
)
from pydaub.events import Asked, Submitted
from pydaub.runs.journal import read
from tables import CountingEngine, random_schedule, random_table

if TYPE_CHECKING:
    from pathlib import Path

SCHEDULE = Schedule((400, 1600, 6400, 51_200))


def facts(strategy: Frugal) -> list[object]:
    """Return all that is to be seen of a strategy."""
    names = strategy.learners
    return [
        strategy.outstanding,
        strategy.racing,
        strategy.winner,
        strategy.failures,
        strategy.boosted,
        [(strategy.curve(name), strategy.priority(name), strategy.bound(name)) for name in names],
    ]


@pytest.mark.parametrize("seed", seeds(30, 200))
def test_outcomes_in_any_order_lead_to_a_winner_and_what_was_said_can_be_said_again(seed: int) -> None:
    """With up to eight outstanding, boosts, drops and ended trainings at random moments."""
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule, failures=0.05)
    strategy, again = Frugal(table.learners, schedule), Frugal(table.learners, schedule)
    workers, asked, measured = rng.randint(1, 8), Counter[Allocation](), Counter[Allocation]()
    try:
        while strategy.winner is None:
            while len(strategy.outstanding) < workers and (found := strategy.ask()) is not None:
                assert found.size > max(strategy.curve(found.learner).sizes, default=0)
                asked[found] += 1
                again.begin(found, strategy.why)
            assert strategy.outstanding, "something is asked for, or there is a winner"
            assert len({each.learner for each in strategy.outstanding}) == len(strategy.outstanding)
            if rng.random() < 0.2:
                name, command = rng.choice(strategy.learners), rng.choice(["boost", "drop", "restore"])
                with suppress(InputError):
                    getattr(strategy, command)(name)
                    getattr(again, command)(name)
            if not strategy.outstanding:
                continue
            each = rng.choice(strategy.outstanding)
            outcome: Outcome = Postponed(rng.random()) if rng.random() < 0.1 else table[each]
            measured[each] += isinstance(outcome, Measurement)
            strategy.tell(each, outcome)
            again.tell(each, outcome)
            assert facts(again) == facts(strategy)
    except AllLearnersFailed:
        assert not strategy.racing
        return
    assert max(measured.values()) == 1, "nothing is trained twice"
    assert strategy.curve(strategy.winner).sizes[-1] == schedule.full_size
    assert strategy.ask() is None


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize("seed", seeds(4, 20))
def test_killed_at_any_moment_nothing_is_trained_twice(tmp_path: Path, seed: int, workers: int) -> None:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table, path = random_table(rng, schedule), tmp_path / "run.jsonl"

    def go() -> CountingEngine:
        strategy = Frugal(table.learners, schedule)
        engine = CountingEngine(table, workers)
        with Journal(path, strategy.settings) as journal:
            result = run(strategy, engine, journal)
        assert result.selected_size == schedule.full_size
        account = Account.of(read(path))
        assert (account.result.steps, account.selected) == (result.steps, result.selected)
        return engine

    go()
    content = path.read_bytes()
    for _ in range(15):
        path.write_bytes(content[: rng.randrange(len(content))])
        known = set(measured(path))
        assert not known & set(go().begun)
        assert max(Counter(measured(path)).values()) == 1


def measured(path: Path) -> list[Allocation]:
    """Return what was measured, by the journal."""
    ends = [each for each in read(path) if isinstance(each, Evaluated)]
    return [each.allocation for each in ends if not isinstance(each.outcome, Postponed)]


def curves(ends: dict[str, tuple[list[float], float]]) -> Table:
    """Return a table of curves, each with the seconds that all rows take."""
    return Table(
        {
            Allocation(name, size): Measurement(1.0, score, seconds * size / SCHEDULE.full_size)
            for name, (scores, seconds) in ends.items()
            for size, score in zip(SCHEDULE.sizes, scores, strict=True)
        }
    )


def test_one_slow_learner_stops_nobody() -> None:
    """Outcomes count when they come in, so that the others have all rows long before the slow one would."""
    slow, quick = ([0.8, 0.85, 0.88, 0.89], 4000.0), ([0.79, 0.84, 0.875, 0.90], 10.0)
    table = curves({"slow": slow, **{f"quick {place}": quick for place in range(3)}})
    path = []
    result = run(Frugal(table.learners, SCHEDULE), TableEngine(table, 2), watch=lambda event, _: path.append(event))
    assert result.selected == "quick 0"
    assert result.wall_seconds < 1000.0
    firsts = [
        each.allocation.learner for each in path if isinstance(each, Submitted) and each.allocation.size == 51_200
    ]
    assert firsts[0].startswith("quick") or len(firsts) > 1


def test_a_training_that_would_not_be_begun_any_more_is_ended_and_can_be_taken_up_again() -> None:
    table = curves({"good": ([0.7, 0.8, 0.9, 0.95], 100.0), "slow": ([0.7, 0.79, 0.80, 0.81], 100.0)})
    strategy = Frugal(table.learners, SCHEDULE)
    told = 0
    while len({each.learner for each in strategy.outstanding if each.size == SCHEDULE.full_size}) < 2 and told < 6:
        while strategy.ask():
            pass
        for each in [each for each in strategy.outstanding if each.size < SCHEDULE.full_size]:
            strategy.tell(each, table[each])
            told += 1
    for learner in table.learners:  # both are being trained on all rows, by hand if need be
        if learner not in {each.learner for each in strategy.outstanding}:
            strategy.begin(Allocation(learner, SCHEDULE.full_size))
    strategy.tell(
        next(each for each in strategy.outstanding if each.learner == "good"), table[Allocation("good", 51_200)]
    )
    slow = next(iter(strategy.outstanding))
    assert strategy.dispensable({slow: 1.0}, crowded=False) == slow, "what it may still bring is not worth its time"
    strategy.tell(slow, Postponed(1.0))
    assert strategy.winner == "good"
    strategy.begin(Allocation("slow", 51_200))
    strategy.tell(Allocation("slow", 51_200), table[Allocation("slow", 51_200)])
    assert strategy.winner == "good"


def test_what_cannot_have_been_asked_for_is_refused() -> None:
    strategy = Frugal(["a", "b"], SCHEDULE)
    strategy.begin(Allocation("a", 400))
    for wrong in (Allocation("a", 1600), Allocation("b", 401)):
        with pytest.raises(ProtocolError) as raised:
            strategy.begin(wrong)
        assert str(wrong) in str(raised.value)
    assert strategy.outstanding == (Allocation("a", 400),)


def test_the_journal_says_why_each_training_was_begun(tmp_path: Path) -> None:
    table = random_table(random.Random(1), SCHEDULE)
    strategy = Frugal(table.learners, SCHEDULE)
    with Journal(tmp_path / "run.jsonl", strategy.settings) as journal:
        run(strategy, TableEngine(table, 3), journal)
    whys = [each.why for each in read(tmp_path / "run.jsonl") if isinstance(each, Asked)]
    assert whys.count("first") == len(table.learners)
