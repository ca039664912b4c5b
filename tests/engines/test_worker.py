"""What runs in a worker process, called in this one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import faulty
from pydaub import Allocation, Failure, Measurement, Outcome
from pydaub.data import prepare
from pydaub.engines.worker import evaluate_at, fit_at
from pydaub.evaluation.evaluate import Task
from pydaub.evaluation.workbench import Workbench, unpickled
from pydaub.isolation.child import MEMORY_VARIABLE
from pydaub.learners import Learner
from pydaub.records import outcome_from_json
from tables import fitted_in

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(100, 4))
DATA = prepare(X, np.where(X[:, 0] > 0, "yes", "no"))
FULL = DATA.full_size


def laid_out(folder: Path, **estimators: Any) -> Workbench:
    bench = Workbench(folder)
    bench.lay_out(Task(DATA, {name: Learner(name, each) for name, each in estimators.items()}))
    return bench


def outcome_at(folder: Path, learner: str, above: float = -math.inf) -> Outcome:
    answer = evaluate_at(str(folder), learner, FULL, above)
    outcome = outcome_from_json(answer.value)
    assert answer.reusable == isinstance(outcome, Measurement), "a worker in which a learner failed is not reused"
    return outcome


def test_a_fitted_learner_is_kept_if_its_score_is_high_enough(tmp_path: Path) -> None:
    bench = laid_out(tmp_path, tree=DecisionTreeClassifier())
    outcome = outcome_at(tmp_path, "tree", above=1.1)
    assert isinstance(outcome, Measurement)
    assert fitted_in(bench, Allocation("tree", FULL), outcome.valid_score) is None
    outcome_at(tmp_path, "tree", above=outcome.valid_score)
    fitted: Any = fitted_in(bench, Allocation("tree", FULL), outcome.valid_score)
    valid = DATA.valid()
    assert fitted.score(valid.X, valid.y) == outcome.valid_score, "it is the learner that was measured"


def test_a_fitted_learner_that_cannot_be_pickled_is_still_measured(tmp_path: Path) -> None:
    bench = laid_out(tmp_path, grown=faulty.Grown())
    outcome = outcome_at(tmp_path, "grown")
    assert isinstance(outcome, Measurement)
    assert fitted_in(bench, Allocation("grown", FULL), outcome.valid_score) is None


@pytest.mark.parametrize("limited", [False, True])
def test_an_error_that_mentions_memory_is_one_of_memory_if_there_is_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, limited: bool
) -> None:
    """As in XGBoost, which raises an exception of its own when it runs out of memory."""
    if limited:
        monkeypatch.setenv(MEMORY_VARIABLE, "1000000")
    laid_out(tmp_path, allocating=faulty.Faulty("raise_bad_alloc"), failing=faulty.Faulty("raise_lines"))
    kinds = []
    for name in ("allocating", "failing"):
        outcome = outcome_at(tmp_path, name)
        assert isinstance(outcome, Failure)
        kinds.append(outcome.kind)
    assert kinds == ["memory" if limited else "error", "error"]


@pytest.mark.parametrize("with_validation", [False, True])
def test_a_learner_is_fitted_and_pickled_into_the_folder(tmp_path: Path, *, with_validation: bool) -> None:
    bench = laid_out(tmp_path, known=faulty.Learner())
    assert fit_at(str(tmp_path), "known", FULL, with_validation=with_validation) == {}
    path = bench.selected(Allocation("known", FULL), with_validation=with_validation)
    assert unpickled(path).size_ == (100 if with_validation else FULL)
    bench.clear_selected()
    assert not path.exists()


@pytest.mark.parametrize("estimator", [faulty.Grown(), faulty.Pickled("exit_politely")])
def test_a_learner_that_cannot_be_pickled_once_it_is_fitted_says_why(tmp_path: Path, estimator: Any) -> None:
    bench = laid_out(tmp_path, grown=estimator)
    assert isinstance(outcome_at(tmp_path, "grown"), Measurement)
    reason = fit_at(str(tmp_path), "grown", FULL, with_validation=False)["unpicklable"]
    assert reason.startswith(("TypeError: cannot pickle '_thread.lock'", "SystemExit: enough"))
    assert not bench.selected(Allocation("grown", FULL), with_validation=False).exists()


def test_trouble_with_the_folder_is_not_the_fault_of_a_learner(tmp_path: Path) -> None:
    """What is missing or cut is reported as such, by an evaluation and by a fit."""
    for file in ("task.pkl", "data/prepared.json", "data/train.target.npy", "data/valid.rows.npy"):
        folder = tmp_path / file.replace("/", "-")
        laid_out(folder, known=faulty.Learner())
        place = folder / file
        assert place.exists(), file
        for content in (place.read_bytes()[:-40], None):
            place.write_bytes(content) if content is not None else place.unlink()
            found = evaluate_at(str(folder), "known", FULL, -math.inf).value
            assert "What was measured is kept" in found["trouble"], (file, found)
            again = fit_at(str(folder), "known", FULL, with_validation=False)
            assert again == found
    bench = laid_out(tmp_path / "unwritable", known=faulty.Learner())
    place = bench.selected(Allocation("known", FULL), with_validation=False)
    place.mkdir()
    found = fit_at(str(bench.folder), "known", FULL, with_validation=False)
    assert "could not be written: Is a directory" in found["trouble"]


def test_a_frame_that_is_damaged_where_it_was_not_read_yet_is_not_the_fault_of_a_learner(tmp_path: Path) -> None:
    rows = pd.DataFrame({"number": np.arange(4_000.0), "word": ["a", "b", None, "c"] * 1_000})
    data = prepare(rows, np.tile(["no", "yes"], 2_000))
    Workbench(tmp_path).lay_out(Task(data, {"known": Learner("known", faulty.Learner())}, metrics="none"))
    place = tmp_path / "data" / "train.rows.arrow"
    content = bytearray(place.read_bytes())
    content[8:-4_000] = b"\xff" * (len(content) - 4_008)  # its end, which is read first, is as it was
    place.write_bytes(content)
    for found in (
        evaluate_at(str(tmp_path), "known", 100, -math.inf).value,
        fit_at(str(tmp_path), "known", 100, with_validation=False),
    ):
        assert "The prepared rows could not be read" in found["trouble"]
