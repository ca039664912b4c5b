"""Compare a run with a plain loop over the same learners, in seconds of fitting and scoring.

    python benchmarks/plain.py FILE.parquet [FILE.parquet ...] [--target target] [--timeout 60] [--keep FOLDER]

The loop fits every learner on all training rows and predicts the validation rows once, with one thread and the same
limit for a training; a learner that reaches the limit counts with it. The run is `pydaub run` as a user would call it,
with one worker, so that its seconds are those of one core. Its seconds are those of all evaluations: fitting, scoring,
and whatever encoding they did. The loss is in the loop's scores.

Then come the times that a run would project from an eighth of the rows, against the loop's: every learner is evaluated
at the sizes of a run, and its cost on all rows is projected from these.

`--keep` keeps the seconds of the loop, one file for each data set, and reads them again instead of repeating the loop.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from pydaub.data import Split, load
from pydaub.evaluation.evaluate import changed_parameters
from pydaub.learners import portfolio
from pydaub.records import VALIDATION_FRACTION

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pydaub.data import Prepared
    from pydaub.learners import Learner


class Plain(NamedTuple):
    """What the loop measured of a learner; no score where it reached the limit or failed."""

    fitting: float
    scoring: float
    score: float | None


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
    with threadpool_limits(1):
        began = time.perf_counter()
        estimator.fit(sample.X, sample.y)
        fitted = time.perf_counter()
        predicted = np.asarray(estimator.predict(valid.X)).ravel()
        ended = time.perf_counter()
    spread = float(np.mean((valid.y - valid.y.mean()) ** 2)) if data.schema.task == "regression" else 0.0
    score = 1 - float(np.mean((predicted - valid.y) ** 2)) / spread if spread else float(np.mean(predicted == valid.y))
    answer.send((fitted - began, ended - fitted, score))


def loop(path: Path, data: Prepared, arguments: argparse.Namespace) -> dict[str, Plain]:
    """Train every learner on all rows, or read what an earlier loop measured."""
    kept = arguments.keep and Path(arguments.keep) / f"{path.stem}.json"
    if kept and kept.exists():
        return {name: Plain(*each) for name, each in json.loads(kept.read_text()).items()}
    learners = portfolio(arguments.learners, data.schema)
    found = {name: trained(learner, data, arguments.timeout) for name, learner in learners.items()}
    if kept:
        kept.write_text(json.dumps(found, indent=1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--target", default="target")
    parser.add_argument("--learners", default="sklearn")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    for path in arguments.files:
        data = load(str(path), arguments.target, split=Split(fraction=VALIDATION_FRACTION))
        found = loop(path, data, arguments)
        print(path.stem, sum(each.fitting + each.scoring for each in found.values()), flush=True)


if __name__ == "__main__":
    main()
