"""Evaluate an allocation: take the sample, fit the learner, score it."""

from __future__ import annotations

import hashlib
import random
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from pydaub.data import Sample
from pydaub.data.names import listed
from pydaub.errors import InputError, is_of_learner, one_line
from pydaub.evaluation import combining
from pydaub.evaluation.encoded import encode, key_of
from pydaub.evaluation.metrics import (
    Predictions,
    check_score,
    classification_metrics,
    regression_metrics,
    score_parts,
)
from pydaub.evaluation.reuse import Memory, can_go_on, fit_again
from pydaub.isolation.child import is_of_memory
from pydaub.learners.encoding import shared_steps
from pydaub.records import METRICS, Allocation, Failure, Measurement, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydaub.data import Prepared
    from pydaub.learners import Learner

MOST_COMBINED: Final = 12  # learners that an ensemble chooses from
LEAST_SCORED: Final = 4_000  # validation rows for a small sample; more for a sample with more rows
# Cells of a sample (rows times columns) from which a training may use several threads. With fewer, threads gain little,
# and on a busy machine, where they wait for each other, they make it many times slower.
THREADED: Final = 1_000_000
# Parameters that set the number of threads; None means one thread to scikit-learn and all cores to other libraries.
THREAD_PARAMETERS: Final = ("n_jobs", "thread_count", "nthread")
# Classes of scikit-learn that use threads. Others would start processes, if they are given several jobs.
FORESTS: Final = ("RandomForest", "ExtraTrees")
HISTOGRAMS: Final = "HistGradientBoosting"  # as many threads as OpenMP allows


@dataclass(frozen=True)
class Task:
    """Everything that an evaluation needs.

    `scoring` is a scikit-learn scorer, its name, or None for the learner's own `score`. If it is a negative loss,
    `floor` is the best loss that can be reached, as far as that is known. With `cv` (a number of folds or
    a splitter) the score is that of cross-validation on the sample, otherwise that on the validation rows. With
    `score_rows` "few", learners that do not have all rows are scored on some of the validation rows only, the same for
    all, and on at most as many of their sample; "all" means all; None leaves it to the strategy. `train_scores` says
    whether the score on the sample is needed. `metrics` says who gets further metrics: "all" learners, those with the
    "full" data, or "none". With `reuse`, a learner may start from what it learned on a smaller sample. With `ensemble`,
    the best learners that have all rows are kept, so that they can be combined. With `adjust`, the selected classifier
    is adjusted to the score. `config` is scikit-learn's global configuration, which worker processes would not have
    otherwise; it says whether sample weights go to whoever requests them (metadata routing), or to `fit` directly.
    """

    data: Prepared
    learners: Mapping[str, Learner]
    scoring: str | Callable[..., float] | None = None
    floor: float | None = None
    cv: Any = None
    metrics: str = METRICS[0]
    score_rows: str | None = None
    train_scores: bool = True
    seed: int = 0
    reuse: bool = True
    ensemble: bool = False
    adjust: bool = False
    threads: int = 1
    config: Mapping[str, Any] = field(default_factory=get_config)

    @property
    def kept(self) -> int:
        """How many fitted learners of the full size are kept."""
        return MOST_COMBINED if self.ensemble else 1


@dataclass(frozen=True)
class Evaluation:
    """An outcome, and the fitted learner if there is one; for an ensemble, also what it predicts."""

    outcome: Outcome
    fitted: Any = None
    predicted: Any = None


def check_scoring_fits(data: Prepared, scoring: str) -> None:
    """Raise InputError if the scorer cannot score this target, before it makes every learner fail."""
    sample = data.train(data.full_size)
    scored = data.valid() if data.valid_size else sample
    error = _scoring_error(sample, scored, scoring, data.schema.task)
    if error is None:
        return
    there = set(scored.y.tolist())
    lacking = [each for each in data.schema.classes or () if each not in there]
    if lacking and _scoring_error(sample, sample, scoring, data.schema.task) is None:
        raise InputError(
            f"`scoring` {scoring!r} must find rows of every class among the {len(scored.y):,} rows to validate, got"
            f" none of class {listed(lacking)}. Give more rows, or choose another score."
        )
    advice = "Choose another."
    if "pos_label" in str(error):
        mean = f"{scoring}_macro"
        other = f", or choose {mean}, the mean over all classes" if mean in get_scorer_names() else ""
        advice = f"It scores one class: label that 1 and the other 0{other}."
    raise InputError(
        f"`scoring` must suit the target, a {data.schema.task}, got {scoring!r}:"
        f" {one_line(error).rstrip('.')}. {advice}"
    )


