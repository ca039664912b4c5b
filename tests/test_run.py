from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pydaub import (
    STRATEGIES,
    AllLearnersFailed,
    Allocation,
    Daub,
    Evaluated,
    Failure,
    Full,
    InputError,
    Journal,
    JournalMismatch,
    Measurement,
    Outcome,
    RefusedAllocation,
    Result,
    Schedule,
    Selected,
    Strategy,
    Table,
    TableEngine,
    run,
)
from pydaub.journal import read
from tables import random_schedule, random_table, write_csv

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


class CountingEngine(TableEngine):
    """Remembers what was begun."""

    def __init__(self, table: Table, workers: int = 1) -> None:
        super().__init__(table, workers)
        self.begun: list[Allocation] = []
        self.closed = False

    def submit(self, allocation: Allocation) -> None:
        super().submit(allocation)
        self.begun.append(allocation)

    def close(self) -> None:
        super().close()
        self.closed = True


def small_case(seed: int, failures: float = 0.1) -> tuple[Table, Schedule]:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    return random_table(rng, schedule, grid=None, failures=failures), schedule


def outcome_of(kind: type[Strategy], table: Table, schedule: Schedule, workers: int) -> Result:
    try:
        return run(kind(table.learners, schedule), TableEngine(table, workers))
    except AllLearnersFailed as error:
        result: Result = error.result
        return result


@every_strategy
@pytest.mark.parametrize("chunk", range(10))
def test_the_answer_does_not_depend_on_the_number_of_workers(kind: type[Strategy], chunk: int) -> None:
    for seed in range(20 * chunk, 20 * chunk + 20):
        table, schedule = small_case(seed)
        serial = outcome_of(kind, table, schedule, 1)
        assert not serial.speculated
        assert serial.wall_seconds == pytest.approx(serial.seconds)
        for workers in (2, 7, 64):
            result = outcome_of(kind, table, schedule, workers)
            assert result.steps == serial.steps
            assert result.selected == serial.selected
            assert result.failures == serial.failures
            longest = max(step.outcome.seconds for step in serial.steps)
            assert longest <= result.wall_seconds + 1e-9 <= serial.wall_seconds + 2e-9, "never slower, never magic"


def test_a_guess_that_cannot_be_evaluated_is_skipped() -> None:
    """Sizes that only a forecast names need not be recorded: more workers see no error that one does not."""
    schedule = Schedule((10, 20, 40, 80, 160))
    outcomes: dict[Allocation, Outcome] = {
        Allocation(name, size): Measurement(1.0, 0.5 + size / 1000 * (name == "a"), 1.0)
        for name in "abc"
        for size in schedule.sizes
        if name == "a" or size <= 40
    }
    for workers in (1, 2, 7, 64):
        assert run(Daub(["a", "b", "c"], schedule), TableEngine(Table(outcomes), workers)).selected == "a"
    with pytest.raises(RefusedAllocation, match=r"must hold size 160 of learner 'b', which is asked for"):
        run(Full(["a", "b"], schedule), TableEngine(Table(outcomes), 7))


def test_nonsense_is_refused_at_the_door() -> None:
    table, schedule = small_case(3, failures=0.0)
    nonsense: Any = "run.jsonl"
    with pytest.raises(InputError, match=r"`journal` must be an open Journal or None, got 'run.jsonl'"):
        run(Daub(table.learners, schedule), TableEngine(table), nonsense)
    with pytest.raises(InputError, match=r"`strategy` must be a Strategy, got 'run.jsonl'"):
        run(nonsense, TableEngine(table))


def test_what_was_guessed_in_vain_is_reported() -> None:
    table, schedule = small_case(3, failures=0.0)
    engine = CountingEngine(table, 64)
    result = run(Daub(table.learners, schedule), engine)
    asked = {step.allocation for step in result.steps}
    assert len(engine.begun) == len(set(engine.begun)) == len(asked) + len(result.speculated) + result.abandoned
    assert not asked & set(result.speculated)
    assert result.speculated
    assert engine.closed


def test_the_result_in_figures() -> None:
    """The selected learner's own score at the full size, though others were measured there too."""
    scores = {"a": 0.5, "best": 0.7, "c": 0.6}
    table = Table({Allocation(name, 10): Measurement(0.9, score, 2.0) for name, score in scores.items()})
    result = run(Full(table.learners, Schedule((10,))), TableEngine(table, 3))
    assert (result.selected, result.valid_score, result.full_size) == ("best", 0.7, 10)
    assert (result.rows, result.seconds, result.wall_seconds) == (30, 6.0, 2.0)
    assert (dict(result.speculated), result.abandoned, result.resumed) == ({}, 0, 0)


def test_when_all_fail_the_error_tells_what_was_done() -> None:
    table = Table({Allocation(name, size): Failure("error", "no", 2.0) for name in "ab" for size in (1, 2, 4)})
    engine = CountingEngine(table)
    with pytest.raises(AllLearnersFailed, match="All 2 learners failed") as raised:
        run(Daub(table.learners, Schedule((1, 2, 4))), engine)
    assert raised.value.result.selected is None
    assert raised.value.result.valid_score is None
    assert raised.value.result.seconds == 4.0
    assert engine.closed


