"""What learners cost by declaration: a power of the rows, columns and classes, instead of seconds measured in the run.

`costs.json` has the learners of the portfolios by name, with how strong they usually are. It was fitted to measured
curves by `experiments/costs.py`.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sklearn.compose import TransformedTargetRegressor

from pydaub.algorithm.seconds import USUAL_GROWTH, Growth
from pydaub.learners.adapters import LabelCoded
from pydaub.learners.stopping import EarlyStoppedClassifier, EarlyStoppedRegressor

if TYPE_CHECKING:
    from collections.abc import Mapping

COSTS: Final = Path(__file__).with_name("costs.json")
# How the seconds of each kind of learner grow, as `benchmarks/seconds.py --fit` finds. Kernel machines compare rows
# with rows, and predict by those that they keep. Neighbours are looked up among all rows. Boosting by histograms costs
# about the same for few rows as for more, but has larger trees then. Networks may learn late what others never learn.
GROWTHS: Final = {
    kind: growth
    for growth, kinds in {
        Growth(1.8, 150, 0.9): ("SVC", "NuSVC", "SVR", "NuSVR", "GaussianProcess", "KernelRidge", "LabelPropagation"),
        Growth(1.2, 500, 0.9): ("Nearest", "KNeighbors", "RadiusNeighbors"),
        Growth(0.8, 2000): ("HistGradientBoosting", "LGBM", "XGB", "AllRounds"),
        Growth(0.8, 500): ("EarlyStopped",),
        Growth(0.8, 8000): ("CatBoost",),
        Growth(1.1, 500): ("GradientBoosting",),
        Growth(1.1, 300): ("DecisionTree", "ExtraTree"),
        Growth(1.2, 2000): ("ExtraTrees",),
        Growth(1.0, 200, surprise=2.0): ("MLP", "RealMLP"),
        Growth(1.0, 200): ("SGD", "PassiveAggressive", "Perceptron", "LinearSVC", "LinearSVR"),
        Growth(1.0, 2000): ("LogisticRegression", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"),
        Growth(1.0, 1000): (
            *("RandomForest", "Bagging", "AdaBoost", "FIGS", "OneR", "GreedyRuleList", "GaussianNB", "NearestCentroid"),
            *("Ridge", "LinearRegression", "Lasso", "ElasticNet", "BayesianRidge", "Huber", "PLSRegression"),
            *("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "QuadraticDiscriminant"),
        ),
    }.items()
    for kind in kinds
}
STOPPED, ALL_ROUNDS = "EarlyStopped", "AllRounds"  # boosting that finds its number of rounds, or could and does not
WRAPPERS: Final = (LabelCoded, EarlyStoppedClassifier, EarlyStoppedRegressor, TransformedTargetRegressor)
FITTED_ROWS: Final = 20_000  # about as many as the costs were fitted to
EVALUATION: Final = 0.05  # seconds that every evaluation takes besides
LEAST_STRENGTH: Final = 0.01  # of a learner that was never among the best: it may be here
COLUMNS, CLASSES = 30, 2  # where the data is not known
ROUNDS: Final = ("n_estimators", "iterations", "max_iter")  # parameters that multiply the cost


class Cost(NamedTuple):
    """Seconds = factor x rows^a x columns^b x classes^c, on the machine of the measurements."""

    factor: float
    rows: float
    columns: float
    classes: float

    def seconds(self, rows: float, columns: float, classes: float) -> float:
        """Return about how long a training takes."""
        return self.factor * rows**self.rows * columns**self.columns * classes**self.classes


class Known(NamedTuple):
    """A learner of the portfolios: its cost, the kind of its estimator, how many rounds that has, and its strength.

    The strength is about how often the learner is among the best with all rows.
    """

    cost: Cost
    kind: str
    rounds: float
    strength: float


def with_costs(
    parameters: Mapping[str, Any], estimators: Mapping[str, Any], columns: int = COLUMNS, classes: int = CLASSES
) -> dict[str, Any]:
    """Return the parameters of a strategy, where the costs "declared" are replaced by those of each learner.

    Parameters
    ----------
    parameters
        By name.
    estimators
        Those of the learners, by name; None where only the name is known.
    columns, classes
        Of the data; one class for a regression.
    """
    found = dict(parameters)
    if found.get("costs") == "declared":
        costs = {name: cost_of(name, estimator) for name, estimator in estimators.items()}
        found["costs"] = {name: (cost.seconds(1, columns, classes), cost.rows) for name, cost in costs.items()}
    return found


def growths_of(estimators: Mapping[str, Any]) -> dict[str, Growth]:
    """Return how the seconds of learners grow, for those whose kind is known to differ from the usual."""
    kinds = {name: growth_kind(estimator) for name, estimator in estimators.items()}
    return {name: GROWTHS[kind] for name, kind in kinds.items() if kind in GROWTHS}


def promises_of(
    estimators: Mapping[str, Any], rows: float, columns: int = COLUMNS, classes: int = CLASSES
) -> dict[str, float]:
    """Return the strength of learners for the seconds that a first sample takes, before anything is measured.

    A learner that is not in the portfolios is taken for the strongest one with an estimator of the same kind. If there
    is none, it is left out: nothing is known of it.

    Parameters
    ----------
    estimators
        Those of the learners, by name.
    rows, columns, classes
        Of the first sample; one class for a regression.
    """
    found = {}
    for name, estimator in estimators.items():
        if known := _taken_for(name, estimator):
            growth = GROWTHS.get(known.kind, USUAL_GROWTH)
            shorter = math.exp(-growth.exponent * growth.distance(rows, FITTED_ROWS))
            seconds = EVALUATION + known.cost.seconds(FITTED_ROWS, columns, classes) * shorter
            found[name] = max(known.strength, LEAST_STRENGTH) / seconds
    return found


def _taken_for(name: str, estimator: Any) -> Known | None:  # noqa: ANN401  # any estimator
    known, (kind, rounds) = _known(), kind_of(estimator)
    if name in known:
        return known[name]
    strongest = max(
        (each for each in known.values() if each.kind == kind), key=lambda each: each.strength, default=None
    )
    if strongest is None or strongest.rounds == 1 or growth_kind(estimator) == STOPPED:  # how many rounds, is not known
        return strongest
    factor = strongest.cost.factor * rounds / strongest.rounds
    return strongest._replace(cost=strongest.cost._replace(factor=factor))


def growth_kind(estimator: Any) -> str:  # noqa: ANN401  # any estimator
    """Return the kind of learner by which its seconds grow: that of its estimator, or of boosting that stops early."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if isinstance(last, EarlyStoppedClassifier | EarlyStoppedRegressor):
        return STOPPED if last.patience else ALL_ROUNDS
    kind = kind_of(last)[0]
    return STOPPED if kind == "HistGradientBoosting" and getattr(last, "early_stopping", None) is True else kind


