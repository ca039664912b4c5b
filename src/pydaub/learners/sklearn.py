"""The default portfolio: a counterpart for each family in the paper's list, and newer learners.

Learners are tried in this order, which also breaks ties: first those of `FIRST`, so that a run with a short time limit
has tried good learners, then cheap and simple ones before slow ones. The learners have no seed and no number of
threads: the code that trains them sets both. CatBoost is the exception, because it only lists the parameters that it
was given. `early_stopping` is off, because a learner that holds back a random part of its rows has no monotone learning
curve. Regressors whose settings depend on the unit of the target see a scaled target, so that they work for metres and
millimetres alike.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from sklearn import ensemble
from sklearn.compose import TransformedTargetRegressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from pydaub.learners.adapters import LabelCoded, NearestClassifier, NearestRegressor
from pydaub.learners.base import Estimator, Recipe, optional
from pydaub.learners.discriminant import QuadraticDiscriminant
from pydaub.learners.rotation import rotation_forest
from pydaub.learners.rules import RulesClassifier, RulesRegressor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.learners.encoding import How

Make: TypeAlias = "Callable[..., Estimator]"


def _recipe(  # the columns of a table
    how: How, name: str, description: str, make: Make, *arguments: object, dense: bool = False, **settings: object
) -> Recipe:
    """Return a learner with these arguments and settings."""
    return Recipe(name, description, how, partial(make, *arguments, **settings), dense=dense)


_native, _ordinal, _scaled, _positive = (partial(_recipe, how) for how in ("native", "ordinal", "scaled", "positive"))
_histogram = partial(_native, dense=True, early_stopping=False)


def _on_scaled_target(name: str, description: str, make: Make, **settings: object) -> Recipe:
    """Return a regressor that is trained on a standardized target and predicts in the target's own unit."""
    return _scaled(
        name, description, lambda: TransformedTargetRegressor(make(**settings), transformer=StandardScaler())
    )


def _rbf_network(last: Estimator) -> Estimator:
    return make_pipeline(RBFSampler(gamma="scale", n_components=200), last)


def _rules(name: str, description: str, rules: Make, kind: str, *, two: bool = False) -> Recipe:
    make = partial(rules, kind)
    return Recipe(name, f"{description} (imodels)", "ordinal", make, package="imodels", dense=True, two=two)


def _small_trees(tree: Make) -> tuple[Recipe, ...]:
    return (
        _native("tree-depth-5", "Decision tree of depth 5", tree, max_depth=5),
        _native("tree-depth-10", "Decision tree of depth 10", tree, max_depth=10),
        _native("tree-leaves-50", "Decision tree of 50 leaves, best first", tree, max_leaf_nodes=50),
        _native("tree-leaf-10", "Decision tree, at least 10 rows per leaf", tree, min_samples_leaf=10),
    )


def _neighbours(nearest: Make, what: str) -> tuple[Recipe, ...]:
    """Return learners that predict `what` (a vote, a mean) of the nearest rows."""
    few = (_scaled(f"knn-{k}", f"{what} of the {k} nearest rows", nearest, k) for k in (5, 10, 25))
    return (_scaled("knn-1", "Nearest row", nearest, 1), *few)


def _forests(forest: Make) -> tuple[Recipe, ...]:
    return (
        _native("forest-5", "Random forest of 5 trees", forest, 5),
        _native("forest-10", "Random forest of 10 trees", forest, 10),
        _native("forest-10-depth-10", "Random forest of 10 trees of depth 10", forest, 10, max_depth=10),
        _native("forest-20", "Random forest of 20 trees", forest, 20),
        _native("forest-100", "Random forest of 100 trees", forest, 100),
    )


def _other_ensembles(extra_trees: Make, bagging: Make, tree: Make) -> tuple[Recipe, ...]:
    """Return ensembles of independent trees that are not random forests."""
    subspace = partial(bagging, n_estimators=10, max_features=0.5, bootstrap=False)
    return (
        _native("extra-trees-100", "Extremely randomised forest of 100 trees", extra_trees, 100),
        _native("bagging-10", "Bagging of 10 decision trees", bagging, n_estimators=10),
        _native("random-subspace", "10 decision trees, each on half of the columns", subspace),
        _scaled("rotation-forest-10", "Rotation forest of 10 trees", lambda: rotation_forest(tree()), dense=True),
    )


