"""What runs in a worker process: evaluate a learner, or fit it, with the task in a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import cloudpickle
import numpy as np
import pandas as pd

from pydaub.data import prepare
from pydaub.data.prepared import write_whole
from pydaub.errors import FolderTrouble
from pydaub.evaluation.combining import combine
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.evaluation.workbench import KEPT, Workbench
from pydaub.isolation.child import MEMORY_VARIABLE, Answer, mentions_memory
from pydaub.learners import portfolio
from pydaub.records import Allocation, Failure, Measurement, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Callable

TROUBLE: Final = "trouble"  # key of an answer that is about the folder, not about the learner


def warm_up() -> None:
    """Evaluate two small learners: what libraries do on first use is then done, for all workers that are forked.

    These learners start no threads, which a fork would lose.
    """
    rows = pd.DataFrame({"number": np.arange(40.0), "word": ["a", "b", None, "c"] * 10})
    data = prepare(rows, np.tile(["no", "yes"], 20))
    learners = portfolio("tree,ridge", data.schema)
    task = Task(data, learners, scoring="accuracy", score_rows="few", metrics="all")
    with TemporaryDirectory(prefix="pydaub-") as folder:
        bench = Workbench(Path(folder))
        bench.lay_out(task)
        for name in learners:
            evaluate(bench.task(name), Allocation(name, 20), bench)


def evaluate_at(folder: str, learner: str, size: int, above: float, gpu: str | None = None) -> Answer:
    """Evaluate a learner, and keep it in the folder if its validation score is at least `above`.

    `gpu` is the only one that it may use.
    """
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    bench = Workbench(Path(folder))
    allocation = Allocation(learner, size)
    try:
        task = bench.task(learner)
    except FolderTrouble as error:
        return Answer({TROUBLE: str(error)}, reusable=False)
    evaluation = evaluate(task, allocation, bench)
    outcome = evaluation.outcome
    if isinstance(outcome, Measurement) and evaluation.fitted is not None and outcome.valid_score >= above:
        bench.shelve(allocation, outcome.valid_score, evaluation.fitted)
    if isinstance(outcome, Failure) and MEMORY_VARIABLE in os.environ and mentions_memory(outcome.message):
        outcome = replace(outcome, kind="memory")  # libraries in C++ raise exceptions of their own
    return Answer(outcome_to_json(outcome), reusable=isinstance(outcome, Measurement))


def finish_at(call: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401  # of either
    """Do what follows a run: "combine" or "fit"."""
    calls: dict[str, Callable[..., dict[str, Any]]] = {"combine": combine_at, "fit": fit_at}
    return calls[call](**arguments)


def combine_at(folder: str, members: list[tuple[str, int, float]]) -> dict[str, Any]:
    """Choose an ensemble among learners that the folder keeps; return its fields, none if there is no ensemble."""
    bench = Workbench(Path(folder))
    try:
        task = bench.task(members[0][0])
    except FolderTrouble as error:
        return {TROUBLE: str(error)}
    found = {name: bench.fitted(Allocation(name, size), score) for name, size, score in members}
    combination = combine(task, {name: fitted for name, fitted in found.items() if fitted is not None})
    return {} if combination is None else combination._asdict()


def fit_at(folder: str, learner: str, size: int, path: str, *, with_validation: bool) -> dict[str, Any]:
    """Fit a learner and pickle it to `path`; return the trouble with the folder, if there was any."""
    try:
        task = Workbench(Path(folder)).task(learner)
    except FolderTrouble as error:
        return {TROUBLE: str(error)}
    content = cloudpickle.dumps(fitted_on(task, Allocation(learner, size), with_validation=with_validation))
    try:
        write_whole(Path(path), content)
    except OSError as error:
        return {TROUBLE: f"{path} could not be written: {error.strerror}. {KEPT}"}
    return {}
