"""The paper's theory as code: Definitions 1 to 7, DAUB*, and the right-hand sides of its lemmas and theorems.

The parameters have the paper's names throughout:

f
    Accuracy of a learner, a function of a whole number of rows from 1 to N.
f_T
    Training accuracy, likewise.
u
    Upper bound of a learner, likewise.
c
    Cost of training, a function of any positive number: the theorems evaluate it at r n*, which is not always a whole
    number and may exceed N.
N
    Number of all training rows.
b, r
    First size and ratio of the schedule.
s
    Step of the one-sided difference f'(n) = (f(n) - f(n - s)) / s.
delta
    Delta: by how much a learner must be worse than the best one to be called suboptimal.
S
    Sequence of allocations.
i, j
    Names of learners.

Everything is computed exactly if the given functions return `Fraction`. Where the paper leaves a choice or is mistaken,
`docs/algorithm.md` says which reading is implemented and why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from pydaub.algorithm.bounds import DifferenceBound, UpperBound, one_sided_difference
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.schedule import Ratio, Schedule, exact
from pydaub.algorithm.strategies.daub import Daub
from pydaub.errors import InputError
from pydaub.records import Allocation, Measurement, from_one, whole

Accuracy: TypeAlias = Callable[[int], float]
Cost: TypeAlias = Callable[[float], float]
Bound: TypeAlias = Callable[[int], float]

GAMMA = (math.sqrt(5) - 1) / 2  # Theorem 4: the largest gamma with gamma^2 <= 1 - gamma


@dataclass(frozen=True)
class Problem:
    """The selection problem of Definition 3: f and c of each learner, by name; delta is above 0 and at most 1."""

    f: Mapping[str, Accuracy]
    c: Mapping[str, Cost]
    N: int
    delta: float

    def __post_init__(self) -> None:
        if not self.f or set(self.f) != set(self.c):
            raise InputError("`f` and `c` must name the same learners, at least one.")
        from_one(self.N, "N")
        _check_delta(self.delta)

    @property
    def f_star(self) -> float:
        """Target accuracy f*: the best accuracy of any learner at N."""
        return max(f(self.N) for f in self.f.values())

    def is_suboptimal(self, j: str, n: int | None = None) -> bool:
        """Return whether learner j is (n, Delta)-suboptimal (Definition 1); n defaults to N."""
        n = self.N if n is None else n
        return max(f(n) for f in self.f.values()) - self.f[j](n) >= self.delta

    def cost(self, S: Iterable[Allocation]) -> float:
        """Return the cost of training a sequence of allocations."""
        return sum(self.c[allocation.learner](allocation.size) for allocation in S)

    def regret(self, S: Iterable[Allocation], n: int | None = None) -> float:
        """Return the cost spent on (n, Delta)-suboptimal learners (Definition 2); n defaults to N."""
        suboptimal = {j for j in self.f if self.is_suboptimal(j, n)}
        return self.cost(allocation for allocation in S if allocation.learner in suboptimal)

    def conditions(self, S: Iterable[Allocation], selected: str, d: float) -> Conditions:
        """Check an allocation sequence and the learner it selected against the four conditions of Definition 3.

        d is the allowed cost of the selected learner, relative to training it once at N.
        """
        S = tuple(S)
        own_cost = self.cost(allocation for allocation in S if allocation.learner == selected)
        return Conditions(
            trained_on_all=Allocation(selected, self.N) in S,
            near_optimal=not self.is_suboptimal(selected),
            own_cost_bounded=own_cost <= d * self.c[selected](self.N),
            relative_regret=self.regret(S) / (len(self.f) * own_cost) if own_cost else math.inf,
        )


class Conditions(NamedTuple):
    """The four conditions of Definition 3. The fourth is asymptotic: its number must tend to 0 as N grows."""

    trained_on_all: bool
    near_optimal: bool
    own_cost_bounded: bool
    relative_regret: float


def is_cost(c: Cost, N: int) -> bool:
    """Return whether c(n) >= n and the cost grows at least linearly: c(m)/m >= c(n)/n for m > n."""
    from_one(N, "N")
    return c(1) >= 1 and all(c(n + 1) * n >= c(n) * (n + 1) for n in range(1, N))


def is_valid_bound(u: Bound, f: Accuracy, N: int) -> bool:
    """Return whether u never falls below f(N) (Definition 4)."""
    from_one(N, "N")
    return all(u(n) >= f(N) for n in range(1, N + 1))


def n_star(u: Bound, f_star: float, N: int) -> int:
    """Return n*, the smallest n at which u alone shows that the learner is not the best: u(n) < f* (Definition 5)."""
    from_one(N, "N")
    return N if u(N) >= f_star else next(n for n in range(1, N + 1) if u(n) < f_star)


def u_max(u: Iterable[Bound], N: int) -> float:
    """Return the largest u_i(N): once a bound u_j(n) is below it, DAUB* gives C_j no more rows.

    The paper calls it u^min(N) and takes the minimum, with which the statement is empty.
    """
    from_one(N, "N")
    return max(each(N) for each in u)


def is_well_behaved(f: Accuracy, N: int, s: int = 1) -> bool:
    """Return whether f lies in [0, 1], never falls, and has diminishing returns: f' never rises (Definition 6).

    Lemma 3 needs s = 1. With a larger step, f' may never rise although f is not concave, and ub_i is then no valid
    bound (docs/theory.md has an example).
    """
    from_one(N, "N")
    scores = [f(n) for n in range(1, N + 1)]
    gains = [one_sided_difference(f, n, s) for n in range(2, N + 1)]
    return (
        scores[0] >= 0
        and scores[-1] <= 1
        and all(later >= earlier for earlier, later in pairwise(scores))
        and all(later <= earlier for earlier, later in pairwise(gains))
    )


def n_delta(f: Accuracy, N: int, delta: float, s: int = 1) -> int:
    """Return n^Delta, the smallest n at which f gains at most Delta / N per row (Definition 7)."""
    _check_delta(delta)
    from_one(N, "N")
    return next((n for n in range(1, N) if one_sided_difference(f, n, s) * N <= delta), N)


def difference_bound(f: Accuracy, N: int, s: int = 1, f_T: Accuracy | None = None) -> Bound:
    """Return DAUB*'s bound ub_i as a function of n: min{f_T(n), f(n) + (N - n) f'(n)}; without `f_T`, only the line."""
    bound = DifferenceBound({"i": f}, s, train_cap=f_T is not None)

    def ub(n: int) -> float:
        return bound(Curve("i", (n,), (_exact_measurement(f, f_T, n),)), N)

    return ub


class Trace(NamedTuple):
    """The allocation sequence of a run of DAUB*, and the learner it selected."""

    S: tuple[Allocation, ...]
    selected: str

    def of(self, j: str) -> tuple[int, ...]:
        """Return S_j: the sizes allocated to learner j."""
        return tuple(allocation.size for allocation in self.S if allocation.learner == j)


def daub_star(
    f: Mapping[str, Accuracy],
    schedule: Schedule,
    bound: UpperBound | None = None,
    f_T: Mapping[str, Accuracy] | None = None,
) -> Trace:
    """Run DAUB*: the strategy `Daub` on the exact curves of each learner, by name.

    The bound that decides is `DifferenceBound(f)` by default, and f_T is 1 everywhere.
    """
    strategy = Daub(f, schedule, bound or DifferenceBound(f, train_cap=f_T is not None))
    S = []
    while (allocation := strategy.ask()) is not None:
        S.append(allocation)
        j = allocation.learner
        strategy.tell(allocation, _exact_measurement(f[j], f_T[j] if f_T else None, allocation.size))
    assert strategy.winner is not None  # noqa: S101  # exact curves never fail
    return Trace(tuple(S), strategy.winner)


def _exact_measurement(f: Accuracy, f_T: Accuracy | None, n: int) -> Measurement:
    return Measurement(f_T(n) if f_T else 1.0, f(n), 0.0)


# Right-hand sides; those for noisy scores are in `noisy.py`. For Lemma 3 see `is_valid_bound`; Lemma 4 is
# n_star(...) <= n_delta(...).


def lemma_1_step(r: Ratio, n_star: int) -> float:
    """Return the limit of Lemma 1 on the rows of each allocation to a learner that gets past its bootstrap."""
    return _r(r) * n_star


def lemma_1_total(r: Ratio, n_star: int) -> float:
    """Return the limit of Lemma 1 on the total rows of a learner that gets past its bootstrap."""
    return _r(r) ** 2 / (_r(r) - 1) * n_star


def lemma_2(r: Ratio, c: Cost, n: float) -> float:
    """Return the limit of Lemma 2 on the total cost of a learner whose largest size is n, if n was not capped."""
    return _r(r) / (_r(r) - 1) * c(n)


def theorem_1(r: Ratio, c: Cost, n_star: int) -> float:
    """Return the limit of Theorem 1 on the total cost of a learner that gets past its bootstrap."""
    return lemma_2(r, c, _r(r) * n_star)


def theorem_2(r: Ratio, c: Cost, n_delta: int) -> float:
    """Return the limit of Theorem 2 on the cost of an (N, Delta)-suboptimal learner that gets past its bootstrap."""
    return theorem_1(r, c, n_delta)


def theorem_3_selected(r: Ratio, c: Cost, schedule: Schedule) -> float:
    """Return the limit of Theorem 3, part 1, on the total cost of the selected learner.

    It equals the paper's r/(r-1) c(N) if N is r times the size before it, and is larger if N was capped closer to it.
    """
    before, N = (0, *schedule.sizes)[-2], schedule.full_size
    return (1 + before * _r(r) / ((_r(r) - 1) * N)) * c(N)


def theorem_3_regret(problem: Problem, schedule: Schedule, r: Ratio, s: int = 1) -> float:
    """Return the limit of Theorem 3, part 2, on the cost of all (N, Delta)-suboptimal learners, bootstrap included."""
    total: float = 0
    for j in problem.f:
        if problem.is_suboptimal(j):
            c = problem.c[j]
            reach = theorem_2(r, c, n_delta(problem.f[j], problem.N, problem.delta, s))
            total += max(reach, sum(c(n) for n in schedule.sizes[:3]))
    return total


def is_near_optimal(problem: Problem, schedule: Schedule, s: int = 1) -> bool:
    """Return whether DAUB* is sure to select an (N, Delta)-optimal learner.

    That is so if every (N, Delta)-suboptimal learner has n^Delta at most the size before N, and if these learners and
    the best one are well-behaved.
    """
    before = (0, *schedule.sizes)[-2]
    best = max(problem.f, key=lambda j: problem.f[j](problem.N))
    suboptimal = [j for j in problem.f if problem.is_suboptimal(j)]
    return all(is_well_behaved(problem.f[j], problem.N) for j in (best, *suboptimal)) and all(
        n_delta(problem.f[j], problem.N, problem.delta, s) <= before for j in suboptimal
    )


def proposition_1(g: Accuracy, n: int) -> float:
    """Return the limit of Proposition 1 on g'(n) for a well-behaved g and n >= 2; n times it tends to 0."""
    half = n // 2
    return (g(n) - g(half)) / (n - half)