def _packages(suffix: Literal["Classifier", "Regressor"]) -> tuple[Recipe, ...]:
    """Return the learners of the optional boosting packages."""
    lightgbm = optional("lightgbm", f"LGBM{suffix}", verbose=-1)
    xgboost = optional("xgboost", f"XGB{suffix}", verbosity=0)
    catboost = optional(
        "catboost",
        f"CatBoost{suffix}",
        iterations=100,
        verbose=0,
        allow_writing_files=False,
        thread_count=-1,  # given so that `get_params` lists it and the number of threads can be set
        random_state=0,  # the same for the seed
    )
    if suffix == "Classifier":  # XGBoost and CatBoost do not take labels of every type
        xgboost, catboost = partial(_coded, xgboost), partial(_coded, catboost)
    return (
        Recipe("lightgbm", "LightGBM, 100 rounds", "native", lightgbm, package="lightgbm"),
        Recipe("xgboost", "XGBoost, 100 rounds of depth 6", "native", xgboost, package="xgboost"),
        Recipe("catboost", "CatBoost, 100 rounds of depth 6", "native", catboost, package="catboost"),
    )


def _coded(make: Make) -> Estimator:
    return LabelCoded(make())


# Each adds most to those before it for its time, on the tables in `experiments/measured`, as `benchmarks/anytime.py
# --order` works out. Ridge stands in for the perceptron, which is for classes only.
FIRST: Final = (
    "dummy",
    "random-tree",
    "tree-depth-5",
    "forest-10",
    "perceptron",
    "ridge",
    "random-subspace",
    "xgboost",
    "rbf-network",
    "lightgbm",
    "extra-trees-100",
    "catboost",
    "hist-gradient-boosting",
)


def _in_order(*recipes: Recipe) -> tuple[Recipe, ...]:
    places = {name: place for place, name in enumerate(FIRST)}
    return tuple(sorted(recipes, key=lambda recipe: places.get(recipe.name, len(FIRST))))


