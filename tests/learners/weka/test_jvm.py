"""The JVM in a worker: bounded as the worker is, and whatever becomes of it is told as of any other learner."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faulty import InTheJvm
from pydaub import Allocation, Failure, Measurement, Outcome
from pydaub.data import prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.child import MEMORY_VARIABLE
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner
from pydaub.learners.weka import jvm
from pydaub.learners.weka.classifier import WekaClassifier
from tables import collected
from weka_here import needs_weka

pytestmark = needs_weka

MB = 1 << 20
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(9000, 20))
DATA = prepare(X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"))


def evaluated(
    estimator: Any, folder: Path, limits: Limits, *, size: int = 1000, threads: int = 1
) -> tuple[Outcome, Any]:
    task = Task(DATA, {"it": Learner("it", estimator)}, scoring="accuracy", metrics=False, threads=threads)
    engine = ProcessEngine(task, 1, folder, limits)
    allocation = Allocation("it", size)
    try:
        engine.submit(allocation)
        _, outcome = collected(engine)
        fitted = engine.bench.fitted(allocation, outcome.valid_score) if isinstance(outcome, Measurement) else None
        return outcome, fitted
    finally:
        engine.close()


def test_the_worker_and_the_jvm_speak_of_the_same_variable() -> None:
    assert jvm.MEMORY_VARIABLE == MEMORY_VARIABLE


def test_a_recursion_has_room_that_python_itself_would_not_give_it() -> None:
    """Deep trees are trained and kept by recursion; 8 MB, a usual thread's stack, are too few for this."""

    def nested(depth: int) -> int:
        held = jvm.java("java.util.ArrayList")()
        for _ in range(depth):
            outer = jvm.java("java.util.ArrayList")()
            outer.add(held)
            held = outer
        buffer = jvm.java("java.io.ByteArrayOutputStream")()
        jvm.java("java.io.ObjectOutputStream")(buffer).writeObject(held)
        return int(buffer.size())

    jvm.start()
    assert jvm.call(lambda: nested(20_000)) > 20_000
    with pytest.raises(RecursionError, match="the JVM's stack is full"):
        jvm.call(lambda: nested(400_000))


@pytest.mark.parametrize("threads", [1, 2])
def test_it_has_the_memory_and_the_threads_that_the_worker_was_given(threads: int, tmp_path: Path) -> None:
    _, fitted = evaluated(InTheJvm("tell"), tmp_path, Limits(60.0, 400 * MB), threads=threads)
    processors, heap = fitted.told_
    assert processors == threads
    assert 250 * MB < heap <= 300 * MB


def test_a_full_heap_is_a_failure_for_want_of_memory(tmp_path: Path) -> None:
    outcome, _ = evaluated(InTheJvm("fill"), tmp_path, Limits(60.0, 300 * MB))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "memory"
    assert re.search("Java heap space of the JVM|GC overhead limit exceeded of the JVM", outcome.message)


def test_a_forest_that_outgrows_its_heap_is_one_too(tmp_path: Path) -> None:
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5000")
    outcome, _ = evaluated(forest, tmp_path, Limits(300.0, 100 * MB), size=3000)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "memory"


def test_a_crash_of_the_jvm_is_a_failure_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    outcome, _ = evaluated(InTheJvm("crash"), tmp_path / "run", Limits(60.0, 400 * MB))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "crash"
    assert "without an answer: the JVM: SIGSEGV" in outcome.message
    assert list((tmp_path / "here").iterdir()) == []


def test_one_that_lingers_is_ended_in_time(tmp_path: Path) -> None:
    outcome, _ = evaluated(InTheJvm("linger"), tmp_path, Limits(3.0, 400 * MB))
    assert outcome == Failure("timeout", "longer than 3 s", outcome.seconds)


def test_the_same_seed_gives_the_same_outcome_here_and_there(tmp_path: Path) -> None:
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5")
    first, fitted = evaluated(forest, tmp_path / "a", Limits(60.0, 400 * MB))
    second, _ = evaluated(forest, tmp_path / "b", Limits())
    assert isinstance(first, Measurement)
    assert isinstance(second, Measurement)
    assert (first.train_score, first.valid_score) == (second.train_score, second.valid_score)
    valid = DATA.valid()
    assert (fitted.predict(valid.X) == valid.y).mean() == first.valid_score  # loaded, in this process
    assert fitted.n_jobs is None
