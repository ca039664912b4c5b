"""The tables of docs/theory.md on how many validation rows rule a learner out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import ruled_out

from pydaub.extensions.theory.noisy import n_stop

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


@pytest.mark.parametrize("made", [ruled_out.table, ruled_out.paired], ids=lambda made: made.__name__)
def test_the_page_has_these_tables(made: object) -> None:
    """If this fails, run `python experiments/ruled_out.py` and put what it prints into the page."""
    assert callable(made)
    assert made() in PAGE.read_text()


@pytest.mark.parametrize("f", [ruled_out.flat, ruled_out.rising], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", ruled_out.SCHEDULE.sizes[3:-1])
def test_the_needed_rows_are_those_with_which_the_condition_holds(f: object, n: int) -> None:
    assert callable(f)
    needed = ruled_out.needed_rows(f, n)
    problem = ruled_out.problem(f)
    if math.isinf(needed):
        assert n_stop(f, ruled_out.SCHEDULE, problem, 0.0) > n, "not even without noise"
        return
    for factor, stops in ((1.01, True), (0.99, False)):
        radius = ruled_out.bound(round(needed * factor)).radius(ruled_out.BEST)
        assert (n_stop(f, ruled_out.SCHEDULE, problem, radius) <= n) == stops


@pytest.mark.parametrize("rows", [1_000_000, 10_000_000])
def test_a_learner_is_ruled_out_in_runs_no_later_than_the_theorem_says(rows: int) -> None:
    for f in (ruled_out.flat, ruled_out.rising):
        radius = ruled_out.bound(rows).radius(ruled_out.BEST)
        sure = n_stop(f, ruled_out.SCHEDULE, ruled_out.problem(f), radius)
        assert all(ruled_out.ruled_out_at(f, rows, seed) <= sure for seed in range(20))
