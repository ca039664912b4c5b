"""What a run may claim: what other learners could still reach, and how well the assumptions held.

DAUB's promise rests on learning curves that never fall and whose gains diminish (Definition 6 of the paper). Real
curves are noisy and some break these assumptions, so every measured curve is audited and the findings are reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from pydaub.records import Measurement
from pydaub.runs.result import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydaub.records import Scores
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result

LONG_ENOUGH: Final = 3  # points that a curve needs to be audited
NAMED: Final = 8  # learners that are named in a sentence


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of the selected learner against the others.

    Attributes
    ----------
    selected, score, size
        The selected learner, its validation score, and the size it reached it with.
    full_size
        The number of training rows.
    others
        How many other learners did not fail.
    ceiling, ceiling_learner
        The most that any other learner can have on all rows unless its curve gets steeper, and that learner; None where
        some learner has no bound.
    judged, short
        How many curves were long enough to be audited, and how many were too short.
    misbehaved
        What was found on which curve.
    tolerance
        Falls and rises up to this much count as noise.
    doubts
        Reasons not to trust the choice.
    sure
        Whether bounds hold for every curve that does not get steeper. Otherwise they are likely to hold.
    finished
        Whether the run came to its end. A run that was stopped has no certificate.
    """

    selected: str
    score: float
    size: int
    full_size: int
    others: int
    ceiling: float | None
    ceiling_learner: str | None
    judged: int
    short: int
    misbehaved: Mapping[str, str]
    tolerance: float
    doubts: tuple[str, ...]
    sure: bool = True
    finished: bool = True

    @property
    def sentences(self) -> list[str]:
        """The certificate for people."""
        return [self.choice, *([self.audit] if self.audit else []), *self.doubts]

    @property
    def choice(self) -> str:
        """What is claimed of the selected learner."""
        if self.size < self.full_size or not self.finished:
            why = "the run did not come to its end"
            if self.size < self.full_size:
                why = f"no learner has had all {self.full_size:,} rows"
            return (
                f"No certificate: {why}. The best score so far is {self.score:.4f}, by {self.selected} with"
                f" {self.size:,} rows."
            )
        if not self.others:
            return "There was no other learner to compare with."
        if self.ceiling is None:
            return "No certificate: some learners have no bound yet, so one of them could be better on all rows."
        several = self.others > 1
        what = f"None of the {self.others} other learners" if several else "The only other learner"
        if self.sure:
            can, unless, none = "can" if several else "cannot", " unless its curve gets steeper", "none can"
        else:
            can, unless, none = (
                "is likely to" if several else "is unlikely to",
                ", judging by its curve",
                "none is likely to",
            )
        most = f"{what} {can} exceed {self.ceiling:.4f} on all rows ({self.ceiling_learner}){unless}"
        if self.ceiling <= self.score:
            return f"Certificate: {most}; {none} overtake {self.selected}."
        return f"Certificate: {most}; that is at most {self.ceiling - self.score:.4f} more than {self.selected}."

    @property
    def audit(self) -> str:
        """How well the assumptions held; empty where no curve was long enough."""
        if not self.judged:
            return ""
        held = self.judged - len(self.misbehaved)
        found = ", ".join(f"{name} ({what})" for name, what in list(self.misbehaved.items())[:NAMED])
        more = f" and {len(self.misbehaved) - NAMED} more" if len(self.misbehaved) > NAMED else ""
        short = f" Too short to judge: {self.short} more, with fewer than {LONG_ENOUGH} sizes." if self.short else ""
        return (
            "The assumptions (scores do not fall, gains diminish, no score exceeds its bound) held for"
            f" {held} of {self.judged} curves, allowing for noise of {self.tolerance:.4f}"
            + (f". Exceptions: {found}{more}." if self.misbehaved else ".")
            + short
        )

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        return {
            "ceiling": self.ceiling,
            "ceiling_learner": self.ceiling_learner,
            "judged": self.judged,
            "short": self.short,
            "misbehaved": dict(self.misbehaved),
            "tolerance": self.tolerance,
            "choice": self.choice,
            "audit": self.audit,
            "doubts": list(self.doubts),
            "text": " ".join(self.sentences),
        }


def certificate_of(account: Account) -> Certificate | None:
    """Return what may be claimed of a run; None where nothing was measured."""
    return certificate(account.result, account.learners, account.scores, sure=account.strategy.sure)


