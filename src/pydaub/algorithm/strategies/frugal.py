"""Beyond the paper: DAUB's optimism, with time as its price."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from pydaub.algorithm.outlook import LEAST_SECONDS, Outlook, expected
from pydaub.algorithm.schedule import Schedule
from pydaub.algorithm.strategies.base import Ranking, Strategy
from pydaub.errors import InputError
from pydaub.records import Allocation, Failure, Outcome, number, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DELTA = 0.01
# What a doubling of the time spent must bring on average, as a share of delta. How often a loss exceeds delta by
# that is counted in benchmarks/README.md.
SHARE = 0.05
PARTS, LEAST_ROWS = 128, 400  # the first size is that part of all rows, but no less than so many
RATIO = 4
JUMP = 8  # after an eighth of the rows come all of them
HEADROOM = 2.0  # learners are ranked by what they will be worth when the time spent has grown so much


class Frugal(Strategy):
    """Whoever promises most for its time gets data next, until no promise is worth its time.

    All learners get the first size. From then on a learner's *worth* decides, as its bound does with DAUB: the score
    up to which it pays on average to go on with it, from size to size as long as that pays (`Outlook.worth`). The
    learner with the highest worth gets its next size, and once the best score on all rows is at least every other's
    worth, that learner is selected. This is Weitzman's rule for Pandora's problem, boxes that cost something to open
    ("Optimal Search for the Best Alternative", 1979), where boxes are opened in stages. At a fixed price of time and
    with learners that say nothing of each other no other rule gains more on average (Gupta, Jiang, Scully and Singla,
    "The Markovian Price of Information", 2019).

    Time is dear in the beginning and grows cheaper: to double the time spent so far must bring a twentieth of `delta`.
    So nobody is dropped for good: a costly learner is put off until the others have cost as much. `delta` is the loss
    of score that is tolerated; `valid_rows` are those that scores are of, which says how noisy they are; `top` is the
    best score there can be, None if that is not known. Where it is not 1, delta is a share of the median distance from
    it with the first size.
    """

    steerable = True
    sure = False

    def __init__(
        self,
        learners: Iterable[str],
        schedule: Schedule,
        delta: float = DELTA,
        valid_rows: int | None = None,
        top: float | None = 1.0,
    ) -> None:
        super().__init__(learners, schedule)
        self._delta = number(delta, "delta")
        if not 0 < self._delta < math.inf:
            raise InputError(f"`delta` must be greater than 0, got {delta}.")
        self._valid_rows = None if not valid_rows else whole(valid_rows, "valid_rows")
        if self._valid_rows is not None and self._valid_rows < 1:
            raise InputError(f"`valid_rows` must be at least 1, got {valid_rows}.")
        self._top = None if top is None else number(top, "top")
        if self._top is not None and not math.isfinite(self._top):
            raise InputError(f"`top` must be a finite number, or None, got {top}.")
        self._fresh = Ranking()  # those that have had nothing yet
        for position in range(len(self.learners)):
            self._fresh.push(0.0, position)
        self._outlooks: dict[str, Outlook] = {}  # of those that have not had all rows
        self._spent = 0.0
        self._best, self._worst = -math.inf, math.inf  # of all scores so far
        self._decided: tuple[str, float] | None = None  # whose worth is the highest, and it
        self._stale = True
        self._waiting = Ranking()  # by what they will be worth at most before time costs less than the rate below
        self._rate = 0.0
        self._worths: dict[str, float] = {}  # the keys that learners had last
        self._reserves: dict[str, tuple[float, float]] = {}  # at the rate that the ranking began with, and at its last
        self._unranked: dict[str, None] = {}  # a set that keeps its order
        self._share_of: float | None = None  # what delta is a share of, once that is known

    def forecast(self) -> Iterator[Allocation]:
        """Yield what is left of the first size, then the next sizes of those that are worth most."""
        asked = self._outstanding
        yield from self._firsts(self.schedule.sizes[0])
        if self.winner is None:
            self._rank()
            following = self._waiting.first or (0.0, 0)
            yield from self._leaders(self._waiting, self._worths.get(asked.learner, following[0]) if asked else None)
            # With more workers than learners, those without an outcome are guessed too: nobody waits for the slowest.
            for size in self.schedule.sizes[1:]:
                yield from self._firsts(size)

    def _firsts(self, size: int) -> Iterator[Allocation]:
        """Yield this size for all of which nothing is known yet, but for the one that was asked for."""
        asked = self._outstanding.learner if self._outstanding else None
        names = (self.learners[position] for _, position in self._fresh)
        yield from (Allocation(name, size) for name in names if name != asked)

    @property
    def reason(self) -> str:
        """Why the outstanding allocation was asked for, in plain words."""
        asked = self._outstanding
        if self._wished:
            return "it was boosted by hand"
        if asked is None or self._decided is None or asked.size == self.schedule.sizes[0]:
            return "every learner begins with the smallest size"
        best = max(self._at_full.values(), default=None)
        than = "the highest" if best is None else f"more than the {best:.3f} that is there"
        return f"its training on all rows would pay up to a score of {self._decided[1]:.3f}, {than}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two strategies ask the same, in plain JSON values."""
        return {**super().settings, "delta": self._delta, "valid_rows": self._valid_rows, "top": self._top}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the strategy that has these settings, as it was at the beginning."""
        own = (settings[name] for name in ("delta", "valid_rows", "top"))
        return cls(settings["learners"], Schedule(tuple(settings["sizes"])), *own)

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return about N/128, N/32, N/8 and N of the sizes: each further one would cost more than it tells."""
        full = sizes[-1]
        used = [_nearest(sizes, max(min(LEAST_ROWS, full / RATIO), full / PARTS))]
        while used[-1] * JUMP < full:
            used.append(_nearest([size for size in sizes if size > used[-1]], RATIO * used[-1]))
        return tuple(sorted({*used, full}))

    def _choose(self) -> Allocation | None:
        if first := self._fresh.first:
            return Allocation(self.learners[first[1]], self.schedule.sizes[0])
        decided = self._decide()
        if decided is None:
            return None
        self._waiting.discard(self._position[decided[0]])
        return Allocation(decided[0], self._next_size[self._curves[decided[0]].sizes[-1]])

    def _decide(self) -> tuple[str, float] | None:
        """Return whose worth is the highest and exceeds the best score on all rows, and it."""
        if self._stale:
            self._decided, self._stale = self._highest(), False
        return self._decided

    def _highest(self) -> tuple[str, float] | None:
        racing = (score for name, score in self._at_full.items() if name not in self._dropped)
        found, least = None, max(racing, default=-math.inf)
        rate = self._rank()
        since = (rate / self._rate - 1) / (HEADROOM - 1)
        for most, position in self._waiting:
            if most <= least:
                break
            name = self.learners[position]
            dear, cheap = self._reserves[name]
            if cheap + since * (dear - cheap) <= least:  # no more than that, as a reserve is convex in the rate
                continue
            worth = self._outlooks[name].worth(rate)
            if worth > least:
                found, least = (name, worth), worth
        return found

    def _rank(self) -> float:
        """Rank whoever is not ranked yet, all anew if the price of time has left its range; return what a second costs.

        Time grows cheaper with each second that is spent, and what it buys is worth more then. So a worth by less than
        today's price is the most that it can be for a while, and few need to be looked at for a decision.
        """
        rate = SHARE * self._delta * self._unit() / max(self._spent, LEAST_SECONDS)
        if not self._rate <= rate <= HEADROOM * self._rate:
            self._rate, self._waiting = rate / HEADROOM, Ranking()
            self._worths.clear()
            self._unranked.update(dict.fromkeys(self._outlooks))
        asked = self._outstanding.learner if self._outstanding else None
        for name in self._unranked:
            if name not in self._outlooks or name in self._dropped:
                continue
            outlook = self._outlooks[name]
            _, before = self._reserves.get(name, (0.0, -math.inf))
            # What decides is searched from nothing, so that equal learners are equal to the last digit, whenever it is.
            dear, cheap = outlook.reserve(HEADROOM * self._rate, before), outlook.reserve(self._rate)
            self._reserves[name] = dear, cheap
            worth = min(cheap, outlook.cap)
            self._fallen += max(self._worths.get(name, worth) - worth, 0.0)
            self._falls += name in self._worths
            self._worths[name] = worth
            if name != asked:
                self._waiting.push(worth, self._position[name])
        self._unranked.clear()
        return rate

    def _unit(self) -> float:
        """Return what delta is a share of."""
        if self._top == 1.0 and self._best <= self._top:
            return 1.0
        if self._share_of is None:
            top = self._ceiling()
            firsts = [top - curve.measurements[0].valid_score for curve in self._curves.values() if curve.sizes]
            self._share_of = median(firsts) if firsts else 1.0
        return self._share_of

    def _ceiling(self) -> float:
        """Return the best score there can be; where that is not known, twice as far from the worst as the best is."""
        if self._top is not None and self._best <= self._top:
            return self._top
        return self._best + max(self._best - self._worst, 1e-9 * abs(self._best), 1e-9)

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner = allocation.learner
        self._fresh.discard(self._position[learner])
        self._waiting.discard(self._position[learner])
        self._outlooks.pop(learner, None)
        self._spent += outcome.seconds
        self._stale = True
        if isinstance(outcome, Failure):
            return
        self._share_of = None if allocation.size == self.schedule.sizes[0] else self._share_of
        before = self._ceiling() if self._outlooks else None
        self._best = max(self._best, outcome.valid_score)
        self._worst = min(self._worst, outcome.valid_score)
        if before is not None and self._ceiling() != before:
            self._share_of = None
            for name in self._outlooks:
                self._look(name)
        self._look(learner)

    def _look(self, learner: str) -> None:
        curve, sizes = self._curves[learner], self.schedule.sizes
        had = sizes.index(curve.sizes[-1])
        if had == len(sizes) - 1:
            self._bounds[learner] = curve.measurements[-1].valid_score
            return
        outlook = expected(curve, sizes[had + 1 :], self._ceiling(), self._valid_rows)
        self._bounds[learner] = outlook.bound
        self._outlooks[learner] = outlook
        self._reserves.pop(learner, None)
        self._unranked[learner] = None

    def _enter(self, learner: str) -> None:
        self._stale = True
        self._unranked[learner] = None
        if not self._curves[learner].sizes:
            self._fresh.push(0.0, self._position[learner])

    def _leave(self, learner: str) -> None:
        self._stale = True
        self._fresh.discard(self._position[learner])
        self._waiting.discard(self._position[learner])

    def _reopen(self) -> None:
        self._stale = True

    def _done(self) -> bool:
        return not self._fresh and self._decide() is None


def _nearest(sizes: Iterable[int], wanted: float) -> int:
    """Return the size that differs from the wanted one by the least factor."""
    return min(sizes, key=lambda size: abs(math.log(size / wanted)))