def _scoring_error(sample: Sample, scored: Sample, scoring: str, kind: str) -> Exception | None:
    """Return the error that a scorer raises for a learner that has learned nothing, if it does."""
    dummy = DummyClassifier() if kind == "classification" else DummyRegressor()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dummy.fit(np.zeros((len(sample.y), 1)), sample.y)
            _finite(get_scorer(scoring)(dummy, np.zeros((len(scored.y), 1)), scored.y))
    except (ValueError, TypeError) as error:
        return error
    return None


def evaluate(task: Task, allocation: Allocation, memory: Memory | None = None) -> Evaluation:
    """Train and score the learner on the allocation; any error of the learner is returned as a `Failure`."""
    began = time.perf_counter()
    try:
        with _surroundings(task, allocation):
            sample, fitted = task.data.train(allocation.size, blocks=_in_blocks(task, allocation)), None
            scored = rows_scored(task, allocation.size)
            if task.cv is None:
                measured, fitted = _measured(task, allocation, sample, task.data.valid(scored), memory)
                fitted = _handed_over(task, allocation, fitted)
            else:
                measured = _cross_validated(task, allocation, sample, memory)
        return Evaluation(measured.after(time.perf_counter() - began, scored), fitted, measured.predicted)
    except Exception as error:  # a learner may raise anything
        if not is_of_learner(error):
            raise
        kind = "memory" if is_of_memory(error) else "error"
        return Evaluation(Failure(kind, one_line(error), time.perf_counter() - began))


def fitted_on(task: Task, allocation: Allocation, *, with_validation: bool = False) -> Any:
    """Return the learner fitted on an allocation, optionally on the validation rows too."""
    with _surroundings(task, allocation):
        joined = with_validation and task.data.valid_size
        sample = task.data.train(allocation.size, blocks=_in_blocks(task, allocation) and not joined)
        if joined:
            sample = _joined(sample, task.data.valid())
        estimator = _made(task, allocation)
        estimator.fit(sample.X, sample.y, **_fit_parameters(estimator, sample))
        return _handed_over(task, allocation, estimator)


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
            thread_controller().limit(limits=_threads(task, allocation.size)),
            config_context(**task.config),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # for example, that an MLP has not converged: it is measured all the same
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


def _threads(task: Task, size: int) -> int:
    """Return the number of threads for a sample of this size: one if it is small."""
    return task.threads if size * task.data.schema.features >= THREADED else 1


@cache
def thread_controller() -> ThreadpoolController:
    """Return the thread controller of this process; finding the libraries takes longer than a small fit."""
    return ThreadpoolController()


def rows_scored(task: Task, size: int) -> int | None:
    """Return the number of validation rows for a sample of this size; None for all of them."""
    if task.cv is not None or task.score_rows != "few" or size == task.data.full_size:
        return None
    rows = max(LEAST_SCORED, size)
    return rows if rows < task.data.valid_size else None


def _in_blocks(task: Task, allocation: Allocation) -> bool:
    """Whether the learner reads its sample in blocks, so that a frame need not be in memory as a whole."""
    return task.cv is None and getattr(task.learners[allocation.learner].estimator, "reads_blocks", False)


def find_libraries() -> None:
    """Look for libraries with threads again, because more of them were imported."""
    thread_controller.cache_clear()
    thread_controller()


class _Measured(NamedTuple):
    """Scores on both samples, the metrics and parts of the score on the second one, and where the time went.

    `predicted` is what an ensemble is chosen by.
    """

    train: float | None
    valid: float
    metrics: dict[str, float]
    parts: tuple[float, ...]
    fitting: float
    scoring: float
    predicted: Any = None

    def after(self, seconds: float, scored: int | None) -> Measurement:
        """Return the measurement, which took so many seconds in all."""
        own = (self.fitting, self.scoring)
        return Measurement(self.train, self.valid, seconds, self.metrics, self.parts, *own, scored)


