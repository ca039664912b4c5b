"""The paper's theory, so that its claims can be run: Definitions 1 to 7, DAUB*, and what its theorems bound.

The paper's symbols are kept here: N, r, b, s, Delta (`delta`), f (accuracy), c (cost), u (upper bound), S (the
allocation sequence). Accuracies and bounds are functions of a whole number of rows from 1 to N; costs are
functions of any positive number, since the theorems evaluate them at r n*, which need be neither whole nor at
most N. Everything is exact where the given functions return `Fraction`.

Where a statement needs a reading, `docs/algorithm.md` says which one is implemented, and why.
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
from pydaub.records import Allocation, Measurement, whole

Accuracy: TypeAlias = Callable[[int], float]
Cost: TypeAlias = Callable[[float], float]
Bound: TypeAlias = Callable[[int], float]

GAMMA = (math.sqrt(5) - 1) / 2  # Theorem 4: the largest number with gamma^2 <= 1 - gamma


@dataclass(frozen=True)
class Problem:
    """The givens of Definition 3: what each learner would score and cost at any size, N rows, and Delta."""

    f: Mapping[str, Accuracy]
    c: Mapping[str, Cost]
    N: int
    delta: float

    def __post_init__(self) -> None:
        if not self.f or set(self.f) != set(self.c):
            raise InputError("`f` and `c` must be of the same learners, at least one.")
        _check_rows(self.N)
        _check_delta(self.delta)

    @property
    def f_star(self) -> float:
        """The target accuracy: the best that any learner reaches with all N rows."""
        return max(f(self.N) for f in self.f.values())

    def is_suboptimal(self, j: str, n: int | None = None) -> bool:
        """Definition 1: whether learner j is (n, Delta)-suboptimal; n is N unless given."""
        n = self.N if n is None else n
        return max(f(n) for f in self.f.values()) - self.f[j](n) >= self.delta

    def cost(self, S: Iterable[Allocation]) -> float:
        """Return what a sequence of allocations costs to train."""
        return sum(self.c[allocation.learner](allocation.size) for allocation in S)

    def regret(self, S: Iterable[Allocation], n: int | None = None) -> float:
        """Definition 2: what was spent on the (n, Delta)-suboptimal learners; n is N unless given."""
        suboptimal = {j for j in self.f if self.is_suboptimal(j, n)}
        return self.cost(allocation for allocation in S if allocation.learner in suboptimal)

    def conditions(self, S: Iterable[Allocation], selected: str, d: float) -> Conditions:
        """Definition 3: hold a sequence and a selected learner against the four conditions of the problem."""
        S = tuple(S)
        own_cost = self.cost(allocation for allocation in S if allocation.learner == selected)
        return Conditions(
            trained_on_all=Allocation(selected, self.N) in S,
            near_optimal=not self.is_suboptimal(selected),
            own_cost_bounded=own_cost <= d * self.c[selected](self.N),
            relative_regret=self.regret(S) / (len(self.f) * own_cost) if own_cost else math.inf,
        )


class Conditions(NamedTuple):
    """Definition 3. The fourth is about N growing without end: for one N it is a number that must become small."""

    trained_on_all: bool
    near_optimal: bool
    own_cost_bounded: bool
    relative_regret: float


def is_cost(c: Cost, N: int) -> bool:
    """Whether training looks at all rows and its cost grows at least linearly: c(n) >= n, c(m)/m >= c(n)/n."""
    _check_rows(N)
    return c(1) >= 1 and all(c(n + 1) * n >= c(n) * (n + 1) for n in range(1, N))


def is_valid_bound(u: Bound, f: Accuracy, N: int) -> bool:
    """Definition 4: whether u never falls below what the learner reaches with all rows."""
    _check_rows(N)
    return all(u(n) >= f(N) for n in range(1, N + 1))


def n_star(u: Bound, f_star: float, N: int) -> int:
    """Definition 5: the least number of rows at which u alone tells that the learner is not the best."""
    _check_rows(N)
    return N if u(N) >= f_star else next(n for n in range(1, N + 1) if u(n) < f_star)


def is_well_behaved(f: Accuracy, N: int) -> bool:
    """Definition 6: whether f lies in [0, 1], never falls, and has diminishing returns."""
    _check_rows(N)
    scores = [f(n) for n in range(1, N + 1)]
    gains = [later - earlier for earlier, later in pairwise(scores)]
    return (
        scores[0] >= 0
        and scores[-1] <= 1
        and all(gain >= 0 for gain in gains)
        and all(later <= earlier for earlier, later in pairwise(gains))
    )


def n_delta(f: Accuracy, N: int, delta: float, s: int = 1) -> int:
    """Definition 7: the least number of rows from which on f gains at most Delta / N a row."""
    _check_delta(delta)
    _check_rows(N)
    return next((n for n in range(1, N) if one_sided_difference(f, n, s) * N <= delta), N)


def difference_bound(f: Accuracy, N: int, s: int = 1, f_T: Accuracy | None = None) -> Bound:
    """Return DAUB*'s ub_i as a function of n: min{f^T(n), f(n) + (N - n) f'(n)}, without f^T unless given."""
    bound = DifferenceBound({"i": f}, s, train_cap=f_T is not None)

    def ub(n: int) -> float:
        return bound(Curve("i", (n,), (_exact_measurement(f, f_T, n),)), N)

    return ub


@dataclass(frozen=True)
class BlackBox:
    """An `UpperBound` that knows each learner's u_i as a function of n, "ignoring how it is computed"."""

    u: Mapping[str, Bound]

    def __call__(self, curve: Curve, full_size: int) -> float:  # noqa: ARG002  # u_i knows its N
        """Return u_i at the curve's last size."""
        return self.u[curve.learner](curve.sizes[-1])


