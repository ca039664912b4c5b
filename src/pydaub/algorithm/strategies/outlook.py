"""What is known of the learners of a run, as forecasts, and what a second of training costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydaub.algorithm.field import Field
from pydaub.algorithm.forecast import LEAST_SECONDS, Forecast, Price
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


class Outlook(Field):
    """The forecasts of a run's learners, with what it costs to train them.

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
        super().__init__(curves, schedule.sizes, groups.of, scores, costs.growth)
        self._costs, self._delta = costs, delta
        self._all_rows: dict[str, float] = {}  # seconds that each learner takes with all rows, forecast or measured
        self._everything = 0.0  # their sum

    def of(self, learner: str) -> Forecast | None:
        """Return the forecast of a learner with an outcome; None if it has had all rows."""
        curve = self._curves[learner]
        ahead = self._sizes[self._sizes.index(curve.sizes[-1]) + 1 :]
        costs = [self._costs.of(learner, size) for size in ahead]
        full = Allocation(learner, self._sizes[-1])
        seconds = costs[-1] if costs else self._costs.paid(full, curve.measurements[-1])
        self._everything += seconds - self._all_rows.get(learner, 0.0)
        self._all_rows[learner] = seconds
        return self.forecast(learner, costs)

    def price(self, spent: float) -> Price:
        """Return what time costs after so many seconds."""
        return Price(self._delta * self.stake, max(spent, QUICK_SHARE * self._everything, LEAST_SECONDS))

    @property
    def stake(self) -> float:
        """How much of `delta` counts: less than 1 where errors are small."""
        left = LEFT_TO_GAIN * self.error(self.best)
        stakes = [left, self.error(self._firsts[len(self._firsts) // 2]) if self._firsts else left]
        return min([*stakes, LARGE] if self.scale.logarithmic else stakes) / LARGE
