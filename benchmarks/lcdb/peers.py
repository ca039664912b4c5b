"""Methods of others that pydaub has no strategy for: LCCV, Hyperband, and scikit-learn's halving.

They were implemented from their papers and from the behaviour of the packages. The docstrings list the differences.
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
    from pydaub.algorithm.strategies.ranking import Ranking

PRUNED_FROM: Final = 3  # points; with fewer, the package does not trust a slope
FITTED_FROM: Final = 4  # points; the fitted curve has four parameters
MARGIN: Final = 0.005  # a learner whose fitted curve comes this close to the best gets all rows
NO_NUMBER: Final = 1e6  # penalty for a point at which the fitted curve is nan


@dataclass(frozen=True, slots=True)
class Chosen:
    """Result of a method that cannot be a strategy, because it returns to smaller sizes. Each training counts once."""

    learner: str
    trained: frozenset[Allocation]


class Lccv(Strategy):
    """Learning curve cross-validation (Mohr and van Rijn, 2021): learners climb their curves one after the other.

    The first learner gets all rows at once. Every other learner climbs through the sizes until

    - it is better than the best so far with fewer rows: then it gets all rows;
    - the straight line through its last two points (or a level line, if it falls) stays below the best so far at the
      full size: then it is dropped, if it has at least three points. For concave curves nothing is lost by that;
    - a Morgan-Mercer-Flodin curve fitted to its points, at least four, comes within 0.005 of the best so far or exceeds
      it: then it gets all rows.

    This is what the package `lccv` (0.2.2) does, with these differences. Here each size has one split, as recorded; the
    package averages over three to ten and uses the ends of confidence intervals for the line. With one split both ends
    are the point itself, and there is nothing to repair if a curve is not concave. The package also discards a learner
    that has had all rows if its training scores stay below the best so far; here its validation score counts.

    Parameters
    ----------
    cheapest_first
        Train all learners on the first size before anything else, and take them in the order of the seconds this took.
        The published rule takes them in the given order.
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, *, cheapest_first: bool = False) -> None:
        super().__init__(learners, schedule)
        timed = cheapest_first and len(self.schedule.sizes) > 1
        self._untimed = list(reversed(self.learners)) if timed else []  # stacks: the last one is next
        self._turns = [] if timed else list(reversed(self.learners))
        self._climbing: Allocation | None = None  # the current learner and its next size

    def forecast(self) -> Iterator[Allocation]:
        """Yield nothing: replays use one worker."""
        yield from ()

    def priority(self, learner: str) -> float | None:  # noqa: ARG002  # learners take turns
        """Return None: learners are taken in a fixed order."""
        return None

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
        size: int | None = self.schedule.full_size  # for the first learner, which has nothing to be compared with
        if self._at_full or size in curve.sizes:
            size = lccv_next(curve.sizes, curve.valid, self.schedule.sizes, best)
        self._climbing = Allocation(learner, size) if size else None


def lccv_next(sizes: Sequence[int], scores: Sequence[float], schedule: Sequence[int], best: float) -> int | None:
    """Return the next size after these points, or None if the learner is finished or dropped."""
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
    """Extrapolate the line through the last two points to the full size; a falling line is replaced by a level one."""
    slope = max(0.0, (scores[-1] - scores[-2]) / (sizes[-1] - sizes[-2]))
    return scores[-1] + slope * (full_size - sizes[-1])


