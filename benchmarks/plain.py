"""Compare a run with a plain loop over the same learners, in seconds of fitting and scoring.

    python -m benchmarks.plain FILE.parquet [FILE.parquet ...] [--target target] [--timeout 60] [--keep FOLDER]
        [--source FOLDER] [--peers]

The loop fits every learner on all training rows and predicts the validation rows once, with one thread and the same
limit for a training; a learner that reaches the limit counts with it. The run is `pydaub run` as a user would call it,
on one core, so that its seconds are those of one core. Its seconds are those of all evaluations, whatever encoding they
did included. Losses are in the scores of the loop. `--source` runs another version of pydaub, from its `src` folder.

The second table has the seconds that a run would project for all rows from an eighth of them, against those of the
loop: every learner is evaluated at the sizes of a run up to there.

`--peers` adds HalvingRandomSearchCV over the same learners, LazyPredict, and how long FLAML needs to reach the score of
the run, of those that are installed, each with one core and at most as much time as the loop.

`--keep` keeps the seconds of the loop, one file for each data set, and reads them again instead of repeating the loop.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from contextlib import closing, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.live import halved
from pydaub.algorithm.seconds import USUAL_GROWTH, seconds_ahead
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task, changed_parameters
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.learners.costs import growths_of
from pydaub.records import VALIDATION_FRACTION, Allocation, Measurement
from pydaub.runs.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from pydaub.data import Prepared
    from pydaub.learners import Learner

EIGHTH = 5  # a size of at most this part of all rows is "an eighth": schedules have no exact one
SHORT = 0.1  # seconds; shorter trainings cost nothing, however they are projected


class Plain(NamedTuple):
    """What the loop measured of a learner; no score where it reached the limit or failed."""

    fitting: float
    scoring: float
    score: float | None

    @property
    def seconds(self) -> float:
        """Fitting and scoring together."""
        return self.fitting + self.scoring


class Ran(NamedTuple):
    """What a run took: wall time, seconds of evaluations and of fitting in them, and the selected learner.

    `dearest` is the most expensive learner that was not selected, and `share` its share of the seconds.
    """

    wall: float
    seconds: float
    fitting: float
    selected: str
    score: float
    dearest: str
    share: float


def trained(learner: Learner, data: Prepared, timeout: float) -> Plain:
    """Fit a learner and predict the validation rows, in a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_train, args=(learner, data, theirs))
    child.start()
    theirs.close()
    try:
        found = Plain(*ours.recv()) if ours.poll(timeout) else Plain(timeout, 0.0, None)
    except EOFError:
        found = Plain(0.0, 0.0, None)
    child.kill()
    child.join()
    return found


def _train(learner: Learner, data: Prepared, answer: Connection) -> None:
    warnings.simplefilter("ignore")
    estimator = clone(learner.estimator).set_params(**changed_parameters(learner.estimator, 0, 1))
    sample, valid = data.train(data.full_size), data.valid()
    rows, new = sample.X, valid.X
    with threadpool_limits(1):
        began = time.perf_counter()
        estimator.fit(rows, sample.y)
        fitted = time.perf_counter()
        predicted = np.asarray(estimator.predict(new)).ravel()
        ended = time.perf_counter()
    answer.send((fitted - began, ended - fitted, score_of(predicted, valid.y, data)))


def score_of(predicted: np.ndarray[Any, Any], y: np.ndarray[Any, Any], data: Prepared) -> float:
    """Return the accuracy, or r2 for a regression."""
    if data.schema.task == "classification":
        return float(np.mean(predicted == y))
    return 1 - float(np.mean((predicted - y) ** 2) / np.mean((y - y.mean()) ** 2))


def loop(path: Path, data: Prepared, arguments: argparse.Namespace) -> dict[str, Plain]:
    """Train every learner on all rows, or read what an earlier loop measured."""
    kept = arguments.keep and Path(arguments.keep) / f"{path.stem}.json"
    if kept and kept.exists():
        return {name: Plain(*each) for name, each in json.loads(kept.read_text()).items()}
    learners = portfolio(arguments.learners, data.schema)
    found = {name: trained(learner, data, arguments.timeout) for name, learner in learners.items()}
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, indent=1))
    return found


