"""The learners of a run: the forecast of each from the curves of all, and who may be better than one of them.

Learners on one data set rise and stay flat together. What those that went on have shown is in the forecasts of the
others (`experience.py`). What is left of it is a factor that the places of their scores in their forecasts, as normal
variables, have in common. The correlation `SHARED` comes from `benchmarks/calibrate.py`, which prints how often the
claims made here were true.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.experience import NORMAL, WEIGHTS, Experience, Moments, learned, reductions
from pydaub.algorithm.forecast import (
    LEAST_SECONDS,
    SMALLEST_ERROR,
    SMALLEST_SHARE,
    Forecast,
    Scale,
    noise_of,
    normal_score,
)
from pydaub.algorithm.seconds import USUAL_GROWTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.seconds import Growth
    from pydaub.records import Scores

SHARED: Final = 0.3  # correlation of the places of two learners
ALIKE, OWN = math.sqrt(SHARED), math.sqrt(1 - SHARED)  # weights of the factor and of the rest
SUREST: Final = 1 - 1e-12
HALVINGS: Final = 24  # of the interval in which the margin is searched
NEGLIGIBLE: Final = 1e-9  # chance of one rival


class Field:
    """The forecasts of a run's learners, by what was measured of all of them.

    Parameters
    ----------
    curves
        What has been measured of each learner; measurements that are added later must be taken up by `take`.
    sizes
        Those that learners were or will be trained on, in ascending order. The last one is forecast.
    family
        Returns the family of a learner, or None.
    scores
        What the scores are.
    growth
        Returns how a learner grows.

    Attributes
    ----------
    scale
        How scores are errors.
    best
        The best of all scores so far.
    noise
        Standard error of a learner's own of the logarithm of an error that was measured on all validation rows. It is
        used for scores that are no proportions; 0 where it is unknown.
    """

    def __init__(
        self,
        curves: Mapping[str, Curve],
        sizes: Sequence[int],
        family: Callable[[str], str | None],
        scores: Scores,
        growth: Callable[[str], Growth] = lambda _: USUAL_GROWTH,
    ) -> None:
        self._curves, self._sizes, self._family, self._scores = curves, sizes, family, scores
        self._growth = growth
        self.scale = Scale.of(scores.top, -math.inf, [], proportion=scores.proportion)
        self.best, self.noise = -math.inf, 0.0
        self._firsts: list[float] = []  # scores at the first size, in order
        self._experience = Experience()
        self._taken: dict[str, int] = {}  # how many measurements of each learner have been taken up

    def take(self, learner: str, count: int | None = None) -> bool:
        """Take up a measurement, by default the last one, and return whether the forecasts of others change by it."""
        curve = self._curves[learner]
        curve = curve if count is None else curve.prefix(count)
        self._taken[learner] = len(curve.sizes)
        score = curve.measurements[-1].valid_score
        if curve.sizes[-1] == self._sizes[0]:
            insort(self._firsts, score)
        self.best = max(self.best, score)
        scale = Scale.of(self._scores.top, self.best, self._firsts, proportion=self._scores.proportion)
        if scale == self.scale:
            return self._learn(curve)
        self.scale, self._experience = scale, Experience()  # what was learned is of errors that are others now
        for name, taken in self._taken.items():
            for end in range(1, taken):
                self._learn(self._curves[name].prefix(end + 1))
        return True

    def _learn(self, curve: Curve) -> bool:
        """Take up the last step of a curve, and return whether forecasts change by it."""
        if (place := _quarter(curve)) is None:
            return False
        size = curve.sizes[place]
        slope, before = self._state(curve.prefix(place + 1))
        recorded = reductions(slope, math.log2(curve.sizes[-1] / size))
        fell, step = math.log(before / self.error(curve.measurements[-1].valid_score)), self._sizes.index(size)
        return self._experience.add(step, self._family(curve.learner), recorded, fell)

    def forecast(self, learner: str, seconds: Sequence[float] | None = None) -> Forecast | None:
        """Return the forecast of a measured learner; None if it has had the last size.

        `seconds` are those of training at the sizes that are still ahead.
        """
        ahead = self._sizes[self._sizes.index(self._curves[learner].sizes[-1]) + 1 :]
        return self._forecast(learner, ahead, seconds or [0.0] * len(ahead)) if ahead else None

    def forecast_to(self, learner: str, rows: int) -> Forecast:
        """Return the forecast of a measured learner with more rows than it has had, or than there are."""
        return self._forecast(learner, (rows,), (0.0,))

    def contender(self, learner: str) -> Contender | None:
        """Return a measured learner as one that may be better than others; None if it has had the last size."""
        forecast = self.forecast(learner)
        return None if forecast is None else Contender(forecast)

    def _forecast(self, learner: str, ahead: Sequence[int], seconds: Sequence[float]) -> Forecast:
        curve, family, surprise = self._curves[learner], self._family(learner), self._growth(learner).surprise
        place = self._sizes.index(curve.sizes[-1])
        slope, error = self._state(curve)
        # What others have gained says little about a learner of another kind whose curve has not been seen at all.
        alone = slope is None and family is None
        return Forecast(
            self.scale,
            error,
            slope,
            self._noise_of(curve, error),
            tuple(
                (math.log2(size / smaller), cost + LEAST_SECONDS)
                for smaller, size, cost in zip((curve.sizes[-1], *ahead), ahead, seconds, strict=False)
            ),
            tuple(
                learned(Moments(), surprise) if alone else self._experience.spread(step, family, surprise)
                for step in range(place, place + len(ahead))
            ),
        )

    def error(self, score: float) -> float:
        """Return the error of a score, at least that of half a mistake."""
        rows, worst = self._scores.noise_rows(self._sizes[-1]), self._firsts[0] if self._firsts else score
        smallest = 0.5 / rows if rows else SMALLEST_SHARE * self.scale.error(worst)
        return max(self.scale.error(score), smallest, SMALLEST_ERROR)

    def _state(self, curve: Curve) -> tuple[float | None, float]:
        """Return the log-error reduction per doubling from about a quarter of the rows, if known, and the error."""
        error, before = self.error(curve.measurements[-1].valid_score), _quarter(curve)
        if before is None:
            return None, error
        fell = math.log(self.error(curve.measurements[before].valid_score) / error)
        return fell / math.log2(curve.sizes[-1] / curve.sizes[before]), error

    def _noise_of(self, curve: Curve, error: float) -> float:
        scored = curve.measurements[-1].scored
        if rows := self._scores.noise_rows(curve.sizes[-1], scored):
            return noise_of(self.scale, error, rows)
        return self.noise * math.sqrt(self._scores.rows / scored) if self._scores.rows and scored else self.noise


@dataclass(frozen=True, slots=True)
class Contender:
    """A learner without all rows, whose place in its forecast has a correlation of `SHARED` with that of others."""

    forecast: Forecast

    def beats(self, leader: Contender | float) -> float:
        """Return the chance that it will have a higher score than the leader, whose score may be known."""
        if not isinstance(leader, Contender):
            return self.forecast.chance(leader)
        total = 0.0
        for place, weight in zip(NORMAL, WEIGHTS, strict=True):
            needed = normal_score(self.forecast.chance(leader.forecast.quantile(_below(place))))
            total += weight * _below((needed + SHARED * place) / math.sqrt(1 - SHARED**2))
        return total


def none_better(rivals: Sequence[Contender], score: float) -> float:
    """Return the chance that none of these learners will have more than this score."""
    needed = [normal_score(each.forecast.chance(score)) for each in rivals]
    total = 0.0
    for common, weight in zip(NORMAL, WEIGHTS, strict=True):  # given the factor, they are independent
        chances = (_below((place + ALIKE * common) / OWN) for place in needed)
        total += weight * math.exp(sum(math.log1p(-min(chance, SUREST)) for chance in chances))
    return total


def margin(rivals: Sequence[Contender], score: float, most: float, confidence: float) -> float:
    """Return by how much the best of these learners is better than a score at most, with this confidence.

    `most` is a lead that no learner can have.
    """
    if none_better(rivals, score) >= confidence:
        return 0.0
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if none_better(rivals, score + middle) >= confidence:
            high = middle
        else:  # the margin is larger, so that few of many rivals still matter
            low, rivals = middle, [rival for rival in rivals if rival.beats(score + middle) > NEGLIGIBLE]
    return high


def _quarter(curve: Curve) -> int | None:
    """Return the place of the size nearest to a quarter of the last one: recorded slopes are over two doublings.

    None where no size is at most half the last one.
    """
    sizes = [size for size in curve.sizes if 2 * size <= curve.sizes[-1]]
    return min(range(len(sizes)), key=lambda place: abs(math.log(4 * sizes[place] / curve.sizes[-1])), default=None)


def _below(place: float) -> float:
    """Return the probability that a normal variable is below this place."""
    return 0.5 * math.erfc(-place / math.sqrt(2))
