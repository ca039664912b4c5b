"""A task that is written to a folder can be read by any process, and only the best fitted learners are kept."""

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
from pydaub import Allocation, Failure, FolderTrouble, InputError, Measurement
from pydaub.data import prepare
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.workbench import Workbench
from pydaub.learners import Learner
from tables import fitted_in

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(100, 4))
DATA = prepare(X, np.where(X[:, 0] > 0, "yes", "no"))
FULL = DATA.full_size


def task(**estimators: Any) -> Task:
    return Task(DATA, {name: Learner(name, each) for name, each in estimators.items()})


def laid_out(folder: Path, given: Task) -> tuple[Workbench, dict[str, Failure]]:
    bench = Workbench(folder)
    return bench, bench.lay_out(given)


def test_a_task_is_read_back_with_one_learner(tmp_path: Path) -> None:
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


def test_rows_are_mapped_once_they_are_written(tmp_path: Path) -> None:
    data, expected = (prepare(X, np.where(X[:, 0] > 0, "yes", "no")) for _ in range(2))
    laid_out(tmp_path, Task(data, {"tree": Learner("tree", DecisionTreeClassifier())}))
    base = data.train(20).X
    while isinstance(base, np.ndarray):
        base = base.base
    assert type(base).__name__ == "mmap"
    assert np.array_equal(data.train(20).X, expected.train(20).X)
    assert data.fingerprint == expected.fingerprint


def test_writing_the_task_again_keeps_what_workers_left(tmp_path: Path) -> None:
    given = task(tree=DecisionTreeClassifier())
    bench, _ = laid_out(tmp_path, given)
    bench.keep(Allocation("tree", 20), "learned")
    bench.shelve(Allocation("tree", 20), 0.5, "fitted")
    bench, failures = laid_out(tmp_path, given)
    assert failures == {}
    assert bench.recall(Allocation("tree", 21)) == (20, "learned")
    assert fitted_in(bench, Allocation("tree", 20), 0.5) == "fitted"
    assert fitted_in(bench, Allocation("tree", 20), 0.6) is None, "another score"


def test_a_learner_that_cannot_be_pickled_is_reported_and_the_others_are_written(tmp_path: Path) -> None:
    bench, failures = laid_out(tmp_path, task(tree=DecisionTreeClassifier(), stuck=faulty.Stuck()))
    assert list(failures) == ["stuck"]
    assert failures["stuck"].kind == "error"
    assert failures["stuck"].message.startswith("it cannot be pickled, as workers need: TypeError: cannot pickle")
    assert list(bench.task("tree").learners) == ["tree"]


class Leaving(DecisionTreeClassifier):
    """Exits when it is pickled."""

    def __getstate__(self) -> Any:
        raise SystemExit(0)


def test_a_learner_that_exits_when_it_is_pickled_does_not_end_the_caller(tmp_path: Path) -> None:
    _, failures = laid_out(tmp_path, task(tree=DecisionTreeClassifier(), leaving=Leaving()))
    assert {name: failure.message for name, failure in failures.items()} == {
        "leaving": "it cannot be pickled, as workers need: SystemExit: 0"
    }


def test_the_scorer_must_be_picklable(tmp_path: Path) -> None:
    lock = Lock()
    given = Task(DATA, task(tree=DecisionTreeClassifier()).learners, scoring=lambda *_: float(lock.locked()))
    with pytest.raises(InputError, match=r"`scoring` and `cv` must be picklable, as workers need, got TypeError: "):
        laid_out(tmp_path, given)


def test_the_largest_smaller_size_is_recalled(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier(), b=DecisionTreeClassifier()))
    bench.keep(Allocation("b", 20), [1])
    bench.keep(Allocation("b", 100), [2])
    assert bench.recall(Allocation("b", 100)) == (20, [1]), "the largest smaller size"
    assert bench.recall(Allocation("b", 101)) == (100, [2])
    assert bench.recall(Allocation("b", 20)) is None
    assert bench.recall(Allocation("a", 200)) is None


SCORES = (-3.0, 0.0, 1e-7, 0.2, 0.1 + 0.2)


def test_the_best_of_all_and_the_best_of_the_full_size_are_kept(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    assert bench.best_score(FULL, 20) == -math.inf
    bench.tidy(FULL)
    for size, score in enumerate(SCORES, start=1):
        bench.shelve(Allocation("a", size), score, score)
        assert bench.best_score(FULL, 20) == score, "scores are kept exactly"
    bench.shelve(Allocation("a", FULL), -5.0, "the full size")
    assert bench.best_score(FULL, FULL) == -5.0
    bench.tidy(FULL)
    kept = [fitted_in(bench, Allocation("a", size), score) for size, score in enumerate(SCORES, start=1)]
    assert kept == [None, None, None, None, SCORES[-1]]
    assert fitted_in(bench, Allocation("a", FULL), -5.0) == "the full size"
    bench.shelve(Allocation("a", FULL), 1.0, "better than all")
    bench.tidy(FULL)
    assert bench.best_score(FULL, 20) == 1.0
    assert fitted_in(bench, Allocation("a", 5), SCORES[-1]) is None


def test_among_equal_scores_the_largest_size_and_then_the_first_learner_is_kept(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier(), b=DecisionTreeClassifier()))
    for name in "ba":
        for size in (20, FULL):
            bench.shelve(Allocation(name, size), 0.5, name, f"{name}'s predictions")
    bench.tidy(FULL)
    every = [Allocation(name, size) for name in "ab" for size in (20, FULL)]
    assert [each for each in every if fitted_in(bench, each, 0.5)] == [Allocation("a", FULL)]
    assert [each for each in every if bench.predicted(each, 0.5)] == [Allocation("a", FULL)]


