"""The learner that is worth most, found without working out the worth of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.forecast import Price
from pydaub.algorithm.strategies.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydaub.algorithm.forecast import Forecast

HEADROOM: Final = 1.05  # the ranking stays valid while the time spent grows by this factor
ROUNDING: Final = 1e-7  # relative; learners whose worths differ by less are compared exactly


class Index:
    """Learners ranked by the most that they can be worth.

    Time gets cheaper with each second spent, so worths rise. The worth at a lower price than today's is an upper bound
    for a while, and few learners need a closer look at each decision.

    Parameters
    ----------
    position
        The positions at which the learners are listed; the strategy adds to it.
    """

    def __init__(self, position: Mapping[str, int]) -> None:
        self._position = position
        self.forecasts: dict[str, Forecast] = {}  # of the learners that have not had all rows
        self.waiting = Ranking()  # by the highest worth that is possible at the price `_floor`
        self._floor = Price(math.inf, 0.0)  # not above that of today
        self._worths: dict[str, float] = {}  # the latest keys in the ranking
        self._solved: dict[str, float] = {}  # worths at `_floor`, of learners that came close
        self._unranked: dict[str, None] = {}  # used as an ordered set

    def put(self, learner: str, forecast: Forecast) -> None:
        """Rank a learner by a new forecast."""
        self.forecasts[learner] = forecast
        self._solved.pop(learner, None)
        self._unranked[learner] = None

    def hold(self, learner: str) -> None:
        """Take a learner out of the ranking, until it is put again."""
        self.waiting.discard(self._position[learner])
        self._unranked.pop(learner, None)

    def most(self, learner: str, other: float) -> float:
        """Return the most that a learner was worth when it was ranked; another value if it was not."""
        return self._worths.get(learner, other)

    def rank(self, price: Price, out: Collection[str], asked: Collection[str] = ()) -> list[float]:
        """Rank the learners that are not ranked yet, and all of them if the price has left its range.

        Learners that are `out` have no part in it, and those that were `asked` for do not wait. Returned is by how much
        keys have fallen, of learners that were ranked before.
        """
        falls = list[float]()
        if not (
            self._floor.delta <= price.delta <= HEADROOM * self._floor.delta
            and price.spent <= self._floor.spent <= HEADROOM**2 * price.spent
        ):
            self._floor = Price(price.delta / math.sqrt(HEADROOM), price.spent * HEADROOM)
            racing = [name for name in self.forecasts if name not in out]
            before, self._worths = self._worths, {name: self.forecasts[name].most(self._floor) for name in racing}
            self.waiting = Ranking({self._position[name]: self._worths[name] for name in racing if name not in asked})
            self._solved.clear()
            known = [name for name in self._unranked if name in before and name in self._worths]
            falls += [max(before[name] - self._worths[name], 0.0) for name in known]
            self._unranked.clear()
        for name in self._unranked:
            if name not in self.forecasts or name in out:
                continue
            key = self.forecasts[name].most(self._floor)
            if name in self._worths:
                falls.append(max(self._worths[name] - key, 0.0))
            self._worths[name] = key
            if name not in asked:
                self.waiting.push(key, self._position[name])
        self._unranked.clear()
        return falls

    def highest(
        self, price: Price, least: float, learners: tuple[str, ...], left: float = math.inf
    ) -> tuple[str, float] | None:
        """Return the learner that is worth more than `least` and most, the first of those that tie, and its worth.

        Learners whose next size takes longer than the seconds that are `left` do not count.
        """
        first, lowered = len(learners), []
        for most, position in self.waiting:
            if most < least:
                break
            name = learners[position]
            forecast = self.forecasts[name]
            if forecast.steps[0][1] > left:
                continue
            if name not in self._solved:
                self._solved[name] = forecast.worth(self._floor)
                lowered.append(name)
            error = math.inf if least == -math.inf else forecast.scale.error(least) * (1 + ROUNDING)
            if self._solved[name] < least or not forecast.pays(price, error):
                continue
            worth = forecast.worth(price)
            if worth > least or (worth == least and position < first < len(learners)):
                first, least = position, worth
        for name in lowered:
            self._worths[name] = self._solved[name]
            self.waiting.push(self._solved[name], self._position[name])
        return (learners[first], least) if first < len(learners) else None
