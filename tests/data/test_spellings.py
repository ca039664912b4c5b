"""Labels of one value that a file writes in several ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from data.outofcore.test_external import prepared
from pydaub import InputError
from pydaub.data import load, new_rows
from pydaub.data.prepared import Prepared
from pydaub.data.spellings import merged

APART = [
    ("01", "1", "2"),
    ("0x1", "1", "2"),
    ("true", "1", "false"),
    ("007", "7", "07"),
    ("TRUE", "0", "1"),
    ("+01", "1"),
]
SAME = [("1", "1.0", "2"), ("1e0", "1", "3"), ("true", "TRUE", "False"), ("-0", "0", "1"), ("+1", "1", "2")]
DIFFERENT = [("01", "02"), ("0x1", "0x2"), ("1", "2", "30"), ("true", "false"), ("1.5", "2.0", "x")]
DOORS = ["memory", "folder", "disk"]


def through(door: str, labels: tuple[str, ...], folder: Path, task: Any = "classification") -> Prepared:
    """Read rows with these labels through one of the ways into the program."""
    rows = pd.DataFrame({"n": range(0, 240, 2), "y": [*labels] * (120 // len(labels))})
    rows["n"] = rows["n"] % 7 / 2
    if door == "folder":
        (folder / "parts").mkdir()
        for number, part in enumerate((rows[:60], rows[60:])):
            part.to_csv(folder / "parts" / f"{number}.csv", index=False)
        return load(folder / "parts", "y", task=task)
    rows.to_csv(folder / "rows.csv", index=False)
    return (
        load(folder / "rows.csv", "y", task=task)
        if door == "memory"
        else prepared(folder / "rows.csv", folder / "out", "y", task=task)
    )


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("labels", APART)
def test_labels_that_may_differ_are_kept_apart_and_that_is_said(
    labels: tuple[str, ...], door: str, tmp_path: Path
) -> None:
    data = through(door, labels, tmp_path)
    assert sorted(data.schema.classes) == sorted(labels)
    assert any(note.startswith("Classes are text, as they are written: ") for note in data.notes)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("labels", SAME)
def test_labels_that_mean_the_same_count_as_one_and_that_is_said(
    labels: tuple[str, ...], door: str, tmp_path: Path
) -> None:
    data = through(door, labels, tmp_path)
    assert len(data.schema.classes) == 2
    assert any(
        note.startswith("Classes that are written in several ways count as one, such as ") for note in data.notes
    )


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("labels", DIFFERENT)
def test_nothing_is_said_of_labels_that_differ(labels: tuple[str, ...], door: str, tmp_path: Path) -> None:
    data = through(door, labels, tmp_path)
    assert len(data.schema.classes) == len(labels)
    assert data.notes == ()


@pytest.mark.parametrize("door", DOORS)
def test_numbers_of_a_regression_may_be_written_in_any_way(door: str, tmp_path: Path) -> None:
    data = through(door, ("01", "1", "2.5"), tmp_path, "regression")
    assert (data.schema.task, data.notes) == ("regression", ())


def test_validation_rows_have_the_labels_of_the_training_rows(tmp_path: Path) -> None:
    rows = pd.DataFrame({"n": [1.5, 2.5, 3.5] * 20, "y": ["01", "1", "2"] * 20})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows[::-1].to_csv(tmp_path / "valid.csv", index=False)
    data = load(tmp_path / "rows.csv", "y", validation=tmp_path / "valid.csv")
    assert data.schema.classes == ("01", "1", "2")
    assert sorted({*data.valid().y.tolist()}) == ["01", "1", "2"]


@pytest.mark.parametrize("door", ["memory", "disk"])
@pytest.mark.parametrize("count", [2, 30])
def test_whole_numbers_that_floats_cannot_tell_apart_are_not_constant(door: str, count: int, tmp_path: Path) -> None:
    """Above 2^63 they are read as floats."""
    numbers = [str(2**63 + 10 + place) for place in range(count)]
    rows = pd.DataFrame({"big": numbers * (120 // count), "n": [1.5, 2.5, 3.5] * 40, "y": ["u", "v"] * 60})
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    data = load(path, "y") if door == "memory" else prepared(path, tmp_path / "out", "y")
    column = data.schema.columns[0]
    assert (column.name, column.kind) == ("big", "categorical")
    assert new_rows(data.schema, path)["big"].tolist() == rows["big"].tolist()
    alone = pd.DataFrame({"big": [str(2**63 + 10 + place) for place in range(120)], "n": rows["n"], "y": rows["y"]})
    alone.to_csv(path, index=False)
    data = load(path, "y") if door == "memory" else prepared(path, tmp_path / "other", "y")
    assert data.schema.columns[0].kind == "identifier"


def test_one_large_number_is_constant(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame({"big": [2**64] * 40, "n": [1.5, 2.5] * 20, "y": ["u", "v"] * 20}).to_csv(path, index=False)
    assert load(path, "y").schema.columns[0].kind == "constant"
    assert prepared(path, tmp_path / "out", "y").schema.columns[0].kind == "constant"


def test_spaces_around_numbers_are_no_other_way() -> None:
    assert merged(["1", " 1", "2 "]) is None


def test_labels_of_other_files_are_what_they_are(tmp_path: Path) -> None:
    rows = pd.DataFrame({"n": [1.5, 2.5, 3.5] * 20, "y": [1.0, 2.0, 1.0] * 20})
    rows.to_parquet(tmp_path / "rows.parquet")
    assert load(tmp_path / "rows.parquet", "y").notes == ()
    with pytest.raises(InputError, match="must be a column"):
        load(tmp_path / "rows.parquet", "x")
