"""How often the paper's assumptions on curves and costs hold when measured, and how often DAUB's bounds are valid.

    python experiments/assumptions.py [--measured FOLDER]

Curves with at least three points are judged. A curve is monotone if no score is below the one before, and has
diminishing returns if no gain per row is above the one before (Definition 6). A bound is valid (Definition 4) if it is
at least the score of the learner at N; each point from the third on gives one bound. Scores are measured on a finite
number of rows: "within noise" allows two standard errors of a proportion near one half.

A cost grows at least linearly if c(m) >= (m/n) c(n) for sizes n < m. Each step from one size to the next is judged, as
measured, with slack, and without the constant part of the times, of which the time of the smallest sample is the most
that it can be.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from command import shown
from replays import BOOTSTRAP, grouped, markdown

from pydaub import Schedule, Scores, SlopeBound
from pydaub.extensions.theory.paper import lemma_2, theorem_3_selected
from pydaub.runs.certificate import noise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replays import Curves

    from pydaub.algorithm.curve import Curve

RATIO: Final = "1.5"
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
            best, all_ = _share(*count.best), _share(count.both, count.curves)
            others.append(f"{seeds[0].about['title']} ({portfolio}, {best} against {all_})")
    rows.append(("**all**", "", *total.shares()))
    judged = len(rows) - 1
    words = f"The best eight curves conform at least as often as all on {judged - len(others)} of {judged} tables."
    if others:
        words += f" **The paper's footnote is contradicted on the others: {', '.join(others)}.** There the glitches are"
        words += " those of strong learners more often than of weak ones."
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


COST_HEADER: Final = (
    "Data set", "Portfolio", "Steps", "At least linear", "of 1 s or more", "half as steep", "without a constant",
    "Curves dearer than linear", "Tables", "cost(S_sel)/c(N)", "paper's limit", "limit for this N",
    "above the paper's", "above that",
)  # fmt: skip
FITTING: Final = "of fitting alone"  # a column, if a table has these times
LONG: Final = 1.0  # seconds; below, a time is mostly overhead
ROUNDING: Final = 1e-9  # relative


def costs(tables: Iterable[Curves]) -> str:
    """Return how often costs grow at least linearly, and what DAUB's choice cost beside the limits of Theorem 3."""
    rows: list[tuple[str, str, Costs]] = []
    total = Costs()
    for (_, portfolio), seeds in grouped(tables).items():
        found = Costs()
        for one in seeds:
            found.add(one)
        total.join(found)
        rows.append((seeds[0].about["title"], portfolio, found))
    rows.append(("**all**", "", total))
    apart = total.fitting.of > 0
    header = (*COST_HEADER[:7], *([FITTING] if apart else []), *COST_HEADER[7:])
    lines = [(title, portfolio, *found.cells(fitting=apart)) for title, portfolio, found in rows]
    return f"{markdown(header, lines, left=2)}\n\n{total.words()}"


