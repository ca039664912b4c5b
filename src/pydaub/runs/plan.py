"""A task, a strategy and its schedule: the one place where a run is put together."""

from __future__ import annotations

import hashlib
import inspect
import math
import platform
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline

from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO, Ratio, Schedule, check_one_way, exact, parsed_sizes
from pydaub.algorithm.strategies import STRATEGIES, Strategy, make_strategy
from pydaub.algorithm.strategies.sizes import few
from pydaub.engines.processes import runs_in_jvm
from pydaub.errors import InputError
from pydaub.evaluation.adjusting import method_for
from pydaub.evaluation.evaluate import check_folds, check_scoring_fits, parameters_of
from pydaub.learners.costs import growths_of, promises_of, with_costs
from pydaub.learners.spaces import Space
from pydaub.learners.weka.jar import jar
from pydaub.records import METRICS, SCORE_ROWS, Scores, number
from pydaub.runs.commands import check_task, promises_of_commands, scores_of_commands, suited_parameters
from pydaub.runs.drawing import first_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydaub.data import Prepared
    from pydaub.evaluation.evaluate import Task

SMALLEST_FIRST_SIZE: Final = 20  # fewer rows tell nothing
MEMBERS: Final = 6  # learners that an ensemble is chosen from, at least
STEPS: Final = (5, 4)  # from the first size to all rows, where rows are few
PROPORTIONS: Final = re.compile(
    "accuracy|balanced_accuracy|top_k|f1|precision|recall|jaccard|roc_auc|average_precision"
)
BY_CLASS: Final = re.compile(
    "balanced_accuracy|roc_auc|average_precision|(f1|precision|recall|jaccard)(_macro|_samples)?$"
)
SAME_SCORER: Final = ("_score_func", "_sign", "_kwargs")  # parts of a scorer of scikit-learn
DEFAULTS: Final = {"cv": str(None), "reuse": True}  # of settings; one that is added later belongs here too
SHORT: Final = {  # what other tools call some scorers
    "auc": "roc_auc",
    "rocauc": "roc_auc",
    "acc": "accuracy",
    "logloss": "neg_log_loss",
    "rmse": "neg_root_mean_squared_error",
    "mse": "neg_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
}
UNBOUNDED: Final = ("positive_likelihood_ratio", "mutual_info_score")
UNNAMED: Final = "score"
PACKAGES: Final = (
    "pydaub",
    "scikit-learn",
    "numpy",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "catboost",
    "imodels",
    "jpype1",
)


@dataclass(frozen=True)
class Sizes:
    """Which sizes may be allocated.

    Parameters
    ----------
    first_size, ratio
        A geometric schedule. Without them it begins with 500 rows, or fewer where there are few, and grows by 1.5.
    sizes
        A list of sizes, as numbers or as text such as "500,1000,1500" or "paper". Excludes the other two.
    """

    first_size: int | None = None
    ratio: Ratio | None = None
    sizes: str | Iterable[int] | None = None

    def schedule(self, full_size: int) -> tuple[Schedule, str | None]:
        """Return the schedule for a number of training rows, and a note where it differs from the paper's."""
        check_one_way(self.first_size, self.ratio, self.sizes)
        if self.sizes is not None:
            return Schedule.listed(full_size, parsed_sizes(self.sizes)), None
        ratio = PAPER_RATIO if self.ratio is None else self.ratio
        if self.first_size is not None:
            return Schedule.geometric(full_size, self.first_size, ratio), None
        r = exact(ratio)
        if full_size >= PAPER_FIRST_SIZE * (1 + r + r**2):
            return Schedule.geometric(full_size, PAPER_FIRST_SIZE, ratio), None
        # Three sizes for every learner would cost more than all rows: begin lower, and end with all rows exactly.
        note = f"The paper's first size of {PAPER_FIRST_SIZE} is too large for {full_size:,} training rows"
        for steps in STEPS:
            sizes = sorted({math.ceil(full_size / r**step) for step in range(steps + 1)})
            if sizes[0] >= SMALLEST_FIRST_SIZE and len(sizes) > steps and sum(sizes[:3]) < full_size:
                return Schedule(tuple(sizes)), f"{note}, so it is {sizes[0]} instead."
        return Schedule((full_size,)), f"{note}, so every learner gets all of them."


@dataclass(frozen=True)
class Plan:
    """A run that can begin: its task, its strategy, and what people should know about them."""

    task: Task
    strategy: Strategy
    note: str | None = None
    spaces: Mapping[str, Space] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that the strategy may ask for."""
        return self.strategy.schedule.sizes

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two runs the same, as plain JSON values: the first line of the journal."""
        task = self.task
        told = {name: _described(learner.estimator) for name, learner in task.learners.items()}
        weka = any(runs_in_jvm(learner.estimator) for learner in task.learners.values())
        return {
            **self.strategy.settings,
            "scores": scores_of(task).to_json(),
            "data": task.data.fingerprint,
            "definitions": hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest(),
            "scoring": _described(task.scoring),
            "cv": _described(task.cv),
            "seed": task.seed,
            "reuse": task.reuse,
            "score_rows": task.score_rows,
            **({"weka": jar().version} if weka else {}),
        }

    @property
    def defaults(self) -> dict[str, Any]:
        """What the settings are of a journal that was written before they existed."""
        kind = STRATEGIES[self.strategy.settings["strategy"]]
        return {**DEFAULTS, **{each.name: each.default for each in kind.parameters}}


