"""Steering real runs, with a learner that hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import alive, call, numbers, refused, started, wait_until, written
from pydaub.events import Evaluated, Steered, Submitted
from pydaub.runs.journal import read

LEARNERS = """
import sys
sys.path.insert(0, {tests!r})
import faulty
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
learners = {{"bayes": GaussianNB(), "stuck": faulty.Gated({gate!r}, {pids!r}), "tree": DecisionTreeClassifier()}}
"""


@pytest.fixture
def learners(tmp_path: Path) -> Path:
    """Return a file with three learners, one of which hangs until the file `gate` exists."""
    path = tmp_path / "mine.py"
    tests = str(Path(__file__).parents[1])
    path.write_text(LEARNERS.format(tests=tests, gate=str(tmp_path / "gate"), pids=str(tmp_path / "pids")))
    return path


def pids(folder: Path) -> set[int]:
    path = folder / "pids"
    return {int(line) for line in path.read_text().split()} if path.exists() else set()


@pytest.mark.slow("processes")
def test_a_learner_that_hangs_can_be_dropped_and_restored(learners: Path, tmp_path: Path) -> None:
    data, folder = written(numbers(), tmp_path / "data.csv"), tmp_path / "run"
    options = ["--target", "label", "--learners", learners, "--out", folder, "--jobs", "1", "--quiet"]
    with started("run", data, *options) as process:
        wait_until(lambda: pids(tmp_path))
        done = call("steer", folder, "drop", "stuck")
        assert (done.code, done.err) == (0, "")
        assert "Dropped stuck." in done.out
        wait_until(lambda: not alive(pids(tmp_path)))
        why = refused("steer", folder, "boost", "stuck")
        assert "which was dropped" in why or "has just ended" in why  # the others are quick
        (tmp_path / "gate").touch()
        call("steer", folder, "restore", "stuck")  # refused if the run has ended meanwhile
        assert process.wait() == 0, process.stderr
    events = read(folder / "journal.jsonl")
    commands = [(event.command, event.learner) for event in events if isinstance(event, Steered)]
    assert commands[0] == ("drop", "stuck")
    assert "Selected" in call("show", folder).out
    assert "must be a run that is going on, got one that has finished." in refused("steer", folder, "pause")
    resumed = call("resume", folder, "--quiet")
    assert resumed.code == 0, resumed.err


@pytest.mark.slow("processes")
def test_a_paused_run_starts_nothing_and_a_stopped_run_has_a_best_learner(learners: Path, tmp_path: Path) -> None:
    data, folder = written(numbers(), tmp_path / "data.csv"), tmp_path / "run"
    options = ["--target", "label", "--learners", learners, "--out", folder, "--jobs", "1", "--quiet"]
    with started("run", data, *options) as process:
        wait_until(lambda: pids(tmp_path))
        assert "Paused" in call("steer", folder, "pause").out
        assert "The run is paused already." in refused("steer", folder, "pause")
        before = len([event for event in read(folder / "journal.jsonl") if isinstance(event, Submitted)])
        (tmp_path / "gate").touch()  # lets the running evaluation finish
        wait_until(lambda: _evaluated(folder) == before)
        assert "Added knn-5" in call("steer", folder, "add", "knn-5").out
        assert "got 'knn-5'" in refused("steer", folder, "add", "knn-5")
        assert "must be in a portfolio (sklearn, strong, weka, streaming), got" in refused(
            "steer", folder, "add", str(learners)
        )
        assert _evaluated(folder) == before
        assert "Resumed." in call("steer", folder, "resume").out
        wait_until(lambda: _evaluated(folder) > before)
        stopped = call("steer", folder, "stop")
        assert process.wait() == 0
        assert "Stopped" in stopped.out or "must be a run that is going on" in stopped.err, (
            "the run may have ended just before"
        )
    shown = call("show", folder)
    assert "best so far" in shown.out or "Selected" in shown.out
    assert call("predict", folder, data).code == 0
    again = call("resume", folder, "--quiet")
    assert again.code == 0, again.err
    assert "knn-5" in call("show", folder).out


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    assert "must be the folder of a run, got one without a journal." in refused("steer", tmp_path, "pause")
    assert "must be the folder of a run, got no folder." in refused("steer", tmp_path / "nowhere", "pause")
    assert call("steer", tmp_path, "dance").code == 2
    assert call("steer").code == 2


def _evaluated(folder: Path) -> int:
    return sum(isinstance(event, Evaluated) for event in read(folder / "journal.jsonl"))