def raced(path: Path, arguments: argparse.Namespace) -> Ran:
    """Run the command on one core and read its journal."""
    environment = {**os.environ, **({"PYTHONPATH": arguments.source} if arguments.source else {})}
    options = ["--target", arguments.target, "--learners", arguments.learners, "--json", "--quiet"]
    with TemporaryDirectory(prefix="pydaub-") as folder:
        command = [sys.executable, "-m", "pydaub", "run", str(path.absolute()), "--out", f"{folder}/run", *options]
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603  # our own command
            [*command, "--learner-timeout", str(arguments.timeout)],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}),  # no threads here
        )
        wall = time.perf_counter() - began
        events = [json.loads(line) for line in Path(folder, "run", "journal.jsonl").read_text().splitlines()]
    told, outcomes = json.loads(done.stdout), [event for event in events if event["kind"] == "evaluated"]
    seconds, fitting = (sum(event.get(part) or 0.0 for event in outcomes) for part in ("seconds", "fitting"))
    selected, each = told["selected"], Counter[str]()
    for event in outcomes:
        each[event["learner"]] += event["seconds"]
    others = [(took, name) for name, took in each.items() if name != selected]
    took, dearest = max(others, default=(0.0, "none"))
    return Ran(wall, seconds, fitting, selected, told["valid_score"], dearest, took / seconds)


def projected(data: Prepared, arguments: argparse.Namespace) -> dict[str, float]:
    """Evaluate every learner up to about an eighth of the rows; return its projected seconds on all rows."""
    learners = portfolio(arguments.learners, data.schema)
    planned = plan(Task(data, learners, scoring=None, metrics="none"), "frugal")
    growths = growths_of({name: learner.estimator for name, learner in learners.items()})
    sizes = [size for size in planned.strategy.schedule.sizes if size * EIGHTH <= data.full_size]
    found = {}
    with (
        TemporaryDirectory(prefix="pydaub-") as folder,
        closing(ProcessEngine(planned.task, 1, Path(folder), Limits(arguments.timeout))) as engine,
    ):
        for name in learners:
            points = []
            for size in sizes:
                engine.submit(Allocation(name, size))
                collected = engine.collect()
                if collected and isinstance(collected[1], Measurement):
                    points.append((size, collected[1]))
            if points:
                growth = growths.get(name, USUAL_GROWTH)
                found[name] = seconds_ahead(points, data.full_size, growth, data.valid_size)
    return found


