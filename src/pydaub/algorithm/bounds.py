"""Optimistic upper bounds on a learner's score at the full size: (curve, full size) -> score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.algorithm.curve import Curve


class UpperBound(Protocol):
    """How good could this learner be with all the data? Laws: pure; at least one point is known.

    `UpdateBound` in Algorithm 1, u_i in the theory.
    """

    def __call__(self, curve: Curve, full_size: int, /) -> float:
        """Return the bound."""


@dataclass(frozen=True, slots=True)
class SlopeBound:
    """The last corrected validation score, extended to the full size along the curve's recent slope.

    The slope is the least-squares one over the last `points` points. `SlopeBound()` is the paper's (Alg. 1,
    UpdateBound). `SlopeBound(train_cap=False)` is its variant "no f^T". `SlopeBound(points=2)` is the straight
    line through the two most recent points, a strict upper bound where scores have no noise.

    With fewer points than that, those there are are used; with one, no slope is known, so that the
    line says nothing and only the training score is a bound.
    """

    points: int = 3
    train_cap: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.points, int) or self.points < 2:  # noqa: PLR2004  # two points make a line
            raise InputError(f"`points` must be a whole number of at least 2, got {self.points!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound."""
        size = curve.sizes[-1]
        slope = least_squares_slope(curve.sizes[-self.points :], curve.valid[-self.points :])
        return _projected(curve, full_size - size, slope, train_cap=self.train_cap)


@dataclass(frozen=True, slots=True)
class DifferenceBound:
    """DAUB*'s bound: the slope is the one-sided difference (f(n) - f(n - s)) / s of the exact curve.

    `accuracy` holds each learner's exact f, which only theory knows. Sizes start at 1, so the step is
    shortened where n - s would be less; at n = 1 there is no difference, and the line says nothing.
    """

    accuracy: Mapping[str, Callable[[int], float]]
    step: int = 1
    train_cap: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.step, int) or self.step < 1:
            raise InputError(f"`step` must be a whole number of at least 1, got {self.step!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound."""
        size = curve.sizes[-1]
        slope = one_sided_difference(self.accuracy[curve.learner], size, self.step)
        return _projected(curve, full_size - size, slope, train_cap=self.train_cap)


@dataclass(frozen=True, slots=True)
class NonIncreasing:
    """Any bound, but never above what it was when less was known (the footnote to DAUB*).

    The earlier values are those over at least `points` points, as a strategy that bootstraps with as many
    sizes has seen them.
    """

    bound: UpperBound
    points: int = 3

    def __post_init__(self) -> None:
        check_bound(self.bound)
        if not isinstance(self.points, int) or self.points < 1:
            raise InputError(f"`points` must be a whole number of at least 1, got {self.points!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the least bound that the curve has had."""
        length = len(curve.sizes)
        return min(self.bound(curve.prefix(known), full_size) for known in range(min(self.points, length), length + 1))


def check_bound(bound: UpperBound) -> None:
    """Refuse what cannot be called."""
    if not callable(bound):
        raise InputError(f"`bound` must be called with a curve and the full size, got {bound!r}.")


def value(bound: UpperBound, curve: Curve, full_size: int) -> float:
    """Return the bound on this curve, which must be a number: nan would break every order silently."""
    result = bound(curve, full_size)
    if result != result:  # noqa: PLR0124  # only nan differs from itself
        raise InputError(f"`bound` must give a number, got nan for {curve.learner!r} at size {curve.sizes[-1]}.")
    return result


def described(bound: UpperBound) -> str:
    """Return what a bound is called in settings: a function by its name, which is the same in another process."""
    name = getattr(bound, "__qualname__", None)
    return f"{bound.__module__}.{name}" if name else repr(bound)


def least_squares_slope(sizes: tuple[int, ...], scores: tuple[float, ...]) -> float:
    """Return the slope of the best line, infinite for a single point.

    The sizes are centred in whole numbers and the scores taken relative to the last one, so that a plateau
    has slope 0 exactly.
    """
    count, total, last = len(sizes), sum(sizes), scores[-1]
    if count == 1:
        return math.inf
    centred = [count * size - total for size in sizes]
    covariance = sum(offset * (score - last) for offset, score in zip(centred, scores, strict=True))
    return covariance * count / sum(offset * offset for offset in centred)


def one_sided_difference(accuracy: Callable[[int], float], size: int, step: int) -> float:
    """Return f'(n) = (f(n) - f(n - s)) / s, with the step shortened so that n - s is a size."""
    if step < 1:
        raise InputError(f"`step` must be a whole number of at least 1, got {step!r}.")
    step = min(step, size - 1)
    return (accuracy(size) - accuracy(size - step)) / step if step else math.inf


def _projected(curve: Curve, remaining: int, slope: float, *, train_cap: bool) -> float:
    line = curve.valid[-1] + remaining * slope if remaining else curve.valid[-1]
    return min(curve.measurements[-1].train_score, line) if train_cap else line
