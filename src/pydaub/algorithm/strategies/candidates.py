"""Learners with an outcome, but not all rows: what each is worth, which one goes on, and which training ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from pydaub.algorithm.strategies.costs import GRACE, OVERRUN
from pydaub.algorithm.strategies.drawing import chance_difference, worth_more
from pydaub.algorithm.strategies.index import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydaub.algorithm.curve import Curve
    from pydaub.algorithm.forecast import Forecast, Price
    from pydaub.algorithm.strategies.costs import Costs
    from pydaub.algorithm.strategies.groups import Groups
    from pydaub.algorithm.strategies.outlook import Outlook
    from pydaub.records import Allocation

SHORT: Final = 2.0  # seconds that an ensemble may take, or as long as everything else
LEAD: Final = 0.01  # of the error: a learner that was ahead by more with as many rows is tried further
ALMOST_CERTAIN: Final = 0.05  # the quantile of an outstanding score by which others are measured meanwhile


class Race(NamedTuple):
    """What a strategy and its parts know of a race; the strategy changes it.

    Parameters
    ----------
    curves
        What has been measured of each learner.
    position
        The positions at which the learners are listed.
    outstanding
        What each learner was asked for.
    whys
        Why, where it was not because of the learner's worth.
    dropped
        The learners that a person has taken out.
    at_full
        The scores with all rows.
    """

    curves: Mapping[str, Curve]
    position: Mapping[str, int]
    outstanding: Mapping[str, Allocation]
    whys: Mapping[str, str]
    dropped: set[str]
    at_full: Mapping[str, float]


class Candidates:
    """The learners that may go on, by their worth.

    Parameters
    ----------
    race
        What is known.
    outlook
        The forecasts.
    costs
        What trainings cost.
    groups
        Which learners are of one kind.
    full_size
        Number of all rows.

    Attributes
    ----------
    index
        The ranking.
    spent
        Seconds of all trainings.
    joined
        Those of trainings that only an ensemble needs.
    falls
        By how much keys of the ranking have fallen, in all, and how often.
    left
        Seconds that a training may take.
    stale
        Whether the first candidate must be found anew.
    """

    def __init__(self, race: Race, outlook: Outlook, costs: Costs, groups: Groups, full_size: int) -> None:
        self._race, self._outlook, self._costs, self._groups, self._full = race, outlook, costs, groups, full_size
        self.index = Index(race.position)
        self.spent = self.joined = 0.0
        self.falls = 0.0, 0
        self.left, self.stale = math.inf, True
        self._plans: dict[str, tuple[tuple[Price, float], Forecast]] = {}  # at a price, with so much time left
        self._first: tuple[str, float] | None = None
        self._names: tuple[str, ...] = ()

    def look(self, learner: str) -> float:
        """Make a learner's forecast, rank it, and return the most that it may reach."""
        known = self._outlook.of(learner)
        self._plans.pop(learner, None)
        if known is None:
            return self._race.curves[learner].measurements[-1].valid_score
        self.index.put(learner, known)
        return known.bound

    def forget(self, learner: str) -> None:
        """Take out a learner that has all rows, or failed."""
        self._plans.pop(learner, None)
        self.index.forecasts.pop(learner, None)

    def price(self, leaving_out: str | None = None) -> Price:
        """Return the price of time once the outstanding evaluations have ended as forecast."""
        known, names = self.index.forecasts, self._race.outstanding if self._costs.measured else ()
        ahead = sum(known[name].steps[0][1] for name in names if name in known and name != leaving_out)
        return self._outlook.price(self.spent + ahead)

    def worth(self, learner: str) -> float | None:
        """Return what a learner is worth at today's price; None if nothing is known of it."""
        known = self.index.forecasts.get(learner)
        return None if known is None else known.worth(self.price())

    def first(self, best: float | None) -> str | None:
        """Return the learner with the highest worth, if that exceeds the best score with all rows."""
        if self.stale:
            self.rank()
            self._first = self.index.highest(self.price(), self._expected(best), self._listed())
            self.stale = False
        return self._first[0] if self._first else None

    def first_in_time(self, best: float | None) -> str | None:
        """Return the first learner whose next training takes no longer than is `left`."""
        first = self.first(best)
        if first is None or self.seconds(first) <= self.left:
            return first
        found = self.index.highest(self.price(), self._expected(best), self._listed(), self.left)
        return found[0] if found else None

    def rank(self) -> None:
        """Bring the ranking up to date."""
        falls = self.index.rank(self.price(), self._race.dropped, self._race.outstanding)
        self.falls = self.falls[0] + sum(falls), self.falls[1] + len(falls)

    def seconds(self, learner: str) -> float:
        """Return how long the next training of a learner takes."""
        return self._plan(learner).steps[0][1]

    def goes_straight(self, learner: str) -> bool:
        """Return whether a learner gets all rows next, without the sizes between."""
        return learner in self.index.forecasts and len(self._plan(learner).steps) == 1

    def _plan(self, learner: str) -> Forecast:
        """Return the forecast of going on size by size, or with all rows at once, whichever is worth more."""
        now, known = (self.price(), self.left), self.index.forecasts[learner]
        if self._plans.get(learner, (None,))[0] != now:
            at_once, wide = known.at_once(), len(known.steps) > 1 and known.steps[-1][1] <= self.left
            straight = wide and at_once.worth(now[0]) > known.worth(now[0])
            self._plans[learner] = now, at_once if straight else known
        return self._plans[learner][1]

    def limited(self, allocation: Allocation, first_limit: float | None) -> Allocation:
        """Return the allocation with the time after which it is ended, several times its forecast.

        The strategy then decides anew, with the higher price. The time depends on the learner alone, so that it is the
        same for a guess of its next size.
        """
        if not self._costs.measured:
            return allocation
        if allocation.learner not in self.index.forecasts:  # a guess, before the first outcome
            return replace(allocation, limit=first_limit)
        return replace(allocation, limit=OVERRUN * self._costs.of(allocation.learner, allocation.size) + GRACE)

    def was_ahead(self, left: float = math.inf) -> str | None:
        """Return the learner that was most ahead of the best one at the largest size that both have had.

        Learners whose next size costs more than everything so far must be worth it; it must fit into the time `left`.
        """
        race = self._race
        if not race.at_full:
            return None
        best = min(race.at_full, key=lambda name: (-race.at_full[name], race.position[name]))
        own = dict(zip(race.curves[best].sizes, race.curves[best].measurements, strict=True))
        scale = self._outlook.scale
        found, most = None, LEAD * (1.0 if scale.logarithmic else self._outlook.stake)
        for name in self._waiting():
            size, score = race.curves[name].sizes[-1], race.curves[name].measurements[-1].valid_score
            if size in own:
                lead = scale.error(own[size].valid_score) - scale.error(score)
                if lead > most and self.seconds(name) <= min(self.spent, left):
                    found, most = name, lead
        return found

    def wanted(self, members: int) -> list[str]:
        """Return the learners that an ensemble needs and that do not have all rows, most promising first."""
        if members == 1 or not self._race.at_full:
            return []
        likely = {name: self.index.forecasts[name].likely for name in self._waiting()}
        count, wanted, left = 0, list[str](), max(self.spent - self.joined, SHORT) - self.joined
        for name, _ in sorted({**likely, **self._race.at_full}.items(), key=lambda each: -each[1]):
            if name in likely:
                price = sum(seconds for _, seconds in self.index.forecasts[name].steps)
                if price > left:
                    continue
                left -= price
                wanted.append(name)
            count += 1
            if count == members:
                break
        return wanted

    def further(self, best: float | None, rows: int | None, likely: Callable[[str], float | None]) -> str | None:
        """Return the family or space whose next learners bring most for their time, if that pays.

        `rows` are those that decide about a score.
        """
        noise = 0.0 if best is None else chance_difference(best, rows)
        return worth_more(self._groups, self._costs, likely, best, noise, self.price())

    def dispensable(
        self, best: float | None, elapsed: Mapping[Allocation, float], *, crowded: bool
    ) -> Allocation | None:
        """Return an outstanding allocation that would not be asked for any more; None if there is none.

        That is one that is not worth what is left of it. If it is `crowded`, so that others wait for a worker, it is
        also one that is worth less than the first of those, which takes less time than what is left of it.
        """
        for learner, allocation in self._race.outstanding.items():
            known, took = self.index.forecasts.get(learner), elapsed.get(allocation, 0.0)
            if known is None or self._race.whys[learner]:
                continue  # it was not asked for by its worth
            left = (known.at_once() if allocation.size == self._full else known).under_way(took)
            if left.steps[0][1] < GRACE:
                continue
            price = self.price(learner)
            if best is not None and not left.pays(price, left.scale.error(best)):
                return allocation
            first = self.first(best) if crowded and left.steps[0][1] > took else None
            better = self.index.forecasts[first] if first else None
            if better and better.steps[0][1] < left.steps[0][1] and left.worth(price) < better.worth(price):
                return allocation
        return None

    def promising(
        self, best: float | None, guesses: Iterator[Allocation], following: Callable[[str], Allocation]
    ) -> Iterator[Allocation]:
        """Yield the guesses that will be asked for if the outstanding allocation, on all rows, has its likely score.

        `following` returns what a learner gets next.
        """
        price, least, likely = self.price(), -math.inf if best is None else best, -math.inf
        for learner, asked in self._race.outstanding.items():
            if learner in self.index.forecasts:
                likely = self.index.forecasts[learner].likely
                least = max(least, likely) if asked.size == self._full else least
        for guess in guesses:
            if self.index.most(guess.learner, math.inf) < least:
                return  # it is ranked by the most that it can be worth, and so are those after it
            known = self.index.forecasts.get(guess.learner)
            if known is None or known.likely >= max(least, likely):
                yield guess
            elif guess != following(guess.learner):
                continue  # further sizes are for those that will probably lead
            elif least == -math.inf or known.pays(price, known.scale.error(least)):
                yield guess

    def _waiting(self) -> Iterator[str]:
        """Yield the learners that are not dropped, nor being trained."""
        return (
            name
            for name in self.index.forecasts
            if name not in self._race.dropped and name not in self._race.outstanding
        )

    def _expected(self, best: float | None) -> float:
        """Return the best score on all rows so far, or that an outstanding training will almost certainly reach."""
        found = -math.inf if best is None else best
        for learner, allocation in self._race.outstanding.items():
            known = self.index.forecasts.get(learner)
            if known is not None and allocation.size == self._full:
                found = max(found, known.quantile(ALMOST_CERTAIN))
        return found

    def _listed(self) -> tuple[str, ...]:
        if len(self._names) != len(self._race.position):
            self._names = tuple(self._race.position)
        return self._names