class Trace(NamedTuple):
    """What DAUB* did."""

    S: tuple[Allocation, ...]
    selected: str

    def of(self, j: str) -> tuple[int, ...]:
        """Return the sizes that learner j was given, S_j."""
        return tuple(allocation.size for allocation in self.S if allocation.learner == j)


def daub_star(
    f: Mapping[str, Accuracy],
    schedule: Schedule,
    bound: UpperBound | None = None,
    f_T: Mapping[str, Accuracy] | None = None,
) -> Trace:
    """DAUB*: the very same strategy on exact curves; the bound is `DifferenceBound(f)` unless given."""
    strategy = Daub(f, schedule, bound or DifferenceBound(f, train_cap=f_T is not None))
    S = []
    while (allocation := strategy.ask()) is not None:
        S.append(allocation)
        j = allocation.learner
        strategy.tell(allocation, _exact_measurement(f[j], f_T[j] if f_T else None, allocation.size))
    assert strategy.winner is not None  # noqa: S101  # exact curves do not fail
    return Trace(tuple(S), strategy.winner)


def _exact_measurement(f: Accuracy, f_T: Accuracy | None, n: int) -> Measurement:
    return Measurement(f_T(n) if f_T else 1.0, f(n), 0.0)


# The right-hand sides. For Lemma 3 see `is_valid_bound`; Lemma 4 is n_star(...) <= n_delta(...).


def lemma_1_step(r: Ratio, n_star: int) -> float:
    """Lemma 1: past its bootstrap, learner j gets fewer rows than this in each step."""
    return _r(r) * n_star


def lemma_1_total(r: Ratio, n_star: int) -> float:
    """Lemma 1: if it gets past its bootstrap, learner j gets fewer rows than this in total."""
    return _r(r) ** 2 / (_r(r) - 1) * n_star


def lemma_2(r: Ratio, c: Cost, n: float) -> float:
    """Lemma 2: what a learner costs at most if no step gives it more than n rows, n being no capped size."""
    return _r(r) / (_r(r) - 1) * c(n)


