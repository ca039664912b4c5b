"""DaubSearch: the same run as a scikit-learn estimator."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from copy import deepcopy
from inspect import isclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit
from sklearn.utils import assert_all_finite, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pydaub.algorithm.strategies import DEFAULT
from pydaub.dashboard.report import Report
from pydaub.data import Prepared, Split, prepare
from pydaub.engines.registry import Where
from pydaub.errors import InputError
from pydaub.evaluation.evaluate import Task, check_scoring_fits, check_scoring_name
from pydaub.isolation.nursery import Limits
from pydaub.learners import PAPER, Learner, combinations, listed, portfolio
from pydaub.records import Evaluated, Event, Failure, Measurement
from pydaub.runs.selection import Selection, schedule_for, select, strategy_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.runs.loop import Step


TOO_FEW = 2  # rows: one to train on and one to validate on


def _fitted_has(name: str) -> Callable[[DaubSearch], bool]:
    """Say whether the selected learner, or before fitting the only kind there is, offers a method."""

    def check(search: DaubSearch) -> bool:
        if hasattr(search, "best_estimator_"):
            return hasattr(search.best_estimator_, name)
        if isinstance(search.learners, str):
            return name in ("predict", "predict_proba")  # what learners of a portfolio may be expected to have
        return all(hasattr(estimator, name) for estimator in search._estimators())  # noqa: SLF001  # our own

    return check


def _delegated(name: str, description: str) -> Any:
    """Return a method that the selected learner carries out, and that is there if it has it."""

    def method(self: DaubSearch, X: Any) -> Any:
        rows = X if name == "inverse_transform" else self._rows(X)  # our own
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(rows)

    method.__name__, method.__doc__ = name, description
    return available_if(_fitted_has(name))(method)


class DaubSearch(MetaEstimatorMixin, BaseEstimator):
    """Find the learner that is best on all rows, and be it.

    `learners` is a portfolio's name ("sklearn"), a list of (name, estimator) pairs, a dict, or one estimator together
    with `param_grid`: lists of values, of which each combination is a learner, or distributions, of which `n_iter`
    combinations are drawn.

    `strategy` says who gets data next; with "frugal", `delta` is the loss of score that is tolerated (0.01).
    `task` says "classification" or "regression" where the target does not show it, or is not there yet.

    Scores are those of `scoring` (a name, a callable, or None for the learner's own `score`) on a validation set: the
    one given to `fit`, or `validation_fraction` of the rows, or by cross-validation where `cv` is given. With
    `refit` the selected learner is trained once more on all rows at the end; without, `best_estimator_` is the very one
    that was scored.

    Evaluations run in this process, one after the other, unless `n_jobs` or a limit is given: then each runs in a
    process of its own. `learner_timeout` (seconds) and `learner_memory` (bytes) hold for each evaluation, `time_limit`
    for the whole search, which then ends with the best so far. With the engine "ray" they run on all CPUs of the Ray
    cluster at `address` (None: the one that runs here; "local": one of our own), or on `n_jobs` of them. With a
    `folder`, a search that was killed goes on where it was when it is fitted again with the same data and settings.
    `reuse` lets learners start from what they learned on a smaller sample where that makes no difference.

    After `fit`: `best_estimator_`, `best_learner_` (its name), `best_params_`, `best_score_` (on the validation
    rows), `best_size_`, `cv_results_` (a row for each allocation; ranks are among equal sizes only), `allocations_`,
    `certificate_`, `result_`, `report_` (in a notebook, the page of the search), `failures_`, `schedule_note_`,
    `classes_`, `n_features_in_`.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = DaubSearch([("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))], random_state=0)
    >>> search.fit(X, y).best_learner_
    'bayes'
    """

    def __init__(  # noqa: PLR0913  # an estimator may have many
        self,
        learners: Any = "sklearn",
        *,
        param_grid: Any = None,
        n_iter: int = 10,
        task: str | None = None,
        strategy: str = DEFAULT,
        delta: float | None = None,
        first_size: int | None = None,
        ratio: float | str = "1.5",
        scoring: Any = None,
        cv: Any = None,
        validation_fraction: float = 0.3,
        refit: bool = True,
        reuse: bool = True,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        learner_timeout: float | None = None,
        learner_memory: int | None = None,
        engine: str | None = None,
        address: str | None = None,
        folder: str | Path | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.learners = learners
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.task = task
        self.strategy = strategy
        self.delta = delta
        self.first_size = first_size
        self.ratio = ratio
        self.scoring = scoring
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.reuse = reuse
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.learner_timeout = learner_timeout
        self.learner_memory = learner_memory
        self.engine = engine
        self.address = address
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, X_val: Any = None, y_val: Any = None, **params: Any) -> DaubSearch:
        """Search, and fit the selected learner.

        `X_val` and `y_val` are rows to validate on. `params` may hold `sample_weight`, which goes to learners (and to
        a scorer that requests it), and `groups`, which are kept together when rows are divided.
        """
        weights, groups = params.pop("sample_weight", None), params.pop("groups", None)
        if params:
            raise InputError(f"`fit` must be given `sample_weight` and `groups` at most, got {', '.join(params)}.")
        if y is None:
            raise InputError(
                f"`y` must be given: {type(self).__name__} requires y to be passed, but the target y is None."
            )
        seed = self._seed()
        self._check_validation(X_val, y_val)
        own = not isinstance(self.learners, str)
        X, y = self._checked(X, reset=True), column_or_1d(y, warn=True)
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
            validation=None if X_val is None else (self._checked(X_val, reset=False), y_val),
            split=Split(fraction=self.validation_fraction, none=self.cv is not None),
            sample_weight=weights,
            groups=groups,
            task=self._task_of_learners(),
            seed=seed,
            columns=not own,
        )
        learners = self._portfolio(data, seed)
        selection = self._selected(data, learners, seed, routed=own and self._routes(weights, groups))
        self._take(selection, learners, data)
        return self

    def _seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise InputError(
                f"`random_state` must be a whole number, a RandomState or None, got {self.random_state!r}: {error}."
            ) from None

    def _check_validation(self, X_val: Any, y_val: Any) -> None:
        """Refuse half a validation set, two ways to validate, and folds that are not made anew for each sample."""
        if (X_val is None) != (y_val is None):
            raise InputError("`X_val` and `y_val` must be given together, got one of them.")
        if self.cv is None:
            return
        if X_val is not None:
            raise InputError("`cv` must be None where `X_val` is given, got both. Leave one out.")
        folds = isinstance(self.cv, int | np.integer) and self.cv > 1  # True is no number of folds, and not above 1
        if not folds and (isinstance(self.cv, str) or not hasattr(self.cv, "split")):
            raise InputError(f"`cv` must be a number of folds from 2, a splitter or None, got {self.cv!r}.")
        if isinstance(self.cv, TimeSeriesSplit | PredefinedSplit):
            raise InputError(
                f"`cv` must be a splitter of rows in any order, got {self.cv!r}: rows are shuffled. Give `X_val`."
            )

    def _selected(self, data: Prepared, learners: dict[str, Learner], seed: int, *, routed: bool) -> Selection:
        schedule, note = schedule_for(data.full_size, self.first_size, self.ratio)
        where = self._where()
        task = Task(
            data,
            learners,
            scoring=self._scoring(data),
            cv=self.cv,
            seed=seed,
            reuse=bool(self.reuse),
            weighted=frozenset({"fit", "score"} if routed else {"fit"}),
            threads=where.threads,
        )
        if not routed:
            task = task.unrouted()
        strategy = strategy_for(self.strategy, task, schedule, self.delta)
        self.schedule_note_ = note if strategy.schedule.sizes[0] == schedule.sizes[0] else None
        watch = _printed if self.verbose else None
        found = select(task, strategy, where, time_limit=self.time_limit, watch=watch, refit=bool(self.refit))
        if found.note:
            warnings.warn(found.note, stacklevel=3)
        return found

    def _where(self) -> Where:
        limits = Limits(self.learner_timeout, self.learner_memory)
        if not isinstance(self.folder, str | Path | None):
            raise InputError(f"`folder` must be a path or None, got {self.folder!r}.")
        if self.folder is not None and not isinstance(self.random_state, int | np.integer):
            raise InputError(
                f"`random_state` must be a whole number where a `folder` is given, got {self.random_state!r}: another"
                " seed would be another search."
            )
        folder = None if self.folder is None else Path(self.folder)
        return Where.from_jobs(self.n_jobs, limits, folder, self.engine, self.address)

    def _portfolio(self, data: Prepared, seed: int) -> dict[str, Learner]:
        if self.param_grid is not None:
            if not hasattr(self.learners, "fit"):
                raise InputError(
                    "`param_grid` must go with one estimator as `learners`, got several. Give each a name."
                )
            return combinations(self.learners, self.param_grid, self.n_iter, seed)
        if hasattr(self.learners, "fit"):
            return listed([(type(self.learners).__name__.lower(), self.learners)])
        left_out: dict[str, str] = {}
        learners = portfolio(self.learners, data.schema, left_out)
        if lacking := [name for name in left_out if name.startswith(PAPER)]:
            warnings.warn(f"Left out: {', '.join(lacking)}. {left_out[lacking[0]]}", stacklevel=3)
        return learners

    def _scoring(self, data: Prepared) -> Any:
        scoring = self.scoring
        if isinstance(scoring, str):
            check_scoring_name(scoring)
            check_scoring_fits(data, scoring)
        elif scoring is not None and not callable(scoring):
            raise InputError(f"`scoring` must be a name, a callable or None, got {scoring!r}.")
        elif scoring is None and isinstance(self.learners, str):
            return "accuracy" if data.schema.task == "classification" else "r2"
        return scoring

    def _take(self, selection: Selection, learners: dict[str, Learner], data: Prepared) -> None:
        result = selection.result
        self.result_, self.certificate_ = result, selection.certificate
        rows = data.valid_size or data.full_size
        self.report_ = Report(selection.events, rows, type(self).__name__, certificate=selection.certificate)
        self.best_estimator_ = selection.fitted
        self.best_learner_, self.best_size_, self.best_score_ = (
            result.selected,
            result.selected_size,
            result.valid_score,
        )
        self.failures_, self.allocations_ = dict(result.failures), list(result.steps)
        self.scorer_ = check_scoring(self.best_estimator_, scoring=self._scoring(data))
        self.best_params_ = self._parameters(learners[result.selected or ""])
        self.cv_results_ = self._results(result.steps, learners)
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_

    def _parameters(self, learner: Learner) -> dict[str, Any]:
        """Return what makes a learner different from the others: its combination, or its name."""
        if self.param_grid is None:
            return {"learner": learner.name}
        tables = [self.param_grid] if isinstance(self.param_grid, dict) else self.param_grid
        values = learner.estimator.get_params()
        return {name: values[name] for name in dict.fromkeys(name for table in tables for name in table)}

    def _results(self, steps: tuple[Step, ...], learners: dict[str, Learner]) -> dict[str, Any]:
        """Return a row for each allocation, as arrays; ranks are given among equal sizes only."""
        valid = np.array([_score(step, "valid_score") for step in steps])
        sizes = np.array([step.allocation.size for step in steps])
        order = np.nan_to_num(valid, nan=-np.inf)  # what failed comes last
        rank = [1 + int(np.sum((sizes == size) & (order > score))) for size, score in zip(sizes, order, strict=True)]
        parameters = {name: self._parameters(learner) for name, learner in learners.items()}
        return {
            "learner": np.array([step.allocation.learner for step in steps], dtype=object),
            "size": sizes,
            "params": [parameters[step.allocation.learner] for step in steps],
            "mean_train_score": np.array([_score(step, "train_score") for step in steps]),
            "mean_test_score": valid,
            "rank_test_score": np.array(rank, dtype=np.int32),
            "seconds": np.array([step.outcome.seconds for step in steps]),
            "bound": np.array([np.nan if step.bound is None else step.bound for step in steps]),
            "metrics": [dict(getattr(step.outcome, "metrics", {})) for step in steps],
            "failure": np.array(
                [
                    f"{step.outcome.kind}: {step.outcome.message}" if isinstance(step.outcome, Failure) else ""
                    for step in steps
                ],
                dtype=object,
            ),
        }

    def _estimators(self) -> list[Any]:
        """Return the estimators that were given, as far as they are known before there is data."""
        if isinstance(self.learners, str) or isclass(self.learners):
            return []
        if hasattr(self.learners, "fit"):
            return [self.learners]
        try:
            return [learner.estimator for learner in listed(self.learners).values()]
        except InputError:  # `fit` says so
            return []

    def _task_of_learners(self) -> Any:
        """Return what the person says the learners are for, or they say themselves; None where nobody says."""
        if self.task is not None:
            return self.task
        estimators = self._estimators()
        if estimators and all(is_regressor(estimator) for estimator in estimators):
            return "regression"
        return "classification" if estimators and all(is_classifier(estimator) for estimator in estimators) else None

    def _routes(self, weights: Any, groups: Any) -> bool:
        """Have scikit-learn check who wants what; say whether it routes at all."""
        given = {"sample_weight": weights, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        from sklearn import get_config  # noqa: PLC0415  # read now, not on import

        if not get_config()["enable_metadata_routing"]:
            return False
        if self.cv is None:
            given.pop("groups", None)  # they divide the rows, and nobody else needs them
        if given:
            process_routing(self, "fit", **given)
        return True

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who is asked for what: the learners, the scorer, the splitter."""
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
        tags.non_deterministic = self.strategy == "frugal"  # it weighs times, which are never twice the same
        estimators = [self.best_estimator_] if hasattr(self, "best_estimator_") else self._estimators()
        if not estimators:
            tags.estimator_type = "regressor" if self.task == "regression" else "classifier"  # as far as is known
        else:
            first = get_tags(estimators[0])
            tags.estimator_type = first.estimator_type
            tags.classifier_tags, tags.regressor_tags = deepcopy(first.classifier_tags), deepcopy(first.regressor_tags)
            every = [get_tags(estimator).input_tags for estimator in estimators]
            tags.input_tags.sparse = all(each.sparse for each in every)
            tags.input_tags.allow_nan = any(each.allow_nan for each in every)  # the others fail, and are left
        return tags

    def _sk_visual_block_(self) -> Any:
        from sklearn.utils._repr_html.estimator import _VisualBlock  # noqa: PLC0415  # as its own searches do

        if hasattr(self, "best_estimator_"):
            names, estimators = [f"selected: {self.best_learner_}"], [self.best_estimator_]
        else:
            estimators = self._estimators()
            names = [type(estimator).__name__ for estimator in estimators]
        if not estimators:
            return _VisualBlock("single", self, names=type(self).__name__, name_details=str(self))
        return _VisualBlock("parallel", estimators, names=names, name_details=[str(each) for each in estimators])

    def score(self, X: Any, y: Any, **params: Any) -> float:
        """Return the score of the selected learner on given rows, by the scorer of the search."""
        check_is_fitted(self)
        return float(self.scorer_(self.best_estimator_, self._rows(X), y, **params))

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return the rows, which stay of the kind that was given; a frame may hold anything."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            # The portfolio's pipelines are made for frames of pandas.
            X = X.to_pandas() if isinstance(self.learners, str) and hasattr(X, "to_pandas") else X
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
    predict_log_proba = _delegated("predict_log_proba", "Return the logarithms of its probabilities.")
    decision_function = _delegated("decision_function", "Return the selected learner's decision function.")
    transform = _delegated("transform", "Return what the selected learner makes of the rows.")
    inverse_transform = _delegated("inverse_transform", "Undo `transform`.")


def _score(step: Step, name: str) -> float:
    return float(getattr(step.outcome, name)) if isinstance(step.outcome, Measurement) else float("nan")


def _printed(event: Event) -> None:
    if isinstance(event, Evaluated):
        outcome = event.outcome
        told = (
            f"{outcome.valid_score:.4f}" if isinstance(outcome, Measurement) else f"{outcome.kind}: {outcome.message}"
        )
        allocation = event.allocation
        sys.stderr.write(f"[{event.clock:8.1f} s] {allocation.learner} with {allocation.size:,} rows: {told}\n")
