"""Measured curves: the table allows replays, and measuring continues after any interruption."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import cpu
import curves
import numpy as np
import pytest
from cpu import CpuEngine
from curves import Before, Wanted, main, measure, missing_of, write_table
from replays import BEGUN, Curves, all_curves

import faults
import faulty
from pydaub import Allocation, Daub, Failure, Full, Measurement, Outcome, Schedule, run
from pydaub.data import prepare
from pydaub.engines import worker
from pydaub.engines.recorded import Table
from pydaub.engines.table import TableEngine
from pydaub.errors import InputError
from pydaub.evaluation.evaluate import Task
from pydaub.events import Evaluated
from pydaub.isolation.child import Answer
from pydaub.learners import Learner
from pydaub.runs.journal import read
from tables import collected

SCRIPT = Path(__file__).parents[2] / "experiments" / "curves.py"
QUICK = Wanted("parity", "tree,naive-bayes-bernoulli", full_size=1500)


def test_every_learner_is_measured_on_every_size(tmp_path: Path) -> None:
    path = measure(QUICK, tmp_path, jobs=2)
    table = Table.read(path)
    assert table.learners == ("tree", "naive-bayes-bernoulli")
    assert table.sizes == (500, 1000, 1500)
    assert len(table.outcomes) == 6
    about = json.loads(path.with_suffix(".json").read_text())
    assert (about["train_rows"], about["valid_rows"], about["left_out"]) == (21_500, 21_500, 0)
    assert about["commit"]
    assert {"python", "scikit-learn"} <= set(about["versions"])
    assert run(Daub(table.learners, Schedule(table.sizes)), TableEngine(table)).selected in table.learners
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{path.stem}.csv", f"{path.stem}.json"]


@pytest.mark.slow("processes")
def test_a_longer_table_contains_and_replaces_a_shorter_one(tmp_path: Path) -> None:
    short = measure(QUICK, tmp_path, jobs=2)
    before = Table.read(short).outcomes
    longer = measure(Wanted(QUICK.data, QUICK.learners, full_size=2500), tmp_path, jobs=2)
    after = Table.read(longer)
    assert after.sizes == (500, 1000, 1500, 2500)
    assert before.items() <= after.outcomes.items()
    assert not short.exists()
    assert measure(QUICK, tmp_path, jobs=2) == longer
    other = measure(Wanted(QUICK.data, QUICK.learners, 1, 1500), tmp_path, jobs=2)
    assert Table.read(other).outcomes != before


@pytest.mark.slow("processes")
def test_a_table_names_every_sitting_and_is_not_continued_on_another_machine(tmp_path: Path) -> None:
    path = measure(QUICK, tmp_path, jobs=2)
    about = json.loads(path.with_suffix(".json").read_text())
    (sitting,) = about["sittings"]
    assert sitting == {name: about[name] for name in ("jobs", "commit", "date")}
    longer = measure(Wanted(QUICK.data, QUICK.learners, full_size=2500), tmp_path, jobs=1)
    about = json.loads(longer.with_suffix(".json").read_text())
    assert about["sittings"] == [sitting, {**sitting, "jobs": 1}]
    longer.with_suffix(".json").write_text(json.dumps({**about, "machine": "another"}))
    again = measure(Wanted(QUICK.data, QUICK.learners, full_size=4000), tmp_path, jobs=1)
    assert json.loads(again.with_suffix(".json").read_text())["sittings"] == [{**sitting, "jobs": 1}]
    assert longer.exists()


@pytest.mark.slow("processes")
def test_what_was_begun_in_other_circumstances_is_kept_and_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table, and the journal of a run that was killed."""
    wanted = Wanted("parity", "knn-1,knn-5,knn-10,knn-25", full_size=7500)  # takes at least half a minute
    before = partly(wanted, tmp_path)
    content, outcomes = before.read_bytes(), Table.read(before).outcomes
    monkeypatch.setattr(curves, "machine", lambda: "another")
    other = partly(wanted, tmp_path)
    assert (other.parent, before.read_bytes()) == (before.parent, content)
    assert other != before
    assert len({*tmp_path.glob("*.run")}) == 2
    monkeypatch.undo()
    again = partly(wanted, tmp_path)
    assert again == before, "back on the first machine, its own table goes on"
    assert outcomes.items() <= Table.read(again).outcomes.items()


