"""The default portfolio for regression: the families of the classifiers, with the linear methods of regression.

The order breaks ties: cheap and simple learners first. Seeds, threads and early stopping are as with classifiers.
Learners whose settings have the unit of the target see it scaled, so that they work for metres and millimetres alike.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from sklearn.compose import TransformedTargetRegressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import BayesianRidge, ElasticNet, HuberRegressor, Lasso, LinearRegression, Ridge, SGDRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from pydaub.learners.adapters import NearestRegressor
from pydaub.learners.recipe import Recipe, optional
from pydaub.learners.rotation import rotation_forest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.learners.base import Estimator

Tree = DecisionTreeRegressor
Forest = RandomForestRegressor
Hist = HistGradientBoostingRegressor


def _on_scaled_target(kind: Callable[..., Estimator], **settings: object) -> Callable[[], Estimator]:
    """Return what makes a regressor that sees the target with mean 0 and spread 1, and answers in its own unit."""
    return lambda: TransformedTargetRegressor(kind(**settings), transformer=StandardScaler())


SIMPLE: Final = (
    Recipe("dummy", "The mean, whatever the row", "none", DummyRegressor),
    Recipe("dummy-median", "The median, whatever the row", "none", partial(DummyRegressor, strategy="median")),
    Recipe("stump", "Decision tree of one split", "native", partial(Tree, max_depth=1)),
)

LINEAR: Final = (
    Recipe("linear", "Linear regression", "scaled", LinearRegression),
    Recipe("ridge", "Linear regression, L2 penalty 1", "scaled", Ridge),
    Recipe("lasso", "Linear regression, L1 penalty 0.01", "scaled", _on_scaled_target(Lasso, alpha=0.01)),
    Recipe(
        "elastic-net",
        "Linear regression, L1 and L2 penalty 0.01",
        "scaled",
        _on_scaled_target(ElasticNet, alpha=0.01),
    ),
    Recipe("bayesian-ridge", "Linear regression, penalty by evidence", "scaled", BayesianRidge, dense=True),
    Recipe("pls", "Partial least squares, one direction", "scaled", partial(PLSRegression, 1), dense=True),
    Recipe(
        "huber",
        "Linear regression that outliers do not move",
        "scaled",
        _on_scaled_target(HuberRegressor, max_iter=1000),
    ),
    Recipe("sgd-squared", "Linear regression by stochastic gradient", "scaled", _on_scaled_target(SGDRegressor)),
    Recipe("svm-linear", "SVM with a linear kernel, C=1", "scaled", _on_scaled_target(LinearSVR)),
    Recipe(
        "rbf-network",
        "Ridge regression on 200 random radial features",
        "scaled",
        lambda: make_pipeline(RBFSampler(gamma="scale", n_components=200), Ridge()),
    ),
)

TREES: Final = (
    Recipe("tree-depth-5", "Decision tree of depth 5", "native", partial(Tree, max_depth=5)),
    Recipe("tree-depth-10", "Decision tree of depth 10", "native", partial(Tree, max_depth=10)),
    Recipe("tree-leaves-50", "Decision tree of 50 leaves, best first", "native", partial(Tree, max_leaf_nodes=50)),
    Recipe("tree-leaf-10", "Decision tree, 10 rows in a leaf at least", "native", partial(Tree, min_samples_leaf=10)),
    Recipe("tree", "Decision tree, fully grown", "native", Tree),
    Recipe("random-tree", "Decision tree, random columns at each split", "native", partial(Tree, max_features="sqrt")),
    Recipe("extra-tree", "Decision tree, random thresholds", "native", ExtraTreeRegressor),
    Recipe(
        "figs",
        "Sum of small trees, 12 rules in all (imodels)",
        "ordinal",
        optional("imodels", "FIGSRegressor"),
        package="imodels",
        dense=True,
    ),
)

NEIGHBOURS: Final = tuple(
    Recipe(
        f"knn-{count}",
        f"The mean of the {count} nearest rows" if count > 1 else "The nearest row",
        "scaled",
        partial(NearestRegressor, count),
    )
    for count in (1, 5, 10, 25)
)

ENSEMBLES: Final = (
    Recipe("forest-5", "Random forest of 5 trees", "native", partial(Forest, 5)),
    Recipe("forest-10", "Random forest of 10 trees", "native", partial(Forest, 10)),
    Recipe("forest-10-depth-10", "Random forest of 10 trees of depth 10", "native", partial(Forest, 10, max_depth=10)),
    Recipe("forest-20", "Random forest of 20 trees", "native", partial(Forest, 20)),
    Recipe("forest-100", "Random forest of 100 trees", "native", partial(Forest, 100)),
    Recipe(
        "forest-100-third",
        "Random forest of 100 trees, a third of the columns at each split",
        "native",
        partial(Forest, 100, max_features=1 / 3),
    ),
    Recipe("extra-trees-100", "Extremely randomised forest of 100 trees", "native", partial(ExtraTreesRegressor, 100)),
    Recipe("bagging-10", "Bagging of 10 decision trees", "native", partial(BaggingRegressor, n_estimators=10)),
    Recipe(
        "random-subspace",
        "10 decision trees, each on half of the columns",
        "native",
        partial(BaggingRegressor, n_estimators=10, max_features=0.5, bootstrap=False),
    ),
    Recipe(
        "rotation-forest-10",
        "Rotation forest of 10 trees",
        "scaled",
        lambda: rotation_forest(DecisionTreeRegressor(), 10),
        dense=True,
    ),
)

BOOSTING: Final = (
    Recipe("adaboost", "AdaBoost of 50 trees of depth 3", "ordinal", AdaBoostRegressor),
    Recipe("gradient-boosting", "Gradient boosting of 100 trees of depth 3", "ordinal", GradientBoostingRegressor),
    Recipe(
        "hist-gradient-boosting",
        "Histogram gradient boosting, 100 rounds",
        "native",
        partial(Hist, early_stopping=False),
        dense=True,
    ),
    Recipe(
        "hist-gradient-boosting-absolute",
        "Histogram gradient boosting of the absolute error, 100 rounds",
        "native",
        partial(Hist, early_stopping=False, loss="absolute_error"),
        dense=True,
    ),
    Recipe(
        "lightgbm",
        "LightGBM, 100 rounds",
        "native",
        optional("lightgbm", "LGBMRegressor", verbose=-1),
        package="lightgbm",
    ),
    Recipe(
        "xgboost",
        "XGBoost, 100 rounds of depth 6",
        "native",
        optional("xgboost", "XGBRegressor", verbosity=0),
        package="xgboost",
    ),
    Recipe(
        "catboost",
        "CatBoost, 100 rounds of depth 6",
        "native",
        # It names only the parameters that were given: those that whoever trains it must be able to set are.
        optional(
            "catboost",
            "CatBoostRegressor",
            iterations=100,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
            random_state=0,
        ),
        package="catboost",
    ),
)

SLOW: Final = (
    Recipe(
        "mlp",
        "Neural network, 100 hidden units, 100 epochs",
        "scaled",
        _on_scaled_target(MLPRegressor, max_iter=100),
    ),
    Recipe(
        "svm-poly-2",
        "SVM, polynomial kernel of degree 2",
        "scaled",
        _on_scaled_target(SVR, kernel="poly", degree=2),
    ),
    Recipe(
        "svm-poly-3",
        "SVM, polynomial kernel of degree 3",
        "scaled",
        _on_scaled_target(SVR, kernel="poly", degree=3),
    ),
    Recipe("svm-rbf", "SVM with an RBF kernel, C=1", "scaled", _on_scaled_target(SVR)),
)

REGRESSORS: Final[tuple[Recipe, ...]] = (*SIMPLE, *LINEAR, *TREES, *NEIGHBOURS, *ENSEMBLES, *BOOSTING, *SLOW)
