"""The leader against the others at any moment: the noise of its score, who is tied with it, who could overtake it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.forecast import Scale
from pydaub.algorithm.prospects import Rival, Trace
from pydaub.records import Measurement
from pydaub.runs.account import GOING_ON, SURE
from pydaub.runs.paired import standard_error, told_apart
from pydaub.runs.ratios import OVERTAKES_MEANWHILE
from pydaub.runs.result import Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.records import Allocation, Scores
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result

FEW_ROWS: Final = 60  # fewer that decide about a score do not tell how noisy it is
POSSIBLE: Final = 0.05  # a learner with at least this chance could overtake the leader


@dataclass(frozen=True, slots=True)
class Contest:
    """The leader against the others.

    Parameters
    ----------
    leader, measured
        The learner with its size, and what was measured of it.
    error
        Standard error of its score; None if unknown.
    rows
        The number of rows of which the score is the share that is right; None if it is another score.
    behind
        By how much the other learners with the same size score less, in ascending order.
    ties
        Those that its validation rows do not tell apart from it.
    if_selected
        The chance of each learner with fewer than all rows to be better on all rows, in descending order, as it would
        be if the leader were selected now.
    finished
        Whether it is selected. Until then chances are higher: a leader has not stood its trial.
    unmeasured
        How many learners have not been measured yet.
    """

    leader: Allocation
    measured: Measurement
    error: float | None = None
    rows: int | None = None
    behind: Mapping[str, float] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    if_selected: Mapping[str, float] = field(default_factory=dict)
    finished: bool = False
    unmeasured: int = 0

    @property
    def chances(self) -> dict[str, float]:
        """The chance of each learner with fewer than all rows to be better on all rows, in descending order."""
        if self.finished:
            return dict(self.if_selected)
        factor, exponent = OVERTAKES_MEANWHILE
        return {name: min(factor * chance**exponent, 1.0) for name, chance in self.if_selected.items()}

    @property
    def possible(self) -> list[str]:
        """The learners that could overtake the leader, the likeliest first."""
        return [name for name, chance in self.chances.items() if chance >= POSSIBLE]


def contest(account: Account) -> Contest | None:
    """Return the leader against the others; None where nobody leads."""
    leader, state, strategy, scores = account.leader, account.state, account.strategy, account.scores
    measured = None if leader is None else account.outcomes.get(leader)
    if leader is None or not isinstance(measured, Measurement):
        return None
    found = curves_of(account.result, with_guesses=state != "finished")
    ruled_out = strategy.ruled_out() if state in GOING_ON and strategy.winner is None else {}
    out = {*strategy.failures, *strategy.dropped, leader.learner, *ruled_out}
    others = [name for name in account.tried if name not in out]
    known, error = scores.standard_error(leader.size, measured), standard_error(measured.parts)
    if error is None or (known is not None and scores.right_rows(leader.size, measured.scored)):
        error = known  # exact for a share of rows, and an approximation for other scores
    elif known is not None and (scores.noise_rows(leader.size, measured.scored) or FEW_ROWS) < FEW_ROWS:
        error = max(error, known)  # the blocks of a few rows may be alike by chance
    behind = {
        name: measured.valid_score - score_of(step)
        for name in others
        for step in found.get(name, ())
        if step.allocation.size == leader.size
    }
    alike = {name: step.outcome for name in behind for step in found[name] if step.allocation.size == leader.size}
    return Contest(
        leader,
        measured,
        error,
        scores.right_rows(leader.size, measured.scored),
        dict(sorted(behind.items(), key=lambda each: each[1])),
        tuple(name for name in sorted(behind, key=behind.__getitem__) if _tied(measured, alike[name], error)),
        _chances(account, found, others),
        state == "finished",
        sum(name not in found for name in others),
    )


def _tied(first: Measurement, second: object, error: float | None) -> bool:
    if not isinstance(second, Measurement):
        return False
    if first.parts and len(first.parts) == len(second.parts):
        return not told_apart(first.parts, second.parts)
    return error is not None and first.valid_score - second.valid_score <= SURE * error


def _chances(account: Account, found: Mapping[str, Sequence[Step]], others: Sequence[str]) -> dict[str, float]:
    leader, full = account.leader, account.full_size
    rivals = [name for name in others if name in found and found[name][-1].allocation.size < full]
    if leader is None or leader.learner not in found or not rivals:
        return {}
    errors = traces_of(found, account.scores)
    known = {name: Rival.of(errors[name], errors[leader.learner], full) for name in rivals}
    chances = {name: rival.chance() for name, rival in known.items()}
    return dict(sorted(chances.items(), key=lambda each: (-each[1], known[each[0]].behind)))


def curves_of(result: Result, *, with_guesses: bool = False) -> dict[str, list[Step]]:
    """Return each learner's measured steps by size, optionally with outcomes that were never asked for."""
    found: dict[str, list[Step]] = {}
    ahead = [Step(allocation, outcome, None) for allocation, outcome in result.speculated.items()]
    steps = [*result.steps, *(ahead if with_guesses else [])]
    for step in sorted(steps, key=lambda step: step.allocation.size):
        if isinstance(step.outcome, Measurement):
            found.setdefault(step.allocation.learner, []).append(step)
    return found


def traces_of(found: Mapping[str, Sequence[Step]], scores: Scores) -> dict[str, Trace]:
    """Return the errors of each learner."""
    best = max(score_of(step) for curve in found.values() for step in curve)
    top = Scale.of(scores.top, best, sorted(score_of(curve[0]) for curve in found.values())).top
    return {
        name: Trace.of(
            {step.allocation.size: score_of(step) for step in curve},
            top,
            scores.noise_rows(curve[-1].allocation.size, getattr(curve[-1].outcome, "scored", None)) or scores.rows,
            proportion=scores.proportion,
        )
        for name, curve in found.items()
    }


def score_of(step: Step) -> float:
    """Return the validation score of a step; a failure has none."""
    return step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf
