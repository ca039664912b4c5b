"""How many validation rows are enough: what a run tells about dividing its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.strategies import PARAMETERS
from pydaub.errors import InputError
from pydaub.records import VALIDATION_ROWS, Measurement, score_text
from pydaub.runs.certificate import Prospect, prospect
from pydaub.runs.forecasts import curves_of, forecasts
from pydaub.runs.paired import standard_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.records import Scores
    from pydaub.runs.account import Account
    from pydaub.runs.result import Step

SURENESS: Final = 1.96 + 0.84  # standard errors: a true difference is found at the 5 % level in 8 of 10 cases
NINE_OF_TEN: Final = 1.645  # standard errors around a score
LEAST: Final = 1_000  # validation rows; fewer would make the score of the selected learner itself too uncertain
MOST: Final = 10**15  # validation rows; no data set has more, and a tiny delta would need infinitely many


@dataclass(frozen=True, slots=True)
class Advice:
    """How to divide the rows of a run between training and validation.

    Parameters
    ----------
    selected, score
        The learner that the run selected, and its score.
    compared
        How many others with all training rows come close: within delta, or too close to be told from it. 0 if none does
        and the noise was estimated from its score; 1 if it is that of the closest other.
    delta
        The difference of scores that should be told from chance.
    train_rows, valid_rows
        How the run divided its rows.
    detectable
        The smallest difference from these that its validation rows tell from chance in 8 of 10 cases.
    needed
        Validation rows that do so for delta, and for each other learner that is farther behind; at least 1,000 if
        there are as many.
    prospect
        What the selected learner would probably reach with the other rows in training, which may be fewer than in the
        run; None if that is unknown.
    """

    selected: str
    score: float
    compared: int
    delta: float
    train_rows: int
    valid_rows: int
    detectable: float
    needed: int
    prospect: Prospect | None

    @property
    def fraction(self) -> float:
        """Share of all rows for validation."""
        return self.needed / (self.train_rows + self.valid_rows)

    @property
    def sentences(self) -> list[str]:
        """The advice in words."""
        delta = score_text(self.delta)
        others = f"any of the {self.compared} closest others" if self.compared > 1 else "the closest other learner"
        others = others if self.compared else "one that shares half of its errors"
        seen = (
            f"{self.valid_rows:,} validation rows tell a difference of {score_text(self.detectable)} from chance in"
            f" 8 of 10 cases ({self.selected} against {others})."
        )
        rows = self.train_rows + self.valid_rows
        if self.needed >= rows:
            enough = f"For a difference of {delta}, all {rows:,} rows would not be enough."
        else:
            above = f" --validation-rows {self.needed}" if self.needed > VALIDATION_ROWS else ""
            option = f"--validation-fraction {self.fraction:.2g}{above}"
            enough = f"For a difference of {delta}, {self.needed:,} validation rows are enough ({option})."
        if self.prospect is None:
            return [seen, enough]
        found = self.prospect
        reach = f"{score_text(found.score)} ({score_text(found.low)} to {score_text(found.high)})"
        if found.rows >= self.train_rows:
            more = self.valid_rows - self.needed
            return [seen, enough, f"Training on the other {more:,} too would probably give {reach}."]
        less = f"That leaves {found.rows:,} for training: probably {reach} instead of {score_text(self.score)}."
        return [seen, f"{enough} {less}", "Better have more rows than take them from training."]


def advise(account: Account, delta: float | None = None) -> Advice:
    """Return the advice that a run gives.

    The noise of a difference is measured by pairs: the selected learner and each other one with all rows were scored on
    the same blocks of validation rows. A learner that is far behind makes other errors, so its difference is noisier,
    but so large that few rows show it. If none comes close, the standard error of the selected learner's score is used
    (exact for two learners that share half of their errors), or that of the closest learner if it is smaller.

    Parameters
    ----------
    account
        A run in which a learner had all training rows.
    delta
        The difference of scores that should be told from chance. By default that of the run, or `frugal`'s default.
    """
    found, scores = curves_of(account.result), account.scores
    full = {
        name: curve[-1].outcome
        for name, curve in found.items()
        if curve[-1].allocation.size == account.full_size and isinstance(curve[-1].outcome, Measurement)
    }
    leader = account.leader.learner if account.leader else ""
    if leader not in full:
        raise InputError("Advice needs a run in which a learner had all training rows. Let the run finish first.")
    if scores.cross_validated or not scores.rows:
        why = (
            "has none: it cross-validated"
            if scores.cross_validated
            else "does not know them: its learners are commands"
        )
        raise InputError(f"Advice must be about validation rows, and this run {why}.")
    own = full[leader]
    pairs = [
        (own.valid_score - each.valid_score, _error(own.parts, each.parts))
        for name, each in full.items()
        if name != leader and len(each.parts) == len(own.parts) > 0
    ]
    if delta is None:
        if scores.top != 1.0:
            raise InputError(f"`delta` must be given for {scores.name}, as a difference of scores.")
        delta = float(account.strategy.settings.get("delta", PARAMETERS["delta"].default))
    most = 1.0 if scores.proportion else math.inf
    if not 0 < delta < most:
        raise InputError(f"`delta` must be greater than 0 and less than {most:g}, got {delta}.")
    assumed = scores.standard_error(account.full_size, own)
    if assumed is not None:  # learners that differ by delta disagree on at least so many rows, also if one is perfect
        counted = scores.noise_rows(account.full_size, own.scored) or scores.rows
        assumed = max(assumed, math.sqrt(delta * (1 - delta) / counted))
    compared, error = _noise(pairs, delta, assumed)
    if error is None:
        raise InputError(f"Advice needs the noise of the scores, which is not known for {scores.name} in this run.")
    ratio = max(SURENESS * noise / max(gap, delta) for gap, noise in [*pairs, (delta, error)])
    needed = max(math.ceil(min(scores.rows * ratio * ratio, MOST)), min(LEAST, scores.rows))
    rows = account.full_size + scores.rows - needed
    later = None
    if rows > account.full_size and len(found[leader]) > 1:
        later = prospect(forecasts(account).with_rows(leader, rows), own.valid_score, rows, scores)
    elif rows < account.full_size:
        later = _with_fewer(found[leader], rows, scores)
    told = SURENESS * error
    return Advice(leader, own.valid_score, compared, delta, account.full_size, scores.rows, told, needed, later)


def _noise(pairs: list[tuple[float, float]], delta: float, assumed: float | None) -> tuple[int, float | None]:
    """Return the standard error of a difference from learners that come close, after how many pairs it is from."""
    close = [error for gap, error in pairs if gap < max(delta, SURENESS * error)]
    if not close and pairs and (assumed is None or min(pairs)[1] < assumed):
        close = [min(pairs)[1]]
    return len(close), max(close, default=assumed)


def _with_fewer(curve: Sequence[Step], rows: int, scores: Scores) -> Prospect | None:
    """Return what a learner has probably reached with fewer rows: by the measured sizes below and above."""
    known = [(step.allocation.size, step.outcome) for step in curve if isinstance(step.outcome, Measurement)]
    below = [(size, outcome) for size, outcome in known if size <= rows]
    if not below:
        return None
    (size, first), (next_size, second) = below[-1], next(each for each in known if each[0] > rows)
    share = math.log(rows / size) / math.log(next_size / size)
    score = (1 - share) * first.valid_score + share * second.valid_score
    noise = NINE_OF_TEN * (scores.standard_error(size, first) or 0.0)
    top = math.inf if scores.top is None else scores.top
    return Prospect(rows, score, max(score - noise, scores.bottom), min(score + noise, top))


def _error(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the standard error of the difference of two learners on the same blocks."""
    found = standard_error([a - b for a, b in zip(first, second, strict=True)])
    if found is None:
        raise InputError(f"Advice needs more validation rows: {len(first)} are too few to estimate their noise.")
    return found
