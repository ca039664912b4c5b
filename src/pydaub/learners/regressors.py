"""The default portfolio for regression: the families of the classifiers, with the linear methods of regression.

The order breaks ties, so cheap and simple learners come first. Learners whose settings depend on the unit of the
target see a scaled target, so that they work for metres and millimetres alike.
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
from pydaub.learners.recipe import Recipe
from pydaub.learners.sklearn import (
    boosting_packages,
    forests,
    histogram_boosting,
    imodels,
    neighbours,
    other_ensembles,
    small_trees,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.learners.base import Estimator

Tree = DecisionTreeRegressor
Forest = RandomForestRegressor
Hist = HistGradientBoostingRegressor


def _on_scaled_target(name: str, description: str, kind: Callable[..., Estimator], **settings: object) -> Recipe:
    """Return a regressor that is trained on a standardized target and predicts in the target's own unit."""

    def make() -> Estimator:
        return TransformedTargetRegressor(kind(**settings), transformer=StandardScaler())

    return Recipe(name, description, "scaled", make)


SIMPLE: Final = (
    Recipe("dummy", "Mean, whatever the row", "none", DummyRegressor),
    Recipe("dummy-median", "Median, whatever the row", "none", partial(DummyRegressor, strategy="median")),
    Recipe("stump", "Decision tree with one split", "native", partial(Tree, max_depth=1)),
)

LINEAR: Final = (
    Recipe("linear", "Linear regression", "scaled", LinearRegression),
    Recipe("ridge", "Linear regression, L2 penalty 1", "scaled", Ridge),
    _on_scaled_target("lasso", "Linear regression, L1 penalty 0.01", Lasso, alpha=0.01),
    _on_scaled_target("elastic-net", "Linear regression, L1 and L2 penalty 0.01", ElasticNet, alpha=0.01),
    Recipe("bayesian-ridge", "Linear regression, penalty by evidence", "scaled", BayesianRidge, dense=True),
    Recipe("pls", "Partial least squares, one direction", "scaled", partial(PLSRegression, 1), dense=True),
    _on_scaled_target("huber", "Linear regression, robust to outliers", HuberRegressor, max_iter=1000),
    _on_scaled_target("sgd-squared", "Linear regression by stochastic gradient descent", SGDRegressor),
    _on_scaled_target("svm-linear", "SVM with a linear kernel, C=1", LinearSVR),
    Recipe(
        "rbf-network",
        "Ridge regression on 200 random radial features",
        "scaled",
        lambda: make_pipeline(RBFSampler(gamma="scale", n_components=200), Ridge()),
    ),
)

TREES: Final = (
    *small_trees(Tree),
    Recipe("tree", "Decision tree, fully grown", "native", Tree),
    Recipe("random-tree", "Decision tree, random columns per split", "native", partial(Tree, max_features="sqrt")),
    Recipe("extra-tree", "Decision tree, random thresholds", "native", ExtraTreeRegressor),
    imodels("figs", "Sum of small trees, 12 rules in total", "FIGSRegressor"),
)

ENSEMBLES: Final = (
    *forests(Forest),
    Recipe(
        "forest-100-third",
        "Random forest of 100 trees, a third of the columns per split",
        "native",
        partial(Forest, 100, max_features=1 / 3),
    ),
    *other_ensembles(ExtraTreesRegressor, BaggingRegressor, Tree),
)

BOOSTING: Final = (
    Recipe("adaboost", "AdaBoost of 50 trees of depth 3", "ordinal", AdaBoostRegressor),
    Recipe("gradient-boosting", "Gradient boosting of 100 trees of depth 3", "ordinal", GradientBoostingRegressor),
    histogram_boosting("hist-gradient-boosting", "Histogram gradient boosting, 100 rounds", Hist),
    histogram_boosting(
        "hist-gradient-boosting-absolute",
        "Histogram gradient boosting of the absolute error, 100 rounds",
        Hist,
        loss="absolute_error",
    ),
    *boosting_packages("Regressor"),
)

SLOW: Final = (
    _on_scaled_target("mlp", "Neural network, 100 hidden units, 100 epochs", MLPRegressor, max_iter=100),
    _on_scaled_target("svm-poly-2", "SVM, polynomial kernel of degree 2", SVR, kernel="poly", degree=2),
    _on_scaled_target("svm-poly-3", "SVM, polynomial kernel of degree 3", SVR, kernel="poly", degree=3),
    _on_scaled_target("svm-rbf", "SVM with an RBF kernel, C=1", SVR),
)

REGRESSORS: Final[tuple[Recipe, ...]] = (
    *SIMPLE,
    *LINEAR,
    *TREES,
    *neighbours(NearestRegressor, "Mean"),
    *ENSEMBLES,
    *BOOSTING,
    *SLOW,
)
