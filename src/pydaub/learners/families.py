"""Families of strong learners: what they are made of, and the values that their parameters may have.

`strong.json` lists the configurations that make the portfolio `strong`. `python -m benchmarks.portfolio` chose them, by
how much each adds to the rest on measured data sets, and writes the file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sklearn import ensemble, linear_model, neighbors, neural_network, svm
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from pydaub.learners.base import Estimator, Recipe
from pydaub.learners.encoding import encoded
from pydaub.learners.realmlp import RealMLPClassifier, RealMLPRegressor
from pydaub.learners.spaces import Space
from pydaub.learners.stopping import EarlyStoppedClassifier, EarlyStoppedRegressor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydaub.data.schema import Schema, Task
    from pydaub.learners.encoding import How

MANY: Final = 50  # settings that make a space
CHOSEN: Final = Path(__file__).with_name("strong.json")


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of learner with parameters.

    Attributes
    ----------
    title
        What it is, for people.
    how, package, dense
        As in `Recipe`.
    make
        Returns the estimator for a task and settings.
    choices
        The parameters, and the values that each may have.
    """

    title: str
    how: How
    make: Callable[[Task, Mapping[str, Any]], Estimator]
    choices: Mapping[str, tuple[Any, ...]]
    package: str = ""
    dense: bool = False

    def recipe(self, name: str, settings: Mapping[str, Any], task: Task) -> Recipe:
        """Return the learner with these settings."""
        shown = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings.items())
        make = partial(self.make, task, dict(settings))
        options = {"package": self.package, "dense": self.dense, "family": self.title}
        return Recipe(name, f"{self.title}: {shown}", self.how, make, **options)  # type: ignore[arg-type]  # as named


@dataclass(frozen=True, slots=True)
class SpaceRecipe(Recipe):
    """A space that is not built yet: all settings of a family, from which configurations are drawn during a run."""

    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    configured: Callable[[Mapping[str, Any]], Estimator] | None = None

    def learner(self, schema: Schema) -> Space:
        """Build the space for rows of this schema."""
        made = self.configured

        def make(settings: Mapping[str, Any]) -> Estimator:
            return encoded(made(settings) if made else self.make(), schema, self.how)

        return Space(self.name, self.make(), self.description, parameters=self.choices, make=make)


def _one_of(classifier: Any, regressor: Any) -> Callable[[Task, Mapping[str, Any]], Estimator]:  # noqa: ANN401  # classes
    return lambda task, settings: (classifier if task == "classification" else regressor)(**settings)


def _scaled_target(classifier: Any, regressor: Any) -> Callable[[Task, Mapping[str, Any]], Estimator]:  # noqa: ANN401  # classes
    """Return a factory whose regressors see a scaled target, so that their settings suit targets of any unit."""

    def make(task: Task, settings: Mapping[str, Any]) -> Estimator:
        if task == "classification":
            return classifier(**settings)
        return TransformedTargetRegressor(regressor(**settings), transformer=StandardScaler())

    return make


def _booster(package: str, classifier: str, regressor: str, patience: int | None = 30, **fixed: Any) -> Any:  # noqa: ANN401  # parameters of any type
    def make(task: Task, settings: Mapping[str, Any]) -> Estimator:
        module = import_module(package)
        if task == "classification":
            return EarlyStoppedClassifier(getattr(module, classifier)(**fixed, **settings), patience)
        return EarlyStoppedRegressor(getattr(module, regressor)(**fixed, **settings), patience)

    return make


def _histograms(task: Task, settings: Mapping[str, Any]) -> Estimator:
    kind = (
        ensemble.HistGradientBoostingClassifier if task == "classification" else ensemble.HistGradientBoostingRegressor
    )
    return kind(max_iter=1000, early_stopping=True, n_iter_no_change=30, **settings)


