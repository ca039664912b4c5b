"""Kinds of rows: each is counted, put into an order, cut and joined without changing a row."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pydaub.data.rowkinds import KINDS

VALUES = ["plain", 'a "quoted" one', "two\nlines", "comma, semicolon;", "", "last"]


def written(kind: str, folder: Path, values: list[str] = VALUES) -> Path:
    """Write rows of a number and a text."""
    place = folder / f"rows.{kind}"
    if kind == "jsonl":
        place.write_text(
            "\n".join(json.dumps({"n": n, "text": text}) for n, text in enumerate(values))
        )  # no last break
    elif kind == "csv":
        with place.open("w", newline="") as file:
            csv.writer(file).writerows([("n", "text"), *enumerate(values)])
    elif kind == "parquet":
        pq.write_table(pa.table({"n": range(len(values)), "text": values}), place)
    else:
        for number, text in enumerate(values):
            (place / str(number // 3)).mkdir(parents=True, exist_ok=True)
            (place / str(number // 3) / f"{number}.txt").write_text(text)
        (place / ".hidden").write_text("no row")
    return place


def read(kind: str, place: Path) -> list[tuple[int, str]]:
    if kind == "jsonl":
        return [(row["n"], row["text"]) for row in map(json.loads, place.read_text().splitlines())]
    if kind == "csv":
        with place.open(newline="") as file:
            return [(int(row["n"]), row["text"]) for row in csv.DictReader(file)]
    if kind == "parquet":
        return [(row["n"], row["text"]) for row in pq.read_table(place).to_pylist()]
    return sorted((int(file.stem.rpartition("-")[2]), file.read_text()) for file in place.rglob("*.txt"))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_counted_ordered_cut_and_joined(kind: str, tmp_path: Path) -> None:
    source, each, order = written(kind, tmp_path), KINDS[kind], [3, 1, 5, 0, 4, 2]
    assert each.count(source) == len(VALUES)
    ordered = tmp_path / f"ordered{each.ending}"
    each.ordered(source, order, ordered)
    for size in range(1, len(VALUES) + 1):
        sample = tmp_path / f"first-{size}{each.sample_ending}"
        each.first(ordered, size, sample)
        wanted = [(number, VALUES[number]) for number in order[:size]]
        assert read(kind, sample) == (sorted(wanted) if kind == "folder" else wanted)
    both = tmp_path / f"both{each.sample_ending}"
    each.joined([ordered, ordered], both)
    assert len(read(kind, both)) == 2 * len(VALUES)
    assert {*read(kind, both)} == {*enumerate(VALUES)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_digest_tells_other_rows_apart(kind: str, tmp_path: Path) -> None:
    first, other = (written(kind, tmp_path / name, values) for name, values in places(tmp_path))
    assert KINDS[kind].digest(first) != KINDS[kind].digest(other)
    assert KINDS[kind].digest(first) == KINDS[kind].digest(first)


def places(folder: Path) -> list[tuple[str, list[str]]]:
    for name in ("a", "b"):
        (folder / name).mkdir()
    return [("a", VALUES), ("b", [*VALUES[:-1], "another"])]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [("jsonl", '{"a": 1}\nno\n', "row 2 is not JSON"), ("csv", 'a,b\n1,"open\n', "a quote is not closed")],
)
def test_broken_rows_are_found_before_anything_is_trained(
    kind: str, content: str, message: str, tmp_path: Path
) -> None:
    place = tmp_path / f"rows.{kind}"
    place.write_text(content)
    with pytest.raises(ValueError, match=message):
        KINDS[kind].count(place)
