"""How a run stands, worked out once for everything that shows it: values, for which views find the words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from pydaub.records import Measurement
from pydaub.runs.account import GOING_ON, SURE
from pydaub.runs.forecasts import curves_of, forecasts, score_of
from pydaub.runs.paired import standard_error, told_apart
from pydaub.runs.remaining import Remaining, fraction, remaining

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.records import Allocation, Scores
    from pydaub.runs.account import Account

FEW_ROWS: Final = 60  # fewer that decide about a score do not tell how noisy it is
POSSIBLE: Final = 0.05  # a learner with at least this chance could still be better
LIMITS: Final = {"timeout": "learner_timeout", "memory": "learner_memory"}  # options that a retry may raise
Advice: TypeAlias = Literal["wait", "resume", "continue", "retry", "look", "predict"]  # the next useful step


@dataclass(frozen=True, slots=True)
class Missed:
    """A learner that failed.

    Parameters
    ----------
    learner, kind, message
        Who failed, and how.
    chance
        How likely it was to be better than the leader on all rows, by what had been measured of it; 0 if nothing was.
    score, size
        Its last score, and the rows it had; None and 0 if nothing was measured.
    """

    learner: str
    kind: str
    message: str
    chance: float = 0.0
    score: float | None = None
    size: int = 0

    @property
    def option(self) -> str | None:
        """The limit that it exceeded, which can be raised; None if it failed otherwise."""
        return LIMITS.get(self.kind)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands.

    Parameters
    ----------
    state
        The state of the run.
    learners
        How many learners there are.
    leader, measured
        The learner that leads or is selected with its size, and what was measured of it; None where nobody leads.
    error
        Standard error of its score; None if unknown.
    rows
        The number of rows of which the score is the share that is right; None if it is another score.
    behind
        By how much the other learners with the same size score less, in ascending order.
    ties
        Those that its validation rows do not tell apart from it.
    chances
        How likely each learner with fewer than all rows is to be better on all rows, in descending order. Learners that
        failed or were dropped have no chance.
    change
        How likely at least one of these will be better.
    unmeasured
        How many learners have not been measured yet.
    failed
        The learners that failed: first those that were the likeliest to win.
    used, training
        The seconds that have passed, and those of training.
    left, fraction
        What is probably left, and which share of the time has passed; None if unknown.
    everything
        About how many seconds training every learner that can be trained on all rows takes; None if unknown.
    """

    state: str
    learners: int = 0
    leader: Allocation | None = None
    measured: Measurement | None = None
    error: float | None = None
    rows: int | None = None
    behind: Mapping[str, float] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    chances: Mapping[str, float] = field(default_factory=dict)
    change: float = 0.0
    unmeasured: int = 0
    failed: tuple[Missed, ...] = ()
    used: float = 0.0
    training: float = 0.0
    left: Remaining | None = None
    fraction: float | None = None
    everything: float | None = None

    @property
    def score(self) -> float | None:
        """The leader's score."""
        return None if self.measured is None else self.measured.valid_score

    @property
    def possible(self) -> list[str]:
        """The learners that could still be better than the leader, the likeliest first."""
        return [name for name, chance in self.chances.items() if chance >= POSSIBLE]

    @property
    def missed(self) -> list[Missed]:
        """The failures that matter: of learners that could have won."""
        return [each for each in self.failed if each.chance >= POSSIBLE]

    @property
    def next(self) -> Advice:
        """The next useful step."""
        if self.state == "running":
            return "wait"
        if self.state == "paused":
            return "resume"
        if self.state == "failed":
            return "look"
        if self.state == "finished":
            return "retry" if self.missed else "predict"
        return "continue"

    def to_json(self) -> dict[str, Any]:
        """Return the standing as plain JSON values."""
        return {
            "state": self.state,
            "leader": self.leader and self.leader.learner,
            "size": self.leader and self.leader.size,
            "score": self.score,
            "noise": self.error,
            "ties": list(self.ties),
            "rivals": {name: self.chances[name] for name in self.possible},
            "change": self.change,
            "unmeasured": self.unmeasured,
            "failed": [
                {"learner": each.learner, "kind": each.kind, "chance": each.chance, "raise": each.option}
                for each in self.failed
            ],
            "seconds_used": self.used,
            "seconds_of_training": self.training,
            "seconds_left": None if self.left is None else [self.left.low, self.left.high],
            "fraction": self.fraction,
            "next": self.next,
        }


