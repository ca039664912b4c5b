"""Starting from what a learner learned on a smaller sample, where that leads to the same learner.

Samples are nested: the rows of a smaller one are the first rows of a larger one. Two kinds of learners may go on:

- those whose training is a convex problem with one answer, started near it (`warm_start`): it is reached in fewer
  steps, to the same tolerance;
- those that only add up (naive Bayes by `partial_fit`): adding the new rows to the old sums is the same sum. The
  Gaussian one is none of them: what it adds to variances is taken from the new rows alone.

Others that offer `warm_start` or `partial_fit` would become different learners: a forest would keep trees that
have seen less, boosting would add stages, a neural network or SGD would be trained for longer.

Whether there is something to start from must not depend on timing, or two workers could give another answer than
one: such learners are evaluated when they are asked for, never ahead, so that the smaller samples that they have seen
are those that the strategy has asked for before.
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
    from pydaub.data import Sample
    from pydaub.records import Allocation

CONVEX = (LogisticRegression, Lasso, ElasticNet, HuberRegressor, PoissonRegressor, GammaRegressor, TweedieRegressor)
SUMS = (BernoulliNB, MultinomialNB, ComplementNB)
LEARNED = ("coef_", "intercept_", "scale_", "classes_")  # what a convex learner starts from


class Memory(Protocol):
    """Where learners leave what they have learned."""

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return how many rows the largest smaller sample had, and what was learned on it; None if there was none."""

    def keep(self, allocation: Allocation, learned: Any) -> None:
        """Keep what it learned for larger sizes."""


def can_go_on(estimator: Any) -> bool:
    """Whether the learner may start from what it learned on a smaller sample."""
    last = _last(estimator)
    if isinstance(last, HuberRegressor) and not last.fit_intercept:
        return False  # it takes the intercept of 0 that it starts from for a scale
    return type(last) in CONVEX or (type(last) in SUMS and last is estimator)


def _last(estimator: Any) -> Any:
    """Return the last step of a pipeline; those of other libraries may do more than one after the other."""
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def fit_again(estimator: Any, sample: Sample, memory: Memory, allocation: Allocation) -> Any:
    """Return the learner fitted on the sample, begun where the smaller sample left it if that may be."""
    if not can_go_on(estimator):
        return estimator.fit(sample.X, sample.y)
    rows, learned = memory.recall(allocation) or (0, None)
    learned = deepcopy(learned)  # fitting on changes it, and others have it too
    last = _last(estimator)
    if type(last) in SUMS:
        estimator = _added_up(estimator, sample, learned, rows)
        memory.keep(allocation, estimator)
        return estimator
    before_it = estimator[:-1] if estimator is not last and len(estimator) > 1 else None
    X = sample.X if before_it is None else before_it.fit_transform(sample.X, sample.y)
    _fit_from(last, X, sample.y, learned)
    if np.max(getattr(last, "n_iter_", 0)) < last.max_iter:  # stopped before the answer, it would begin nearer to it
        memory.keep(allocation, {name: getattr(last, name) for name in LEARNED if hasattr(last, name)})
    return estimator


def _added_up(estimator: Any, sample: Sample, learned: Any, rows: int) -> Any:
    if learned is None or not np.array_equal(learned.classes_, np.unique(sample.y)):
        return estimator.fit(sample.X, sample.y)  # a class that was not there before needs a new beginning
    return learned.partial_fit(sample.X[rows:], sample.y[rows:])


def _fit_from(last: Any, X: Any, y: Any, learned: Any) -> None:
    """Fit, started from earlier coefficients if they are of the same features and classes."""
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