def theorem_1(r: Ratio, c: Cost, n_star: int) -> float:
    """Theorem 1: what learner j costs at most if it gets past its bootstrap."""
    return lemma_2(r, c, _r(r) * n_star)


def theorem_2(r: Ratio, c: Cost, n_delta: int) -> float:
    """Theorem 2: what an (N, Delta)-suboptimal learner costs at most if it gets past its bootstrap."""
    return theorem_1(r, c, n_delta)


def theorem_3_selected(r: Ratio, c: Cost, schedule: Schedule) -> float:
    """Theorem 3, part 1: what the selected learner costs at most.

    The paper's r/(r-1) c(N) where N is r times the size before it; more where N was capped nearer to that.
    """
    before, N = (0, *schedule.sizes)[-2], schedule.full_size
    return (1 + before * _r(r) / ((_r(r) - 1) * N)) * c(N)


def theorem_3_regret(problem: Problem, schedule: Schedule, r: Ratio, s: int = 1) -> float:
    """Theorem 3, part 2: what the (N, Delta)-suboptimal learners cost at most, bootstrap included."""
    total: float = 0
    for j in problem.f:
        if problem.is_suboptimal(j):
            c = problem.c[j]
            reach = theorem_2(r, c, n_delta(problem.f[j], problem.N, problem.delta, s))
            total += max(reach, sum(c(n) for n in schedule.sizes[:3]))
    return total


def proposition_1(g: Accuracy, n: int) -> float:
    """Proposition 1 for one n >= 2: a well-behaved g has g'(n) at most this, and n times this tends to 0."""
    half = n // 2
    return (g(n) - g(half)) / (n - half)


def lemma_5(f: Accuracy, N: int, delta: float, n_delta: int) -> float:
    """Lemma 5 for one N and s = 1: with l = n^Delta - 1 >= 2, l - floor(l/2) is less than this.

    If l grows without end with N, this is o(N), as f converges; if it does not, it is o(N) itself.
    """
    last = n_delta - 1
    return N * (f(last) - f(last // 2)) / delta


class Pair(NamedTuple):
    """Two accuracy functions that agree up to `alike` rows and differ by at least Delta at N."""

    rising: Accuracy
    flat: Accuracy
    alike: int


def adversarial_pair(N: int, delta: float, n_delta: int) -> Pair:
    """Theorem 4: two well-behaved curves that no algorithm can tell apart with at most gamma n^Delta rows.

    Up to gamma n^Delta both follow f(n) = c Delta (1 - 1/n), whose n^Delta is the given one. From there `flat`
    gains nothing more. `rising` goes on as steeply as diminishing returns allow up to n^Delta, and gains Delta / N
    a row after it. The curves return fractions, so that all of this holds exactly.
    """
    _check_delta(delta)
    if not 4 <= whole(n_delta, "n_delta") < whole(N, "N"):  # noqa: PLR2004  # below 4, gamma n^Delta has no slope
        raise InputError(f"`n_delta` must be at least 4 and less than N = {N}, got {n_delta}.")
    # floor(gamma n) without rounding: gamma solves x^2 + x = 1
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
        largest = float(Delta / rising(N)) * (1 - 1e-5)  # the shown digits must not be rounded up
        raise InputError(
            f"`delta` must be small enough for accuracies of at most 1, got {delta}. The largest is {largest:.6g}."
        )
    return Pair(rising, flat, alike)  # type: ignore[arg-type]  # a Fraction computes as a float does, but exactly


def _r(ratio: Ratio) -> float:
    return exact(ratio)  # type: ignore[return-value]  # a Fraction computes as a float does, but exactly


def _check_rows(N: int) -> None:
    if whole(N, "N") < 1:
        raise InputError(f"`N` must be at least 1, got {N}.")


def _check_delta(delta: object) -> None:
    if not isinstance(delta, int | float | Fraction) or not 0 < delta <= 1:
        raise InputError(f"`delta` must be greater than 0 and at most 1, got {delta}.")
