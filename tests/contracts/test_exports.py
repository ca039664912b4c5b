"""The law of exports: whatever form a run is given, it has the outcomes and the choice of the account."""

from __future__ import annotations

import csv
import math
import pkgutil
from pathlib import Path

import pytest
from sklearn.dummy import DummyClassifier

from pydaub import STRATEGIES, Account, Allocation, Failure, Measurement, Strategy, exports
from pydaub.events import Event
from pydaub.exports import mlflow
from pydaub.exports.curves import write_curves
from pydaub.exports.grid import cv_results
from pydaub.exports.leaderboard import leaderboard
from pydaub.learners import Learner
from pydaub.records import Postponed
from pydaub.runs.journal import read
from runs.recording import recorded

JOURNALS = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))
PARTS = 5  # of each journal, the whole of it included


def test_every_export_is_held_to_the_law() -> None:
    assert {module.name for module in pkgutil.iter_modules(exports.__path__)} == {
        *("curves", "grid", "leaderboard", "mlflow"),
    }


def check(account: Account, folder: Path) -> None:
    """Compare all exports with the account."""
    outcomes = {each: outcome for each, outcome in account.outcomes.items() if not isinstance(outcome, Postponed)}
    with write_curves(account, folder / "curves.csv", dataset="recorded").open(newline="") as file:
        lines = {(line["learner"], int(line["size_train"])): line for line in csv.DictReader(file)}
    assert {*lines} == {(each.learner, each.size) for each in outcomes}
    for each, outcome in outcomes.items():
        line = lines[each.learner, each.size]
        assert float(line["seconds"]) == outcome.seconds
        if isinstance(outcome, Measurement):
            assert float(line["score_valid"]) == outcome.valid_score
        assert bool(line["failure"]) == isinstance(outcome, Failure)
    board = leaderboard(account)
    assert {*board["learner"]} == {*account.learners}
    for learner, score, size in zip(board["learner"], board["score"], board["size"], strict=True):
        if not math.isnan(score):
            measured = account.outcomes[Allocation(learner, int(size))]
            assert isinstance(measured, Measurement)
            assert measured.valid_score == score
    steps = account.result.steps
    grid = cv_results(steps, {name: Learner(name, DummyClassifier()) for name in account.learners})
    for place, step in enumerate(steps):
        assert (grid["learner"][place], grid["size"][place]) == (step.allocation.learner, step.allocation.size)
        score = grid["mean_test_score"][place]
        assert score == step.outcome.valid_score if isinstance(step.outcome, Measurement) else math.isnan(score)
        assert bool(grid["failure"][place]) == isinstance(step.outcome, Failure)
    figures = {name: value for name, value, at in mlflow._metrics(account) if not at}  # noqa: SLF001  # what it sends
    result = account.result
    assert figures["allocations"] == len(steps)
    assert (figures["rows"], figures["seconds"], figures["failures"]) == (
        result.rows, result.seconds, len(result.failures),
    )  # fmt: skip
    assert (figures["valid_score"], figures["selected_rows"]) == (result.valid_score, result.selected_size)


def check_parts(events: list[Event], folder: Path) -> None:
    for part in range(1, PARTS + 1):
        check(Account.of(events[: max(len(events) * part // PARTS, 1)]), folder)


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
def test_recorded_runs(path: Path, tmp_path: Path) -> None:
    check_parts(read(path), tmp_path)


@pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
def test_random_runs_with_failures_that_are_stopped_and_steered(kind: type[Strategy], tmp_path: Path) -> None:
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_parts(recorded(kind, seed, folder, steer=seed == 1)[1], folder)
