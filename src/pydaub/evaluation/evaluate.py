"""Evaluate an allocation: take the sample, fit the learner, score it."""

from __future__ import annotations

import hashlib
import random
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from pydaub.data import Sample
from pydaub.errors import InputError, one_line
from pydaub.evaluation.metrics import Predictions, classification_metrics, regression_metrics, score_parts
from pydaub.evaluation.reuse import Memory, fit_again
from pydaub.records import Allocation, Failure, Measurement, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydaub.data import Prepared
    from pydaub.learners import Learner

# Parameters that set the number of threads; None means one thread to scikit-learn and all cores to other libraries.
THREAD_PARAMETERS: Final = ("n_jobs", "thread_count", "nthread")


@dataclass(frozen=True)
class Task:
    """Everything that an evaluation needs.

    `scoring` is a scikit-learn scorer, its name, or None for the learner's own `score`. With `cv` (a number of folds or
    a splitter) the score is that of cross-validation on the sample, otherwise that on the validation rows. `metrics`
    says whether other metrics are recorded too. With `reuse`, a learner may start from what it learned on a smaller
    sample. `config` is scikit-learn's global configuration, which worker processes would not have otherwise; it says
    whether sample weights go to whoever requests them (metadata routing), or to `fit` directly.
    """

    data: Prepared
    learners: Mapping[str, Learner]
    scoring: str | Callable[..., float] | None = None
    cv: Any = None
    metrics: bool = True
    seed: int = 0
    reuse: bool = True
    threads: int = 1
    config: Mapping[str, Any] = field(default_factory=get_config)


@dataclass(frozen=True)
class Evaluation:
    """An outcome, and the fitted learner if there is one."""

    outcome: Outcome
    fitted: Any = None


def check_scoring_fits(data: Prepared, scoring: str) -> None:
    """Raise InputError if the scorer cannot score this target, before it makes every learner fail."""
    sample = data.train(data.full_size)
    scored = data.valid() if data.valid_size else sample
    dummy = DummyClassifier() if data.schema.task == "classification" else DummyRegressor()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dummy.fit(np.zeros((len(sample.y), 1)), sample.y)
            _finite(get_scorer(scoring)(dummy, np.zeros((len(scored.y), 1)), scored.y))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"`scoring` must suit the target, a {data.schema.task}, got {scoring!r}: {one_line(error)} Choose another."
        ) from None


def evaluate(task: Task, allocation: Allocation, memory: Memory | None = None) -> Evaluation:
    """Train and score the learner on the allocation; any error is returned as a `Failure`."""
    began = time.perf_counter()
    try:
        with _surroundings(task, allocation):
            sample, fitted = task.data.train(allocation.size), None
            if task.cv is None:
                measured, fitted = _measured(task, allocation, sample, task.data.valid(), memory)
                fitted = _handed_over(task, allocation, fitted)
            else:
                measured = _cross_validated(task, allocation, sample)
        train, valid, metrics, parts = measured
        return Evaluation(Measurement(train, valid, time.perf_counter() - began, metrics, parts), fitted)
    except Exception as error:  # noqa: BLE001  # a learner may raise anything
        kind = "memory" if isinstance(error, MemoryError) else "error"
        return Evaluation(Failure(kind, one_line(error), time.perf_counter() - began))


def fitted_on(task: Task, allocation: Allocation, *, with_validation: bool = False) -> Any:
    """Return the learner fitted on an allocation, optionally on the validation rows too."""
    with _surroundings(task, allocation):
        sample = task.data.train(allocation.size)
        if with_validation and task.data.valid_size:
            sample = _joined(sample, task.data.valid())
        return _handed_over(task, allocation, _fitted(task, allocation, sample, None))


def seed_of(task: Task, allocation: Allocation) -> int:
    """Return the seed of an evaluation, which depends only on the run's seed, the learner and the size."""
    text = f"{task.seed}/{allocation.learner}/{allocation.size}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 1


