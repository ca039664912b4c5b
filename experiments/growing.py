"""Would it help to divide rows during selection? Validation rows that grow with the race, against fixed divisions.

    python experiments/growing.py

Nothing is trained. The largest size of each measured table is taken as all rows, T. A division leaves V of them for
validation and N = T - V for training. Recorded scores and times are taken as true, between sizes by interpolation in
the logarithm of the size, and scores on V rows are drawn: a row is right if a normal variable, in part the row's own,
in part the learner's, in part that of the training, is below the quantile of the true score. DAUB (the paper's bound)
runs on these scores. The growing division begins with few validation rows; while the two highest bounds differ by less
than two standard errors, they are doubled from the end of the training rows, which nobody has had yet, and N becomes
smaller. Bounds then point to the new N. Scores that were measured stay as they are.
"""

from __future__ import annotations

import argparse
import math
from bisect import bisect
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from dividing import record
from replays import BOOTSTRAP, MEASURED, all_curves, grouped, percent

from pydaub import Curve, Measurement, SlopeBound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replays import Curves

DRAWS: Final = 10
MOST: Final = 0.3  # of the rows for validation
LEAST: Final = 0.03
FEWEST: Final = 100  # validation rows
PARTS: Final = (0.5, 0.25, 0.25)  # of the variance: the row's, the learner's on this row, and the training's
DIVISIONS: Final = {"30 %": (0.3, 0.3), "10 %": (0.1, 0.1), "3 %": (LEAST, LEAST), "3 % to 30 %": (LEAST, MOST)}
USUAL: Final = "30 %"
HEADER: Final = (
    "Validation rows", "at the end", "Loss as selected", "against 30 %", "Loss after fitting to all T", "against 30 %",
    "Time, against 30 %",
)  # fmt: skip


@dataclass
class World:
    """A measured table as the truth, and the rows of one draw."""

    table: Curves
    seed: int
    curves: dict[str, Curve] = field(init=False)

    def __post_init__(self) -> None:
        known = {name: self.table.curve(name) for name in self.table.table.learners}
        self.curves = {name: curve for name, curve in known.items() if curve.sizes == self.table.sizes}
        self.total = self.table.full_size
        self._rows = np.random.default_rng((self.seed, 0)).standard_normal(math.ceil(MOST * self.total))

    def true(self, name: str, size: int) -> Measurement:
        """Return what the learner has with so many rows, between the measured sizes."""
        curve = self.curves[name]
        place = min(max(bisect(curve.sizes, size), 1), len(curve.sizes) - 1)
        (n, m), (a, b) = curve.sizes[place - 1 : place + 1], curve.measurements[place - 1 : place + 1]
        share = math.log(size / n) / math.log(m / n)
        seconds = a.seconds ** (1 - share) * b.seconds**share if min(a.seconds, b.seconds) > 0 else b.seconds
        low, high = (1.0 if each.train_score is None else each.train_score for each in (a, b))
        return Measurement(_between(low, high, share), _between(a.valid_score, b.valid_score, share), seconds)

    def measured(self, name: str, size: int, rows: int) -> Measurement:
        """Return what is measured on the first validation rows."""
        true, place = self.true(name, size), list(self.curves).index(name)
        own = np.random.default_rng((self.seed, 1, place)).standard_normal(rows)
        once = np.random.default_rng((self.seed, 2, place, size)).standard_normal(rows)
        mixed = sum(math.sqrt(part) * each for part, each in zip(PARTS, (self._rows[:rows], own, once), strict=True))
        limit = NormalDist().inv_cdf(min(max(true.valid_score, 1e-6), 1 - 1e-6))
        return Measurement(true.train_score, float(np.mean(mixed < limit)), true.seconds)


@dataclass(frozen=True)
class Raced:
    """What DAUB came to: the learner, with how many rows, and what it took."""

    selected: str
    size: int
    seconds: float
    rows: int


