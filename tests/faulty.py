"""Learners with known scores, and learners that misbehave. Workers import this module too."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Lock, get_ident
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info

from faults import call, exit_politely, tell_pid, until


class Learner(ClassifierMixin, BaseEstimator):
    """Learns nothing. After `size` rows it scores 1 on its own sample and start + size / 1000 on other rows."""

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
    """Calls one of the functions of `faults.py` in `fit`."""

    def __init__(self, what: str = "echo", arguments: Any = None) -> None:
        super().__init__()
        self.what = what
        self.arguments = arguments

    def fit(self, X: Any, y: Any) -> Any:
        call(self.what, **(self.arguments or {}))
        return super().fit(X, y)


class OnGpu(Learner):
    """Uses the only GPU that it sees; fails if it sees another number of them, or if another learner uses it too."""

    uses_gpu = True

    def __init__(self, folder: str = "", start: float = 0.5) -> None:
        super().__init__(start)
        self.folder = folder

    def fit(self, X: Any, y: Any) -> Any:
        (gpu,) = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        used = Path(self.folder) / (gpu or "none")
        used.touch(exist_ok=False)
        time.sleep(0.05)
        used.unlink()
        return super().fit(X, y)


class Unscored(Learner):
    """Has a score that is not a number."""

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
    """Scores the number of threads after fitting an estimator: those of the process, or of its largest pool."""

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


class Jobs(Learner):
    """Scores a tenth of the number of threads with which it was fitted, after waiting for a file."""

    def __init__(self, go: str | None = None, n_jobs: int | None = None) -> None:
        super().__init__()
        self.go = go
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Any:
        while self.go and not Path(self.go).exists():
            time.sleep(0.01)
        self.jobs_ = self.n_jobs or 0
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return self.jobs_ / 10


class Multiplying(Learner):
    """Multiplies matrices, so that BLAS uses all of its threads."""

    def fit(self, X: Any, y: Any) -> Any:
        square = np.ones((500, 500))
        square @ square
        return super().fit(X, y)


class Telling(Learner):
    """Remembers the process and thread that fitted it."""

    def fit(self, X: Any, y: Any) -> Any:
        time.sleep(0.02)  # so that another thread can take the next one
        self.where_ = (os.getpid(), get_ident())
        return super().fit(X, y)


class Counting(Learner):
    """Scores the number of threads and processes that fitted the parts of an ensemble."""

    def __init__(self, ensemble: Any = None) -> None:
        super().__init__()
        self.ensemble = ensemble

    def fit(self, X: Any, y: Any) -> Any:
        self.places_ = len({part.where_ for part in self.ensemble.fit(X, y).estimators_})
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return float(self.places_)


class Chancy(Learner):
    """Scores a random number from numpy's global generator."""

    def fit(self, X: Any, y: Any) -> Any:
        self.chance_ = float(np.random.random())  # noqa: NPY002  # as many learners do
        return super().fit(X, y)

    def score(self, *_: Any) -> float:
        return self.chance_


class Grown(Learner):
    """Cannot be pickled after it was fitted."""

    def fit(self, X: Any, y: Any) -> Any:
        self.lock_ = Lock()
        return super().fit(X, y)


class Pickled(Learner):
    """Misbehaves when it is pickled, once it was fitted."""

    def __init__(self, what: str = "", start: float = 0.5) -> None:
        super().__init__(start)
        self.what = what

    def __reduce_ex__(self, protocol: Any) -> Any:
        return call(self.what) if hasattr(self, "size_") else super().__reduce_ex__(protocol)


class Unpickled(Pickled):
    """Misbehaves when it is unpickled, once it was fitted."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (call, (self.what,)) if hasattr(self, "size_") else Learner.__reduce_ex__(self, protocol)


class Gated(Learner):
    """From a size on, writes its process id to a file and waits until another file exists."""

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
    """Does one of these things in the JVM of its worker: report its resources, crash, fill the heap, or hang."""

    def __init__(self, deed: str, n_jobs: int | None = None) -> None:
        self.deed = deed
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002  # scikit-learn's signature
        from pydaub.learners.weka import jvm  # noqa: PLC0415  # needed for WEKA only

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


def sizes(members: Any, data: Any, *, unit: str) -> dict[str, str]:
    """Return how many rows learners were fitted on, and how many there are."""
    return {**{name: f"{fitted.size_} {unit}" for name, fitted in members.items()}, "all": f"{data.full_size} {unit}"}


def exits(*_: Any) -> None:
    exit_politely()
