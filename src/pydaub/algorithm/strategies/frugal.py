"""Beyond the paper: DAUB's optimism, weighed against the time that training costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from pydaub.algorithm.schedule import Schedule
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES, Parameter
from pydaub.algorithm.strategies.beginners import Beginners
from pydaub.algorithm.strategies.candidates import Candidates, Race
from pydaub.algorithm.strategies.costs import MEASURED, OVERRUN, Costs
from pydaub.algorithm.strategies.groups import Groups
from pydaub.algorithm.strategies.outlook import Outlook
from pydaub.algorithm.strategies.sizes import few, few_for_families
from pydaub.algorithm.strategies.steerable import Steerable
from pydaub.errors import InputError
from pydaub.records import Allocation, Failure, Outcome, Postponed, Scores, from_one, number, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DELTA: Final = Parameter("delta", float, 0.01, "The score that you would give up to halve the time.")
COSTS: Final = Parameter(
    "costs",
    str,
    MEASURED,
    "Times by which it decides: measured in this run, or declared ones, so that two runs decide alike.",
    (MEASURED, "declared"),
)
WHY: Final = {
    "ahead": "it was ahead of the best with all rows when both had fewer",
    "ensemble": "it is among the {} most promising learners, which the ensemble is chosen from",
    "late": "no other learner is worth its time, and nothing is known of it yet",
    "more": "others of its kind do so well for their time that it is worth a try",
    "later": "others of its kind do so well for their time that it is worth a try",
    "limit": "it promises most of what can be trained before the time limit",
    "first": "every learner starts with the smallest size",
    "cheap": "all rows take it little longer than a sample, so that there is nothing to select",
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
        race = Race(self._curves, self._position, self._outstanding, self._whys, self._dropped, self._at_full)
        self._candidates = Candidates(race, self._outlook, self._costs, self._groups, self.schedule.full_size)
        self._beginners = Beginners(self._position, promises or {}, self._costs)
        for learner in self.learners:
            if learner not in self._groups.waiting:
                self._beginners.enter(learner)
        self._later: set[str] = set()  # learners that started because others of their kind did well

    def forecast(self) -> Iterator[Allocation]:
        """Yield the rest of the first size, then the next sizes of the learners with the highest worth."""
        asked = next(iter(self._outstanding), None)
        first = self._beginners.size(self.schedule.sizes)
        yield from self._beginners.trainings(first)
        if self._why == "ensemble":
            wanted = (name for name in self._candidates.wanted(self._members) if name not in self._outstanding)
            yield from (self._limited(self._next_of(name)) for name in wanted)
        elif self.winner is None:
            self._candidates.rank()
            index, (self._key_drops, self._key_drop_count) = self._candidates.index, self._candidates.falls
            following = index.waiting.first or (0.0, 0)
            alone = asked is not None and not self.concurrent and self._why != "late"
            guesses = self._leaders(index.waiting, index.most(asked, following[0]) if alone and asked else None)
            yield from map(self._limited, self._candidates.promising(self._best_at_full, guesses, self._next_of))
            # With more workers than learners, also guess for learners without an outcome: do not wait for the slowest.
            for size in self.schedule.sizes:
                yield from self._beginners.trainings(size) if size > self.schedule.sizes[0] and size != first else ()
            yield from self._beginners.late(self.schedule.sizes[0])

    def priority(self, learner: str) -> float | None:
        """Return the learner's worth at today's price of time; at the full size, its score."""
        self._check_known(learner)
        if self._has_all_rows(learner):
            return self._curves[learner].measurements[-1].valid_score
        return self._candidates.worth(learner)

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
            **({"promises": self._beginners.promises} if self._beginners.promises else {}),
            "scores": self._scores.to_json(),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return a new strategy with these settings."""
        names = ("delta", "costs", "growths", "members", "spaces", "families", "promises")
        given = {name: settings[name] for name in names if name in settings}
        scores = Scores.from_json(settings["scores"])
        return cls(settings["learners"], Schedule(tuple(settings["sizes"])), scores=scores, **given)

    @property
    def concurrent(self) -> bool:
        """Whether it may be asked again while outcomes are outstanding: not if two runs are to decide alike."""
        return self._costs.measured

    def begin(self, allocation: Allocation, why: str = "") -> None:
        """Take note that this has been asked for, and why."""
        if why == "more" and (group := self._groups.home(allocation.learner)):
            names = self._groups.start_more(group)
            self._later.update(names)
            for name in names:
                self._enter(name) if name in self._curves else self.add(name)
        super().begin(allocation, why)
        self._leave(allocation.learner)

    def dispensable(self, elapsed: Mapping[Allocation, float], *, crowded: bool) -> Allocation | None:
        """Return an outstanding allocation that would not be asked for any more; None if there is none.

        That is one that is not worth what is left of it. If it is `crowded`, so that others wait for a worker, it is
        also one that is worth less than the first of those, which takes less time than what is left of it.
        """
        return self._candidates.dispensable(self._best_at_full, elapsed, crowded=crowded)

    def _choose(self) -> Allocation | None:
        self._candidates.left = self.left
        chosen = self._choice()
        if chosen is None:
            return None
        self._why, name = chosen
        if name in self._curves and self._curves[name].sizes:
            return self._limited(self._next_of(name))
        size = self._beginners.size(self.schedule.sizes)
        if self._why == "first" and size > self.schedule.sizes[0]:
            self._why = "cheap"
        return self._beginners.training(name, size)

    def _choice(self) -> tuple[str, str] | None:
        """Return why, and which learner is trained next; None if nothing is worth its time, or fits into it."""
        candidates, best, left = self._candidates, self._best_at_full, self._candidates.left
        if name := self._beginners.first:
            return "later" if name in self._later else "first", name
        if name := candidates.first_in_time(best):
            return "", name
        if name := candidates.was_ahead(left):
            return "ahead", name
        rows = self._scores.noise_rows(self.schedule.full_size)
        if group := candidates.further(best, rows, self.likely):
            return "more", self._groups.next_of(group)
        if name := self._beginners.overdue(candidates.spent, alone=not self._at_full):
            return "late", name
        wanted = (name for name in candidates.wanted(self._members) if candidates.seconds(name) <= left)
        name = next(wanted, None)
        return ("ensemble", name) if name else None

    def _next_of(self, learner: str) -> Allocation:
        size = self._size_after(learner, self._curves[learner].sizes[-1])
        return Allocation(learner, size or self.schedule.full_size)

    def _size_after(self, learner: str, size: int) -> int | None:
        following = super()._size_after(learner, size)
        return self.schedule.full_size if following and self._candidates.goes_straight(learner) else following

    def _limited(self, allocation: Allocation) -> Allocation:
        return self._candidates.limited(allocation, self._costs.first_limit(allocation.learner))

    def likely(self, learner: str) -> float | None:
        """Return the score that a learner will probably reach on all rows; None if nothing is known of it."""
        self._check_known(learner)
        if learner in self._at_full:
            return self._at_full[learner]
        known = self._candidates.index.forecasts.get(learner)
        return None if known is None else known.likely

    @property
    def fixed(self) -> Iterable[object]:
        """Values that never change, so that a copy may share them."""
        return self._candidates.index.forecasts.values()

    @property
    def untried(self) -> frozenset[str]:
        """The learners that start only if what others of their kind reach makes that worth their time."""
        return self._groups.waiting

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner, candidates, seconds = allocation.learner, self._candidates, self._costs.paid(allocation, outcome)
        self._leave(learner)
        candidates.forget(learner)
        if not isinstance(outcome, Postponed):  # time that was lost on a learner must not make its next try cheaper
            candidates.spent += seconds
        candidates.joined += seconds if self._whys[learner] == "ensemble" else 0.0
        if isinstance(outcome, Failure):
            return
        if isinstance(outcome, Postponed):
            limit = self._outstanding[learner].limit
            overran = limit is not None and seconds >= limit
            self._costs.ended(allocation, seconds if overran else seconds / OVERRUN)
            self._enter(learner)
            return
        if len(self._curves[learner].sizes) == 1:
            self._beginners.began(learner)
        others = [*candidates.index.forecasts] if self._outlook.take(learner) else []
        for name in [*others, learner]:
            self._bounds[name] = candidates.look(name)

    def _enter(self, learner: str) -> None:
        self._candidates.stale = True
        if not self._curves[learner].sizes:
            self._beginners.enter(learner)
        elif not self._has_all_rows(learner):
            self._bounds[learner] = self._candidates.look(learner)

    def _leave(self, learner: str) -> None:
        self._candidates.stale = True
        self._groups.start(learner)
        self._beginners.leave(learner)
        self._candidates.index.hold(learner)

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return few(sizes)

    def _done(self) -> bool:
        self._candidates.left = math.inf
        return self._choice() is None
