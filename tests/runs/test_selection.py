"""A task carried through: in this process or in others, stopped, resumed, refitted."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

from pydaub import (
    AllLearnersFailed,
    Allocation,
    Daub,
    Evaluated,
    InputError,
    JournalMismatch,
    Measurement,
    NothingMeasured,
    Schedule,
    Strategy,
)
from pydaub.data import Prepared, Split, prepare
from pydaub.errors import FitFailed
from pydaub.evaluation.evaluate import Task, fitted_on
from pydaub.isolation.nursery import Limits
from pydaub.learners import listed
from pydaub.runs.journal import read
from pydaub.runs.selection import (
    SMALLEST_FIRST_SIZE,
    Selection,
    Where,
    schedule_for,
    select,
    settings_of,
    strategy_for,
)

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


def task_of(learners: Any = LEARNERS, data: Prepared | None = None, **settings: Any) -> tuple[Task, Strategy]:
    data = data or data_of()
    portfolio = listed(learners)
    strategy = Daub(tuple(portfolio), schedule_for(data.full_size)[0])
    return Task(data, portfolio, **settings), strategy


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
    assert first.certificate == second.certificate
    assert type(first.fitted) is type(second.fitted)
    for name, value in parts(first).items():
        if name != "tree_":
            np.testing.assert_array_equal(value, parts(second)[name])


@given(st.integers(1, 10**7), st.sampled_from(["1.1", "1.5", "2", "3/2", "7", "1000"]))
def test_there_is_a_schedule_for_any_number_of_rows(full_size: int, ratio: str) -> None:
    schedule, note = schedule_for(full_size, None, ratio)
    assert schedule.full_size == full_size
    first = schedule.sizes[0]
    assert first == full_size or SMALLEST_FIRST_SIZE <= first <= 500
    assert (note is None) == (first == 500 and len(schedule.sizes) >= 3)
    assert len(schedule.sizes) == 1 or note is None or sum(schedule.sizes[:3]) < full_size, (
        "less than training everything"
    )
    if note:
        assert ("every learner gets all of them" in note) == (len(schedule.sizes) == 1)
        assert f"{full_size:,} training rows" in note


def test_the_first_size_is_the_papers_where_it_can_be() -> None:
    assert schedule_for(2375) == (Schedule((500, 750, 1125, 1688, 2375)), None)
    schedule, note = schedule_for(2374)
    assert schedule.sizes == (313, 469, 704, 1056, 1583, 2374)
    assert note == "The paper's first size of 500 is too large for 2,374 training rows: it is 313 instead."
    assert schedule_for(44)[0].sizes == (44,)
    assert schedule_for(105)[0].sizes == (21, 32, 47, 70, 105)
    assert schedule_for(44)[1] == (
        "The paper's first size of 500 is too large for 44 training rows: every learner gets all of them."
    )
    assert schedule_for(100, 10)[0].sizes[:3] == (10, 15, 23)
    with pytest.raises(InputError, match=r"The largest `first_size` that works is 44"):
        schedule_for(100, 45)


def test_a_strategy_is_named() -> None:
    task = task_of()[0]
    assert strategy_for("halving", task, Schedule((1, 2))).learners == tuple(name for name, _ in LEARNERS)
    nonsense: list[Any] = ["best", None, [], 5]
    for given_ in nonsense:
        with pytest.raises(
            InputError, match=r"`strategy` must be one of frugal, daub, full, subset, elimination, halving, got"
        ):
            strategy_for(given_, task, Schedule((1, 2)))


@pytest.mark.parametrize(
    ("scoring", "rows", "top"),
    [
        (None, 90, 1.0),
        ("accuracy", 90, 1.0),
        ("f1_macro", 90, 1.0),
        ("neg_log_loss", None, 0.0),
        (lambda *_: 5.0, None, None),
    ],
)
def test_who_weighs_losses_is_told_of_what_kind_scores_are(scoring: Any, rows: int | None, top: float | None) -> None:
    told = strategy_for("frugal", task_of(scoring=scoring)[0], Schedule((1, 2)), 0.02).settings
    assert (told["delta"], told["valid_rows"], told["top"]) == (0.02, rows, top)
    assert strategy_for("frugal", task_of(cv=5)[0], Schedule((1, 2))).settings["valid_rows"] == 210
    with pytest.raises(InputError, match="`delta` must go with the strategy frugal, got 'daub'"):
        strategy_for("daub", task_of()[0], Schedule((1, 2)), 0.02)


def test_settings_differ_where_runs_do() -> None:
    def settings(learners: Any = LEARNERS, data: Prepared | None = None, **more: Any) -> dict[str, Any]:
        task, strategy = task_of(learners, data, **more)
        return settings_of(task, strategy)

    base = settings()
    assert settings() == base, "the same in another process: no address of an object is in it"
    changed = [
        settings([("bayes", GaussianNB(var_smoothing=1e-8)), *LEARNERS[1:]]),
        settings(LEARNERS[::-1]),
        settings(data=data_of(seed=1)),
        settings(scoring="f1_macro"),
        settings(cv=3),
        settings(seed=1),
        settings(reuse=False),
    ]
    assert all(other != base for other in changed)
    assert settings(scoring=lambda *_: 1.0) == settings(scoring=lambda *_: 1.0)
    long = [("x", "y" * 400), ("z", "w" * 400)]
    first, second = ([("a", Slow(seconds=[*long, middle, *long]))] for middle in (1, 2))  # type: ignore[arg-type]  # any value
    assert settings(first) != settings(second), "also where they differ in the middle of something long"


def test_in_this_process_the_learner_that_was_measured_is_handed_over() -> None:
    task, strategy = task_of()
    selection = select(task, strategy, Where())
    valid = task.data.valid()
    assert selection.result.stopped is None
    assert selection.result.selected_size == task.data.full_size
    assert selection.fitted.score(valid.X, valid.y) == selection.result.valid_score
    assert selection.certificate is not None
    assert selection.certificate.selected == selection.result.selected


@pytest.mark.parametrize("winner", range(len(LEARNERS)))
def test_a_learner_that_goes_on_leaves_the_one_that_was_kept_alone(winner: int) -> None:
    """Stopped early: what is handed over is what was measured, not what it has become since."""
    task, strategy = task_of(LEARNERS[winner : winner + 1])
    stopped = stopped_with_best_first(task, strategy)
    first = strategy.schedule.sizes[0]
    assert stopped.result.selected_size == first
    fresh = fitted_on(task, Allocation(LEARNERS[winner][0], first))
    valid = task.data.valid()
    np.testing.assert_array_equal(stopped.fitted.predict(valid.X), fresh.predict(valid.X))


def stopped_with_best_first(task: Task, strategy: Strategy) -> Selection:
    """Run until the time is over, with scores that fall: the best is the first."""
    scores = iter(range(1000, 0, -1))
    falling = Task(task.data, task.learners, scoring=lambda *_: float(next(scores)))

    def watch(event: Any) -> None:
        if isinstance(event, Evaluated) and event.allocation.size == strategy.schedule.sizes[-2]:
            time.sleep(max(0.0, 0.6 - event.clock))

    return select(falling, strategy, Where(), time_limit=0.5, watch=watch)


def test_processes_give_the_same_learner_as_this_one() -> None:
    """On one worker and on two: the same steps, the same winner, to the last bit."""
    task, strategy = task_of()
    serial = select(task, strategy, Where())
    for workers in (1, 2):
        task, strategy = task_of(threads=1)
        assert_same(serial, select(task, strategy, Where(workers)))


@pytest.mark.parametrize("workers", [None, pytest.param(1, marks=pytest.mark.slow("processes"))])
def test_refitted_it_has_seen_all_rows(workers: int | None, tmp_path: Path) -> None:
    task, strategy = task_of([("slow", Slow())])
    folder = tmp_path if workers else None
    assert select(task, strategy, Where(workers, folder=folder), refit=True).fitted.rows_ == 300
    assert select(*task_of([("slow", Slow())]), Where(workers, folder=folder), refit=False).fitted.rows_ == 210


def test_cross_validated_it_is_fitted_on_all_rows() -> None:
    data = data_of(split=Split(none=True))
    for refit in (False, True):
        task, strategy = task_of([("slow", Slow())], data, cv=3)
        selection = select(task, strategy, Where(), refit=refit)
        assert selection.fitted.rows_ == 300
        assert selection.certificate is not None


def test_the_time_is_over_before_anything_was_measured(tmp_path: Path) -> None:
    task, strategy = task_of([("slow", Slow(30.0))])
    with pytest.raises(NothingMeasured, match=r"Resume the run with a longer one") as raised:
        select(task, strategy, Where(1, folder=tmp_path), time_limit=0.2)
    assert raised.value.result.stopped == "time limit"
    task, strategy = task_of([("slow", Slow(30.0))])
    with pytest.raises(NothingMeasured):
        select(task, strategy, Where(1, folder=tmp_path), time_limit=0.2)


@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.slow("processes"))])
def test_a_run_that_was_stopped_goes_on_in_its_folder(workers: int | None, tmp_path: Path) -> None:
    """It ends as one that was not stopped; nothing is measured twice."""

    def go(folder: Path, limit: float | None = None, watch: Any = None) -> Selection:
        task, strategy = task_of(reuse=False)
        return select(task, strategy, Where(workers, folder=folder), time_limit=limit, watch=watch)

    whole = go(tmp_path / "whole")

    class Killed(BaseException):
        """As if Ctrl-C had been pressed."""

    def kill(event: Any) -> None:
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
    select(*task_of([("bayes", GaussianNB())]), Where(folder=tmp_path))
    for change, what in (({"seed": 1}, "seed"), ({"scoring": "f1_macro"}, "scoring")):
        with pytest.raises(JournalMismatch, match=rf"got one with other settings: {what}\."):
            select(*task_of([("bayes", GaussianNB())], **change), Where(folder=tmp_path))
    with pytest.raises(JournalMismatch, match=r"other settings: definitions\."):
        select(*task_of([("bayes", GaussianNB(var_smoothing=0.1))]), Where(folder=tmp_path))
    with pytest.raises(JournalMismatch, match=r"other settings: data\."):
        select(*task_of([("bayes", GaussianNB())], data_of(seed=5)), Where(folder=tmp_path))


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.symlink_to("/proc/nowhere")])
def test_a_folder_that_is_none_is_refused(make: Any, tmp_path: Path) -> None:
    make(tmp_path / "it")
    with pytest.raises(InputError, match=r"`folder` must be one that can be written, got .*it: "):
        select(*task_of([("bayes", GaussianNB())]), Where(folder=tmp_path / "it"))


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 1e300, "5", []])
def test_limits_under_which_nothing_could_run_are_refused(limit: Any) -> None:
    for limits, name in ((Limits(limit), "learner_timeout"), (Limits(None, limit), "learner_memory")):
        with pytest.raises(
            InputError, match=rf"`{name}` must be a number of (seconds|bytes), more than 0 and less than 1e\+18, got"
        ):
            Where(1, limits)


def test_workers_share_the_cores() -> None:
    assert Where().threads >= Where(1).threads >= Where(2).threads >= Where(10_000).threads == 1


def test_nothing_is_left_behind_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    select(*task_of([("bayes", GaussianNB())]), Where(1))
    with pytest.raises(AllLearnersFailed):
        select(*task_of([("slow", Slow(most=1))]), Where(1))
    assert not list(tmp_path.iterdir())


def test_a_learner_that_cannot_be_fitted_once_more_says_so() -> None:
    """All training rows are few enough for it; those for validation on top are too many: the measured one is kept."""
    for where in (Where(1), Where()):
        task, strategy = task_of([("slow", Slow(most=210))])
        found = select(task, strategy, where, refit=True)
        assert found.note
        assert re.match(r"slow must be fitted once more .*, got error: RuntimeError: too many rows", found.note)
        valid = task.data.valid()
        assert found.fitted.score(valid.X, valid.y) == found.result.valid_score


def test_where_none_was_kept_and_none_can_be_fitted_that_is_an_error() -> None:
    task, strategy = task_of([("slow", Slow(most=150))], cv=2)
    with pytest.raises(FitFailed, match=r"slow must be fitted once more .*, got error: RuntimeError: too many rows"):
        select(task, strategy, Where())


def test_what_is_known_need_not_be_measured(tmp_path: Path) -> None:
    task, strategy = task_of()
    whole = select(task, strategy, Where())
    known = {step.allocation: step.outcome for step in whole.result.steps}
    task, strategy = task_of()
    events: list[Any] = []
    again = select(task, strategy, Where(folder=tmp_path), known=known, watch=events.append)
    assert not [event for event in events if isinstance(event, Evaluated)]
    assert again.result.steps == whole.result.steps
    valid = task.data.valid()
    assert isinstance(again.result.measured, Measurement)
    assert again.fitted.score(valid.X, valid.y) == pytest.approx(again.result.measured.valid_score, abs=0.02)
