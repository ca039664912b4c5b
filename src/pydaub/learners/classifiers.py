"""The default portfolio for classification: a counterpart for each family of the paper's list, and newer ones.

The order breaks ties: cheap and simple learners first. None has a seed or a number of threads, which whoever trains
them sets; but for CatBoost, which tells only of parameters that it was given. `early_stopping` is off, since a
learner that keeps rows back by chance has no monotone curve.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pydaub.learners.adapters import LabelCoded, NearestClassifier
from pydaub.learners.discriminant import QuadraticDiscriminant
from pydaub.learners.recipe import Recipe, optional
from pydaub.learners.rotation import rotation_forest

Tree = DecisionTreeClassifier
Forest = RandomForestClassifier

SIMPLE: Final = (
    Recipe("dummy", "The most frequent class, whatever the row", "none", DummyClassifier),
    Recipe("stump", "Decision tree of one split", "native", partial(Tree, max_depth=1)),
    Recipe(
        "one-rule",
        "Rules on the one best column (imodels)",
        "ordinal",
        optional("imodels", "OneRClassifier"),
        package="imodels",
        dense=True,
        two=True,
    ),
    Recipe("naive-bayes-gaussian", "Naive Bayes with a Gaussian for each column", "scaled", GaussianNB, dense=True),
    Recipe("naive-bayes-bernoulli", "Naive Bayes on whether values are above the mean", "scaled", BernoulliNB),
    Recipe("naive-bayes-multinomial", "Naive Bayes on values as counts", "positive", MultinomialNB),
    Recipe("naive-bayes-complement", "Naive Bayes on the counts of all other classes", "positive", ComplementNB),
    Recipe(
        "naive-bayes-categorical",
        "Naive Bayes on values in ten bins",
        "binned",
        partial(CategoricalNB, min_categories=3),  # a code for missing, for new, and for one category
        dense=True,
    ),
    Recipe("nearest-centroid", "The class whose mean is nearest", "scaled", NearestCentroid),
)

LINEAR: Final = (
    Recipe("ridge", "Least squares on the classes, L2 penalty 1", "scaled", RidgeClassifier),
    Recipe("lda", "Linear discriminant analysis", "scaled", LinearDiscriminantAnalysis, dense=True),
    Recipe("qda", "Quadratic discriminant analysis, regularised", "scaled", QuadraticDiscriminant, dense=True),
    Recipe(
        "perceptron",
        "Perceptron, its weights averaged over all steps",  # the last ones are a matter of chance on noisy rows
        "scaled",
        partial(SGDClassifier, loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True),
    ),
    Recipe("sgd-hinge", "Linear SVM by stochastic gradient descent", "scaled", partial(SGDClassifier, loss="hinge")),
    Recipe(
        "sgd-logistic",
        "Logistic regression by stochastic gradient descent, L1 penalty",
        "scaled",
        partial(SGDClassifier, loss="log_loss", penalty="l1"),
    ),
    Recipe("logistic", "Logistic regression, C=1", "scaled", partial(LogisticRegression, max_iter=1000)),
    Recipe("svm-linear", "SVM with a linear kernel, C=1", "scaled", LinearSVC),
    Recipe(
        "rbf-network",
        "Logistic regression on 200 random radial features",
        "scaled",
        lambda: make_pipeline(RBFSampler(gamma="scale", n_components=200), LogisticRegression(max_iter=1000)),
    ),
)

TREES: Final = (
    Recipe("tree-depth-5", "Decision tree of depth 5", "native", partial(Tree, max_depth=5)),
    Recipe("tree-depth-10", "Decision tree of depth 10", "native", partial(Tree, max_depth=10)),
    Recipe("tree-leaves-50", "Decision tree of 50 leaves, best first", "native", partial(Tree, max_leaf_nodes=50)),
    Recipe("tree-leaf-10", "Decision tree, 10 rows in a leaf at least", "native", partial(Tree, min_samples_leaf=10)),
    Recipe("tree-pruned", "Decision tree, pruned by cost complexity 0.001", "native", partial(Tree, ccp_alpha=0.001)),
    Recipe("tree", "Decision tree, fully grown, Gini", "native", Tree),
    Recipe("tree-entropy", "Decision tree, fully grown, entropy", "native", partial(Tree, criterion="entropy")),
    Recipe("random-tree", "Decision tree, random columns at each split", "native", partial(Tree, max_features="sqrt")),
    Recipe("extra-tree", "Decision tree, random columns and thresholds", "native", ExtraTreeClassifier),
    Recipe(
        "rule-list",
        "Greedy list of rules (imodels)",
        "ordinal",
        optional("imodels", "GreedyRuleListClassifier"),
        package="imodels",
        dense=True,
        two=True,
    ),
    Recipe(
        "figs",
        "Sum of small trees, 12 rules in all (imodels)",
        "ordinal",
        optional("imodels", "FIGSClassifier"),
        package="imodels",
        dense=True,
    ),
)

NEIGHBOURS: Final = tuple(
    Recipe(
        f"knn-{count}",
        f"The {count} nearest rows" if count > 1 else "The nearest row",
        "scaled",
        partial(NearestClassifier, count),
    )
    for count in (1, 5, 10, 25)
)

ENSEMBLES: Final = (
    Recipe("forest-5", "Random forest of 5 trees", "native", partial(Forest, 5)),
    Recipe("forest-10", "Random forest of 10 trees", "native", partial(Forest, 10)),
    Recipe("forest-10-depth-10", "Random forest of 10 trees of depth 10", "native", partial(Forest, 10, max_depth=10)),
    Recipe("forest-20", "Random forest of 20 trees", "native", partial(Forest, 20)),
    Recipe("forest-100", "Random forest of 100 trees", "native", partial(Forest, 100)),
    Recipe("extra-trees-100", "Extremely randomised forest of 100 trees", "native", partial(ExtraTreesClassifier, 100)),
    Recipe("bagging-10", "Bagging of 10 decision trees", "native", partial(BaggingClassifier, n_estimators=10)),
    Recipe(
        "random-subspace",
        "10 decision trees, each on half of the columns",
        "native",
        partial(BaggingClassifier, n_estimators=10, max_features=0.5, bootstrap=False),
    ),
    Recipe(
        "rotation-forest-10",
        "Rotation forest of 10 trees",
        "scaled",
        lambda: rotation_forest(DecisionTreeClassifier(), 10),
        dense=True,
    ),
)

BOOSTING: Final = (
    Recipe("adaboost", "AdaBoost of 50 stumps", "ordinal", AdaBoostClassifier),
    Recipe("gradient-boosting", "Gradient boosting of 100 trees of depth 3", "ordinal", GradientBoostingClassifier),
    Recipe(
        "hist-gradient-boosting",
        "Histogram gradient boosting, 100 rounds",
        "native",
        partial(HistGradientBoostingClassifier, early_stopping=False),
        dense=True,
    ),
    Recipe(
        "lightgbm",
        "LightGBM, 100 rounds",
        "native",
        optional("lightgbm", "LGBMClassifier", verbose=-1),
        package="lightgbm",
    ),
    Recipe(
        "xgboost",
        "XGBoost, 100 rounds of depth 6",
        "native",
        lambda: LabelCoded(optional("xgboost", "XGBClassifier", verbosity=0)()),
        package="xgboost",
    ),
    Recipe(
        "catboost",
        "CatBoost, 100 rounds of depth 6",
        "native",
        # It names only the parameters that were given: those that whoever trains it must be able to set are.
        lambda: LabelCoded(
            optional(
                "catboost",
                "CatBoostClassifier",
                iterations=100,
                verbose=0,
                allow_writing_files=False,
                thread_count=1,
                random_state=0,
            )()
        ),
        package="catboost",
    ),
)

SLOW: Final = (
    Recipe("mlp", "Neural network, 100 hidden units, 100 epochs", "scaled", partial(MLPClassifier, max_iter=100)),
    Recipe("svm-poly-2", "SVM, polynomial kernel of degree 2", "scaled", partial(SVC, kernel="poly", degree=2)),
    Recipe("svm-poly-3", "SVM, polynomial kernel of degree 3", "scaled", partial(SVC, kernel="poly", degree=3)),
    Recipe("svm-rbf", "SVM with an RBF kernel, C=1", "scaled", SVC),
)

CLASSIFIERS: Final[tuple[Recipe, ...]] = (*SIMPLE, *LINEAR, *TREES, *NEIGHBOURS, *ENSEMBLES, *BOOSTING, *SLOW)
