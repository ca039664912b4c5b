from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from cases import seeds
from pydaub import (
    STRATEGIES,
    Account,
    AllLearnersFailed,
    Allocation,
    Asked,
    Daub,
    Evaluated,
    Failure,
    Full,
    InputError,
    Journal,
    JournalMismatch,
    Measurement,
    NothingMeasured,
    Outcome,
    RefusedAllocation,
    Result,
    Schedule,
    Selected,
    SerialEngine,
    Started,
    Stopped,
    Strategy,
    Submitted,
    Table,
    TableEngine,
    run,
)
from pydaub.events import Event
from pydaub.runs.journal import read
from tables import CountingEngine, in_order, random_schedule, random_table, write_csv

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def small_case(seed: int, failures: float = 0.1) -> tuple[Table, Schedule]:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    return random_table(rng, schedule, grid=None, failures=failures), schedule


def outcome_of(kind: type[Strategy], table: Table, schedule: Schedule, workers: int) -> Result:
    try:
        return run(in_order(kind, table.learners, schedule), TableEngine(table, workers))
    except AllLearnersFailed as error:
        result: Result = error.result
        return result


@every_strategy
@pytest.mark.parametrize("chunk", seeds(3, 10))
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


class Reluctant(CountingEngine):
    """Evaluates nothing ahead."""

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        if guess:
            raise RefusedAllocation("`guess` must not be, got one.")
        super().submit(allocation)


@every_strategy
def test_an_engine_may_refuse_every_guess(kind: type[Strategy]) -> None:
    """What is asked for is never told to it as a guess, so that the run goes on, one by one."""
    for seed in range(20):
        table, schedule = small_case(seed, failures=0.0)
        engine = Reluctant(table, 5)
        result = run(in_order(kind, table.learners, schedule), engine)
        assert result.steps == outcome_of(kind, table, schedule, 1).steps
        assert engine.begun == [step.allocation for step in result.steps]
        assert not result.speculated


class Spreading(CountingEngine):
    """Every other learner would take all cores."""

    def spreads(self, allocation: Allocation) -> bool:
        return allocation.learner in self._table.learners[::2]


@every_strategy
def test_what_takes_all_cores_is_never_guessed(kind: type[Strategy]) -> None:
    for seed in range(20):
        table, schedule = small_case(seed, failures=0.0)
        engine = Spreading(table, 5)
        result = run(in_order(kind, table.learners, schedule), engine)
        asked = {step.allocation for step in result.steps}
        assert result.steps == outcome_of(kind, table, schedule, 1).steps
        assert not [each for each in engine.begun if each not in asked and engine.spreads(each)]


def test_nonsense_is_refused_at_the_door() -> None:
    table, schedule = small_case(3, failures=0.0)
    nonsense: Any = "run.jsonl"
    with pytest.raises(InputError, match=r"`journal` must be an open Journal or None, got 'run.jsonl'"):
        run(Daub(table.learners, schedule), TableEngine(table), nonsense)
    with pytest.raises(InputError, match=r"`strategy` must be a Strategy, got 'run.jsonl'"):
        run(nonsense, TableEngine(table))
    with pytest.raises(InputError, match=r"`engine` must be an engine such as TableEngine, got 'run.jsonl'"):
        run(Daub(table.learners, schedule), nonsense)
    with pytest.raises(InputError, match=r"`table` must be a Table, got 'run.jsonl'"):
        TableEngine(nonsense)
    for name, wanted in (("known", "outcomes by allocation"), ("watch", "a function"), ("steering", "a Steering")):
        with pytest.raises(InputError, match=f"`{name}` must be {wanted}, or None, got 'run.jsonl'"):
            run(Daub(table.learners, schedule), TableEngine(table), **{name: nonsense})
    for limit in (0, -1, float("nan"), -float("inf"), "10", [1]):
        engine = CountingEngine(table)
        given: Any = limit
        with pytest.raises(InputError, match=r"`time_limit` must be a number of seconds, more than 0, got"):
            run(Daub(table.learners, schedule), engine, time_limit=given)
        assert not engine.begun


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
    assert (result.selected_size, result.stopped) == (10, None)
    assert result.measured == Measurement(0.9, 0.7, 2.0)


