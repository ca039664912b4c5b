"""A monotone regression spline through all scores, as smooth as the noise of the validation rows asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import nnls

from pydaub.algorithm.bounds import capped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.bounds import BoundOptions
    from pydaub.algorithm.curve import Curve

DEGREE: Final = 3
PENALTIES: Final = tuple(10.0**power for power in range(-6, 4))
DIGITS: Final = 10  # of a slope: solvers differ in the last ones from machine to machine
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class RegressionSpline:
    """Straight-line extrapolation of a monotone regression spline (P-spline), along its derivative at the last size.

    The spline is cubic in the logarithm of the size, with a knot at each size, and its coefficients never fall, so it
    never falls. Scores are weighted by their binomial noise. The penalty on second differences of the coefficients
    minimizes the estimated error of prediction: by Mallows' Cp where the number of validation rows is known, and by
    generalized cross-validation where it is not.

    As its derivative may be lower than that of any line through two points, the bound can be too low on a well-behaved
    curve, too.

    Parameters
    ----------
    rows
        Number of validation rows of which each score is the share that is right; None for other scores.
    train_cap
        Whether the training score at the last size caps the bound.

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> points = {100: 0.5, 200: 0.6, 400: 0.66, 800: 0.7}
    >>> curve = Curve("tree", tuple(points), tuple(Measurement(1.0, score, 0.1) for score in points.values()))
    >>> round(RegressionSpline(100)(curve, 1600), 2)
    0.79
    """

    rows: int | None = None
    train_cap: bool = True

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound."""
        scores = [float(each.valid_score) for each in curve.measurements]
        last, slope = scores[-1], math.inf
        if len(scores) > 1:
            last, slope = fitted_end(curve.sizes, scores, self._variances(curve), known=self.rows is not None)
        remaining = full_size - curve.sizes[-1]
        line = last + (remaining * float(f"{slope:.{DIGITS}g}") if remaining else 0.0)
        return capped(line, curve, train_cap=self.train_cap)

    def _variances(self, curve: Curve) -> list[float]:
        """Return the variance of each score, up to a factor if the number of rows is not known."""
        if self.rows is None:
            return [1.0] * len(curve.sizes)
        rows = [min(each.scored or self.rows, self.rows) for each in curve.measurements]
        shares = [  # towards one half by a row each, so that none is without noise
            (min(max(float(each.valid_score), 0.0), 1.0) * count + 1) / (count + 2)
            for each, count in zip(curve.measurements, rows, strict=True)
        ]
        return [share * (1 - share) / count for share, count in zip(shares, rows, strict=True)]


class _Basis(NamedTuple):
    """What depends on the sizes alone."""

    steps: Array  # values at the sizes of the splines whose coefficients are 0 before a place, and 1 from there on
    bends: Array  # second differences of their coefficients
    slope: float  # the derivative at the last size, for a last increment of 1


def fitted_end(
    sizes: Sequence[int], scores: Sequence[float], variances: Sequence[float], *, known: bool
) -> tuple[float, float]:
    """Return value and derivative, per row, at the last size."""
    basis, last = _basis(tuple(sizes)), scores[-1]
    targets = np.array(scores) - last  # so that a plateau is fitted exactly
    weights = 1 / np.sqrt(np.array(variances) if known else np.ones(len(scores)))
    ones = weights[:, None]
    design = np.hstack([ones, -ones, ones * basis.steps])
    flat = np.zeros((len(basis.bends), 2))
    best, found = math.inf, np.zeros(design.shape[1])
    for penalty in PENALTIES:
        bends = math.sqrt(penalty * float(weights @ weights) / len(scores)) * np.hstack([flat, basis.bends])
        stacked, wanted = np.vstack([design, bends]), np.append(weights * targets, np.zeros(len(bends)))
        coefficients = nnls(stacked, wanted, maxiter=100 * stacked.shape[1])[0]
        free = np.append(True, coefficients[2:] > 0)
        orthogonal = np.linalg.qr(stacked[:, 1:][:, free])[0][: len(scores)]
        criterion = _criterion(
            float(np.sum((weights * targets - design @ coefficients) ** 2)),
            float(np.sum(orthogonal**2)),
            len(scores),
            known=known,
        )
        if criterion < best:
            best, found = criterion, coefficients
    value = float(found[0] - found[1] + np.sum(found[2:]))
    return min(max(last + value, min(scores)), max(scores)), float(found[-1]) * basis.slope / sizes[-1]


def _criterion(residual: float, freedom: float, count: int, *, known: bool) -> float:
    """Return the estimated error of prediction: Mallows' Cp, or generalized cross-validation."""
    if known:
        return residual + 2 * freedom
    left = count - freedom
    return count * residual / left**2 if left > 0.05 else math.inf  # noqa: PLR2004  # nothing is left to judge by


@lru_cache(maxsize=1000)
def _basis(sizes: tuple[int, ...]) -> _Basis:
    places = np.log(sizes)
    knots = np.concatenate([[places[0]] * DEGREE, places, [places[-1]] * DEGREE])
    values = BSpline.design_matrix(places, knots, DEGREE).toarray()
    count = values.shape[1]
    cumulated = np.tril(np.ones((count, count)))[:, 1:]  # coefficients that never fall, by their increments
    centres = np.array([knots[place + 1 : place + DEGREE + 1].mean() for place in range(count)])
    slopes = np.diff(cumulated, axis=0) / np.diff(centres)[:, None]
    middles = (centres[1:] + centres[:-1]) / 2
    bends = np.diff(slopes, axis=0) / np.sqrt(np.diff(middles))[:, None]
    return _Basis(values @ cumulated, bends, DEGREE / float(knots[-2] - knots[-2 - DEGREE]))


def spline(options: BoundOptions) -> RegressionSpline:
    """Return the bound `spline`."""
    scores = options.scores
    rows = scores.rows if scores.proportion and not scores.cross_validated else None
    return RegressionSpline(rows, options.train_cap)
