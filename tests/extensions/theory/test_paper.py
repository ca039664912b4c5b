"""Every statement of the paper's theory, checked on runs of DAUB* in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pydaub import (
    STRATEGIES,
    Allocation,
    Elimination,
    InputError,
    Measurement,
    Schedule,
    SlopeBound,
)
from pydaub.extensions.theory import paper
from worlds import ROWS, Exact, World, valid_bound, well_behaved, worlds


def test_generated_curves_and_costs_are_valid() -> None:
    @given(worlds())
    def check(world: World) -> None:
        for name, f in world.problem.f.items():
            assert paper.is_well_behaved(f, world.N)
            assert paper.is_cost(world.problem.c[name], world.N)

    check()


# Definitions


LINE: Exact = lambda n: Fraction(n, 10)  # noqa: E731
FLAT: Exact = lambda _n: Fraction(1, 2)  # noqa: E731
ROOT: Exact = lambda n: 1 - Fraction(1, n)  # noqa: E731


def test_definitions_1_and_2() -> None:
    problem = paper.Problem({"line": LINE, "flat": FLAT}, {"line": ROWS, "flat": ROWS}, 10, 0.25)
    assert problem.f_star == 1
    assert problem.is_suboptimal("flat")
    assert not problem.is_suboptimal("line")
    assert problem.is_suboptimal("line", n=2)
    assert not problem.is_suboptimal("line", n=3), "0.5 - 0.3 is less than Delta"
    S = [Allocation("line", 2), Allocation("flat", 3), Allocation("flat", 4)]
    assert problem.cost(S) == 9
    assert problem.regret(S) == 7
    assert problem.regret(S, n=2) == 2


def test_definition_1_includes_a_gap_of_exactly_delta() -> None:
    problem = paper.Problem({"a": LINE, "b": FLAT}, {"a": ROWS, "b": ROWS}, 10, 0.5)
    assert problem.is_suboptimal("b")


def test_definition_3() -> None:
    problem = paper.Problem({"line": LINE, "flat": FLAT}, {"line": ROWS, "flat": ROWS}, 10, 0.25)
    S = [Allocation("flat", 5), Allocation("line", 5), Allocation("line", 10)]
    assert problem.conditions(S, "line", d=1.5) == (True, True, True, 1 / 6)
    assert problem.conditions(S, "line", d=1.4) == (True, True, False, 1 / 6)
    assert problem.conditions(S, "flat", d=1) == (False, False, True, 0.5)


def test_a_cost_is_at_least_linear() -> None:
    assert paper.is_cost(ROWS, 100)
    assert paper.is_cost(lambda n: n**1.5, 100)
    assert not paper.is_cost(lambda n: n / 2, 100), "c(n) >= n"
    assert not paper.is_cost(lambda n: 10 * n**0.5, 100), "it must grow at least linearly"
    assert not paper.is_cost(lambda n: n if n < 100 else 99, 100), "up to N itself"


def test_definitions_4_and_5() -> None:
    u: Exact = lambda n: Fraction(11 - n, 10)  # noqa: E731  # from 1 down to 0.1
    tenth: Exact = lambda _n: Fraction(1, 10)  # noqa: E731
    assert paper.is_valid_bound(u, tenth, 10)
    assert not paper.is_valid_bound(u, FLAT, 10)
    assert paper.n_star(u, Fraction(1, 2), 10) == 7, "the first n with 11 - n < 5"  # type: ignore[arg-type]
    assert paper.n_star(u, Fraction(1, 10), 10) == 10, "u(N) >= f*"  # type: ignore[arg-type]


def test_definitions_6_and_7() -> None:
    assert paper.is_well_behaved(LINE, 10)
    assert paper.is_well_behaved(ROOT, 10)
    assert not paper.is_well_behaved(LINE, 11), "accuracies are at most 1"
    assert not paper.is_well_behaved(lambda n: n * n / 100, 10), "returns grow"
    assert not paper.is_well_behaved(lambda n: 1 - n / 10, 10), "it falls"
    assert paper.n_delta(ROOT, 100, 0.5) == 15, "1 / (n (n - 1)) <= 0.005"
    assert paper.n_delta(LINE, 10, 0.5) == 10
    assert paper.n_delta(FLAT, 10, 0.5) == 2, "the first n that has a derivative"


# Statements about runs of DAUB*


@given(worlds())
def test_lemma_1_and_theorem_1(world: World) -> None:
    """Past the bootstrap: less than r n* rows per step, r^2/(r-1) n* in total, cost at most r/(r-1) c(r n*)."""
    trace = world.daub_star()
    f_star = world.problem.f_star
    for j in world.past_bootstrap(trace):
        given_sizes = trace.of(j)
        n_star = paper.n_star(world.bound(j), f_star, world.N)
        assert given_sizes[-1] < paper.lemma_1_step(world.r, n_star)
        assert sum(given_sizes) < paper.lemma_1_total(world.r, n_star)
        spent = world.problem.cost(Allocation(j, n) for n in given_sizes)
        assert spent <= paper.theorem_1(world.r, world.problem.c[j], n_star)


@given(st.data())
def test_lemma_1_and_theorem_1_for_any_valid_bound(data: st.DataObject) -> None:
    """The same for any bounds u_i that are valid and non-increasing."""
    world = data.draw(worlds())
    u = {j: data.draw(valid_bound(f, world.N)) for j, f in world.problem.f.items()}
    trace = paper.daub_star(world.problem.f, world.schedule, lambda curve, _: u[curve.learner](curve.sizes[-1]))
    for j in world.past_bootstrap(trace):
        n_star = paper.n_star(u[j], world.problem.f_star, world.N)
        assert trace.of(j)[-1] < paper.lemma_1_step(world.r, n_star)
        assert sum(trace.of(j)) < paper.lemma_1_total(world.r, n_star)
        spent = world.problem.cost(Allocation(j, n) for n in trace.of(j))
        assert spent <= paper.theorem_1(world.r, world.problem.c[j], n_star)


@given(st.data())
def test_no_learner_below_the_largest_bound_at_N_gets_more_rows(data: st.DataObject) -> None:
    """For any non-increasing bounds, valid or not."""
    world = data.draw(worlds())
    low = {j: data.draw(st.fractions(0, 1, max_denominator=50)) for j in world.problem.f}
    levels: dict[str, Exact] = {j: (lambda _n, level=level: level) for j, level in low.items()}  # type: ignore[misc]
    u = {j: data.draw(valid_bound(level, world.N)) for j, level in levels.items()}
    trace = paper.daub_star(world.problem.f, world.schedule, lambda curve, _: u[curve.learner](curve.sizes[-1]))
    most = paper.u_max(u.values(), world.N)
    for j in world.past_bootstrap(trace):
        assert u[j](trace.of(j)[-2]) >= most


@given(worlds())
def test_the_largest_bound_at_N_stops_a_learner_no_later_than_f_star(world: World) -> None:
    """It is at least f*, so n* is the weaker form, as the paper says; below the minimum there is nothing."""
    u = {j: world.bound(j) for j in world.problem.f}
    assert paper.u_max(u.values(), world.N) >= world.problem.f_star
    least = min(each(world.N) for each in u.values())
    assert all(u[j](n) >= least for j in u for n in world.schedule.sizes)


def test_the_largest_bound_at_N_stops_a_learner_and_the_smallest_does_not() -> None:
    u: Any = {"a": lambda _n: Fraction(9, 10), "b": lambda n: Fraction(8, 10) if n < 50 else Fraction(1, 10)}
    f: Any = {"a": FLAT, "b": FLAT}
    trace = paper.daub_star(f, Schedule.geometric(200, 10, 2), lambda curve, _: u[curve.learner](curve.sizes[-1]))
    assert paper.u_max(u.values(), 200) == Fraction(9, 10)
    assert trace.of("b") == (10, 20, 40), "below 9/10 from the bootstrap on, though never below min u(N) = 1/10"


@given(worlds())
def test_lemma_2(world: World) -> None:
    """For every learner and every size n that was not capped, the sizes up to n cost at most r/(r-1) c(n)."""
    trace = world.daub_star()
    for j, c in world.problem.c.items():
        uncapped = [n for n in trace.of(j) if n < world.N]
        for k, n in enumerate(uncapped, start=1):
            assert sum(c(size) for size in uncapped[:k]) <= paper.lemma_2(world.r, c, n)


def test_lemma_2_does_not_hold_at_a_capped_size() -> None:
    """With N just above a size of the schedule, the paper's r/(r-1) c(N) does not hold."""
    schedule = Schedule.geometric(82, 16, "1.5")
    assert schedule.sizes == (16, 24, 36, 54, 81, 82)
    spent = sum(schedule.sizes)
    assert spent > paper.lemma_2("1.5", ROWS, 82) == 3 * 82
    assert spent <= paper.theorem_3_selected("1.5", ROWS, schedule)


