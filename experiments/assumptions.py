"""How well the paper's assumptions hold on measured curves, and how often DAUB's bounds are valid.

    python experiments/assumptions.py [--measured FOLDER]

A curve is judged where it has at least three points. It is monotone if no score is below the one before, and has
diminishing returns if no gain a row is above the one before (Definition 6). A bound is valid (Definition 4) if it is at
least what the learner has at N; each point from the third on gives one. A score is measured on finitely many rows:
"within noise" lets it be off by two standard errors of a proportion near one half.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from command import shown
from replays import BOOTSTRAP, grouped, markdown

from pydaub import SlopeBound
from pydaub.runs.certificate import noise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replays import Curves

    from pydaub.algorithm.curve import Curve

BEST: Final = 8  # learners at N; the paper's DAUB gives most rows to as many
HEADER: Final = (
    "Data set", "Portfolio", "Curves", "Monotone", "within noise", "Diminishing returns", "within noise",
    "both, the best eight", "Bounds valid", "within noise", "without f^T", "within noise",
)  # fmt: skip


def assumptions(tables: Iterable[Curves]) -> str:
    """Return the shares for each data set and portfolio, all seeds together."""
    rows, total = [], Count()
    for (_, portfolio), seeds in grouped(tables).items():
        count = Count()
        for one in seeds:
            count.add(one)
        total.join(count)
        rows.append((seeds[0].about["title"], portfolio, *count.told()))
    rows.append(("**all**", "", *total.told()))
    return markdown(HEADER, rows, left=2)


class Count:
    """How often what held, of how many."""

    def __init__(self) -> None:
        self.curves = 0
        self.held = [0, 0, 0, 0]  # monotone, within noise, diminishing, within noise
        self.best = [0, 0]  # both within noise, of how many
        self.bounds = 0
        self.valid = [0, 0, 0, 0]  # with f^T, within noise, without, within noise

    def add(self, one: Curves) -> None:
        """Judge every curve of a table."""
        tolerance = noise(one.about["valid_rows"], [0.0])
        best = set(list(one.scores)[:BEST])
        for learner in one.table.learners:
            curve = one.curve(learner)
            if len(curve.sizes) < BOOTSTRAP:
                continue
            self.curves += 1
            held = [judged(curve, allowed) for judged in (monotone, diminishing) for allowed in (0.0, tolerance)]
            self.held = [count + holds for count, holds in zip(self.held, held, strict=True)]
            if learner in best:
                self.best = [self.best[0] + (held[1] and held[3]), self.best[1] + 1]
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
        """Take in what was counted elsewhere."""
        self.curves += other.curves
        self.bounds += other.bounds
        for mine, others in ((self.held, other.held), (self.best, other.best), (self.valid, other.valid)):
            mine[:] = [a + b for a, b in zip(mine, others, strict=True)]

    def told(self) -> tuple[str, ...]:
        """Return the shares in percent."""
        held = [_share(count, self.curves) for count in self.held]
        return (str(self.curves), *held, _share(*self.best), *(_share(count, self.bounds) for count in self.valid))


def monotone(curve: Curve, allowed: float) -> bool:
    """Whether no score is below the one before, give or take."""
    scores = [point.valid_score for point in curve.measurements]
    return all(later >= earlier - allowed for earlier, later in pairwise(scores))


def diminishing(curve: Curve, allowed: float) -> bool:
    """Whether no point lies above the line through the two before it, give or take; a falling line is a level one."""
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
