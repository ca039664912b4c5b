"""Compare every strategy and scikit-learn's halving search on real training: wall time and loss.

    python benchmarks/live.py FILE.parquet [FILE.parquet ...] [--target target] [--jobs 2] [--timeout 60]

All methods get the same learners, rows and number of workers. They run one after the other and share no results. `full`
comes first: losses are measured against its scores on all rows, and speed-ups against its wall time. A learner that
reaches the timeout counts with that time and cannot be selected.

scikit-learn's search has no timeout. It gets the same learners, with the same threads and seed, but draws its own
samples and scores on samples of the validation rows. The learner it selects counts with the score that `full` measured
for it; if `full` has none, the loss is not known. Its time includes training the selected learner on all rows, which
the others do as well.
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
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # scikit-learn requires this import
from sklearn.model_selection import HalvingRandomSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline

from pydaub import STRATEGIES, Allocation, Measurement, run
from pydaub.algorithm.strategies import make_strategy
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task, changed_parameters
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.runs.plan import Sizes, scores_of

if TYPE_CHECKING:
    from pydaub import Result

# By default the search starts with a handful of rows; with "exhaust", its last round uses all of them.
HALVING = {"HalvingRandomSearchCV": "smallest", "HalvingRandomSearchCV, exhaust": "exhaust"}


def raced(task: Task, name: str, arguments: argparse.Namespace) -> Result:
    """Run a strategy without any known outcomes."""
    schedule, _ = Sizes().schedule(task.data.full_size)
    strategy = make_strategy(name, tuple(task.learners), schedule, scores=scores_of(task))
    with TemporaryDirectory(prefix="pydaub-") as folder:
        engine = ProcessEngine(task, arguments.jobs, Path(folder), Limits(arguments.timeout, arguments.memory))
        return run(strategy, engine)


def halved(task: Task, min_resources: str, jobs: int) -> str:
    """Run scikit-learn's search, train the selected learner on all rows, and return its name."""
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
        warnings.simplefilter("ignore")  # learners that fail if a class is missing in a sample
        search.fit(rows, np.concatenate([train.y, valid.y]))
    best = search.best_params_["learner"]
    clone(best).fit(train.X, train.y)
    return next(name for name, estimator in estimators.items() if estimator is best)


def _ready(estimator: BaseEstimator) -> BaseEstimator:
    """Return a copy of the estimator with the seed and the number of threads that pydaub sets."""
    return clone(estimator).set_params(**changed_parameters(estimator, 0, 1))


def compared(path: str, arguments: argparse.Namespace) -> None:
    """Print one line for each method."""
    data = load(path, arguments.target, split=Split(fraction=arguments.fraction))
    learners = portfolio(arguments.learners, data.schema)
    scoring = "accuracy" if data.schema.task == "classification" else "r2"
    task = Task(data, learners, scoring=scoring, metrics="none", reuse=False)
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
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", help="data files")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names (default: sklearn)")
    parser.add_argument("--fraction", type=float, default=0.3, help="share of validation rows (default: 0.3)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one training (default: 60)")
    parser.add_argument("--memory", type=int, default=6 * 10**9, help="bytes for one training (default: 6 GB)")
    parser.add_argument("--jobs", type=int, default=2, help="number of workers (default: 2)")
    arguments = parser.parse_args()
    print("| data | rows to train | selected by | trainings | wall s | speed-up | selected | loss |")
    print("|---|--:|---|--:|--:|--:|---|--:|", flush=True)
    for path in arguments.files:
        compared(path, arguments)


if __name__ == "__main__":
    main()
