"""Lines that extend a fit to the whole curve, so that one lucky or unlucky score has less influence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.bounds import BoundOptions, capped, least_squares_slope
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.curve import Curve

SMALLEST_GRADIENT: Final = 1e-12  # relative; below it, a hinge is not worth adding
POINTS: Final = 3  # as in Algorithm 1: how many fitted points give the slope of an isotonic fit


@dataclass(frozen=True, slots=True)
class FittedBound:
    """Straight-line extrapolation of a curve that was fitted to all measured scores.

    Algorithm 1 corrects the last two scores only. These fits use every point, so a single lucky or unlucky score has
    less influence.

    Parameters
    ----------
    fit
        "isotonic": least squares among all curves that never fall; the slope is that of the last three fitted points.
        "concave": least squares among all curves that never fall and have diminishing returns; the slope is that of the
        last segment.
    train_cap
        Whether the training score at the last size caps the bound.

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> points = {100: 0.5, 200: 0.75, 300: 0.625, 400: 0.75}
    >>> curve = Curve("tree", tuple(points), tuple(Measurement(1.0, score, 0.1) for score in points.values()))
    >>> FittedBound("isotonic")(curve, 800)
    0.875
    """

    fit: str = "concave"
    train_cap: bool = True

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise InputError(f"`fit` must be one of {', '.join(FITS)}, got {self.fit!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound."""
        score, slope = FITS[self.fit](curve.sizes, [point.valid_score for point in curve.measurements])
        remaining = full_size - curve.sizes[-1]
        return capped(score + remaining * slope if remaining else score, curve, train_cap=self.train_cap)


def isotonic(scores: Sequence[float]) -> list[float]:
    """Return the least-squares fit among all sequences that never fall (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for score in scores:
        pools.append((score, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (low, count), (high, more) = pools.pop(), pools.pop()
            pools.append(((low * count + high * more) / (count + more), count + more))
    return [score for score, count in pools for _ in range(count)]


def concave(sizes: Sequence[int], scores: Sequence[float]) -> list[float]:
    """Return the least-squares fit among all curves that never fall and have diminishing returns.

    Such a curve is a constant plus non-negative multiples of the hinges min(n, n_k). So this is least squares with
    non-negative coefficients, solved by the active-set method of Lawson and Hanson.
    """
    last, knots = scores[-1], sizes[1:]
    targets = [score - last for score in scores]  # relative to the last, so that a plateau is fitted exactly
    hinges = [[min(size, knot) for size in sizes] for knot in knots]
    one = last * 0 + 1  # of the type of the scores: fractions give an exact fit
    # Centred, so that the constant drops out.
    centred = [[one * (value * len(sizes) - sum(hinge)) for value in hinge] for hinge in hinges]
    mean = sum(targets) / len(targets)
    weights: dict[int, float] = {}
    fitted = [mean] * len(sizes)
    for _ in range(3 * len(knots)):
        rest = [target - value for target, value in zip(targets, fitted, strict=True)]
        gains = {k: _dot(centred[k], rest) for k in range(len(knots)) if k not in weights}
        scale = {k: math.sqrt(_dot(centred[k], centred[k]) * _dot(targets, targets)) for k in gains}
        best = max(gains, key=lambda k: gains[k] / scale[k] if scale[k] else 0.0, default=None)
        if best is None or gains[best] <= SMALLEST_GRADIENT * scale[best]:
            break
        weights[best] = 0
        weights = _restricted(weights, centred, targets)
        fitted = [mean + sum(weight * centred[k][i] for k, weight in weights.items()) for i in range(len(sizes))]
    return [last + value for value in fitted]


def _restricted(weights: dict[int, float], centred: list[list[float]], targets: list[float]) -> dict[int, float]:
    """Solve least squares on the active hinges; step back to the border and drop those that would be negative."""
    while weights:
        solved = _solve(list(weights), centred, targets)
        negative = [k for k in solved if solved[k] <= 0]
        if not negative:
            return solved
        step = min((weights[k] / (weights[k] - solved[k]) for k in negative if weights[k] > 0), default=0)
        moved = {k: weights[k] + step * (solved[k] - weights[k]) for k in weights}
        weights = {k: weight for k, weight in moved.items() if weight > 0 and not (k in negative and step == 0)}
    return weights


def _solve(active: list[int], centred: list[list[float]], targets: list[float]) -> dict[int, float]:
    """Solve the normal equations by Gaussian elimination with pivoting."""
    rows = [[*(_dot(centred[j], centred[k]) for k in active), _dot(centred[j], targets)] for j in active]
    for place in range(len(rows)):
        pivot = max(range(place, len(rows)), key=lambda i: abs(rows[i][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in rows[place + 1 :]:
            factor = row[place] / rows[place][place]
            row[place:] = [mine - factor * other for mine, other in zip(row[place:], rows[place][place:], strict=True)]
    found: list[float] = []
    for place in reversed(range(len(rows))):
        known = sum(a * b for a, b in zip(rows[place][place + 1 : -1], reversed(found), strict=True))
        found.append((rows[place][-1] - known) / rows[place][place])
    return dict(zip(active, reversed(found), strict=True))


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _isotonic_end(sizes: tuple[int, ...], scores: list[float]) -> tuple[float, float]:
    fitted = isotonic(scores)
    return fitted[-1], least_squares_slope(sizes[-POINTS:], tuple(fitted[-POINTS:]))


def _concave_end(sizes: tuple[int, ...], scores: list[float]) -> tuple[float, float]:
    if len(sizes) == 1:
        return scores[-1], math.inf
    before, last = concave(sizes, scores)[-2:]
    return last, max(last - before, 0) / (sizes[-1] - sizes[-2])


FITS: Final = {"isotonic": _isotonic_end, "concave": _concave_end}


def made_isotonic(options: BoundOptions) -> FittedBound:
    """Return the bound `isotonic`."""
    return FittedBound("isotonic", options.train_cap)


def made_concave(options: BoundOptions) -> FittedBound:
    """Return the bound `concave`."""
    return FittedBound("concave", options.train_cap)
