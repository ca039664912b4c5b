"""Learners whose scores are known, and learners that do wrong; workers import them too."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Lock, get_ident
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info

from faults import call, tell_pid, until


class Learner(ClassifierMixin, BaseEstimator):
    """Learns nothing. Scores 1 on its own sample and, having seen `size` rows, start + size / 1000 on others."""

    def __init__(self, start: float = 0.5, fails_at: int = 0) -> None:
        self.start = start
        self.fails_at = fails_at

    def fit(self, X: Any, y: Any) -> Any:
        if len(X) == self.fails_at:
            raise ValueError("no")
        self.classes_, self.size_ = np.unique(y), len(X)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])

    def score(self, X: Any, _: Any) -> float:
        return 1.0 if len(X) == self.size_ else self.start + self.size_ / 1000


class Faulty(Learner):
    """Does one of the things above in the midst of `fit`."""

    def __init__(self, what: str = "echo", arguments: Any = None) -> None:
        super().__init__()
        self.what = what
        self.arguments = arguments

    def fit(self, X: Any, y: Any) -> Any:
        call(self.what, **(self.arguments or {}))
        return super().fit(X, y)


class Unscored(Learner):
    """Scores what is no number."""

    def score(self, *_: Any) -> float:
        return float("nan")


class Stuck(Learner):
    """Cannot be pickled."""

    def __init__(self, lock: Any = None) -> None:
        super().__init__()
        self.lock = lock or Lock()


class Spoilt(Learner):
    """Can be pickled, but not unpickled."""

    def __reduce__(self) -> Any:
        return call, ("raise_mute",)


class Wrapping(Learner):
    """Scores how many threads there are after an estimator was fitted: all of the process, or the largest pool."""

    def __init__(self, estimator: Any = None, count: str = "tasks") -> None:
        super().__init__()
        self.estimator = estimator
        self.count = count

    def fit(self, X: Any, y: Any) -> Any:
        self.estimator.fit(X, y).predict(X)
        tasks = len(list(Path("/proc/self/task").iterdir()))
        self.threads_ = tasks if self.count == "tasks" else max(pool["num_threads"] for pool in threadpool_info())
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return float(self.threads_)


class Multiplying(Learner):
    """Multiplies matrices, for BLAS to use all threads that it has."""

    def fit(self, X: Any, y: Any) -> Any:
        square = np.ones((500, 500))
        square @ square  # the work is the point
        return super().fit(X, y)


class Telling(Learner):
    """Remembers where it was fitted."""

    def fit(self, X: Any, y: Any) -> Any:
        time.sleep(0.02)  # so that another thread has the time to take the next
        self.where_ = (os.getpid(), get_ident())
        return super().fit(X, y)


class Counting(Learner):
    """Scores in how many threads and processes the parts of an ensemble were fitted."""

    def __init__(self, ensemble: Any = None) -> None:
        super().__init__()
        self.ensemble = ensemble

    def fit(self, X: Any, y: Any) -> Any:
        self.places_ = len({part.where_ for part in self.ensemble.fit(X, y).estimators_})
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return float(self.places_)


class Chancy(Learner):
    """Scores at random, by numpy's global generator."""

    def fit(self, X: Any, y: Any) -> Any:
        self.chance_ = float(np.random.random())  # noqa: NPY002  # many learners do
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return self.chance_


class Grown(Learner):
    """Can no longer be pickled once it is fitted."""

    def fit(self, X: Any, y: Any) -> Any:
        self.lock_ = Lock()
        return super().fit(X, y)


class Gated(Learner):
    """Waits, from a size on, until a file is there, and writes down who waits."""

    def __init__(self, gate: str = "", path: str = "", closed_from: int = 0) -> None:
        super().__init__()
        self.gate = gate
        self.path = path
        self.closed_from = closed_from

    def fit(self, X: Any, y: Any) -> Any:
        if len(X) >= self.closed_from and not Path(self.gate).exists():
            tell_pid(self.path, then="getpid")
            until(self.gate)
        return super().fit(X, y)


class InTheJvm(ClassifierMixin, BaseEstimator):
    """Does one of these things in the JVM of its worker: tells what it was given, crashes it, or fills it."""

    def __init__(self, deed: str, n_jobs: int | None = None) -> None:
        self.deed = deed
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002  # scikit-learn's signature
        from pydaub.learners.weka import jvm  # noqa: PLC0415  # starts nothing that is not asked for

        jvm.start(self.n_jobs)
        self.classes_ = np.unique(y)
        self.told_ = jvm.call(getattr(self, f"_{self.deed}"))
        return self

    def _tell(self) -> list[float]:
        import jpype  # noqa: PLC0415  # optional

        runtime = jpype.JClass("java.lang.Runtime").getRuntime()
        return [float(runtime.availableProcessors()), float(runtime.maxMemory())]

    def _crash(self) -> None:
        import jpype  # noqa: PLC0415  # optional

        field = jpype.JClass("sun.misc.Unsafe").class_.getDeclaredField("theUnsafe")
        field.setAccessible(True)
        field.get(None).putLong(0, 0)

    def _fill(self) -> None:
        import jpype  # noqa: PLC0415  # optional

        kept = jpype.JClass("java.util.ArrayList")()
        while True:
            kept.add(jpype.JArray(jpype.JDouble)(1 << 17))

    def _linger(self) -> None:
        import jpype  # noqa: PLC0415  # optional

        jpype.JClass("java.lang.Thread").sleep(600_000)

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])
