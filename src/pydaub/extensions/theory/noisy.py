"""The theorem on DAUB with noisy scores: when it surely stops a learner, and what its regret then is.

`docs/theory.md` states and proves it. The parameters have the names of `theory.py`; `radius` is the largest distance of
a score from f, that of the confidence intervals.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from pydaub.algorithm.schedule import exact
from pydaub.extensions.theory import paper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.algorithm.schedule import Ratio, Schedule
    from pydaub.extensions.theory.paper import Accuracy, Cost, Problem

BOOTSTRAP = 3  # Alg. 1: b, b r and b r^2


def noisy_suspension(f: Accuracy, sizes: Sequence[int], problem: Problem, radius: float) -> bool:
    """Return whether a suboptimal learner with these sizes surely gets no more rows (item 3 of the theorem).

    It is enough that for two of the sizes, m < n, two numbers sum up to less than Delta: what the line through f(m) and
    f(n) gains up to N, and what the noise adds to that line.
    """
    N = problem.N
    return any(
        (N - n) * (f(n) - f(m)) + radius * (2 * (n - m) + 4 * (N - n)) < problem.delta * (n - m)
        for m, n in combinations(sizes, 2)
    )


def n_stop(f: Accuracy, schedule: Schedule, problem: Problem, radius: float) -> int:
    """Return the smallest size at which a suboptimal learner surely stops; N if there is none."""
    sizes = schedule.sizes
    enough = (n for k, n in enumerate(sizes, 1) if noisy_suspension(f, sizes[:k], problem, radius))
    return next(enough, schedule.full_size)


def n_stop_limit(f: Accuracy, schedule: Schedule, problem: Problem, r: Ratio, radius: float) -> float:
    """Return the limit of item 5 on n_stop, r (m + 8 e N / (Delta - 4 e)) + 1, with m the first size from n^(Delta/2).

    Without noise, it is n^Delta up to constants: o(N). The noise adds a share of N, of the order of e / Delta.
    """
    N, delta = problem.N, problem.delta
    if 4 * radius >= delta:
        return N
    half = paper.n_delta(f, N, delta / 2)
    m = next(n for n in schedule.sizes if n >= half)
    return float(exact(r)) * (m + 8 * radius * N / (delta - 4 * radius)) + 1


def noisy_theorem_2(r: Ratio, c: Cost, n_stop: int) -> float:
    """Return the limit on the cost of an (N, Delta)-suboptimal learner that gets past its bootstrap, for n_stop < N."""
    return paper.lemma_2(r, c, n_stop)


def noisy_theorem_3_regret(problem: Problem, schedule: Schedule, r: Ratio, radius: float) -> float:
    """Return the limit on the cost of all (N, Delta)-suboptimal learners, bootstrap included."""
    total: float = 0
    for j, f in problem.f.items():
        if problem.is_suboptimal(j):
            c, n = problem.c[j], n_stop(f, schedule, problem, radius)
            most = noisy_theorem_2(r, c, n) if n < problem.N else paper.theorem_3_selected(r, c, schedule)
            total += max(most, sum(c(size) for size in schedule.sizes[:BOOTSTRAP]))
    return total


def paired_radius(differ: float, difference: float, rows: int, pairs: int, alpha: float = 0.05) -> float:
    """Return the radius of the empirical Bernstein interval for the difference of two accuracies on the same rows.

    Parameters
    ----------
    differ
        Share of the rows on which exactly one of the two learners is right.
    difference
        Measured difference of their scores.
    rows
        Number of validation rows, at least 2.
    pairs
        Number of pairs that may be looked at.
    alpha
        Probability that any of the intervals misses.
    """
    log = math.log(4 * pairs / alpha)  # Maurer and Pontil (2009), for both sides, on (difference + 1) / 2
    return math.sqrt(2 * max(differ - difference**2, 0.0) * log / (rows - 1)) + 14 * log / (3 * (rows - 1))


def paired_hoeffding_radius(rows: int, pairs: int, alpha: float = 0.05) -> float:
    """Return the radius of Hoeffding's interval for such a difference, which lies between -1 and 1 on each row."""
    return math.sqrt(2 * math.log(2 * pairs / alpha) / rows)