def lemma_5(f: Accuracy, N: int, delta: float, n_delta: int) -> float:
    """Return the limit of Lemma 5 on l - floor(l/2), with l = n^Delta - 1 >= 2 and s = 1.

    If l is unbounded as N grows, the limit is o(N), since f converges. If l is bounded, it is o(N) anyway.
    """
    last = n_delta - 1
    return N * (f(last) - f(last // 2)) / delta


class Pair(NamedTuple):
    """Two accuracy functions that agree up to `alike` rows and differ by at least Delta at N (Theorem 4)."""

    rising: Accuracy
    flat: Accuracy
    alike: int


def adversarial_pair(N: int, delta: float, n_delta: int) -> Pair:
    """Return two well-behaved curves that no algorithm can tell apart with at most gamma n^Delta rows (Theorem 4).

    Up to gamma n^Delta rows both follow f(n) = c Delta (1 - 1/n), whose n^Delta is the given one. From there on `flat`
    gains nothing, while `rising` goes on as steeply as diminishing returns allow up to n^Delta and then gains Delta / N
    per row. n_delta must be at least 4 and less than N, and delta small enough for accuracies of at most 1.
    """
    _check_delta(delta)
    if not 4 <= whole(n_delta, "n_delta") < whole(N, "N"):  # noqa: PLR2004  # below 4, there is no slope at gamma n^Delta
        raise InputError(f"`n_delta` must be at least 4 and less than N = {N}, got {n_delta}.")
    # floor(gamma n) in integers: gamma solves x^2 + x = 1
    alike = next(m for m in range(n_delta, 0, -1) if m * m + m * n_delta <= n_delta * n_delta)
    Delta = Fraction(delta)
    c_delta = Delta * n_delta * (n_delta - 1) / N
    slope = c_delta / (alike * (alike - 1))  # f'(alike), at least Delta / (gamma^2 N)

    def flat(n: int) -> Fraction:
        return c_delta - c_delta / min(n, alike)

    def rising(n: int) -> Fraction:
        steep = max(min(n, n_delta) - alike, 0)
        return flat(n) + steep * slope + max(n - n_delta, 0) * Delta / N

    if rising(N) > 1:
        largest = float(Delta / rising(N)) * (1 - 1e-5)  # so that the printed digits are not rounded up
        raise InputError(
            f"`delta` must be small enough for accuracies of at most 1, got {delta}. The largest is {largest:.6g}."
        )
    return Pair(rising, flat, alike)  # type: ignore[arg-type]  # a Fraction supports the same arithmetic as a float


def _r(ratio: Ratio) -> float:
    return exact(ratio)  # type: ignore[return-value]  # a Fraction supports the same arithmetic as a float


def _check_delta(delta: object) -> None:
    if not isinstance(delta, int | float | Fraction) or not 0 < delta <= 1:
        raise InputError(f"`delta` must be greater than 0 and at most 1, got {delta}.")
