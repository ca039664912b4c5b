"""Beyond the paper: DAUB's optimism, weighed against the time that training costs."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from pydaub.algorithm.forecast import (
    LEAST_SECONDS,
    OWN_NOISE,
    SMALLEST_ERROR,
    SMALLEST_SHARE,
    Experience,
    Forecast,
    Scale,
    noise_of,
    reductions,
)
from pydaub.algorithm.schedule import Schedule
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES, Parameter
from pydaub.algorithm.strategies.costs import FIRST_SECONDS, GRACE, MEASURED, OVERRUN, Costs
from pydaub.algorithm.strategies.drawing import RECENT, expected_gain
from pydaub.algorithm.strategies.groups import Groups
from pydaub.algorithm.strategies.ranking import Ranking
from pydaub.algorithm.strategies.sizes import few, few_for_families
from pydaub.algorithm.strategies.steerable import Steerable
from pydaub.errors import InputError
from pydaub.records import Allocation, Failure, Outcome, Postponed, Scores, from_one, number, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydaub.algorithm.curve import Curve

DELTA: Final = Parameter("delta", float, 0.006, "The score that you would give up to halve the time.")
COSTS: Final = Parameter(
    "costs",
    str,
    MEASURED,
    "Times by which it decides: measured in this run, or declared ones, so that two runs decide alike.",
    (MEASURED, "declared"),
)
# `delta` counts in full where errors are LARGE, and in proportion less where the best learner's error, three times, or the
# median error at the first size, is smaller. benchmarks/README.md shows what other values would do.
LARGE, LEFT_TO_GAIN = 0.3, 3.0
QUICK_SHARE: Final = 1 / 40  # of the time of training everything: a first look that took less does not end the run
LEAD: Final = 0.01  # of the error: a learner that was ahead by more with as many rows is tried further
LATE_SECONDS: Final = 100.0  # a learner without any outcome may take so long, or as long as everything else
HEADROOM: Final = 1.08  # the ranking stays valid while the price of time falls by this factor
ROUNDING: Final = 1e-7  # relative; learners whose worths differ by less are compared exactly


class Frugal(Steerable):
    """Give data to the learner that promises most for its time, until no promise is worth its time.

    All learners get the first size. From then on a learner's *worth* decides, as its bound does in DAUB: the score up
    to which it pays, in expectation, to continue training it size by size, stopping when it no longer pays
    (`Outlook.worth`). The learner with the highest worth gets its next size. Once the best score on all rows is at
    least every other learner's worth, that learner is selected.

    This is Weitzman's rule for Pandora's problem ("Optimal Search for the Best Alternative", 1979) with boxes that are
    opened in stages. For a fixed price of time and independent learners no other rule gains more in expectation (Gupta,
    Jiang, Scully and Singla, "The Markovian Price of Information", 2019).

    The price of time follows from the aim: the highest score - delta x log2(time). After so many seconds, a further one
    costs delta / (ln 2 x seconds). It falls as the run goes on, so no learner is dropped for good: an expensive one waits
    until the others have cost as much. A first look that took less than 1/40 of the time of training everything counts
    as if it had taken that long, or it would end the run at once.

    The run does not end while a learner that was ahead of the selected one by more than 0.01, with as many rows, has not
    been tried further.

    An evaluation that turns out to cost far more than forecast is ended, and its learner waits. A first evaluation has no
    forecast: it is ended after 20 seconds, and tried again with four times as long when no other learner is worth its
    time.

    Parameters
    ----------
    learners
        Names of the learners, all different.
    schedule
        Sizes to choose from; about N/128, N/32, N/8 and N are used, and where N/128 is more, smaller ones from 8,000.
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
    ) -> None:
        for name, given in (("growths", growths), ("spaces", spaces), ("families", families)):
            if not isinstance(given, Mapping | None):
                raise InputError(f"`{name}` must be given by name, or None, got {given!r}.")
        if not isinstance(scores, Scores):
            raise InputError(f"`scores` must be Scores, got {scores!r}.")
        super().__init__(learners, Schedule(few_for_families(schedule.sizes)) if families else schedule)
        self._groups = Groups(self.learners, spaces or {}, families or {})
        self._experience = Experience()
        self._members = from_one(members, "members")
        self._costs = Costs(costs, growths or {}, self._curves, self._groups, scores, self.schedule.full_size)
        self._delta = number(delta, "delta")
        if not 0 < self._delta < math.inf:
            raise InputError(f"`delta` must be a finite number greater than 0, got {delta}.")
        self._scores = scores
        self._fresh = Ranking()  # learners that are not begun
        self._late = Ranking()  # learners whose first evaluation was ended, the shortest first
        waiting = self._groups.waiting
        for position, learner in enumerate(self.learners):
            if learner not in waiting:
                self._fresh.push(0.0, position)
        self._outlooks: dict[str, Forecast] = {}  # of the learners that have not had all rows
        self._spent = 0.0
        self._best = -math.inf  # of all scores so far
        self._firsts: list[float] = []  # scores at the first size, in order
        self._scale = Scale.of(scores.top, -math.inf, [], proportion=scores.proportion)
        self._all_rows: dict[str, float] = {}  # seconds that each learner takes with all rows, forecast or measured
        self._everything = 0.0  # their sum
        self._decided: tuple[str, float] | None = None  # the learner with the highest worth, and its worth
        self._stale = True  # whether `_decided` must be worked out again
        self._priorities: dict[str, float] = {}  # cache, valid as long as `_decided`
        self._waiting = Ranking()  # by the highest worth that is possible while the price of time is at least `_floor`
        self._floor = 0.0
        self._worths: dict[str, float] = {}  # the latest keys in the ranking
        self._solved: dict[str, float] = {}  # worths at `_floor`, of learners that came close
        self._unranked: dict[str, None] = {}  # used as an ordered set
        self._direct: set[str] = set()  # learners that get all rows next, without the sizes between
        self._rescaled = False  # whether all forecasts must be made anew
        self._checked: str | None = None  # the learner of the outstanding allocation, if it was ahead with fewer rows
        self._joined = 0.0  # seconds spent on learners only because an ensemble needs them
        self._joining: str | None = None  # the learner of the outstanding allocation, if it is such a one
        self._later: set[str] = set()  # learners that started because others of their kind did well

    def forecast(self) -> Iterator[Allocation]:
        """Yield the rest of the first size, then the next sizes of the learners with the highest worth."""
        asked = self._outstanding
        yield from self._starts(self.schedule.sizes[0])
        if self._joining:
            yield from (self._limited(self._next_of(name)) for name in self._wanted() if name != self._joining)
        elif self.winner is None:
            self._rank()
            following = self._waiting.first or (0.0, 0)
            own = None if asked is None or self._tried_again() else self._worths.get(asked.learner, following[0])
            yield from map(self._limited, self._promising(self._leaders(self._waiting, own)))
            # With more workers than learners, also guess for learners without an outcome: do not wait for the slowest.
            for size in self.schedule.sizes[1:]:
                yield from self._starts(size)
            yield from (self._first(self.learners[position]) for _, position in self._late)

    def _promising(self, guesses: Iterator[Allocation]) -> Iterator[Allocation]:
        """Yield the guesses that will be asked for if the outstanding allocation, on all rows, has its likely score."""
        asked, price = self._outstanding, self._price()
        least = -math.inf if self._best_at_full is None else self._best_at_full
        if asked and asked.size == self.schedule.full_size and (likely := self.likely(asked.learner)) is not None:
            least = max(least, likely)
        for guess in guesses:
            if self._worths.get(guess.learner, math.inf) < least:
                return  # it is ranked by the most that it can be worth, and so are those after it
            outlook = self._outlooks.get(guess.learner)
            if outlook is None or least == -math.inf or outlook.pays(price, self._scale.error(least)):
                yield guess

    def _starts(self, size: int) -> Iterator[Allocation]:
        """Yield this size for every learner without an outcome, except the outstanding one."""
        asked = self._outstanding.learner if self._outstanding else None
        names = (self.learners[position] for _, position in self._fresh)
        yield from (Allocation(name, size, self._costs.first_limit(name)) for name in names if name != asked)

    def priority(self, learner: str) -> float | None:
        """Return the learner's worth at today's price of time; at the full size, its score."""
        self._check_known(learner)
        if self._has_all_rows(learner):
            return self._curves[learner].measurements[-1].valid_score
        if learner not in self._outlooks:
            return None
        if learner not in self._priorities:
            self._priorities[learner] = self._outlooks[learner].worth(self._price())
        return self._priorities[learner]

    def _ranked_reason(self) -> str:
        asked = self._outstanding
        if asked and asked.learner == self._joining:
            return f"it is among the {self._members} most promising learners, which the ensemble is chosen from"
        if asked and asked.learner == self._checked:
            return "it was ahead of the best with all rows when both had fewer"
        if asked and asked.learner in self._later and asked.size == self.schedule.sizes[0]:
            return "others of its kind do so well for their time that it is worth a try"
        if self._tried_again():
            return "no other learner is worth its time, and nothing is known of it yet"
        if asked is None or self._decided is None or asked.size == self.schedule.sizes[0]:
            return "every learner starts with the smallest size"
        best = self._best_at_full
        compared = (
            "the highest priority" if best is None else f"more than the best on all rows so far, {score_text(best)}"
        )
        return f"training it further is worth its time up to a score of {score_text(self._decided[1])}, {compared}"

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
            "scores": self._scores.to_json(),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return a new strategy with these settings."""
        return cls(
            settings["learners"],
            Schedule(tuple(settings["sizes"])),
            settings["delta"],
            Scores.from_json(settings["scores"]),
            settings["costs"],
            settings.get("growths"),
            settings.get("members", 1),
            settings.get("spaces"),
            settings.get("families"),
        )

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return few(sizes)

    def _choose(self) -> Allocation | None:
        if first := self._fresh.first:
            return self._first(self.learners[first[1]])
        decided = self._decide()
        chosen = decided[0] if decided else self._was_ahead()
        self._checked = None if decided else chosen
        if chosen is None and (group := self._worth_more()):
            return self._first(self._start_more(group))
        if chosen is None and (late := self._overdue()):
            self._late.discard(self._position[late])
            return self._first(late)
        if chosen is None:
            self._joining = chosen = next(iter(self._wanted()), None)
        if chosen is None:
            return None
        self._waiting.discard(self._position[chosen])
        return self._limited(self._next_of(chosen))

    def _first(self, learner: str) -> Allocation:
        return Allocation(learner, self.schedule.sizes[0], self._costs.first_limit(learner))

    def _tried_again(self) -> bool:
        """Return whether the outstanding allocation is the first of its learner, and was ended before."""
        asked = self._outstanding
        return asked is not None and asked.size == self.schedule.sizes[0] and (asked.limit or 0.0) > FIRST_SECONDS

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
        learner = allocation.learner
        if not self._costs.measured:
            return allocation
        if learner not in self._outlooks:  # a guess, before the first outcome
            return replace(allocation, limit=self._costs.first_limit(learner))
        following = allocation == self._next_of(learner)
        forecast = self._outlooks[learner].steps[0][1] if following else self._costs.of(learner, allocation.size)
        return replace(allocation, limit=OVERRUN * forecast + GRACE)

    def _was_ahead(self) -> str | None:
        """Return the learner that was most ahead of the selected one at the largest size that both have had."""
        if not self._at_full:
            return None
        best = max(self._at_full, key=lambda name: (self._at_full[name], -self._position[name]))
        own = dict(zip(self._curves[best].sizes, self._curves[best].measurements, strict=True))
        found, most = None, LEAD * (1.0 if self._scale.logarithmic else self._stake())
        for name in self._outlooks.keys() - self._dropped:
            size, measured = self._curves[name].sizes[-1], self._curves[name].measurements[-1]
            if size in own:
                lead = self._scale.error(own[size].valid_score) - self._scale.error(measured.valid_score)
                if lead > most or (lead == most and found and self._position[name] < self._position[found]):
                    found, most = name, lead
        return found

    def likely(self, learner: str) -> float | None:
        """Return the score that a learner will probably reach on all rows; None if nothing is known of it."""
        self._check_known(learner)
        if learner in self._at_full:
            return self._at_full[learner]
        outlook = self._outlooks.get(learner)
        return None if outlook is None else outlook.likely

    @property
    def fixed(self) -> Iterable[object]:
        """Values that never change, so that a copy may share them."""
        return self._outlooks.values()

    @property
    def untried(self) -> frozenset[str]:
        """The learners that start only if what others of their kind reach makes that worth their time."""
        return self._groups.waiting

    def _worth_more(self) -> str | None:
        """Return the family or space whose next learners bring most for their time, if that pays."""
        best, price = self._best_at_full, self._price()
        found, most = None, 0.0
        for group in self._groups.open():
            started = self._groups.started(group)
            if best is None:  # none of the others could be measured
                return group if group in self._groups.families.values() else None
            recent = started[-max(len(started) // 2, RECENT) :]  # proposals get better, and nearer to each other
            spent = sum(map(self._costs.paid_for, recent))
            before, now = self._likely_scores(started[: -len(recent)]), self._likely_scores(recent)
            if len(before) >= RECENT and max(now, default=-math.inf) - max(before) <= price * spent:
                continue  # the latest have brought less than their time was worth
            gain = expected_gain(now, best, self._noise(best)) - price * (spent / max(len(recent), 1) + LEAST_SECONDS)
            if gain > most:
                found, most = group, gain
        return found

    def _likely_scores(self, names: Sequence[str]) -> list[float]:
        return [score for name in names if (score := self.likely(name)) is not None]

    def _noise(self, score: float) -> float:
        """Return by how much scores of similar learners differ by chance."""
        rows = self._scores.noise_rows(self.schedule.full_size)
        share = min(max(score, 0.0), 1.0)
        return 2 * OWN_NOISE * math.sqrt(share * (1 - share) / rows) if rows else 0.0

    def _start_more(self, group: str) -> str:
        """Let further learners of a family or space start, and return the name of the first."""
        names = self._groups.start_more(group)
        self._later.update(names)
        for name in names:
            if name in self._curves:
                self._enter(name)
            else:
                self.add(name)
        return names[0]

    def _wanted(self) -> list[str]:
        """Return the learners that an ensemble needs and that do not have all rows, most promising first."""
        if self._members == 1 or not self._at_full:
            return []
        likely = {name: outlook.likely for name, outlook in self._outlooks.items() if name in self.racing}
        found, wanted, left = 0, list[str](), self._spent - 2 * self._joined
        for name, _ in sorted({**likely, **self._at_full}.items(), key=lambda each: -each[1]):
            if name in likely:
                price = sum(seconds for _, seconds in self._outlooks[name].steps)
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
            self._decided, self._stale = self._highest(), False
            if self._decided is not None:
                self._priorities[self._decided[0]] = self._decided[1]
        return self._decided

    def _highest(self) -> tuple[str, float] | None:
        """Return the learner with the highest worth, the first of those that tie, and its worth."""
        first, least = len(self.learners), -math.inf if self._best_at_full is None else self._best_at_full
        self._rank()
        price, lowered = self._price(), []
        for most, position in self._waiting:
            if most < least:
                break
            name = self.learners[position]
            outlook = self._outlooks[name]
            if name not in self._solved:
                if outlook.most(price) < least:
                    continue
                self._solved[name] = outlook.worth(self._floor)
                lowered.append(name)
            error = (1 + ROUNDING) * self._scale.error(least) if least > -math.inf else math.inf
            if self._solved[name] < least or not outlook.pays(price, error):
                continue
            worth = outlook.worth(price)
            if worth > least or (worth == least and position < first < len(self.learners)):
                first, least = position, worth
        for name in lowered:
            self._worths[name] = self._solved[name]
            self._waiting.push(self._solved[name], self._position[name])
        return (self.learners[first], least) if first < len(self.learners) else None

    def _price(self) -> float:
        """Return what a second of training costs, in units of the error."""
        spent = max(self._spent, QUICK_SHARE * self._everything, LEAST_SECONDS)
        return self._delta * self._stake() / (math.log(2) * spent)

    def _rank(self) -> None:
        """Rank the learners that are not ranked yet, and all of them if the price of time has left its range.

        Time gets cheaper with each second spent, so worths rise. The worth at a lower price than today's is an upper
        bound for a while, and few learners need a closer look at each decision.
        """
        asked = self._outstanding.learner if self._outstanding else None
        if self._rescaled:
            self._rescaled = False
            for name in self._outlooks:
                self._look(name)
        price = self._price()
        if not self._floor <= price <= HEADROOM * self._floor:
            self._floor = price / HEADROOM
            racing = [name for name in self._outlooks if name not in self._dropped]
            self._worths = {name: self._outlooks[name].most(self._floor) for name in racing}
            self._waiting = Ranking({self._position[name]: self._worths[name] for name in racing if name != asked})
            self._solved.clear()
            self._unranked.clear()
        for name in self._unranked:
            if name not in self._outlooks or name in self._dropped:
                continue
            key = self._outlooks[name].most(self._floor)
            self._key_drops += max(self._worths.get(name, key) - key, 0.0)
            self._key_drop_count += name in self._worths
            self._worths[name] = key
            if name != asked:
                self._waiting.push(key, self._position[name])
        self._unranked.clear()

    def _stake(self) -> float:
        """Return the share of `delta` that counts: less than 1 where errors are small."""
        least = self._error(self._best)
        most = self._error(self._firsts[len(self._firsts) // 2]) if self._firsts else LARGE
        stakes = [LEFT_TO_GAIN * least, most or LEFT_TO_GAIN * least]
        return min([*stakes, LARGE] if self._scale.logarithmic else stakes) / LARGE

    def _error(self, score: float) -> float:
        """Return the error of a score, at least that of half a mistake."""
        rows, worst = self._scores.noise_rows(self.schedule.full_size), self._firsts[0] if self._firsts else score
        smallest = 0.5 / rows if rows else SMALLEST_SHARE * self._scale.error(worst)
        return max(self._scale.error(score), smallest, SMALLEST_ERROR)

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner = allocation.learner
        for ranking in (self._fresh, self._late, self._waiting):
            ranking.discard(self._position[learner])
        self._outlooks.pop(learner, None)
        seconds = self._costs.paid(allocation, outcome)
        if not isinstance(outcome, Postponed):  # time that was lost on a learner must not make its next try cheaper
            self._spent += seconds
        self._joined += seconds if learner == self._joining else 0.0
        self._checked = self._joining = None
        self._forget_decision()
        if isinstance(outcome, Failure):
            return
        if isinstance(outcome, Postponed):
            self._costs.ended(allocation, seconds)
            self._enter(learner)
            return
        if allocation.size == self.schedule.sizes[0]:
            insort(self._firsts, outcome.valid_score)
        self._best = max(self._best, outcome.valid_score)
        proportion = self._scores.proportion
        scale = Scale.of(self._scores.top, self._best, self._firsts, proportion=proportion)
        self._rescaled, self._scale = self._rescaled or scale != self._scale, scale
        changed = self._learn(learner)
        self._look(learner)
        self._rescaled = self._rescaled or changed

    def _learn(self, learner: str) -> bool:
        """Add a learner's last step to what this run has shown, and return whether other forecasts change by it."""
        curve = self._curves[learner]
        if len(curve.sizes) == 1:
            return False
        slope, before = self._slope(curve.prefix(len(curve.sizes) - 1))
        error = self._error(curve.measurements[-1].valid_score)
        recorded = reductions(slope, math.log2(curve.sizes[-1] / curve.sizes[-2]))
        step = self.schedule.sizes.index(curve.sizes[-2])
        return self._experience.add(step, self._groups.of(learner), recorded, math.log(before / error))

    def _slope(self, curve: Curve) -> tuple[float | None, float]:
        """Return the log-error reduction per doubling of the last step, and the error."""
        error = self._error(curve.measurements[-1].valid_score)
        if len(curve.sizes) == 1:
            return None, error
        before = self._error(curve.measurements[-2].valid_score)
        return math.log(before / error) / math.log2(curve.sizes[-1] / curve.sizes[-2]), error

    def _look(self, learner: str) -> None:
        curve, sizes = self._curves[learner], self.schedule.sizes
        had = sizes.index(curve.sizes[-1])
        self._everything -= self._all_rows.get(learner, 0.0)
        if had == len(sizes) - 1:
            self._bounds[learner] = curve.measurements[-1].valid_score
            self._all_rows[learner] = curve.measurements[-1].own_seconds
            self._everything += self._all_rows[learner]
            return
        ahead, family = sizes[had + 1 :], self._groups.of(learner)
        rows = self._scores.noise_rows(curve.sizes[-1], curve.measurements[-1].scored)
        costs = [self._costs.of(learner, size) for size in ahead]
        self._all_rows[learner] = costs[-1]
        self._everything += costs[-1]
        slope, error = self._slope(curve)
        outlook = Forecast(
            self._scale,
            error,
            slope,
            noise_of(self._scale, error, rows),
            tuple(
                (math.log2(size / smaller), cost + LEAST_SECONDS)
                for smaller, size, cost in zip(sizes[had:], ahead, costs, strict=False)
            ),
            tuple(self._experience.spread(step, family) for step in range(had, len(sizes) - 1)),
        )
        self._direct.discard(learner)
        if family and len(ahead) > 1:
            at_once, price = outlook.at_once(), self._price()
            if at_once.worth(price) > outlook.worth(price):
                outlook = at_once
                self._direct.add(learner)
        self._bounds[learner] = outlook.bound
        self._outlooks[learner] = outlook
        self._solved.pop(learner, None)
        self._unranked[learner] = None

    def _forget_decision(self) -> None:
        self._stale = True
        self._priorities.clear()

    def _enter(self, learner: str) -> None:
        self._forget_decision()
        self._unranked[learner] = None
        if not self._curves[learner].sizes:
            lost = self._costs.lost(learner)
            (self._late if lost else self._fresh).push(-lost, self._position[learner])
        elif not self._has_all_rows(learner):
            self._look(learner)

    def _leave(self, learner: str) -> None:
        self._forget_decision()
        self._groups.start(learner)
        if learner == self._checked:
            self._checked = None
        if learner == self._joining:
            self._joining = None
        for ranking in (self._fresh, self._late, self._waiting):
            ranking.discard(self._position[learner])

    def _reopen(self) -> None:
        self._forget_decision()

    def _done(self) -> bool:
        return (
            not self._fresh
            and self._decide() is None
            and self._was_ahead() is None
            and self._worth_more() is None
            and self._overdue() is None
            and not self._wanted()
        )