def partly(wanted: Wanted, folder: Path) -> Path:
    """Measure a part of a table, in as little time as that takes."""
    for budget in range(1, 60):
        with suppress(InputError):
            return measure(wanted, folder, jobs=1, budget=budget)
    raise AssertionError("A minute was not enough for one training.")


@pytest.mark.slow("processes")
def test_when_the_budget_runs_out_it_reports_what_is_left_out_and_can_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = Wanted("parity", "knn-1,knn-5,knn-10,knn-25", full_size=7500)  # takes at least half a minute
    with pytest.raises(InputError, match="must have time for at least one training"):
        measure(wanted, tmp_path, jobs=1, budget=0.001)
    done = [0]
    for budget in range(1, 60):  # increased until something is measured, however slow the machine is
        with suppress(InputError):
            path = measure(wanted, tmp_path, jobs=1, budget=budget)
            left_out = json.loads(path.with_suffix(".json").read_text())["left_out"]
            assert f"{left_out} of 28 left out" in capsys.readouterr().err
            assert 28 - left_out >= done[-1], "what was measured is kept"
            if 28 - left_out > done[-1]:  # otherwise the budget was too short for one more
                done.append(28 - left_out)
            if len(done) > 2:
                break
    assert len(done) == 3, "it continued"
    assert done[1] < 28
    assert path.parent == tmp_path / BEGUN, "no script reads it there"
    begun = path.read_bytes()
    short = measure(Wanted(wanted.data, wanted.learners, full_size=1500), tmp_path, jobs=1)
    assert path.read_bytes() == begun, "a smaller table does not replace it"
    assert short.parent == tmp_path
    longer = measure(Wanted(wanted.data, wanted.learners, full_size=2500), tmp_path, jobs=2)
    assert path.exists(), "nor does one of middle size"
    assert [each.table.name for each in all_curves(tmp_path)] == [str(longer)]


@pytest.mark.slow("processes")
def test_after_a_kill_the_same_command_continues(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "parity", "--learners", "tree,knn-5,forest-10", "--full-size", "2500"]
    first = subprocess.Popen(
        [*command, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert first.stderr is not None
    for _ in range(3):
        assert first.stderr.readline()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stderr.close()
    journal = next(tmp_path.glob("*.run")) / "journal.jsonl"
    done = {event.allocation for event in read(journal) if isinstance(event, Evaluated)}
    assert 3 <= len(done) < 12
    time.sleep(0.5)  # its workers exit on their own
    second = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=True)
    measured = [line for line in second.stderr.splitlines() if line.startswith("parity-")]
    assert len(measured) == 12 - len(done)
    assert len(Table.read(next(tmp_path.glob("*.csv"))).outcomes) == 12


def test_a_single_learner_gets_every_size(tmp_path: Path) -> None:
    path = measure(Wanted("parity", "naive-bayes-bernoulli", full_size=2500), tmp_path, jobs=1)
    assert Table.read(path).sizes == (500, 1000, 1500, 2500)


@pytest.mark.slow("processes")
def test_a_table_with_other_metadata_is_measured_again(tmp_path: Path) -> None:
    path = measure(QUICK, tmp_path, jobs=2)
    about = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps({**about, "source": "another file"}))
    before = path.read_text()
    (tmp_path / BEGUN).mkdir()
    for file in (path, path.with_suffix(".json")):
        (tmp_path / BEGUN / f"{file.stem}.0123abcd{file.suffix}").write_bytes(file.read_bytes())
    assert measure(QUICK, tmp_path, jobs=2) == path
    assert not (tmp_path / BEGUN).exists(), "this table is whole now"
    assert json.loads(path.with_suffix(".json").read_text())["source"] == about["source"]
    assert path.read_text() != before


def test_a_failure_is_copied_to_all_larger_sizes(tmp_path: Path) -> None:
    good = Measurement(0.9, 0.8, 1.0)
    outcomes: dict[Allocation, Outcome] = {
        Allocation("a", 500): good,
        Allocation("a", 1000): good,
        Allocation("a", 1500): good,
        Allocation("b", 500): good,
        Allocation("b", 1000): Failure("timeout", "took more than\n5 seconds", 5.0),
    }
    path = tmp_path / "table.csv"
    sizes = (500, 1000, 1500)
    assert missing_of(("a", "b", "c"), sizes, outcomes) == {500: ["c"], 1000: ["c"], 1500: ["c"]}
    write_table(path, ("a", "b", "c"), sizes, outcomes)
    table = Table.read(path)
    copied = table[Allocation("b", 1500)]
    assert copied == Failure("timeout", "not tried: failed with 1000 rows", 5.0)
    assert table[Allocation("b", 1000)] == Failure("timeout", "took more than 5 seconds", 5.0)
    assert missing_of(("a", "b"), sizes, outcomes) == {}
    (tmp_path / "table.json").write_text('{"learners": 2}')
    one = Curves.read(path)
    assert (one.failed, one.full_seconds) == (["b"], 6.0)
    assert run(Full(("a", "b"), Schedule((1500,))), TableEngine(one.table)).selected == "a"


