"""Small data sets in each form that learners accept, and learners that train fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array
from sklearn.base import clone

from pydaub.data.schema import Column, Schema, Task

FEWER = {"n_estimators": 3, "iterations": 3, "max_iter": 20, "max_rules": 3}  # rounds of training


class Rows(NamedTuple):
    schema: Schema
    X: Any
    y: Any
    new: Any  # rows to predict; some of their values are not in X


def made(form: str, task: Task = "classification", rows: int = 40, width: int = 4, classes: int = 2) -> Rows:
    """Return rows whose target depends on the first column, and 15 new rows."""
    random = np.random.default_rng(7)
    total = rows + 15
    values = random.normal(size=(total, width))
    values[:, -1] = 3.0  # constant
    signal = values[:, 0] + 0.1 * random.normal(size=total)
    if task == "regression":
        y: Any = 1000.0 + 50 * signal
        labels: tuple[Any, ...] = ()
    else:
        names = np.array([f"class {letter}" for letter in "abcdefg"])
        y = names[np.argsort(np.argsort(signal)) * classes // total]
        labels = tuple(names[:classes])
    X, columns = _formed(form, values, random)
    width = X.shape[1]
    kind: Any = {"missing": "matrix", "polars": "frame", "numbers": "frame", "mixed": "frame"}.get(form, form)
    return Rows(Schema(kind, task, width, columns, labels), X[:rows], y[:rows], X[rows:])


def quick(estimator: Any) -> Any:
    """Return a clone with few rounds of training, one thread and a fixed seed."""
    settings = {}
    for key, value in estimator.get_params().items():
        last = key.rpartition("__")[2]
        if last in FEWER and type(value) is int:
            settings[key] = FEWER[last]
        elif last in {"random_state", "n_jobs"}:
            settings[key] = 1
    return clone(estimator).set_params(**settings)


def _formed(form: str, values: Any, random: Any) -> tuple[Any, tuple[Column, ...]]:
    columns = tuple(Column(f"x[{index}]", "numeric") for index in range(values.shape[1]))
    match form:
        case "matrix":
            return values.astype(np.float32), columns
        case "missing":
            values[::7, 1] = np.nan
            return values, tuple(Column(column.name, "numeric", missing=1) for column in columns)
        case "sparse":
            values[np.abs(values) < 0.5] = 0
            return csr_array(values), ()
        case "numbers":  # numeric columns with names that the boosting libraries refuse
            values[::7, 1] = np.nan
            return pd.DataFrame(values, columns=[column.name for column in columns]), columns
        case "mixed":  # the smallest frame with numbers, categories and booleans
            frame, kinds = _frame(values, random)
            return frame[["x[0]", "x[1]", "colour", "flag"]], (*columns[:2], kinds[0], kinds[2])
        case _:
            frame, kinds = _frame(values, random)
            return (pl.from_pandas(frame) if form == "polars" else frame), (*columns, *kinds)


def _frame(values: Any, random: Any) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    total = len(values)
    frame = pd.DataFrame({f"x[{index}]": values[:, index] for index in range(values.shape[1])})
    frame.iloc[::6, 1] = np.nan
    words = np.array(["red wine", "white wine with fish", "strong beer", "dark beer and bread"])
    frame["colour"] = pd.Series(random.choice(["red", "green", "blue"], total)).where(values[:, 0] < 1.5, None)
    frame.loc[total - 3 :, "colour"] = "new"
    frame["code"] = pd.Categorical(random.choice(["A", "B", "C"], total))
    frame["flag"] = values[:, 1] > 0
    frame["day"] = pd.Timestamp("2024-02-03") + pd.to_timedelta(random.integers(0, 10_000, total), unit="h")
    frame.loc[::9, "day"] = pd.NaT
    frame["written"] = pd.Series([f"2024-0{month}-11" for month in random.integers(1, 9, total)], dtype=object)
    frame["note"] = pd.Series(random.choice(words, total)).where(random.random(total) < 0.9, None)
    kinds = {
        "colour": "categorical",
        "code": "categorical",
        "flag": "boolean",
        "day": "date",
        "written": "date",
        "note": "text",
    }
    return frame, tuple(Column(name, kind, missing=1) for name, kind in kinds.items())  # type: ignore[arg-type]  # mypy sees str, not the literal kinds
