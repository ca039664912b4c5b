"""The contract of a strategy, and the state that every strategy keeps."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydaub.algorithm.curve import Curve
from pydaub.algorithm.schedule import Schedule
from pydaub.errors import AllLearnersFailed, InputError, ProtocolError
from pydaub.installed import did_you_mean, names
from pydaub.records import Allocation, Failure, Measurement, Outcome, Postponed, Scores, score_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydaub.algorithm.proof import Proof

UNKNOWN_SCORES: Final = Scores()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a strategy: the one declaration that every interface reads.

    The constructor takes it as a keyword and checks the value. The command line, `DaubSearch`, `compare`, `replay`
    and the journal take name, type, default and help from here.
    """

    name: str
    kind: type[float | bool | str]
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    group: str = ""  # the entry points by which installed packages add choices

    def names(self) -> list[str]:
        """Return all choices, those of installed packages last."""
        return list(dict.fromkeys((*self.choices, *(names(self.group) if self.group else ()))))

    def check(self, value: object) -> None:
        """Raise `InputError` if the value is none of the choices, of a parameter that has some."""
        if self.choices and value not in self.choices and value not in (known := self.names()):
            hint = did_you_mean(value, known)
            raise InputError(f"`{self.name}` must be one of {', '.join(known)}, got {value!r}.{hint}")


