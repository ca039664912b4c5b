"""Measure what pydaub costs beyond the training itself, and what a second worker brings.

    python benchmarks/overhead.py [DATA.parquet] [--target target] [--learners NAMES] [--repeat 3]

Serial: wall time of a whole run in one process, relative to a plain loop that repeats the same fits and scores right
afterwards. Processes: the same run with one worker, each evaluation in a separate process. Bootstrap: time from the
first submission to the end of the bootstrap, alternately with 1 and with 2 workers. Without a file, the parity problem
is used. Figures are kept in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.metrics import get_scorer

from pydaub import Account, Allocation, Daub, Result, Schedule, SerialEngine, Submitted, run
from pydaub.data import Prepared, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task, changed_parameters, evaluate, seed_of, thread_controller
from pydaub.learners import portfolio

if TYPE_CHECKING:
    from pydaub.events import Event

DEFAULT = "sklearn,-catboost,-svm-*"  # the overhead would disappear in the time of the slowest


def bare_loop(task: Task, result: Result) -> float:
    """Repeat the fits and scores of a run in a plain loop and return the seconds."""
    scorer = get_scorer(str(task.scoring))
    valid = task.data.valid()
    began = time.perf_counter()
    with warnings.catch_warnings(), thread_controller().limit(limits=task.threads):
        warnings.simplefilter("ignore")
        for step in result.steps:
            sample = task.data.train(step.allocation.size)
            estimator = clone(task.learners[step.allocation.learner].estimator)
            changed = changed_parameters(estimator, seed_of(task, step.allocation), task.threads)
            estimator.set_params(**changed).fit(sample.X, sample.y)
            scorer(estimator, sample.X, sample.y)
            scorer(estimator, valid.X, valid.y)
    return time.perf_counter() - began


def serial(task: Task, schedule: Schedule) -> tuple[Result, float]:
    """Run DAUB in this process; return the result and the wall time."""
    began = time.perf_counter()
    result = run(Daub(tuple(task.learners), schedule), SerialEngine(lambda a: evaluate(task, a).outcome))
    return result, time.perf_counter() - began


def processes(task: Task, schedule: Schedule, workers: int) -> tuple[Result, float, float]:
    """Run DAUB in worker processes; return the result, its wall time with the server up, and that of the bootstrap."""
    bootstrap = {Allocation(learner, size) for learner in task.learners for size in schedule.sizes[:3]}
    moments: dict[str, float] = {}

    def watch(event: Event, _: Account) -> None:
        moments.setdefault("first", time.perf_counter())
        if not isinstance(event, Submitted) and getattr(event, "allocation", None) in bootstrap:
            moments["bootstrapped"] = time.perf_counter()

    with TemporaryDirectory() as folder:
        engine = ProcessEngine(task, workers, Path(folder))
        engine.submit(Allocation(next(iter(task.learners)), schedule.sizes[0]))
        engine.collect()  # now the server is up
        result = run(Daub(tuple(task.learners), schedule), engine, watch=watch)
        ended = time.perf_counter()
    return result, ended - moments["first"], moments["bootstrapped"] - moments["first"]


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", default="parity:12000", help="data file (default: parity:12000)")
    parser.add_argument("--target", help="column to predict")
    parser.add_argument("--learners", default=DEFAULT, help=f"portfolio or names (default: {DEFAULT})")
    parser.add_argument("--repeat", type=int, default=3, help="number of repetitions (default: 3)")
    arguments = parser.parse_args()
    data: Prepared = load(arguments.data, arguments.target)
    learners = portfolio(arguments.learners, data.schema)
    schedule = Schedule.geometric(data.full_size)
    options: dict[str, Any] = {"scoring": "accuracy", "metrics": False, "reuse": False}
    task = Task(data, learners, **options)
    serial(task, schedule)  # warm caches
    print(f"{len(learners)} learners on {data.full_size:,} rows of {arguments.data}")
    print("| | wall s | over the bare loop |\n|---|--:|--:|")
    for _ in range(arguments.repeat):
        result, wall = serial(task, schedule)
        bare = bare_loop(task, result)
        _, isolated, _ = processes(task, schedule, 1)
        print(f"| bare loop, {len(result.steps)} fits | {bare:.2f} | 1 |")
        print(f"| serial | {wall:.2f} | {wall / bare:.3f} |")
        print(f"| one worker | {isolated:.2f} | {isolated / bare:.3f} |")
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(arguments.repeat):
        for workers, found in times.items():
            found.append(processes(task, schedule, workers)[2])
    one, two = (statistics.median(times[workers]) for workers in (1, 2))
    print(f"\nbootstrap: {one:.2f} s with 1 worker, {two:.2f} s with 2: {one / two:.2f} times faster")


if __name__ == "__main__":
    main()
