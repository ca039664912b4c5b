"""Bounds that hold with a stated probability, whatever the noise of the validation rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Final

from pydaub.errors import InputError
from pydaub.records import from_one

if TYPE_CHECKING:
    from pydaub.algorithm.bounds import BoundOptions
    from pydaub.algorithm.curve import Curve

INTERVALS: Final = ("hoeffding", "bernstein")
SHARES: Final = ("accuracy", "score")  # scores that are the share of correct predictions; "score" is the default one


@dataclass(frozen=True, slots=True)
class ConfidenceBound:
    """Bound that holds for every learner at every size with a given probability, whatever the validation rows are.

    Each score is replaced by a confidence interval. A curve with diminishing returns does not rise above the line
    through any two of its points; the bound is the lowest such line, drawn from the lower end of the interval at the
    smaller size through the upper end at the larger one. `docs/theory.md` has the proof. It needs scores that are the
    share of correct predictions.

    Parameters
    ----------
    rows
        Number of validation rows. A measurement that states fewer (`scored`) is taken at its word.
    looks
        Number of scores that may be looked at: learners times sizes. The interval is wide enough to hold for all.
    interval
        "hoeffding", or "bernstein", which is narrower for scores near 0 or 1.
    confidence
        Probability with which all intervals hold. It says nothing of training scores, so these never cap the bound.

    Examples
    --------
    >>> from pydaub import Curve, Measurement
    >>> points = {1000: 0.5, 4000: 0.75}
    >>> curve = Curve("tree", tuple(points), tuple(Measurement(1.0, score, 0.1) for score in points.values()))
    >>> round(ConfidenceBound(100_000, looks=500)(curve, 5000), 3)
    0.845
    """

    rows: int
    looks: int
    interval: str = "hoeffding"
    confidence: float = 0.95
    train_cap: ClassVar[bool] = False

    def __post_init__(self) -> None:
        from_one(self.rows, "rows")
        from_one(self.looks, "looks")
        if self.interval not in INTERVALS:
            raise InputError(f"`interval` must be one of {', '.join(INTERVALS)}, got {self.interval!r}.")
        if not 0 < self.confidence < 1:
            raise InputError(f"`confidence` must be between 0 and 1, got {self.confidence!r}.")

    def __call__(self, curve: Curve, full_size: int) -> float:
        """Return the bound, at most 1."""
        ends = []
        for size, point in zip(curve.sizes, curve.measurements, strict=True):
            radius = self.radius(point.valid_score, point.scored)
            ends.append((size, point.valid_score - radius, point.valid_score + radius))
        lines = [
            high + (full_size - size) * max(high - low, 0.0) / (size - before)
            for (before, low, _), (size, _, high) in combinations(ends, 2)
        ]
        if curve.sizes[-1] == full_size:
            lines.append(ends[-1][2])
        return min(1.0, *lines) if lines else 1.0

    def at_least(self, curve: Curve) -> float:
        """Return the highest lower end of an interval, which a curve that never falls has at the full size too."""
        return max(
            (point.valid_score - self.radius(point.valid_score, point.scored) for point in curve.measurements),
            default=0.0,
        )

    def radius(self, score: float, scored: int | None = None) -> float:
        """Return half the width of the interval around a score."""
        rows = min(scored or self.rows, self.rows)
        if self.interval == "hoeffding":
            return math.sqrt(math.log(2 * self.looks / (1 - self.confidence)) / (2 * rows))
        if rows == 1:
            return 1.0
        log = math.log(4 * self.looks / (1 - self.confidence))  # Maurer and Pontil (2009), for both sides
        return math.sqrt(2 * max(score * (1 - score), 0.0) * log / (rows - 1)) + 7 * log / (3 * (rows - 1))


def hoeffding(options: BoundOptions) -> ConfidenceBound:
    """Return the bound `hoeffding`."""
    return _made("hoeffding", options)


def bernstein(options: BoundOptions) -> ConfidenceBound:
    """Return the bound `bernstein`."""
    return _made("bernstein", options)


def _made(interval: str, options: BoundOptions) -> ConfidenceBound:
    scores = options.scores
    if options.train_bound:
        raise InputError(
            f"`train_bound` must be left out or False with `bound` {interval}, got True. A training score can be below"
            " the score at all rows, so a bound that it caps would not hold with the stated probability."
        )
    if scores.name not in SHARES or not scores.proportion or scores.cross_validated:
        how = ", cross-validated" if scores.cross_validated else ""
        raise InputError(f"`bound` {interval} must go with accuracy on validation rows, got {scores.name}{how}.")
    if scores.rows is None:
        raise InputError(
            f"`bound` {interval} must know the number of validation rows, which these scores do not say. Give it to"
            " `replay` with --validation-rows."
        )
    return ConfidenceBound(scores.rows, options.looks, interval)