def certificate(result: Result, learners: Iterable[str], scores: Scores, *, sure: bool = True) -> Certificate | None:
    """Return what may be claimed of a result; None where nothing was selected.

    Only outcomes that were asked for count, or the answer would depend on the number of workers. Outcomes that were
    evaluated ahead can only raise doubts.
    """
    if result.selected is None or result.valid_score is None or result.selected_size is None:
        return None
    curves = _curves(result)
    tolerance = noise(scores, [_score(step) for curve in curves.values() for step in curve])
    others = [name for name in learners if name != result.selected and name not in result.failures]
    tops = {name: _top(curves.get(name, ()), result.full_size) for name in others}
    known = {name: top for name, top in tops.items() if top is not None}
    highest = max(known, key=lambda name: known[name], default=None) if len(known) == len(tops) else None
    judged = {name: curve for name, curve in curves.items() if len(curve) >= LONG_ENOUGH}
    found = {name: _misbehaviour(curve, tolerance) for name, curve in judged.items()}
    return Certificate(
        selected=result.selected,
        score=result.valid_score,
        size=result.selected_size,
        full_size=result.full_size,
        others=len(others),
        ceiling=known[highest] if highest else None,
        ceiling_learner=highest,
        judged=len(judged),
        short=len(curves) - len(judged),
        misbehaved={name: what for name, what in found.items() if what},
        tolerance=tolerance,
        doubts=tuple(_doubts(result, _curves(result, with_guesses=True), tolerance)),
        sure=sure,
        finished=result.stopped is None,
    )


def noise(scores: Scores, values: Sequence[float]) -> float:
    """Return how much a score may differ by chance: two standard errors of a proportion near one half.

    Little is known of scores that are not proportions: there it is the same share of their interquartile range.
    """
    if not scores.rows or not values:
        return 0.0
    ordered = sorted(values)
    quarter = len(ordered) // 4
    middle = ordered[-1 - quarter] - ordered[quarter]
    return (1.0 if scores.proportion else middle) / math.sqrt(scores.rows)


def _curves(result: Result, *, with_guesses: bool = False) -> dict[str, list[Step]]:
    """Return each learner's measured steps by size, optionally with outcomes that were never asked for."""
    curves: dict[str, list[Step]] = {}
    ahead = [Step(allocation, outcome, None) for allocation, outcome in result.speculated.items()]
    steps = [*result.steps, *(ahead if with_guesses else [])]
    for step in sorted(steps, key=lambda step: step.allocation.size):
        if isinstance(step.outcome, Measurement):
            curves.setdefault(step.allocation.learner, []).append(step)
    return curves


def _top(curve: Sequence[Step], full_size: int) -> float | None:
    """Return the most that a learner can have on all rows: its score there, or the higher of bound and scores."""
    if not curve:
        return None
    last = curve[-1]
    if last.allocation.size == full_size:
        return _score(last)
    return None if last.bound is None else max(last.bound, *(_score(step) for step in curve))


def _score(step: Step) -> float:
    return step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf


def _misbehaviour(curve: Sequence[Step], tolerance: float) -> str:
    """Return in which ways a curve breaks the assumptions; empty if in none."""
    found = []
    if any(_score(later) < _score(earlier) - tolerance for earlier, later in pairwise(curve)):
        found.append("fell")
    for first, second, third in zip(curve, curve[1:], curve[2:], strict=False):
        gain = (_score(second) - _score(first)) / (second.allocation.size - first.allocation.size)
        expected = _score(second) + max(gain, 0.0) * (third.allocation.size - second.allocation.size)
        if _score(third) > expected + tolerance:
            found.append("got steeper")
            break
    for index, step in enumerate(curve):
        if step.bound is not None and any(_score(later) > step.bound + tolerance for later in curve[index + 1 :]):
            found.append("exceeded its bound")
            break
    return ", ".join(found)


def _doubts(result: Result, curves: Mapping[str, Sequence[Step]], tolerance: float) -> list[str]:
    doubts = []
    score = result.valid_score or 0.0
    ahead = [
        curve[-1]
        for name, curve in curves.items()
        if name != result.selected
        and _score(curve[-1]) > score + (tolerance if curve[-1].allocation.size < result.full_size else 0.0)
    ]
    own = [_score(step) for step in curves.get(result.selected or "", ())]
    if own and result.stopped is None and max(own) > score + tolerance:
        doubts.append(f"Doubtful: {result.selected} had {max(own):.4f} with fewer rows, more than with all of them.")
    at_full = [step for step in ahead if step.allocation.size == result.full_size]
    if at_full and result.stopped is None:
        best = max(at_full, key=_score)
        doubts.append(
            f"Doubtful: {best.allocation.learner} was trained on all rows ahead of time and has {_score(best):.4f},"
            f" more than {result.selected}."
        )
    elif ahead and result.stopped is None:
        best = max(ahead, key=_score)
        doubts.append(
            f"Doubtful: {best.allocation.learner} already had {_score(best):.4f} with {best.allocation.size:,} rows,"
            f" more than {result.selected} with all. Train it on all rows too."
        )
    if result.failures:
        count = len(result.failures)
        doubts.append(
            f"Nothing is claimed about the {count} learners that failed."
            if count > 1
            else "Nothing is claimed about the learner that failed."
        )
    return doubts
