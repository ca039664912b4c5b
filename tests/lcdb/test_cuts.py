"""Tasks whose data ends earlier, and forecasts that do not know the data set on which they are tried."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import replace
from multiprocessing.pool import ThreadPool

import pytest

from benchmarks.lcdb.curves import cuts
from benchmarks.lcdb.run import Replay, all_replayed, figures, groups, jobs, losers, pattern, table
from benchmarks.lcdb.steps import left_out, recorded_of, steps_of
from lcdb.made import SIZES, task
from pydaub.algorithm.experience import reductions
from pydaub.algorithm.recorded import FIRST


def test_a_cut_ends_at_the_recorded_sizes_nearest_to_a_half_a_quarter_and_so_on_down_to_4000_rows() -> None:
    whole = task(3)
    found = list(cuts(whole))
    ends = [(46_341, 1), (23_170, 2), (11_585, 3), (5793, 4)]  # near 40,000, 20,000, 10,000 and 5,000
    assert [(each.full_size, each.halvings) for each in found] == ends
    for each in found:
        assert each.sizes == tuple(size for size in whole.sizes if size <= each.full_size)
        assert each.learners == whole.learners
        assert all(each.recorded("b", size) == whole.recorded("b", size) for size in each.sizes)
        assert (each.data, each.source, each.seeds, each.valid_rows) == (3, "1.0", (0, 0), 1000)


def test_the_test_scores_of_a_cut_are_its_validation_scores() -> None:
    for cut in cuts(task(3)):
        assert cut.test == {name: cut.at_full[name].valid_score for name in cut.learners}


def test_a_task_below_8000_rows_has_no_cuts_and_no_size_is_cut_at_twice() -> None:
    assert list(cuts(task(3, sizes=tuple(size for size in SIZES if size < 8000)))) == []
    coarse = task(3, sizes=(64, 5000, 90_000))  # 90,000 is nearest to a half and a quarter of it
    assert [(each.full_size, each.halvings) for each in cuts(coarse)] == [(5000, 3)]


def test_the_table_without_a_data_set_does_not_depend_on_its_curves() -> None:
    others = [task(5), task(5, seed=1), replace(task(7), source="1.1")]
    without = [
        recorded_of(steps_of([*others, *own]), without=3)
        for own in ([], [task(3)], [task(3, steepness=0.9), task(3, seed=1), replace(task(3), source="1.1")])
    ]
    assert without[0] == without[1] == without[2]
    assert recorded_of(steps_of([*others, task(3)])) != without[0]


def test_each_data_set_has_the_table_of_all_others() -> None:
    steps = steps_of([task(3), task(5), task(7)])
    with ThreadPool(2) as pool:
        tables = left_out(steps, pool)
    assert tables == {data: recorded_of(steps, without=data) for data in (3, 5, 7)}


def test_jobs_of_odd_ids_and_their_cuts_leave_the_data_set_out_and_those_of_even_ids_have_the_shipped_table() -> None:
    given = [task(3), task(3, seed=1), task(4), task(5)]
    with ThreadPool(2) as pool:
        with_cuts = jobs(given, ["full"], pool, with_cuts=True)
        plain = jobs(given, ["full"], pool)
    assert [(job.task.data, job.task.halvings) for job in plain] == [(3, 0), (3, 0), (4, 0), (5, 0)]
    assert [job.task.halvings for job in with_cuts] == [0, 1, 2, 3, 4] * 4
    for job in with_cuts:
        others = [each for each in given if each.data % 2 and each.data != job.task.data]
        assert job.recorded == (recorded_of(steps_of(others)) if job.task.data % 2 else None)


def test_a_job_puts_its_table_in_use_and_takes_it_back() -> None:
    given = [task(3), task(5, steepness=0.9)]
    with ThreadPool(1) as pool:
        first, second = jobs(given, ["frugal delta 0.01", "full"], pool)
    shipped = reductions(None, 1.0)
    expected = all_replayed(first)
    assert [each.method for each in expected] == ["frugal delta 0.01", "full"]
    assert reductions(None, 1.0) == shipped == tuple(FIRST[1])
    with pytest.raises(KeyError):
        all_replayed(second._replace(methods=["no such method"]))
    assert reductions(None, 1.0) == shipped
    assert all_replayed(first) == expected


def replay(data: int, full_size: int, loss: float, halvings: int = 0, source: str = "1.0") -> Replay:
    return Replay("m", source, data, full_size, (0, 0), "a", 2.0, loss, loss, halvings)


def test_cuts_have_groups_of_their_own() -> None:
    whole, half, quarter = (replay(3, 40_000 // 2**halvings, 0.0, halvings) for halvings in range(3))
    other = replay(3, 4096, 0.0, source="1.1")
    assert groups({"m": [whole, half, quarter, other]}, ["1.0", "1.1"]) == {
        "LCDB 1.0 and 1.1, N >= 30,000": {"m": [whole]},
        "LCDB 1.0, N >= 30,000": {"m": [whole]},
        "LCDB 1.0 and 1.1, N >= 4,000": {"m": [whole, other]},
        "LCDB 1.0, N >= 4,000": {"m": [whole]},
        "LCDB 1.1, N >= 4,000": {"m": [other]},
        "LCDB 1.0 and 1.1, cuts, N >= 4,000": {"m": [half, quarter]},
    }


def test_losers_are_the_data_sets_whose_mean_loss_is_over_one_percent() -> None:
    replays = [replay(3, 9000, 0.0), replay(3, 9000, 0.03), replay(5, 9000, 0.02, 1), replay(7, 9000, 0.01)]
    assert losers(replays) == "5 (LCDB 1.0, N/2) 2.0 %, 3 (LCDB 1.0) 1.5 %"
    assert losers(replays[:1]) == "none"


def test_the_table_of_cuts_has_no_losses_by_test() -> None:
    found = {"m": figures([replay(3, 9000, 0.015)])}
    assert table(found).splitlines()[2] == "| m | 2.0 | 1.50 | 1.50 | 1.50 | 100 % | 1.50 | 1.50 |"
    for by_test in (True, False):
        head, line, row = table(found, by_test=by_test).splitlines()
        assert head.count("|") == line.count("|") == row.count("|")
        assert ("by test" in head) == by_test


def test_a_pattern_of_methods_must_be_a_regular_expression() -> None:
    assert pattern("^frugal|full").search("frugal delta 0.01")
    with pytest.raises(ArgumentTypeError, match=r"must be a regular expression, got '\(' \(missing \)"):
        pattern("(")
