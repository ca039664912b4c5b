"""What is computed of the paper's assumption on costs, of regret, of ties and of seeds, on invented curves."""

from __future__ import annotations

import random
from statistics import mean, stdev

import assumptions
import pytest
import regrets
import table1
import table2
import ties
from hypothesis import given
from hypothesis import strategies as st
from replays import METHODS, Curves

from pydaub import Allocation, Measurement
from pydaub.engines.recorded import Table
from pydaub.extensions.theory.paper import is_cost

SIZES = (500, 1000, 1500, 2500, 4000)
RISING = [0.7, 0.8, 0.85, 0.9, 0.92]
LINEAR = [1.0, 2.0, 3.0, 5.0, 8.0]


def made(
    curves: dict[str, list[float]], seconds: dict[str, list[float]], seed: int = 0, fitting: float | None = None
) -> Curves:
    """Return invented curves, with times for each size; `fitting` is a share of them."""
    outcomes = {
        Allocation(name, size): Measurement(
            1.0, score, took, fitting=None if fitting is None else took * fitting, scoring=None
        )
        for name, scores in curves.items()
        for size, score, took in zip(SIZES, scores, seconds[name], strict=True)
    }
    about = {"data": "higgs", "title": "HIGGS", "portfolio": "sklearn", "seed": seed, "valid_rows": 10_000}
    return Curves(about, Table(outcomes))


@given(st.lists(st.integers(1, 50), min_size=5, max_size=30))
def test_steps_are_judged_as_the_theory_judges_costs(gains: list[int]) -> None:
    """At every step from one row to the next, for costs of at least one a row."""
    total, cost = 0, {}
    for n, gain in enumerate(gains, 1):
        total += gain
        cost[n] = total
    steps = [assumptions.at_least_linear(n, cost[n], n + 1, cost[n + 1]) for n in range(1, len(gains))]
    assert all(steps) == is_cost(lambda n: cost[int(n)], len(gains))


def test_costs_of_a_table_are_counted() -> None:
    flat = [2.0] * 5
    both = {"linear": LINEAR, "flat": flat}
    count = assumptions.Costs()
    count.add(made({"linear": RISING, "flat": [0.5] * 5}, both))
    assert (count.linear.held, count.linear.of) == (4, 8)
    assert (count.long.held, count.long.of) == (4, 8)
    assert (count.half.held, count.half.of) == (8, 8), "from 500 to 1,000 rows, half of twice the time is as much"
    assert (count.variable.held, count.variable.of) == (6, 6), "nothing is left of the flat one"
    assert (count.dearer.held, count.dearer.of) == (1, 2), "the flat one"
    assert count.fitting.of == 0
    ((ratio, papers, ours),) = count.chosen
    assert ratio == pytest.approx(sum(LINEAR) / 8)
    assert papers == pytest.approx(3)
    assert ours == pytest.approx(1 + 2500 * 3 / 4000)
    assert "No table holds the time of fitting apart" in assumptions.costs([made({"a": RISING}, {"a": LINEAR})])


def test_the_time_of_fitting_alone_is_judged_where_a_table_has_it() -> None:
    text = assumptions.costs([made({"a": RISING}, {"a": LINEAR}, fitting=0.5)])
    header, _, line, *_ = text.splitlines()
    columns = [cell.strip() for cell in header.split("|")]
    assert line.split("|")[columns.index(assumptions.FITTING)].strip() == "100 %"
    assert "No table holds" not in text


def test_choices_above_the_limits_of_theorem_3_are_counted() -> None:
    """A learner that takes as long on few rows as on all costs five times c(N)."""
    text = assumptions.costs([made({"a": RISING}, {"a": [2.0] * 5})])
    line = next(line for line in text.splitlines() if "**all**" in line)
    assert [cell.strip() for cell in line.split("|")][-5:-1] == ["3.00", "2.88", "1", "1"]
    assert "above the paper's limit on 1 of 1 tables, and above the limit for this N on 1." in text


