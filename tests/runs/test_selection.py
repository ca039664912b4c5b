"""A plan carried out: in this process or in others, stopped, resumed, refitted."""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

import faulty
from pydaub import (
    Account,
    AllLearnersFailed,
    Allocation,
    Evaluated,
    InputError,
    JournalMismatch,
    Measurement,
    NothingMeasured,
)
from pydaub.data import Prepared, Split, prepare
from pydaub.engines.registry import Where
from pydaub.errors import FitFailed
from pydaub.evaluation.evaluate import Task, fitted_on
from pydaub.events import Event, Limited
from pydaub.learners import listed
from pydaub.runs.journal import read
from pydaub.runs.plan import Plan, plan
from pydaub.runs.saving import HARMFUL, PICKLE, SAFE, Saved, load, saved_in
from pydaub.runs.selection import Selection, select

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it

LEARNERS = [
    ("bayes", GaussianNB()),
    ("counts", MultinomialNB()),
    ("logistic", LogisticRegression(C=0.01)),
    ("tree", DecisionTreeClassifier()),
]


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time, and can fail beyond some size; predicts one class."""

    def __init__(self, seconds: float = 0.0, most: int = 10**9) -> None:
        self.seconds = seconds
        self.most = most

    def fit(self, _X: Any, y: Any) -> Slow:
        time.sleep(self.seconds)
        if len(y) > self.most:
            raise RuntimeError("too many rows")
        self.rows_, self.classes_ = len(y), np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def data_of(count: int = 300, split: Split | None = None, seed: int = 0) -> Prepared:
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(count, 4)))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=count) > 0.7, "high", "low")
    return prepare(X, y, split=split or Split(), seed=seed)


def plan_of(learners: Any = LEARNERS, data: Prepared | None = None, **wanted: Any) -> Plan:
    return plan(Task(data or data_of(), listed(learners), **wanted), "daub")


def parts(selection: Selection) -> dict[str, Any]:
    return {name: value for name, value in vars(selection.fitted).items() if name.endswith("_")}


def assert_same(first: Selection, second: Selection) -> None:
    """The same steps with the same scores, and the same fitted learner; only the clock differs."""

    def steps(selection: Selection) -> list[Any]:
        return [
            (step.allocation, getattr(step.outcome, "train_score", None), getattr(step.outcome, "valid_score", None))
            for step in selection.result.steps
        ]

    assert steps(first) == steps(second)
    assert (first.result.selected, first.result.selected_size) == (second.result.selected, second.result.selected_size)
    if first.result.speculated == second.result.speculated:  # what was guessed is known of rivals, too
        assert first.certificate == second.certificate
    assert type(first.fitted) is type(second.fitted)
    for name, value in parts(first).items():
        if name != "tree_":
            np.testing.assert_array_equal(value, parts(second)[name])


def test_in_this_process_the_learner_that_was_measured_is_handed_over() -> None:
    planned = plan_of()
    selection = select(planned, Where())
    valid = planned.task.data.valid()
    assert selection.result.stopped is None
    assert selection.result.selected_size == planned.task.data.full_size
    assert selection.fitted.score(valid.X, valid.y) == selection.result.valid_score
    assert selection.certificate is not None
    assert selection.certificate.selected == selection.result.selected


@pytest.mark.parametrize("winner", range(len(LEARNERS)))
def test_a_learner_that_goes_on_leaves_the_one_that_was_kept_alone(winner: int) -> None:
    """Stopped early: what is handed over is what was measured, not what it has become since."""
    planned = plan_of(LEARNERS[winner : winner + 1])
    stopped = stopped_with_best_first(planned)
    first = planned.strategy.schedule.sizes[0]
    assert stopped.result.selected_size == first
    fresh = fitted_on(planned.task, Allocation(LEARNERS[winner][0], first))
    valid = planned.task.data.valid()
    np.testing.assert_array_equal(stopped.fitted.predict(valid.X), fresh.predict(valid.X))


def stopped_with_best_first(planned: Plan) -> Selection:
    """Run until the time is over, with scores that fall: the best is the first."""
    scores = iter(range(1000, 0, -1))
    falling = replace(planned, task=replace(planned.task, scoring=lambda *_: float(next(scores))))

    def watch(event: Any, _: Any) -> None:
        if isinstance(event, Evaluated) and event.allocation.size == planned.strategy.schedule.sizes[-2]:
            time.sleep(max(0.0, 0.6 - event.clock))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pydaub.runs.deadline.LATE", 0.0)  # on a busy machine it could come before the next size
        return select(falling, Where(), time_limit=0.5, watch=watch)


def test_processes_give_the_same_learner_as_this_one() -> None:
    """On one worker and on two: the same steps, the same winner, to the last bit."""
    planned = plan_of()
    serial = select(planned, Where())
    for workers in (1, 2):
        planned = plan_of(threads=1)
        assert_same(serial, select(planned, Where(workers)))


@pytest.mark.parametrize("workers", [None, pytest.param(1, marks=pytest.mark.slow("processes"))])
def test_refitted_it_has_seen_all_rows(workers: int | None, tmp_path: Path) -> None:
    planned = plan_of([("slow", Slow())])
    folder = tmp_path if workers else None
    assert select(planned, Where(workers, folder=folder), refit=True).fitted.rows_ == 300
    assert select(plan_of([("slow", Slow())]), Where(workers, folder=folder), refit=False).fitted.rows_ == 210


def test_cross_validated_it_is_fitted_on_all_rows() -> None:
    data = data_of(split=Split(none=True))
    for refit in (False, True):
        planned = plan_of([("slow", Slow())], data, cv=3)
        selection = select(planned, Where(), refit=refit)
        assert selection.fitted.rows_ == 300
        assert selection.certificate is not None


def test_the_time_is_over_before_anything_was_measured(tmp_path: Path) -> None:
    planned = plan_of([("slow", Slow(30.0))])
    with pytest.raises(NothingMeasured, match=r"Give a longer one") as raised:
        select(planned, Where(1, folder=tmp_path), time_limit=0.2)
    assert raised.value.result.stopped == "time limit"
    planned = plan_of([("slow", Slow(30.0))])
    with pytest.raises(NothingMeasured):
        select(planned, Where(1, folder=tmp_path), time_limit=0.2)


@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.slow("processes"))])
def test_a_run_that_was_stopped_goes_on_in_its_folder(workers: int | None, tmp_path: Path) -> None:
    """It ends as one that was not stopped; nothing is measured twice."""

    def go(folder: Path, limit: float | None = None, watch: Any = None) -> Selection:
        planned = plan_of(reuse=False)
        return select(planned, Where(workers, folder=folder), time_limit=limit, watch=watch)

    whole = go(tmp_path / "whole")

    class Killed(BaseException):
        """As if Ctrl-C had been pressed."""

    def kill(event: Any, _: Any) -> None:
        if isinstance(event, Evaluated) and (event.allocation.learner == "logistic" or event.clock > 60):
            raise Killed

    with pytest.raises(Killed):
        go(tmp_path / "parts", watch=kill)
    assert len(read(tmp_path / "parts" / "journal.jsonl")) > 3
    rest = go(tmp_path / "parts")
    assert rest.result.resumed >= 6
    assert_same(whole, rest)
    assert go(tmp_path / "parts").result.resumed >= len(whole.result.steps), "and once more it is only read"
    measured = [
        event.allocation for event in read(tmp_path / "parts" / "journal.jsonl") if isinstance(event, Evaluated)
    ]
    assert len(measured) == len(set(measured))


def test_another_task_is_not_mixed_into_a_folder(tmp_path: Path) -> None:
    select(plan_of([("bayes", GaussianNB())]), Where(folder=tmp_path))
    for change, what in (({"seed": 1}, "seed"), ({"scoring": "f1_macro"}, "scores, scoring")):
        with pytest.raises(JournalMismatch, match=rf"got one with other settings: {what}\."):
            select(plan_of([("bayes", GaussianNB())], **change), Where(folder=tmp_path))
    with pytest.raises(JournalMismatch, match=r"other settings: definitions\."):
        select(plan_of([("bayes", GaussianNB(var_smoothing=0.1))]), Where(folder=tmp_path))
    with pytest.raises(JournalMismatch, match=r"on the same rows, got others"):
        select(plan_of([("bayes", GaussianNB())], data_of(seed=5)), Where(folder=tmp_path))


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.symlink_to("/proc/nowhere")])
def test_a_folder_that_is_none_is_refused(make: Any, tmp_path: Path) -> None:
    make(tmp_path / "it")
    with pytest.raises(InputError, match=r"Cannot write to the folder .*it: "):
        select(plan_of([("bayes", GaussianNB())]), Where(folder=tmp_path / "it"))


@pytest.mark.parametrize("name", ["processes.txt", "journal.jsonl", "steering", "fitted", "learned/x.pkl"])
def test_a_folder_with_links_in_it_is_refused(name: str, tmp_path: Path) -> None:
    private, folder = tmp_path / "private", tmp_path / "run"
    private.mkdir()
    (private / "file").write_text("private")
    (folder / name).parent.mkdir(parents=True)
    (folder / name).symlink_to(private if name in {"steering", "fitted"} else private / "file")
    with pytest.raises(InputError, match=rf"{name} must be a file or a folder, got a link"):
        select(plan_of([("bayes", GaussianNB())]), Where(folder=folder))
    assert [(path.name, path.read_text()) for path in private.iterdir()] == [("file", "private")]


def test_nothing_is_left_behind_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    select(plan_of([("bayes", GaussianNB())]), Where(1))
    with pytest.raises(AllLearnersFailed):
        select(plan_of([("slow", Slow(most=1))]), Where(1))
    assert not list(tmp_path.iterdir())


def test_a_learner_that_cannot_be_fitted_once_more_says_so() -> None:
    """All training rows are few enough for it; those for validation on top are too many: the measured one is kept."""
    for where in (Where(1), Where()):
        planned = plan_of([("slow", Slow(most=210))])
        found = select(planned, where, refit=True)
        assert found.note
        assert re.match(r"slow could not be refitted: error: RuntimeError: too many rows", found.note)
        valid = planned.task.data.valid()
        assert found.fitted.score(valid.X, valid.y) == found.result.valid_score


def test_where_none_was_kept_and_none_can_be_fitted_that_is_an_error() -> None:
    planned = plan_of([("slow", Slow(most=150))], cv=2)
    with pytest.raises(FitFailed, match=r"slow could not be refitted: error: RuntimeError: too many rows"):
        select(planned, Where())


LOST = [
    (faulty.Grown(), r"it cannot be pickled after its training: TypeError: cannot pickle '_thread.lock' object\. In"),
    (faulty.Pickled("exit_politely"), r"it cannot be pickled after its training: SystemExit: enough"),
    (faulty.Unpickled("exit_politely"), r"error: SystemExit: enough"),
    (faulty.Unpickled("raise_mute"), r"error: MuteError: "),
    (faulty.Unpickled("abort"), r"crash: ended by SIGABRT"),
    (faulty.Unpickled("forever"), r"timeout: longer than 2 s"),
]


@pytest.mark.parametrize(("winner", "reason"), LOST)
def test_a_winner_that_cannot_be_saved_leaves_a_complete_result_that_says_why(
    winner: Any, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Python, where the learner itself is wanted, it is an error."""
    monkeypatch.setattr("pydaub.engines.processes.HANDLING_SECONDS", 2.0)
    learners = [("it", winner), ("other", faulty.Learner(0.1))]
    found = select(plan_of(learners), Where(1, folder=tmp_path), save_to=tmp_path)
    assert (found.result.selected, found.account.state, found.fitted) == ("it", "finished", None)
    assert found.saved is not None
    assert found.saved.path is None
    assert re.match(reason, found.saved.reason or "")
    assert saved_in(tmp_path) == found.saved
    assert not list(tmp_path.glob("*selected*"))
    with pytest.raises(FitFailed, match=reason):
        select(plan_of(learners), Where(1, folder=tmp_path))


