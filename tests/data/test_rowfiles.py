"""Rows as files: samples are nested, no command can change them, and other rows are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pydaub import InputError
from pydaub.data import Prepared, prepare
from pydaub.data.rowfiles import RowFiles, every_file, open_rows, rows_of, train_file, valid_file


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    place = tmp_path / "train.jsonl"
    place.write_text("".join(f"{number}\n" for number in range(50)))
    return place


def saved(data: Prepared, folder: Path) -> Prepared:
    data.save(folder)
    return open_rows(folder, checked=True)


def numbers(path: Path | None) -> list[int]:
    assert path is not None
    return [int(line) for line in path.read_text().split()]


def test_samples_are_nested_shuffled_and_cannot_be_changed(lines: Path, tmp_path: Path) -> None:
    data = saved(rows_of(lines, None, None, 0), tmp_path / "data")
    assert isinstance(data, RowFiles)
    samples = [numbers(train_file(data, size, tmp_path / "rows")) for size in (5, 20, 50)]
    assert samples[0] == samples[1][:5]
    assert samples[1] == samples[2][:20]
    assert sorted(samples[2]) == list(range(50)) != samples[2]
    found = train_file(data, 5, tmp_path / "rows")
    assert found is not None
    assert found.stat().st_mode & 0o222 == 0
    assert numbers(train_file(saved(rows_of(lines, None, None, 0), tmp_path / "again"), 5, tmp_path)) == samples[0]
    assert (
        numbers(train_file(saved(rows_of(lines, None, None, 1), tmp_path / "other"), 5, tmp_path / "o")) != samples[0]
    )


def test_validation_rows_keep_their_order_and_every_row_is_there_in_the_end(lines: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.jsonl"
    dev.write_text("100\n101\n")
    data = saved(rows_of(lines, dev, None, 0), tmp_path / "data")
    assert (data.full_size, data.valid_size) == (50, 2)
    assert numbers(valid_file(data, None, tmp_path / "rows")) == [100, 101]
    assert sorted(numbers(every_file(data, tmp_path / "rows"))) == [*range(50), 100, 101]


def test_a_number_of_rows_may_be_all_that_is_known(tmp_path: Path) -> None:
    data = saved(rows_of(None, None, 7, 0), tmp_path / "data")
    assert data.full_size == 7
    assert train_file(data, 3, tmp_path) is valid_file(data, None, tmp_path) is every_file(data, tmp_path) is None


def test_a_command_beside_other_learners_gets_the_same_rows_as_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "town": ["Rome", None, "Oslo", "a,b"] * 10})
    data = prepare(frame, np.tile(["no", "yes"], 20))
    found = pd.read_csv(str(train_file(data, 10, tmp_path)))
    assert list(found) == ["x", "town", "target"]
    assert found["target"].tolist() == data.train(10).y.tolist()
    assert found["x"].tolist() == data.train(10).X["x"].tolist()
    assert len(pd.read_csv(str(valid_file(data, None, tmp_path)))) == data.valid_size
    assert len(pd.read_csv(str(every_file(data, tmp_path)))) == 40


def test_damage_is_noticed(lines: Path, tmp_path: Path) -> None:
    rows_of(lines, None, None, 0).save(tmp_path / "data")
    (tmp_path / "data" / "train.rows.jsonl").write_text("other")
    with pytest.raises(InputError, match=r"train\.rows\.jsonl has"):
        open_rows(tmp_path / "data", checked=True)


@pytest.mark.parametrize(
    ("rows", "validation", "count", "message"),
    [
        (None, None, None, "got neither"),
        ("a.jsonl", None, 5, "got both"),
        (None, None, 0, "at least 1"),
        (None, "a.jsonl", 5, "`--validation` must go with `--rows`"),
        ("nowhere.jsonl", None, None, "must be a file or a folder"),
        ("a.txt", None, None, "must end in .jsonl"),
        ("a.jsonl", "b.csv", None, "same kind"),
        ("empty.jsonl", None, None, "at least one row"),
        ("bad.parquet", None, None, "must be rows as parquet"),
        ("pipe.jsonl", None, None, "must be a file or a folder"),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, rows: Any, validation: Any, count: Any, message: str) -> None:
    for name, content in (("a.jsonl", "1\n"), ("b.csv", "a\n1\n"), ("a.txt", "a"), ("empty.jsonl", "\n")):
        (tmp_path / name).write_text(content)
    (tmp_path / "bad.parquet").write_text("no")
    os.mkfifo(tmp_path / "pipe.jsonl")
    given = [None if each is None else tmp_path / each for each in (rows, validation)]
    with pytest.raises(InputError, match=message):
        rows_of(given[0], given[1], count, 0)