def test_a_folder_with_other_rows_is_refused(tmp_path: Path) -> None:
    laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    other = prepare(np.arange(90.0)[:, None], np.arange(90) % 2, columns=False)
    with pytest.raises(InputError, match=r"must hold the same rows as this run, got others"):
        Workbench(tmp_path).lay_out(Task(other, task(a=DecisionTreeClassifier()).learners))


def test_incomplete_files_of_killed_workers_are_ignored(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    (tmp_path / "fitted" / ".abc-20-0.9.pkl.123").write_bytes(b"half of")
    assert bench.best_score(FULL, 20) == -math.inf
    assert fitted_in(bench, Allocation("a", 20), 0.9) is None
    bench.tidy(FULL)


NAMES = ["tree", "Tree", "a/b", "../up", "x" * 5000, "\ud800", "tree-20", ".hidden"]


def test_any_names_can_be_told_apart(tmp_path: Path) -> None:
    """A worker finds a learner by its name alone; files are named after a digest of it."""
    given = Task(DATA, {name: Learner(name, faulty.Learner(start)) for start, name in enumerate(NAMES)})
    laid_out(tmp_path, given)
    for start, name in enumerate(NAMES):
        assert Workbench(tmp_path).task(name).learners[name].estimator.start == start


def test_files_are_packed_sent_back_and_unpacked_by_another_folder(tmp_path: Path) -> None:
    here, _ = laid_out(tmp_path / "here", task(a=DecisionTreeClassifier(), b=DecisionTreeClassifier()))
    here.keep(Allocation("a", 20), "learned")
    there = Workbench(tmp_path / "there")
    there.make_folders()
    there.unpack(here.pack(Allocation("a", 50)))
    assert there.recall(Allocation("a", 50)) == (20, "learned")
    assert there.recall(Allocation("b", 50)) is None
    there.keep(Allocation("a", 50), "more")
    there.shelve(Allocation("a", 50), 0.5, "fitted", "predicted")
    left = there.take_out(Allocation("a", 50))
    assert there.take_out(Allocation("a", 50)) == {}, "they are moved"
    here.unpack(left)
    assert here.recall(Allocation("a", FULL)) == (50, "more")
    assert fitted_in(here, Allocation("a", 50), 0.5) == "fitted"
    assert here.predicted(Allocation("a", 50), 0.5) == "predicted"
    assert there.predicted(Allocation("a", 50), 0.5) is None


def break_(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["missing", "empty", "cut", "flipped"])
def test_what_is_damaged_and_not_needed_is_as_if_it_were_not_there(how: str, tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    bench.keep(Allocation("a", 20), "learned")
    bench.shelve(Allocation("a", 20), 0.5, "fitted")
    for part in ("learned", "fitted"):
        (path,) = (tmp_path / part).iterdir()
        break_(path, how)
    assert bench.recall(Allocation("a", 21)) is None
    assert fitted_in(bench, Allocation("a", 20), 0.5) is None


@pytest.mark.parametrize("how", ["missing", "empty", "cut", "flipped"])
@pytest.mark.parametrize("part", ["task.pkl", "learners"])
def test_what_is_damaged_and_needed_is_trouble_with_the_folder(part: str, how: str, tmp_path: Path) -> None:
    given = task(a=DecisionTreeClassifier())
    bench, _ = laid_out(tmp_path, given)
    path = tmp_path / part
    break_(path if path.is_file() else next(path.iterdir()), how)
    with pytest.raises(FolderTrouble, match=r"could not be read: .*\. What was measured is kept: resume the run once"):
        bench.task("a")
    laid_out(tmp_path, given)
    assert list(bench.task("a").learners) == ["a"], "a resumed run writes it again"


def test_of_a_folder_that_is_gone_nothing_is_called_kept(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path / "run", task(a=DecisionTreeClassifier()))
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    with pytest.raises(FolderTrouble, match=r"run is gone: if it was moved, resume the run there\.$"):
        bench.task("a")


def test_a_folder_that_cannot_be_written_loses_conveniences_only(tmp_path: Path) -> None:
    given = task(a=DecisionTreeClassifier())
    bench, _ = laid_out(tmp_path, given)
    for part in ("learned", "fitted"):
        (tmp_path / part).rmdir()
        (tmp_path / part).write_text("a file in place of the folder")
    bench.keep(Allocation("a", 20), "learned")
    bench.shelve(Allocation("a", 20), 0.5, "fitted")
    bench.tidy(FULL)
    assert bench.recall(Allocation("a", 21)) is None
    assert fitted_in(bench, Allocation("a", 20), 0.5) is None
    with pytest.raises(FolderTrouble, match=r"could not be written: File exists"):
        laid_out(tmp_path, given)


def test_files_of_others_do_not_matter(tmp_path: Path) -> None:
    bench, _ = laid_out(tmp_path, task(a=DecisionTreeClassifier()))
    for name in ("junk.pkl", "a-b-c.pkl", "--.pkl"):
        (tmp_path / "fitted" / name).write_text("junk")
        (tmp_path / "learned" / name).write_text("junk")
    bench.shelve(Allocation("a", 20), 0.5, "fitted")
    assert bench.best_score(FULL, 20) == 0.5
    bench.tidy(FULL)
    assert fitted_in(bench, Allocation("a", 20), 0.5) == "fitted"
    assert bench.recall(Allocation("a", 21)) is None