def test_when_all_fail_the_error_tells_what_was_done() -> None:
    table = Table({Allocation(name, size): Failure("error", "no", 2.0) for name in "ab" for size in (1, 2, 4)})
    engine = CountingEngine(table)
    with pytest.raises(AllLearnersFailed, match="All 2 learners failed") as raised:
        run(Daub(table.learners, Schedule((1, 2, 4))), engine)
    assert raised.value.result.selected is None
    assert raised.value.result.valid_score is None
    assert raised.value.result.measured is None
    assert (raised.value.result.selected_size, raised.value.result.stopped) == (None, None)
    assert raised.value.result.seconds == 4.0
    assert engine.closed


@every_strategy
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("step", [37, pytest.param(19, marks=pytest.mark.slow("random"))])
def test_killed_at_any_byte_a_run_resumes_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Strategy], workers: int, step: int
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
        strategy = in_order(kind, table.learners, schedule)
        engine = CountingEngine(table, workers)
        with Journal(path, {**strategy.settings, "table": table.fingerprint}) as journal:
            return run(strategy, engine, journal), engine

    whole, _ = go()
    content = path.read_bytes()
    assert sum(isinstance(event, Evaluated) for event in read(path)) >= 3
    for length in _cuts(content, step):
        path.write_bytes(content[:length])
        known = {event.allocation for event in read(path) if isinstance(event, Evaluated)}
        result, engine = go()
        assert result.steps == whole.steps
        assert result.selected == whole.selected
        assert not known & set(engine.begun), "what the journal holds is not measured again"
        events = read(path)
        assert max(Counter(event.allocation for event in events if isinstance(event, Evaluated)).values()) == 1
        assert [event.learner for event in events if isinstance(event, Selected)] == [whole.selected]


def _cuts(content: bytes, step: int) -> list[int]:
    """Return every `step`-th place of a journal and, if these are several in a record, each end of a record."""
    ends = {place + after for place, byte in enumerate(content) for after in (0, 1) if byte == ord("\n")}
    return sorted({*range(0, len(content), step), len(content)} | (ends if step < 37 else set()))


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


def ended(kind: type[Strategy], table: Table, schedule: Schedule, workers: int, limit: float | None) -> Result:
    try:
        return run(in_order(kind, table.learners, schedule), TableEngine(table, workers), time_limit=limit)
    except (AllLearnersFailed, NothingMeasured) as error:
        result: Result = error.result
        return result


@every_strategy
def test_a_time_limit_ends_with_the_best_so_far(kind: type[Strategy]) -> None:
    """On the virtual clock: a beginning of the whole run, and of all that was measured the best."""
    stopped = 0
    for seed in range(60):
        table, schedule = small_case(seed)
        rng = random.Random(seed)
        for workers in (1, 4):
            whole = outcome_of(kind, table, schedule, workers)
            limit = rng.uniform(0, 1.2) * whole.wall_seconds or 1.0
            result = ended(kind, table, schedule, workers, limit)
            pairs = zip(result.steps, whole.steps, strict=False)
            hurried = result.steps[len([*takewhile(lambda pair: pair[0] == pair[1], pairs)]) :]
            assert all(step.allocation.size == schedule.full_size for step in hurried), "so that it has them in time"
            assert result.wall_seconds <= limit + 1e-9
            if result.stopped is None:
                assert result.steps == whole.steps
                continue
            stopped += 1
            assert result.stopped == "time limit"
            assert result.wall_seconds == pytest.approx(limit)
            done = {**{step.allocation: step.outcome for step in result.steps}, **result.speculated}
            measured = [
                (outcome.valid_score, allocation.size)
                for allocation, outcome in done.items()
                if isinstance(outcome, Measurement)
            ]
            if not measured:
                assert (result.selected, result.selected_size, result.measured) == (None, None, None)
                continue
            assert (result.valid_score, result.selected_size) == max(measured), "of equal scores the larger size"
            assert result.selected_size is not None
            assert result.measured == done[Allocation(result.selected or "", result.selected_size)]
    assert stopped > 20


