"""The theorem on DAUB with noisy scores (docs/theory.md), with the worst noise that the intervals allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from pydaub import Daub, Measurement, Schedule
from pydaub.extensions.bounds.confidence import INTERVALS, ConfidenceBound
from pydaub.extensions.theory import noisy, paper
from worlds import ROWS, World, worlds


def noisily(world: World, scores: Callable[[str, int], float], bound: ConfidenceBound) -> tuple[Any, dict[str, int]]:
    """Run DAUB on scores with noise, and check items 1 and 2; return the winner and the last size of each learner."""
    f, sizes = world.problem.f, world.schedule.sizes
    strategy, last = Daub(list(f), world.schedule, bound), dict.fromkeys(f, 0)
    while (allocation := strategy.ask()) is not None:
        j, n = allocation.learner, allocation.size
        if n > sizes[2]:
            assert bound(strategy.curve(j), world.N) >= world.problem.f_star - 1e-9, "item 2"
        strategy.tell(allocation, Measurement(1.0, scores(j, n), 0.0))
        last[j] = n
        assert bound(strategy.curve(j), world.N) >= min(float(f[j](world.N)), 1.0) - 1e-9, "item 1"
    return strategy.winner, last


@given(worlds(), st.data())
def test_with_any_noise_within_the_intervals_bounds_are_valid(world: World, data: st.DataObject) -> None:
    f, sizes = world.problem.f, world.schedule.sizes
    bound = ConfidenceBound(10 ** data.draw(st.integers(2, 10)), looks=len(f) * len(sizes))
    noise = st.floats(-0.999, 0.999)
    drawn = {(j, n): float(f[j](n)) + bound.radius(0.5) * data.draw(noise) for j in f for n in sizes}
    _, last = noisily(world, lambda j, n: drawn[j, n], bound)
    assert max(last.values()) == world.N


@st.composite
def nearly_ruled_out(draw: st.DrawFn, slope: Fraction, noise: float) -> tuple[World, str, int, ConfidenceBound]:
    """Draw learners that are suboptimal by Delta, flat from some size on, and the best one; and a bound.

    Between that size and the one before they rise by `slope` times Delta / (2N) per row, and the radius of the bound is
    `noise` times the one that moves their bound by Delta / 2.
    """
    N, delta = draw(st.integers(300, 2000)), Fraction(draw(st.integers(10, 25)), 100)
    schedule = Schedule.geometric(N, draw(st.integers(3, 10)), draw(st.sampled_from(["1.5", "2"])))
    place = draw(st.integers(2, len(schedule.sizes) - 3))
    m, n = schedule.sizes[place - 1 : place + 1]
    gain = slope * delta / (2 * N)

    def flat(x: int) -> Fraction:
        return Fraction(1, 2) - Fraction(max(m - x, 0), 3 * m) + gain * (min(max(x, m), n) - m)

    names = [f"flat{each}" for each in range(draw(st.integers(1, 3)))]
    f: Any = {**dict.fromkeys(names, flat), "best": lambda _n: flat(N) + delta}
    world = World(paper.Problem(f, dict.fromkeys(f, ROWS), N, delta), schedule, "", 1, None)  # type: ignore[arg-type]
    looks, radius = len(f) * len(schedule.sizes), noise * float(delta) / 2 / (2 + 4 * (N - n) / (n - m))
    rows = math.ceil(math.log(2 * looks / 0.05) / (2 * radius**2))
    return world, names[0], n, ConfidenceBound(rows, looks)


@pytest.mark.parametrize("slope", [Fraction(0), Fraction(99, 100), Fraction(3)])
@pytest.mark.parametrize("noise", [0.2, 0.99, 1.6, 1.98, 4.0])
@given(st.data())
@settings(max_examples=8)
def test_the_theorem_for_noisy_scores(slope: Fraction, noise: float, data: st.DataObject) -> None:
    """With the worst noise within the intervals, items 3 and 4 hold as long as the condition does, and no longer."""
    world, j, n, bound = data.draw(nearly_ruled_out(slope, noise))
    sizes, N = world.schedule.sizes, world.N
    assert all(paper.is_well_behaved(f, N) for f in (world.problem.f[j], world.problem.f["best"]))
    radius = 0.999 * bound.radius(0.5)

    def worst(learner: str, size: int) -> float:
        """Return the best one as low as possible, and others as steep as possible between n and the size before."""
        high = size == sizes[0] if learner == "best" else size >= n
        return float(world.problem.f[learner](size)) + (radius if high else -radius)

    winner, last = noisily(world, worst, bound)
    m = sizes[sizes.index(n) - 1]
    suspended = noisy.noisy_suspension(world.problem.f[j], (m, n), world.problem, bound.radius(0.5))
    allowed = float(world.problem.delta) / 2 / (2 + 4 * (N - n) / (n - m))
    assert suspended == (slope * (N - n) / N + bound.radius(0.5) / allowed < 2)
    if suspended:
        assert last[j] <= n, "item 3"
        assert winner == "best", "item 4"
    elif slope == 3 and noise > 1:  # far beyond the condition
        assert last[j] > n, "the condition is not far from what is needed"


@given(st.integers(500, 5000), st.sampled_from(["1.2", "1.5", "2"]), st.data())
def test_sizes_that_are_far_apart_stop_a_learner_that_neighbours_do_not(N: int, r: str, data: st.DataObject) -> None:
    """A learner that is flat from b on, with noise that its smallest size and n just allow."""
    schedule = Schedule.geometric(N, 5, r)
    sizes, delta = schedule.sizes, Fraction(1, 10)
    place = data.draw(st.integers(3, len(sizes) - 3))
    b, m, n = sizes[0], sizes[place - 1], sizes[place]
    f: Any = {"flat": lambda _n: Fraction(1, 2), "best": lambda _n: Fraction(6, 10)}
    problem = paper.Problem(f, dict.fromkeys(f, ROWS), N, delta)  # type: ignore[arg-type]
    radius = 0.99 * float(delta) / (2 + 4 * (N - n) / (n - b))
    bound = ConfidenceBound(math.ceil(math.log(2 * 2 * len(sizes) / 0.05) / (2 * radius**2)), 2 * len(sizes))
    assert noisy.noisy_suspension(f["flat"], (b, n), problem, radius)
    assert noisy.noisy_suspension(f["flat"], sizes[: place + 1], problem, radius)
    assert not noisy.noisy_suspension(f["flat"], (m, n), problem, radius)
    off = 0.999 * bound.radius(0.5)

    def worst(learner: str, size: int) -> float:
        high = size == sizes[0] if learner == "best" else size >= n
        return float(f[learner](size)) + (off if high else -off)

    winner, last = noisily(World(problem, schedule, r, 1, None), worst, bound)
    assert last["flat"] <= n
    assert winner == "best"


@given(worlds(), st.data())
def test_the_theorems_on_regret_hold_with_any_noise_within_the_intervals(world: World, data: st.DataObject) -> None:
    """Items 3 to 6: each suboptimal learner costs at most r/(r-1) c(n_stop), and so does their sum."""
    problem, schedule, r = world.problem, world.schedule, world.r
    f, sizes, first = problem.f, schedule.sizes, schedule.sizes[:3][-1]
    bound = ConfidenceBound(10 ** data.draw(st.integers(2, 12)), looks=len(f) * len(sizes))
    radius, noise = bound.radius(0.5), st.floats(-0.999, 0.999)
    drawn = {(j, n): float(f[j](n)) + radius * data.draw(noise) for j in f for n in sizes}
    winner, last = noisily(world, lambda j, n: drawn[j, n], bound)
    spent = {j: sum(problem.c[j](n) for n in sizes if n <= last[j]) for j in f}
    suboptimal = [j for j in f if problem.is_suboptimal(j)]
    stops = {j: noisy.n_stop(f[j], schedule, problem, radius) for j in suboptimal}
    for j, n in stops.items():
        assert n <= noisy.n_stop_limit(f[j], schedule, problem, r, radius), "item 5"
        if n < world.N and last[j] > first:
            assert last[j] <= n, "item 3"
            assert spent[j] <= noisy.noisy_theorem_2(r, problem.c[j], n)
    assert sum(spent[j] for j in suboptimal) <= noisy.noisy_theorem_3_regret(problem, schedule, r, radius)
    assert winner is not None
    assert spent[winner] <= paper.theorem_3_selected(r, problem.c[winner], schedule)
    if first < world.N and all(n < world.N for n in stops.values()):
        assert winner not in suboptimal, "item 4"


def test_the_relative_regret_vanishes_only_if_the_noise_does() -> None:
    """With the noise fixed, the limit stays a share of what the best costs; with more validation rows, it vanishes."""
    f: Any = {"good": lambda n: 1 - Fraction(1, 10 * n), "bad": lambda n: Fraction(8, 10) - Fraction(3, 10 * n)}
    shares: dict[str, list[float]] = {"fixed": [], "vanishing": []}
    for power in (3, 4, 5):
        N = 10**power
        problem = paper.Problem(f, dict.fromkeys(f, ROWS), N, 0.1)
        schedule = Schedule.geometric(N, 10, "1.5")
        for name, radius in (("fixed", 0.001), ("vanishing", 1 / N)):
            limit = noisy.noisy_theorem_3_regret(problem, schedule, "1.5", radius)
            shares[name].append(float(limit) / N)
    assert min(shares["fixed"]) > 0.1
    assert shares["vanishing"] == sorted(shares["vanishing"], reverse=True)
    assert shares["vanishing"][-1] < 0.03


def test_without_enough_validation_rows_nothing_is_promised() -> None:
    problem = paper.Problem({"a": lambda _n: 0.5}, {"a": ROWS}, 1000, 0.1)
    schedule = Schedule.geometric(1000, 10, 2)
    assert noisy.n_stop_limit(problem.f["a"], schedule, problem, 2, 0.025) == 1000


def test_noisy_scores_on_many_rows_suspend_a_suboptimal_learner() -> None:
    """The theorem is not empty: with a million validation rows, this learner stops at 250 of 2,000 rows."""
    f: Any = {"good": lambda _n: Fraction(9, 10), "bad": lambda n: Fraction(3, 10) + Fraction(min(n, 100), 1000)}
    problem = paper.Problem(f, {"good": ROWS, "bad": ROWS}, 2000, 0.4)
    schedule = Schedule((20, 50, 120, 250, 500, 1000, 2000))
    bound = ConfidenceBound(10**6, looks=14)
    assert [
        noisy.noisy_suspension(f["bad"], pair, problem, bound.radius(0.5)) for pair in pairwise(schedule.sizes)
    ] == [False, False, True, True, True, True]
    trace = paper.daub_star(f, schedule, bound)
    assert trace.selected == "good"
    assert trace.of("bad") == (20, 50, 120, 250), "no later than the theorem says"


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("rows", [2, 20, 300, 5000])
def test_an_interval_misses_no_more_often_than_it_says(interval: str, rows: int) -> None:
    """Exactly, by the binomial distribution, for one score of ten."""
    bound = ConfidenceBound(rows, looks=10, interval=interval)
    correct = np.arange(rows + 1)
    radius = np.array([bound.radius(float(score)) for score in correct / rows])
    for share in (0.0, 0.001, 0.02, 0.3, 0.5, 0.77, 0.99, 1.0):
        missed = binom.pmf(correct, rows, share)[np.abs(correct / rows - share) > radius].sum()
        assert missed <= (1 - bound.confidence) / 10


@pytest.mark.parametrize("rows", [2, 20, 120])
@pytest.mark.parametrize(("ahead", "behind"), [(0.5, 0.5), (0.3, 0.1), (0.05, 0.01), (0.01, 0.0), (1.0, 0.0)])
def test_a_paired_interval_misses_no_more_often_than_it_says(rows: int, ahead: float, behind: float) -> None:
    """Exactly, by the trinomial distribution of the rows on which only one, only the other, or both are right."""
    missed = {"bernstein": 0.0, "hoeffding": 0.0}
    both = max(1 - ahead - behind, 0.0)
    for first in range(rows + 1):
        for second in range(rows + 1 - first):
            difference, differ = (first - second) / rows, (first + second) / rows
            chance = multinomial.pmf([first, second, rows - first - second], rows, [ahead, behind, both])
            for name, radius in (
                ("bernstein", noisy.paired_radius(differ, difference, rows, pairs=5)),
                ("hoeffding", noisy.paired_hoeffding_radius(rows, pairs=5)),
            ):
                missed[name] += chance * (abs(difference - (ahead - behind)) > radius)
    assert max(missed.values()) <= 0.05 / 5


def test_pairing_narrows_the_interval_of_learners_that_mostly_agree() -> None:
    """On a million rows, two scores of 0.8 that differ on a twentieth of the rows; Hoeffding's gains nothing."""
    rows, looks = 10**6, 52 * 11
    pairs = looks * (looks - 1) // 2
    apart = [2 * ConfidenceBound(rows, looks, interval).radius(0.8) for interval in INTERVALS]
    assert noisy.paired_radius(0.05, 0.0, rows, pairs) < min(apart) / 2
    assert noisy.paired_hoeffding_radius(rows, pairs) > max(apart)