@pytest.mark.parametrize("where", [Where(), Where(1)])
def test_a_winner_that_was_saved_predicts_like_the_one_that_is_returned(where: Where, tmp_path: Path) -> None:
    data = data_of()
    for ensemble in (False, True):
        returned = select(plan_of(data=data, scoring="accuracy", ensemble=ensemble), where, refit=True)
        saved = select(
            plan_of(data=data, scoring="accuracy", ensemble=ensemble), where, refit=True, save_to=tmp_path
        ).saved
        assert saved == Saved(tmp_path / SAFE)
        rows = data.valid().X
        np.testing.assert_array_equal(load(tmp_path).predict(rows), returned.fitted.predict(rows))


class Fragile(GaussianNB):
    """Ends its process if it is saved by skops."""

    def __getstate__(self) -> Any:
        if any(frame.filename.count("/skops/") for frame in traceback.extract_stack()):
            os.abort()
        return super().__getstate__()


def test_a_winner_that_skops_cannot_survive_is_pickled(tmp_path: Path) -> None:
    found = select(plan_of([("it", Fragile())]), Where(1), save_to=tmp_path)
    assert found.saved == Saved(tmp_path / PICKLE, HARMFUL)


def test_without_a_pickle_a_winner_can_be_used_in_this_process() -> None:
    assert select(plan_of([("it", faulty.Grown())]), Where()).fitted.size_ == 210