def cost_of(name: str, estimator: Any) -> Cost:  # noqa: ANN401  # any estimator
    """Return what a learner costs.

    One that is not in the portfolios is taken for one in them with an estimator of the same kind, times the ratio of
    their numbers of rounds; if there is none, for one that costs as much as the middle of all.
    """
    known = _known()
    if name in known:
        return known[name].cost
    kind, rounds = kind_of(estimator)
    for each in known.values():
        if each.kind == kind:
            return each.cost._replace(factor=each.cost.factor * rounds / each.rounds)
    return Cost(*map(median, zip(*(each.cost for each in known.values()), strict=True)))


def kind_of(estimator: Any) -> tuple[str, float]:  # noqa: ANN401  # any estimator
    """Return the kind of an estimator, or of the last step of a pipeline, and how many rounds it has."""
    while hasattr(estimator, "steps") or isinstance(estimator, WRAPPERS):
        wrapped = getattr(estimator, "regressor", None) or getattr(estimator, "estimator", None)
        estimator = wrapped or estimator.steps[-1][1]
    name = type(estimator).__name__.removesuffix("Classifier").removesuffix("Regressor")
    rounds = (getattr(estimator, parameter, None) for parameter in ROUNDS)
    return name, next((float(each) for each in rounds if isinstance(each, int | float) and each > 0), 1.0)


def kind_of_name(name: str) -> str:
    """Return the kind of a learner of the portfolios; the name itself if it is not known."""
    return _known()[name].kind if name in _known() else name


@cache
def _known() -> dict[str, Known]:
    found = json.loads(COSTS.read_text())
    return {name: Known(Cost(*cost), *rest) for name, (cost, *rest) in found.items()}
