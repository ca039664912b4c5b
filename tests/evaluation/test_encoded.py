"""Rows are encoded once for all learners of an encoding, and nobody can tell the difference afterwards."""

from __future__ import annotations

import threading
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from learners.samples import quick
from pydaub import Allocation, Measurement
from pydaub.data import Prepared, prepare
from pydaub.engines.inprocess import InProcessEngine
from pydaub.evaluation import encoded
from pydaub.evaluation.encoded import Encoded, key_of
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.workbench import Workbench
from pydaub.learners import Learner, portfolio
from pydaub.learners.encoding import shared_steps

SIZE = 60
WORDS = np.array(["red", "green", "blue", None], dtype=object)


def frame(rows: int, random: np.random.Generator) -> pd.DataFrame:
    columns = {
        "number": np.where(random.random(rows) < 0.1, np.nan, random.normal(size=rows)),
        "word": WORDS[random.integers(4, size=rows)],
        "date": pd.date_range("2020-01-01", periods=rows),
        "whole": random.integers(9, size=rows),
    }
    return pd.DataFrame(columns)


@cache
def data(task: str, form: str = "frame") -> Prepared:
    random = np.random.default_rng(1)
    X: Any = frame(140, random)
    signal = X["whole"] - 4 + random.normal(size=len(X))
    if form != "frame":
        X = random.poisson(1.0, size=(140, 5)).astype(float)
        signal = X[:, 0] - X[:, 1] + 0.1 * random.normal(size=len(X))
        X = csr_array(X) if form == "sparse" else X
    y: Any = signal if task == "regression" else np.where(signal > 0, "yes", "no")
    return prepare(X, y, task="regression" if task == "regression" else "classification")


def names(task: str, form: str) -> list[str]:
    return list(portfolio("sklearn", data(task, form).schema))


CASES = [
    (task, form, name)
    for task, form in (("classification", "frame"), ("regression", "frame"), ("classification", "sparse"))
    for name in names(task, form)
]


@pytest.mark.parametrize(("task", "form", "name"), CASES)
def test_a_learner_predicts_the_same_as_if_it_had_been_fitted_whole(
    task: str, form: str, name: str, tmp_path: Path
) -> None:
    held = data(task, form)
    learner = Learner(name, quick(portfolio(name, held.schema)[name].estimator))
    given = Task(held, {name: learner}, reuse=False)
    bench = Workbench(tmp_path)
    bench.lay_out(given)
    allocation = Allocation(name, SIZE)
    whole = evaluate(given, allocation)
    for _ in range(2 if name in ("ridge", "tree") else 1):  # the second finds what the first has made
        shared = evaluate(bench.task(name), allocation, bench)
        assert isinstance(shared.outcome, Measurement), shared.outcome
        assert isinstance(whole.outcome, Measurement)
        assert shared.outcome.valid_score == whole.outcome.valid_score
        assert shared.outcome.train_score == whole.outcome.train_score
        new = held.valid().X
        assert np.array_equal(shared.fitted.predict(new), whole.fitted.predict(new))
        assert type(shared.fitted) is type(whole.fitted)


def test_learners_with_equal_steps_share_them_and_others_do_not() -> None:
    schema = data("classification").schema
    learners = {name: learner.estimator for name, learner in portfolio("sklearn", schema).items()}
    steps = {name: shared_steps(estimator) for name, estimator in learners.items()}
    keys = {name: key_of(each) for name, each in steps.items() if each is not None}
    assert len({keys["ridge"], keys["logistic"], keys["knn-5"], keys["svm-rbf"]}) == 1
    assert len({keys["tree"], keys["lightgbm"]}) == 1
    assert len({keys["tree"], keys["ridge"], keys["adaboost"], keys["naive-bayes-multinomial"]}) == 4
    assert steps["dummy"] is None
    assert key_of(steps["ridge"], 500) != key_of(steps["ridge"], 501)


def test_steps_that_may_depend_on_more_than_the_rows_are_not_shared() -> None:
    chosen = make_column_transformer((OneHotEncoder(), make_column_selector(dtype_include=object)))
    for estimator in (
        LogisticRegression(),
        make_pipeline(PCA(2), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.abs), LogisticRegression()),
        make_pipeline(chosen, LogisticRegression()),
        Pipeline([("scale", StandardScaler()), ("last", LogisticRegression())], memory="somewhere"),
    ):
        assert shared_steps(estimator) is None
    assert shared_steps(make_pipeline(StandardScaler(), LogisticRegression())) is not None


class Spoiling(Ridge):
    """Writes to the rows that it is given."""

    def fit(self, X: Any, y: Any) -> Any:
        X[:] = 0.0
        return super().fit(X, y)


