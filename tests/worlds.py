"""Random well-behaved curves, valid bounds and superlinear costs, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from pydaub import DifferenceBound, Schedule
from pydaub.extensions.theory import paper

RATIOS = ["1.1", "1.5", "2", "2.7", "3"]
Exact = Callable[[Any], Any]
ROWS: Exact = lambda x: x  # noqa: E731


@st.composite
def well_behaved(draw: st.DrawFn, N: int) -> Exact:
    """Draw a curve on 1..N that never falls and has diminishing returns, with values in [0, 1]."""
    pieces = draw(st.lists(st.tuples(st.integers(1, 60), st.integers(1, N)), min_size=1, max_size=6))
    gains = [gain for gain, length in sorted(pieces, reverse=True) for _ in range(length)]
    gains += [0] * N
    values = [draw(st.integers(0, 200))]
    for gain in gains[: N - 1]:
        values.append(values[-1] + gain)
    height = Fraction(draw(st.integers(40, 100)), 100) / max(values[-1], 1)
    return lambda n: values[n - 1] * height


@st.composite
def valid_bound(draw: st.DrawFn, f: Exact, N: int) -> Exact:
    """Draw any non-increasing function that never falls below f(N)."""
    falls = sorted(draw(st.lists(st.integers(1, N), max_size=5)))
    steps = [sum(place >= n for place in falls) for n in range(1, N + 1)]
    unit = Fraction(1 - f(N)) / max(len(falls), 1)
    return lambda n: f(N) + unit * steps[n - 1]


@st.composite
def training_curve(draw: st.DrawFn, f: Exact, N: int) -> Exact:
    """Draw a training accuracy: non-increasing, and never below f(N)."""
    return draw(valid_bound(f, N))


costs: st.SearchStrategy[Exact] = st.builds(
    lambda linear, square, stair: lambda x: x * (linear + square * Fraction(x, 10) + Fraction(x) // stair),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(1, 50),
)


@dataclass(frozen=True)
class World:
    """Learners with exact curves and costs, and a schedule."""

    problem: paper.Problem
    schedule: Schedule
    r: str
    s: int
    f_T: Any

    @property
    def N(self) -> int:
        return self.schedule.full_size

    def bound(self, j: str) -> Exact:
        return paper.difference_bound(self.problem.f[j], self.N, self.s, self.f_T and self.f_T[j])

    def daub_star(self) -> paper.Trace:
        bound = DifferenceBound(self.problem.f, self.s, train_cap=self.f_T is not None)
        return paper.daub_star(self.problem.f, self.schedule, bound, self.f_T)

    def past_bootstrap(self, trace: paper.Trace) -> list[str]:
        return [j for j in self.problem.f if len(trace.of(j)) > 3]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    N = draw(st.integers(12, 160))
    r = draw(st.sampled_from(RATIOS))
    b = draw(st.integers(1, max(1, N // 20)) | st.integers(1, int(N / Fraction(r) ** 2)))
    names = [f"C{i}" for i in range(draw(st.integers(2, 6)))]
    f = {name: draw(well_behaved(N)) for name in names}
    c = {name: draw(costs) for name in names}
    with_training = draw(st.booleans())
    f_T = {name: draw(training_curve(f[name], N)) for name in names} if with_training else None
    delta: Any = draw(st.fractions(min_value=Fraction(1, 100), max_value=Fraction(1, 4), max_denominator=100))
    problem = paper.Problem(f, c, N, delta)
    return World(problem, Schedule.geometric(N, b, r), r, draw(st.integers(1, 6)), f_T)
