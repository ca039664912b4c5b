"""Regret (Definitions 1 to 3 of the paper), measured: what a run spent on learners that turned out to be worse."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.records import Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydaub.records import Outcome
    from pydaub.runs.result import Result

DELTA: Final = 0.01
UNLIKELY: Final = 0.05  # the chance up to which a learner counts as worse
DIGITS: Final = 12  # of a difference of scores: a gap of exactly delta counts, and floats are not exact


@dataclass(frozen=True, slots=True)
class Regret:
    """The training time of a run that went to (N, delta)-suboptimal learners.

    Attributes
    ----------
    delta
        How much a learner must be worse than the best one on all rows to be suboptimal.
    suboptimal
        The number of suboptimal learners, those without a score on all rows included.
    learners
        The number of all learners.
    seconds
        The regret.
    share
        The regret as a share of all training time.
    relative
        The regret divided by the number of learners and by the time of the selected one, which must vanish as N grows
        (condition 4 of Definition 3); None if none was selected, or if its training took no time.
    """

    delta: float
    suboptimal: int
    learners: int
    seconds: float
    share: float
    relative: float | None

    @property
    def sentence(self) -> str:
        """The regret in words."""
        spent = f"{100 * self.share:.0f} % of the training time ({self.seconds:,.1f} s)"
        whom = f"learners that are at least {self.delta:g} worse than the best on all rows"
        return f"Regret: {spent} went to {whom} ({self.suboptimal:,} of {self.learners:,})."

    def to_json(self) -> dict[str, Any]:
        """Return the attributes as plain JSON values."""
        return asdict(self)


def regret(result: Result, full: Mapping[str, Outcome | None], delta: float = DELTA) -> Regret | None:
    """Return the regret of a run, given the outcome of each learner on all rows.

    A learner that failed there has no score, can never be selected, and counts as suboptimal. None if an outcome is
    unknown, or if no learner has a score.
    """
    check_delta(delta)
    if any(full.get(step.allocation.learner) is None for step in result.steps) or None in full.values():
        return None
    worse = suboptimal(full, delta)
    if len(worse) == len(full):
        return None
    spent = _seconds(result, worse)
    own = _seconds(result, {result.selected})
    relative = spent / (len(full) * own) if own else None
    return Regret(delta, len(worse), len(full), spent, spent / result.seconds if result.seconds else 0.0, relative)


@dataclass(frozen=True, slots=True)
class Spent:
    """The training time of a finished run that went to learners that are worse, as far as the run can tell.

    Attributes
    ----------
    delta
        How much worse than the best of those with all rows.
    worse
        The number of learners that are: by their score on all rows, because they failed, or, with fewer rows, because
        it is likely with 95 % by their forecast.
    open
        The number of other learners with fewer rows: they may be worse or not.
    learners
        The number of all learners that were trained.
    seconds, share
        The time of those that are worse, and as a share of all training time.
    open_share
        The share of those that are open.
    """

    delta: float
    worse: int
    open: int
    learners: int
    seconds: float
    share: float
    open_share: float

    @property
    def sentence(self) -> str:
        """The time in words."""
        spent = f"{100 * self.share:.0f} % of the training time ({self.seconds:,.1f} s)"
        whom = f"{self.worse} of {self.learners} learners that are at least {self.delta:g} worse than the best"
        rest = f" Of learners with {100 * self.open_share:.0f} % it is open." if self.open else ""
        return f"{spent} went to {whom}. Where they had fewer than all rows, this is 95 % certain.{rest}"

    def to_json(self) -> dict[str, Any]:
        """Return the attributes and the sentence as plain JSON values."""
        return {**asdict(self), "sentence": self.sentence}


def spent_on_worse(result: Result, chance_above: Callable[[str, float], float], delta: float = DELTA) -> Spent | None:
    """Return what a finished run spent on learners that are worse; None where nobody has all rows, or is alone.

    `chance_above` says how likely a learner with fewer rows than all would have more than a score on all of them.
    """
    check_delta(delta)
    trained = {step.allocation.learner for step in result.steps}
    at_full = {
        step.allocation.learner: step.outcome.valid_score
        for step in result.steps
        if step.allocation.size == result.full_size and isinstance(step.outcome, Measurement)
    }
    if len(trained) == 1 or not at_full or not result.seconds:
        return None
    best = max(at_full.values())
    worse = {name for name, score in at_full.items() if round(best - score, DIGITS) >= delta}
    worse |= trained & result.failures.keys()
    rest = trained - worse - at_full.keys()
    worse |= {name for name in rest if chance_above(name, best - delta) <= UNLIKELY}
    unknown = rest - worse
    spent, unjudged = _seconds(result, worse), _seconds(result, unknown)
    whole = result.seconds
    return Spent(delta, len(worse), len(unknown), len(trained), spent, spent / whole, unjudged / whole)


def meaning(delta: float) -> str:
    """Return what the shares in a table are, in words."""
    return f"Regret: the training time of learners that are at least {delta:g} worse than the best on all rows."


def regrets(results: Mapping[str, Result], delta: float = DELTA) -> dict[str, Regret | None]:
    """Return the regret of each strategy, by its name; None where not every learner was trained on all rows."""
    everything = results.get("full")
    full = (
        {}
        if everything is None or everything.stopped
        else {step.allocation.learner: step.outcome for step in everything.steps}
    )
    return {name: regret(result, full, delta) for name, result in results.items()}


def suboptimal(full: Mapping[str, Outcome | None], delta: float) -> set[str]:
    """Return the learners that are at least delta below the best score on all rows, or have none (Definition 1)."""
    scores = {name: outcome.valid_score for name, outcome in full.items() if isinstance(outcome, Measurement)}
    best = max(scores.values(), default=0.0)
    return {name for name in full if name not in scores or round(best - scores[name], DIGITS) >= delta}


def check_delta(delta: float) -> None:
    """Raise `InputError` unless delta can be a difference of scores."""
    if not 0 < delta < float("inf"):
        raise InputError(f"`regret_delta` must be a number greater than 0, got {delta}.")


def _seconds(result: Result, learners: Iterable[str | None]) -> float:
    chosen = set(learners)
    return sum((step.outcome.seconds for step in result.steps if step.allocation.learner in chosen), start=0.0)
