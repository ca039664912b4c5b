"""The experiments on dividing rows during selection and on fresh samples, on small invented data."""

from __future__ import annotations

from typing import Any

import fresh
import growing
import numpy as np
import pytest
from replays import Curves

from pydaub import Allocation, Measurement, Table
from pydaub.data import prepare

SIZES = (500, 1000, 1500, 2500, 4000)
FINAL = {"good": 0.9, "fair": 0.89, "bad": 0.6}


def world(seed: int = 0) -> growing.World:
    outcomes: Any = {
        Allocation(name, size): Measurement(1.0, score - 50 / size, size / 1000)
        for name, score in FINAL.items()
        for size in SIZES
    }
    return growing.World(Curves({"data": "a", "portfolio": "b", "seed": 0}, Table(outcomes)), seed)


def test_what_lies_between_measured_sizes_is_interpolated() -> None:
    made = world()
    between, low, high = (made.true("good", size) for size in (3000, 2500, 4000))
    assert low.valid_score < between.valid_score < high.valid_score
    assert low.seconds == pytest.approx(2.5)
    assert between.seconds == pytest.approx(3.0)


def test_scores_are_drawn_around_the_true_ones_and_on_the_same_rows() -> None:
    """Scores on more rows contain those on fewer; of many draws, the mean is the true score."""
    drawn = [world(seed).measured("fair", 1000, 400).valid_score for seed in range(200)]
    assert sum(drawn) / len(drawn) == pytest.approx(0.84, abs=0.005)
    fewer, more = (world().measured("fair", 1000, rows).valid_score * rows for rows in (300, 600))
    assert round(fewer) <= round(more) <= round(fewer) + 300
    both = [(world(seed).measured("good", 4000, 400), world(seed).measured("fair", 4000, 400)) for seed in range(200)]
    apart = [a.valid_score - b.valid_score for a, b in both]
    spread = sum((each - 0.01) ** 2 for each in apart) / len(apart)
    assert spread < 0.8 * 2 * 0.88 * 0.12 / 400, "less than of rows of their own"


def test_a_division_grows_only_while_the_race_is_close() -> None:
    made = world()
    fixed, alone = growing.raced(made, 0.3, 0.3), growing.raced(made, 0.03, 0.3)
    assert (fixed.rows, fixed.size) == (1200, 2800)
    assert alone.size == 4000 - alone.rows
    assert alone.rows > 120, "good and fair are close"
    made.curves = {name: curve for name, curve in made.curves.items() if name == "bad"}
    assert growing.raced(made, 0.03, 0.3).rows == 120, "there is nobody to tell it from"


def test_the_tables_are_put_in_words() -> None:
    found = growing.lines([world().table], draws=2)
    assert [line[0] for line in found] == list(growing.DIVISIONS)
    assert growing.said(found).startswith("Validation rows that grow from 3 % of all rows to at most 30 % end at")
    lines = [["a", "nested", "30 %", "80 %", "0.88x", "0.10 %"], ["a", "fresh", "35 %", "70 %", "0.94x", "0.00 %"]]
    assert fresh.said(lines) == (
        "With fresh samples instead of nested ones, on a: steps that fall +5 percentage points, valid bounds -10"
        " points, speed-up +0.06, loss -0.10 points."
    )


def test_fresh_samples_differ_from_nested_ones_but_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "LEARNERS", "tree,knn-5")
    monkeypatch.setattr(fresh, "FIRST", 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    data = prepare(X, (X[:, 0] + X[:, 1] + rng.standard_normal(600) > 0).astype(int))
    tables = {mode: fresh.measured(data, 100, 0, mode) for mode in fresh.MODES}
    scores = {
        mode: {allocation: fresh.score(table, *(allocation.learner, allocation.size)) for allocation in table.outcomes}
        for mode, table in tables.items()
    }
    same = {allocation: scores["fresh"][allocation] == score for allocation, score in scores["nested"].items()}
    assert all(same[Allocation(name, 100)] for name in ("tree", "knn-5"))
    assert not all(same.values())
    falls, held, speed_up, loss = fresh.figures(tables["fresh"])
    assert 0 <= falls <= 1
    assert 0 <= held <= 1
    assert speed_up > 0
    assert loss >= 0