def _linear(task: Task, settings: Mapping[str, Any]) -> Estimator:
    """Return a logistic or ridge regression whose penalty is 1 / C."""
    if task == "classification":
        return linear_model.LogisticRegression(C=settings["C"], max_iter=1000)
    return linear_model.Ridge(alpha=1 / settings["C"])


def _splines(task: Task, settings: Mapping[str, Any]) -> Estimator:
    splines = SplineTransformer(n_knots=settings["n_knots"], knots="quantile", extrapolation="constant")
    return make_pipeline(splines, StandardScaler(), _linear(task, settings))


def _nystroem(task: Task, settings: Mapping[str, Any]) -> Estimator:
    features = Nystroem(n_components=settings["n_components"], kernel=settings["kernel"])
    return make_pipeline(features, StandardScaler(), _linear(task, settings))


def _network(task: Task, settings: Mapping[str, Any]) -> Estimator:
    given = {**settings, "hidden_layer_sizes": tuple(settings["hidden_layer_sizes"])}
    fixed = {"early_stopping": True, "n_iter_no_change": 8, "max_iter": 100}
    return _scaled_target(neural_network.MLPClassifier, neural_network.MLPRegressor)(task, {**fixed, **given})


def _realmlp(task: Task, settings: Mapping[str, Any]) -> Estimator:
    return (RealMLPClassifier if task == "classification" else RealMLPRegressor)(**settings)


_FOREST: Final = {
    "n_estimators": (200,),
    "max_features": ("sqrt", 0.3, 0.6, 1.0),
    "min_samples_leaf": (1, 2, 5),
}
FAMILIES: Final[Mapping[str, Family]] = {
    "lightgbm": Family(
        "LightGBM",
        "native",
        _booster("lightgbm", "LGBMClassifier", "LGBMRegressor", n_estimators=1000, subsample_freq=1, verbose=-1),
        {
            "learning_rate": (0.03, 0.06, 0.12, 0.25),
            "num_leaves": (7, 15, 31, 63, 127, 255),
            "min_child_samples": (5, 20, 60),
            "colsample_bytree": (0.4, 0.7, 1.0),
            "subsample": (0.7, 1.0),
            "reg_lambda": (0.0, 1.0, 10.0),
            "extra_trees": (False, False, True),
        },
        package="lightgbm",
    ),
    "xgboost": Family(
        "XGBoost",
        "native",
        _booster("xgboost", "XGBClassifier", "XGBRegressor", n_estimators=1000, verbosity=0),
        {
            "learning_rate": (0.03, 0.06, 0.12, 0.25),
            "max_depth": (3, 5, 7, 10),
            "min_child_weight": (1, 5, 20),
            "colsample_bytree": (0.4, 0.7, 1.0),
            "subsample": (0.7, 1.0),
            "reg_lambda": (0.1, 1.0, 10.0),
        },
        package="xgboost",
    ),
    # Early stopping by the log-loss may end while the accuracy still rises (benchmarks/README.md).
    "lightgbm-all": Family(
        "LightGBM, all rounds",
        "native",
        _booster("lightgbm", "LGBMClassifier", "LGBMRegressor", None, subsample_freq=1, verbose=-1),
        {
            "n_estimators": (300,),
            "learning_rate": (0.06, 0.12),
            "num_leaves": (63, 127, 255),
            "min_child_samples": (5, 20),
            "colsample_bytree": (0.7,),
            "reg_lambda": (0.0, 10.0),
        },
        package="lightgbm",
    ),
    "catboost": Family(
        "CatBoost",
        "native",
        _booster(
            *("catboost", "CatBoostClassifier", "CatBoostRegressor"),
            iterations=1000,
            verbose=0,
            allow_writing_files=False,
            thread_count=-1,
            random_state=0,
        ),
        {
            "learning_rate": (0.06, 0.12, 0.25),
            "depth": (4, 6, 8),
            "l2_leaf_reg": (1.0, 3.0, 10.0),
            "random_strength": (0.0, 1.0),
        },
        package="catboost",
    ),
    "histograms": Family(
        "Histogram gradient boosting",
        "native",
        _histograms,
        {
            "learning_rate": (0.03, 0.06, 0.12, 0.25),
            "max_leaf_nodes": (15, 31, 63, 127),
            "min_samples_leaf": (5, 20, 60),
            "l2_regularization": (0.0, 1.0, 10.0),
            "max_features": (0.4, 0.7, 1.0),
        },
        dense=True,
    ),
    "random-forest": Family(
        "Random forest",
        "native",
        _one_of(ensemble.RandomForestClassifier, ensemble.RandomForestRegressor),
        _FOREST,
    ),
    "extra-trees": Family(
        "Extremely randomised forest",
        "native",
        _one_of(ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor),
        _FOREST,
    ),
    "linear": Family("Linear model, L2 penalty", "scaled", _linear, {"C": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)}),
    "splines": Family(
        "Linear model on splines",
        "scaled",
        _splines,
        {"n_knots": (5, 12), "C": (0.001, 0.01, 0.1, 1.0)},
        dense=True,
    ),
    "nystroem": Family(
        "Linear model on kernel features (Nystroem)",
        "scaled",
        _nystroem,
        {"kernel": ("rbf", "laplacian"), "n_components": (200, 600), "C": (0.01, 0.1, 1.0)},
    ),
    "svm": Family(
        "Support vector machine, RBF kernel",
        "scaled",
        _scaled_target(svm.SVC, svm.SVR),
        {"C": (0.5, 3.0, 20.0), "gamma": ("scale", 0.01, 0.1)},
    ),
    "neighbours": Family(
        "Nearest neighbours",
        "scaled",
        _one_of(neighbors.KNeighborsClassifier, neighbors.KNeighborsRegressor),
        {"n_neighbors": (3, 8, 20, 50), "weights": ("uniform", "distance"), "p": (1, 2)},
    ),
    "realmlp": Family(
        "RealMLP",
        "scaled",
        _realmlp,
        {"n_epochs": (64, 256), "hidden_width": (128, 256), "p_drop": (0.0, 0.15, 0.3)},
        package="pytabkit",
        dense=True,
    ),
    "network": Family(
        "Neural network",
        "scaled",
        _network,
        {
            "hidden_layer_sizes": ((64,), (256,), (128, 64), (256, 256)),
            "activation": ("relu", "tanh"),
            "alpha": (1e-5, 1e-3, 1e-1),
            "learning_rate_init": (1e-3, 4e-3),
            "batch_size": ("auto", 64),
        },
    ),
}