def test_no_time_limit_is_one_that_is_never_reached() -> None:
    table, schedule = small_case(2, failures=0.0)
    whole = ended(Daub, table, schedule, 1, None)
    assert ended(Daub, table, schedule, 1, float("inf")) == whole
    assert ended(Daub, table, schedule, 1, 2.01 * whole.wall_seconds) == whole, "nobody hurries in the first half"


def test_nothing_measured_is_an_error_that_tells_what_was_done() -> None:
    table = Table({Allocation(name, size): Measurement(1.0, 0.5, 10.0) for name in "ab" for size in (1, 2, 4)})
    engine = CountingEngine(table, 2)
    with pytest.raises(NothingMeasured, match=r"`time_limit` must leave time for at least one measurement") as raised:
        run(Daub(table.learners, Schedule((1, 2, 4))), engine, time_limit=3.0)
    result: Result = raised.value.result
    assert (result.selected, result.stopped, result.steps, result.abandoned) == (None, "time limit", (), 2)
    assert result.wall_seconds == 3.0
    assert engine.closed


def test_in_this_process_nothing_is_begun_once_the_time_is_over() -> None:
    """A real clock, and an evaluation that cannot be cut short: it is the last."""
    done: list[Allocation] = []

    def slow(allocation: Allocation) -> Measurement:
        time.sleep(0.02)
        done.append(allocation)
        return Measurement(1.0, 0.5, 0.02)

    result = run(Daub(["a", "b"], Schedule((1, 2, 4))), SerialEngine(slow), time_limit=0.01)
    assert (result.stopped, result.selected, result.selected_size) == ("time limit", "a", 1)
    assert done == [Allocation("a", 1)]


@every_strategy
@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(tmp_path: Path, kind: type[Strategy], workers: int) -> None:
    """With ever new time limits; nothing is measured twice, and the clock counts what was waited for."""
    for seed in range(5):
        table, schedule = small_case(seed, failures=0.0)
        whole = outcome_of(kind, table, schedule, 1)
        longest = max(outcome.seconds for outcome in table.outcomes.values())
        path = tmp_path / f"{seed}.jsonl"
        clock, waited, stops = 0.0, longest * 1.01, 0
        while True:
            strategy, engine = in_order(kind, table.learners, schedule), CountingEngine(table, workers)
            with Journal(path, strategy.settings) as journal:
                known = {event.allocation for event in journal.events if isinstance(event, Evaluated)}
                result = run(strategy, engine, journal, time_limit=waited)
            assert not known & set(engine.begun)
            assert result.resumed == len(known)
            assert clock <= result.wall_seconds <= clock + waited + 1e-9
            clock = result.wall_seconds
            if result.stopped is None:
                break
            stops += 1
        assert (result.steps, result.selected) == (whole.steps, whole.selected)
        assert result.selected_size == schedule.full_size
        events = read(path)
        assert sum(isinstance(event, Stopped) for event in events) == stops
        assert events[-1] == Selected(whole.selected or "", result.wall_seconds)


@every_strategy
def test_what_is_known_from_elsewhere_is_not_measured_again(kind: type[Strategy]) -> None:
    for seed in range(30):
        table, schedule = small_case(seed, failures=0.0)
        rng = random.Random(seed)
        whole = outcome_of(kind, table, schedule, 1)
        known = {step.allocation: step.outcome for step in whole.steps if rng.random() < 0.5}
        for workers in (1, 4):
            engine = CountingEngine(table, workers)
            result = run(in_order(kind, table.learners, schedule), engine, known=known)
            assert (result.steps, result.selected) == (whole.steps, whole.selected)
            assert not set(known) & set(engine.begun)
            assert result.resumed == 0, "only a journal's outcomes are resumed"
        everything = {step.allocation: step.outcome for step in whole.steps}
        engine = CountingEngine(table)
        assert run(in_order(kind, table.learners, schedule), engine, known=everything).steps == whole.steps
        assert not engine.begun