def peers(data: Prepared, limit: float, wanted: float, arguments: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Return seconds and score of other tools; where one is not installed, it is left out."""
    learners = portfolio(arguments.learners, data.schema)
    task = Task(data, learners, scoring="accuracy" if data.schema.task == "classification" else "r2")
    found = {"HalvingRandomSearchCV, exhaust": _limited(lambda: _halved(task), 3 * limit)}
    if find_spec("lazypredict"):
        found["LazyPredict, its best"] = _limited(lambda: _lazy(data), 3 * limit)
    if find_spec("flaml"):
        found["FLAML, to the score of the run"] = _limited(lambda: _flaml(data, limit, wanted), 2 * limit)
    return found


def _limited(call: Callable[[], tuple[float, float]], limit: float) -> tuple[float, float]:
    """Call in a process of its own, on one core; (limit, nan) if that takes longer, (nan, nan) if it fails."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def work() -> None:
        warnings.simplefilter("ignore")
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        with suppress(Exception), threadpool_limits(1):
            theirs.send(call())

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(limit) else (limit, math.nan)
    except EOFError:
        found = (math.nan, math.nan)
    child.kill()
    child.join()
    return found


def _halved(task: Task) -> tuple[float, float]:
    began = time.perf_counter()
    name = halved(task, "exhaust", 1)
    seconds = time.perf_counter() - began
    return seconds, trained(task.learners[name], task.data, 3600.0).score or math.nan


def _lazy(data: Prepared) -> tuple[float, float]:
    lazy = import_module("lazypredict.Supervised")
    sample, valid = data.train(data.full_size), data.valid()
    classify = data.schema.task == "classification"
    kind = lazy.LazyClassifier if classify else lazy.LazyRegressor
    began = time.perf_counter()
    models, _ = kind(verbose=0, ignore_warnings=True).fit(sample.X, valid.X, sample.y, valid.y)
    return time.perf_counter() - began, float(models["Accuracy" if classify else "R-Squared"].max())


def _flaml(data: Prepared, limit: float, wanted: float) -> tuple[float, float]:
    """Search on the same validation rows; return when the score was reached, or the whole time and the best score."""
    sample, valid = data.train(data.full_size), data.valid()
    classify = data.schema.task == "classification"
    with TemporaryDirectory(prefix="flaml-") as folder:
        log = Path(folder, "log")
        import_module("flaml").AutoML().fit(
            sample.X,
            sample.y,
            X_val=valid.X,
            y_val=valid.y,
            task="classification" if classify else "regression",
            metric="accuracy" if classify else "r2",
            time_budget=limit,
            n_jobs=1,
            verbose=0,
            seed=0,
            log_file_name=str(log),
        )
        tried = [each for line in log.read_text().splitlines() if "validation_loss" in (each := json.loads(line))]
    reached = [each["wall_clock_time"] for each in tried if 1 - each["validation_loss"] >= wanted]
    return min(reached, default=limit), max(1 - each["validation_loss"] for each in tried)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="data files")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names (default: sklearn)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one training (default: 60)")
    parser.add_argument("--keep", help="folder that keeps the seconds of the loop")
    parser.add_argument("--source", help="the src folder of another version of pydaub")
    parser.add_argument("--peers", action="store_true", help="compare with other tools too")
    parser.add_argument("--no-projections", action="store_true", help="leave the second table out")
    arguments = parser.parse_args()
    print(
        "| data | rows to train | loop s | run s | times faster | of it fitting | wall s | times the winner | loss % "
        "| dearest of the others |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|", flush=True)
    ratios, losses, errors, others = [], [], [], []
    for path in arguments.files:
        data = load(str(path), arguments.target, split=Split(fraction=VALIDATION_FRACTION))
        plain, ran = loop(path, data, arguments), raced(path, arguments)
        everything = sum(each.seconds for each in plain.values())
        best = max(each.score for each in plain.values() if each.score is not None)
        loss = 100 * (best - (plain[ran.selected].score or -math.inf))
        ratios.append(everything / ran.seconds)
        losses.append(loss)
        share = f"{100 * ran.fitting / ran.seconds:.0f} %" if ran.fitting else "?"
        dearest = f"{ran.dearest} {100 * ran.share:.0f} %"
        alone = ran.wall / plain[ran.selected].seconds
        row = (f"{everything:.0f}", f"{ran.seconds:.1f}", f"{ratios[-1]:.1f}", share, f"{ran.wall:.0f}", f"{alone:.0f}")
        print(f"| {path.stem} | {data.full_size:,} | {' | '.join(row)} | {loss:.2f} | {dearest} |", flush=True)
        if not arguments.no_projections:
            for name, seconds in projected(data, arguments).items():
                if plain[name].seconds > SHORT:
                    beyond = plain[name].score is None and seconds > arguments.timeout  # it never ended
                    errors.append((0.0 if beyond else math.log2(seconds / plain[name].seconds), path.stem, name))
        if arguments.peers:
            others += [
                f"| {path.stem} | {tool} | {seconds:.0f} | {100 * (best - score):.2f} |"
                for tool, (seconds, score) in peers(data, everything, ran.score, arguments).items()
            ]
    print(f"\nMean {fmean(ratios):.1f} times, mean loss {fmean(losses):.2f} %, worst {max(losses):.2f} %.")
    if errors:
        within = [abs(error) <= 1 for error, *_ in errors]
        print(
            f"\nProjected from about an eighth of the rows: {100 * fmean(within):.0f} % of {len(errors)} trainings of"
        )
        print(f"more than {SHORT} s within a factor of 2. Farthest off:")
        for error, data_set, name in sorted(errors, key=lambda each: -abs(each[0]))[:8]:
            print(f"{data_set} {name} {2**error:.2f}")
    if others:
        print("\n| data | tool | s | loss % |\n|---|---|--:|--:|\n" + "\n".join(others))


if __name__ == "__main__":
    main()
