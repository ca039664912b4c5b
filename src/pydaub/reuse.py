"""Starting from what a learner learned on a smaller sample, where that leads to the same learner.

Samples are nested: the rows of a smaller one are the first rows of a larger one. Two kinds of learners may go on:

- those whose training is a convex problem with one answer, started near it (`warm_start`): it is reached in fewer
  steps, to the same tolerance;
- those that only add up (naive Bayes by `partial_fit`): adding the new rows to the old sums is the same sum.

Others that offer `warm_start` or `partial_fit` would become different learners: a forest would keep trees that
have seen less, boosting would add stages, a neural network or SGD would be trained for longer.

Whether there is something to start from must not depend on timing, or two workers could give another answer than
one: only the size just before in the schedule counts, and who evaluates ahead waits for it (`needs`).
"""

from __future__ import annotations

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
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline

from pydaub.records import Allocation

if TYPE_CHECKING:
    from pydaub.data import Sample

CONVEX = (LogisticRegression, Lasso, ElasticNet, HuberRegressor, PoissonRegressor, GammaRegressor, TweedieRegressor)
SUMS = (GaussianNB, BernoulliNB, MultinomialNB, ComplementNB)
LEARNED = ("coef_", "intercept_", "scale_", "classes_")  # what a convex learner starts from


class Memory(Protocol):
    """Where learners leave what they have learned."""

    def recall(self, allocation: Allocation) -> Any:
        """Return what was kept for this allocation, or None."""

    def keep(self, allocation: Allocation, learned: Any) -> None:
        """Keep it for larger sizes."""


def can_go_on(estimator: Any) -> bool:
    """Whether the learner may start from what it learned on a smaller sample."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last) in CONVEX or (type(last) in SUMS and last is estimator)


def needs(allocation: Allocation, sizes: tuple[int, ...]) -> Allocation | None:
    """Return the allocation whose end must be awaited, if there is one before."""
    position = sizes.index(allocation.size) if allocation.size in sizes else 0
    return Allocation(allocation.learner, sizes[position - 1]) if position else None


def fit_again(estimator: Any, sample: Sample, memory: Memory, allocation: Allocation, sizes: tuple[int, ...]) -> Any:
    """Return the learner fitted on the sample, begun where the smaller sample left it if that may be."""
    if not can_go_on(estimator):
        return estimator.fit(sample.X, sample.y)
    before = needs(allocation, sizes)
    learned = memory.recall(before) if before else None
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if type(last) in SUMS:
        estimator = _added_up(estimator, sample, learned, before)
        memory.keep(allocation, estimator)
        return estimator
    X = estimator[:-1].fit_transform(sample.X, sample.y) if isinstance(estimator, Pipeline) else sample.X
    _fit_from(last, X, sample.y, learned)
    memory.keep(allocation, {name: getattr(last, name) for name in LEARNED if hasattr(last, name)})
    return estimator


def _added_up(estimator: Any, sample: Sample, learned: Any, before: Allocation | None) -> Any:
    if learned is None or before is None or not np.array_equal(learned.classes_, np.unique(sample.y)):
        return estimator.fit(sample.X, sample.y)  # a class that was not there before needs a new beginning
    return learned.partial_fit(sample.X[before.size :], sample.y[before.size :])


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
    last.set_params(warm_start=True).fit(X, y)
    last.set_params(warm_start=False)
