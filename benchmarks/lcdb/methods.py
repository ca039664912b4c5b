"""The compared methods, each a function from a task to a strategy or a choice. Add further methods here."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.lcdb.peers import Chosen, Lccv, SklearnHalving, hyperband, nearest, oracle, simple
from pydaub import Daub, Elimination, Frugal, Full, Halving, Schedule, Scores, SlopeBound, Subset
from pydaub.learners.costs import GROWTHS, kind_of_name, with_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.lcdb.curves import Task
    from pydaub.algorithm.seconds import Growth
    from pydaub.algorithm.strategies import Strategy

    Method: TypeAlias = Callable[[Task], Strategy | Chosen]

DECLARED_DELTAS: Final = (0.005, 0.01, 0.02)
DELTAS: Final = (0.002, 0.005, 0.01, 0.02, 0.05)
# Learners of LCDB 1.0 and 1.1, and what is most like them in our portfolio.
OURS: Final = {
    theirs: ours
    for ours, names in {
        "naive-bayes-bernoulli": ("BernoulliNB",),
        "naive-bayes-multinomial": ("MultinomialNB",),
        "tree": ("DecisionTreeClassifier", "Decision Tree"),
        "extra-tree": ("ExtraTreeClassifier", "ExtraTree"),
        "extra-trees-100": ("ExtraTreesClassifier", "ens.ExtraTrees"),
        "forest-100": ("RandomForestClassifier", "ens.RandomForest"),
        "gradient-boosting": ("GradientBoostingClassifier", "ens.GradientBoosting"),
        "knn-5": ("KNeighborsClassifier", "KNN"),
        "lda": ("LinearDiscriminantAnalysis", "LDA"),
        "qda": ("QuadraticDiscriminantAnalysis", "QDA"),
        "logistic": ("LogisticRegression",),
        "mlp": ("MLPClassifier", "MLP"),
        "perceptron": ("PassiveAggressiveClassifier", "PassiveAggressive", "Perceptron"),
        "ridge": ("RidgeClassifier",),
        "sgd-hinge": ("SGDClassifier",),
        "svm-poly-2": ("SVC_linear", "SVM_Linear"),
        "svm-poly-3": ("SVC_poly", "SVM_Poly"),
        "svm-rbf": ("SVC_rbf", "SVC_sigmoid", "SVM_RBF", "SVM_Sigmoid"),
    }.items()
    for theirs in names
}
KINDS: Final = {theirs: kind_of_name(ours) for theirs, ours in OURS.items()}
LINE: Final = "frugal"  # methods with this prefix are settings of one strategy, joined by a line in the plot


def grown(task: Task, first: float, ratio: float) -> Schedule:
    """Return the recorded sizes nearest to first, first x ratio, ... below the full size, then the full size."""
    steps = math.ceil(math.log(task.full_size / first, ratio))
    wanted = {nearest(task.sizes, first * ratio**step) for step in range(max(steps, 0))}
    return Schedule(tuple(sorted(wanted | {task.full_size})))


def _frugal(task: Task, delta: float) -> Strategy:
    """Weigh measured times, which grow as declared for the same kind of learner, as in a run."""
    return Frugal(
        task.learners, Schedule(task.sizes), delta, scores=Scores(rows=task.valid_rows), growths=_growths(task)
    )


def _growths(task: Task) -> dict[str, Growth]:
    return {name: GROWTHS[kind] for name in task.learners if (kind := KINDS.get(name)) in GROWTHS}


def _declared(task: Task, delta: float) -> Strategy:
    """Decide by the costs that the package declares for its own learners; times count as they were recorded."""
    costs = with_costs({"costs": "declared"}, {OURS[name]: None for name in task.learners if name in OURS})["costs"]
    known = {name: costs[OURS[name]] for name in task.learners if name in OURS}
    scores, growths = Scores(rows=task.valid_rows), _growths(task)
    return Frugal(task.learners, Schedule(task.sizes), delta, scores=scores, costs=known, growths=growths)


def _daub(task: Task, first: int, ratio: float, *, train_cap: bool = True) -> Strategy:
    return Daub(task.learners, grown(task, first, ratio), bound=SlopeBound(train_cap=train_cap))


def _subset(task: Task, part: int) -> Strategy:
    return Subset(task.learners, Schedule((nearest(task.sizes, task.full_size / part), task.full_size)))


def _halving(task: Task, first: int, ratio: int) -> Strategy:
    return Halving(task.learners, grown(task, first, ratio))


def _lccv(task: Task, *, cheapest_first: bool) -> Strategy:
    return Lccv(task.learners, grown(task, task.sizes[0], 2), cheapest_first=cheapest_first)


def _methods() -> Iterator[tuple[str, Method]]:
    yield "full", lambda task: Full(task.learners, Schedule(task.sizes))
    yield "simple: N/32, 8 on N/8, 2 on N", simple
    yield "subset N/8", partial(_subset, part=8)
    yield "subset N/32", partial(_subset, part=32)
    yield "daub b 512 r sqrt 2", partial(_daub, first=512, ratio=math.sqrt(2))
    yield "daub b 512 r 2", partial(_daub, first=512, ratio=2)
    yield "daub b 1024 r 2", partial(_daub, first=1024, ratio=2)
    yield "daub b 512 r 2, no f^T", partial(_daub, first=512, ratio=2, train_cap=False)
    yield "elimination b 512 r 2", lambda task: Elimination(task.learners, grown(task, 512, 2))
    for first in (512, 1024):
        for ratio in (2, 3, 4):
            yield f"halving eta {ratio} from {first}", partial(_halving, first=first, ratio=ratio)
    yield "scikit-learn halving", SklearnHalving.of
    yield "hyperband eta 3", partial(hyperband, factor=3)
    yield "hyperband eta 4", partial(hyperband, factor=4)
    yield "lccv as listed", partial(_lccv, cheapest_first=False)
    yield "lccv cheapest first", partial(_lccv, cheapest_first=True)
    for delta in DELTAS:
        yield f"{LINE} delta {delta}", partial(_frugal, delta=delta)
    for delta in DECLARED_DELTAS:
        yield f"declared costs, delta {delta}", partial(_declared, delta=delta)
    yield "oracle", oracle


METHODS: Final[dict[str, Method]] = dict(_methods())
