"""The default portfolio for classification: a counterpart for each family in the paper's list, and newer learners.

The order breaks ties, so cheap and simple learners come first.
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

from pydaub.learners.adapters import NearestClassifier
from pydaub.learners.discriminant import QuadraticDiscriminant
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

Tree = DecisionTreeClassifier
Hist = HistGradientBoostingClassifier

SIMPLE: Final = (
    Recipe("dummy", "Most frequent class, whatever the row", "none", DummyClassifier),
    Recipe("stump", "Decision tree with one split", "native", partial(Tree, max_depth=1)),
    imodels("one-rule", "Rules on the single best column", "OneRClassifier", two=True),
    Recipe("naive-bayes-gaussian", "Naive Bayes with a Gaussian per column", "scaled", GaussianNB, dense=True),
    Recipe("naive-bayes-bernoulli", "Naive Bayes on whether values exceed the mean", "scaled", BernoulliNB),
    Recipe("naive-bayes-multinomial", "Naive Bayes that reads values as counts", "positive", MultinomialNB),
    Recipe("naive-bayes-complement", "Naive Bayes on the counts of all other classes", "positive", ComplementNB),
    Recipe(
        "naive-bayes-categorical",
        "Naive Bayes on values in ten bins",
        "binned",
        partial(CategoricalNB, min_categories=3),  # codes for missing, for new, and for at least one category
        dense=True,
    ),
    Recipe("nearest-centroid", "Class with the nearest mean", "scaled", NearestCentroid),
)

LINEAR: Final = (
    Recipe("ridge", "Least squares on the classes, L2 penalty 1", "scaled", RidgeClassifier),
    Recipe("lda", "Linear discriminant analysis", "scaled", LinearDiscriminantAnalysis, dense=True),
    Recipe("qda", "Quadratic discriminant analysis, regularised", "scaled", QuadraticDiscriminant, dense=True),
    Recipe(
        "perceptron",
        "Perceptron, weights averaged over all steps",  # on noisy rows the last weights are largely random
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
    *small_trees(Tree),
    Recipe(
        "tree-pruned", "Decision tree, cost-complexity pruning with 0.001", "native", partial(Tree, ccp_alpha=0.001)
    ),
    Recipe("tree", "Decision tree, fully grown, Gini", "native", Tree),
    Recipe("tree-entropy", "Decision tree, fully grown, entropy", "native", partial(Tree, criterion="entropy")),
    Recipe("random-tree", "Decision tree, random columns per split", "native", partial(Tree, max_features="sqrt")),
    Recipe("extra-tree", "Decision tree, random columns and thresholds", "native", ExtraTreeClassifier),
    imodels("rule-list", "Greedy list of rules", "GreedyRuleListClassifier", two=True),
    imodels("figs", "Sum of small trees, 12 rules in total", "FIGSClassifier"),
)

ENSEMBLES: Final = (
    *forests(RandomForestClassifier),
    *other_ensembles(ExtraTreesClassifier, BaggingClassifier, Tree),
)

BOOSTING: Final = (
    Recipe("adaboost", "AdaBoost of 50 stumps", "ordinal", AdaBoostClassifier),
    Recipe("gradient-boosting", "Gradient boosting of 100 trees of depth 3", "ordinal", GradientBoostingClassifier),
    histogram_boosting("hist-gradient-boosting", "Histogram gradient boosting, 100 rounds", Hist),
    *boosting_packages("Classifier"),
)

SLOW: Final = (
    Recipe("mlp", "Neural network, 100 hidden units, 100 epochs", "scaled", partial(MLPClassifier, max_iter=100)),
    Recipe("svm-poly-2", "SVM, polynomial kernel of degree 2", "scaled", partial(SVC, kernel="poly", degree=2)),
    Recipe("svm-poly-3", "SVM, polynomial kernel of degree 3", "scaled", partial(SVC, kernel="poly", degree=3)),
    Recipe("svm-rbf", "SVM with an RBF kernel, C=1", "scaled", SVC),
)

CLASSIFIERS: Final[tuple[Recipe, ...]] = (
    *SIMPLE,
    *LINEAR,
    *TREES,
    *neighbours(NearestClassifier, "Vote"),
    *ENSEMBLES,
    *BOOSTING,
    *SLOW,
)
