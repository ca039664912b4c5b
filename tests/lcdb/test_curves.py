"""How tasks are made, on a small archive in the format of LCDB."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.lcdb.curves import COLUMNS, tasks, tasks_11
from pydaub import Measurement

SIZES = (32, 45, 64, 91, 4000)
NAMES = [f"sklearn.some.module.Learner{number:02}" for number in range(13)]


def row(data: int, learner: str, size: int, seeds: tuple[int, int] = (0, 0), **changed: float) -> dict[str, object]:
    outer, inner = seeds
    values = (data, learner, size, 77, outer, inner, 2.0 * size, 1.0, 0.5 + size / 1e5, 0.6)
    return {**dict(zip(COLUMNS, values, strict=True)), **changed}


def archived(folder: Path, rows: list[dict[str, object]]) -> Path:
    text = pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False).encode()
    with tarfile.open(folder / "lcdb-9.9.9.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("lcdb-9.9.9/lcdb/database-accuracy.csv")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    return folder


def whole(data: int, seeds: tuple[int, int] = (0, 0), names: list[str] = NAMES) -> list[dict[str, object]]:
    return [row(data, name, size, seeds) for name in names for size in SIZES]


def test_a_task_has_sizes_from_64_on_and_learners_named_by_their_class(tmp_path: Path) -> None:
    (task,) = tasks(archived(tmp_path, whole(3, names=NAMES[::-1])))
    assert (task.data, task.seeds, task.sizes, task.full_size, task.valid_rows) == (3, (0, 0), (64, 91, 4000), 4000, 77)
    assert task.learners == tuple(f"Learner{number:02}" for number in range(13))
    assert task.recorded("Learner07", 91).valid_score == pytest.approx(0.50091)
    assert task.test == dict.fromkeys(task.learners, 0.6)


def test_a_learner_with_an_incomplete_curve_is_left_out(tmp_path: Path) -> None:
    rows = [each for each in whole(3) if (each["learner"], each["size_train"]) != (NAMES[4], 91)]
    (task,) = tasks(archived(tmp_path, rows))
    assert len(task.learners) == 12
    assert "Learner04" not in task.learners


def test_fewer_than_twelve_learners_or_4000_rows_give_no_task(tmp_path: Path) -> None:
    rows = whole(3, names=NAMES[:11]) + [each for each in whole(5) if each["size_train"] != 4000]
    assert list(tasks(archived(tmp_path, rows))) == []


def test_a_size_with_too_few_learners_is_not_the_full_size(tmp_path: Path) -> None:
    rows = whole(3) + [row(3, name, 5657) for name in NAMES[:11]]
    (task,) = tasks(archived(tmp_path, rows))
    assert (task.full_size, len(task.learners)) == (4000, 13)


def test_pairs_are_ordered_by_learners_then_seeds_and_must_reach_the_full_size(tmp_path: Path) -> None:
    rows = whole(3, (0, 1)) + whole(3, (2, 0)) + whole(3, (1, 0)) + whole(3, (0, 0), NAMES[:12])
    rows += [each for each in whole(3, (3, 0)) if each["size_train"] != 4000]
    cache = archived(tmp_path, rows)
    assert [task.seeds for task in tasks(cache)] == [(1, 0), (2, 0), (0, 1), (0, 0)]
    assert [task.seeds for task in tasks(cache, seeds=2)] == [(1, 0), (2, 0)]


def test_the_first_of_two_duplicates_counts_and_times_are_at_least_a_tenth_of_a_millisecond(tmp_path: Path) -> None:
    rows = [row(3, NAMES[0], 64, traintime=0.0), *whole(3)]
    (task,) = tasks(archived(tmp_path, rows))
    assert task.recorded("Learner00", 64).seconds == 1e-4
    assert task.recorded("Learner01", 64).seconds == 128


@pytest.mark.parametrize(("ids", "found"), [("odd", [3, 7]), ("even", [4]), ("all", [3, 4, 7])])
def test_ids_choose_the_data_sets(ids: str, found: list[int], tmp_path: Path) -> None:
    cache = archived(tmp_path, [*whole(7), *whole(4), *whole(3)])
    assert [task.data for task in tasks(cache, ids)] == found


def test_tasks_of_lcdb_11_have_the_learners_with_complete_curves(tmp_path: Path) -> None:
    errors = {"err_train": 0.0, "err_valid": 0.25, "err_test": 0.5}
    rows = [
        {"openmlid": data, "learner": f"learner{number}", "size": size, **errors, "seconds": size / 1000}
        for data, learners in ((3, 9), (4, 9), (5, 7))
        for number in range(learners)
        for size in (32, 64, 4000, 8000)
        if (data, number, size) != (3, 8, 4000)
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "curves.parquet")
    (task,) = tasks_11(tmp_path / "curves.parquet")
    assert (task.data, task.source, task.full_size, task.valid_rows) == (3, "1.1", 8000, 1000)
    assert task.sizes == (64, 4000, 8000)
    assert task.learners == tuple(f"learner{number}" for number in range(8))
    assert task.recorded("learner0", 4000) == Measurement(1.0, 0.75, 4.0)
    assert task.test["learner0"] == 0.5


def test_an_archive_without_the_csv_file_is_refused(tmp_path: Path) -> None:
    tarfile.open(tmp_path / "lcdb-1.tar.gz", "w:gz").close()
    with pytest.raises(SystemExit, match=r"must hold lcdb/database-accuracy\.csv"):
        list(tasks(tmp_path))