class Strategy(ABC):
    """Decides which learner gets data next.

    Laws, each tested for every strategy: one allocation is outstanding at a time, or one of each learner where the
    strategy is `concurrent`; what is asked depends only on what was asked and told before; a learner's sizes strictly
    grow, except that one which was postponed may be asked for again; a failure takes the learner out of the race, never
    the run; `forecast` and `priority` change nothing; the winner has been measured at the full size.

    A new strategy implements `_choose` (what to ask next), `_update` (what an outcome changes), `_done` (whether the
    race is over), `forecast` (what it will probably ask) and `priority` (the number it decides by). A strategy whose
    learners can be dropped, boosted or added during a run extends `Steerable` instead.

    Parameters
    ----------
    learners
        Names of the learners, all different.
    schedule
        Sizes that may be allocated. The strategy may use only some of them.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = ()
    sure: ClassVar[bool] = True  # whether a bound holds for every curve that does not get steeper
    needs_scores: ClassVar[bool] = False  # whether the constructor takes `scores`
    weighs_costs: ClassVar[bool] = False  # whether it takes `growths`, `members`, `spaces` and `families`
    needs_train_scores: ClassVar[bool] = False
    score_rows: ClassVar[str] = "all"  # validation rows for learners that do not have all training rows, as in `Task`

    def __init__(self, learners: Iterable[str], schedule: Schedule) -> None:
        if isinstance(learners, str) or not isinstance(learners, Iterable):
            raise InputError(f"`learners` must be a list of names, got {learners!r}.")
        if not isinstance(schedule, Schedule):
            raise InputError(f"`schedule` must be a Schedule, got {schedule!r}.")
        self.learners = tuple(learners)
        self.schedule = Schedule(self._used(schedule.sizes))
        if not self.learners:
            raise InputError("`learners` must be at least one, got none.")
        self._curves: dict[str, Curve] = {}
        for learner in self.learners:
            Allocation(learner, 1)  # rejects anything that is not a name
            if learner in self._curves:
                raise InputError(f"`learners` must differ in their names, got {learner!r} twice.")
            self._curves[learner] = Curve(learner)
        self._position = {learner: position for position, learner in enumerate(self.learners)}
        self._next_size = dict(pairwise(self.schedule.sizes))
        self._failures: dict[str, Failure] = {}
        self._bounds: dict[str, float] = {}  # for strategies that have bounds
        self._outstanding: dict[str, Allocation] = {}  # by learner, in the order in which they were asked for
        self._whys: dict[str, str] = {}  # why each of them was asked for, as the strategy calls it
        self._why = ""  # the last of these
        self.left = math.inf  # seconds; a strategy that is `concurrent` asks for nothing that takes longer
        self._at_full: dict[str, float] = {}  # scores at the full size of the learners that may win
        self._best_at_full: float | None = None  # the highest of them

    def ask(self) -> Allocation | None:
        """Return the next allocation to evaluate; None once the winner is known, or if nothing more is wanted now.

        Raises
        ------
        AllLearnersFailed
            If no learner is left.
        ProtocolError
            If the outcome of the previous allocation has not been told yet, and the strategy is not `concurrent`.
        """
        if self._outstanding and not self.concurrent:
            raise ProtocolError(f"`ask` must wait until the outcome of {self.outstanding[0]} has been told.")
        if self.winner is not None:
            return None
        found = self._next()
        if found is not None:
            self.begin(found, self._why)
        elif not self._outstanding and (self.left == math.inf or not self.racing):
            raise AllLearnersFailed(self._failures)
        return found

    def begin(self, allocation: Allocation, why: str = "") -> None:
        """Take note that this has been asked for, and why; `ask` does so, and who reads the journal of a run."""
        self._check_known(allocation.learner)
        if allocation.learner in self._outstanding or allocation.size not in self.schedule.sizes:
            raise ProtocolError(f"`begin` must be given a learner that waits, and one of the sizes, got {allocation}.")
        self._why = self._whys[allocation.learner] = why
        self._outstanding[allocation.learner] = allocation

    def tell(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in the outcome of an allocation that was asked for."""
        learner = allocation.learner
        if allocation != self._outstanding.get(learner):
            wanted = " or ".join(map(str, self._outstanding.values()))
            raise ProtocolError(f"`tell` must {f'be for {wanted}' if wanted else 'follow `ask`'}, got {allocation}.")
        if not isinstance(outcome, Measurement | Failure | Postponed):
            raise InputError(f"`outcome` must be a Measurement, a Failure or Postponed, got {outcome!r}.")
        if isinstance(outcome, Postponed) and not self.concurrent and outcome.seconds < (allocation.limit or math.inf):
            raise InputError(f"`outcome` must not be Postponed before the limit, {allocation.limit} s, got {outcome}.")
        before = self._curves[learner]
        if isinstance(outcome, Measurement):
            self._curves[learner] = before.extended(allocation.size, outcome)
        try:
            self._update(allocation, outcome)
        except Exception:  # a user's own bound may raise: then nothing has been told
            self._curves[learner] = before
            raise
        del self._outstanding[learner], self._whys[learner]
        if isinstance(outcome, Failure):
            self._failures[learner] = outcome
        elif isinstance(outcome, Measurement) and allocation.size == self.schedule.full_size:
            self._reach(learner, outcome.valid_score)

    def dispensable(
        self,
        elapsed: Mapping[Allocation, float],  # noqa: ARG002
        *,
        crowded: bool,  # noqa: ARG002
    ) -> Allocation | None:
        """Return an outstanding allocation that would not be asked for any more; None if there is none.

        Parameters
        ----------
        elapsed
            The seconds that each of them has taken so far.
        crowded
            Whether all workers are busy.
        """
        return None

    @abstractmethod
    def forecast(self) -> Iterator[Allocation]:
        """Yield what will probably be asked next, most likely first. Valid until the next `ask` or `tell`."""

    @abstractmethod
    def priority(self, learner: str) -> float | None:
        """Return the number by which the learner competes for its next size; None where it has none yet.

        Of the learners that could be given their next size, the one with the highest priority gets it.
        """

    def bound(self, learner: str) -> float | None:
        """Return the upper bound on the learner's score at the full size, if this strategy has one yet."""
        self._check_known(learner)
        return self._bounds.get(learner)

    def likely(self, learner: str) -> float | None:
        """Return the score that a learner will probably reach on all rows; None if nothing is known of it."""
        self._check_known(learner)
        measurements = self._curves[learner].measurements
        return measurements[-1].valid_score if measurements else None

    @property
    def winner(self) -> str | None:
        """The selected learner, once it is known."""
        if not self._at_full or self._outstanding or not self._done():
            return None
        return min(self._at_full, key=lambda name: (-self._at_full[name], self._position[name]))

    @property
    def outstanding(self) -> tuple[Allocation, ...]:
        """The allocations that were asked for and whose outcomes have not been told yet."""
        return tuple(self._outstanding.values())

    @property
    def concurrent(self) -> bool:
        """Whether it may be asked again before it has been told the outcomes of what it asked for."""
        return False

    @property
    def why(self) -> str:
        """Why the last allocation was asked for, as a word for `begin`."""
        return self._why

    def proof(self) -> Proof | None:
        """Return what is proved of the learners, where the bounds hold with a stated probability."""
        return None

    @property
    def racing(self) -> frozenset[str]:
        """The learners that may still be asked for."""
        return frozenset(self.learners) - self._failures.keys()

    @property
    def dropped(self) -> frozenset[str]:
        """The learners that a person has taken out of the race."""
        return frozenset()

    @property
    def untried(self) -> frozenset[str]:
        """The learners that start only if what others of their kind reach makes that worth their time."""
        return frozenset()

    @property
    def fixed(self) -> Iterable[object]:
        """Values that never change, so that a copy may share them; the schedule and curves need not be among them."""
        return ()

    @property
    def failures(self) -> Mapping[str, Failure]:
        """The learners that failed, and why."""
        return dict(self._failures)

    @property
    def reason(self) -> str:
        """Why the last allocation was asked for, as a clause for people."""
        return f"the strategy {type(self).__name__.lower()} asked for it"

    def ruled_out(self) -> dict[str, str]:
        """Return the learners that will not be selected any more, each with the reason as a clause for people."""
        winner = self.winner
        if winner is None:
            return {}
        return {name: self._lost_to(winner, name) for name in self.racing if name != winner}

    def _lost_to(self, winner: str, learner: str) -> str:
        """Return why the race went to the winner and not to this learner."""
        best, own = float(self._at_full[winner]), self.priority(learner)
        if own is None or own <= best:
            compared = "" if own is None else f", and its own priority of {score_text(float(own))} is not higher"
            return f"{winner} has {score_text(best)} on all rows{compared}"
        return (
            f"{winner} got all rows first; the priority {score_text(float(own))} of {learner} was not the highest then"
        )

    def curve(self, learner: str) -> Curve:
        """Return what has been measured of the learner."""
        self._check_known(learner)
        return self._curves[learner]

    @property
    def settings(self) -> dict[str, Any]:
        """Plain JSON values; two strategies with the same settings ask the same."""
        return {
            "strategy": type(self).__name__.lower(),
            "sizes": list(self.schedule.sizes),
            "learners": list(self.learners),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return a new strategy with these settings."""
        given = {
            each.name: settings.get(each.name, each.default) for each in cls.parameters
        }  # older journals lack some
        if cls.needs_scores and "scores" in settings:
            given["scores"] = Scores.from_json(settings["scores"])
        return cls(settings["learners"], Schedule(tuple(settings["sizes"])), **given)

    def __repr__(self) -> str:
        shown = {**self.settings, "learners": len(self.learners)}
        return f"<{', '.join(f'{name} {value}' for name, value in shown.items())}>"

    def _check_known(self, learner: str) -> None:
        if learner not in self._curves:
            advice = did_you_mean(learner, map(repr, self.learners))
            raise InputError(f"`learner` must be one of the strategy's {len(self.learners)}, got {learner!r}.{advice}")

    def _reach(self, learner: str, score: float) -> None:
        """Take note of a learner's score at the full size."""
        self._at_full[learner] = score
        self._best_at_full = score if self._best_at_full is None else max(self._best_at_full, score)

    def _next(self) -> Allocation | None:
        return self._choose()

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes of the schedule that this strategy may ask for, the full size included."""
        return sizes

    @abstractmethod
    def _choose(self) -> Allocation | None:
        """Return what to ask, or None when no learner is left. Called only while not done."""

    @abstractmethod
    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        """Take in an outcome whose measurement is already in the curve; if this raises, it must change nothing."""

    @abstractmethod
    def _done(self) -> bool:
        """Return whether the best learner at the full size is the answer."""
