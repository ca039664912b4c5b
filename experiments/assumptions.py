"""How often the paper's assumptions hold on measured curves, and how often DAUB's bounds are valid.

    python experiments/assumptions.py [--measured FOLDER]

Curves with at least three points are judged. A curve is monotone if no score is below the one before, and has
diminishing returns if no gain per row is above the one before (Definition 6). A bound is valid (Definition 4) if it is
at least the score of the learner at N; each point from the third on gives one bound. Scores are measured on a finite
number of rows: "within noise" allows two standard errors of a proportion near one half.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from command import shown
from replays import BOOTSTRAP, grouped, markdown

from pydaub import Scores, SlopeBound
from pydaub.runs.certificate import noise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replays import Curves

    from pydaub.algorithm.curve import Curve

BEST: Final = 8  # best learners at N, counted separately; the paper's DAUB gives most rows to eight
HEADER: Final = (
    "Data set", "Portfolio", "Curves", "Monotone", "within noise", "Diminishing returns", "within noise",
    "both, within noise", "both, best eight", "Bounds valid", "within noise", "without f^T", "within noise",
)  # fmt: skip


def assumptions(tables: Iterable[Curves]) -> str:
    """Return shares for each data set and portfolio, over all seeds, and where the best curves conform less often."""
    rows, total, others = [], Count(), []
    for (_, portfolio), seeds in grouped(tables).items():
        count = Count()
        for one in seeds:
            count.add(one)
        total.join(count)
        rows.append((seeds[0].about["title"], portfolio, *count.shares()))
        if count.best[0] * count.curves < count.both * count.best[1]:
            others.append(f"{seeds[0].about['title']} ({portfolio})")
    rows.append(("**all**", "", *total.shares()))
    judged, but = len(rows) - 1, f", but not in {', '.join(others)}" if others else ""
    words = f"The best eight curves conform at least as often as all in {judged - len(others)} of {judged} tables{but}."
    return f"{markdown(HEADER, rows, left=2)}\n\n{words}"


class Count:
    """Counts of curves and bounds for which an assumption held."""

    def __init__(self) -> None:
        self.curves = 0
        self.held = [0, 0, 0, 0]  # monotone, within noise, diminishing, within noise
        self.both = 0  # within noise
        self.best = [0, 0]  # the same of the best ones, and the number judged
        self.bounds = 0
        self.valid = [0, 0, 0, 0]  # with f^T, within noise, without, within noise

    def add(self, one: Curves) -> None:
        """Judge every curve of a table and count the results."""
        tolerance = noise(Scores(rows=one.about["valid_rows"]), [0.0])
        best = set(list(one.scores)[:BEST])
        for learner in one.table.learners:
            curve = one.curve(learner)
            if len(curve.sizes) < BOOTSTRAP:
                continue
            self.curves += 1
            held = [judged(curve, allowed) for judged in (monotone, diminishing) for allowed in (0.0, tolerance)]
            self.held = [count + holds for count, holds in zip(self.held, held, strict=True)]
            both = held[1] and held[3]
            self.both += both
            if learner in best:
                self.best = [self.best[0] + both, self.best[1] + 1]
            if learner in one.scores:
                self._bound(curve, one.full_size, tolerance)

    def _bound(self, curve: Curve, full_size: int, tolerance: float) -> None:
        final = curve.measurements[-1].valid_score
        for length in range(BOOTSTRAP, len(curve.sizes)):
            self.bounds += 1
            known = curve.prefix(length)
            above = [SlopeBound(train_cap=cap)(known, full_size) - final for cap in (True, False)]
            valid = [over >= -allowed for over in above for allowed in (0.0, tolerance)]
            self.valid = [count + holds for count, holds in zip(self.valid, valid, strict=True)]

    def join(self, other: Count) -> None:
        """Add the counts of another object."""
        self.curves += other.curves
        self.both += other.both
        self.bounds += other.bounds
        for mine, others in ((self.held, other.held), (self.best, other.best), (self.valid, other.valid)):
            mine[:] = [a + b for a, b in zip(mine, others, strict=True)]

    def shares(self) -> tuple[str, ...]:
        """Return the counts as percentages."""
        held = [_share(count, self.curves) for count in self.held]
        both = (_share(self.both, self.curves), _share(*self.best))
        return (str(self.curves), *held, *both, *(_share(count, self.bounds) for count in self.valid))


def monotone(curve: Curve, allowed: float) -> bool:
    """Return whether no score is below the one before by more than `allowed`."""
    scores = [point.valid_score for point in curve.measurements]
    return all(later >= earlier - allowed for earlier, later in pairwise(scores))


def diminishing(curve: Curve, allowed: float) -> bool:
    """Return whether no point lies above the line through the two before it by more than `allowed`.

    A falling line is replaced by a level one.
    """
    points = list(zip(curve.sizes, (point.valid_score for point in curve.measurements), strict=True))
    return all(
        third[1]
        <= second[1] + max(second[1] - first[1], 0.0) / (second[0] - first[0]) * (third[0] - second[0]) + allowed
        for first, second, third in zip(points, points[1:], points[2:], strict=False)
    )


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "none"


if __name__ == "__main__":
    shown(assumptions, __doc__)
