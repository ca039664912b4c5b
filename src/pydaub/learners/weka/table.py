"""The paper's 41 learners: classes, options and order of its appendix, which lists SimpleCart twice."""

from __future__ import annotations

from functools import partial
from typing import Final

from pydaub.learners.base import Recipe, optional
from pydaub.learners.weka.jar import obstacle

KERNELS: Final = "weka.classifiers.functions.supportVector"


def _entry(name: str, class_name: str, description: str, options: str = "") -> Recipe:
    class_name = f"weka.classifiers.{class_name}"
    return Recipe(
        f"weka-{name}",
        description,
        "nominal",
        optional("pydaub.learners.weka.classifier", "WekaClassifier", class_name=class_name, options=options),
        dense=True,
        needs=partial(obstacle, class_name),
    )


WEKA: Final = (
    _entry("simple-cart", "trees.SimpleCart", "CART with cost-complexity pruning"),
    _entry("decision-table", "rules.DecisionTable", "Lookup table on selected columns"),
    _entry("naive-bayes-updateable", "bayes.NaiveBayesUpdateable", "Naive Bayes, updated row by row"),
    _entry("smo-rbf", "functions.SMO", "SVM, RBF kernel, gamma 0.01", f'-K "{KERNELS}.RBFKernel -C 250007 -G 0.01"'),
    _entry("smo-poly", "functions.SMO", "SVM, linear kernel", f'-K "{KERNELS}.PolyKernel -C 250007 -E 1.0"'),
    _entry(
        "smo-normalized-poly",
        "functions.SMO",
        "SVM, normalised polynomial kernel of degree 2",
        f'-K "{KERNELS}.NormalizedPolyKernel -C 250007 -E 2.0"',
    ),
    _entry("rbf-network", "functions.RBFNetwork", "Logistic regression on two radial functions per class"),
    _entry("random-tree", "trees.RandomTree", "Tree that considers random columns at each split"),
    _entry("forest-5-depth-10", "trees.RandomForest", "Forest of 5 trees of depth 10", "-depth 10 -I 5 -K 0"),
    _entry("forest-10-depth-10", "trees.RandomForest", "Forest of 10 trees of depth 10", "-depth 10 -I 10 -K 0"),
    _entry("forest-5-depth-20", "trees.RandomForest", "Forest of 5 trees of depth 20", "-depth 20 -I 5 -K 0"),
    _entry("dtnb", "rules.DTNB", "Decision table for some columns, naive Bayes for the others"),
    _entry("nb-tree", "trees.NBTree", "Tree with naive Bayes in its leaves"),
    _entry("logistic", "functions.Logistic", "Logistic regression with a ridge of 1e-8"),
    _entry("spegasos", "functions.SPegasos", "Linear SVM by stochastic gradient descent, two classes only"),
    _entry("part", "rules.PART", "Rules, each from a leaf of a partial C4.5 tree"),
    _entry("lad-tree", "trees.LADTree", "Alternating decision tree by LogitBoost"),
    _entry("hyper-pipes", "misc.HyperPipes", "Class whose value ranges contain most values of the row"),
    _entry("j48-graft", "trees.J48graft", "C4.5 with grafted branches"),
    _entry("jrip", "rules.JRip", "Rules by RIPPER"),
    _entry("bf-tree", "trees.BFTree", "Tree that splits the best node first, pruned"),
    _entry("lmt", "trees.LMT", "Tree with logistic regression in its leaves"),
    _entry("j48", "trees.J48", "C4.5, confidence 0.25, at least 2 rows per leaf", "-M 2 -C 0.25"),
    _entry("j48-m4-c10", "trees.J48", "C4.5, confidence 0.10, at least 4 rows per leaf", "-M 4 -C 0.10"),
    _entry("j48-m4-c35", "trees.J48", "C4.5, confidence 0.35, at least 4 rows per leaf", "-M 4 -C 0.35"),
    _entry("ibk-1", "lazy.IBk", "Nearest row", "-K 1"),
    _entry("ibk-5", "lazy.IBk", "Vote of the 5 nearest rows", "-K 5"),
    _entry("ibk-10", "lazy.IBk", "Vote of the 10 nearest rows", "-K 10"),
    _entry("ibk-25", "lazy.IBk", "Vote of the 25 nearest rows", "-K 25"),
    _entry("rotation-forest", "meta.RotationForest", "10 C4.5 trees, each on rotated columns"),
    _entry("conjunctive-rule", "rules.ConjunctiveRule", "One rule with several conditions"),
    _entry("rep-tree", "trees.REPTree", "Tree by information gain, pruned on held-out rows"),
    _entry("nnge", "rules.NNge", "Nearest box around rows of one class"),
    _entry("zero-r", "rules.ZeroR", "Most frequent class"),
    _entry("decision-stump", "trees.DecisionStump", "Tree with one split"),
    _entry("ridor", "rules.Ridor", "Default rule with nested exceptions"),
    _entry("vfi", "misc.VFI", "Votes of the intervals that the values fall into"),
    _entry("naive-bayes", "bayes.NaiveBayes", "Naive Bayes with a Gaussian per numeric column"),
    _entry("multilayer-perceptron", "functions.MultilayerPerceptron", "Neural network with one hidden layer"),
    _entry("simple-logistic", "functions.SimpleLogistic", "Logistic regression by LogitBoost, one column at a time"),
    _entry("simple-cart-2", "trees.SimpleCart", "CART again, because the paper lists it twice"),
)