CLASSIFIERS: Final = _in_order(
    # simple
    Recipe("dummy", "Most frequent class, whatever the row", "none", DummyClassifier),
    _native("stump", "Decision tree with one split", DecisionTreeClassifier, max_depth=1),
    _rules("one-rule", "Rules on the single best column", RulesClassifier, "OneRClassifier", two=True),
    _scaled("naive-bayes-gaussian", "Naive Bayes with a Gaussian per column", GaussianNB, dense=True),
    _scaled("naive-bayes-bernoulli", "Naive Bayes on whether values exceed the mean", BernoulliNB),
    _positive("naive-bayes-multinomial", "Naive Bayes that reads values as counts", MultinomialNB),
    _positive("naive-bayes-complement", "Naive Bayes on the counts of all other classes", ComplementNB),
    Recipe(
        "naive-bayes-categorical",
        "Naive Bayes on values in ten bins",
        "binned",
        partial(CategoricalNB, min_categories=3),  # codes for missing, for new, and for at least one category
        dense=True,
    ),
    _scaled("nearest-centroid", "Class with the nearest mean", NearestCentroid),
    # linear
    _scaled("ridge", "Least squares on the classes, L2 penalty 1", RidgeClassifier),
    _scaled("lda", "Linear discriminant analysis", LinearDiscriminantAnalysis, dense=True),
    _scaled("qda", "Quadratic discriminant analysis, regularised", QuadraticDiscriminant, dense=True),
    _scaled(
        "perceptron",
        "Perceptron, weights averaged over all steps",  # on noisy rows the last weights are largely random
        partial(SGDClassifier, loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True),
    ),
    _scaled("sgd-hinge", "Linear SVM by stochastic gradient descent", SGDClassifier, loss="hinge"),
    _scaled(
        "sgd-logistic",
        "Logistic regression by stochastic gradient descent, L1 penalty",
        partial(SGDClassifier, loss="log_loss", penalty="l1"),
    ),
    _scaled("logistic", "Logistic regression, C=1", LogisticRegression, max_iter=1000),
    _scaled("svm-linear", "SVM with a linear kernel, C=1", LinearSVC),
    _scaled(
        "rbf-network",
        "Logistic regression on 200 random radial features",
        lambda: _rbf_network(LogisticRegression(max_iter=1000)),
    ),
    # trees and neighbours
    *_small_trees(DecisionTreeClassifier),
    _native(
        "tree-pruned", "Decision tree, cost-complexity pruning with 0.001", DecisionTreeClassifier, ccp_alpha=0.001
    ),
    _native("tree", "Decision tree, fully grown, Gini", DecisionTreeClassifier),
    _native("tree-entropy", "Decision tree, fully grown, entropy", DecisionTreeClassifier, criterion="entropy"),
    _native("random-tree", "Decision tree, random columns per split", DecisionTreeClassifier, max_features="sqrt"),
    _native("extra-tree", "Decision tree, random columns and thresholds", ExtraTreeClassifier),
    _rules("rule-list", "Greedy list of rules", RulesClassifier, "GreedyRuleListClassifier", two=True),
    _rules("figs", "Sum of small trees, 12 rules in total", RulesClassifier, "FIGSClassifier"),
    *_neighbours(NearestClassifier, "Vote"),
    # ensembles of independent trees
    *_forests(ensemble.RandomForestClassifier),
    *_other_ensembles(ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier, DecisionTreeClassifier),
    # boosting
    _ordinal("adaboost", "AdaBoost of 50 stumps", ensemble.AdaBoostClassifier),
    _ordinal("gradient-boosting", "Gradient boosting of 100 trees of depth 3", ensemble.GradientBoostingClassifier),
    _histogram(
        "hist-gradient-boosting", "Histogram gradient boosting, 100 rounds", ensemble.HistGradientBoostingClassifier
    ),
    *_packages("Classifier"),
    # slow
    _scaled("mlp", "Neural network, 100 hidden units, 100 epochs", MLPClassifier, max_iter=100),
    _scaled("svm-poly-2", "SVM, polynomial kernel of degree 2", SVC, kernel="poly", degree=2),
    _scaled("svm-poly-3", "SVM, polynomial kernel of degree 3", SVC, kernel="poly", degree=3),
    _scaled("svm-rbf", "SVM with an RBF kernel, C=1", SVC),
)
REGRESSORS: Final = _in_order(
    # simple
    Recipe("dummy", "Mean, whatever the row", "none", DummyRegressor),
    Recipe("dummy-median", "Median, whatever the row", "none", partial(DummyRegressor, strategy="median")),
    _native("stump", "Decision tree with one split", DecisionTreeRegressor, max_depth=1),
    # linear
    _scaled("linear", "Linear regression", LinearRegression),
    _scaled("ridge", "Linear regression, L2 penalty 1", Ridge),
    _on_scaled_target("lasso", "Linear regression, L1 penalty 0.01", Lasso, alpha=0.01),
    _on_scaled_target("elastic-net", "Linear regression, L1 and L2 penalty 0.01", ElasticNet, alpha=0.01),
    _scaled("bayesian-ridge", "Linear regression, penalty by evidence", BayesianRidge, dense=True),
    _scaled("pls", "Partial least squares, one direction", PLSRegression, 1, dense=True),
    _on_scaled_target("huber", "Linear regression, robust to outliers", HuberRegressor, max_iter=1000),
    _on_scaled_target("sgd-squared", "Linear regression by stochastic gradient descent", SGDRegressor),
    _on_scaled_target("svm-linear", "SVM with a linear kernel, C=1", LinearSVR),
    _scaled("rbf-network", "Ridge regression on 200 random radial features", lambda: _rbf_network(Ridge())),
    # trees and neighbours
    *_small_trees(DecisionTreeRegressor),
    _native("tree", "Decision tree, fully grown", DecisionTreeRegressor),
    _native("random-tree", "Decision tree, random columns per split", DecisionTreeRegressor, max_features="sqrt"),
    _native("extra-tree", "Decision tree, random thresholds", ExtraTreeRegressor),
    _rules("figs", "Sum of small trees, 12 rules in total", RulesRegressor, "FIGSRegressor"),
    *_neighbours(NearestRegressor, "Mean"),
    # ensembles of independent trees
    *_forests(ensemble.RandomForestRegressor),
    _native(
        "forest-100-third",
        "Random forest of 100 trees, a third of the columns per split",
        partial(ensemble.RandomForestRegressor, 100, max_features=1 / 3),
    ),
    *_other_ensembles(ensemble.ExtraTreesRegressor, ensemble.BaggingRegressor, DecisionTreeRegressor),
    # boosting
    _ordinal("adaboost", "AdaBoost of 50 trees of depth 3", ensemble.AdaBoostRegressor),
    _ordinal("gradient-boosting", "Gradient boosting of 100 trees of depth 3", ensemble.GradientBoostingRegressor),
    _histogram(
        "hist-gradient-boosting", "Histogram gradient boosting, 100 rounds", ensemble.HistGradientBoostingRegressor
    ),
    _histogram(
        "hist-gradient-boosting-absolute",
        "Histogram gradient boosting of the absolute error, 100 rounds",
        partial(ensemble.HistGradientBoostingRegressor, loss="absolute_error"),
    ),
    *_packages("Regressor"),
    # slow
    _on_scaled_target("mlp", "Neural network, 100 hidden units, 100 epochs", MLPRegressor, max_iter=100),
    _on_scaled_target("svm-poly-2", "SVM, polynomial kernel of degree 2", SVR, kernel="poly", degree=2),
    _on_scaled_target("svm-poly-3", "SVM, polynomial kernel of degree 3", SVR, kernel="poly", degree=3),
    _on_scaled_target("svm-rbf", "SVM with an RBF kernel, C=1", SVR),
)
