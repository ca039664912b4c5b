"""Learners that read a block of rows at a time and train on more rows than fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from pydaub import Allocation, Failure, InputError, Measurement
from pydaub.data import prepare
from pydaub.data.prepared import Prepared
from pydaub.data.schema import Schema
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.learners.streaming import StreamedClassifier
from tables import collected

X, y = make_classification(2000, 10, n_informative=6, class_sep=1.5, random_state=0)
MATRIX = Schema("matrix", "classification", 10, classes=(0, 1))
NUMBER = Schema("matrix", "regression", 10)


@pytest.mark.parametrize("name", list(portfolio("streaming", MATRIX)))
def test_each_classifier_learns(name: str) -> None:
    estimator = portfolio(name, MATRIX)[name].estimator
    if "estimator__random_state" in estimator.get_params():
        estimator.set_params(estimator__random_state=0)
    labels = np.array(["no", "yes"])[y]
    fitted = estimator.set_params(block=300).fit(X[:1500], labels[:1500])
    assert fitted.score(X[1500:], labels[1500:]) > 0.8
    assert set(fitted.predict(X[:20])) <= {"no", "yes"}
    if hasattr(fitted, "predict_proba"):
        assert np.allclose(fitted.predict_proba(X[:700]).sum(axis=1), 1)


@pytest.mark.parametrize("name", list(portfolio("streaming", NUMBER)))
def test_each_regressor_learns(name: str) -> None:
    rows, target = make_regression(3000, 10, noise=5.0, random_state=0)
    target = target / target.std()
    estimator = portfolio(name, NUMBER)[name].estimator.set_params(block=300, estimator__random_state=0)
    assert estimator.fit(rows[:2500], target[:2500]).score(rows[2500:], target[2500:]) > 0.8


def test_sums_do_not_depend_on_the_size_of_blocks() -> None:
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    small, large = (StreamedClassifier(GaussianNB(), block=block).fit(gaps, y) for block in (170, 5000))
    assert np.allclose(small.predict_proba(gaps), large.predict_proba(gaps), rtol=1e-6)


def test_decision_values_and_probabilities_are_those_of_the_estimator() -> None:
    assert hasattr(StreamedClassifier(SGDClassifier(loss="log_loss")), "predict_proba")
    hinge = StreamedClassifier(SGDClassifier(random_state=0)).fit(X, y)
    assert not hasattr(hinge, "predict_proba")
    assert hinge.decision_function(X).shape == (2000,)


def test_sparse_rows_are_refused() -> None:
    with pytest.raises(InputError, match="it cannot take sparse rows"):
        portfolio("stream-mlp", Schema("sparse", "classification", 1, classes=(0, 1)))


@pytest.fixture
def mixed() -> Prepared:
    """Return rows whose class depends on a number, a category and a text together."""
    rng = np.random.default_rng(0)
    number, town, word = rng.normal(size=3000), rng.integers(0, 4, 3000), rng.integers(0, 2, 3000)
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(3000) < 0.05, np.nan, number),
            "town": np.array(["Ulm", "Rome", "Oslo", None], dtype=object)[town],
            "story": [f"{('dull', 'lively')[each]} words of number {place}" for place, each in enumerate(word)],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 3000), unit="D"),
        }
    )
    return prepare(frame, (number + (town == 1) * 2 + word * 2 > 1.5).astype(int))


def test_frames_are_encoded_and_read_in_blocks(mixed: Prepared, tmp_path: Path) -> None:
    mixed.save(tmp_path / "data")
    learners = portfolio("streaming", mixed.schema)
    assert list(learners) == list(portfolio("streaming", MATRIX))
    for learner in learners.values():
        learner.estimator.set_params(block=500)
    for name in learners:
        allocation = Allocation(name, mixed.full_size)
        found = [
            evaluate(Task(data, learners, scoring="accuracy", train_scores=False), allocation)
            for data in (mixed, Prepared.open(tmp_path / "data"))
        ]
        scores = {each.outcome.valid_score for each in found if isinstance(each.outcome, Measurement)}
        assert len(scores) == 1
        assert max(scores) > 0.75
        whole = found[0].fitted.predict_proba if hasattr(found[0].fitted, "predict_proba") else found[0].fitted.predict
        assert np.allclose(whole(mixed.valid().X)[:50], whole(mixed.valid().X[:50]))


def test_slices_of_a_sample_are_read_when_they_are_taken(mixed: Prepared, tmp_path: Path) -> None:
    mixed.save(tmp_path / "data")
    for data in (mixed, Prepared.open(tmp_path / "data")):
        sample, whole = data.train(1000, blocks=True).X, data.train(1000).X
        assert (len(sample), sample.shape) == (1000, whole.shape)
        for start, stop in ((0, 10), (990, 1000), (995, 2000), (7, 7)):
            part = sample[start:stop]
            assert part.reset_index(drop=True).equals(whole[start:stop].reset_index(drop=True))


@pytest.mark.slow("memory")
def test_they_train_within_a_memory_limit_that_other_learners_exceed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700_000, 60)).astype(np.float32)  # 168 MB
    target = (rows[:, 0] + rng.normal(size=len(rows)) > 0).astype(np.int8)
    prepare(rows, target, columns=False).save(tmp_path / "data")
    data = Prepared.open(tmp_path / "data")
    learners = portfolio("stream-naive-bayes,stream-sgd-logistic,logistic,knn-5", data.schema)
    task = Task(data, learners, scoring="accuracy", metrics="none")
    engine = ProcessEngine(task, 1, tmp_path / "run", Limits(None, 150_000_000))
    found: dict[str, Any] = {}
    for name in ("stream-naive-bayes", "stream-sgd-logistic", "logistic"):
        engine.submit(Allocation(name, data.full_size))
        found[name] = collected(engine)[1]
    engine.close()
    assert isinstance(found["logistic"], Failure)
    assert found["logistic"].kind == "memory"
    for name in ("stream-naive-bayes", "stream-sgd-logistic"):
        assert isinstance(found[name], Measurement), found[name]
        assert found[name].valid_score > 0.7
