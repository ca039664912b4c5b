"""Learners that the default portfolio has for both tasks. Each function gets the classes of its task.

The learners have no seed and no number of threads: the code that trains them sets both. CatBoost is the exception,
because it only lists the parameters that it was given. `early_stopping` is off, because a learner that holds back a
random part of its rows has no monotone learning curve.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from pydaub.learners.adapters import LabelCoded
from pydaub.learners.recipe import Recipe, optional
from pydaub.learners.rotation import rotation_forest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.learners.base import Estimator


def small_trees(tree: Callable[..., Estimator]) -> tuple[Recipe, ...]:
    """Return decision trees of limited size."""
    return (
        Recipe("tree-depth-5", "Decision tree of depth 5", "native", partial(tree, max_depth=5)),
        Recipe("tree-depth-10", "Decision tree of depth 10", "native", partial(tree, max_depth=10)),
        Recipe("tree-leaves-50", "Decision tree of 50 leaves, best first", "native", partial(tree, max_leaf_nodes=50)),
        Recipe(
            "tree-leaf-10", "Decision tree, at least 10 rows per leaf", "native", partial(tree, min_samples_leaf=10)
        ),
    )


def imodels(name: str, description: str, class_name: str, *, two: bool = False) -> Recipe:
    """Return a learner of the package imodels."""
    make = optional("imodels", class_name)
    return Recipe(name, f"{description} (imodels)", "ordinal", make, package="imodels", dense=True, two=two)


def neighbours(nearest: Callable[..., Estimator], what: str) -> tuple[Recipe, ...]:
    """Return learners that predict `what` (a vote, a mean) of the nearest rows."""
    few = (Recipe(f"knn-{k}", f"{what} of the {k} nearest rows", "scaled", partial(nearest, k)) for k in (5, 10, 25))
    return (Recipe("knn-1", "Nearest row", "scaled", partial(nearest, 1)), *few)


def forests(forest: Callable[..., Estimator]) -> tuple[Recipe, ...]:
    """Return random forests."""
    shallow = partial(forest, 10, max_depth=10)
    return (
        Recipe("forest-5", "Random forest of 5 trees", "native", partial(forest, 5)),
        Recipe("forest-10", "Random forest of 10 trees", "native", partial(forest, 10)),
        Recipe("forest-10-depth-10", "Random forest of 10 trees of depth 10", "native", shallow),
        Recipe("forest-20", "Random forest of 20 trees", "native", partial(forest, 20)),
        Recipe("forest-100", "Random forest of 100 trees", "native", partial(forest, 100)),
    )


def other_ensembles(
    extra_trees: Callable[..., Estimator], bagging: Callable[..., Estimator], tree: Callable[..., Estimator]
) -> tuple[Recipe, ...]:
    """Return ensembles of independent trees that are not random forests."""
    subspace = partial(bagging, n_estimators=10, max_features=0.5, bootstrap=False)
    return (
        Recipe("extra-trees-100", "Extremely randomised forest of 100 trees", "native", partial(extra_trees, 100)),
        Recipe("bagging-10", "Bagging of 10 decision trees", "native", partial(bagging, n_estimators=10)),
        Recipe("random-subspace", "10 decision trees, each on half of the columns", "native", subspace),
        Recipe(
            "rotation-forest-10",
            "Rotation forest of 10 trees",
            "scaled",
            lambda: rotation_forest(tree(), 10),
            dense=True,
        ),
    )


def histogram_boosting(name: str, description: str, make: Callable[..., Estimator], **settings: object) -> Recipe:
    """Return scikit-learn's histogram gradient boosting."""
    return Recipe(name, description, "native", partial(make, early_stopping=False, **settings), dense=True)


def boosting_packages(suffix: Literal["Classifier", "Regressor"]) -> tuple[Recipe, ...]:
    """Return the learners of the optional boosting packages."""
    lightgbm = optional("lightgbm", f"LGBM{suffix}", verbose=-1)
    xgboost = optional("xgboost", f"XGB{suffix}", verbosity=0)
    catboost = optional(
        "catboost",
        f"CatBoost{suffix}",
        iterations=100,
        verbose=0,
        allow_writing_files=False,
        thread_count=1,  # given so that `get_params` lists it and the number of threads can be set
        random_state=0,  # the same for the seed
    )
    coded = suffix == "Classifier"  # XGBoost and CatBoost do not take labels of every type
    return (
        Recipe("lightgbm", "LightGBM, 100 rounds", "native", lightgbm, package="lightgbm"),
        Recipe(
            "xgboost",
            "XGBoost, 100 rounds of depth 6",
            "native",
            (lambda: LabelCoded(xgboost())) if coded else xgboost,
            package="xgboost",
        ),
        Recipe(
            "catboost",
            "CatBoost, 100 rounds of depth 6",
            "native",
            (lambda: LabelCoded(catboost())) if coded else catboost,
            package="catboost",
        ),
    )
