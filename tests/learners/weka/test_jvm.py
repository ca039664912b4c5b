"""The JVM of a process: its limits in a worker, its failures, and what it leaves alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faulty import InTheJvm
from learners.weka.frames import mixed
from pydaub import Allocation, Failure, InputError, Measurement, Outcome
from pydaub.data import prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import THREADED, Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner
from pydaub.learners.weka import jvm
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.jar import VARIABLE, jar
from tables import collected
from weka_here import needs_weka, newer_weka

pytestmark = needs_weka

MB = 1 << 20
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(9000, 20))
DATA = prepare(X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"))


def evaluated(
    estimator: Any, folder: Path, limits: Limits, *, size: int = 1000, threads: int = 1
) -> tuple[Outcome, Any]:
    data = DATA if threads == 1 else prepare(np.tile(X[:2000], THREADED // 20_000), np.arange(2000) % 2)
    task = Task(data, {"it": Learner("it", estimator)}, scoring="accuracy", metrics="none", threads=threads)
    engine = ProcessEngine(task, 1, folder, limits)
    allocation = Allocation("it", size)
    try:
        engine.submit(allocation)
        _, outcome = collected(engine)
        if not isinstance(outcome, Measurement):
            return outcome, None
        path = engine.fitted(allocation, outcome.valid_score)
        return outcome, None if path is None else engine.loaded({"it": path})["it"]
    finally:
        engine.close()


def nested(depth: int) -> int:
    """Return the serialized size of lists in lists; Java serializes them by recursion, as it does deep trees."""
    inner = jvm.java("java.util.ArrayList")()
    for _ in range(depth):
        outer = jvm.java("java.util.ArrayList")()
        outer.add(inner)
        inner = outer
    buffer = jvm.java("java.io.ByteArrayOutputStream")()
    jvm.java("java.io.ObjectOutputStream")(buffer).writeObject(inner)
    return int(buffer.size())


def test_the_stack_is_deeper_than_that_of_a_usual_thread() -> None:
    """A stack of 8 MB, which threads have by default, is too small for this."""
    jvm.start()
    assert jvm.call(lambda: nested(20_000)) > 20_000


@pytest.mark.slow("versions")
def test_a_full_stack_is_a_recursion_error() -> None:
    jvm.start()
    with pytest.raises(RecursionError, match="the JVM's stack is full"):
        jvm.call(lambda: nested(200_000))


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow("weka")), 2])
def test_it_has_the_memory_and_the_threads_of_its_worker(threads: int, tmp_path: Path) -> None:
    _, fitted = evaluated(InTheJvm("tell"), tmp_path, Limits(60.0, 400 * MB), threads=threads)
    processors, heap = fitted.told_
    assert processors == threads
    assert 250 * MB < heap <= 300 * MB


@pytest.mark.slow("weka")
def test_a_full_heap_is_a_failure_of_kind_memory(tmp_path: Path) -> None:
    outcome, _ = evaluated(InTheJvm("fill"), tmp_path, Limits(60.0, 300 * MB))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "memory"
    assert re.search("Java heap space of the JVM|GC overhead limit exceeded of the JVM", outcome.message)


@pytest.mark.slow("weka")
def test_a_forest_that_outgrows_the_heap_is_a_failure_of_kind_memory(tmp_path: Path) -> None:
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5000")
    outcome, _ = evaluated(forest, tmp_path, Limits(300.0, 50 * MB))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "memory"


@pytest.mark.slow("weka")
def test_a_crash_of_the_jvm_is_a_failure_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    outcome, _ = evaluated(InTheJvm("crash"), tmp_path / "run", Limits(60.0, 400 * MB))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "crash"
    assert "without an answer: the JVM: SIGSEGV" in outcome.message
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.slow("weka")
def test_a_timeout_kills_the_jvm(tmp_path: Path) -> None:
    outcome, _ = evaluated(InTheJvm("linger"), tmp_path, Limits(3.0, 400 * MB))
    assert outcome == Failure("timeout", "longer than 3 s", outcome.seconds)


@pytest.mark.slow("weka")
def test_the_same_seed_gives_the_same_outcome_in_every_process(tmp_path: Path) -> None:
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5")
    first, fitted = evaluated(forest, tmp_path / "a", Limits(60.0, 400 * MB))
    second, _ = evaluated(forest, tmp_path / "b", Limits())
    assert isinstance(first, Measurement)
    assert isinstance(second, Measurement)
    assert (first.train_score, first.valid_score) == (second.train_score, second.valid_score)
    valid = DATA.valid()
    assert (fitted.predict(valid.X) == valid.y).mean() == first.valid_score  # loaded in this process
    assert fitted.n_jobs is None


def test_a_process_can_use_only_one_weka(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = newer_weka()
    frame, y = mixed()
    fitted = WekaClassifier().fit(frame, y)
    monkeypatch.setenv(VARIABLE, newer)
    with pytest.raises(InputError, match=r"can use only one WEKA: 3\..* is running, and 3\.9\.\d+ was asked for"):
        WekaClassifier().fit(frame, y)
    with pytest.raises(ValueError, match=r"must have the version that trained this learner, 3\..*, got 3\.9"):
        fitted.predict(frame)


def ran(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.slow("weka")
def test_it_prints_nothing_and_leaves_no_files(tmp_path: Path) -> None:
    """WEKA prints, and a JVM prints the options of its environment and writes files."""
    code = """