@cache
def spaces(task: Task) -> tuple[Recipe, ...]:
    """Return the portfolio `spaces`: a space for each family that has many settings."""
    found = []
    for name, family in FAMILIES.items():
        choices = {key: [*dict.fromkeys(values)] for key, values in family.choices.items()}
        make = partial(family.make, task)
        first = {key: values[0] for key, values in choices.items()}
        if math.prod(map(len, choices.values())) >= MANY:
            description = f"{family.title}, parameters searched"
            options = {"package": family.package, "dense": family.dense, "needs": _optuna}
            made = SpaceRecipe(f"space-{name}", description, family.how, partial(make, first), **options)  # type: ignore[arg-type]  # as named
            found.append(replace(made, choices=choices, configured=make))
    return tuple(found)


def _optuna() -> str:
    return "" if find_spec("optuna") else "optuna is not installed. Install pydaub[spaces]."


@cache
def strong(task: Task) -> tuple[Recipe, ...]:
    """Return the portfolio `strong`: the chosen configurations, numbered within their families."""
    numbers: Counter[str] = Counter()
    found = []
    for family, settings in json.loads(CHOSEN.read_text()):
        numbers[family] += 1
        found.append(FAMILIES[family].recipe(f"{family}-{numbers[family]}", settings, task))
    return tuple(found)
