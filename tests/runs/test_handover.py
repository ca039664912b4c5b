"""What is handed over after a run, and how long that takes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pydaub import Account, Allocation, Asked, Evaluated, Measurement
from pydaub.data import prepare
from pydaub.engines.registry import Where, open_engine
from pydaub.evaluation.evaluate import Task
from pydaub.events import Started
from pydaub.learners import listed
from pydaub.runs.handover import START, TOO_LATE, HandOver
from pydaub.runs.loop import Loop
from pydaub.runs.plan import plan

LEARNERS = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3))]


class Counting(ClassifierMixin, BaseEstimator):
    """Knows how many rows it was fitted on."""

    def fit(self, X: Any, y: Any) -> Counting:
        self.rows_, self.classes_ = len(X), np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def task_of(learners: Any = LEARNERS, *, ensemble: bool = False) -> Task:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0, "high", "low")
    return Task(prepare(X, y), listed(learners), scoring="accuracy", ensemble=ensemble)


@pytest.mark.parametrize(("refit", "ensemble"), [(True, False), (False, True), (True, True), (False, False)])
def test_the_time_that_it_takes_is_known_once_a_learner_has_all_rows(*, refit: bool, ensemble: bool) -> None:
    task = task_of(ensemble=ensemble)
    with open_engine(task, Where()) as engine:
        after = HandOver(task, engine, refit=refit, workers=1)
        brief = HandOver(task, engine, refit=refit, workers=1, time_limit=0.1)
        planned = plan(task, "full")
        assert after.seconds(Account.begun(Started(planned.settings))) == 0.0, "nobody has all rows"
        account = Loop(planned.strategy, engine).run()
        wanted = refit or ensemble
        assert after.seconds(account) >= START if wanted else after.seconds(account) == 0.0
        assert brief.seconds(account) == 0.0, "there is no time for it"


def test_it_is_fitted_once_more_only_if_the_time_limit_leaves_room() -> None:
    task = task_of([("counting", Counting())])
    for limit, rows, note in ((None, 300, None), (1e6, 300, None), (1e-9, 210, TOO_LATE.format("counting"))):
        with open_engine(task, Where()) as engine:
            account = Loop(plan(task, "full").strategy, engine).run()
            time.sleep(0.001)
            handed = HandOver(task, engine, refit=True, workers=1, time_limit=limit).hand_over(account)
            assert (handed.fitted.rows_, handed.refitted, handed.note) == (rows, rows == 300, note)


class Endless(Counting):
    """Is not ready in a lifetime if it is fitted on all rows, validation rows included."""

    def fit(self, X: Any, y: Any) -> Counting:
        if len(X) == 300:
            time.sleep(1e6)
        return super().fit(X, y)


def test_a_learner_that_would_exceed_the_time_limit_by_far_is_handed_over_as_it_was_scored(tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it
    task = task_of([("endless", Endless())])
    with open_engine(task, Where(1, folder=tmp_path)) as engine:
        account = Loop(plan(task, "full").strategy, engine).run()
        handed = HandOver(task, engine, refit=True, workers=1, time_limit=engine.clock + 3).hand_over(account)
    assert (handed.fitted.rows_, handed.refitted) == (210, False)
    assert handed.note
    assert handed.note.startswith("endless could not be refitted: timeout: longer than")
    assert handed.note.endswith("The learner that was scored is returned instead.")


def test_a_run_that_was_ended_by_its_time_limit_hands_over_what_leads() -> None:
    """Fitted once more if it has all rows, and as it was scored if it has not."""
    task = task_of([("counting", Counting()), ("other", Counting())])
    for strategy, rows in (("full", 300), ("daub", None)):
        with open_engine(task, Where()) as engine:
            planned = plan(task, strategy)
            account = Loop(
                planned.strategy, engine, time_limit=1e6, reserve=lambda found: 1e7 * bool(found.steps)
            ).run()
            assert account.result.stopped == "time limit"
            handed = HandOver(task, engine, refit=True, workers=1, time_limit=1e6).hand_over(account)
            assert handed.refitted == (rows is not None)
            assert handed.fitted.rows_ == (rows or planned.strategy.schedule.sizes[0])


def test_only_learners_near_the_best_one_are_expected_in_an_ensemble() -> None:
    """A learner that scores far less would have no weight, so no time is kept to fit it once more."""
    scored = {"tree": (0.9, 10.0), "near": (0.895, 4.0), "far": (0.6, 30.0)}
    task = task_of([(name, GaussianNB()) for name in scored], ensemble=True)
    planned = plan(task, "full")
    account, size = Account.begun(Started(planned.settings)), task.data.full_size
    for name, (score, seconds) in scored.items():
        allocation = Allocation(name, size)
        account.take(Asked(allocation, None))
        account.take(Evaluated(allocation, Measurement(None, score, seconds), 0.0))
    with open_engine(task, Where()) as engine:
        more = 1 + task.data.valid_size / size
        expected = HandOver(task, engine, refit=True, workers=1).seconds(account)
    assert expected == pytest.approx(START + more * 14.0)