def default_scoring(data: Prepared) -> str:
    """Return the scorer for learners of a portfolio."""
    return "accuracy" if data.schema.task == "classification" else "r2"


def check_scoring(scoring: Any) -> None:
    """Refuse what cannot be a scorer, before any data is read; suggest similar names for a name."""
    if not isinstance(scoring, str):
        if scoring is not None and not callable(scoring):
            one = " Choose one: there is one score to select by." if isinstance(scoring, list | tuple | dict) else ""
            raise InputError(f"`scoring` must be a name, a callable or None, got {scoring!r}.{one}")
        if scoring is not None and not _takes_three(scoring):
            name = getattr(scoring, "__name__", repr(scoring))
            raise InputError(
                f"`scoring` must take an estimator, X and y, got {name}. Of a metric of y and predictions,"
                f" sklearn.metrics.make_scorer({name}) makes one."
            )
        return
    names = get_scorer_names()
    if scoring not in names:
        usual = SHORT.get(scoring.lower().replace("_", ""))
        near = [usual] if usual else get_close_matches(scoring, names, n=3, cutoff=0.4)
        advice = f"Did you mean {' or '.join(near)}?" if near else "sklearn.metrics.get_scorer_names() lists them."
        raise InputError(f"`scoring` must be a scorer of scikit-learn, got {scoring!r}. {advice}")


def _takes_three(scoring: Any) -> bool:
    try:
        inspect.signature(scoring).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # a callable whose parameters cannot be known
        return True
    return True


def check_after(cv: object, *, ensemble: object, adjust: object) -> None:
    """Refuse what follows a run and needs validation predictions, where there are folds instead of validation rows."""
    for name, wanted, done in (("ensemble", ensemble, "combined"), ("adjust", adjust, "adjusted")):
        if wanted and cv is not None:
            raise InputError(f"`{name}` must go without `cv`: learners are {done} by their validation predictions.")


def plan(task: Task, strategy: str, parameters: Mapping[str, Any] | None = None, sizes: Sizes | None = None) -> Plan:
    """Return the run of a task with a strategy, or raise InputError where it cannot be made.

    `parameters` are those of the strategy; None stands for its default.
    """
    check_scoring(task.scoring)
    check_task(task)
    if isinstance(task.scoring, str):
        check_scoring_fits(task.data, task.scoring)
    if task.ensemble and not isinstance(task.scoring, str | None):
        raise InputError(f"`ensemble` must go with a scorer by its name, got {task.scoring!r}.")
    if task.adjust:
        method_for(task.scoring, task.data.schema)
    schedule, note = (sizes or Sizes()).schedule(task.data.full_size)
    schema, estimators = task.data.schema, {name: learner.estimator for name, learner in task.learners.items()}
    task, spaces = _with_first_draws(task)
    counts = {name: None if space.count == math.inf else int(space.count) for name, space in spaces.items()}
    features, classes = schema.features, max(len(schema.classes), 1)
    resolved = with_costs(suited_parameters(task, strategy, parameters or {}), estimators, features, classes)
    members = MEMBERS if task.ensemble else 1
    made = make_strategy(
        strategy,
        tuple(task.learners),
        schedule,
        resolved,
        scores_of(task),
        growths_of(estimators),
        members,
        counts,
        {name: learner.family for name, learner in task.learners.items() if learner.family},
        promises_of(estimators, few(schedule.sizes)[0], features, classes) | promises_of_commands(task),
    )
    task = _scored_for(task, made)
    first = made.schedule.sizes[0]
    if isinstance(task.cv, int) and task.cv > first:
        raise InputError(f"`cv` must be at most the {first} rows of the first size, got {task.cv} folds.")
    check_folds(task, first)
    return Plan(task, made, note if first == schedule.sizes[0] else None, spaces)


def _with_first_draws(task: Task) -> tuple[Task, dict[str, Space]]:
    """Return the task with the first configurations of each space in its place, and the spaces."""
    spaces = {name: learner for name, learner in task.learners.items() if isinstance(learner, Space)}
    if not spaces:
        return task, spaces
    learners = {name: learner for name, learner in task.learners.items() if name not in spaces}
    for space in spaces.values():
        for name, point in first_points(space, task.seed).items():
            if name in learners:
                raise InputError(f"Each learner must have a name of its own, got {name!r} twice. Rename one.")
            learners[name] = space.at(point, name)
    return replace(task, learners=learners), spaces


