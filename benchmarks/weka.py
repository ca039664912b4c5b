"""Measure what WEKA's learners cost: starting a JVM, passing rows to it, and training all 41 on a sample.

    python benchmarks/weka.py                           # the JVM, and what reusing it saves in a bootstrap
    python benchmarks/weka.py FILE.parquet --size 10000 [--target target] [--timeout 60] [--jobs 2]

The second form prints one line for each of the 41: seconds, including scoring, and the validation score.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pydaub import Allocation, Measurement, Outcome
from pydaub.data import Prepared, Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.table import WEKA

START = """
import time
import jpype, numpy, sklearn.base
from pydaub.learners.weka import jvm
began = time.perf_counter()
jvm.start(1)
print(time.perf_counter() - began)
"""


def the_jvm() -> None:
    """Print the seconds to start a JVM, and those to train and predict once it is running."""
    starts = [
        float(subprocess.run([sys.executable, "-c", START], check=True, capture_output=True, text=True).stdout)  # noqa: S603  # our own interpreter and code
        for _ in range(5)
    ]
    print(f"start of a JVM: {statistics.median(starts):.2f} s (median of 5)")
    rows = np.random.default_rng(0).normal(size=(38_500, 28))
    labels = np.where(rows[:, 0] + rows[:, 1] > 0, "a", "b")
    for name in ("rules.ZeroR", "trees.DecisionStump", "bayes.NaiveBayes"):
        for when in ("first time", "second time"):
            began = time.perf_counter()
            fitted = WekaClassifier(f"weka.classifiers.{name}").fit(rows, labels)
            trained = time.perf_counter()
            fitted.predict(rows)
            asked = time.perf_counter()
            print(
                f"{name}, {when}: 38,500 x 28 trained in {trained - began:.2f} s, predicted in {asked - trained:.2f} s"
            )


def outcomes(data: Prepared, sizes: tuple[int, ...], timeout: float, jobs: int) -> dict[Allocation, Outcome]:
    """Train each of the 41 on each size and return the outcomes."""
    learners = portfolio("weka", data.schema)
    found: dict[Allocation, Outcome] = {}
    waiting = [Allocation(name, size) for name in learners for size in sizes]
    with tempfile.TemporaryDirectory() as folder:
        task = Task(data, learners, scoring="accuracy", metrics="none")
        engine = ProcessEngine(task, jobs, Path(folder), Limits(timeout, 6 * 10**9))
        while waiting or engine.free < jobs:
            while waiting and engine.free:
                engine.submit(waiting.pop(0))
            if (ended := engine.collect()) is not None:
                found[ended[0]] = ended[1]
        engine.close()
    return found


def used_again(jobs: int) -> None:
    """Print the seconds of the bootstrap on the parity problem with reused JVMs and with new ones."""
    data = load("parity", "parity", split=Split(fraction=0.5))
    scores = []
    for again in (True, False):
        WekaClassifier.runs_in_jvm = again
        began = time.perf_counter()
        found = outcomes(data, (500, 750, 1125), 60.0, jobs)
        wall, seconds = time.perf_counter() - began, sum(outcome.seconds for outcome in found.values())
        print(f"{'reused' if again else 'new'} JVMs: {seconds:.0f} s of training, {wall:.0f} s of wall time")
        scores.append({key: each.valid_score for key, each in found.items() if isinstance(each, Measurement)})
    print(f"{len(scores[0])} scores, {'the same' if scores[0] == scores[1] else 'NOT the same'} in both")


def all_of_them(path: str, target: str, size: int, timeout: float, jobs: int) -> None:
    """Print seconds and score of each of the 41 on a sample."""
    print(f"| learner | {Path(path).stem}, {size:,} rows |\n|---|---|")
    found = outcomes(load(path, target), (size,), timeout, jobs)
    for recipe in WEKA:
        outcome = found[Allocation(recipe.name, size)]
        score = f"{outcome.valid_score:.4f}" if isinstance(outcome, Measurement) else getattr(outcome, "kind", "")
        print(f"| {recipe.name} | {outcome.seconds:.1f} s / {score} |")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", nargs="?", help="data file; without one, the JVM is measured")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    parser.add_argument("--size", type=int, default=10_000, help="training rows (default: 10,000)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one training (default: 60)")
    parser.add_argument("--jobs", type=int, default=2, help="number of workers (default: 2)")
    arguments = parser.parse_args()
    if arguments.file is None:
        the_jvm()
        used_again(arguments.jobs)
    else:
        all_of_them(arguments.file, arguments.target, arguments.size, arguments.timeout, arguments.jobs)


if __name__ == "__main__":
    main()