def _measured(  # noqa: PLR0913, PLR0917  # a fold has a number besides
    task: Task,
    allocation: Allocation,
    train: Sample,
    valid: Sample,
    memory: Memory | None = None,
    fold: int | None = None,
) -> tuple[_Measured, Any]:
    """Fit a learner; return how it did on both samples, and the fitted learner."""
    estimator, full = _made(task, allocation), allocation.size == task.data.full_size
    steps = None if memory is None or callable(task.scoring) or _routing() else shared_steps(estimator)
    if steps is None or memory is None:
        encoded, fit = None, _fit_parameters(estimator, train)
    else:
        folds = None if fold is None else (fold, is_classifier(estimator))  # folds of classifiers are stratified
        key = key_of(steps, allocation.size, len(valid.y), folds)
        encoded = memory.encoded(key, partial(encode, steps, train, valid))
        estimator.steps[:-1] = encoded.steps
        fit = _fit_parameters(estimator.steps[-1][1], train)
    if encoded is None:
        _ = train.X, valid.X  # read them before the clock starts
    began = time.perf_counter()
    if memory is not None and fold is None and not fit and task.reuse and can_go_on(estimator):
        estimator = fit_again(estimator, train, memory, allocation, encoded and encoded.train)
    elif encoded is None:
        estimator.fit(train.X, train.y, **fit)
    else:
        estimator.steps[-1][1].fit(encoded.train, train.y, **fit)
    fitting = time.perf_counter() - began
    fitted = estimator
    if encoded is not None:  # from here on without the steps, whose result is known
        train, valid = train.with_features(encoded.train), valid.with_features(encoded.valid)
        fitted = estimator.steps[-1][1]
    train_score = None
    if task.train_scores:
        train_score = _score(task, fitted, _first(train, len(valid.y) if task.score_rows == "few" else len(train.y)))
    began, predictions = time.perf_counter(), Predictions(fitted)
    valid_score = _score(task, fitted, valid, predictions)
    if isinstance(task.scoring, str) and not _routing():
        check_score(predictions, valid.X, valid.y, task.scoring, valid_score)
    scoring = time.perf_counter() - began
    wanted = task.metrics == "all" or (full and task.metrics == "full")
    metrics = _metrics(task, predictions, valid) if wanted else {}
    parts = _parts(task, predictions, valid, valid_score) if full else ()
    combined = full and task.ensemble and fold is None
    predicted = combining.predictions(task.data, predictions, valid.X) if combined else None
    return _Measured(train_score, valid_score, metrics, parts, fitting, scoring, predicted), estimator


def _cross_validated(task: Task, allocation: Allocation, sample: Sample, memory: Memory | None) -> _Measured:
    """Return the mean scores and metrics over the folds of the sample, and the parts and times of all folds."""
    folds = [
        _measured(task, allocation, _taken(sample, train), _taken(sample, test), memory, fold)[0]
        for fold, (train, test) in enumerate(_folds(task, allocation, sample))
    ]
    names = [name for name in folds[0].metrics if all(name in fold.metrics for fold in folds)]
    metrics = {name: float(np.mean([fold.metrics[name] for fold in folds])) for name in names}
    metrics["valid_score_std"] = float(np.std([fold.valid for fold in folds]))
    train = float(np.mean([fold.train for fold in folds])) if task.train_scores else None
    valid = float(np.mean([fold.valid for fold in folds]))
    times = (sum(fold.fitting for fold in folds), sum(fold.scoring for fold in folds))
    return _Measured(train, valid, metrics, tuple(part for fold in folds for part in fold.parts), *times)


def check_folds(task: Task, size: int) -> None:
    """Raise InputError if the smallest sample cannot be divided into the folds, before it makes every learner fail."""
    if task.cv is None:
        return
    before = np.random.get_state()  # noqa: NPY002  # the user's own, which dividing changes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _folds(task, Allocation(next(iter(task.learners)), size), task.data.train(size))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"`cv` must divide the {size:,} rows of the first size, got {task.cv!r}: {one_line(error).rstrip('.')}."
        ) from None
    finally:
        np.random.set_state(before)  # noqa: NPY002  # as above


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


def _made(task: Task, allocation: Allocation) -> Any:
    """Return the unfitted learner with seed and threads."""
    estimator = clone(task.learners[allocation.learner].estimator, safe=False)
    if changed := changed_parameters(estimator, seed_of(task, allocation), _threads(task, allocation.size)):
        estimator.set_params(**changed)
    return estimator


def _handed_over(task: Task, allocation: Allocation, fitted: Any) -> Any:
    """Restore the number of threads that the user chose: the limit was for the evaluation only."""
    given = parameters_of(task.learners[allocation.learner].estimator)
    threads = {name: value for name, value in given.items() if name.rpartition("__")[2] in THREAD_PARAMETERS}
    now = parameters_of(fitted) if threads else {}
    if changed := {name: value for name, value in threads.items() if now.get(name) != value}:
        with suppress(Exception):  # CatBoost refuses once it is fitted; it is handed over as it is
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
            kind = type(parameters.get(owner, estimator))
            free = not kind.__module__.startswith("sklearn.") or kind.__name__.startswith(FORESTS)
            if (value is None and free) or (isinstance(value, int) and not 1 <= value <= threads):
                changed[name] = threads
    return changed


def uses_threads(estimator: Any) -> bool:
    """Return whether a learner is trained in as many threads as it is allowed."""
    inner = [estimator, *parameters_of(estimator).values()]
    names = [name.rpartition("__")[2] for name in changed_parameters(estimator, 0, threads=1)]
    return any(name in THREAD_PARAMETERS for name in names) or any(
        type(each).__name__.startswith(HISTOGRAMS) for each in inner
    )


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


def _score(task: Task, fitted: Any, sample: Sample, predictions: Predictions | None = None) -> float:
    """Return the score; `predictions` remember what was predicted for it."""
    scorer = check_scoring(fitted, scoring=task.scoring)
    seen = fitted  # a user's scorer may look at the learner itself
    if isinstance(task.scoring, str):
        seen = predictions or Predictions(fitted)
    try:
        return _finite(scorer(seen, sample.X, sample.y, **_requested_weights(scorer, "score", sample)))
    except AttributeError as error:  # scikit-learn names the class that lacks what the scorer needs
        named = str(error).replace(type(seen).__name__, type(fitted).__name__)
        raise AttributeError(named) from None


def _metrics(task: Task, predictions: Predictions, sample: Sample) -> dict[str, float]:
    with suppress(Exception):  # the score counts, even if a learner fails to give the metrics
        if task.data.schema.task == "classification":
            classes = np.asarray(task.data.schema.classes)
            return classification_metrics(predictions, sample.X, sample.y, classes)
        return regression_metrics(predictions, sample.X, sample.y)
    return {}


def _parts(task: Task, predictions: Predictions, sample: Sample, score: float) -> tuple[float, ...]:
    if callable(task.scoring):
        return ()
    usual = "accuracy" if task.data.schema.task == "classification" else "r2"  # what `score` of an estimator is
    return score_parts(predictions, sample.X, sample.y, task.scoring or usual, score)


def _first(sample: Sample, size: int) -> Sample:
    """Return the first rows of a sample."""
    return sample if size >= len(sample.y) else _taken(sample, slice(size))


def _finite(score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float | np.number) or not np.isfinite(score):
        raise ValueError(f"the score must be a finite number, got {score!r}")
    return float(score)


def _taken(sample: Sample, rows: Any) -> Sample:
    parts = (None if part is None else part[rows] for part in (sample.weights, sample.groups))
    return Sample(lambda: sample.X.iloc[rows] if hasattr(sample.X, "iloc") else sample.X[rows], sample.y[rows], *parts)


def _joined(first: Sample, second: Sample) -> Sample:
    """Return the rows of both samples; if only the first has weights, each row of the second gets weight 1."""
    weights = None
    if first.weights is not None:
        weights = _stacked(first.weights, np.ones(len(second.y)) if second.weights is None else second.weights)
    return Sample(lambda: _stacked(first.X, second.X), _stacked(first.y, second.y), weights)


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
