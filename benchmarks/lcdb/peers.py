"""What others do, where pydaub has no strategy of it: LCCV, Hyperband, and scikit-learn's halving.

Written anew from their papers and from what the packages do; where they differ from those, the docstrings say so.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import minimize

from pydaub import Allocation, Failure, Schedule
from pydaub.algorithm.strategies.base import Strategy
from pydaub.algorithm.strategies.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.lcdb.curves import Task
    from pydaub import Outcome
    from pydaub.algorithm.strategies.base import Ranking

PRUNED_FROM: Final = 3  # points: the package trusts no slope before
FITTED_FROM: Final = 4  # points: as many as the fitted curve has parameters
MARGIN: Final = 0.005  # a fitted curve that comes so close to the best is worth all rows
NO_NUMBER: Final = 1e6  # what the fit pays for a point at which the curve has no value


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a method did that is no strategy, since it goes back to smaller sizes; each training is paid for once."""

    learner: str
    trained: frozenset[Allocation]


class Lccv(Strategy):
    """Learning curve cross-validation (Mohr and van Rijn, 2021): one learner after the other, each up its curve.

    The first learner gets all rows at once. Any other climbs through the sizes until

    - it is better than the best so far, with fewer rows: then it gets all of them;
    - the straight line through its last two points (or a level one, if it falls) stays below the best so far at the
      full size: then it is out, if it has three points. If curves are concave, nothing is lost by that;
    - a Morgan-Mercer-Flodin curve through its points, four at least, comes within 0.005 of the best so far, or above:
      then it gets all rows.

    So does the package `lccv` (0.2.2). Here each size has one split, as recorded, where the package averages over three
    to ten and takes the ends of confidence intervals for the line; with one split both ends are the point itself, and
    there is nothing to repair where a curve is not concave. The package also discards a learner that has got all rows
    if its training scores stay below the best so far; here its validation score counts.

    `cheapest_first`: all learners get the first size before anything else, and their turn by the seconds that took.
    The published rule takes them as they come.
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, *, cheapest_first: bool = False) -> None:
        super().__init__(learners, schedule)
        timed = cheapest_first and len(self.schedule.sizes) > 1
        self._untimed = list(reversed(self.learners)) if timed else []  # the last is next, here and below
        self._turns = [] if timed else list(reversed(self.learners))
        self._climbing: Allocation | None = None  # whose turn it is, and what it gets next

    def forecast(self) -> Iterator[Allocation]:
        """Yield nothing: one worker replays it."""
        yield from ()

    def _choose(self) -> Allocation | None:
        if self._untimed:
            return Allocation(self._untimed[-1], self.schedule.sizes[0])
        if self._climbing is None and self._turns:
            self._climb(self._turns.pop())
        return self._climbing

    def _update(self, allocation: Allocation, outcome: Outcome) -> None:
        learner, failed = allocation.learner, isinstance(outcome, Failure)
        if not self._untimed:
            self._climbing = None
            if not failed:
                self._climb(learner)
            return
        self._untimed.pop()
        if not failed:
            self._turns.append(learner)
        if not self._untimed:
            self._turns.sort(key=lambda name: -self._curves[name].measurements[0].seconds)

    def _done(self) -> bool:
        return not (self._untimed or self._turns or self._climbing)

    def _climb(self, learner: str) -> None:
        curve, best = self._curves[learner], max(self._at_full.values(), default=-math.inf)
        size: int | None = self.schedule.full_size  # of the first, which has nobody to be compared with
        if self._at_full or size in curve.sizes:
            size = lccv_next(curve.sizes, curve.valid, self.schedule.sizes, best)
        self._climbing = Allocation(learner, size) if size else None


def lccv_next(sizes: Sequence[int], scores: Sequence[float], schedule: Sequence[int], best: float) -> int | None:
    """Return the size that comes after these points, or None where a learner is done or out."""
    full_size = schedule[-1]
    if not sizes:
        return schedule[0]
    if sizes[-1] == full_size:
        return None
    if len(sizes) >= PRUNED_FROM and extended_line(sizes, scores, full_size) < best:
        return None
    if scores[-1] > best or (len(sizes) >= FITTED_FROM and fitted(sizes, scores, full_size) >= best - MARGIN):
        return full_size
    return next(size for size in schedule if size > sizes[-1])


def extended_line(sizes: Sequence[int], scores: Sequence[float], full_size: int) -> float:
    """Return where the line through the last two points is at the full size; it never falls."""
    slope = max(0.0, (scores[-1] - scores[-2]) / (sizes[-1] - sizes[-2]))
    return scores[-1] + slope * (full_size - sizes[-1])


def fitted(sizes: Sequence[int], scores: Sequence[float], full_size: int) -> float:
    """Return where (a b + c n^d) / (b + n^d), which must not fall, is at the full size.

    Squared errors count twice as much with each further point. Start, weights, constraint and method are the package's.
    """
    at, seen, weights = np.array(sizes, float), np.array(scores, float), 2.0 ** np.arange(len(sizes))

    def curve(parameters: np.ndarray, size: np.ndarray) -> np.ndarray:
        a, b, c, d = parameters
        power = size**d
        return (a * b + c * power) / (b + power)

    def error(parameters: np.ndarray) -> float:
        penalties = weights * (seen - curve(parameters, at)) ** 2
        return float(np.where(np.isnan(penalties), NO_NUMBER, penalties).sum())

    grows = {"type": "ineq", "fun": lambda p: p[1] * (p[2] - p[0]) * p[3]}  # the sign of its derivative
    with np.errstate(all="ignore"):
        found = minimize(error, np.array([0.5, 1.0, 1.0, -1.0]), constraints=grows).x
        return float(curve(found, np.array([full_size], float))[0])


def hyperband(task: Task, factor: int, least: int = 512) -> Chosen:
    """Hyperband (Li et al., 2018) over a finite set of learners, from about `least` rows on.

    Brackets begin with few rows and many learners, up to all rows and few learners; each is successive halving. A
    bracket's learners are drawn by chance, by the task's seeds and without replacement; where the formula wants more
    than there are, it gets all. The best of those that got all rows is selected. Brackets share what they measure: the
    same learner with the same rows is trained once, which favours Hyperband. Where all rows are but a few times
    `least`, there are few brackets and they draw few learners, so that the best may never be tried.
    """
    chance = random.Random(f"{task.data} {task.seeds}")
    trained: set[Allocation] = set()
    for rounds in brackets(len(task.learners), task.full_size, factor, least):
        racing = chance.sample(task.learners, rounds[0][0])
        for count, rows in rounds:
            size = nearest(task.sizes, rows)
            racing = racing[:count]
            trained |= {Allocation(name, size) for name in racing}
            racing.sort(key=lambda name: -task.recorded(name, size).valid_score)
    at_full = sorted(each.learner for each in trained if each.size == task.full_size)
    return Chosen(max(at_full, key=lambda name: task.at_full[name].valid_score), frozenset(trained))


def brackets(learners: int, full_size: int, factor: int, least: int) -> list[list[tuple[int, float]]]:
    """Return Hyperband's rounds, for each bracket: how many learners, with how many rows.

    >>> brackets(20, 4608, 3, 512)
    [[(9, 512.0), (3, 1536.0), (1, 4608.0)], [(5, 1536.0), (1, 4608.0)], [(3, 4608.0)]]
    """
    most = 0  # the paper's s_max = floor(log_factor(R)), in whole numbers
    while least * factor ** (most + 1) <= full_size:
        most += 1
    found = []
    for halvings in range(most, -1, -1):
        wanted = -(-(most + 1) * factor**halvings // (halvings + 1))
        first = min(wanted, learners)
        found.append(
            [(max(first // factor**i, 1), full_size / factor ** (halvings - i)) for i in range(halvings + 1)],
        )
    return found


class SklearnHalving(Rounds):
    """scikit-learn's HalvingGridSearchCV with its defaults: `min_resources="exhaust"`, no aggressive elimination.

    Sizes grow by `factor` and the best 1/`factor` go on, rounded up; the first size is the largest with which the last
    round stays within all rows. (HalvingRandomSearchCV's default is `"smallest"`, a handful of rows; with `"exhaust"`
    both do the same.) The best of the last round is selected and, where that had fewer rows, trained on all, which is
    counted (`refit`). Ties go to the learner listed first, where scikit-learn's order is that of a sort.
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, *, factor: int = 3) -> None:
        super().__init__(learners, schedule)
        self._factor = factor

    @classmethod
    def of(cls, task: Task, factor: int = 3) -> SklearnHalving:
        """Return it with the recorded sizes that are nearest to its own."""
        rounds = sklearn_rounds(len(task.learners), task.full_size, factor)
        sizes = [nearest(task.sizes, rows) for _, rows in rounds]
        return cls(task.learners, Schedule(tuple(sorted({*sizes, task.full_size}))), factor=factor)

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        return -(-len(measured) // self._factor), -math.inf


def sklearn_rounds(learners: int, full_size: int, factor: int) -> list[tuple[int, int]]:
    """Return scikit-learn's `n_candidates_` and `n_resources_`, round by round.

    >>> sklearn_rounds(20, 9000, 3)
    [(20, 1000), (7, 3000), (3, 9000)]
    """
    rounds = 1 + math.floor(math.log(learners, factor))
    least = full_size // factor ** (rounds - 1)
    found = []
    for turn in range(rounds):
        found.append((learners, least * factor**turn))
        learners = -(-learners // factor)
    return found


def oracle(task: Task) -> Chosen:
    """Train the winner on all rows and nothing else: what nobody can do, and no method can do better."""
    best = max(task.learners, key=lambda name: task.at_full[name].valid_score)
    return Chosen(best, frozenset({Allocation(best, task.full_size)}))


def nearest(sizes: Sequence[int], rows: float) -> int:
    """Return the recorded size that is nearest in proportion: 16 sqrt(2)^k are evenly spaced that way."""
    return min(sizes, key=lambda size: abs(math.log(size / rows)))