def raced(world: World, least: float, most: float) -> Raced:
    """Run DAUB with a division of the rows, which may grow from the smaller share to the larger one."""
    total, bound = world.total, SlopeBound()
    rows = max(math.ceil(least * total), FEWEST)
    limit = max(math.ceil(most * total), rows)
    known = {name: Curve(name) for name in world.curves}
    seconds = 0.0

    def train(name: str, size: int) -> None:
        nonlocal seconds
        found = world.measured(name, size, rows)
        seconds += found.seconds
        known[name] = known[name].extended(size, found)

    for name in known:
        for size in world.table.sizes[:BOOTSTRAP]:
            train(name, size)
    while True:
        full = total - rows
        bounds = {name: bound(curve, full) for name, curve in known.items()}
        order = sorted(bounds, key=lambda name: -bounds[name])
        had = max(curve.sizes[-1] for curve in known.values())
        score = min(max(known[order[0]].valid[-1], 0.0), 1.0)
        close = len(order) > 1 and bounds[order[0]] - bounds[order[1]] < 2 * math.sqrt(score * (1 - score) / rows)
        if close and rows < limit and total - min(2 * rows, limit) > had:
            rows = min(2 * rows, limit)
            continue
        first = order[0]
        size = next((n for n in world.table.sizes if known[first].sizes[-1] < n < full), full)
        train(first, size)
        if size == full:
            return Raced(first, full, seconds, rows)


def lines(tables: Sequence[Curves], draws: int = DRAWS) -> list[list[str]]:
    """Return a line for each division; each data set and portfolio counts once, however many seeds it has."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in DIVISIONS}
    for seeds in grouped(tables).values():
        each: dict[str, list[tuple[float, ...]]] = {name: [] for name in DIVISIONS}
        for table in seeds:
            for draw in range(draws):
                world = World(table, draw)
                best = max(world.true(name, world.total).valid_score for name in world.curves)
                for name, shares in DIVISIONS.items():
                    end = raced(world, *shares)
                    losses = (best - world.true(end.selected, size).valid_score for size in (end.size, world.total))
                    each[name].append((*losses, end.rows / world.total, end.seconds))
        for name, values in each.items():
            found[name].append(tuple(map(fmean, zip(*values, strict=True))))
    return [_line(name, values, found[USUAL]) for name, values in found.items()]


def said(lines: Sequence[Sequence[str]]) -> str:
    """Return what the table says."""
    name, end, _, selected, _, fitted, seconds = lines[-1]
    few, many = name.split(" to ")
    return (
        f"Validation rows that grow from {few} of all rows to at most {many} end at {end}. Against the fixed division"
        f" of {USUAL}, the loss of what is selected changes by {selected} (one standard error over data sets and"
        f" portfolios), by {fitted} if it is fitted to all rows at the end, and the time is {seconds} of the other."
    )


def _line(name: str, values: Sequence[tuple[float, ...]], usual: Sequence[tuple[float, ...]]) -> list[str]:
    cells = [name, percent(fmean(each[2] for each in values), 0)]
    for place in (0, 1):
        more = [each[place] - other[place] for each, other in zip(values, usual, strict=True)]
        cells += [percent(fmean(each[place] for each in values), 2), _with_error(more) if name != USUAL else ""]
    ratios = [math.log(each[3] / other[3]) for each, other in zip(values, usual, strict=True)]
    return [*cells, f"{math.exp(fmean(ratios)):.2f}"]


def _with_error(values: Sequence[float]) -> str:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{100 * fmean(values):+.2f} ± {100 * error:.2f} %"


def _between(a: float, b: float, share: float) -> float:
    return a + share * (b - a)


def main() -> None:
    """Print the table, and keep it."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder of the tables, and for this one")
    made.add_argument("--draws", type=int, default=DRAWS, help="draws of scores for each table")
    chosen = made.parse_args()
    record("growing", HEADER, lines(all_curves(chosen.measured), chosen.draws), chosen.measured)


if __name__ == "__main__":
    main()
