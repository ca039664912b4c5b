"""Laws that every learner of every built-in portfolio obeys."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

from learners.samples import Rows, made, quick
from pydaub import InputError
from pydaub.data.schema import Task
from pydaub.learners import Recipe, built_in, portfolio, recipes
from weka_here import needs_old_weka

TASKS: tuple[Task, ...] = ("classification", "regression")
LEAST = {"sklearn": 45, "strong": 100, "spaces": 5, "streaming": 2, "weka": 41}  # learners
FORMS = ("matrix", "mixed")
FAST_WEKA = {"weka-j48", "weka-naive-bayes-updateable", "weka-random-tree", "weka-ibk-5"}


class Case(NamedTuple):
    recipe: Recipe
    task: Task
    form: str


def cases() -> list[Any]:
    """Return each learner with rows of each form that it accepts.

    Most of WEKA's learners are marked as slow, and all but one of each family of `strong`.
    """
    found = []
    for task in TASKS:
        for table in LEAST:
            if table == "spaces":  # no learners before a point is chosen
                continue
            families: set[str] = set()
            for name, recipe in recipes(rows_of("matrix", task).schema, table).items():
                marks = [needs_old_weka] if table == "weka" else []
                if table == "weka" and name not in FAST_WEKA:
                    marks.append(pytest.mark.slow("weka"))
                again = table == "strong" and recipe.family in families  # other parameters of the same code
                if again:
                    marks.append(pytest.mark.slow("random"))
                if recipe.package == "pytabkit":
                    marks.append(pytest.mark.skipif(find_spec("pytabkit") is None, reason="RealMLP is not installed"))
                families.add(recipe.family)
                forms = FORMS[-1:] if again else FORMS
                found += [
                    pytest.param(Case(recipe, task, form), id=f"{task}-{name}-{form}", marks=marks) for form in forms
                ]
    return found


@cache
def rows_of(form: str, task: Task) -> Rows:
    return made(form, task)


every_learner = pytest.mark.parametrize("case", cases())


def trained(estimator: Any, rows: Rows) -> Any:
    np.random.seed(1)  # noqa: NPY002  # as in a run: some learners ignore `random_state`
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the data has a constant column, and `quick` allows few rounds
        return estimator.fit(rows.X, rows.y)


def untrained(case: Case) -> Any:
    return quick(case.recipe.learner(rows_of(case.form, case.task).schema).estimator)


@every_learner
def test_it_predicts_the_same_by_its_seed_after_clone_and_after_pickle(case: Case) -> None:
    """One test, because training takes most of the time."""
    rows = rows_of(case.form, case.task)
    fitted = trained(untrained(case), rows)
    predictions = fitted.predict(rows.new)
    assert predictions.shape == (rows.new.shape[0],)
    if case.task == "regression":
        assert np.isfinite(predictions).all()
    else:
        assert set(predictions) <= set(rows.y)
    assert (pickle.loads(pickle.dumps(fitted)).predict(rows.new) == predictions).all()
    again = trained(clone(pickle.loads(pickle.dumps(untrained(case)))), rows)
    assert (again.predict(rows.new) == predictions).all()


def tables(task: Task, form: str = "matrix") -> dict[str, dict[str, Recipe]]:
    return {name: recipes(rows_of(form, task).schema, name) for name in LEAST}


@pytest.mark.parametrize("task", TASKS)
def test_names_and_descriptions_are_unique_and_on_one_line(task: Task) -> None:
    every = [recipe for table in tables(task).values() for recipe in table.values()]
    assert len({recipe.name for recipe in every}) == len(every)
    for recipe in every:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", recipe.name)
        assert re.fullmatch(r"\S.{3,140}[^.\s]", recipe.description)
    for name, table in tables(task).items():
        assert len({recipe.description for recipe in table.values()}) == len(table)
        assert len(table) >= LEAST[name] or (name, task) == ("weka", "regression")


@pytest.mark.parametrize("task", TASKS)
def test_each_estimator_is_new_and_leaves_seed_and_threads_to_the_code_that_trains(task: Task) -> None:
    schema = rows_of("matrix", task).schema
    for table in tables(task).values():
        for name, recipe in table.items():
            first, second = (recipe.learner(schema).estimator for _ in range(2))
            assert first is not second
            for key, value in first.get_params().items():
                if key.endswith(("random_state", "n_jobs")):
                    assert value is None or ("catboost" in name and value == 0), (name, key)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("form", ["sparse", "frame"])
def test_a_learner_that_cannot_be_used_says_what_to_do(task: Task, form: str) -> None:
    schema = rows_of(form, task).schema
    for name, recipe in (recipes(schema) | recipes(schema, "streaming")).items():
        if reason := recipe.obstacle(schema):
            assert re.search(r"\. (Leave it out|Install pydaub\[\w+\])\.$", reason), name
            for ask in (portfolio, built_in):
                with pytest.raises(InputError, match=re.escape(f"must be usable here, got {name!r}, but {reason}")):
                    ask(name, schema)
