"""What is known of the learners of a run, as forecasts, and what a second of training costs."""

from __future__ import annotations

import math
from bisect import insort
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.forecast import (
    LEAST_SECONDS,
    PLACES,
    SMALLEST_ERROR,
    SMALLEST_SHARE,
    Experience,
    Forecast,
    Price,
    Scale,
    noise_of,
    reductions,
)
from pydaub.records import Allocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.schedule import Schedule
    from pydaub.algorithm.strategies.costs import Costs
    from pydaub.algorithm.strategies.groups import Groups
    from pydaub.records import Scores

# `delta` counts in full where errors are LARGE, and in proportion less where LEFT_TO_GAIN times the error of the best
# learner, or the median error at the first size, is smaller. benchmarks/README.md shows what other values would do.
LARGE, LEFT_TO_GAIN = 0.3, 3.0
QUICK_SHARE: Final = 1 / 40  # of the time of training everything: a first look that took less does not end the run


class Outlook:
    """The forecasts of a run's learners, by what was measured of all of them.

    Parameters
    ----------
    curves
        What has been measured of each learner; the strategy adds to it.
    schedule
        The sizes.
    costs
        What trainings cost.
    groups
        Which learners are of one kind.
    scores
        What the scores are.
    delta
        The score that one would give up to halve the time.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # made in one place
        self,
        curves: Mapping[str, Curve],
        schedule: Schedule,
        costs: Costs,
        groups: Groups,
        scores: Scores,
        delta: float,
    ) -> None:
        self._curves, self._sizes, self._costs, self._groups = curves, schedule.sizes, costs, groups
        self._scores, self._delta = scores, delta
        self.scale = Scale.of(scores.top, -math.inf, [], proportion=scores.proportion)
        self.best = -math.inf  # of all scores so far
        self._firsts: list[float] = []  # scores at the first size, in order
        self._experience = Experience()
        self._all_rows: dict[str, float] = {}  # seconds that each learner takes with all rows, forecast or measured
        self._everything = 0.0  # their sum

    def take(self, learner: str) -> bool:
        """Take up a learner's last measurement, and return whether the forecasts of others change by it."""
        curve = self._curves[learner]
        score = curve.measurements[-1].valid_score
        if curve.sizes[-1] == self._sizes[0]:
            insort(self._firsts, score)
        self.best = max(self.best, score)
        scale = Scale.of(self._scores.top, self.best, self._firsts, proportion=self._scores.proportion)
        rescaled, self.scale = scale != self.scale, scale
        if len(curve.sizes) > 1:
            slope, before = self._state(curve.prefix(len(curve.sizes) - 1))
            recorded = reductions(slope, math.log2(curve.sizes[-1] / curve.sizes[-2]))
            fell, step = math.log(before / self.error(score)), self._sizes.index(curve.sizes[-2])
            rescaled = self._experience.add(step, self._groups.of(learner), recorded, fell) or rescaled
        return rescaled

    def of(self, learner: str) -> Forecast | None:
        """Return the forecast of a learner with an outcome; None if it has had all rows."""
        curve = self._curves[learner]
        place = self._sizes.index(curve.sizes[-1])
        ahead, family = self._sizes[place + 1 :], self._groups.of(learner)
        costs = [self._costs.of(learner, size) for size in ahead]
        full = Allocation(learner, self._sizes[-1])
        seconds = costs[-1] if costs else self._costs.paid(full, curve.measurements[-1])
        self._everything += seconds - self._all_rows.get(learner, 0.0)
        self._all_rows[learner] = seconds
        if not ahead:
            return None
        slope, error = self._state(curve)
        # What others have gained says little about a learner of another kind whose curve has not been seen at all.
        alone, steps = slope is None and family is None, range(place, len(self._sizes) - 1)
        rows = self._scores.noise_rows(curve.sizes[-1], curve.measurements[-1].scored)
        return Forecast(
            self.scale,
            error,
            slope,
            noise_of(self.scale, error, rows),
            tuple(
                (math.log2(size / smaller), cost + LEAST_SECONDS)
                for smaller, size, cost in zip(self._sizes[place:], ahead, costs, strict=False)
            ),
            tuple(PLACES if alone else self._experience.spread(step, family) for step in steps),
        )

    def price(self, spent: float) -> Price:
        """Return what time costs after so many seconds."""
        return Price(self._delta * self.stake, max(spent, QUICK_SHARE * self._everything, LEAST_SECONDS))

    @property
    def stake(self) -> float:
        """How much of `delta` counts: less than 1 where errors are small."""
        left = LEFT_TO_GAIN * self.error(self.best)
        stakes = [left, self.error(self._firsts[len(self._firsts) // 2]) if self._firsts else left]
        return min([*stakes, LARGE] if self.scale.logarithmic else stakes) / LARGE

    def error(self, score: float) -> float:
        """Return the error of a score, at least that of half a mistake."""
        rows, worst = self._scores.noise_rows(self._sizes[-1]), self._firsts[0] if self._firsts else score
        smallest = 0.5 / rows if rows else SMALLEST_SHARE * self.scale.error(worst)
        return max(self.scale.error(score), smallest, SMALLEST_ERROR)

    def _state(self, curve: Curve) -> tuple[float | None, float]:
        """Return the log-error reduction per doubling of the last step, if there is one, and the error."""
        error = self.error(curve.measurements[-1].valid_score)
        if len(curve.sizes) == 1:
            return None, error
        before = self.error(curve.measurements[-2].valid_score)
        return math.log(before / error) / math.log2(curve.sizes[-1] / curve.sizes[-2]), error
