"""Ctrl-C in `fit` leaves the best learner so far, or says that there is none."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from pydaub import DaubSearch
from pydaub.runs.interrupting import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it

X, Y = make_classification(400, 6, random_state=0)
PATIENCE = 60.0  # seconds; nothing is measured by it


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Hear interrupts also where the shell has started the tests in the background, and so ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupting(ClassifierMixin, BaseEstimator):
    """Interrupts the process of the search, as often as wanted, once it has so many rows; then it goes on training."""

    def __init__(self, rows: int = 100, times: int = 1, owner: int = 0) -> None:
        self.rows, self.times, self.owner = rows, times, owner

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002  # the rows do not matter
        self.classes_ = np.unique(y)
        if len(y) >= self.rows:
            for _ in range(self.times):
                os.kill(self.owner, signal.SIGINT)
                time.sleep(0.02)
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                time.sleep(0.01)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


def search(rows: int, **settings: Any) -> DaubSearch:
    learners = [("bayes", GaussianNB()), ("interrupting", Interrupting(rows, owner=os.getpid()))]
    return DaubSearch(learners, random_state=0, **{"strategy": "full", **settings})


@pytest.mark.parametrize("jobs", [None, 1])
def test_the_best_so_far_can_be_used(jobs: int | None) -> None:
    with pytest.warns(UserWarning, match="Interrupted: bayes is the best so far, with 0") as warned:
        found = search(100, n_jobs=jobs).fit(X, Y)
    assert len(warned) == 1, "one warning"
    assert Path(warned[0].filename) == Path(__file__)
    assert found.result_.stopped == INTERRUPTED
    assert found.score(X, Y) > 0.7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("jobs", [None, 1])
def test_without_a_learner_it_says_so(jobs: int | None) -> None:
    found = DaubSearch([("bayes", GaussianNB())], random_state=0).fit(X, Y)
    found.set_params(learners=[("interrupting", Interrupting(1, owner=os.getpid()))], n_jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, Y)
    with pytest.raises(NotFittedError, match=r"^Nothing was trained: `fit` was interrupted before it had a learner"):
        found.predict(X)
    with pytest.raises(NotFittedError, match="Nothing was trained"):
        found.score(X, Y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("jobs", [None, 1])
def test_in_its_folder_it_goes_on(jobs: int | None, tmp_path: Path) -> None:
    learner = Interrupting(100, owner=os.getpid())
    settings: dict[str, Any] = {"random_state": 0, "strategy": "full", "folder": tmp_path / "run", "n_jobs": jobs}
    with pytest.warns(UserWarning, match="Calling `fit` again goes on"):
        first = DaubSearch([("bayes", GaussianNB()), ("other", learner)], **settings).fit(X, Y)
    assert first.best_learner_ == "bayes"
    with pytest.warns(UserWarning, match="Interrupted"):
        second = DaubSearch([("bayes", GaussianNB()), ("other", learner)], **settings).fit(X, Y)
    assert second.result_.resumed == 1


@pytest.mark.parametrize("jobs", [None, 1])
def test_while_the_selected_learner_is_fitted_once_more(jobs: int | None) -> None:
    """The one that was scored is returned: it is refitted on more rows than the search has for training."""
    learner = Interrupting(len(Y), owner=os.getpid())
    with pytest.warns(UserWarning, match="Not trained once more .* because that was interrupted"):
        found = DaubSearch([("it", learner)], random_state=0, n_jobs=jobs).fit(X, Y)
    assert found.best_size_ == 280
    assert found.predict(X).shape == (len(Y),)


def test_the_second_one_ends_the_process() -> None:
    learners = [("bayes", GaussianNB()), ("interrupting", Interrupting(100, times=2, owner=os.getpid()))]
    with pytest.raises(KeyboardInterrupt):
        DaubSearch(learners, random_state=0, strategy="full", n_jobs=1).fit(X, Y)


def test_a_handler_of_ones_own_is_left_alone() -> None:
    taken = []
    before = signal.signal(signal.SIGINT, lambda *_: taken.append(1))
    try:
        learners = [("it", Interrupting(10**6)), ("bayes", GaussianNB())]
        found = DaubSearch(learners, random_state=0).fit(X, Y)
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert taken == [1]
    assert found.result_.stopped is None
