"""Several files are one table, whatever their format, and whoever reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pydaub import InputError
from pydaub.data import load, read
from pydaub.data.outofcore.blocks import Blocks

ROWS = 60
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "number": RNG.normal(size=ROWS).round(3),
        "count": RNG.integers(1, 90, ROWS),
        "half": np.where(np.arange(ROWS) < 20, 3.0, RNG.normal(size=ROWS).round(3)),  # whole numbers in the first file
        "late": [None] * 20 + ["Oslo"] * 40,  # nothing in the first file
        "code": np.where(np.arange(ROWS) < 40, "7", "a7"),  # numbers in the first two
        "town": np.array(["Rome", "Oslo", None], dtype=object)[RNG.integers(0, 3, ROWS)],
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 99, ROWS), "D"),
        "label": np.arange(ROWS) % 3,
    }
)
WRITERS: dict[str, Any] = {
    "csv": lambda table, path: table.to_csv(path, index=False),
    "parquet": lambda table, path: table.to_parquet(path),
    "feather": lambda table, path: table.to_feather(path),
}


def parts(folder: Path, end: str = "csv", table: pd.DataFrame = TABLE) -> Path:
    """Write a table to three files, and beside them what is no part of it."""
    folder.mkdir()
    for place in (2, 0, 1):
        WRITERS[end](table[20 * place : 20 * place + 20].reset_index(drop=True), folder / f"part-{place}.{end}")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.crc").write_bytes(b"x")
    return folder


@pytest.mark.parametrize("end", WRITERS)
def test_a_folder_and_a_glob_are_the_whole_file(end: str, tmp_path: Path) -> None:
    WRITERS[end](TABLE, tmp_path / f"whole.{end}")
    folder = parts(tmp_path / "parts", end)
    whole = load(tmp_path / f"whole.{end}", "label")
    for source in (folder, str(folder), f"{folder}/*.{end}", f"{tmp_path}/**/part-?.{end}", f"{folder}/part-[012]*"):
        found = load(source, "label")
        assert found.schema == whole.schema
        pd.testing.assert_frame_equal(found.train(found.full_size).X, whole.train(whole.full_size).X)
        assert found.fingerprint == whole.fingerprint


def test_files_may_be_named_as_a_glob_is_written(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "part-[0].csv", index=False)
    assert len(read(tmp_path / "part-[0].csv").rows) == ROWS


@pytest.mark.parametrize("end", WRITERS)
def test_a_file_may_have_no_rows(end: str, tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts", end)
    WRITERS[end](TABLE[:0], folder / f"part-3.{end}")
    assert len(read(folder).rows) == ROWS


def test_columns_that_differ_can_be_dropped(tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts", "parquet")
    TABLE.drop(columns="town").assign(day="monday").to_parquet(folder / "part-3.parquet")
    with pytest.raises(
        InputError, match=r"part-3.parquet must have the columns of part-0.parquet, got none named 'town'"
    ):
        load(folder, "label")
    with pytest.raises(
        InputError, match=r"Column 'day' of .*part-3.parquet must have a type compatible with timestamp"
    ):
        load(folder, "label", drop=["town"])
    data = load(folder, "label", drop=["town", "day"])
    assert data.full_size + data.valid_size == 2 * ROWS
    assert {"town", "day"}.isdisjoint(column.name for column in data.schema.columns)


def test_validation_rows_may_be_in_a_folder_but_not_the_same(tmp_path: Path) -> None:
    train, valid = parts(tmp_path / "train"), parts(tmp_path / "valid", table=TABLE.sample(frac=1, random_state=0))
    assert load(train, "label", validation=valid).valid_size == ROWS
    with pytest.raises(InputError, match="`validation` must be other rows than those to train on"):
        load(train, "label", validation=f"{train}/*2.csv")


def _mixed(folder: Path) -> str:
    TABLE.to_parquet(folder / "x.parquet")
    return "must hold files of one format, CSV, Parquet or Arrow, got 'part-0.csv', 'part-1.csv', 'part-2.csv', 'x.par"


def _foreign(folder: Path) -> str:
    (folder / "notes.md").write_text("x")
    return "notes.md must end in one of .csv,"


def _damaged(folder: Path) -> str:
    (folder / "part-1.csv").write_text("number,count\n1\n")
    return "part-1.csv must have 2 columns in every line"


def _inner(folder: Path) -> str:
    (folder / "more").mkdir()
    return "must hold files only, got the folder 'more'. Name the files by a glob"


def _partitioned(folder: Path) -> str:
    (folder / "year=2020").mkdir()
    return "must hold all columns in its files, got the partition 'year=2020'"


def _sparse(folder: Path) -> str:
    for path in folder.glob("*.csv"):
        path.rename(path.with_suffix(".svm"))
    return "part-0.svm must end in one of .csv,"


@pytest.mark.parametrize("spoil", [_mixed, _foreign, _damaged, _inner, _partitioned, _sparse])
def test_folders_that_are_no_table_are_refused_by_run_and_prepare(spoil: Any, tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts")
    message = spoil(folder)
    with pytest.raises(InputError) as loaded:
        load(folder, "label")
    with pytest.raises(InputError) as prepared:
        for _ in Blocks.of(folder, 10_000).read():
            pass
    for refused in (loaded, prepared):
        assert message in str(refused.value) or spoil is _damaged
        assert "\n" not in str(refused.value)
        assert folder.name in str(refused.value)


def test_a_glob_that_matches_nothing_or_partitions_is_refused(tmp_path: Path) -> None:
    parts(tmp_path / "year=2020")
    for pattern in ("*.csv", "year=2020/*.parquet", "year=2020/_*"):
        with pytest.raises(InputError, match=r"must match at least one file, got none\."):
            load(tmp_path / pattern, "label")
    with pytest.raises(InputError, match="got the partition 'year=2020', a column in the name of a folder"):
        load(f"{tmp_path}/**/*.csv", "label")
    assert load(f"{tmp_path}/year=2020/*.csv", "label").schema.target == "label"