@given(worlds())
def test_lemma_3(world: World) -> None:
    """ub_i is a valid projected upper bound function and non-increasing."""
    for j, f in world.problem.f.items():
        ub = world.bound(j)
        assert paper.is_valid_bound(ub, f, world.N)
        values = [ub(n) for n in range(1, world.N + 1)]
        assert values == sorted(values, reverse=True)


def test_lemma_3_is_false_for_a_larger_step() -> None:
    """Definition 6 with s = 2 allows a staircase: its f' never rises, and yet ub is below f(N)."""
    N = 40
    stairs: Exact = lambda n: Fraction(n // 2, 20)  # noqa: E731
    assert paper.is_well_behaved(stairs, N, s=2)
    assert not paper.is_well_behaved(stairs, N), "with s = 1 it is not concave"
    ub = paper.difference_bound(stairs, N, s=2)
    assert ub(3) == Fraction(39, 40) < stairs(N) == 1
    assert not paper.is_valid_bound(ub, stairs, N)


@given(st.data(), st.integers(1, 6))
def test_a_concave_curve_has_diminishing_returns_with_every_step(data: st.DataObject, s: int) -> None:
    """So to read Definition 6 with s = 1 demands the most, and Lemma 3 then holds with every step."""
    N = data.draw(st.integers(12, 100))
    assert paper.is_well_behaved(data.draw(well_behaved(N)), N, s)


@given(worlds())
def test_the_bound_of_algorithm_1_is_valid_on_exact_curves(world: World) -> None:
    """Without noise, the least-squares slope is at least the slope of the curve at n."""
    for points in (2, 3):
        bound = SlopeBound(points, train_cap=False)
        strategy = STRATEGIES["daub"](list(world.problem.f), world.schedule)
        while (allocation := strategy.ask()) is not None:
            f = world.problem.f[allocation.learner]
            strategy.tell(allocation, Measurement(1.0, f(allocation.size), 0.0))
            assert bound(strategy.curve(allocation.learner), world.N) >= f(world.N)


@given(worlds())
def test_lemma_4(world: World) -> None:
    for j, f in world.problem.f.items():
        if world.problem.is_suboptimal(j):
            n_star = paper.n_star(world.bound(j), world.problem.f_star, world.N)
            assert n_star <= paper.n_delta(f, world.N, world.problem.delta, world.s)


@given(worlds())
def test_theorem_2_and_that_no_suboptimal_learner_is_selected(world: World) -> None:
    trace = world.daub_star()
    problem = world.problem
    for j in problem.f:
        if not problem.is_suboptimal(j):
            continue
        n_delta = paper.n_delta(problem.f[j], world.N, problem.delta, world.s)
        if len(trace.of(j)) > 3:
            spent = problem.cost(Allocation(j, n) for n in trace.of(j))
            assert spent <= paper.theorem_2(world.r, problem.c[j], n_delta)
        if Fraction(world.r) * n_delta <= world.N:
            assert trace.selected != j


@given(worlds())
def test_theorem_3_for_one_n(world: World) -> None:
    trace = world.daub_star()
    own = [Allocation(trace.selected, n) for n in trace.of(trace.selected)]
    c = world.problem.c[trace.selected]
    assume(len(world.schedule.sizes) > 1)
    assert world.problem.cost(own) <= paper.theorem_3_selected(world.r, c, world.schedule)
    regret = world.problem.regret(trace.S)
    assert regret <= paper.theorem_3_regret(world.problem, world.schedule, world.r, world.s)


@given(worlds(), st.data())
def test_when_the_selected_learner_is_sure_to_be_near_optimal(world: World, data: st.DataObject) -> None:
    """In worlds where all but the best learner are flat before the size before N, and at least Delta behind."""
    N, delta, before = world.N, world.problem.delta, world.schedule.sizes[-2]
    assume(before > 2)
    best, *others = world.problem.f

    def lower(f: Exact) -> Exact:
        until = data.draw(st.integers(1, before - 2))
        return lambda n: f(min(n, until)) * (1 - delta) * world.problem.f[best](N) / max(f(until), 1)

    f = {best: world.problem.f[best], **{j: lower(world.problem.f[j]) for j in others}}
    problem = paper.Problem(f, world.problem.c, N, delta * f[best](N))
    assert all(problem.is_suboptimal(j) for j in others)
    assert paper.is_near_optimal(problem, world.schedule)
    assert paper.daub_star(f, world.schedule).selected == best


@given(worlds())
def test_a_learner_that_is_sure_to_be_near_optimal_is_selected(world: World) -> None:
    if paper.is_near_optimal(world.problem, world.schedule, world.s):
        assert not world.problem.is_suboptimal(world.daub_star().selected)


def test_theorem_3_does_not_give_near_optimality_where_r_n_delta_exceeds_N() -> None:
    """Everything that Theorem 3 demands holds, and DAUB* selects a learner that is (N, Delta)-suboptimal."""
    N, Delta = 200, Fraction(1, 10)
    slope = Fraction(101, 100_000)
    f: Any = {"best": lambda _n: Fraction(803, 2000), "j": lambda n: Fraction(1, 5) + slope * min(n, 100)}
    problem = paper.Problem(f, {"best": ROWS, "j": ROWS}, N, Delta)  # type: ignore[arg-type]
    schedule = Schedule.geometric(N, 25, 2)
    assert problem.is_suboptimal("j")
    assert paper.is_well_behaved(f["j"], N)
    assert f["j"](N) - f["j"](N - 1) <= Delta / N
    assert 2 * paper.n_delta(f["j"], N, problem.delta) == 202 > N
    assert not paper.is_near_optimal(problem, schedule)
    assert paper.daub_star(f, schedule).selected == "j"


def test_theorem_3_needs_a_best_learner_that_is_well_behaved() -> None:
    """It demands well-behaved curves of the suboptimal learners alone; then the relative regret need not vanish."""
    for N in (10**2, 10**3, 10**4):
        f: Any = {"late": lambda n, N=N: Fraction(9 if n == N else 1, 10), "j": FLAT}
        problem = paper.Problem(f, {"late": ROWS, "j": ROWS}, N, 0.1)
        trace = paper.daub_star(f, Schedule.geometric(N, 10, "1.5"))
        assert problem.is_suboptimal("j")
        assert trace.selected == "j"
        assert problem.conditions(trace.S, "j", d=4).relative_regret == Fraction(1, 2)


def test_without_the_assumption_on_costs_the_regret_need_not_vanish() -> None:
    """A suboptimal learner with cubic cost is ruled out after o(N) rows, which cost more than all rows of the best."""
    f: Any = {
        "good": lambda n: Fraction(9, 10) * (1 - Fraction(1, n)),
        "bad": lambda n: Fraction(7, 10) * (1 - Fraction(1, n)),
    }
    relative = []
    for N in (10**2, 10**3, 10**4, 10**5):
        problem = paper.Problem(f, {"good": ROWS, "bad": lambda n: n**3}, N, 0.1)
        trace = paper.daub_star(f, Schedule.geometric(N, 10, "1.5"))
        assert trace.selected == "good"
        relative.append(problem.conditions(trace.S, "good", d=4).relative_regret)
    assert relative == sorted(relative)
    assert relative[-1] > 10


def test_dropping_in_rounds_is_not_optimal_in_allocation() -> None:
    """The Remark: rounds compare with what others have now, DAUB* with what the best may still reach."""
    N = 1000
    f: Any = {"best": lambda n: Fraction(n, N), "j": FLAT}
    schedule = Schedule.geometric(N, 10, 2)
    n_star = paper.n_star(paper.difference_bound(f["j"], N), 1, N)
    assert n_star == 2
    assert paper.daub_star(f, schedule).of("j") == (10, 20, 40), "its bootstrap"
    rounds = Elimination(list(f), schedule, train_bound=False)
    given_to_j = []
    while (allocation := rounds.ask()) is not None:
        if allocation.learner == "j":
            given_to_j.append(allocation.size)
        rounds.tell(allocation, Measurement(1.0, f[allocation.learner](allocation.size), 0.0))
    assert given_to_j == [10, 20, 40, 80, 160, 320, 640], "until the best one has overtaken it"


def test_theorem_3_as_n_grows() -> None:
    """The regret relative to the cost of the selected learner, and of all learners, tends to zero."""
    f: Any = {
        "good": lambda n: Fraction(9, 10) - Fraction(9, 10 * n),
        "bad": lambda n: Fraction(7, 10) * (1 - Fraction(1, n)),
    }
    c: Any = {"good": ROWS, "bad": ROWS}
    relative = []
    for N in (10**2, 10**3, 10**4, 10**5):
        problem = paper.Problem(f, c, N, 0.1)
        trace = paper.daub_star(f, Schedule.geometric(N, 10, "1.5"))
        assert trace.selected == "good"
        conditions = problem.conditions(trace.S, trace.selected, d=4)
        assert conditions[:3] == (True, True, True)
        relative.append(conditions.relative_regret)
    assert relative == sorted(relative, reverse=True)
    assert relative[0] > 0.05
    assert relative[-1] < 0.003


def test_the_bootstrap_alone_can_exceed_r_n_star() -> None:
    """Lemma 1 needs learners that get past the bootstrap: with n* = 2 a hopeless one still gets b, br and br^2."""
    f: Any = {"good": lambda _n: Fraction(9, 10), "bad": lambda _n: Fraction(1, 10)}
    schedule = Schedule.geometric(1000, 100, 2)
    trace = paper.daub_star(f, schedule)
    n_star = paper.n_star(paper.difference_bound(f["bad"], 1000), Fraction(9, 10), 1000)  # type: ignore[arg-type]
    assert n_star == 2
    assert trace.of("bad") == (100, 200, 400)
    assert paper.lemma_1_step(2, n_star) < 400


@given(st.data())
def test_proposition_1_and_lemma_5(data: st.DataObject) -> None:
    """The finite inequalities that imply g'(n) = o(1/n) and n^Delta = o(N)."""
    N = data.draw(st.integers(12, 300))
    f = data.draw(well_behaved(N))
    for n in range(3, N + 1):
        assert f(n) - f(n - 1) <= paper.proposition_1(f, n)
    delta: Any = data.draw(st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100))
    n_delta = paper.n_delta(f, N, delta)
    last = n_delta - 1
    if last >= 3:
        assert last - last // 2 < paper.lemma_5(f, N, delta, n_delta)