_KNOWN: Final[WeakKeyDictionary[Account, tuple[tuple[Any, ...], Standing]]] = WeakKeyDictionary()


def standing(account: Account, elapsed: float | None = None) -> Standing:
    """Return how a run stands, after so many seconds; without them, at its last event."""
    version = (
        *(len(each) for each in (account.decisions, account.steps, account.ahead, account.hurried, account.learners)),
        *(account.clock, account.until, account.held, account.paused, elapsed),
        *(account.strategy.dropped, frozenset(account.strategy.failures), tuple(account.running)),
    )
    known = _KNOWN.get(account)
    if known is None or known[0] != version:
        known = version, _standing(account, elapsed)
        _KNOWN[account] = known
    return known[1]


def _standing(account: Account, elapsed: float | None) -> Standing:
    left = remaining(account, elapsed)
    going = account.state in GOING_ON
    return Standing(
        state=account.state,
        learners=len(account.learners),
        **_contest(account),
        failed=_failed(account),
        used=max(account.clock, elapsed or 0.0) if going else account.clock,
        training=sum(step.outcome.seconds for step in account.result.steps),
        left=left,
        fraction=fraction(account, left, elapsed),
        everything=account.full_seconds(),
    )


def _contest(account: Account) -> dict[str, Any]:
    """Return the leader against the others; nothing where nobody leads."""
    leader, strategy, scores = account.leader, account.strategy, account.scores
    measured = None if leader is None else account.outcomes.get(leader)
    if leader is None or not isinstance(measured, Measurement):
        return {}
    ahead = forecasts(account)
    # What a finished run claims must not depend on what was guessed.
    found = curves_of(account.result) if account.state == "finished" else ahead.steps
    ruled_out = strategy.ruled_out() if account.state in GOING_ON and strategy.winner is None else {}
    out = {*strategy.failures, *strategy.dropped, leader.learner, *ruled_out}
    others = [name for name in account.tried if name not in out]
    error = noise_of(scores, leader.size, measured)
    same = {name: step for name in others for step in found.get(name, ()) if step.allocation.size == leader.size}
    gaps = {name: measured.valid_score - score_of(step) for name, step in same.items()}
    ties = {name for name, step in same.items() if _tied(measured, step.outcome, error)}
    # One that was evaluated ahead of its turn may be better; the certificate says so.
    behind = {name: gap for name, gap in sorted(gaps.items(), key=lambda each: each[1]) if gap >= 0 or name in ties}
    chances = ahead.chances(leader.learner, others)
    return {
        "leader": leader,
        "measured": measured,
        "error": error,
        "rows": scores.right_rows(leader.size, measured.scored),
        "behind": behind,
        "ties": tuple(name for name in behind if name in ties),
        "chances": chances,
        "change": ahead.change(leader.learner, chances),
        "unmeasured": sum(name not in ahead.steps for name in others),
    }


def noise_of(scores: Scores, size: int, measured: Measurement) -> float | None:
    """Return the standard error of a score; None if unknown."""
    known, error = scores.standard_error(size, measured), standard_error(measured.parts)
    if error is None or (known is not None and scores.right_rows(size, measured.scored)):
        return known  # exact for a share of rows, and an approximation for other scores
    if known is not None and (scores.noise_rows(size, measured.scored) or FEW_ROWS) < FEW_ROWS:
        return max(error, known)  # the blocks of a few rows may be alike by chance
    return error


def _tied(first: Measurement, second: object, error: float | None) -> bool:
    if not isinstance(second, Measurement):
        return False
    if first.parts and len(first.parts) == len(second.parts):
        return not told_apart(first.parts, second.parts)
    return error is not None and first.valid_score - second.valid_score <= SURE * error


def _failed(account: Account) -> tuple[Missed, ...]:
    """Return the learners that failed and were not dropped, those first that were the likeliest to win."""
    failures, leader = account.strategy.failures, account.leader
    names = [name for name in failures if name not in account.strategy.dropped]
    if not names:
        return ()
    ahead = forecasts(account)
    chances = {} if leader is None or leader.learner in names else ahead.chances(leader.learner, names)
    found = []
    for name in names:
        last = ahead.steps[name][-1] if name in ahead.steps else None
        score, size = (score_of(last), last.allocation.size) if last else (None, 0)
        failure = failures[name]
        found.append(Missed(name, failure.kind, failure.message, chances.get(name, 0.0), score, size))
    return tuple(sorted(found, key=lambda each: -each.chance))
