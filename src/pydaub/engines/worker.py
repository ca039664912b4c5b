"""What runs in a worker process: evaluate a learner, or fit it, with the task in a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import cloudpickle
import numpy as np
import pandas as pd

from pydaub.data import prepare
from pydaub.errors import FolderTrouble, one_line
from pydaub.evaluation.combining import combine
from pydaub.evaluation.commands import Call, evaluated
from pydaub.evaluation.evaluate import Task, evaluate, fitted_on
from pydaub.evaluation.workbench import Workbench, unpickled
from pydaub.isolation.child import Answer
from pydaub.learners import portfolio
from pydaub.learners.commands import Command
from pydaub.records import Allocation, Measurement, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.data import Prepared

UNPICKLABLE: Final = "unpicklable"  # key of an answer that says why a learner could not be pickled after its fit
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


def work_at(call: str, **arguments: Any) -> Any:  # noqa: ANN401  # an Answer, or a plain value
    """Carry out one of the calls below: "evaluate", or what follows a run: "combine", "fit" or "handle"."""
    calls: dict[str, Callable[..., Any]] = {
        "evaluate": evaluate_at,
        "combine": combine_at,
        "fit": fit_at,
        "handle": handle_at,
    }
    return calls[call](**arguments)


def evaluate_at(  # noqa: PLR0913, PLR0917  # what to evaluate, where, and with what
    folder: str,
    learner: str,
    size: int,
    above: float,
    gpu: str | None = None,
    cores: int = 1,
    seconds: float | None = None,
) -> Answer:
    """Evaluate a learner, and keep it in the folder if its validation score is at least `above`.

    `gpu` are the only ones that it may use, `cores` is the number of workers whose cores it may use, and `seconds` the
    time limit, which only a command is told.
    """
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    bench = Workbench(Path(folder))
    allocation = Allocation(learner, size)
    try:
        task = _on_cores(bench.task(learner), cores)
        if isinstance(task.learners[learner].estimator, Command):
            outcome = evaluated(Call(task, allocation, bench, task.threads, seconds, gpu or ""))
            return Answer(outcome_to_json(outcome), reusable=False)
        evaluation = evaluate(task, allocation, bench)
    except FolderTrouble as error:
        return Answer({TROUBLE: str(error)}, reusable=False)
    outcome = evaluation.outcome
    if isinstance(outcome, Measurement) and evaluation.fitted is not None and outcome.valid_score >= above:
        bench.shelve(allocation, outcome.valid_score, evaluation.fitted, evaluation.predicted)
    return Answer(outcome_to_json(outcome), reusable=isinstance(outcome, Measurement))


def _on_cores(task: Task, workers: int) -> Task:
    """Return the task with the threads of so many workers."""
    return replace(task, threads=workers * task.threads)


def combine_at(folder: str, members: list[tuple[str, int, float]]) -> dict[str, Any]:
    """Choose an ensemble among learners that the folder keeps; return its fields, none if there is no ensemble."""
    bench = Workbench(Path(folder))
    try:
        task = bench.task(members[0][0])
    except FolderTrouble as error:
        return {TROUBLE: str(error)}
    found = {name: bench.predicted(Allocation(name, size), score) for name, size, score in members}
    combination = combine(task, {name: predicted for name, predicted in found.items() if predicted is not None})
    return {} if combination is None else combination._asdict()


def fit_at(folder: str, learner: str, size: int, *, with_validation: bool, cores: int = 1) -> dict[str, Any]:
    """Fit a learner and pickle it into the folder; return why that was not possible, if it was not."""
    bench, allocation = Workbench(Path(folder)), Allocation(learner, size)
    try:
        task = _on_cores(bench.task(learner), cores)
        fitted = fitted_on(task, allocation, with_validation=with_validation)
        try:
            content = cloudpickle.dumps(fitted)
        except BaseException as error:  # noqa: BLE001  # pickling calls code of the user, which may raise anything
            return {UNPICKLABLE: one_line(error)}
        bench.write_selected(bench.selected(allocation, with_validation=with_validation), content)
    except FolderTrouble as error:
        return {TROUBLE: str(error)}
    return {}


def handle_at(folder: str, function: str, members: Mapping[str, str], **arguments: Any) -> dict[str, Any]:  # noqa: ANN401  # plain values
    """Call a function with learners that the folder keeps, with the prepared rows, and with plain values."""
    try:
        data = Workbench(Path(folder)).rows()
        loaded = {name: unpickled(Path(path)) for name, path in members.items()}
        return {"value": resolve_name(function)(loaded, data, **arguments)}
    except FolderTrouble as error:
        return {TROUBLE: str(error)}


def check(members: Mapping[str, Any], data: Prepared) -> None:
    """Do nothing: the learners could be loaded."""
