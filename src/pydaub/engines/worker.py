"""What runs in a worker process: evaluate a learner, or fit it, with the task in a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import cloudpickle

from pydaub.data.prepared import write_whole
from pydaub.evaluation.evaluate import evaluate, fitted_on
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.child import MEMORY_VARIABLE, Answer, mentions_memory
from pydaub.records import Allocation, Failure, Measurement, outcome_to_json

# The functions below, by the names under which a `Nursery` finds them.
EVALUATE: Final = f"{__name__}:evaluate_at"
FIT: Final = f"{__name__}:fit_at"


def evaluate_at(folder: str, learner: str, size: int, above: float) -> Answer:
    """Evaluate a learner, and keep it in the folder if its validation score is at least `above`."""
    bench = Workbench(Path(folder))
    allocation = Allocation(learner, size)
    evaluation = evaluate(bench.task(learner), allocation, bench)
    outcome = evaluation.outcome
    if isinstance(outcome, Measurement) and evaluation.fitted is not None and outcome.valid_score >= above:
        bench.shelve(allocation, outcome.valid_score, evaluation.fitted)
    if isinstance(outcome, Failure) and MEMORY_VARIABLE in os.environ and mentions_memory(outcome.message):
        outcome = replace(outcome, kind="memory")  # libraries in C++ raise exceptions of their own
    return Answer(outcome_to_json(outcome), reusable=isinstance(outcome, Measurement))


def fit_at(folder: str, learner: str, size: int, path: str, *, with_validation: bool) -> str:
    """Fit a learner, pickle it to `path`, and return the path."""
    task = Workbench(Path(folder)).task(learner)
    fitted = fitted_on(task, Allocation(learner, size), with_validation=with_validation)
    write_whole(Path(path), cloudpickle.dumps(fitted))
    return path
