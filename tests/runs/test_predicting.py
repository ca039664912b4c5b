"""Predicting in a child process: the same predictions, and whatever a learner does there is an error with a reason."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import faulty
from faults import call
from pydaub import InputError
from pydaub.errors import SavedLearnerError
from pydaub.isolation.nursery import Limits
from pydaub.runs.predicting import Predictor
from pydaub.runs.saving import PICKLE, load, save

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, "up", "down").astype(object)


@pytest.mark.parametrize("rows", [X, pd.DataFrame(X, columns=list("abc"))], ids=["matrix", "frame"])
def test_predictions_are_those_of_the_learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: Any) -> None:
    """In any number of blocks."""
    monkeypatch.setattr("pydaub.runs.predicting.BLOCK", 25)
    save(LogisticRegression().fit(rows, y), tmp_path, rows)
    learner = load(tmp_path)
    with Predictor(tmp_path) as predictor:
        for some in (rows, rows[:5]):
            found = predictor.predict(some, proba=True)
            assert found.pop("prediction") == learner.predict(some).tolist()
            assert list(found) == ["p(down)", "p(up)"]
            np.testing.assert_allclose(np.array([*found.values()]).T, learner.predict_proba(some), rtol=1e-12)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("exit_politely", r"The learner could not be loaded: error: SystemExit: enough\.$"),
        ("abort", r"The learner could not be loaded: crash: ended by SIGABRT\.$"),
        ("forever", r"The learner could not be loaded: timeout: longer than 1 s\. Raise `--learner-timeout`"),
    ],
)
def test_a_learner_that_misbehaves_when_it_is_loaded(tmp_path: Path, what: str, message: str) -> None:
    fitted = faulty.Unpickled(what).fit(X, y)
    (tmp_path / PICKLE).write_bytes(pickle.dumps(fitted))
    with Predictor(tmp_path) as predictor, pytest.raises(InputError, match=r"is a pickle: loading it runs code"):
        predictor.predict(X)
    with Predictor(tmp_path, trust=True, seconds=1) as predictor, pytest.raises(SavedLearnerError, match=message):
        predictor.predict(X)


class Predicting(faulty.Learner):
    """Does something when it predicts."""

    def __init__(self, what: str = "") -> None:
        super().__init__()
        self.what = what

    def predict(self, X: Any) -> Any:
        call(self.what)
        return super().predict(X)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("exit_politely", SavedLearnerError, r"The learner could not be used to predict: error: SystemExit: enough\.$"),
        ("segfault", SavedLearnerError, r"The learner could not be used to predict: crash: ended by SIGSEGV"),
        ("raise_lines", InputError, r"The learner cannot predict these rows: ValueError: the first line\.$"),
    ],
)
def test_a_learner_that_misbehaves_when_it_predicts(
    tmp_path: Path, what: str, error: type[Exception], message: str
) -> None:
    (tmp_path / PICKLE).write_bytes(pickle.dumps(Predicting(what).fit(X, y)))
    with Predictor(tmp_path, trust=True) as predictor, pytest.raises(error, match=message):
        predictor.predict(X)


def test_a_learner_that_hangs_when_it_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / PICKLE).write_bytes(pickle.dumps(Predicting("forever").fit(X, y)))
    with Predictor(tmp_path, trust=True) as predictor:
        monkeypatch.setattr(predictor, "_limits", Limits(seconds=0.1))  # loading it takes longer
        with pytest.raises(SavedLearnerError, match=r"used to predict: timeout: longer than 0\.1 s\. Raise `--learner"):
            predictor.predict(X)


def test_what_a_learner_prints_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / PICKLE).write_bytes(pickle.dumps(Predicting("print_much").fit(X, y)))
    with Predictor(tmp_path, trust=True) as predictor:
        assert predictor.predict(X) == {"prediction": ["down"] * 60}
    assert capfd.readouterr().out == ""


def test_probabilities_that_there_are_none_of_are_refused(tmp_path: Path) -> None:
    (tmp_path / PICKLE).write_bytes(pickle.dumps(faulty.Learner().fit(X, y)))
    with Predictor(tmp_path, trust=True) as predictor, pytest.raises(InputError, match=r"^`--proba` must go with"):
        predictor.predict(X, proba=True)