def test_regret_of_every_strategy_and_of_daub() -> None:
    curves = {"good": RISING, "near": [score - 0.007 for score in RISING], "bad": [0.5] * 5}
    one = made(curves, dict.fromkeys(curves, LINEAR))
    for method in METHODS:
        spent = dict.fromkeys(curves, 0.0)
        for step in one.replayed(method).result.steps:
            spent[step.allocation.learner] += step.outcome.seconds
        assert regrets.of(one, method, 0.005).seconds == pytest.approx(spent["near"] + spent["bad"])
        assert regrets.of(one, method, 0.01).seconds == pytest.approx(spent["bad"])
        assert regrets.of(one, method, 0.5).seconds == 0
    by_strategy, said, of_daub = regrets.regrets([one]).split("\n\n")
    assert said.startswith(
        "A run knows its regret only in part. By its forecasts, its certificate counts as 1 % worse,"
    )
    cells = {line.split("|")[1].strip(" `"): line.split("|")[2:5] for line in by_strategy.splitlines()[2:]}
    assert list(cells) == list(METHODS)
    assert [cell.strip() for cell in cells["full"]] == ["16", "8", "8"]
    assert "| HIGGS | sklearn | 0 | 4,000 | 2 of 3 | 1 of 3 | 1 of 3 |" in of_daub


def test_ties_give_a_range() -> None:
    """Two learners are equal in all but their times: the one that is listed first goes on."""
    slow = [10 * each for each in LINEAR]
    tied = made({"quick": RISING, "slow": RISING}, {"quick": LINEAR, "slow": slow})
    (found,) = ties.matter([tied])
    times = sorted({round(each.result.seconds) for each in found.replays})
    assert len(times) == 2
    text = ties.ties([tied])
    assert f"| {times[0]} ({times[0]} to {times[1]}) |" in text
    assert ties.ties([made({"a": RISING, "b": [0.5] * 5}, {"a": LINEAR, "b": LINEAR})]).startswith("The order")
    for table in (table1.table_1([tied]), table2.table_2([tied])):
        assert f"{times[0]} ({times[0]} to {times[1]})" in table
        assert "Bounds can tie" in table


def test_both_tables_have_lines_of_five_seeds() -> None:
    rng = random.Random(0)
    curves = [{"a": RISING, "b": [rng.random() for _ in SIZES]} for _ in range(5)]
    tables = [made(each, {"a": LINEAR, "b": LINEAR}, seed) for seed, each in enumerate(curves)]
    speed_ups = [one.replayed("daub").speed_up for one in tables]
    lines = [line for line in table2.table_2(tables).splitlines() if line.startswith("| **HIGGS**")]
    assert [line.split(" | ")[1] for line in lines] == ["ours, seed 0", "ours, 5 seeds"]
    assert f"{mean(speed_ups):.1f} ± {stdev(speed_ups):.1f}x" in lines[1]
    assert "5 seeds" not in table2.table_2(tables[:4])
    last = table1.table_1(tables).splitlines()[-1].split(" | ")
    assert last[0] == "| **Times as fast as full, ours, 5 seeds**"
    assert last[3] == f"{mean(speed_ups):.1f}x ± {stdev(speed_ups):.1f}x"
    assert "5 seeds" not in table1.table_1(tables[:4])


def test_means_like_for_like_are_of_the_papers_n_only() -> None:
    text = table2.table_2([made({"a": RISING, "b": [0.5] * 5}, {"a": LINEAR, "b": LINEAR})])
    assert "these 1, N from 4,000 to 4,000" in text
    assert "like for like" not in text, "none has the paper's N"


def test_where_the_best_conform_less_often_the_footnote_is_contradicted() -> None:
    curves = {f"strong{each}": [0.9, 0.7, 0.9, 0.7, 0.95 + each / 1000] for each in range(8)}
    curves |= {f"weak{each}": [0.5] * 5 for each in range(8)}
    text = assumptions.assumptions([made(curves, dict.fromkeys(curves, LINEAR))])
    assert "at least as often as all on 0 of 1 tables." in text
    assert "**The paper's footnote is contradicted on the others: HIGGS (sklearn, 0 % against 50 %).**" in text
