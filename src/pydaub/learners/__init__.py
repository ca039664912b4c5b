"""Learners to choose from: built-in portfolios, and those that users bring. `portfolio` parses what users write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.learners.base import Learner, Portfolio, Recipe
from pydaub.learners.commandfile import read_commands
from pydaub.learners.commands import Command
from pydaub.learners.encoding import encoded
from pydaub.learners.families import spaces, strong
from pydaub.learners.own import DUPLICATE, combinations, from_file, listed
from pydaub.learners.sklearn import CLASSIFIERS, REGRESSORS
from pydaub.learners.spaces import Space
from pydaub.learners.streaming import STREAMED_CLASSIFIERS, STREAMED_REGRESSORS
from pydaub.learners.weka.table import WEKA
from pydaub.records import PORTFOLIOS, is_command_file

if TYPE_CHECKING:
    from pydaub.data.schema import Schema, Task

__all__ = [
    "PAPER",
    "Command",
    "Learner",
    "Portfolio",
    "Recipe",
    "Space",
    "built_in",
    "combinations",
    "encoded",
    "from_file",
    "listed",
    "portfolio",
    "recipes",
]

# The names of the built-in portfolios. The names of the paper's learners all start with that of theirs.
DEFAULT, STRONG, SPACES, PAPER, STREAMING = PORTFOLIOS
USUAL: Final = {  # what learners are called elsewhere, in small letters alone
    "all": DEFAULT,
    "rf": "forest-100",
    "randomforest": "forest-100",
    "extratrees": "extra-trees-100",
    "gb": "gradient-boosting",
    "gbm": "lightgbm",
    "lgb": "lightgbm",
    "lgbm": "lightgbm",
    "xgb": "xgboost",
    "cat": "catboost",
    "dt": "tree",
    "decisiontree": "tree",
    "histgradientboosting": "hist-gradient-boosting",
    "knn": "knn-5",
    "kneighbors": "knn-5",
    "lr": "logistic",
    "logisticregression": "logistic",
    "linearregression": "linear",
    "nb": "naive-bayes-gaussian",
    "gaussiannb": "naive-bayes-gaussian",
    "nn": "mlp",
    "neuralnetwork": "mlp",
    "svc": "svm-rbf",
    "svr": "svm-rbf",
    "svm": "svm-rbf",
}


def recipes(schema: Schema, name: str = DEFAULT) -> dict[str, Recipe]:
    """Return the recipes of a built-in portfolio by name, including those that cannot be used here or on such rows.

    Parameters
    ----------
    schema
        Schema of the data; its task decides between classifiers and regressors.
    name
        One of `PORTFOLIOS`; "weka" has none for regression.
    """
    if name in (STRONG, SPACES):
        return {recipe.name: recipe for recipe in (strong if name == STRONG else spaces)(schema.task)}
    classifiers, regressors = {
        DEFAULT: (CLASSIFIERS, REGRESSORS),
        PAPER: (WEKA, ()),
        STREAMING: (STREAMED_CLASSIFIERS, STREAMED_REGRESSORS),
    }[name]
    return {recipe.name: recipe for recipe in (classifiers if schema.task == "classification" else regressors)}


def portfolio(
    spec: Any,  # noqa: ANN401  # text, a list of items, or what `listed` accepts
    schema: Schema,
    left_out: dict[str, str] | None = None,
) -> Portfolio:
    """Return the learners that `spec` names, in its order and without duplicates.

    Optional packages are imported only for the learners that are returned.

    Parameters
    ----------
    spec
        Text with commas, or a list. Each item is a portfolio (`sklearn`, the default; `strong`, many configurations of
        strong learners; `spaces`, whose configurations are searched during the run; `weka`, the paper's; `streaming`,
        which trains on samples larger than memory), the name of a learner, a pattern like `forest-*`, or a Python file.
        An item with a leading minus removes learners again; as the first item it removes them from the default
        portfolio. A list may also contain learners and (name, estimator) pairs.
    schema
        Schema of the data.
    left_out
        If given, it is filled with the learners that `spec` names but that cannot be used, and the reasons.

    Raises
    ------
    InputError
        If an item is unknown, cannot be used, or if no learner is left.

    Examples
    --------
    >>> from pydaub.data.schema import Schema
    >>> list(portfolio("knn-*, -knn-1, tree", Schema("matrix", "classification", 2, classes=(0, 1))))
    ['knn-5', 'knn-10', 'knn-25', 'tree']
    """
    if isinstance(spec, str):
        items: list[Any] = [item.strip() for item in spec.split(",") if item.strip()]
    elif isinstance(spec, Path):
        items = [spec]
    elif isinstance(spec, Mapping) or not isinstance(spec, Iterable) or hasattr(spec, "fit"):
        return listed(spec)
    else:
        items = list(spec)
    chosen = _chosen(items, schema)
    obstacles = {name: reason for name, item in chosen.items() if (reason := _obstacle(item, schema))}
    if left_out is not None:
        left_out.update(obstacles)
    if len(obstacles) == len(chosen):
        reason = next(iter(obstacles.values()), "")
        why = f"but {reason}" if reason else "which names none. Write sklearn for the default."
        raise InputError(f"`learners` must name at least one learner that can be used, got {spec!r}, {why}")
    usable = {name: item for name, item in chosen.items() if name not in obstacles}
    return {name: item.learner(schema) if isinstance(item, Recipe) else item for name, item in usable.items()}


def _built_in(schema: Schema) -> dict[str, Recipe]:
    return recipes(schema, STRONG) | recipes(schema) | recipes(schema, STREAMING) | recipes(schema, PAPER)


def addable(schema: Schema) -> list[str]:
    """Return the names of all built-in learners that can be used on rows of this form."""
    return [name for name, recipe in _built_in(schema).items() if not recipe.obstacle(schema)]


def built_in(name: str, schema: Schema) -> Learner:
    """Return the learner with this exact name from the built-in portfolios; files and patterns are not accepted."""
    known = _built_in(schema)
    if name not in known:
        raise InputError(
            f"`learner` must be in a portfolio (sklearn, strong, weka, streaming), got {name!r}. {_hint(name, known)}"
        )
    if reason := known[name].obstacle(schema):
        raise InputError(f"`learner` must be usable here, got {name!r}, but {reason}")
    return known[name].learner(schema)


def _chosen(items: list[Any], schema: Schema) -> dict[str, Recipe | Learner]:
    """Return what the items name, including what cannot be used."""
    chosen: dict[str, Recipe | Learner] = {}
    for index, item in enumerate(items):
        if isinstance(item, str) and item.startswith("-"):
            chosen = chosen if index else {**recipes(schema)}
            kept = {name: found for name, found in chosen.items() if not fnmatchcase(name, item[1:])}
            if len(kept) == len(chosen):
                raise InputError(f"`learners` must name learners to remove after a minus, got {item!r}: no match.")
            chosen = kept
        elif not _is_file(item) or item not in items[:index]:  # a file read again would give different learners
            for name, found in _meant(item, schema).items():
                if chosen.setdefault(name, found) is not found:
                    raise InputError(DUPLICATE.format(name))
    return chosen


def _meant(item: Any, schema: Schema) -> Mapping[str, Recipe | Learner]:  # noqa: ANN401  # as in `portfolio`
    if is_command_file(item):
        return read_commands(item).learners
    if _is_file(item):
        return from_file(item, schema)
    if not isinstance(item, str):
        return listed([item])
    found = _named(item, schema)
    obstacles = [recipe.obstacle(schema) for recipe in found.values()]
    if all(obstacles) and item in {*found, PAPER, STREAMING, SPACES}:  # a pattern skips what cannot be used
        raise InputError(f"`learners` must be usable here, got {item!r}, but {obstacles[0]}")
    return found


def _obstacle(item: Recipe | Learner, schema: Schema) -> str:
    return item.obstacle(schema) if isinstance(item, Recipe) else ""


def _named(item: str, schema: Schema) -> dict[str, Recipe]:
    """Return the recipes that an item names: a whole portfolio, one learner, or all that match a pattern."""
    starts = {"stream": STREAMING, PAPER: PAPER, "space": SPACES}
    table = next((name for start, name in starts.items() if item.startswith(start)), DEFAULT)
    if table == DEFAULT and item != DEFAULT and not _matching(item, recipes(schema)):
        table = STRONG
    known = recipes(schema, table)
    if not known:
        raise InputError(f"`learners` must be for {schema.task}, got {item!r}. WEKA's are classifiers.")
    if item == table:
        return known
    found = _matching(item, known)
    if not found:
        other: Task = "regression" if schema.task == "classification" else "classification"
        for table in (DEFAULT, STRONG):
            if _matching(item, recipes(replace(schema, task=other), table)):
                raise InputError(
                    f"`learners` must be for {schema.task} here, got {item!r}, which is for {other}. Set the task to"
                    f" {other} if you mean that, or choose one that `pydaub learners --task {schema.task}` lists."
                )
        hint = _hint(item, [*recipes(schema), *known, *PORTFOLIOS])
        raise InputError(
            f"`learners` must name learners, {', '.join(PORTFOLIOS)}, or a Python file, got {item!r}. {hint}"
        )
    return {name: known[name] for name in found}


def _matching(item: str, known: Iterable[str]) -> list[str]:
    """Return the learner of that name, or those that match the pattern; the default portfolio comes before `strong`."""
    return [item] if item in known else [name for name in known if fnmatchcase(name, item)]


def _hint(name: str, known: Iterable[str]) -> str:
    usual = re.sub(r"[^a-z]|classifier$|regressor$", "", name.lower())
    near = [USUAL[usual]] if USUAL.get(usual) in {*known} else get_close_matches(name, known, n=3)
    return f"Did you mean {' or '.join(near)}?" if near else "`pydaub learners` lists them."


def _is_file(item: object) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and item.endswith(".py")) or is_command_file(item)
