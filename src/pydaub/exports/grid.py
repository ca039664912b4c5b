"""A run as the `cv_results_` of scikit-learn's `GridSearchCV`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pydaub.records import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.learners import Learner
    from pydaub.runs.result import Step


def cv_results(steps: tuple[Step, ...], learners: Mapping[str, Learner]) -> dict[str, Any]:
    """Return arrays with an entry for each allocation; ranks are among equal sizes only."""
    outcomes = [step.outcome for step in steps]
    valid = np.array([getattr(each, "valid_score", np.nan) for each in outcomes])
    sizes = np.array([step.allocation.size for step in steps])
    rank = pd.Series(valid).groupby(sizes).rank("min", ascending=False, na_option="bottom")  # failures come last
    searched = {name: parameters(learner) for name, learner in learners.items()}
    failures = [f"{each.kind}: {each.message}" if isinstance(each, Failure) else "" for each in outcomes]
    return {
        "learner": np.array([step.allocation.learner for step in steps], dtype=object),
        "size": sizes,
        "params": [searched[step.allocation.learner] for step in steps],
        "mean_train_score": np.array([getattr(each, "train_score", None) for each in outcomes], dtype=float),
        **_grid_columns([learners[step.allocation.learner].params or {} for step in steps]),
        "mean_test_score": valid,
        "std_test_score": np.array([_metric(each, "valid_score_std") for each in outcomes]),
        "rank_test_score": rank.to_numpy(np.int32),
        "mean_fit_time": np.array([getattr(each, "fitting", None) for each in outcomes], dtype=float),
        "mean_score_time": np.array([getattr(each, "scoring", None) for each in outcomes], dtype=float),
        "seconds": np.array([each.seconds for each in outcomes]),
        "bound": np.array([np.nan if step.bound is None else step.bound for step in steps]),
        "metrics": [dict(getattr(each, "metrics", {})) for each in outcomes],
        "failure": np.array(failures, dtype=object),
    }


def parameters(learner: Learner) -> dict[str, Any]:
    """Return what distinguishes a learner: its parameters, where they were searched, or its name."""
    return {"learner": learner.name} if learner.params is None else dict(learner.params)


def _grid_columns(entries: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an array for each parameter that was searched, as `GridSearchCV` does; entries without it are masked."""
    columns = {}
    for name in dict.fromkeys(name for entry in entries for name in entry):
        given = {place: entry[name] for place, entry in enumerate(entries) if name in entry}
        column = np.ma.MaskedArray(np.empty(len(entries), dtype=_dtype([*given.values()])), mask=True)
        for place, value in given.items():
            column[place] = value
        columns[f"param_{name}"] = column
    return columns


def _dtype(values: list[Any]) -> Any:
    """Return the type of an array of numbers; for other values, object."""
    kinds = {type(value) for value in values}
    plain = all(issubclass(each, bool | int | float | np.generic) for each in kinds)
    found = np.array(values).dtype if plain else np.dtype(object)
    return found if found.kind in "biuf" else object


def _metric(outcome: Any, name: str) -> float:
    """Return a metric of an outcome; nan where it has none."""
    return float(getattr(outcome, "metrics", {}).get(name, np.nan))