def _scored_for(task: Task, strategy: Strategy) -> Task:
    """Return the task with no more scoring than the strategy needs, unless the person wants all of it."""
    for name, value, known in (
        ("score_rows", task.score_rows, (*SCORE_ROWS, None)),
        ("metrics", task.metrics, METRICS),
    ):
        if value not in known:
            raise InputError(f"`{name}` must be one of {', '.join(map(str, known))}, got {value!r}.")
    rows = task.score_rows or strategy.score_rows
    return replace(task, score_rows=rows, train_scores=rows == "all" or strategy.needs_train_scores)


def scores_of(task: Task) -> Scores:
    """Return what the scores of a task are. Scikit-learn's scorers of errors are negative, and named so."""
    if (found := scores_of_commands(task)) is not None:
        return found
    known, name = _known_scorer(task)
    if task.floor is not None:
        return _on_rows(task, Scores(name, top=-_checked_floor(task, known), proportion=False))
    top = 0.0 if known and known.startswith("neg_") else 1.0
    proportion = bool(known and PROPORTIONS.match(known))
    if known is None and task.scoring is None:  # a `score` of its own, which is usually an accuracy or an r2
        proportion = task.data.schema.task == "classification"
    elif known is None or known in UNBOUNDED:
        return _on_rows(task, Scores(name, top=None, proportion=False))
    counting = _counting(task) if known and BY_CLASS.match(known) else 1.0
    return _on_rows(task, Scores(name, top=top, proportion=proportion, counting=counting))


def _checked_floor(task: Task, known: str | None) -> float:
    """Return the best loss that can be reached, which only a score that is a negative loss has."""
    loss = known.startswith("neg_") if known else task.scoring is not None
    if not loss:
        raise InputError(
            "`floor` must go with a score that is a negative loss (neg_..., or a callable), got the score"
            f" {known or UNNAMED!r}."
        )
    floor = number(task.floor, "floor")
    if not math.isfinite(floor) or (known and floor < 0):
        wanted = "a finite number" if known is None else "a finite number of at least 0"
        raise InputError(f"`floor` must be {wanted}, got {task.floor!r}.")
    return floor


def _counting(task: Task) -> float:
    """Return the share of rows that decide about the noise of a score of classes: the rarest class has the fewest."""
    data = task.data
    _, counts = np.unique((data.valid() if data.valid_size else data.train(data.full_size)).y, return_counts=True)
    return round(float(len(counts) * counts.min() / counts.sum()), 4) or 1e-4


def _on_rows(task: Task, scores: Scores) -> Scores:
    crossed = task.cv is not None
    rows = (task.data.full_size if crossed else task.data.valid_size) or None
    return replace(scores, rows=rows, cross_validated=crossed)


def _known_scorer(task: Task) -> tuple[str | None, str]:
    """Return which of scikit-learn's scorers a task uses, None if none of them, and what people call it."""
    scoring = task.scoring
    if isinstance(scoring, str):
        return scoring, scoring
    if scoring is None:
        usual = {ClassifierMixin.score: "accuracy", RegressorMixin.score: "r2"}
        estimators = (learner.estimator for learner in task.learners.values())
        lasts = (each.steps[-1][1] if isinstance(each, Pipeline) else each for each in estimators)
        names = {usual.get(getattr(type(last), "score", None)) for last in lasts}
        known = names.pop() if len(names) == 1 else None
        return known, known or UNNAMED
    function = getattr(scoring, "_score_func", None)  # of a scorer that scikit-learn made
    if function is None:
        name = getattr(scoring, "__name__", type(scoring).__name__)
        return None, UNNAMED if name == "<lambda>" else name
    for name in get_scorer_names():
        if all(getattr(get_scorer(name), part) == getattr(scoring, part) for part in SAME_SCORER):
            return name, name
    sign = "neg_" if getattr(scoring, "_sign", 1) < 0 else ""  # nothing public says it
    return None, f"{sign}{getattr(function, '__name__', UNNAMED)}"


def _described(thing: Any) -> str:
    """Return text that changes with an object's parameters, and with its code where that is the user's own."""
    if isinstance(thing, str | int | None):
        return str(thing)
    parameters = parameters_of(thing)
    told = f"{_named(thing)} {_named(parameters)}"
    for part in (thing, *parameters.values()):
        code = getattr(part, "__code__", None)
        told += "" if code is None else f" {code.co_code.hex()} {code.co_consts!r}"
        told += f" {type(part).__module__}"  # the module of a user's file is named after its content
        if type(part).__module__ == "__main__":
            with suppress(OSError, TypeError):  # typed in, or built in
                told += inspect.getsource(type(part))
    return re.sub(r" at 0x[0-9a-f]+", "", told)


def _named(value: Any) -> str:
    """Return text for a value, with the class alone for estimators: scikit-learn's `repr` is slow and shortens."""
    if hasattr(value, "get_params") and not inspect.isclass(value):
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_named, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_named(each)}' for key, each in value.items())}}}"
    return repr(value)


_version = cache(version)  # reading the metadata of all packages takes longer than a small fit


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = _version(package)
    if "jpype1" in found:
        with suppress(InputError):  # there is no WEKA
            found["weka"] = jar().version
    return found
