"""What a run may claim, in plain words: what others could still reach, and how well the assumptions held.

DAUB's promise rests on learning curves that never fall and whose gains diminish (Definition 6 of the paper). Real
curves are noisy and some do not behave, so every curve that was measured is audited, and what was found is said.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.curve import extended
from pydaub.records import Allocation, Measurement, Outcome
from pydaub.runs.loop import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydaub.runs.loop import Result

PROPORTIONS: Final = re.compile(
    "accuracy|balanced_accuracy|top_k|f1|precision|recall|jaccard|roc_auc|average_precision"
)
LONG_ENOUGH: Final = 3  # points of a curve that can be judged
NAMED: Final = 8  # learners that are named in a sentence


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a selected learner against the others.

    `ceiling` is the most that any other learner can have on all rows unless its curve gets steeper; it is None
    where some learner has no bound. `judged` counts the curves that could be audited, `misbehaved` says what was found
    on which; falls and rises of up to `tolerance` count as noise. `doubts` are reasons not to trust the choice.
    Where it is not `sure`, bounds are what is likely, and hold for most curves that behave, not for all.
    """

    selected: str
    score: float
    size: int
    full_size: int
    others: int
    ceiling: float | None
    ceiling_learner: str | None
    judged: int
    misbehaved: Mapping[str, str]
    tolerance: float
    doubts: tuple[str, ...]
    sure: bool = True

    @property
    def sentences(self) -> list[str]:
        """The certificate for people."""
        return [self._choice(), *([self._audit()] if self.judged else []), *self.doubts]

    def _choice(self) -> str:
        if self.size < self.full_size:
            return (
                f"No certificate: no learner has had all {self.full_size:,} rows. {self.selected} has the best"
                f" score so far, {self.score:.4f} with {self.size:,} rows."
            )
        if not self.others:
            return "There was no other learner to compare with."
        if self.ceiling is None:
            return "No certificate: other learners were left without a bound, and could be better on all rows."
        several = self.others > 1
        what = f"None of the {self.others} other learners" if several else "The one other learner"
        if self.sure:
            can, unless, none = "can" if several else "cannot", " unless its curve gets steeper", "none can"
        else:
            can, unless, none = (
                "is likely to" if several else "is unlikely to",
                " by what was seen",
                "none is likely to",
            )
        most = f"{what} {can} exceed {self.ceiling:.4f} on all rows ({self.ceiling_learner}){unless}"
        if self.ceiling <= self.score:
            return f"Certificate: {most}; {none} overtake {self.selected}."
        return f"Certificate: {most}; that is at most {self.ceiling - self.score:.4f} more than {self.selected}."

    def _audit(self) -> str:
        held = self.judged - len(self.misbehaved)
        found = ", ".join(f"{name} ({what})" for name, what in list(self.misbehaved.items())[:NAMED])
        more = f" and {len(self.misbehaved) - NAMED} more" if len(self.misbehaved) > NAMED else ""
        return (
            f"The assumptions (scores do not fall, gains diminish, no score above its bound) held for {held} of"
            f" {self.judged} curves, give or take {self.tolerance:.4f} for noise"
            + (f"; these did not behave: {found}{more}." if self.misbehaved else ".")
        )


def certificate(
    result: Result, learners: Iterable[str], valid_size: int, *, proportion: bool = True, sure: bool = True
) -> Certificate | None:
    """Return what may be said of a result; None where nothing was selected.

    `valid_size` is how many rows a score is of, `proportion` whether it is a share of them, and `sure` whether the
    strategy's bounds hold unless curves get steeper. Only what was asked for counts, or the answer would depend on the
    number of workers; what was evaluated ahead can raise doubts.
    """
    if result.selected is None or result.valid_score is None or result.selected_size is None:
        return None
    curves = _curves(result)
    scores = [_score(step) for curve in curves.values() for step in curve]
    tolerance = noise(valid_size, scores, proportion=proportion)
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
        misbehaved={name: what for name, what in found.items() if what},
        tolerance=tolerance,
        doubts=tuple(_doubts(result, _curves(result, with_guesses=True), tolerance)),
        sure=sure,
    )


def proportional(scoring: str) -> bool:
    """Whether a scorer of this name gives shares of rows, so that the noise of a score is known."""
    return bool(PROPORTIONS.match(scoring))


def noise(valid_size: int, scores: Sequence[float], *, proportion: bool = True) -> float:
    """Return by how much a score may differ by chance: two standard errors of a proportion near one half.

    Of scores that are no proportions little is known: it is the same share of the range of their middle half.
    """
    if not valid_size or not scores:
        return 0.0
    ordered = sorted(scores)
    quarter = len(ordered) // 4
    middle = ordered[-1 - quarter] - ordered[quarter]
    return (1.0 if proportion else middle) / math.sqrt(valid_size)


def projected_seconds(
    outcomes: Iterable[tuple[Allocation, Outcome]], learners: Iterable[str], full_size: int
) -> float | None:
    """Return about how long training every learner on all rows would take; None where one was never tried.

    A learner's times are extended by a power of the size, fitted to what it took. One that failed counts with the
    time that it took until then.
    """
    times: dict[str, list[tuple[int, float]]] = {}
    failed: dict[str, float] = {}
    for allocation, outcome in outcomes:
        if isinstance(outcome, Measurement):
            times.setdefault(allocation.learner, []).append((allocation.size, outcome.seconds))
        else:
            failed[allocation.learner] = outcome.seconds
    total = 0.0
    for name in learners:
        if name not in failed and name not in times:
            return None
        total += failed[name] if name in failed else extended(sorted(times[name]), full_size)
    return total


def _curves(result: Result, *, with_guesses: bool = False) -> dict[str, list[Step]]:
    """Return each learner's measured steps by size, perhaps with what was evaluated ahead and never asked for."""
    curves: dict[str, list[Step]] = {}
    ahead = [Step(allocation, outcome, None) for allocation, outcome in result.speculated.items()]
    steps = [*result.steps, *(ahead if with_guesses else [])]
    for step in sorted(steps, key=lambda step: step.allocation.size):
        if isinstance(step.outcome, Measurement):
            curves.setdefault(step.allocation.learner, []).append(step)
    return curves


def _top(curve: Sequence[Step], full_size: int) -> float | None:
    """Return what a learner can have on all rows at most: what it has, or its bound, but never less than it has had."""
    if not curve:
        return None
    last = curve[-1]
    if last.allocation.size == full_size:
        return _score(last)
    return None if last.bound is None else max(last.bound, *(_score(step) for step in curve))


def _score(step: Step) -> float:
    return step.outcome.valid_score if isinstance(step.outcome, Measurement) else -math.inf


def _misbehaviour(curve: Sequence[Step], tolerance: float) -> str:
    """Return in which ways a curve is not what the method assumes, or nothing."""
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
    chance = [step for step in ahead if step.allocation.size == result.full_size]
    if chance and result.stopped is None:
        best = max(chance, key=_score)
        doubts.append(
            f"Doubtful: {best.allocation.learner}, which was trained on all rows ahead of being asked for, has"
            f" {_score(best):.4f}, more than {result.selected}."
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
            f"Nothing is claimed about the {count} that failed."
            if count > 1
            else "Nothing is claimed about the one that failed."
        )
    return doubts