@every_strategy
@pytest.mark.parametrize("workers", [1, 3])
def test_killed_at_every_byte_a_run_resumes_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Strategy], workers: int
) -> None:
    """Cut the journal after any byte: the same sequence, the same winner, and nothing measured twice."""
    monkeypatch.setattr(os, "fdatasync", lambda _descriptor: None)  # the cut is what matters here, not the disk
    path = tmp_path / "run.jsonl"
    schedule = Schedule((1, 2, 4, 8, 16))
    curves = {"a": [0.1, 0.3, 0.5, 0.6, 0.7], "b": [0.4, 0.4, 0.3, 0.5, 0.5], "c": [0.2, 0.4, 0.5, 0.6, 0.6]}
    outcomes: dict[Allocation, Outcome] = {
        Allocation(name, size): Measurement(1.0, score, float(size))
        for name, curve in curves.items()
        for size, score in zip(schedule.sizes, curve, strict=True)
    }
    table = Table(
        {**outcomes, Allocation("c", 8): Failure("crash", "x", 1.0), Allocation("c", 16): Failure("error", "")}
    )

    def go() -> tuple[Result, CountingEngine]:
        strategy = kind(table.learners, schedule)
        engine = CountingEngine(table, workers)
        with Journal(path, {**strategy.settings, "table": table.fingerprint}) as journal:
            return run(strategy, engine, journal), engine

    whole, _ = go()
    content = path.read_bytes()
    assert sum(isinstance(event, Evaluated) for event in read(path)) >= 3
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        known = {event.allocation for event in read(path) if isinstance(event, Evaluated)}
        result, engine = go()
        assert result.steps == whole.steps
        assert result.selected == whole.selected
        assert not known & set(engine.begun), "what the journal holds is not measured again"
        events = read(path)
        assert max(Counter(event.allocation for event in events if isinstance(event, Evaluated)).values()) == 1
        assert events.count(Selected(whole.selected or "")) == 1


def test_a_finished_run_is_only_read(tmp_path: Path) -> None:
    table, schedule = small_case(2, failures=0.0)
    path = tmp_path / "run.jsonl"
    contents, results, engines = [], [], []
    for workers in (3, 1):
        strategy, engine = Daub(table.learners, schedule), CountingEngine(table, workers)
        with Journal(path, strategy.settings) as journal:
            results.append(run(strategy, engine, journal))
        contents.append(path.read_bytes())
        engines.append(engine)
    assert contents[0] == contents[1]
    assert engines[1].begun == []
    assert results[0].steps == results[1].steps
    assert results[0].wall_seconds == results[1].wall_seconds
    assert results[0].speculated == results[1].speculated


def test_a_journal_whose_sequence_differs_is_refused(tmp_path: Path) -> None:
    table, schedule = small_case(2, failures=0.0)
    path = tmp_path / "run.jsonl"
    with Journal(path, {"any": 1}) as journal:
        run(Daub(table.learners, schedule), TableEngine(table), journal)
    content = path.read_bytes()
    with Journal(path, {"any": 1}) as journal, pytest.raises(JournalMismatch, match=r"where the strategy now asks"):
        run(Full(table.learners, schedule), TableEngine(table), journal)
    assert path.read_bytes() == content


def test_an_outcome_is_synced_before_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    table, schedule = small_case(2, failures=0.0)
    synced: list[int] = []
    real = os.fdatasync

    def sync(file: int) -> None:
        real(file)
        synced.append(os.fstat(file).st_size)

    monkeypatch.setattr(os, "fdatasync", sync)
    told = []

    class Watched(Daub):
        def tell(self, allocation: Allocation, outcome: Outcome) -> None:
            on_disk = path.read_bytes()[: synced[-1]]
            told.append(f'"evaluated","learner":"{allocation.learner}","size":{allocation.size},'.encode() in on_disk)
            super().tell(allocation, outcome)

    with Journal(path, {"any": 1}) as journal:
        result = run(Watched(table.learners, schedule), TableEngine(table, 2), journal)
    assert told == [True] * len(result.steps)


SLOW_RUN = """
    import sys, time
    from pydaub import Daub, Journal, Schedule, Table, TableEngine, run
    table = Table.read(sys.argv[1])
    class Slow(TableEngine):
        def collect(self, timeout=None):
            time.sleep(0.003)
            return super().collect(timeout)
    strategy = Daub(table.learners, Schedule(table.sizes))
    with Journal(sys.argv[2], strategy.settings) as journal:
        run(strategy, Slow(table, 3), journal)
"""


def test_a_process_that_is_really_killed_again_and_again_gets_to_the_same_end(tmp_path: Path) -> None:
    """kill -9 at moments of chance; each start goes on where the last one was; nothing is measured twice."""
    rng = random.Random(5)
    schedule = Schedule.geometric(2000, 10, "1.5")
    table = random_table(rng, schedule)
    path, csv = tmp_path / "run.jsonl", write_csv(table, tmp_path / "curves.csv")
    command = [sys.executable, "-c", textwrap.dedent(SLOW_RUN), str(csv), str(path)]
    kills = 0
    for _ in range(200):
        lines = path.read_bytes().count(b"\n") if path.exists() else 0
        target = lines + rng.randint(1, 12)
        with subprocess.Popen(command) as process:
            while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < target):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
            if process.returncode == 0:
                break
    assert kills >= 3, "it was really killed"
    events = read(path)
    whole = run(Daub(table.learners, schedule), TableEngine(Table.read(csv)))
    assert events[-1] == Selected(whole.selected or "")
    measured = [event.allocation for event in events if isinstance(event, Evaluated)]
    assert len(measured) == len(set(measured))
    assert {step.allocation for step in whole.steps} <= set(measured)
