"""What other methods ask for, checked by hand and against their own packages."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # scikit-learn requires this import
from sklearn.model_selection import HalvingGridSearchCV

from benchmarks.lcdb.curves import Task
from benchmarks.lcdb.methods import METHODS, grown
from benchmarks.lcdb.peers import (
    Chosen,
    Lccv,
    brackets,
    extended_line,
    fitted,
    hyperband,
    lccv_next,
    simple,
    sklearn_rounds,
)
from benchmarks.lcdb.run import Replay, figures, replayed
from pydaub import Allocation, Measurement, Schedule, Table, TableEngine, run

SIZES = tuple(round(16 * math.sqrt(2) ** k) for k in range(4, 24))  # 64 ... 46341
POWERS = (64, 128, 256, 512, 1024)


def task(curves: dict[str, list[float]], sizes: tuple[int, ...] = POWERS) -> Task:
    outcomes = {
        Allocation(name, size): Measurement(1.0, score, size * (place + 1.0))
        for place, (name, scores) in enumerate(curves.items())
        for size, score in zip(sizes, scores, strict=True)
    }
    return Task(1, (0, 0), Table(outcomes), {name: scores[-1] for name, scores in curves.items()}, 100)


def random_task(learners: int = 20) -> Task:
    rng = np.random.default_rng(0)
    return task({f"l{k:02}": sorted(rng.uniform(0.4, 0.9, len(SIZES))) for k in range(learners)}, SIZES)


def asked(strategy: Lccv, of: Task) -> list[tuple[str, int]]:
    return [(step.allocation.learner, step.allocation.size) for step in run(strategy, TableEngine(of.table)).steps]


def test_the_line_runs_through_the_last_two_points_and_never_falls() -> None:
    assert extended_line((64, 128, 256), (0.1, 0.5, 0.6), 1024) == pytest.approx(0.6 + 0.1 / 128 * 768)
    assert extended_line((64, 128), (0.6, 0.5), 1024) == 0.5


def test_lccv_prunes_only_with_three_points_and_only_below_the_best() -> None:
    flat = (0.5, 0.5, 0.5)
    assert lccv_next((64, 128), flat[:2], POWERS, best=0.6) == 256
    assert lccv_next((64, 128, 256), flat, POWERS, best=0.6) is None
    assert lccv_next((64, 128, 256), flat, POWERS, best=0.5) == 512  # it could still tie
    assert lccv_next((64, 128, 256), (0.3, 0.4, 0.5), POWERS, best=0.9) == 512  # its line reaches 1.1


def test_lccv_gives_all_rows_to_a_learner_that_is_better_or_whose_fitted_curve_comes_close() -> None:
    assert lccv_next((64,), (0.7,), POWERS, best=0.6) == 1024
    rising = tuple(0.9 - 4 / size for size in POWERS[:4])
    assert fitted(POWERS[:4], rising, 1024) == pytest.approx(0.9 - 4 / 1024, abs=0.01)
    assert lccv_next(POWERS[:4], rising, POWERS, best=0.893) == 1024
    assert lccv_next(POWERS[:3], rising[:3], POWERS, best=0.893) == 512  # too few points to fit


def test_lccv_gives_the_first_learner_all_rows_and_climbs_with_the_others() -> None:
    curves = {"a": [0.1, 0.2, 0.3, 0.4, 0.6], "b": [0.5] * 5, "c": [0.5, 0.7, 0.7, 0.7, 0.7]}
    of = task(curves)
    expected = [("a", 1024), ("b", 64), ("b", 128), ("b", 256), ("c", 64), ("c", 128), ("c", 1024)]
    assert asked(Lccv(of.learners, Schedule(POWERS)), of) == expected
    assert run(Lccv(of.learners, Schedule(POWERS)), TableEngine(of.table)).selected == "c"


def test_lccv_cheapest_first_trains_all_on_the_first_size_before_ordering_them() -> None:
    of = task({"a": [0.1] * 5, "b": [0.2] * 5, "c": [0.1] * 5})
    expensive_first = ("c", "b", "a")
    got = asked(Lccv(expensive_first, Schedule(POWERS), cheapest_first=True), of)
    assert got[:4] == [("c", 64), ("b", 64), ("a", 64), ("a", 1024)]
    assert got[4] == ("b", 1024)  # already better than the first one
    assert got[5:] == [("c", 128), ("c", 256)]


@pytest.mark.parametrize(("candidates", "rows"), [(20, 900), (9, 100), (8, 100), (2, 50)])
def test_the_rounds_of_halving_equal_those_of_scikit_learn(candidates: int, rows: int) -> None:
    x, y = np.zeros((rows, 1)), np.arange(rows) % 2
    search = HalvingGridSearchCV(DummyClassifier(), {"random_state": list(range(candidates))}, cv=2).fit(x, y)
    assert sklearn_rounds(candidates, rows, 3) == list(zip(search.n_candidates_, search.n_resources_, strict=True))


def test_the_brackets_of_hyperband_equal_those_of_its_paper() -> None:
    """Li et al. (2018), Table 1: R = 81, eta = 3."""
    counts = [[count for count, _ in rounds] for rounds in brackets(10_000, 81, 3, 1)]
    assert counts == [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]]
    assert [rows for _, rows in brackets(10_000, 81, 3, 1)[0]] == [1, 3, 9, 27, 81]
    assert max(count for rounds in brackets(20, 81, 3, 1) for count, _ in rounds) == 20


def test_hyperband_counts_each_training_once_and_is_deterministic() -> None:
    of = random_task()
    chosen = hyperband(of, 3)
    assert chosen == hyperband(of, 3)
    at_full = {each.learner for each in chosen.trained if each.size == of.full_size}
    assert chosen.learner == max(at_full, key=lambda name: of.at_full[name].valid_score)
    assert min(each.size for each in chosen.trained) >= 512


def test_schedules_consist_of_recorded_sizes_and_end_with_the_full_size() -> None:
    of = random_task(12)
    assert grown(of, 512, 2).sizes == (512, 1024, 2048, 4096, 8192, 16384, 32768, 46341)
    assert grown(of, 512, math.sqrt(2)).sizes == tuple(size for size in SIZES if size >= 512)


def test_the_simple_policy_keeps_eight_and_then_two() -> None:
    of = random_task(12)
    chosen = simple(of)
    counts = Counter(allocation.size for allocation in chosen.trained)
    assert [counts[size] for size in sorted(counts)] == [12, 8, 2]
    at_full = [allocation.learner for allocation in chosen.trained if allocation.size == of.full_size]
    assert chosen.learner == max(at_full, key=lambda name: of.at_full[name].valid_score)


def test_every_method_selects_a_learner_and_full_training_loses_nothing() -> None:
    of = random_task(5)  # few, because fitting curves is slow
    found = {name: replayed(of, name) for name in METHODS}
    assert found["full"].speed_up == pytest.approx(1)
    assert found["full"].loss == found["full"].test_loss == found["oracle"].loss == 0
    assert all(one.loss >= 0 and one.selected in of.learners for one in found.values())
    assert found["oracle"].speed_up > max(one.speed_up for name, one in found.items() if name != "oracle") / 2
    assert isinstance(METHODS["oracle"](of), Chosen)


def test_each_data_set_counts_once_whatever_its_number_of_seeds() -> None:
    def one(data: int, speed_up: float, loss: float) -> Replay:
        return Replay("m", "1.0", data, 4000, (0, 0), "a", speed_up, loss, -loss)

    found = figures([one(1, 1, 0.0), one(1, 4, 0.04), one(3, 8, 0.0)])
    assert found.speed_up == pytest.approx(4)
    assert (found.valid.mean, found.valid.worst, found.test.mean) == pytest.approx((0.01, 0.02, -0.01))
    assert found.valid.often == pytest.approx(1 / 3)