@pytest.mark.parametrize("kept_in", ["memory", "a folder"])
def test_a_learner_that_writes_to_its_rows_spoils_nobody_elses(kept_in: str, tmp_path: Path) -> None:
    held = data("regression", "matrix")
    given = Task(
        held,
        {
            "bad": Learner("bad", make_pipeline(StandardScaler(), Spoiling())),
            "good": Learner("good", make_pipeline(StandardScaler(), Ridge())),
        },
    )
    bench = Workbench(tmp_path)
    bench.lay_out(given)
    memory = InProcessEngine(given) if kept_in == "memory" else bench
    alone = evaluate(given, Allocation("good", SIZE)).outcome
    assert isinstance(evaluate(given, Allocation("bad", SIZE), memory).outcome, Measurement)
    after = evaluate(given, Allocation("good", SIZE), memory).outcome
    assert isinstance(alone, Measurement)
    assert isinstance(after, Measurement)
    assert after.valid_score == alone.valid_score


def made(rows: int = 10) -> Encoded:
    return Encoded([("scale", StandardScaler())], np.ones((rows, 3)), np.zeros((2, 3)))


def bench_in(folder: Path) -> Workbench:
    bench = Workbench(folder)
    bench.make_folders()
    return bench


def test_rows_are_encoded_once_however_many_ask_for_them_at_once(tmp_path: Path) -> None:
    bench, count, together = bench_in(tmp_path), [0], threading.Barrier(8)

    def make() -> Encoded:
        count[0] += 1
        return made()

    def ask() -> None:
        together.wait()
        found = bench.encoded("key", make)
        assert np.array_equal(found.train, made().train)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == [1]


def test_rows_that_cannot_be_kept_are_encoded_by_each(tmp_path: Path) -> None:
    bench, count = bench_in(tmp_path), [0]

    def make() -> Encoded:
        count[0] += 1
        return Encoded([], pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}))

    for expected in (1, 2, 3):
        assert isinstance(bench.encoded("key", make).train, pd.DataFrame)
        assert count == [expected]


@pytest.mark.parametrize("damage", ["cut", "missing", "flipped"])
def test_damaged_rows_are_encoded_again(damage: str, tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    bench.encoded("key", made)
    file = tmp_path / "encoded" / "key" / ("steps.pkl" if damage == "flipped" else "train.npy")
    if damage == "missing":
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        content[40] ^= 1
        file.write_bytes(content[: len(content) // 2] if damage == "cut" else content)
    assert np.array_equal(bench.encoded("key", made).train, made().train)


def test_the_disk_used_is_bounded_and_the_oldest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, size = bench_in(tmp_path), made(1000).size
    assert size is not None
    monkeypatch.setattr(encoded, "MOST_BYTES", int(2.9 * size))
    for key in "abc":
        bench.encoded(key, lambda: made(1000))
    assert {each.name for each in (tmp_path / "encoded").iterdir() if each.is_dir()} == {"b", "c"}
    bench.encoded("large", lambda: made(4000))
    assert not (tmp_path / "encoded" / "large").is_dir()
    bench.clear_encoded()
    assert not (tmp_path / "encoded").exists()
    assert np.array_equal(bench.encoded("late", made).train, made().train), "a worker that comes late"


def test_no_room_on_the_disk_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    bench = bench_in(tmp_path)
    for _ in range(2):
        assert np.array_equal(bench.encoded("key", made).train, made().train)
    assert not (tmp_path / "encoded" / "key").exists()


def test_an_engine_without_workers_keeps_a_bounded_amount_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = InProcessEngine(Task(data("classification"), {}))
    monkeypatch.setattr("pydaub.engines.inprocess.MOST_MEMORY", 2 * (made(1000).size or 0))
    counts = dict.fromkeys("abc", 0)

    def ask(key: str) -> None:
        def make() -> Encoded:
            counts[key] += 1
            return made(1000)

        engine.encoded(key, make)

    for key in "aabbcca":
        ask(key)
    assert counts == {"a": 2, "b": 1, "c": 1}
    engine.close()
    ask("c")
    assert counts["c"] == 2


@pytest.mark.parametrize("cv", [None, 3])
def test_weights_folds_and_scorers_give_the_same_as_without_sharing(cv: Any, tmp_path: Path) -> None:
    held = data("classification", "matrix")
    weights = np.random.default_rng(0).random(140)
    sample = held.train(held.full_size)
    weighted = prepare(sample.X, sample.y, sample_weight=weights[: len(sample.y)])
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    for scoring in ("roc_auc", "neg_log_loss", None, lambda fitted, X, y: float(np.mean(fitted.predict(X) == y))):
        given = Task(weighted, {"it": Learner("it", clone(estimator))}, scoring=scoring, cv=cv, reuse=False)
        bench = Workbench(tmp_path / str(scoring)[:8].strip("<"))
        bench.lay_out(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone, shared = (evaluate(given, Allocation("it", SIZE), memory).outcome for memory in (None, bench))
        assert isinstance(alone, Measurement)
        assert isinstance(shared, Measurement)
        assert (shared.train_score, shared.valid_score) == (alone.train_score, alone.valid_score)