def test_with_a_longer_limit_only_the_stopped_learners_are_measured_again(tmp_path: Path) -> None:
    stopped, ended = Allocation("slow", 1000), Allocation("quick", 1000)
    outcomes: dict[Allocation, Outcome] = {
        Allocation("quick", 500): Measurement(0.9, 0.8, 1.0),
        Allocation("slow", 500): Measurement(0.9, 0.8, 40.0),
        ended: Failure("error", "no rows of a class", 1.0),
        stopped: Failure("timeout", "longer than 60 s", 60.0),
    }
    path = tmp_path / "table.csv"
    write_table(path, ("quick", "slow"), (500, 1000, 1500), outcomes)
    table = Before(path, {"timeout": 60.0, "left_out": 0, "sizes": [500, 1000, 1500]})
    assert dict(table.tried(60.0)).keys() == outcomes.keys()
    assert dict(table.tried(1800.0)).keys() == outcomes.keys() - {stopped}
    assert dict(table.tried(None)).keys() == outcomes.keys() - {stopped}
    assert Allocation("slow", 500) not in dict(table.tried(30.0))
    assert table.enough(1500, 60.0)
    assert not table.enough(1500, 1800.0)
    assert not table.enough(2500, 60.0)


def test_time_and_limit_are_those_of_the_cpu(tmp_path: Path) -> None:
    """A learner that sleeps is not stopped and costs little; one that computes is stopped, also where Python cannot."""
    random = np.random.default_rng(0)
    learners = {what: Learner(what, faulty.Faulty(what)) for what in ("nap", "loop", "loop_in_c", "segfault")}
    learners["much memory"] = Learner("much memory", faulty.Faulty("loop_in_c", {"megabytes": 700}))
    learners["a little more"] = Learner("a little more", faulty.Faulty("burn", {"seconds": 1.05}))
    task = Task(prepare(random.normal(size=(100, 2)), random.integers(2, size=100)), learners, metrics="none")
    outcomes = {}
    with closing(CpuEngine(task, 2, tmp_path, 1.0, 10**9)) as engine:
        for what in learners:
            engine.submit(Allocation(what, 70))
            outcomes[what] = collected(engine)[1]
    assert isinstance(outcomes["nap"], Measurement)
    assert outcomes["nap"].seconds < faults.NAP
    for what in ("loop", "loop_in_c", "much memory", "a little more"):
        assert outcomes[what] == Failure("timeout", "longer than 1 s of CPU time", 1.0)
    assert isinstance(crash := outcomes["segfault"], Failure)
    assert crash.kind == "crash"


def test_the_limit_of_an_evaluation_does_not_end_the_next_one_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def work_at() -> Answer:
        limits.append(resource.getrlimit(resource.RLIMIT_CPU)[0])
        return Answer({"seconds": 1.0}, reusable=True)

    monkeypatch.setattr(worker, "work_at", work_at)
    monkeypatch.setenv(cpu.VARIABLE, "1000")
    assert cpu.work_at().reusable
    assert limits[0] >= 1000
    assert resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY


def test_invalid_arguments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="must be one of parity, higgs"):
        measure(Wanted("nonsense"), tmp_path, jobs=1)
    with pytest.raises(InputError, match="must be measured up to at least 1500 rows, got 1000"):
        measure(Wanted("parity", full_size=1000), tmp_path, jobs=1)
    with pytest.raises(InputError, match="nothing-like-it"):
        measure(Wanted("parity", "nothing-like-it", full_size=1500), tmp_path, jobs=1)
    with pytest.raises(InputError, match="--timeout"):
        measure(Wanted("parity", "tree", full_size=1500, timeout="soon"), tmp_path, jobs=1)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "nonsense"])
    with pytest.raises(SystemExit, match="must be one of parity, higgs"):
        main()