import os
from sklearn.datasets import load_iris
from pydaub import WekaClassifier
X, y = load_iris(return_X_y=True)
learner = WekaClassifier("weka.classifiers.meta.AdditiveRegression").fit
try:
    learner(X, y)
except ValueError:
    pass
WekaClassifier("weka.classifiers.functions.MultilayerPerceptron", "-N 5").fit(X, y).predict(X)
import jpype
jpype.JClass("java.lang.System").out.println("discarded")
jpype.JClass("java.lang.System").err.println("discarded")
assert jpype.JClass("java.lang.System").getProperty("first") == "a b"
assert jpype.JClass("java.lang.System").getProperty("second") == "c"
assert os.environ["_JAVA_OPTIONS"] == "-Dsecond=c"
os.kill(os.getpid(), 15)
"""
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-Dfirst='a b'", "_JAVA_OPTIONS": "-Dsecond=c"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-15, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow("weka")
def test_a_full_heap_is_a_memory_error() -> None:
    done = ran(
        """
import numpy as np
from pydaub import WekaClassifier
X = np.random.default_rng(0).normal(size=(200_000, 30))
try:
    WekaClassifier().fit(X, X[:, 0] > 0)
except MemoryError as error:
    print(error)
""",
        PYDAUB_MEMORY=str(40 << 20),
    )
    assert re.fullmatch(r"(Java heap space|GC overhead limit exceeded) of the JVM, (29|30) MB\n", done.stdout), done


@pytest.mark.slow("weka")
def test_a_forked_process_cannot_use_the_jvm() -> None:
    done = ran("""
import os, sys
from sklearn.datasets import load_iris
from pydaub import WekaClassifier
X, y = load_iris(return_X_y=True)
fitted = WekaClassifier().fit(X, y)
if os.fork() == 0:
    try:
        fitted.predict(X)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
""")
    assert "the JVM was started before this process was forked" in done.stdout, done


@pytest.mark.slow("versions")
def test_a_running_jvm_must_have_weka_on_its_class_path() -> None:
    code = """
import jpype, sys
from sklearn.datasets import load_iris
from pydaub import InputError, WekaClassifier
X, y = load_iris(return_X_y=True)
jpype.startJVM(classpath=sys.argv[1:])
try:
    fitted = WekaClassifier().fit(X, y)
    import pickle
    print(pickle.loads(pickle.dumps(fitted)).score(X, y) > 0.9)
except InputError as error:
    print(error)
"""
    without = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert re.match("The JVM of this process was started without WEKA. Start it with", without)
    knowing = subprocess.run([sys.executable, "-c", code, *jar().paths], capture_output=True, text=True, check=True)
    assert knowing.stdout == "True\n"


@pytest.mark.slow("versions")
def test_a_newer_weka_works_too(tmp_path: Path) -> None:
    code = """
import pickle
import numpy as np
from sklearn.datasets import load_wine
from pydaub import WekaClassifier
X, y = load_wine(return_X_y=True)
for name in ("trees.J48", "lazy.IBk", "trees.RandomForest", "functions.SMO"):
    fitted = WekaClassifier(f"weka.classifiers.{name}", random_state=7).fit(X, y, sample_weight=np.ones(len(y)))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(fitted.predict_proba(X), again.predict_proba(X)), name
    print(fitted.weka_version_, fitted.score(X, y) > 0.9)
"""
    done = ran(code, **{VARIABLE: newer_weka(), "WEKA_HOME": str(tmp_path)})
    assert re.fullmatch(r"(3\.9\.\d+ True\n){4}", done.stdout), done
