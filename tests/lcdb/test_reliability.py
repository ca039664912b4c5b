"""Shares below quantiles, on outcomes whose distribution is known."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from benchmarks.lcdb.diagrams import Fan, draw_fans, draw_reliability
from benchmarks.lcdb.reliability import DOUBLINGS, EDGES, Shares, fan, groups, of_data, passed, pooled, table
from benchmarks.lcdb.steps import DOUBLINGS as RECORDED_DOUBLINGS
from benchmarks.lcdb.steps import SLOPES, Recorded, Steps
from lcdb.made import task
from pydaub.algorithm.experience import LEVELS

COUNT = 20_000
QUANTILES = tuple(NormalDist().inv_cdf(level) for level in LEVELS)
NORMAL = Recorded((QUANTILES,) * len(RECORDED_DOUBLINGS), ((QUANTILES,) * len(SLOPES),) * len(RECORDED_DOUBLINGS))


def steps(reduction: np.ndarray, data: int = 3, source: float = 0.0, slope: float = 0.1) -> Steps:
    same = np.ones(len(reduction))
    return Steps(data * same, source * same, 4 * same, slope * same, reduction, 4096 * same)


def test_each_quantile_stands_for_the_share_between_two_edges() -> None:
    assert EDGES[0] == 0
    assert EDGES[-1] == pytest.approx(1)
    assert all(low < level < high for low, level, high in zip(EDGES, LEVELS, EDGES[1:], strict=False))


def test_outcomes_of_the_forecast_distribution_are_below_each_quantile_as_often_as_forecast() -> None:
    outcomes = np.random.default_rng(0).normal(size=COUNT)
    below = passed(np.tile(QUANTILES, (COUNT, 1)), outcomes).mean(0)
    assert below == pytest.approx(LEVELS, abs=0.01)


def test_outcomes_twice_as_wide_or_higher_show_it() -> None:
    outcomes = np.random.default_rng(0).normal(size=COUNT)
    quantiles = np.tile(QUANTILES, (COUNT, 1))
    wide, normal = passed(quantiles, 2 * outcomes).mean(0), NormalDist(0, 2)
    assert wide == pytest.approx([normal.cdf(each) for each in QUANTILES], abs=0.01)
    high, normal = passed(quantiles, outcomes + 1).mean(0), NormalDist(1, 1)
    assert high == pytest.approx([normal.cdf(each) for each in QUANTILES], abs=0.01)


def test_an_outcome_that_is_certain_and_was_forecast_as_certain_is_reliable() -> None:
    assert passed(np.zeros((5, len(LEVELS))), np.zeros(5)).mean(0) == pytest.approx(LEVELS)


def test_outcomes_that_are_often_zero_are_reliable_if_so_many_quantiles_are_zero() -> None:
    """Of a normal distribution everything between the quantiles of 20 % and 80 % is moved to 0."""
    low, high = NormalDist().inv_cdf(EDGES[3]), NormalDist().inv_cdf(EDGES[6])

    def moved(values: np.ndarray) -> np.ndarray:
        return np.where((values > low) & (values < high), 0.0, values)

    outcomes = moved(np.random.default_rng(0).normal(size=COUNT))
    quantiles = np.tile(moved(np.array(QUANTILES)), (COUNT, 1))
    assert (quantiles[0] == 0).sum() == 3
    assert passed(quantiles, outcomes).mean(0) == pytest.approx(LEVELS, abs=0.01)


def test_groups_are_by_doublings_for_one_and_two_points_and_by_last_slope() -> None:
    slopes = np.array([math.nan, math.nan, -0.1, 0.0, 0.019, 0.1, 0.5])
    doublings = np.array([1.0, 10.0, 2.0, 3.0, 4.0, 5.0, 7.0])
    of = Steps(np.zeros(7), np.zeros(7), doublings, slopes, np.zeros(7), np.zeros(7))
    found = {name: np.flatnonzero(chosen).tolist() for name, chosen in groups(of).items()}
    assert found["one point"] == [0, 1]
    assert found["one point, 7 or more doublings"] == [1]
    assert found["two points, 1-2 doublings"] == [2]
    assert found["last slope below 0"] == [2]
    assert found["last slope 0 to 0.02"] == [3, 4]
    assert found["last slope 0.1 to 0.2"] == [5]
    assert found["last slope above 0.2"] == [6]
    assert found["all"] == list(range(7))
    for points in ("one point", "two points"):
        parts = [found[f"{points}, {name} doublings"] for name in DOUBLINGS]
        assert sorted(chain.from_iterable(parts)) == found[points]
    assert sorted(chain.from_iterable(at for name, at in found.items() if "slope" in name)) == found["two points"]


def test_steps_with_a_slope_are_forecast_from_one_and_from_two_points() -> None:
    reduction = np.random.default_rng(0).normal(size=3000)
    found = of_data((steps(reduction), NORMAL))
    assert found["one point", 0.0].steps == found["two points", 0.0].steps == 3000
    assert found["all", 0.0].steps == 6000
    assert found["last slope 0.1 to 0.2", 0.0].below == pytest.approx(LEVELS, abs=0.03)
    alone = of_data((steps(reduction, slope=math.nan), NORMAL))
    assert alone["all", 0.0].steps == alone["one point", 0.0].steps == 3000
    assert ("two points", 0.0) not in alone


def test_each_data_set_counts_once_for_each_version() -> None:
    high, low = np.full(10, 100.0), np.full(1000, -100.0)
    found = pooled([of_data((steps(high), NORMAL)), of_data((steps(low, source=1.0), NORMAL))])
    assert found["all"].below == pytest.approx([0.5] * len(LEVELS))
    assert (found["all"].data_sets, found["all"].steps) == (2, 2020)
    both = Steps(*(np.concatenate(pair) for pair in zip(steps(high), steps(low, source=1.0), strict=True)))
    assert pooled([of_data((both, NORMAL))])["all"].below == pytest.approx([0.5] * len(LEVELS))


def test_the_table_has_a_line_for_each_group() -> None:
    text = table({"all": Shares(np.array(LEVELS), 2, 12_345)}).splitlines()
    assert text[0] == "| | 1 % | 5 % | 14 % | 29 % | 50 % | 71 % | 86 % | 95 % | 99 % | data sets | steps |"
    assert text[1].count("|") == text[0].count("|")
    assert text[2] == "| all | 1.0 | 5.0 | 14.0 | 29.0 | 50.0 | 71.0 | 86.0 | 95.0 | 99.0 | 2 | 12,345 |"


def test_a_fan_begins_at_the_last_known_size_and_widens_to_all_rows() -> None:
    of = task(3)
    found = fan(of, "b")
    assert of.sizes[found.now] == 2896  # near 80,000 / 32
    assert found.mistakes == pytest.approx([100 * (1 - of.recorded("b", size).valid_score) for size in of.sizes])
    assert all(quantile[0] == pytest.approx(found.mistakes[found.now]) for quantile in found.quantiles.values())
    assert found.ahead[-1] == pytest.approx(of.full_size)
    ends = [found.quantiles[level][-1] for level in LEVELS]  # the higher the reduction, the fewer mistakes
    assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures_are_drawn_and_the_same_figures_give_the_same_file(ending: str, tmp_path: Path) -> None:
    fans: list[Fan] = [fan(task(3), name) for name in ("a", "b")]
    for name in ("first", "second"):
        draw_reliability(tmp_path / f"{name}-shares.{ending}", LEVELS, {"one point": {"1-2": LEVELS}})
        draw_fans(tmp_path / f"{name}-fans.{ending}", fans)
    for kind in ("shares", "fans"):
        first, second = ((tmp_path / f"{name}-{kind}.{ending}").read_bytes() for name in ("first", "second"))
        assert first == second
        assert len(first) > 5000