def test_proposition_1_and_lemma_5_as_n_grows() -> None:
    decay = [n * paper.proposition_1(ROOT, n) for n in (10, 100, 1000, 10_000)]
    assert decay == sorted(decay, reverse=True)
    assert decay[-1] < 0.001
    shares = [Fraction(paper.n_delta(ROOT, N, 0.1), N) for N in (100, 1000, 10_000, 100_000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.02


# Theorem 4


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, Any, int, paper.Pair]:
    N = draw(st.integers(10, 400))
    n_delta = draw(st.integers(4, N - 1))
    largest = Fraction(1, n_delta * (n_delta - 1)) * N / 6
    delta: Any = min(Fraction(1, 2), largest) / draw(st.integers(1, 20))
    return N, delta, n_delta, paper.adversarial_pair(N, delta, n_delta)


@pytest.mark.parametrize(("N", "c", "fits"), [(100, 50, True), (100, 30, False), (1000, 30, False), (1000, 500, True)])
def test_the_papers_own_curve_leaves_room_only_if_n_delta_is_large(N: int, c: int, *, fits: bool) -> None:
    """1 - c Delta / n, altered as in the proof, stays below 1 exactly if n^Delta = sqrt(c N) is at least gamma N."""
    Delta = 1 / c
    n_delta = math.sqrt(c * N)
    start, slope = paper.GAMMA * n_delta, Delta / (paper.GAMMA**2 * N)
    altered = 1 - c * Delta / start + (n_delta - start) * slope + (N - n_delta) * Delta / N
    assert (altered <= 1) == (n_delta >= paper.GAMMA * N) == fits


@given(pairs())
def test_the_adversarial_pair_meets_the_conditions_of_theorem_4(case: tuple[int, Any, int, paper.Pair]) -> None:
    N, delta, n_delta, pair = case
    assert paper.is_well_behaved(pair.rising, N)
    assert paper.is_well_behaved(pair.flat, N)
    assert pair.alike == int(paper.GAMMA * n_delta)
    assert all(pair.rising(n) == pair.flat(n) for n in range(1, pair.alike + 1))
    assert pair.rising(N) - pair.flat(N) >= delta, "flat is (N, Delta)-suboptimal beside rising"
    for f in pair[:2]:
        assert f(N) - f(N - 1) <= delta / N, "f'(N) <= Delta/N, as the theorem demands"
    assert paper.n_delta(pair.rising, N, delta) == n_delta + 1, "rows up to n^Delta gain more than Delta/N each"
    assert paper.n_delta(pair.flat, N, delta) == pair.alike + 1


@given(pairs(), st.sampled_from(sorted(STRATEGIES)))
def test_no_strategy_tells_the_pair_apart_with_gamma_n_delta_rows(
    case: tuple[int, Any, int, paper.Pair], name: str
) -> None:
    """Up to gamma n^Delta rows, a strategy asks for the same whichever of the two learners is better."""
    N, _, _, pair = case
    sizes = Schedule((*range(1, pair.alike + 1), N))
    asked: list[list[Allocation | None]] = []
    for first, second in ((pair.rising, pair.flat), (pair.flat, pair.rising)):
        f = {"first": first, "second": second}
        strategy = STRATEGIES[name](list(f), sizes)
        asked.append([])
        while (allocation := strategy.ask()) is not None and allocation.size <= pair.alike:
            asked[-1].append(allocation)
            strategy.tell(allocation, Measurement(1.0, f[allocation.learner](allocation.size), 0.0))
        asked[-1].append(allocation)
    assert asked[0] == asked[1]


@given(st.integers(10, 400), st.data())
def test_the_largest_delta_named_in_the_error_works(N: int, data: st.DataObject) -> None:
    """Floats are accepted and converted exactly."""
    n_delta = data.draw(st.integers(4, N - 1))
    try:
        pair = paper.adversarial_pair(N, 1.0, n_delta)
    except InputError as error:
        pair = paper.adversarial_pair(N, float(str(error).rsplit(maxsplit=1)[-1].rstrip(".")), n_delta)
    assert paper.is_well_behaved(pair.rising, N)


def test_right_hand_sides_by_hand() -> None:
    square: Exact = lambda x: x * x  # noqa: E731
    assert paper.lemma_1_step("1.5", 10) == 15
    assert paper.lemma_1_total("1.5", 10) == 45
    assert paper.lemma_2(3, square, 10) == 150
    assert paper.theorem_1(3, square, 10) == paper.theorem_2(3, square, 10) == 1350
    assert paper.theorem_3_selected(2, square, Schedule((10, 20, 40, 50))) == Fraction(13, 5) * 2500
    assert paper.theorem_3_selected(2, square, Schedule((10, 20, 40, 80))) == 2 * 6400, "the paper's, on its own grid"
    assert paper.theorem_3_selected(2, square, Schedule((80,))) == 6400
    assert paper.proposition_1(ROOT, 10) == Fraction(1, 50)
    assert paper.lemma_5(ROOT, 100, Fraction(1, 2), 11) == 20  # type: ignore[arg-type]
    f: Any = {"best": LINE, "flat": FLAT}
    problem = paper.Problem(f, {"best": ROWS, "flat": square}, 10, 0.25)
    schedule = Schedule.geometric(10, 1, 2)
    assert paper.theorem_3_regret(problem, schedule, 2) == 2 * (2 * 2) ** 2, "n^Delta = 2; the bootstrap costs 21"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, 0, 10), r"`delta` must be greater than 0 and at most 1, got 0"),
        ((100, 1.5, 10), r"`delta` must be greater than 0 and at most 1, got 1.5"),
        ((100, 0.1, 3), r"`n_delta` must be at least 4 and less than N = 100, got 3"),
        ((100, 0.1, 100), r"`n_delta` must be at least 4 and less than N = 100, got 100"),
        ((100, 0.1, 10.5), r"`n_delta` must be a whole number, got 10.5"),
        ((100, 1, 90), r"`delta` must be small enough for accuracies of at most 1, got 1. The largest is 0.0125"),
    ],
)
def test_the_pair_refuses_invalid_arguments(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        paper.adversarial_pair(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, {}, 10, 0.5), r"`f` and `c` must name the same learners, at least one"),
        (({"a": LINE}, {"b": ROWS}, 10, 0.5), r"`f` and `c` must name the same learners"),
        (({"a": LINE}, {"a": ROWS}, 0, 0.5), r"`N` must be at least 1, got 0"),
        (({"a": LINE}, {"a": ROWS}, 10, "x"), r"`delta` must be greater than 0 and at most 1, got x"),
        (({"a": LINE}, {"a": ROWS}, 10, 2), r"`delta` must be greater than 0 and at most 1, got 2"),
    ],
)
def test_a_problem_refuses_invalid_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        paper.Problem(*arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paper.n_delta(ROOT, 100, 0.1, s=0), r"`step` must be a whole number of at least 1, got 0"),
        (lambda: paper.n_delta(ROOT, 0, 0.1), r"`N` must be at least 1, got 0"),
        (lambda: paper.is_well_behaved(ROOT, 0), r"`N` must be at least 1, got 0"),
        (lambda: paper.lemma_1_total(0.5, 5), r"`ratio` must be greater than 1, got 0.5"),
        (lambda: paper.theorem_1(1, ROWS, 5), r"`ratio` must be greater than 1, got 1"),
    ],
)
def test_functions_refuse_invalid_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