class Costs:
    """Counts of steps that are at least linear, and costs of DAUB's choices."""

    def __init__(self) -> None:
        self.linear = Shares()
        self.long = Shares()
        self.half = Shares()
        self.variable = Shares()
        self.fitting = Shares()
        self.dearer = Shares()
        self.chosen: list[tuple[float, float, float]] = []  # cost(S_sel)/c(N), the paper's limit, and ours

    def add(self, one: Curves) -> None:
        """Judge the costs of a table."""
        for learner in one.table.learners:
            curve = one.curve(learner)
            points = list(zip(curve.sizes, curve.measurements, strict=True))
            for (n, before), (m, after) in pairwise(points):
                linear = at_least_linear(n, before.seconds, m, after.seconds)
                self.linear.add(linear)
                if after.seconds >= LONG:
                    self.long.add(linear)
                self.half.add(at_least_linear(n, before.seconds, m, 2 * after.seconds))
                constant = curve.measurements[0].seconds
                if n > curve.sizes[0]:  # from nothing, each step would be steep enough
                    self.variable.add(at_least_linear(n, before.seconds - constant, m, after.seconds - constant))
                if before.fitting is not None and after.fitting is not None:
                    self.fitting.add(at_least_linear(n, before.fitting, m, after.fitting))
            if learner in one.scores:
                spent = sum(point.seconds / curve.measurements[-1].seconds for point in curve.measurements)
                self.dearer.add(spent > sum(curve.sizes) / one.full_size * (1 + ROUNDING))
        self.chosen.append(selected_cost(one))

    def join(self, other: Costs) -> None:
        """Add the counts of another object."""
        for name in ("linear", "long", "half", "variable", "fitting", "dearer"):
            getattr(self, name).join(getattr(other, name))
        self.chosen += other.chosen

    def cells(self, *, fitting: bool) -> tuple[str, ...]:
        """Return the cells of a line, with the share of fitting alone if any table has it."""
        apart = [self.fitting] if fitting else []
        shares = (self.linear, self.long, self.half, self.variable, *apart, self.dearer)
        ratios, papers, ours = zip(*self.chosen, strict=True)
        above = (sum(cost > limit for cost, limit in zip(ratios, limits, strict=True)) for limits in (papers, ours))
        return (
            f"{self.linear.of:,}", *(each.text for each in shares), str(len(self.chosen)), _range(ratios),
            _range(papers), _range(ours), *map(str, above),
        )  # fmt: skip

    def words(self) -> str:
        """Return what the counts say of the assumption and of Theorem 3."""
        over = [sum(cost[0] > cost[place] for cost in self.chosen) for place in (1, 2)]
        kept = "" if self.fitting.of else " No table holds the time of fitting apart from that of scoring."
        part = "part of it only" if self.variable.held < self.variable.of else "all of it"
        return (
            f"Of {self.linear.of:,} steps, {self.linear.text} are at least linear, and {self.half.text} at least half"
            f" as steep. Without the most that a constant part of the times (scoring, starting a process) can be,"
            f" {self.variable.text} are at least linear, so a constant explains {part}.{kept} The cost of DAUB's choice"
            f" is above the paper's limit on {over[0]} of {len(self.chosen)} tables, and above the limit for this N on"
            f" {over[1]}."
        )


class Shares:
    """How many of those judged hold."""

    def __init__(self) -> None:
        self.held = self.of = 0

    def add(self, holds: bool) -> None:  # noqa: FBT001  # what was judged
        """Count one."""
        self.held += holds
        self.of += 1

    def join(self, other: Shares) -> None:
        """Add the counts of another object."""
        self.held += other.held
        self.of += other.of

    @property
    def text(self) -> str:
        """The share in percent."""
        return _share(self.held, self.of)


def at_least_linear(n: int, before: float, m: int, after: float) -> bool:
    """Return whether c(m) >= (m/n) c(n)."""
    return after * n >= before * m * (1 - ROUNDING)


def selected_cost(one: Curves) -> tuple[float, float, float]:
    """Return cost(S_sel) / c(N) of DAUB's choice, r/(r-1), and the limit of Theorem 3 for the last step to N."""
    result = one.replayed("daub").result
    own = [step for step in result.steps if step.allocation.learner == result.selected]
    papers, ours = lemma_2(RATIO, _one, 1), theorem_3_selected(RATIO, _one, Schedule(one.sizes))
    return sum(step.outcome.seconds for step in own) / own[-1].outcome.seconds, papers, ours


def _one(_: float) -> float:
    """Return the cost at N, as a multiple of itself."""
    return 1.0


def _range(values: Iterable[float]) -> str:
    """Return the median and, if they differ, the smallest and the largest value."""
    found = sorted(values)
    if math.isclose(found[0], found[-1]):
        return f"{found[0]:.2f}"
    return f"{median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})"


def both(tables: list[Curves]) -> str:
    """Return what holds of curves, and what of costs."""
    return f"{assumptions(tables)}\n\n{costs(tables)}"


if __name__ == "__main__":
    shown(both, __doc__)
