"""Measure the private memory of workers that share one large matrix.

    python benchmarks/memory.py [--megabytes 1000] [--workers 8]

All workers train at the same time on the whole matrix, with a learner that reads every row and keeps nothing. Printed
are the private memory of each worker after it has read everything (Private_Dirty: what it does not share with the
server that it was forked from), and its resident memory, which includes the memory-mapped matrix that all workers
share.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pydaub import Allocation
from pydaub.data import Split, prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.learners import listed


def memory() -> dict[str, float]:
    """Return the memory figures of this process in MB, as the kernel reports them."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}


class Reader(ClassifierMixin, BaseEstimator):
    """Learner that reads all rows, records the memory of its process, and waits for the other workers."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ANN401, N803  # scikit-learn's signature
        """Read the rows in slices, so that no copy of the matrix is made."""
        self.classes_ = np.unique(y)
        self.total_ = sum(float(X[start : start + 4096].sum()) for start in range(0, len(X), 4096))
        self.memory_ = memory()
        time.sleep(3)
        return self

    def predict(self, X: Any) -> Any:  # noqa: ANN401, N803  # scikit-learn's signature
        """Return the first class for every row."""
        return np.repeat(self.classes_[:1], len(X))

    def score(self, X: Any, y: Any) -> float:  # noqa: ANN401, ARG002, N803  # scikit-learn's signature
        """Return the recorded memory as the score, because scores are what an engine reports."""
        return self.memory_["Private_Dirty"] if len(X) > 1000 else self.memory_["Rss"]  # noqa: PLR2004  # training or validation


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the matrix (default: 1000)")
    parser.add_argument("--workers", type=int, default=8, help="number of workers (default: 8)")
    arguments = parser.parse_args()
    rows = arguments.megabytes * 10**6 // (20 * 4)
    X = np.random.default_rng(0).random((rows, 20), dtype=np.float32)  # noqa: N806  # scikit-learn's name
    y = np.arange(rows) % 2
    data = prepare(X, y, validation=(X[:1000], y[:1000]), split=Split(), columns=False)
    del X
    learners = listed([(f"reader {number}", Reader(number)) for number in range(arguments.workers)])
    task = Task(data, learners, metrics="none")
    with TemporaryDirectory() as folder:
        engine = ProcessEngine(task, arguments.workers, Path(folder))
        for learner in learners:
            engine.submit(Allocation(learner, data.full_size))
        found = [engine.collect() for _ in learners]
        engine.close()
    outcomes = [done[1] for done in found if done]
    if any(not hasattr(outcome, "train_score") for outcome in outcomes):
        sys.exit(str(outcomes))
    private = [getattr(outcome, "train_score", 0.0) for outcome in outcomes]
    resident = [getattr(outcome, "valid_score", 0.0) for outcome in outcomes]
    print(f"{arguments.workers} workers on {rows:,} x 20 float32 ({arguments.megabytes:,} MB)")
    print(f"private memory of a worker: {min(private):.0f} to {max(private):.0f} MB")
    print(f"resident memory, including what is mapped and shared: {min(resident):.0f} to {max(resident):.0f} MB")


if __name__ == "__main__":
    main()
