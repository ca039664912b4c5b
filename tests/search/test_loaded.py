"""A run of the command line is used from Python by its folder."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

import pydaub
from cli.commands import call
from pydaub import DaubSearch, InputError
from search.rows import table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loaded")
    table().to_csv(folder / "rows.csv", index=False)
    options = ("--target", "label", "--learners", "tree,logistic,dummy", "--quiet", "--jobs", 1)
    done = call("run", folder / "rows.csv", *options, "--out", folder / "run")
    assert done.code == 0, done.err
    return folder / "run"


def test_it_predicts_what_the_command_predicts(run: Path) -> None:
    rows = pd.read_csv(run.parent / "rows.csv")
    loaded = pydaub.load(run)
    done = call("predict", run, run.parent / "rows.csv", "--proba")
    said = [line.split(",") for line in done.out.splitlines()]
    assert [line[0] for line in said[1:]] == loaded.predict(rows).tolist()
    np.testing.assert_allclose([[float(each) for each in line[1:]] for line in said[1:]], loaded.predict_proba(rows))


def test_it_has_what_a_search_has(run: Path) -> None:
    loaded = pydaub.load(str(run))
    assert loaded.best_learner_ in {"tree", "logistic"}
    assert loaded.best_score_ == loaded.result_.valid_score
    assert loaded.best_size_ == loaded.result_.full_size
    assert loaded.leaderboard_["learner"].tolist()[-1] == "dummy"
    assert loaded.certificate_ is not None
    assert loaded.certificate_.selected == loaded.best_learner_
    assert f"{loaded.best_learner_} is selected" in repr(loaded.report_)
    assert len(repr(loaded).splitlines()) == 2
    assert "<br>" in loaded._repr_html_()


def test_what_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`folder` must be the path of a run, got 5"):
        pydaub.load(5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InputError, match=r"must be the folder of a run, got one without run.json"):
        pydaub.load(tmp_path)
    with pytest.raises(InputError, match=r"must be the folder of a run, got nothing there"):
        pydaub.load(tmp_path / "nowhere")


def test_a_learner_that_was_pickled_needs_trust(run: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(run, tmp_path / "copied"))
    learner, rows = pydaub.load(run).best_estimator_, table()
    (copied / "model.skops").unlink()
    (copied / "model.pkl").write_bytes(pickle.dumps(learner))
    with pytest.raises(InputError, match=r"runs code from the file. If you trust it, load it with `trust=True`"):
        pydaub.load(copied).predict(rows)
    np.testing.assert_array_equal(pydaub.load(copied, trust=True).predict(rows), pydaub.load(run).predict(rows))
    (copied / "model.pkl").write_bytes(pickle.dumps(Perceptron().fit([[0.0], [1.0]], ["goes", "stays"])))
    with pytest.raises(InputError, match=r"gives no probabilities. Use `predict`"):
        pydaub.load(copied, trust=True).predict_proba(rows)


def test_the_folder_of_a_search_has_its_result(tmp_path: Path) -> None:
    rows = table()
    X, y = rows[["number"]].fillna(0.0), rows["label"]
    search = DaubSearch([("bayes", GaussianNB())], folder=tmp_path / "run", random_state=0).fit(X, y)
    loaded = pydaub.load(tmp_path / "run")
    assert loaded.leaderboard_.equals(search.leaderboard_)
    with pytest.raises(InputError, match=r"is of a DaubSearch, which keeps its learner itself. Fit it again"):
        loaded.predict(X)
