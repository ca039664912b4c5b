"""What is laid out is found again, by any process, and only what is worth keeping is kept."""

from __future__ import annotations

import math
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import faulty
from pydaub import Allocation, Failure, InputError, Measurement
from pydaub.data import prepare
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.workbench import Workbench
from pydaub.learners import Learner

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(100, 4))
DATA = prepare(X, np.where(X[:, 0] > 0, "yes", "no"))
FULL = DATA.full_size


def task(**estimators: Any) -> Task:
    return Task(DATA, {name: Learner(name, each) for name, each in estimators.items()})


def laid_out(folder: Path, given: Task) -> tuple[Workbench, dict[str, Failure]]:
    bench = Workbench(folder)
    return bench, bench.lay_out(given)


def test_a_task_is_found_again_as_it_concerns_one_learner(tmp_path: Path) -> None:
    given = task(tree=DecisionTreeClassifier(max_depth=2), line=LogisticRegression())
    bench, failures = laid_out(tmp_path, given)
    assert failures == {}
    found = bench.task("line")
    assert list(found.learners) == ["line"]
    assert found.data.fingerprint == DATA.fingerprint
    assert (found.seed, found.config) == (given.seed, given.config)
    before, after = (evaluate(each, Allocation("line", FULL)).outcome for each in (given, found))
    assert isinstance(before, Measurement)
    assert isinstance(after, Measurement)
    assert (before.train_score, before.valid_score) == (after.train_score, after.valid_score)


def test_laying_out_again_keeps_what_is_there(tmp_path: Path) -> None:
    given = task(tree=DecisionTreeClassifier())
    bench, _ = laid_out(tmp_path, given)
    bench.keep(Allocation("tree", 20), "learned")
    bench.shelve(Allocation("tree", 20), 0.5, "fitted")
    bench, failures = laid_out(tmp_path, given)
    assert failures == {}
    assert bench.recall(Allocation("tree", 21)) == (20, "learned")
    assert bench.fitted(Allocation("tree", 20), 0.5) == "fitted"
    assert bench.fitted(Allocation("tree", 20), 0.6) is None, "of another learner of that name"


def test_a_learner_that_cannot_be_pickled_stays_behind_alone(tmp_path: Path) -> None:
    bench, failures = laid_out(tmp_path, task(tree=DecisionTreeClassifier(), stuck=faulty.Stuck()))
    assert list(failures) == ["stuck"]
    assert failures["stuck"].kind == "error"
    assert failures["stuck"].message.startswith("it cannot be pickled, as workers need: TypeError: cannot pickle")
    assert list(bench.task("tree").learners) == ["tree"]


def test_what_all_learners_need_must_be_picklable(tmp_path: Path) -> None:
    lock = Lock()
    given = Task(DATA, task(tree=DecisionTreeClassifier()).learners, scoring=lambda *_: float(lock.locked()))
    with pytest.raises(InputError, match=r"`scoring` and `cv` must be picklable, as workers need, got TypeError: "):
        laid_out(tmp_path, given)


def test_what_was_learned_is_recalled_by_learner_and_size(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier(), b=DecisionTreeClassifier()))
    bench.keep(Allocation("b", 20), [1])
    bench.keep(Allocation("b", 100), [2])
    assert bench.recall(Allocation("b", 100)) == (20, [1]), "the largest smaller size"
    assert bench.recall(Allocation("b", 101)) == (100, [2])
    assert bench.recall(Allocation("b", 20)) is None
    assert bench.recall(Allocation("a", 200)) is None


SCORES = (-3.0, 0.0, 1e-7, 0.2, 0.1 + 0.2)


def test_the_best_fitted_learner_is_kept_and_the_best_of_the_full_size(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    assert bench.best_score(FULL, 20) == -math.inf
    bench.tidy(FULL)
    for size, score in enumerate(SCORES, start=1):
        bench.shelve(Allocation("a", size), score, score)
        assert bench.best_score(FULL, 20) == score, "scores are kept to the last digit"
    bench.shelve(Allocation("a", FULL), -5.0, "the full size")
    assert bench.best_score(FULL, FULL) == -5.0
    bench.tidy(FULL)
    kept = [bench.fitted(Allocation("a", size), score) for size, score in enumerate(SCORES, start=1)]
    assert kept == [None, None, None, None, SCORES[-1]]
    assert bench.fitted(Allocation("a", FULL), -5.0) == "the full size"
    bench.shelve(Allocation("a", FULL), 1.0, "better than all")
    bench.tidy(FULL)
    assert bench.best_score(FULL, 20) == 1.0
    assert bench.fitted(Allocation("a", 5), SCORES[-1]) is None


def test_of_equals_the_largest_and_the_first_is_kept(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier(), b=DecisionTreeClassifier()))
    for name in "ba":
        for size in (20, FULL):
            bench.shelve(Allocation(name, size), 0.5, name)
    bench.tidy(FULL)
    kept = [(name, size) for name in "ab" for size in (20, FULL) if bench.fitted(Allocation(name, size), 0.5)]
    assert kept == [("a", FULL)]


def test_rows_of_another_run_are_refused(tmp_path: Path) -> None:
    laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    other = prepare(np.arange(90.0)[:, None], np.arange(90) % 2, columns=False)
    with pytest.raises(InputError, match=r"must hold the same rows as this run, got others"):
        Workbench(tmp_path).lay_out(Task(other, task(a=DecisionTreeClassifier()).learners))


def test_files_that_a_killed_worker_left_unfinished_are_none(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    (tmp_path / "fitted" / ".abc-20-0.9.pkl.123").write_bytes(b"half of")
    assert bench.best_score(FULL, 20) == -math.inf
    assert bench.fitted(Allocation("a", 20), 0.9) is None
    bench.tidy(FULL)