def fitted(sizes: Sequence[int], scores: Sequence[float], full_size: int) -> float:
    """Fit (a b + c n^d) / (b + n^d), constrained to be non-decreasing, and return its value at the full size.

    The weight of the squared error doubles with each point. Start, weights, constraint and optimizer are the package's.
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
    """Run Hyperband (Li et al., 2018) over a finite set of learners, from about `least` rows on.

    The brackets range from few rows and many learners to all rows and few learners; each is successive halving. The
    learners of a bracket are drawn at random without replacement, seeded by the task; if the formula asks for more than
    there are, the bracket gets all. The best learner that got all rows is selected. Brackets share their measurements:
    the same learner with the same rows is trained once, which favours Hyperband. If the full size is only a few times
    `least`, there are few brackets with few learners, so the best learner may never be tried.
    """
    rng = random.Random(f"{task.data} {task.seeds}")
    trained: set[Allocation] = set()
    for rounds in brackets(len(task.learners), task.full_size, factor, least):
        racing = rng.sample(task.learners, rounds[0][0])
        for count, rows in rounds:
            size = nearest(task.sizes, rows)
            racing = racing[:count]
            trained |= {Allocation(name, size) for name in racing}
            racing.sort(key=lambda name: -task.recorded(name, size).valid_score)
    at_full = sorted(each.learner for each in trained if each.size == task.full_size)
    return Chosen(max(at_full, key=lambda name: task.at_full[name].valid_score), frozenset(trained))


def brackets(learners: int, full_size: int, factor: int, least: int) -> list[list[tuple[int, float]]]:
    """Return the rounds of each of Hyperband's brackets: number of learners and number of rows.

    >>> brackets(20, 4608, 3, 512)
    [[(9, 512.0), (3, 1536.0), (1, 4608.0)], [(5, 1536.0), (1, 4608.0)], [(3, 4608.0)]]
    """
    most = 0  # the paper's s_max = floor(log_factor(R)), computed in integers
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

    Sizes grow by `factor` and the best 1/`factor` of the learners continue, rounded up. The first size is the largest
    one for which the last round does not exceed all rows. (The default of HalvingRandomSearchCV is `"smallest"`, a
    handful of rows; with `"exhaust"` both do the same.) The best learner of the last round is selected. If that round
    had fewer than all rows, the learner is trained on all of them, which is counted (`refit`). Ties go to the learner
    listed first; in scikit-learn they depend on its sorting.
    """

    def __init__(self, learners: Iterable[str], schedule: Schedule, *, factor: int = 3) -> None:
        super().__init__(learners, schedule)
        self._factor = factor

    @classmethod
    def of(cls, task: Task, factor: int = 3) -> SklearnHalving:
        """Return the strategy for a task, with the recorded sizes nearest to its own."""
        rounds = sklearn_rounds(len(task.learners), task.full_size, factor)
        sizes = [nearest(task.sizes, rows) for _, rows in rounds]
        return cls(task.learners, Schedule(tuple(sorted({*sizes, task.full_size}))), factor=factor)

    def _cut(self, measured: Ranking) -> tuple[int, float]:
        return -(-len(measured) // self._factor), -math.inf


def sklearn_rounds(learners: int, full_size: int, factor: int) -> list[tuple[int, int]]:
    """Return scikit-learn's `n_candidates_` and `n_resources_` for each round.

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


def simple(task: Task) -> Chosen:
    """Train all learners on N/32, the eight best of them on N/8, and the two best of these on N.

    Anyone would write this in a few lines, so it is the yardstick: what is more complicated has to be better.
    """
    racing, trained = list(task.learners), set[Allocation]()
    for part, following in ((32, 8), (8, 2), (1, 1)):
        size = nearest(task.sizes, task.full_size / part)
        trained |= {Allocation(name, size) for name in racing}
        racing = sorted(racing, key=lambda name: -task.recorded(name, size).valid_score)[:following]
    return Chosen(racing[0], frozenset(trained))


def oracle(task: Task) -> Chosen:
    """Train only the best learner, on all rows: the unreachable optimum."""
    best = max(task.learners, key=lambda name: task.at_full[name].valid_score)
    return Chosen(best, frozenset({Allocation(best, task.full_size)}))


def nearest(sizes: Sequence[int], rows: float) -> int:
    """Return the recorded size that is nearest in proportion: 16 sqrt(2)^k are evenly spaced that way."""
    return min(sizes, key=lambda size: abs(math.log(size / rows)))