@contextmanager
def _surroundings(task: Task, allocation: Allocation) -> Iterator[None]:
    """Apply threads, seed and config; restore them on exit."""
    seed = seed_of(task, allocation)
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # learners may use the global generator
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with (
            thread_controller().limit(limits=task.threads),
            config_context(**task.config),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # for example, that an MLP has not converged: it is measured all the same
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


@cache
def thread_controller() -> ThreadpoolController:
    """Return the thread controller of this process; finding the libraries takes longer than a small fit."""
    return ThreadpoolController()


class _Measured(NamedTuple):
    """Scores on both samples, and the metrics and parts of the score on the second one."""

    train: float
    valid: float
    metrics: dict[str, float]
    parts: tuple[float, ...]


def _measured(
    task: Task, allocation: Allocation, train: Sample, valid: Sample, memory: Memory | None = None
) -> tuple[_Measured, Any]:
    """Fit a learner; return how it did on both samples, and the fitted learner."""
    fitted = _fitted(task, allocation, train, memory)
    train_score, _, _ = _scored(task, fitted, train)
    scored = _scored(task, fitted, valid, metrics=task.metrics, parts=allocation.size == task.data.full_size)
    return _Measured(train_score, *scored), fitted


def _cross_validated(task: Task, allocation: Allocation, sample: Sample) -> _Measured:
    """Return the mean scores and metrics over the folds of the sample, and the parts of all folds."""
    folds = [
        _measured(task, allocation, _taken(sample, train), _taken(sample, test))[0]
        for train, test in _folds(task, allocation, sample)
    ]
    names = [name for name in folds[0].metrics if all(name in fold.metrics for fold in folds)]
    metrics = {name: float(np.mean([fold.metrics[name] for fold in folds])) for name in names}
    metrics["valid_score_std"] = float(np.std([fold.valid for fold in folds]))
    train, valid = (
        float(np.mean(scores)) for scores in zip(*((fold.train, fold.valid) for fold in folds), strict=True)
    )
    return _Measured(train, valid, metrics, tuple(part for fold in folds for part in fold.parts))


def _folds(task: Task, allocation: Allocation, sample: Sample) -> list[tuple[Any, Any]]:
    """Return the folds of a sample, which are the same for every learner; integer `cv` keeps groups together."""
    classes = is_classifier(task.learners[allocation.learner].estimator)
    splitter = check_cv(task.cv, sample.y, classifier=classes)
    if isinstance(task.cv, int | np.integer) and sample.groups is not None:
        splitter = StratifiedGroupKFold(task.cv) if classes else GroupKFold(task.cv)
    np.random.seed(seed_of(task, Allocation("folds", allocation.size)))  # noqa: NPY002  # for splitters without a seed
    folds = list(splitter.split(sample.X, sample.y, sample.groups))
    np.random.seed(seed_of(task, allocation))  # noqa: NPY002
    return folds


def _fitted(task: Task, allocation: Allocation, sample: Sample, memory: Memory | None) -> Any:
    estimator = clone(task.learners[allocation.learner].estimator, safe=False)
    if changed := changed_parameters(estimator, seed_of(task, allocation), task.threads):
        estimator.set_params(**changed)
    fit = _fit_parameters(estimator, sample)
    if memory is not None and not fit and task.reuse:
        return fit_again(estimator, sample, memory, allocation)
    estimator.fit(sample.X, sample.y, **fit)
    return estimator


def _handed_over(task: Task, allocation: Allocation, fitted: Any) -> Any:
    """Restore the number of threads that the user chose: the limit was for the evaluation only."""
    given, now = parameters_of(task.learners[allocation.learner].estimator), parameters_of(fitted)
    threads = [name for name in given if name.rpartition("__")[2] in THREAD_PARAMETERS]
    if changed := {name: given[name] for name in threads if now.get(name) != given[name]}:
        fitted.set_params(**changed)
    return fitted


def parameters_of(thing: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and of the estimators in it; none if it is not of scikit-learn's kind."""
    return thing.get_params() if hasattr(thing, "get_params") else {}


def changed_parameters(estimator: Any, seed: int, threads: int) -> dict[str, Any]:
    """Return the parameters to change: seeds that are not set, and numbers of threads above the limit."""
    changed: dict[str, Any] = {}
    parameters = parameters_of(estimator)
    for name, value in parameters.items():
        owner, _, last = name.rpartition("__")
        if last == "random_state" and value is None:
            changed[name] = seed
        elif last in THREAD_PARAMETERS:
            foreign = not type(parameters.get(owner, estimator)).__module__.startswith("sklearn.")
            if (value is None and foreign) or (isinstance(value, int) and not 1 <= value <= threads):
                changed[name] = threads
    return changed


def _fit_parameters(estimator: Any, sample: Sample) -> dict[str, Any]:
    """Return the arguments of `fit` that pass the sample weights; in a pipeline they go to the last step."""
    if sample.weights is None or _routing():
        return _requested_weights(estimator, "fit", sample)
    step, last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not _takes_weights(last):
        raise TypeError(f"{type(last).__name__} takes no sample weights")
    return {f"{step}__sample_weight" if step else "sample_weight": sample.weights}


def _takes_weights(estimator: Any) -> bool:
    """Return whether `fit` takes weights, itself or to pass them on to an inner estimator."""
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    passes = any(each.kind is each.VAR_KEYWORD for each in signature(estimator.fit).parameters.values())
    return has_fit_parameter(estimator, "sample_weight") or (passes and inner is not None and _takes_weights(inner))


def _routing() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _requested_weights(consumer: Any, method: str, sample: Sample) -> dict[str, Any]:
    """Return the sample weights, if there are any and an estimator or a scorer has requested them."""
    if sample.weights is None or not _routing():
        return {}
    wanted = get_routing_for_object(consumer).consumes(method, ["sample_weight"])
    return {"sample_weight": sample.weights} if wanted else {}


def _scored(
    task: Task, fitted: Any, sample: Sample, *, metrics: bool = False, parts: bool = False
) -> tuple[float, dict[str, float], tuple[float, ...]]:
    """Return the score and, where they are wanted, the other metrics and the parts of the score."""
    predictions = Predictions(fitted)
    found: dict[str, float] = {}
    if metrics:
        with suppress(Exception):  # the score counts, even if a learner fails to give the metrics
            classes = np.asarray(task.data.schema.classes)
            if task.data.schema.task == "classification":
                found = classification_metrics(predictions, sample.X, sample.y, classes)
            else:
                found = regression_metrics(predictions, sample.X, sample.y)
    scorer = check_scoring(fitted, scoring=task.scoring)
    seen = predictions if isinstance(task.scoring, str) else fitted  # a user's scorer may look at the learner itself
    score = _finite(scorer(seen, sample.X, sample.y, **_requested_weights(scorer, "score", sample)))
    if not parts or callable(task.scoring):
        return score, found, ()
    usual = "accuracy" if task.data.schema.task == "classification" else "r2"  # what `score` of an estimator is
    return score, found, score_parts(predictions, sample.X, sample.y, task.scoring or usual, score)


def _finite(score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float | np.number) or not np.isfinite(score):
        raise ValueError(f"the score must be a finite number, got {score!r}")
    return float(score)


def _taken(sample: Sample, rows: Any) -> Sample:
    X = sample.X.iloc[rows] if hasattr(sample.X, "iloc") else sample.X[rows]
    return Sample(X, sample.y[rows], *(None if part is None else part[rows] for part in sample[2:]))


def _joined(first: Sample, second: Sample) -> Sample:
    """Return the rows of both samples; if only the first has weights, each row of the second gets weight 1."""
    weights = None
    if first.weights is not None:
        weights = _stacked(first.weights, np.ones(len(second.y)) if second.weights is None else second.weights)
    return Sample(_stacked(first.X, second.X), _stacked(first.y, second.y), weights, None)


def _stacked(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray):
        return np.concatenate([a, b])
    if hasattr(a, "iloc"):
        joined = pd.concat([a, b], ignore_index=True)
        for name in a.select_dtypes("category"):
            if joined[name].dtype != a[name].dtype:  # validation rows that the user gave may have other categories
                joined[name] = pd.api.types.union_categoricals([a[name], b[name]], ignore_order=True)
        return joined
    if hasattr(a, "vstack"):  # polars
        return a.vstack(b)
    return scipy.sparse.vstack([a, b], format="csr")
