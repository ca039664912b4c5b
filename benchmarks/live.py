"""Every strategy, and scikit-learn's halving search, on the same learners and rows: real training, wall time and loss.

    python benchmarks/live.py FILE.parquet [FILE.parquet ...] [--target target] [--jobs 2] [--timeout 60]

Each has the machine for itself, with as many workers, and nothing is taken over from another. `full` comes first: its
scores on all rows are what losses are measured by, and its wall time is what the others are compared with. A learner
that ends by the timeout counts with that time and cannot be selected; scikit-learn's search knows no such limit. Its
learners are those of the portfolio, with as many threads and the same seed; it draws its samples itself, scores on a
sample of the validation rows as well, and its selected learner counts with the score that `full` has measured for it;
if `full` has none, its loss is not known. It trains the selected learner on all rows in the end, as the others have.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # it must be asked for
from sklearn.model_selection import HalvingRandomSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline

from pydaub import STRATEGIES, Allocation, Measurement, run
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task, changed_parameters
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.runs.selection import schedule_for, strategy_for

if TYPE_CHECKING:
    from pydaub import Result

# By its default the search begins with a handful of rows; with "exhaust" so that its last round has all of them.
HALVING = {"HalvingRandomSearchCV": "smallest", "HalvingRandomSearchCV, exhaust": "exhaust"}


def raced(task: Task, name: str, arguments: argparse.Namespace) -> Result:
    """Return what a strategy did, on nothing but its own."""
    schedule, _ = schedule_for(task.data.full_size)
    with TemporaryDirectory(prefix="pydaub-") as folder:
        engine = ProcessEngine(task, arguments.jobs, Path(folder), Limits(arguments.timeout, arguments.memory))
        return run(strategy_for(name, task, schedule), engine)


def halved(task: Task, min_resources: str, jobs: int) -> str:
    """Return the learner that scikit-learn's search selects, after it has trained it on all rows."""
    train, valid = task.data.train(task.data.full_size), task.data.valid()
    estimators = {name: _ready(learner.estimator) for name, learner in task.learners.items()}
    rows = pd.concat([train.X, valid.X]) if isinstance(train.X, pd.DataFrame) else np.vstack([train.X, valid.X])
    fold = np.repeat([-1, 0], [len(train.y), len(valid.y)])
    search = HalvingRandomSearchCV(
        Pipeline([("learner", next(iter(estimators.values())))]),
        {"learner": list(estimators.values())},
        n_candidates=len(estimators),
        min_resources=min_resources,
        cv=PredefinedSplit(fold),
        scoring=task.scoring,
        random_state=0,
        refit=False,
        n_jobs=jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners that fail on a sample without some class
        search.fit(rows, np.concatenate([train.y, valid.y]))
    best = search.best_params_["learner"]
    clone(best).fit(train.X, train.y)
    return next(name for name, estimator in estimators.items() if estimator is best)


def _ready(estimator: BaseEstimator) -> BaseEstimator:
    """Return the estimator with the seed and the threads that pydaub gives it."""
    return clone(estimator).set_params(**changed_parameters(estimator, 0, 1))


def compared(path: str, arguments: argparse.Namespace) -> None:
    """Print a line for each way to select."""
    data = load(path, arguments.target, split=Split(fraction=arguments.fraction))
    learners = portfolio(arguments.learners, data.schema)
    scoring = "accuracy" if data.schema.task == "classification" else "r2"
    task = Task(data, learners, scoring=scoring, metrics=False, reuse=False)
    scores: dict[str, float] = {}
    slowest = 0.0
    for name in ["full", *(each for each in STRATEGIES if each != "full"), *HALVING]:
        begun = time.perf_counter()
        if name in HALVING:
            selected: str | None = halved(task, HALVING[name], arguments.jobs)
            trainings = "?"
        else:
            result = raced(task, name, arguments)
            selected, trainings = result.selected, str(len(result.steps) + len(result.speculated))
            if name == "full":
                outcomes = {step.allocation: step.outcome for step in result.steps}
                for learner in learners:
                    outcome = outcomes[Allocation(learner, data.full_size)]
                    if isinstance(outcome, Measurement):
                        scores[learner] = outcome.valid_score
        wall = time.perf_counter() - begun
        slowest = slowest or wall
        score = scores.get(selected or "")
        loss = "not known" if score is None else f"{max(scores.values()) - score:.4f}"
        print(
            f"| {Path(path).stem} | {data.full_size:,} | {name} | {trainings} | {wall:,.0f} | {slowest / wall:.1f} |"
            f" {selected} | {loss} |",
            flush=True,
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--target", default="target")
    parser.add_argument("--learners", default="sklearn")
    parser.add_argument("--fraction", type=float, default=0.3)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--memory", type=int, default=6 * 10**9)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| data | rows to train | selected by | trainings | wall s | speed-up | selected | loss |")
    print("|---|--:|---|--:|--:|--:|---|--:|", flush=True)
    for path in arguments.files:
        compared(path, arguments)


if __name__ == "__main__":
    main()
