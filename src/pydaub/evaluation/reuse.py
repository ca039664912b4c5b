"""Start from what a learner learned on a smaller sample, if the result is the same learner.

Samples are nested: the rows of a smaller sample are the first rows of a larger one. Two kinds of learners can continue
from a smaller sample:

- learners that solve a convex problem with a unique solution (`warm_start`): starting near the solution takes fewer
  iterations and ends within the same tolerance;
- learners that sum over rows (naive Bayes with `partial_fit`): adding the new rows to the old sums gives the same sums.
  GaussianNB is an exception: it computes the smoothing of its variances from the new rows alone.

Other learners with `warm_start` or `partial_fit` would become different learners: a forest would keep trees that saw
fewer rows, boosting would add stages, and a neural network or SGD would be trained for longer.

The starting point must not depend on timing, or two workers could give a different result than one. So these learners
are never evaluated ahead of time: they start from the smaller samples that the strategy has asked for, and no others.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.data import Sample
    from pydaub.evaluation.encoded import Encoded
    from pydaub.records import Allocation

CONVEX = (LogisticRegression, Lasso, ElasticNet, HuberRegressor, PoissonRegressor, GammaRegressor, TweedieRegressor)
SUMS = (BernoulliNB, MultinomialNB, ComplementNB)
LEARNED = ("coef_", "intercept_", "scale_", "classes_")  # the attributes from which a convex learner starts


class Memory(Protocol):
    """Storage for what learners have learned, and for rows that were encoded for all of them."""

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return the size of the largest smaller sample and what was learned on it; None if there is none."""

    def keep(self, allocation: Allocation, learned: Any) -> None:
        """Keep what was learned, from which larger sizes can start."""

    def encoded(self, key: str, make: Callable[[], Encoded]) -> Encoded:
        """Return the encoded rows of this key, which are made if nobody has made them yet."""


def can_go_on(estimator: Any) -> bool:
    """Return whether the learner can start from what it learned on a smaller sample."""
    last = _last(estimator)
    if isinstance(last, HuberRegressor) and not last.fit_intercept:
        return False  # it would mistake the intercept of 0 that it starts from for its scale
    return type(last) in CONVEX or (type(last) in SUMS and last is estimator)


def _last(estimator: Any) -> Any:
    """Return the last step of a scikit-learn pipeline; subclasses may do more than run their steps in order."""
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def fit_again(estimator: Any, sample: Sample, memory: Memory, allocation: Allocation, encoded: Any = None) -> Any:
    """Return a learner that can go on, fitted on the sample, starting from a smaller sample if there was one.

    `encoded` is what the steps before the last make of the rows; None if they are not fitted yet.
    """
    rows, learned = memory.recall(allocation) or (0, None)
    learned = deepcopy(learned)  # fitting changes it, and it may belong to a learner that was kept
    last = _last(estimator)
    if type(last) in SUMS:
        estimator = _added_up(estimator, sample, learned, rows)
        memory.keep(allocation, estimator)
        return estimator
    if encoded is not None:
        X = encoded
    elif estimator is not last and len(estimator) > 1:
        X = estimator[:-1].fit_transform(sample.X, sample.y)
    else:
        X = sample.X
    _fit_from(last, X, sample.y, learned)
    finished = np.max(getattr(last, "n_iter_", 0)) < last.max_iter
    if finished:  # else the next size would start from an unfinished solution
        memory.keep(allocation, {name: getattr(last, name) for name in LEARNED if hasattr(last, name)})
    return estimator


def _added_up(estimator: Any, sample: Sample, learned: Any, rows: int) -> Any:
    if learned is None or not np.array_equal(learned.classes_, np.unique(sample.y)):
        return estimator.fit(sample.X, sample.y)  # there is a new class: start from scratch
    return learned.partial_fit(sample.X[rows:], sample.y[rows:])


def _fit_from(last: Any, X: Any, y: Any, learned: Any) -> None:
    """Fit, starting from earlier coefficients if they belong to the same features and classes."""
    fits = learned is not None and np.shape(learned["coef_"])[-1] == X.shape[1]
    if fits and "classes_" in learned:
        fits = np.array_equal(learned["classes_"], np.unique(y))
    if not fits:
        last.fit(X, y)
        return
    for name, value in learned.items():
        setattr(last, name, value)
    given = last.warm_start
    last.set_params(warm_start=True).fit(X, y)
    last.set_params(warm_start=given)
