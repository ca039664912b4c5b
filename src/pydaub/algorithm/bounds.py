"""Optimistic upper bounds on a learner's score at the full size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pydaub.errors import InputError
from pydaub.records import Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.algorithm.curve import Curve


class UpperBound(Protocol):
    """Interface of a bound: how good could a learner be at the full size, given its curve so far?

    This is `UpdateBound` in Algorithm 1 and u_i in the theory. Any callable with this signature is a bound. It must be
    pure: the same curve and full size always give the same bound.
    """

    def __call__(self, curve: Curve, full_size: int, /) -> float:
        """Return the bound on the validation score at the full size; may be infinite, must not be nan.

        Parameters
        ----------
        curve
            Learning curve of one learner, with at least one point.
        full_size
            Number of all training rows, the paper's N.
        """


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """What a bound that is asked for by name may depend on (docs/extending.md).

    Parameters
    ----------
    train_bound
        Whether the training score caps the bound, as the user asked; None if nobody said.
    scores
        What the scores are, with the number of validation rows where it is known.
    looks
        Number of learners times sizes.
    """

    train_bound: bool | None = None
    scores: Scores = field(default_factory=Scores)
    looks: int = 1

    @property
    def train_cap(self) -> bool:
        """Whether to cap the bound: yes, unless the user asked not to."""
        return self.train_bound is not False


@dataclass(frozen=True, slots=True)
class SlopeBound:
    """Straight-line extrapolation of the validation score to the full size, capped by the training score.

    The line starts at the last corrected validation score and has the least-squares slope of the last few points. This
    is the paper's bound (Algorithm 1, UpdateBound).

    Parameters
    ----------
    points
        Number of points that the slope is fitted to, at least 2. A curve with fewer points uses all of them. With one
        point there is no slope, and only the training score bounds the learner. `points=2` draws the line through the
        last two points, which is a strict upper bound for scores without noise.
    train_cap
        Whether the training score at the last size caps the bound. `train_cap=False` is the paper's variant "no f^T".

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> curve = Curve("tree", (100, 200), (Measurement(1.0, 0.5, 0.1), Measurement(1.0, 0.625, 0.2)))
    >>> SlopeBound()(curve, 400)
    0.875
    """

    points: int = 3
    train_cap: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.points, int) or self.points < 2:  # noqa: PLR2004  # a line needs two points
            raise InputError(f"`points` must be a whole number of at least 2, got {self.points!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound."""
        size = curve.sizes[-1]
        slope = least_squares_slope(curve.sizes[-self.points :], curve.valid[-self.points :])
        return _projected(curve, full_size - size, slope, train_cap=self.train_cap)


@dataclass(frozen=True, slots=True)
class DifferenceBound:
    """Straight-line extrapolation along the one-sided difference of the exact curve: the bound of DAUB*.

    The slope at n rows is (f(n) - f(n - s)) / s. Only the theory knows the exact f, so this bound is for studying the
    algorithm, not for data.

    Parameters
    ----------
    accuracy
        The exact accuracy function f of each learner, by name.
    step
        The paper's s, at least 1. Sizes start at 1, so the step is shortened where n - s would be less than 1. At n = 1
        there is no difference, and only the training score bounds the learner.
    train_cap
        Whether the training score at the last size caps the bound.

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> bound = DifferenceBound({"tree": lambda n: 1 - 1 / n}, train_cap=False)
    >>> bound(Curve("tree", (2,), (Measurement(1.0, 0.5, 0.1),)), 3)
    1.0
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
    """Another bound, made non-increasing: its minimum over the curve so far (the footnote to DAUB*).

    Parameters
    ----------
    bound
        The bound to make non-increasing.
    points
        Number of points from which on values count. The default is the number of bootstrap sizes, since a strategy that
        bootstraps does not compute a bound before.

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> points = {100: 0.5, 200: 0.5, 300: 0.75}
    >>> curve = Curve("tree", tuple(points), tuple(Measurement(1.0, score, 0.1) for score in points.values()))
    >>> SlopeBound(points=2)(curve, 400), NonIncreasing(SlopeBound(points=2), points=2)(curve, 400)
    (1.0, 0.5)
    """

    bound: UpperBound
    points: int = 3

    def __post_init__(self) -> None:
        check_bound(self.bound)
        if not isinstance(self.points, int) or self.points < 1:
            raise InputError(f"`points` must be a whole number of at least 1, got {self.points!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the smallest bound that this curve has had."""
        length = len(curve.sizes)
        return min(self.bound(curve.prefix(known), full_size) for known in range(min(self.points, length), length + 1))


def check_bound(bound: UpperBound) -> None:
    """Raise `InputError` if the bound cannot be called."""
    if not callable(bound):
        raise InputError(f"`bound` must be called with a curve and the full size, got {bound!r}.")


def value(bound: UpperBound, curve: Curve, full_size: int) -> float:
    """Return the bound on this curve; raise `InputError` for nan, which would silently break every comparison."""
    result = bound(curve, full_size)
    if result != result:  # noqa: PLR0124  # only nan differs from itself
        raise InputError(f"`bound` must give a number, got nan for {curve.learner!r} at size {curve.sizes[-1]}.")
    return result


def described(bound: UpperBound) -> str:
    """Return the name of a bound in a strategy's settings.

    A function is named by its module and qualified name, which are the same in every process; its repr is not.
    """
    name = getattr(bound, "__qualname__", None)
    return f"{bound.__module__}.{name}" if name else repr(bound)


def least_squares_slope(sizes: tuple[int, ...], scores: tuple[float, ...]) -> float:
    """Return the slope of the least-squares line, infinite for a single point.

    The sizes are centred in integer arithmetic and the scores are taken relative to the last one, so a plateau has
    slope 0 exactly.
    """
    count, total, last = len(sizes), sum(sizes), scores[-1]
    if count == 1:
        return math.inf
    centred = [count * size - total for size in sizes]
    covariance = sum(offset * (score - last) for offset, score in zip(centred, scores, strict=True))
    return covariance * count / sum(offset * offset for offset in centred)


def one_sided_difference(accuracy: Callable[[int], float], size: int, step: int) -> float:
    """Return f'(n) = (f(n) - f(n - s)) / s, with s shortened so that n - s is at least 1; infinite at n = 1."""
    if step < 1:
        raise InputError(f"`step` must be a whole number of at least 1, got {step!r}.")
    step = min(step, size - 1)
    return (accuracy(size) - accuracy(size - step)) / step if step else math.inf


def _projected(curve: Curve, remaining: int, slope: float, *, train_cap: bool) -> float:
    return capped(curve.valid[-1] + remaining * slope if remaining else curve.valid[-1], curve, train_cap=train_cap)


def capped(line: float, curve: Curve, *, train_cap: bool) -> float:
    """Return the smaller of a line's value at the full size and the last training score, if that caps it."""
    if not train_cap:
        return line
    train_score = curve.measurements[-1].train_score
    if train_score is None:
        raise InputError(
            f"`train_score` of {curve.learner!r} must be measured, as the bound needs it, got None. Leave it out of the"
            " bound with `train_bound=False` (`--no-train-bound`)."
        )
    return min(train_score, line)