def test_what_the_journal_holds_comes_before_what_is_known_from_elsewhere(tmp_path: Path) -> None:
    table = Table({Allocation("a", size): Measurement(1.0, 0.5, 1.0) for size in (1, 2)})
    strategy = Full(["a"], Schedule((1, 2)))
    with Journal(tmp_path / "run.jsonl", strategy.settings) as journal:
        run(strategy, TableEngine(table), journal)
    with Journal(tmp_path / "run.jsonl", strategy.settings) as journal:
        other: dict[Allocation, Outcome] = {Allocation("a", 2): Measurement(0.1, 0.1, 1.0)}
        result = run(Full(["a"], Schedule((1, 2))), TableEngine(table), journal, known=other)
    assert result.valid_score == 0.5


@pytest.mark.parametrize("workers", [1, 3])
def test_who_watches_sees_what_the_journal_holds(tmp_path: Path, workers: int) -> None:
    """Every event, in order, once it has been journalled; what a resumed run only reads again is not told again."""
    path = tmp_path / "run.jsonl"
    for seed in range(5):
        path.unlink(missing_ok=True)
        table, schedule = small_case(seed, failures=0.0)
        seen: list[Event] = []

        def watch(event: Event, _: Account, seen: list[Event] = seen) -> None:
            seen.append(event)
            assert read(path)[-1] == event

        for limit in (0.3 * outcome_of(Daub, table, schedule, workers).wall_seconds or 1.0, None):
            strategy = Daub(table.learners, schedule)
            with Journal(path, strategy.settings) as journal:
                try:
                    run(strategy, TableEngine(table, workers), journal, time_limit=limit, watch=watch)
                except NothingMeasured:
                    assert isinstance(seen[-1], Stopped)
        first, *events = read(path)
        assert isinstance(first, Started)
        assert events == seen


def _seen(events: list[Event], event: Event, _: Account) -> None:
    events.append(event)


@pytest.mark.parametrize("workers", [1, 5])
def test_everything_that_begins_is_told_before_it_ends(workers: int) -> None:
    for seed in range(20):
        table, schedule = small_case(seed)
        events: list[Event] = []
        engine = CountingEngine(table, workers)
        try:
            result = run(Daub(table.learners, schedule), engine, watch=partial(_seen, events))
        except AllLearnersFailed as error:
            result = error.result
        begun = [event.allocation for event in events if isinstance(event, Submitted)]
        assert begun == engine.begun
        ends = [event.allocation for event in events if isinstance(event, Evaluated)]
        assert set(ends) <= set(begun)
        assert len(begun) - len(ends) == result.abandoned
        for allocation in ends:
            begins = events.index(Submitted(allocation))
            assert any(isinstance(event, Evaluated) and event.allocation == allocation for event in events[begins:])
            assert not any(isinstance(event, Evaluated) and event.allocation == allocation for event in events[:begins])
        asked = [event.allocation for event in events if isinstance(event, Asked)]
        assert asked == [step.allocation for step in result.steps]


def test_an_error_of_who_watches_ends_the_run_and_closes_the_engine() -> None:
    table, schedule = small_case(2, failures=0.0)
    engine = CountingEngine(table)

    def watch(_event: Event, _account: Account) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Daub(table.learners, schedule), engine, watch=watch)
    assert engine.closed


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


@pytest.mark.slow("processes")
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
        target = lines + rng.randint(3, 24)
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
    assert isinstance(events[-1], Selected)
    assert events[-1].learner == whole.selected
    measured = [event.allocation for event in events if isinstance(event, Evaluated)]
    assert len(measured) == len(set(measured))
    assert {step.allocation for step in whole.steps} <= set(measured)


@every_strategy
def test_a_journal_can_be_resumed_without_what_was_known_from_elsewhere(kind: type[Strategy], tmp_path: Path) -> None:
    for seed in range(15):
        table, schedule = small_case(seed, failures=0.0)
        whole = run(in_order(kind, table.learners, schedule), TableEngine(table))
        rng = random.Random(seed)
        known = {step.allocation: step.outcome for step in whole.steps if rng.random() < 0.5}
        path = tmp_path / f"{seed}.jsonl"
        strategy = in_order(kind, table.learners, schedule)
        with Journal(path, strategy.settings) as journal:
            run(strategy, TableEngine(table), journal, known=known)
        again = in_order(kind, table.learners, schedule)
        with Journal(path, again.settings) as journal:
            engine = CountingEngine(table)
            assert run(again, engine, journal).steps == whole.steps
        assert engine.begun == []
