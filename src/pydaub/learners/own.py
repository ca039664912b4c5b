"""Learners that users bring: a list of them, an estimator with a parameter grid, or a Python file."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import cloudpickle
import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from pydaub.errors import InputError
from pydaub.learners.base import Estimator, Learner, Portfolio, unknown_parameter, with_params
from pydaub.records import whole

if TYPE_CHECKING:
    from types import ModuleType

    from pydaub.data.schema import Schema

SHAPES: Final = "a list of (name, estimator) pairs, a list of Learner, or a dict of estimators by name"
DUPLICATE: Final = "Each learner must have a name of its own, got {!r} twice. Rename one."


def listed(pairs: Any) -> Portfolio:  # noqa: ANN401  # checked here, since users may pass anything
    """Return the portfolio of learners that a user lists.

    Parameters
    ----------
    pairs
        List of (name, estimator) pairs, list of `Learner`, or dict of either by name.

    Raises
    ------
    InputError
        If there is no learner, if one is not an estimator, or if two have the same name.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> list(listed([("soft", SVC(C=0.1)), ("hard", SVC(C=100))]))
    ['soft', 'hard']
    """
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable) or hasattr(pairs, "fit"):
        raise InputError(f"`learners` must be {SHAPES}, got {_short(pairs)}.")
    items = list(pairs.items()) if isinstance(pairs, Mapping) else list(pairs)
    if not items:
        raise InputError(f"`learners` must be {SHAPES}, got an empty {type(pairs).__name__}. Name at least one.")
    portfolio: Portfolio = {}
    for item in items:
        learner = _learner(item)
        if learner.name in portfolio:
            raise InputError(DUPLICATE.format(learner.name))
        portfolio[learner.name] = learner
    return portfolio


def _learner(item: Any) -> Learner:  # noqa: ANN401  # checked here, since users may pass anything
    match item:
        case Learner():
            return item
        case (name, Learner() as learner):
            return replace(learner, name=name)
        case (name, estimator):
            return Learner(name, estimator)
        case _:
            hint = "Give it a name: (name, estimator)" if hasattr(item, "fit") else "Give pairs"
            raise InputError(f"`learners` must be {SHAPES}, got {_short(item)} in it. {hint}.")


def _short(value: object, width: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= width else f"{text[: width - 3]}..."


def combinations(estimator: Estimator, grid_or_distributions: Any, n_iter: int = 10, seed: int = 0) -> Portfolio:  # noqa: ANN401  # checked here, since users may pass anything
    """Return a learner for each combination of parameters, with names like `svc C=1 gamma=scale`.

    Parameters
    ----------
    estimator
        Estimator or pipeline that the parameters belong to.
    grid_or_distributions
        Dict, or list of dicts, from parameters to lists of values or to distributions (objects with `rvs`). Lists give
        every combination; with a distribution, combinations are drawn at random.
    n_iter
        Number of combinations to draw if there is a distribution. Duplicates count once.
    seed
        Seed for drawing.

    Raises
    ------
    InputError
        If the estimator has no such parameter, or if a parameter has no values.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> list(combinations(SVC(), {"C": [1, 10], "gamma": ["scale"]}))
    ['svc C=1 gamma=scale', 'svc C=10 gamma=scale']
    """
    base = Learner("estimator", estimator).estimator
    count, state = whole(n_iter, "n_iter"), whole(seed, "seed")
    if count < 1 or not 0 <= state < 2**32:
        raise InputError(f"`n_iter` must be at least 1 and `seed` a whole number from 0, got {count} and {state}.")
    tables = [grid_or_distributions] if isinstance(grid_or_distributions, Mapping) else grid_or_distributions
    _check_parameters(base, tables)
    drawn = any(hasattr(values, "rvs") for table in tables for values in table.values())
    try:
        found = list(ParameterSampler(tables, count, random_state=state) if drawn else ParameterGrid(tables))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`param_grid` must have a list of values for each parameter: {str(error).rstrip('.')}."
        ) from error
    different = {repr(sorted(settings.items())): settings for settings in found}.values()
    names = [_named(base, settings, _brief) for settings in different]
    if len(set(names)) < len(names):
        names = [_named(base, settings, repr) for settings in different]
    return listed(
        [
            Learner(name, with_params(base, settings), params=settings)
            for name, settings in zip(names, different, strict=True)
        ]
    )


def _check_parameters(estimator: Estimator, tables: Any) -> None:  # noqa: ANN401  # checked here, since users may pass anything
    if not isinstance(tables, list | tuple) or not tables or not all(isinstance(table, Mapping) for table in tables):
        raise InputError(f"`param_grid` must be a dict of parameters to lists of values, got {_short(tables)}.")
    if (parameter := unknown_parameter(estimator, tables)) is not None:
        raise InputError(
            f"`param_grid` must name parameters of {type(estimator).__name__}, got {parameter!r}. "
            f"It has {', '.join(sorted(estimator.get_params()))}."
        )


def kind(estimator: Estimator) -> str:
    """Return the lowercase name of the estimator's class, or of the last step's class if it is a pipeline."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return type(estimator).__name__.lower()


