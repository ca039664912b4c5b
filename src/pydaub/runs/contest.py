"""The leader against the others at any moment: the noise of its score, who is tied with it, who could overtake it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydaub.records import Measurement
from pydaub.runs.account import GOING_ON, SURE
from pydaub.runs.forecasts import forecasts, score_of
from pydaub.runs.paired import standard_error, told_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.records import Allocation
    from pydaub.runs.account import Account

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
    chances
        How likely each learner with fewer than all rows is to be better on all rows, in descending order.
    unmeasured
        How many learners have not been measured yet.
    """

    leader: Allocation
    measured: Measurement
    error: float | None = None
    rows: int | None = None
    behind: Mapping[str, float] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    chances: Mapping[str, float] = field(default_factory=dict)
    unmeasured: int = 0

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
    ahead = forecasts(account)
    found = ahead.steps
    ruled_out = strategy.ruled_out() if state in GOING_ON and strategy.winner is None else {}
    out = {*strategy.failures, *strategy.dropped, leader.learner, *ruled_out}
    others = [name for name in account.tried if name not in out]
    known, error = scores.standard_error(leader.size, measured), standard_error(measured.parts)
    if error is None or (known is not None and scores.right_rows(leader.size, measured.scored)):
        error = known  # exact for a share of rows, and an approximation for other scores
    elif known is not None and (scores.noise_rows(leader.size, measured.scored) or FEW_ROWS) < FEW_ROWS:
        error = max(error, known)  # the blocks of a few rows may be alike by chance
    same = {name: step for name in others for step in found.get(name, ()) if step.allocation.size == leader.size}
    gaps = {name: measured.valid_score - score_of(step) for name, step in same.items()}
    ties = {name for name, step in same.items() if _tied(measured, step.outcome, error)}
    # One that was evaluated ahead of its turn may be better; the certificate says so.
    behind = {name: gap for name, gap in sorted(gaps.items(), key=lambda each: each[1]) if gap >= 0 or name in ties}
    return Contest(
        leader,
        measured,
        error,
        scores.right_rows(leader.size, measured.scored),
        behind,
        tuple(name for name in behind if name in ties),
        ahead.chances(leader.learner, others),
        sum(name not in found for name in others),
    )


def _tied(first: Measurement, second: object, error: float | None) -> bool:
    if not isinstance(second, Measurement):
        return False
    if first.parts and len(first.parts) == len(second.parts):
        return not told_apart(first.parts, second.parts)
    return error is not None and first.valid_score - second.valid_score <= SURE * error
