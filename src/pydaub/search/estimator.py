"""DaubSearch: a run as a scikit-learn estimator."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass
from inspect import isclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring as check_scorer
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit
from sklearn.utils import assert_all_finite, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pydaub import units
from pydaub.algorithm.strategies import DEFAULT, PARAMETERS, STRATEGIES
from pydaub.dashboard.report import Report
from pydaub.data import Prepared, Split, prepare
from pydaub.data.coercion import new_rows, refuse_other_truths
from pydaub.data.frames import is_frame, native, plain_column, plain_table
from pydaub.data.hints import hints
from pydaub.data.names import checked_names
from pydaub.data.preparing import is_texts
from pydaub.data.rows import frame_of
from pydaub.engines.registry import Where, workers_from
from pydaub.errors import FitFailed, InputError, NothingMeasured
from pydaub.evaluation.evaluate import Task
from pydaub.events import Evaluated, Event
from pydaub.exports.grid import cv_results, parameters
from pydaub.exports.leaderboard import leaderboard
from pydaub.exports.mlflow import autologged, autologs, without_autologging
from pydaub.isolation.nursery import Limits
from pydaub.learners import PAPER, Learner, Space, combinations, listed, portfolio
from pydaub.learners.own import kind
from pydaub.records import METRICS, PORTFOLIOS, VALIDATION_FRACTION, VALIDATION_ROWS, Failure, score_text
from pydaub.runs.interrupting import INTERRUPTED, Interrupt
from pydaub.runs.plan import Sizes, check_after, check_scoring, default_scoring, plan
from pydaub.runs.selection import NO_ENSEMBLE, NOT_ADJUSTED, Selection, select
from pydaub.search.delegating import missing, offered
from pydaub.search.evaluating import with_test
from pydaub.search.roles import Roles
from pydaub.views.callbacks import Callbacks
from pydaub.views.glance import Claims
from pydaub.views.lines import BASELINES
from pydaub.views.notebook import Card, in_notebook, verdict_line
from pydaub.views.summary import event_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.data import Schema
    from pydaub.runs.account import Account
    from pydaub.runs.loop import Watch


Dummy = (DummyClassifier, DummyRegressor)
PRINTED = 31  # learners: scikit-learn prints at most 30 of the first, and some of the last
TOO_FEW = 2  # rows: one to train on and one to validate on


def _lacking(search: DaubSearch, name: str) -> str:
    """Return why the selected learner, or before `fit` a given learner, lacks a method; empty if it has it."""
    kind = type(search).__name__
    if hasattr(search, "best_estimator_"):
        return "" if hasattr(search.best_estimator_, name) else missing(kind, str(search.best_learner_), name)
    if search._by_name:  # noqa: SLF001  # our own
        has = name in ("predict", "predict_proba")  # what learners of a portfolio usually have
    else:
        has = all(hasattr(estimator, name) for estimator in search._estimators())  # noqa: SLF001  # our own
    return "" if has else f"{kind!r} has no attribute {name!r}: not all of its learners have it."


def _delegated(name: str, description: str) -> Any:
    """Return a method that delegates to the selected learner and exists only if the learner has it."""

    def method(self: DaubSearch, X: Any) -> Any:
        self._check_fitted()
        rows = X if name == "inverse_transform" else self._new(X)
        with config_context(**self._config):
            return getattr(self.best_estimator_, name)(rows)

    method.__doc__ = description
    return offered(name, _lacking)(method)


@dataclass(eq=False, repr=False)
class DaubSearch(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Find the learner that is best on all rows, and use it as an estimator.

    Parameters
    ----------
    learners
        A portfolio by name ("sklearn"), names of learners separated by commas, a list of names, of (name, estimator)
        pairs or of both, a dict of estimators, or one estimator together with `param_grid`.
    estimator
        The one estimator, under the name that it has in `GridSearchCV`; instead of `learners`.
    param_grid
        Parameters of the one estimator: lists of values, each combination of which is a learner, or distributions, from
        which `n_iter` combinations are drawn.
    n_iter
        Number of combinations drawn from distributions. With None, combinations are drawn from lists or distributions
        as long as a further one is worth its time, near those that did well (needs the extra `spaces`).
    task
        "classification" or "regression", where the target does not tell.
    group
        A column of `X` whose equal values stay in the same part. It is no feature.
    time
        A column of `X` by which the rows are divided: the latest ones validate; with `group`, the groups that begin
        last. It is no feature.
    drop
        Columns of `X` to leave out: a list of names, or names separated by commas.
    kind
        Kinds of columns, such as `{"zip": "categorical"}`, instead of those that are inferred for learners by name.
    strategy
        Which strategy decides who gets data next: "frugal", "daub", "full", "subset", "elimination" or "halving".
    delta
        With "frugal": the score that you would give up to halve the time. None stands for 0.01.
    costs
        With "frugal": the times by which it decides. "measured" are those of this run; "declared" ones depend only on
        the learner and the size of the data, so that two searches with the same seed select the same. None stands for
        "measured".
    bound
        With "daub" and "elimination", how scores are extended to all rows: "slope", "line", "isotonic", "concave",
        "spline", "hoeffding" or "bernstein". None stands for "slope".
    train_bound
        With "daub" and "elimination": whether the training score caps the bound. None stands for True. "hoeffding" and
        "bernstein" are never capped, and refuse True.
    non_increasing_bound
        With "daub" and "elimination": whether a bound may never rise. None stands for False.
    first_size
        Rows of the first sample. None stands for 500, or fewer where there are few.
    ratio
        Growth of the samples. None stands for 1.5.
    sizes
        A list of sizes instead, or "paper" for those of the paper.
    scoring
        A scorer's name, a callable, or None: the learner's own `score`, or accuracy or r2 for a portfolio.
    floor
        The best loss that can be reached, if `scoring` is a negative loss (`neg_...`, or a callable): "frugal" then
        forecasts how fast the rest of the loss falls. None stands for 0, or for an estimate if `scoring` is a callable.
    cv
        Number of folds or a splitter, to score by cross-validation instead of validation rows.
    validation_fraction
        Share of the rows to validate on, where `fit` is given no validation rows.
    validation_rows
        Number of rows to validate on at most. A note says if that leaves few rows of some class.
    score_rows
        "few": learners that do not have all rows are scored on some of the validation rows only (4,000, or as many as
        they were trained on), the same for all. "all": on all of them, and on their own sample. None leaves it to the
        strategy: "few" with "frugal", "all" with others, as in the paper.
    metrics
        Who gets further metrics than the score: "full", the learners with all rows; "all"; or "none".
    refit
        Whether the selected learner is trained once more on all rows, validation rows included. Without it,
        `best_estimator_` is the one that was scored.
    ensemble
        Whether learners that have all rows are combined, if together they are better than the best of them alone.
    adjust
        Whether the selected classifier is adjusted to `scoring` by its validation predictions, if that is better: the
        threshold for a score of labels (two classes), the temperature of its probabilities for a score of these.
    reuse
        Whether a learner may start from what it learned on a smaller sample, where that makes no difference.
    n_jobs
        Number of worker processes; -1 means one for each core. None means one.
    time_limit
        Time after which the search stops with the best learner so far: seconds, or a text such as "90s", "10m" or
        "2h". It includes all of `fit`: preparing the rows, an ensemble and refitting, where in worker processes a
        refit that takes far too long is ended. If preparing leaves less than two seconds, the search takes two.
    learner_timeout
        Limit of each evaluation: seconds, or a text such as "90s".
    learner_memory
        Limit of each evaluation: bytes, or a text such as "2GB".
    engine
        "serial" (in this process), "processes", or "ray" for all CPUs of a Ray cluster, or `n_jobs` of them. None means
        "processes" if `n_jobs` or a limit is given, and "serial" otherwise.
    address
        Address of the Ray cluster. None means the one that runs here, "local" starts one.
    folder
        Folder of the run. A search that was killed continues when it is fitted again with the same data and settings.
    random_state
        Seed for the order of rows and for the learners. A whole number is the `--seed` of the command line.
    verbose
        With 1, each outcome is printed to stderr; with 0, nothing is shown. None shows the search in a notebook while
        it goes on, and nothing elsewhere.
    error_score
        "raise" raises an error if a learner fails. With nan, the search goes on without it, and `failures_` says why.
    return_train_score
        Whether every entry of `cv_results_` has a training score, which takes time.

    Attributes
    ----------
    best_estimator_
        The selected learner, fitted. If learners were given by name, it takes rows as they were prepared for it;
        `predict` of the search takes them as `fit` was given them.
    best_learner_
        Its name.
    best_params_
        Its parameters, where they were searched: its combination of `param_grid`, or its point in a `Space`. Otherwise
        its name.
    best_index_
        Its entry in `cv_results_`; None if the search was stopped before the strategy asked for it.
    best_score_
        Its score on the validation rows.
    best_size_
        The number of rows it was trained on for that.
    ensemble_
        The weights of the learners that were combined, by name; None if the selected learner is used alone. With an
        ensemble, `best_estimator_` is the ensemble, and `best_score_` its score on rows that did not choose it.
    adjustment_
        The "threshold" or the "temperature" that `best_estimator_` was adjusted to; None if it was not adjusted. With
        an adjustment, `best_score_` is the score on rows that did not choose it.
    cv_results_
        Arrays with an entry for each allocation, named as in `GridSearchCV`. Ranks are among equal sizes only, and
        `std_test_score` is over the folds of `cv`.
    multimetric_
        False: there is one score to select by. As in `GridSearchCV`.
    allocations_
        The allocations with their outcomes, in order.
    failures_
        The learners that failed, and why.
    leaderboard_
        A data frame with a row for each learner, the best first and baselines last: the expected score with all rows,
        its 90 % interval, the score with most rows, how many these were, the seconds of training, the milliseconds that
        1,000 rows take to predict, memory, and in a few words how it stands, or why it failed.
    result_
        The result of the run.
    certificate_
        What may be claimed of the choice.
    outlook_
        What the selected learner would probably reach with twice and ten times the rows: a tuple of objects with
        `rows`, `score`, `low` and `high`. Empty if the search stopped early or only one size of it is known.
    report_
        The page of the run, which a notebook displays. `report_.save(path)` writes it to a file.
    schedule_note_
        Why the sizes differ from the paper's, or None.
    scorer_
        The scorer in use.
    classes_
        The class labels, for classifiers.
    n_features_in_
        The number of columns seen during `fit`.
    feature_names_in_
        Their names, where they are text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = DaubSearch([("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))], random_state=0)
    >>> search.fit(X, y).best_learner_
    'bayes'
    """

    learners: Any = PORTFOLIOS[0]
    param_grid: Any = None
    _: KW_ONLY
    estimator: Any = None
    n_iter: int | None = 10
    task: str | None = None
    group: str | None = None
    time: str | None = None
    drop: Any = None
    kind: Any = None
    strategy: str = DEFAULT
    delta: float | None = None
    costs: str | None = None
    bound: str | None = None
    train_bound: bool | None = None
    non_increasing_bound: bool | None = None
    first_size: int | None = None
    ratio: float | str | None = None
    sizes: Any = None
    scoring: Any = None
    floor: float | None = None
    cv: Any = None
    validation_fraction: float = VALIDATION_FRACTION
    validation_rows: int = VALIDATION_ROWS
    score_rows: str | None = None
    metrics: str = METRICS[0]
    refit: bool = True
    ensemble: bool = False
    adjust: bool = False
    reuse: bool = True
    n_jobs: int | None = None
    time_limit: float | str | None = None
    learner_timeout: float | str | None = None
    learner_memory: int | str | None = None
    engine: str | None = None
    address: str | None = None
    folder: str | Path | None = None
    random_state: Any = None
    verbose: int | None = None
    error_score: Any = np.nan
    return_train_score: bool = False

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, X_val: Any = None, y_val: Any = None, **params: Any) -> DaubSearch:
        """Search, and fit the selected learner.

        Parameters
        ----------
        X, y
            Training rows and their target.
        X_val, y_val
            Validation rows. Without them, a share of `X` is used.
        **params
            `sample_weight`, which goes to the learners (and to a scorer that requests it), and `groups`, which are kept
            together when rows are divided.
        """
        began = time.monotonic()
        weights, groups = params.pop("sample_weight", None), params.pop("groups", None)
        if params:
            raise InputError(
                f"`fit` must be given `sample_weight` and `groups` at most, got {', '.join(params)}."
                f"{' Validation rows are `X_val` and `y_val`.' if 'eval_set' in params else ''}"
            )
        if y is None:
            raise InputError(
                f"`y` must be given: {type(self).__name__} requires y to be passed, but the target y is None."
            )
        seed = self._seed()
        self._check_names()
        self._check_validation(X_val, y_val, groups)
        own = not self._by_name
        X, dividing, times = self._roles.taken(X)
        groups = groups if dividing is None else dividing
        target = getattr(y, "name", None)
        X, y = self._checked(X, reset=True), self._one_column(y)
        if len(y) < TOO_FEW:
            raise InputError(f"`X` must have at least {TOO_FEW} rows, got n_samples={len(y)}.")
        if pd.isna(y).any():
            raise InputError(
                f"`y` must have a value for each row: input y contains NaN, {int(pd.isna(y).sum())} times."
            )
        if self._task_of_learners() == "classification":
            if y.dtype.kind == "f":
                assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        data = prepare(
            X,
            y,
            validation=None if X_val is None else (self._validating(X_val), y_val),
            split=Split(self.validation_fraction, times is not None, self.cv is not None, self.validation_rows),
            sample_weight=weights,
            groups=groups,
            time=times,
            task=self._task_of_learners(),
            seed=seed,
            columns=not own,
            inferred=not own,
            kinds=self.kind,
            target=target if isinstance(target, str) and not own else None,
        )
        described = not own and is_frame(X)
        self._schema: Schema | None = data.schema if described else None
        self._columns = _names(X) if described else []
        divided = X_val is not None or groups is not None or times is not None
        for note in (*data.notes, *([] if divided else self._hints(data))):
            warnings.warn(note, stacklevel=3)
        learners = self._portfolio(data, seed)
        routed = own and self._routes(weights, groups)
        metadata = {"sample_weight": weights, "groups": groups}
        told = Callbacks(self, X=X, y=y, metadata={name: it for name, it in metadata.items() if it is not None})
        with without_autologging(), self._interruptible():
            self._used = data.schema.used
            self._take(self._selected(data, learners, seed, told, began, routed=routed), data)
        told.end()
        if autologs():
            autologged(self, X, y)
        return self

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Leave no learner of an earlier `fit` if this one is interrupted before it has one of its own."""
        self._interrupted = False
        try:
            yield
        except (KeyboardInterrupt, NothingMeasured) as error:
            if isinstance(error, NothingMeasured) and error.reason != INTERRUPTED:
                raise
            self._interrupted = True
            for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
                delattr(self, name)
            raise KeyboardInterrupt from None

    def _check_fitted(self) -> None:
        if getattr(self, "_interrupted", False) and not hasattr(self, "best_estimator_"):
            how = "Call it again to continue." if self.folder else "With `folder`, calling it again would continue."
            raise NotFittedError(f"Nothing was trained: `fit` was interrupted before it had a learner. {how}")
        check_is_fitted(self)

    @property
    def _given(self) -> Any:
        """The learners, under either name."""
        return self.learners if self.estimator is None else self.estimator

    @property
    def _by_name(self) -> bool:
        """Whether learners of a portfolio are named, alone or among estimators: rows are then prepared for them."""
        given = self._given
        if isinstance(given, list | tuple):
            named = any(isinstance(each, str | Path) for each in given)
            return named and not any(hasattr(each, "fit") for each in given)  # which need names: `listed` says so
        return isinstance(given, str | Path)

    @property
    def _config(self) -> dict[str, Any]:
        """The configuration of scikit-learn that learners of a portfolio need, whatever is set outside."""
        return {"transform_output": "default"} if self._by_name else {}

    def _check_names(self) -> None:
        """Refuse parameters of `GridSearchCV` that mean something else here, or nothing."""
        if self.estimator is not None and not (isinstance(self.learners, str) and self.learners == PORTFOLIOS[0]):
            raise InputError("`estimator` must go without `learners`, which it stands for, got both.")
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise InputError(f"`estimator` must be one estimator, got {self.estimator!r}. Give several as `learners`.")
        raises = isinstance(self.error_score, str) and self.error_score == "raise"
        if not raises and not (isinstance(self.error_score, float) and np.isnan(self.error_score)):
            raise InputError(f"`error_score` must be nan or 'raise', got {self.error_score!r}.")
        if not isinstance(self.refit, bool | np.bool_):
            raise InputError(f"`refit` must be True or False, got {self.refit!r}: there is one score to select by.")
        for name in ("reuse", "ensemble", "adjust", "return_train_score"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"`{name}` must be True or False, got {getattr(self, name)!r}.")
        if not isinstance(self.kind, Mapping | None):
            raise InputError(f"`kind` must be kinds by the names of columns, or None, got {self.kind!r}.")
        if self.kind and not self._by_name:
            raise InputError("`kind` must go with learners by name: estimators of your own get columns as they are.")
        if not isinstance(self.verbose, int | np.integer | np.bool_ | None):
            raise InputError(f"`verbose` must be True, False, a number or None, got {self.verbose!r}.")

    def _hints(self, data: Prepared) -> list[str]:
        """Return by which columns the rows should perhaps be divided."""
        if not self._by_name:
            return []
        rows, folds = data.full_size + data.valid_size, self.cv is not None
        return hints(data.schema, rows, lambda option, column: f"`{option}={column!r}`", folds=folds)

    def _seed(self) -> int:
        """Return the seed: a whole number as it is, as on the command line."""
        try:
            drawn = check_random_state(self.random_state)
            given = self.random_state
            return int(given) if isinstance(given, int | np.integer) else int(drawn.randint(2**31 - 1))
        except ValueError as error:
            raise InputError(
                f"`random_state` must be a whole number, a RandomState or None, got {self.random_state!r}: {error}."
            ) from None

    def _check_validation(self, X_val: Any, y_val: Any, groups: Any) -> None:
        """Refuse half a validation set, two ways to validate, and splitters that depend on the order of rows."""
        if (X_val is None) != (y_val is None):
            raise InputError("`X_val` and `y_val` must be given together, got one of them.")
        for name in ("group", "time") if X_val is not None else ():
            if getattr(self, name) is not None:
                raise InputError(f"`{name}` must go without `X_val`, which divides the rows already. Leave one out.")
        if self.group is not None and groups is not None:
            raise InputError("`group` must go without `groups`, got both. Leave one out.")
        if self.time is not None and self.cv is not None:
            raise InputError("`cv` must go without `time`: folds would mix the times. Choose one of the two.")
        if self.cv is None:
            return
        check_after(self.cv, ensemble=self.ensemble, adjust=self.adjust)
        if X_val is not None:
            raise InputError("`cv` must be None where `X_val` is given, got both. Leave one out.")
        folds = isinstance(self.cv, int | np.integer) and self.cv > 1  # also excludes True
        if not folds and (isinstance(self.cv, str) or not hasattr(self.cv, "split")):
            raise InputError(f"`cv` must be a number of folds from 2, a splitter or None, got {self.cv!r}.")
        if isinstance(self.cv, TimeSeriesSplit | PredefinedSplit):
            raise InputError(
                f"`cv` must be a splitter of rows in any order, got {self.cv!r}: rows are shuffled. Name a column with"
                " `time`, so that the latest rows validate, or give `X_val`."
            )

    def _selected(  # noqa: PLR0913  # what a search is made of
        self, data: Prepared, learners: dict[str, Learner], seed: int, told: Callbacks, began: float, *, routed: bool
    ) -> Selection:
        where, limit = self._where(), _seconds(self.time_limit, "time_limit")
        task = Task(
            data,
            learners,
            scoring=self._scoring(data),
            floor=self.floor,
            cv=self.cv,
            metrics=self.metrics,
            score_rows="all" if self.return_train_score and self.score_rows is None else self.score_rows,
            seed=seed,
            reuse=bool(self.reuse),
            ensemble=bool(self.ensemble),
            adjust=bool(self.adjust),
            threads=where.threads,
            config={**get_config(), **self._config, "enable_metadata_routing": routed},
        )
        parameters = {name: getattr(self, name) for name in PARAMETERS}
        planned = plan(task, self.strategy, parameters, Sizes(self.first_size, self.ratio, self.sizes))
        self.schedule_note_ = planned.note
        with self._watched() as watch:
            others = [_raised] if isinstance(self.error_score, str) else []
            every = _all([*others, *told.watches(), *([watch] if watch else [])])
            found = select(
                planned,
                where,
                time_limit=limit,
                watch=every,
                refit=bool(self.refit),
                interrupt=Interrupt(),
                began=began,
            )
        if self.ensemble and found.account.combined is None:
            warnings.warn(NO_ENSEMBLE, stacklevel=4)
        if self.adjust and found.account.adjusted is None:
            warnings.warn(NOT_ADJUSTED, stacklevel=4)
        if found.note:
            warnings.warn(found.note, stacklevel=4)
        if found.result.stopped == INTERRUPTED:
            how = "goes on" if self.folder else "searches anew; with `folder`, it would go on"
            best = f"{found.result.selected} is the best so far, with {score_text(found.result.valid_score or 0.0)}"
            rows = f"{found.result.selected_size or 0:,} of {found.result.full_size:,} rows"
            warnings.warn(f"Interrupted: {best} on {rows}. Calling `fit` again {how}.", stacklevel=4)
        return found

    @contextmanager
    def _watched(self) -> Iterator[Watch | None]:
        """Show the search while it goes on: in a notebook by a display, or as lines if `verbose`."""
        if self.verbose is not None or not in_notebook():
            yield _printed if self.verbose else None
            return
        shown = Card()
        try:
            yield shown
        except BaseException:
            shown.close(ended=False)
            raise
        shown.close(ended=True)

    def _where(self) -> Where:
        memory = self.learner_memory
        limits = Limits(
            _seconds(self.learner_timeout, "learner_timeout"),
            units.memory(memory, "learner_memory") if isinstance(memory, str) else memory,
        )
        if not isinstance(self.folder, str | Path | None):
            raise InputError(f"`folder` must be a path or None, got {self.folder!r}.")
        if self.folder is not None and not isinstance(self.random_state, int | np.integer):
            raise InputError(
                f"`random_state` must be a whole number where a `folder` is given, got {self.random_state!r}: another"
                " seed would be another search."
            )
        folder = None if self.folder is None else Path(self.folder)
        workers = workers_from(self.n_jobs, limits, self.engine)
        return Where(workers, limits, folder, self.engine, self.address)

    def _portfolio(self, data: Prepared, seed: int) -> dict[str, Learner]:
        if self.param_grid is not None:
            if not hasattr(self._given, "fit"):
                named = "a name. Give an estimator" if isinstance(self._given, str) else "several. Give each a name"
                raise InputError(f"`param_grid` must go with one estimator as `learners`, got {named}.")
            if self.n_iter is None:
                name = kind(self._given)
                return {name: Space(name, self._given, parameters=self.param_grid)}
            return combinations(self._given, self.param_grid, self.n_iter, seed)
        if hasattr(self._given, "fit"):
            kinds = self._given if isclass(self._given) else type(self._given)
            return listed([(kinds.__name__.lower(), self._given)])
        left_out: dict[str, str] = {}
        learners = portfolio(self._given, data.schema, left_out)
        if lacking := [name for name in left_out if name.startswith(PAPER)]:
            warnings.warn(f"Left out: {', '.join(lacking)}. {left_out[lacking[0]]}", stacklevel=4)
        return learners

    def _scoring(self, data: Prepared) -> Any:
        check_scoring(self.scoring)
        return default_scoring(data) if self.scoring is None and self._by_name else self.scoring

    def _take(self, selection: Selection, data: Prepared) -> None:
        result = selection.result
        self.result_, self.certificate_ = result, Claims.of(selection.certificate)
        own = {name for name, each in selection.learners.items() if isinstance(each.estimator, Dummy)}
        self.leaderboard_ = leaderboard(selection.account, BASELINES | own)
        self.outlook_ = self.certificate_.prospects if self.certificate_ else ()
        self.report_ = Report(selection.account, type(self).__name__)
        self.best_estimator_, self.best_learner_ = selection.fitted, result.selected
        self.best_size_, self.best_score_ = result.selected_size, result.valid_score
        self.failures_, self.allocations_ = dict(result.failures), list(result.steps)
        self.scorer_ = check_scorer(self.best_estimator_, scoring=self._scoring(data))
        self.best_params_ = parameters(selection.learners[result.selected or ""])
        combined = selection.account.combined
        self.ensemble_ = dict(combined.weights) if combined and combined.used else None
        if combined and combined.used:
            self.best_learner_, self.best_score_, self.best_params_ = "ensemble", combined.score, dict(combined.weights)
        adjusted = selection.account.adjusted
        self.adjustment_ = adjusted.parameters if adjusted and adjusted.used else None
        if adjusted and adjusted.used:
            self.best_score_ = adjusted.score
        self.cv_results_ = cv_results(result.steps, selection.learners)
        best = (result.selected, result.selected_size)
        asked = [(step.allocation.learner, step.allocation.size) for step in result.steps]
        self.best_index_ = asked.index(best) if best in asked else None
        self.multimetric_ = False
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_

    def _estimators(self) -> list[Any]:
        """Return the given estimators, as far as they are known without data."""
        given = self._given
        if isinstance(given, str | Path) or isclass(given):
            return []
        if hasattr(given, "fit"):
            return [given]
        if self._by_name:
            given = [each for each in given if not isinstance(each, str | Path)]
        try:
            return [learner.estimator for learner in listed(given).values()] if given or not self._by_name else []
        except InputError:  # `fit` raises it
            return []

    def _task_of_learners(self) -> Any:
        """Return the task by `task` or by the learners' own types; None where neither tells."""
        if self.task is not None:
            return self.task
        estimators = self._estimators()
        if estimators and all(map(is_regressor, estimators)):
            return "regression"
        return "classification" if estimators and all(map(is_classifier, estimators)) else None

    def _routes(self, weights: Any, groups: Any) -> bool:
        """Let scikit-learn check the metadata requests; return whether routing is enabled."""
        if not get_config()["enable_metadata_routing"]:
            return False
        # Without `cv`, groups only divide the rows: nothing else needs them.
        given = {"sample_weight": weights, "groups": None if self.cv is None else groups}
        if given := {name: value for name, value in given.items() if value is not None}:
            process_routing(self, "fit", **given)
        return True

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of the learners, the scorer and the splitter."""
        router = MetadataRouter(owner=type(self).__name__)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for position, estimator in enumerate(self._estimators()):
            router.add(**{f"learner_{position}": estimator}, method_mapping=mapping)
        if not isinstance(self.scoring, str | None) and hasattr(self.scoring, "get_metadata_routing"):
            scored = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
            router.add(scorer=self.scoring, method_mapping=scored)
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        weighs = getattr(STRATEGIES.get(str(self.strategy)), "weighs_costs", False)
        tags.non_deterministic = weighs and self.costs in {None, PARAMETERS["costs"].default}  # measured times vary
        estimators = [self.best_estimator_] if hasattr(self, "best_estimator_") else self._estimators()
        if not estimators:  # the best guess before `fit`
            tags.estimator_type = "regressor" if self.task == "regression" else "classifier"
            return tags
        every = [get_tags(estimator) for estimator in estimators]
        tags.estimator_type = every[0].estimator_type
        tags.classifier_tags, tags.regressor_tags = deepcopy((every[0].classifier_tags, every[0].regressor_tags))
        tags.input_tags.sparse = all(each.input_tags.sparse for each in every)
        tags.input_tags.allow_nan = any(each.input_tags.allow_nan for each in every)  # the others fail
        return tags

    def _html_repr(self) -> str:
        """Return what a notebook displays: scikit-learn's diagram, below the verdict once there is one."""
        said = verdict_line(self.report_.account) if hasattr(self, "report_") else ""
        return f"{said}{super(DaubSearch, self._abridged())._html_repr()}"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        return str(super(DaubSearch, self._abridged()).__repr__(N_CHAR_MAX))

    def _abridged(self) -> DaubSearch:
        """Return a copy with the learners that scikit-learn prints: it would format all of them, which takes long."""
        given: Any = self.learners
        if not isinstance(given, list | dict) or len(given) <= 2 * PRINTED:
            return self
        if isinstance(given, list):
            few: Any = [*given[:PRINTED], *given[-PRINTED:]]
        elif all(isinstance(name, str) for name in given):
            names = sorted(given)  # as it prints them
            few = {name: given[name] for name in [*names[:PRINTED], *names[-PRINTED:]]}
        else:
            return self
        shown = copy(self)
        shown.learners = few
        return shown

    def score(self, X: Any, y: Any, **params: Any) -> float:
        """Return the selected learner's score on the given rows, by the scorer of the search."""
        self._check_fitted()
        rows = self._new(X)
        with config_context(**self._config):
            return float(self.scorer_(self.best_estimator_, rows, plain_column(y, "y"), **params))

    def evaluate(self, X: Any, y: Any) -> pd.DataFrame:
        """Return the leaderboard with the selected learner's score on the given rows, and its 90 % interval.

        Its columns `test`, `test_low` and `test_high` are NaN for all other learners, because they are not kept.
        """
        self._check_fitted()
        return with_test(self.leaderboard_, str(self.best_learner_), self.score, native(X, "X"), plain_column(y, "y"))

    @offered("set_output", _lacking)
    def set_output(self, *, transform: str | None = None) -> DaubSearch:
        """Set what kind of frame the learners' `transform` returns: "default", "pandas" or "polars"."""
        for each in [*self._estimators(), *([self.best_estimator_] if hasattr(self, "best_estimator_") else [])]:
            each.set_output(transform=transform)
        return self

    @property
    def _roles(self) -> Roles:
        return Roles(self.group, self.time, self.drop)

    def _new(self, X: Any) -> Any:
        """Return new rows as the learners were given theirs."""
        if self._schema is not None and is_frame(X):
            return new_rows(self._schema, X)
        rows = self._checked(self._roles.without(X), reset=False)
        if self._schema is not None:  # an array, where `fit` was given a frame
            return new_rows(self._schema, pd.DataFrame(rows).set_axis(self._columns, axis=1))
        made = frame_of(rows) if isinstance(rows, pa.Table) else rows
        refuse_other_truths(getattr(self, "_used", ()), made)  # of an older version, they are not known
        return made

    def _validating(self, X_val: Any) -> Any:
        """Return validation rows as `prepare` takes them."""
        rows = self._roles.without(X_val)
        return plain_table(rows, "X_val") if self._by_name and is_frame(rows) else self._checked(rows, reset=False)

    @staticmethod
    def _one_column(y: Any) -> Any:
        """Return the target as an array."""
        if isinstance(y, str):
            raise InputError(
                f"`y` must be the values of the target, got its name. Give X.drop(columns={y!r}) and X[{y!r}]."
            )
        found = plain_column(y, "y")
        if getattr(found, "ndim", 1) == 2 and found.shape[1] > 1:  # noqa: PLR2004  # a table
            raise InputError(f"`y` must be one column, got {found.shape[1]}. Search for each of them in turn.")
        return column_or_1d(found, warn=True)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Validate the rows and keep their kind; a frame may hold anything."""
        if not self._by_name and is_texts(X):
            return X
        if isinstance(X, str | bytes | Path) or type(X) is dict or is_texts(X):  # a sparse matrix may be a dict
            what = "texts without a column" if is_texts(X) else f"a {type(X).__name__}"
            frame = "pandas.DataFrame([X])" if type(X) is dict else 'pandas.DataFrame({"text": X})'
            how = "Read the file first" if isinstance(X, str | bytes | Path) else f"Give {frame}"
            raise InputError(f"`X` must be a table of rows, got {what}. {how}.")
        if is_frame(X):
            X = native(X, "X")
            checked_names(X.column_names if isinstance(X, pa.Table) else X.columns, "`X`")
            validate_data(self, X, skip_check_array=True, reset=reset)
            # A portfolio gets the same, whatever library the frame comes from.
            if self._by_name or isinstance(X, pa.Table):
                return plain_table(X, "X")
            # The learners have been given names that are text, as `prepare` makes them.
            return X.set_axis(X.columns.map(str), axis=1) if hasattr(X, "set_axis") else X
        if getattr(getattr(X, "dtype", None), "kind", "") == "O":
            with suppress(ValueError):  # text stays what it is
                X = np.asarray(X, dtype=float)
        X = validate_data(self, X, accept_sparse="csr", dtype=None, ensure_all_finite=False, reset=reset)
        # Text makes a frame, named as `prepare` does it.
        return pd.DataFrame(X).infer_objects().add_prefix("x") if X.dtype.kind in "OUS" else X

    predict = _delegated("predict", "Return the selected learner's predictions.")
    predict_proba = _delegated("predict_proba", "Return the selected learner's probabilities.")
    predict_log_proba = _delegated(
        "predict_log_proba", "Return the logarithms of the selected learner's probabilities."
    )
    decision_function = _delegated("decision_function", "Return the selected learner's decision function.")
    transform = _delegated("transform", "Transform the rows with the selected learner.")
    score_samples = _delegated("score_samples", "Return the selected learner's scores of the rows.")
    inverse_transform = _delegated("inverse_transform", "Invert `transform` with the selected learner.")


def _names(X: Any) -> list[str]:
    """Return the names of the columns of a frame of pandas or a table of Arrow."""
    return list(X.column_names if isinstance(X, pa.Table) else X.columns)


def _seconds(given: Any, name: str) -> Any:
    """Return a time in seconds, if it is a text with a unit."""
    return units.seconds(given, name) if isinstance(given, str) else given


def _all(watches: list[Watch]) -> Watch:
    """Return a function that tells all of these, and whether one of them wants to stop."""

    def watch(event: Event, account: Account) -> bool:
        wanted = [each(event, account) for each in watches]
        return any(wanted)

    return watch


def _raised(event: Event, _: Account) -> None:
    if isinstance(event, Evaluated) and isinstance(event.outcome, Failure):
        raise FitFailed(f"{event.allocation.learner} failed ({event.outcome.kind}): {event.outcome.message}")


def _printed(event: Event, _: Account) -> None:
    if isinstance(event, Evaluated):
        sys.stderr.write(f"{event_line(event)}\n")