def _named(estimator: Estimator, settings: Mapping[str, object], shown: Callable[[object], str]) -> str:
    parameters = (f"{key.rpartition('__')[2]}={shown(value)}" for key, value in settings.items())
    return " ".join([kind(estimator), *parameters])


def _brief(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.3g}"
    if hasattr(value, "get_params"):
        return kind(value)
    return getattr(value, "__name__", None) or str(value)


def from_file(path: str | Path, schema: Schema) -> Portfolio:
    """Run a Python file and return the learners that it defines.

    The file must define `learners`: anything that `listed` accepts, or a function that returns it. The function may
    take the schema, for example to add preprocessing with `encoded`. Classes that the file defines are pickled by value
    for workers; other files in its folder are not.

    Parameters
    ----------
    path
        Python file. It runs with all rights of this process.
    schema
        Schema of the data.

    Raises
    ------
    InputError
        If the file cannot be read, raises an exception, or does not define `learners`.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"`learners` must name a readable Python file, got {path}: {error.strerror}.") from error
    module = _run(file, content)
    if not hasattr(module, "learners"):
        raise InputError(f"{path} must define `learners`, got a file without. Set it to {SHAPES}.")
    given = module.learners
    if inspect.isroutine(given):
        given = _called(file, given, schema)
    try:
        return listed(given)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _run(file: Path, content: bytes) -> ModuleType:
    """Import the file under a unique module name, so that it cannot clash with another module."""
    digest = blake2b(str(file.resolve()).encode() + b"\0" + content, digest_size=8).hexdigest()
    name = f"pydaub_learners_{digest}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"`learners` must name a Python file, got {file}. Give it the extension .py.")
    module = module_from_spec(spec)
    sys.modules[name] = module  # pickle looks up the classes of the file here
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(_location_and_cause(file, error)) from error
    cloudpickle.register_pickle_by_value(module)
    return module


def _called(file: Path, function: Callable[..., object], schema: Schema) -> object:
    try:
        wanted = len(inspect.signature(function).parameters)
    except ValueError:
        wanted = 0
    if wanted > 1:
        raise InputError(
            f"`learners` in {file} must take no parameter or the schema, got a function of {wanted} parameters."
        )
    try:
        return function(schema) if wanted else function()
    except (Exception, SystemExit) as error:
        raise InputError(_location_and_cause(file, error)) from error


def _location_and_cause(file: Path, error: BaseException) -> str:
    """Return an error message with the line of the user's file that raised an exception."""
    paths = (str(file), str(file.absolute()))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    if isinstance(error, SyntaxError) and error.filename in paths:
        lines.append(error.lineno)
    line = f", line {lines[-1]}" if lines else ""
    what = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split()).rstrip(".")
    if isinstance(error, InputError):  # ours, about what the file gives to pydaub
        return f"{file}{line}: {what}."
    return f"{file}{line} must run without an error, got {type(error).__name__}: {what}."
