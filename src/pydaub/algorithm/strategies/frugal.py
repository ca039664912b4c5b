"""Beyond the paper: DAUB's optimism, weighed against the time that training costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Self

from pydaub.algorithm.schedule import Schedule
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES, Parameter
from pydaub.algorithm.strategies.costs import GRACE, MEASURED, OVERRUN, Costs
from pydaub.algorithm.strategies.drawing import chance_difference, worth_more
from pydaub.algorithm.strategies.groups import Groups
from pydaub.algorithm.strategies.index import Index
from pydaub.algorithm.strategies.outlook import Outlook
from pydaub.algorithm.strategies.ranking import Ranking
from pydaub.algorithm.strategies.sizes import few, few_for_families
from pydaub.algorithm.strategies.steerable import Steerable
from pydaub.errors import InputError
from pydaub.records import Allocation, Failure, Outcome, Postponed, Scores, from_one, number, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.forecast import Forecast, Price

DELTA: Final = Parameter("delta", float, 0.01, "The score that you would give up to halve the time.")
COSTS: Final = Parameter(
    "costs",
    str,
    MEASURED,
    "Times by which it decides: measured in this run, or declared ones, so that two runs decide alike.",
    (MEASURED, "declared"),
)
LEAD: Final = 0.01  # of the error: a learner that was ahead by more with as many rows is tried further
ALMOST_CERTAIN: Final = 0.05  # the quantile of an outstanding score by which others are measured meanwhile
LATE_SECONDS: Final = 100.0  # a learner without any outcome may take so long, or as long as everything else
WHY: Final = {
    "ahead": "it was ahead of the best with all rows when both had fewer",
    "ensemble": "it is among the {} most promising learners, which the ensemble is chosen from",
    "late": "no other learner is worth its time, and nothing is known of it yet",
    "more": "others of its kind do so well for their time that it is worth a try",
    "later": "others of its kind do so well for their time that it is worth a try",
    "limit": "it promises most of what can be trained before the time limit",
    "first": "every learner starts with the smallest size",
}


class Frugal(Steerable):
    """Give data to the learner that promises most for its time, until no promise is worth its time.

    All learners get the first size. From then on a learner's *worth* decides, as its bound does in DAUB: the score up
    to which it pays, in expectation, to continue training it size by size, stopping when it no longer pays
    (`Outlook.worth`). The learner with the highest worth gets its next size. Once the best score on all rows is at
    least every other learner's worth, that learner is selected.

    This is Weitzman's rule for Pandora's problem ("Optimal Search for the Best Alternative", 1979) with boxes that are
    opened in stages. For a fixed price of time and independent learners no other rule gains more in expectation (Gupta,
    Jiang, Scully and Singla, "The Markovian Price of Information", 2019).

    The price of time follows from the aim: the highest score - delta x log2(time). So a training costs delta if it
    doubles the time spent so far. That falls as the run goes on, and no learner is dropped for good: an expensive one
    waits until the others have cost as much. A first look that took less than 1/40 of the time of training everything
    counts as if it had taken that long, or it would end the run at once.

    The run does not end while a learner that was ahead of the best one by more than 0.01, with as many rows, has not
    been tried further, unless its next size costs more than everything so far.

    An evaluation that turns out to cost far more than forecast is ended, and its learner waits. A first evaluation has
    no forecast: it is ended after 20 seconds, and tried again with four times as long when no other learner is worth
    its time.

    Parameters
    ----------
    learners
        Names of the learners, all different.
    schedule
        Sizes to choose from; about N/64, N/16, N/4 and N are used, and where N/64 is more, smaller ones from 8,000.
        With families, they begin with about N/16, from 1,500 to 8,000 rows.
    delta
        The score that you would give up to halve the time, where errors are large: of the smallest of 0.3 (for scores
        that are proportions), the median error at the first size, and three times the error of the best learner so far,
        delta / 0.3 is the share that counts.
    scores
        What the scores are: on how many rows they are measured and how good they can get.
    costs
        "measured": decide by the seconds that trainings took. Two runs on the same rows may then decide differently.
        Or a factor and an exponent for each learner, by name: it costs the factor times the rows to that power, so that
        the scores alone decide.
    growths
        How the costs of learners grow, by name, for those that are not as usual; as `Growth`.
    members
        How many of the most promising learners get all rows in the end, as an ensemble needs them; at most as much
        time is spent on that as on everything else.
    spaces
        How many configurations each space of learners has, by its name; None if there is no end to them. The learners
        "NAME 1", "NAME 2", ... are configurations of the space NAME. Once no learner is worth its time, further ones
        join, as long as they bring more on average than their time is worth.
    families
        The family of each learner that has one, by name: learners of one family gain alike from more rows, so what some
        have gained at a size is what the others may expect. The first six of a family start at once. Once no learner is
        worth its time, further ones start, on the same condition as configurations of a space.
    promises
        In which order learners start: what each one promises for its time, by name, the highest first. Those that are
        not named start as the middle one of the others would, and equal ones in the order in which they are listed.
    """

    parameters = (DELTA, COSTS)
    sure = False
    needs_scores = True
    weighs_costs = True
    score_rows = "few"

    def __init__(  # noqa: PLR0913, PLR0917  # the parameters of the strategy
        self,
        learners: Iterable[str],
        schedule: Schedule,
        delta: float = DELTA.default,
        scores: Scores = UNKNOWN_SCORES,
        costs: str | Mapping[str, Sequence[float]] = COSTS.default,
        growths: Mapping[str, Sequence[float]] | None = None,
        members: int = 1,
        spaces: Mapping[str, int | None] | None = None,
        families: Mapping[str, str] | None = None,
        promises: Mapping[str, float] | None = None,
    ) -> None:
        named = (("growths", growths), ("spaces", spaces), ("families", families), ("promises", promises))
        for name, given in named:
            if not isinstance(given, Mapping | None):
                raise InputError(f"`{name}` must be given by name, or None, got {given!r}.")
        if not isinstance(scores, Scores):
            raise InputError(f"`scores` must be Scores, got {scores!r}.")
        super().__init__(learners, Schedule(few_for_families(schedule.sizes)) if families else schedule)
        self._delta = number(delta, "delta")
        if not 0 < self._delta < math.inf:
            raise InputError(f"`delta` must be a finite number greater than 0, got {delta}.")
        self._members, self._scores = from_one(members, "members"), scores
        self._groups = Groups(self.learners, spaces or {}, families or {})
        self._costs = Costs(costs, growths or {}, self._curves, self._groups, scores, self.schedule.full_size)
        self._outlook = Outlook(self._curves, self.schedule, self._costs, self._groups, scores, self._delta)
        self._index = Index(self._position)
        self._promises = {name: number(value, "promises") for name, value in (promises or {}).items()}
        self._neutral = median(self._promises.values()) if self._promises else 0.0
        self._fresh = Ranking()  # learners that are not begun, the most promising first
        self._late = Ranking()  # learners whose first evaluation was ended, the shortest first
        for learner in self.learners:
            if learner not in self._groups.waiting:
                self._fresh.push(self._promise(learner), self._position[learner])
        self._spent = 0.0
        self._joined = 0.0  # seconds spent on learners only because an ensemble needs them
        self._decided: tuple[str, float] | None = None  # the waiting learner with the highest worth, and its worth
        self._stale = True  # whether `_decided` must be worked out again
        self._direct: set[str] = set()  # learners that get all rows next, without the sizes between
        self._later: set[str] = set()  # learners that started because others of their kind did well

    def forecast(self) -> Iterator[Allocation]:
        """Yield the rest of the first size, then the next sizes of the learners with the highest worth."""
        asked = next(iter(self._outstanding), None)
        yield from self._starts(self.schedule.sizes[0])
        if self._why == "ensemble":
            wanted = (name for name in self._wanted() if name not in self._outstanding)
            yield from (self._limited(self._next_of(name)) for name in wanted)
        elif self.winner is None:
            self._rank()
            following = self._index.waiting.first or (0.0, 0)
            alone = asked is not None and not self.concurrent and self._why != "late"
            own = self._index.most(asked, following[0]) if alone and asked else None
            yield from map(self._limited, self._promising(self._leaders(self._index.waiting, own)))
            # With more workers than learners, also guess for learners without an outcome: do not wait for the slowest.
            for size in self.schedule.sizes[1:]:
                yield from self._starts(size)
            yield from (self._first(self.learners[position]) for _, position in self._late)

    def _promising(self, guesses: Iterator[Allocation]) -> Iterator[Allocation]:
        """Yield the guesses that will be asked for if the outstanding allocation, on all rows, has its likely score."""
        asked, price = next(iter(self.outstanding), None), self._price()
        least = -math.inf if self._best_at_full is None else self._best_at_full
        likely = -math.inf if asked is None else self.likely(asked.learner) or -math.inf
        if asked and asked.size == self.schedule.full_size:
            least = max(least, likely)
        for guess in guesses:
            if self._index.most(guess.learner, math.inf) < least:
                return  # it is ranked by the most that it can be worth, and so are those after it
            known = self._index.forecasts.get(guess.learner)
            if known is None or known.likely >= max(least, likely):
                yield guess
            elif guess != self._next_of(guess.learner):
                continue  # further sizes are for those that will probably lead
            elif least == -math.inf or known.pays(price, known.scale.error(least)):
                yield guess

    def _starts(self, size: int) -> Iterator[Allocation]:
        """Yield this size for every learner that waits without an outcome."""
        names = (self.learners[position] for _, position in self._fresh)
        yield from (Allocation(name, size, self._costs.first_limit(name)) for name in names)

    def priority(self, learner: str) -> float | None:
        """Return the learner's worth at today's price of time; at the full size, its score."""
        self._check_known(learner)
        if self._has_all_rows(learner):
            return self._curves[learner].measurements[-1].valid_score
        known = self._index.forecasts.get(learner)
        return None if known is None else known.worth(self._price())

    def _ranked_reason(self) -> str:
        worth = self.priority(self.outstanding[-1].learner) if self._outstanding else None
        if self._why or worth is None:
            return WHY[self._why or "first"].format(self._members)
        best = self._best_at_full
        compared = (
            "the highest priority" if best is None else f"more than the best on all rows so far, {score_text(best)}"
        )
        return f"training it further is worth its time up to a score of {score_text(worth)}, {compared}"

    def _lost_to(self, winner: str, learner: str) -> str:
        best, own = self._at_full[winner], self.priority(learner)
        if learner in self.untried:
            return f"others of its kind promise too little to start it, and {winner} has {score_text(best)}"
        worth = ""
        if own is not None:
            worth = f"training it further is worth its time only up to a score of {score_text(own)}, and "
        elif lost := self._costs.lost(learner):
            worth = f"its first training did not end within {lost:.0f} s, and "
        return f"{worth}{winner} has {score_text(best)}"

    @property
    def settings(self) -> dict[str, Any]:
        """Plain JSON values; two strategies with the same settings ask the same."""
        return {
            **super().settings,
            "delta": self._delta,
            **self._costs.settings,
            **({"members": self._members} if self._members > 1 else {}),
            **({"spaces": self._groups.spaces} if self._groups.spaces else {}),
            **({"families": self._groups.families} if self._groups.families else {}),
            **({"promises": self._promises} if self._promises else {}),
            "scores": self._scores.to_json(),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return a new strategy with these settings."""
        names = ("delta", "costs", "growths", "members", "spaces", "families", "promises")
        given = {name: settings[name] for name in names if name in settings}
        scores = Scores.from_json(settings["scores"])
        return cls(settings["learners"], Schedule(tuple(settings["sizes"])), scores=scores, **given)

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return few(sizes)

    @property
    def concurrent(self) -> bool:
        """Whether it may be asked again while outcomes are outstanding: not if two runs are to decide alike."""
        return self._costs.measured

    def begin(self, allocation: Allocation, why: str = "") -> None:
        """Take note that this has been asked for, and why."""
        if why == "more" and (group := self._groups.home(allocation.learner)):
            self._start_more(group)
        super().begin(allocation, why)
        self._leave(allocation.learner)

    def dispensable(self, elapsed: Mapping[Allocation, float], *, crowded: bool) -> Allocation | None:
        """Return an outstanding allocation that would not be asked for any more; None if there is none.

        That is one that is not worth what is left of it. If it is `crowded`, so that others wait for a worker, it is
        also one that is worth less than the first of those, which takes less time than what is left of it.
        """
        for learner, allocation in self._outstanding.items():
            known, took = self._index.forecasts.get(learner), elapsed.get(allocation, 0.0)
            if known is None or self._whys[learner]:
                continue  # it was not asked for by its worth
            following = allocation == self._next_of(learner)
            left = (known if following else known.at_once()).under_way(took)
            if left.steps[0][1] < GRACE:
                continue
            price = self._price(learner)
            if self._best_at_full is not None and not left.pays(price, left.scale.error(self._best_at_full)):
                return allocation
            first = self._decide() if crowded and left.steps[0][1] > took else None
            better = first and self._index.forecasts[first[0]]
            if better and better.steps[0][1] < left.steps[0][1] and left.worth(price) < better.worth(price):
                return allocation
        return None

    def _choose(self) -> Allocation | None:
        if first := self._fresh.first:
            name = self.learners[first[1]]
            self._why = "later" if name in self._later else "first"
            return self._first(name)
        decided = self._decide()
        if decided and self._seconds(decided[0]) > self.left:
            self._walk()
            decided = self._index.highest(self._price(), self._expected_best(), self.learners, self.left)
        chosen = decided[0] if decided else None
        if chosen is None and (chosen := self._was_ahead(self.left)):
            self._why = "ahead"
        if chosen is None and (group := self._worth_more()):
            self._why = "more"
            return self._first(self._groups.next_of(group))
        if chosen is None and (late := self._overdue()):
            self._why = "late"
            return self._first(late)
        if chosen is None and (
            chosen := next((each for each in self._wanted() if self._seconds(each) <= self.left), None)
        ):
            self._why = "ensemble"
        return None if chosen is None else self._limited(self._next_of(chosen))

    def _walk(self) -> None:
        """Let learners whose last step would take too long go on size by size."""
        for name in [name for name in self._direct if self._seconds(name) > self.left]:
            self._look(name)
        self._rank()

    def _seconds(self, learner: str) -> float:
        return self._index.forecasts[learner].steps[0][1]

    def _price(self, leaving_out: str | None = None) -> Price:
        """Return the price of time once the outstanding evaluations have ended as forecast."""
        known = self._index.forecasts
        names = [name for name in self._outstanding if name in known and name != leaving_out] if self.concurrent else ()
        return self._outlook.price(self._spent + sum(known[name].steps[0][1] for name in names))

    def _first(self, learner: str) -> Allocation:
        return Allocation(learner, self.schedule.sizes[0], self._costs.first_limit(learner))

    def _overdue(self) -> str | None:
        """Return the learner whose first evaluation is tried again next, if it may take so much longer."""
        if self._late.first is None:
            return None
        learner = self.learners[self._late.first[1]]
        most = max(LATE_SECONDS, self._spent)
        return learner if not self._at_full or (self._costs.first_limit(learner) or 0.0) <= most else None

    def _next_of(self, learner: str) -> Allocation:
        size = self._size_after(learner, self._curves[learner].sizes[-1])
        return Allocation(learner, size or self.schedule.full_size)

    def _size_after(self, learner: str, size: int) -> int | None:
        if learner in self._direct and size < self.schedule.full_size:
            return self.schedule.full_size
        return super()._size_after(learner, size)

    def _limited(self, allocation: Allocation) -> Allocation:
        """Return the allocation with the time after which it is ended, several times its forecast.

        The strategy then decides anew, with the higher price. The time depends on the learner alone, so that it is the
        same for a guess of its next size.
        """
        known = self._index.forecasts.get(allocation.learner)
        if not self._costs.measured:
            return allocation
        if known is None:  # a guess, before the first outcome
            return replace(allocation, limit=self._costs.first_limit(allocation.learner))
        seconds = self._costs.of(allocation.learner, allocation.size)
        return replace(allocation, limit=OVERRUN * seconds + GRACE)

    def _was_ahead(self, left: float = math.inf) -> str | None:
        """Return the learner that was most ahead of the best one at the largest size that both have had.

        Learners whose next size costs more than everything so far must be worth it; it must fit into the time `left`.
        """
        if not self._at_full:
            return None
        best = min(self._at_full, key=lambda name: (-self._at_full[name], self._position[name]))
        own, scale = (
            dict(zip(self._curves[best].sizes, self._curves[best].measurements, strict=True)),
            self._outlook.scale,
        )
        racing = self.racing - self._outstanding.keys()
        found, most = None, LEAD * (1.0 if scale.logarithmic else self._outlook.stake)
        for name, known in self._index.forecasts.items():
            size, score = self._curves[name].sizes[-1], self._curves[name].measurements[-1].valid_score
            if size in own and name in racing and known.steps[0][1] <= min(self._spent, left):
                lead = scale.error(own[size].valid_score) - scale.error(score)
                if lead > most:
                    found, most = name, lead
        return found

    def likely(self, learner: str) -> float | None:
        """Return the score that a learner will probably reach on all rows; None if nothing is known of it."""
        self._check_known(learner)
        if learner in self._at_full:
            return self._at_full[learner]
        known = self._index.forecasts.get(learner)
        return None if known is None else known.likely

    @property
    def forecasts(self) -> Mapping[str, Forecast]:
        """The forecasts of the learners that have an outcome, but not all rows."""
        return self._index.forecasts

    @property
    def fixed(self) -> Iterable[object]:
        """Values that never change, so that a copy may share them."""
        return self._index.forecasts.values()

    @property
    def untried(self) -> frozenset[str]:
        """The learners that start only if what others of their kind reach makes that worth their time."""
        return self._groups.waiting

    def _worth_more(self) -> str | None:
        """Return the family or space whose next learners bring most for their time, if that pays."""
        best, rows = self._best_at_full, self._scores.noise_rows(self.schedule.full_size)
        noise = 0.0 if best is None else chance_difference(best, rows)
        return worth_more(self._groups, self._costs, self.likely, best, noise, self._price())

    def _start_more(self, group: str) -> None:
        """Let further learners of a family or space start."""
        names = self._groups.start_more(group)
        self._later.update(names)
        for name in names:
            if name in self._curves:
                self._enter(name)
            else:
                self.add(name)

    def _wanted(self) -> list[str]:
        """Return the learners that an ensemble needs and that do not have all rows, most promising first."""
        if self._members == 1 or not self._at_full:
            return []
        racing = self.racing - self._outstanding.keys()
        likely = {name: known.likely for name, known in self._index.forecasts.items() if name in racing}
        found, wanted, left = 0, list[str](), self._spent - 2 * self._joined
        for name, _ in sorted({**likely, **self._at_full}.items(), key=lambda each: -each[1]):
            if name in likely:
                price = sum(seconds for _, seconds in self._index.forecasts[name].steps)
                if price > left:
                    continue
                left -= price
                wanted.append(name)
            found += 1
            if found == self._members:
                break
        return wanted

    def _decide(self) -> tuple[str, float] | None:
        """Return the learner with the highest worth, and its worth, if that exceeds the best score on all rows."""
        if self._stale:
            self._rank()
            self._decided = self._index.highest(self._price(), self._expected_best(), self.learners)
            self._stale = False
        return self._decided

    def _expected_best(self) -> float:
        """Return the best score on all rows so far, or that an outstanding training will almost certainly reach."""
        found = -math.inf if self._best_at_full is None else self._best_at_full
        for learner, allocation in self._outstanding.items():
            known = self._index.forecasts.get(learner)
            if known is not None and allocation.size == self.schedule.full_size:
                found = max(found, known.quantile(ALMOST_CERTAIN))
        return found

    def _rank(self) -> None:
        """Bring the ranking up to date."""
        falls = self._index.rank(self._price(), self._dropped, self._outstanding)
        self._key_drops += sum(falls)
        self._key_drop_count += len(falls)

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner = allocation.learner
        self._leave(learner)
        self._direct.discard(learner)
        self._index.forecasts.pop(learner, None)
        seconds = self._costs.paid(allocation, outcome)
        if not isinstance(outcome, Postponed):  # time that was lost on a learner must not make its next try cheaper
            self._spent += seconds
        self._joined += seconds if self._whys[learner] == "ensemble" else 0.0
        if isinstance(outcome, Failure):
            return
        if isinstance(outcome, Postponed):
            limit = self._outstanding[learner].limit
            overran = limit is not None and seconds >= limit
            self._costs.ended(allocation, seconds if overran else seconds / OVERRUN)
            self._enter(learner)
            return
        others = [*self._index.forecasts] if self._outlook.take(learner) else []
        for name in [*others, learner]:
            self._look(name)

    def _look(self, learner: str) -> None:
        """Make a learner's forecast, and rank it."""
        known, price = self._outlook.of(learner), self._price()
        if known is None:
            self._bounds[learner] = self._curves[learner].measurements[-1].valid_score
            return
        self._direct.discard(learner)
        if len(known.steps) > 1 and known.steps[-1][1] <= self.left:
            at_once = known.at_once()
            if at_once.worth(price) > known.worth(price):
                known = at_once
                self._direct.add(learner)
        self._bounds[learner] = known.bound
        self._index.put(learner, known)

    def _enter(self, learner: str) -> None:
        self._stale = True
        if not self._curves[learner].sizes:
            lost = self._costs.lost(learner)
            ranking, key = (self._late, -lost) if lost else (self._fresh, self._promise(learner))
            ranking.push(key, self._position[learner])
        elif not self._has_all_rows(learner):
            self._look(learner)

    def _promise(self, learner: str) -> float:
        return self._promises.get(learner, self._neutral)

    def _leave(self, learner: str) -> None:
        self._stale = True
        self._groups.start(learner)
        for ranking in (self._fresh, self._late):
            ranking.discard(self._position[learner])
        self._index.hold(learner)

    def _reopen(self) -> None:
        self._stale = True

    def _done(self) -> bool:
        return (
            not self._fresh
            and self._decide() is None
            and self._was_ahead() is None
            and self._worth_more() is None
            and self._overdue() is None
            and not self._wanted()
        )
