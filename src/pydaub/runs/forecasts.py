"""What every learner of a run will probably score on all rows, by what was measured: the same wherever it is shown."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from pydaub.algorithm.curve import Curve
from pydaub.algorithm.experience import LEVELS, WEIGHTS
from pydaub.algorithm.field import Field, margin, none_better
from pydaub.algorithm.seconds import USUAL_GROWTH
from pydaub.records import Measurement
from pydaub.runs.paired import standard_error
from pydaub.runs.result import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydaub.algorithm.field import Contender
    from pydaub.algorithm.forecast import Forecast
    from pydaub.algorithm.seconds import Growth
    from pydaub.records import Scores
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result

LEAST: Final = 1e-4  # chance of a learner that counts
NOISE_OF: Final = 10  # learners with all rows, the best ones, that tell how noisy a score is


class Forecasts:
    """The forecasts of a run at one moment, whatever its strategy: they are made from curves alone.

    A learner that has had all rows is never forecast, also if that was ahead of its turn. Other outcomes that were
    evaluated ahead count until the run has ended: what it claims then must not depend on the number of workers.

    Parameters
    ----------
    result
        The run.
    scores
        What its scores are.
    families
        The family of each learner that has one.
    growth
        Returns how a learner grows.
    """

    def __init__(
        self,
        result: Result,
        scores: Scores,
        families: Mapping[str, str],
        growth: Callable[[str], Growth] = lambda _: USUAL_GROWTH,
    ) -> None:
        self.steps = curves_of(result, with_guesses=True)
        self.at_full = {
            name: score_of(steps[-1])
            for name, steps in self.steps.items()
            if steps[-1].allocation.size == result.full_size
        }
        counted = curves_of(result) if result.stopped is None else self.steps
        self.curves = curves = {name: _curve(name, steps) for name, steps in counted.items()}
        points = sorted((size, name) for name, curve in curves.items() for size in curve.sizes)
        sizes = sorted({result.full_size, *(size for size, _ in points)})
        self._field = Field(curves, sizes, families.get, scores, growth)
        for size, name in points:
            self._field.take(name, curves[name].sizes.index(size) + 1)
        self._field.noise = 0.0 if scores.proportion else self._noise()
        self._known: dict[str, Forecast | None] = {}

    def of(self, learner: str) -> Forecast | None:
        """Return the forecast of a learner on all rows; None if it has had them, or was never measured."""
        if learner not in self._known:
            self._known[learner] = self._field.forecast(learner) if self._ahead(learner) else None
        return self._known[learner]

    def with_rows(self, learner: str, rows: int) -> Forecast:
        """Return the forecast of a learner with more rows than it has had."""
        return self._field.forecast_to(learner, rows)

    def likely_with(self, learner: str, rows: int) -> float:
        """Return the score that a measured learner will probably have with so many rows."""
        last = self.steps[learner][-1]
        return score_of(last) if last.allocation.size >= rows else self.with_rows(learner, rows).likely

    def chances(self, leader: str, others: Iterable[str]) -> dict[str, float]:
        """Return for each of these learners without all rows how likely it will beat the leader on all rows.

        The likeliest comes first; of equals, the one with the higher score at 95 %.
        """
        own = self._contender(leader)
        known = {name: found for name in others if (found := self._contender(name)) is not None}
        chances = {name: each.beats(self.at_full[leader] if own is None else own) for name, each in known.items()}
        return dict(sorted(chances.items(), key=lambda each: (-each[1], -known[each[0]].forecast.bound)))

    def chance_above(self, learner: str, score: float) -> float:
        """Return how likely a learner without all rows would have more than this with them; 1 if nothing is known."""
        found = self._contender(learner)
        return 1.0 if found is None else found.beats(score)

    def change(self, leader: str, others: Iterable[str]) -> float:
        """Return how likely one of these learners without all rows will be better on all rows than the leader."""
        known = self.chances(leader, others)
        own, rivals = self._contender(leader), self._rivals(name for name, chance in known.items() if chance > LEAST)
        scores = [self.at_full[leader]] if own is None else [own.forecast.quantile(level) for level in LEVELS]
        weights = [1.0] if own is None else WEIGHTS
        none = sum(weight * none_better(rivals, score) for weight, score in zip(weights, scores, strict=True))
        return min(max(1 - none, *known.values(), 0.0), 1.0)

    def none_better(self, leader: str, others: Iterable[str], lead: float = 0.0) -> float:
        """Return the chance that none of these learners is better on all rows than the leader, which had them."""
        score, others = self.at_full[leader] + lead, [*others]
        if any(self.at_full.get(name, -math.inf) > score for name in others):
            return 0.0
        return none_better(self._rivals(others), score)

    def margin(self, leader: str, others: Iterable[str], confidence: float) -> float:
        """Return by how much the best of these learners is better on all rows at most, with this confidence."""
        score, others = self.at_full[leader], [*others]
        ahead = max((self.at_full[name] - score for name in others if name in self.at_full), default=0.0)
        return max(ahead, margin(self._rivals(others), score, self._field.scale.top - score, confidence))

    def _rivals(self, others: Iterable[str]) -> list[Contender]:
        return [found for name in others if (found := self._contender(name)) is not None]

    def _contender(self, learner: str) -> Contender | None:
        return self._field.contender(learner) if self._ahead(learner) else None

    def _ahead(self, learner: str) -> bool:
        """Return whether a learner has been measured, but not on all rows."""
        return learner in self.curves and learner not in self.at_full

    def _noise(self) -> float:
        """Return the standard error of a learner's own of the logarithm of its error, from pairs of learners.

        That is the noise of the difference of two learners with all rows, over the square root of 2; 0 if unknown.
        """
        known = self.at_full.keys() & self.curves.keys()
        best = sorted(known, key=lambda name: (-self.at_full[name], name))[:NOISE_OF]
        parts = [self.steps[name][-1].outcome.parts for name in best]  # type: ignore[union-attr]  # measured
        pairs = [[a - b for a, b in zip(parts[0], each, strict=False)] for each in parts[1:] if each]
        errors = [found for each in pairs if (found := standard_error(each)) is not None]
        if not errors:
            return 0.0
        return median(errors) / math.sqrt(2) / self._field.error(self.at_full[best[0]])


_KNOWN: Final[WeakKeyDictionary[Account, tuple[tuple[int, ...], Forecasts]]] = WeakKeyDictionary()


def forecasts(account: Account) -> Forecasts:
    """Return the forecasts of a run as it stands; the same ones until something is measured."""
    version = len(account.steps), len(account.ahead), len(account.hurried)
    known = _KNOWN.get(account)
    if known is None or known[0] != version:
        known = version, Forecasts(account.result, account.scores, account.settings.get("families", {}), account.growth)
        _KNOWN[account] = known
    return known[1]


def curves_of(result: Result, *, with_guesses: bool = False) -> dict[str, list[Step]]:
    """Return each learner's measured steps by size, optionally with outcomes that were never asked for."""
    found: dict[str, list[Step]] = {}
    ahead = [Step(allocation, outcome, None) for allocation, outcome in result.speculated.items()]
    steps = [*result.steps, *(ahead if with_guesses else [])]
    for step in sorted(steps, key=lambda step: step.allocation.size):
        if isinstance(step.outcome, Measurement):
            found.setdefault(step.allocation.learner, []).append(step)
    return found


def score_of(step: Step) -> float:
    """Return the validation score of a step; a failure has none."""
    return step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf


def _curve(name: str, steps: Sequence[Step]) -> Curve:
    outcomes = tuple(step.outcome for step in steps if isinstance(step.outcome, Measurement))
    return Curve(name, tuple(step.allocation.size for step in steps), outcomes)