def test_what_is_known_need_not_be_measured(tmp_path: Path) -> None:
    planned = plan_of()
    whole = select(planned, Where())
    known = {step.allocation: step.outcome for step in whole.result.steps}
    planned = plan_of()
    events: list[Any] = []
    again = select(planned, Where(folder=tmp_path), known=known, watch=lambda event, _: events.append(event))
    assert not [event for event in events if isinstance(event, Evaluated)]
    assert again.result.steps == whole.result.steps
    valid = planned.task.data.valid()
    assert isinstance(again.result.measured, Measurement)
    assert again.fitted.score(valid.X, valid.y) == pytest.approx(again.result.measured.valid_score, abs=0.02)


@pytest.mark.parametrize(("spent", "least", "most"), [(0.0, 85.0, 100.0), (70.0, 20.0, 30.0), (1e6, 0.5, 2.0)])
def test_a_time_limit_includes_what_was_done_before_and_what_follows(
    spent: float, least: float, most: float, tmp_path: Path
) -> None:
    """Reading and starting before it, saving after it; a run that has no time left has two seconds."""
    limits = []

    def watch(event: Event, _: Account) -> None:
        if isinstance(event, Limited):
            limits.append(event.until)

    task = Task(data_of(), listed(LEARNERS), scoring="accuracy")
    where = Where(folder=tmp_path, engine="serial")
    select(plan(task, "daub"), where, time_limit=100.0, watch=watch, began=time.monotonic() - spent, save_to=tmp_path)
    (until,) = limits
    assert least < until < most


def test_a_run_that_begins_late_waits_for_its_first_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done before the run does not count until there is something to hand over."""
    monkeypatch.setattr("pydaub.runs.selection.LEAST", 0.2)
    task = Task(data_of(), listed([("slow", Slow(1.0)), ("slower", Slow(1.5))]), scoring="accuracy")
    where = Where(1, folder=tmp_path)
    found = select(plan(task, "daub"), where, time_limit=60.0, began=time.monotonic() - 1e6)
    assert found.result.stopped == "time limit"
    assert [step.allocation.learner for step in found.result.steps] == ["slow"]
