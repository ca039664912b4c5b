"""The same table through several doors: a file of each format, a new file, a file to validate on, and out of core.

What a cell means depends on its column, not on the door: the same kinds, rows and predictions, or both refuse.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from fuzz.rule import fuzzed, refused_or_done
from pydaub.data import Prepared, load, new_rows
from pydaub.data.outofcore.external import LEAST_MEMORY, Wanted, prepare_out_of_core

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 40
FIRST = date(2020, 1, 1)
LABELS = ["up", "down"]
NAMES = "abc"


class Table(NamedTuple):
    """Columns of cells that are None where they are missing, and for each how ARFF declares it."""

    columns: dict[str, list[Any]]
    declared: dict[str, str]


WAYS: dict[str, tuple[st.SearchStrategy[Any], str]] = {
    "numbers": (st.floats(-1e6, 1e6, width=32).map(lambda number: number + 0.5), "numeric"),
    "whole": (st.integers(-50, 50), "numeric"),
    "large": (st.integers(2**31, 2**52), "numeric"),
    "ones": (st.sampled_from([0, 1]), "numeric"),
    "flags": (st.booleans(), "{True,False}"),
    "yes": (st.sampled_from(["yes", "no"]), "{yes,no}"),
    "towns": (st.sampled_from(["Rome", "Oslo", "Bonn"]), "string"),
    "days": (st.integers(0, 3000).map(lambda days: FIRST + timedelta(days)), "date yyyy-MM-dd"),
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns, declared = {}, {}
    for name in NAMES[: draw(st.integers(1, len(NAMES)))]:
        cells, declared[name] = WAYS[draw(st.sampled_from([*WAYS]))]
        missing = draw(st.booleans())
        few = draw(st.lists(cells, min_size=2, max_size=9, unique=True)) + [None] * missing
        columns[name] = [few[place * place % len(few)] for place in range(ROWS)]
    columns["label"] = [LABELS[place % 2] for place in range(ROWS)]
    return Table(columns, {**declared, "label": "{up,down}"})


def written(columns: dict[str, list[Any]], path: Path, declared: dict[str, str] | None = None) -> Path:
    """Write the cells in the format of the path's name."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: _array(cells) for name, cells in columns.items()}), path)
        return path
    head, missing = ",".join(columns), ""
    if path.suffix == ".arff":
        known = "\n".join(f"@attribute {name} {kind}" for name, kind in (declared or {}).items())
        head, missing = f"@relation r\n{known}\n@data", "?"
    lines = [",".join(missing if cell is None else str(cell) for cell in row) for row in zip(*columns.values())]  # noqa: B905
    path.write_text("\n".join([head, *lines, ""]))
    return path


def _array(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def plain(rows: Any) -> list[list[Any]]:
    """Return rows of any form as lists; what is missing is None, and every number a float."""
    held = pd.DataFrame(rows).astype(object)
    return [
        [None if pd.isna(cell) else float(cell) if isinstance(cell, int | float | np.number) else cell for cell in row]
        for row in held.to_numpy().tolist()
    ]


def predictions(data: Prepared, path: Path) -> list[Any]:
    """Return what a tree that has learned these rows predicts for those of the file."""
    names = [name for name, cells in zip(data.schema.used, plain(new_rows(data.schema, path))[0], strict=True)]
    numbers = [place for place, column in enumerate(names) if column.kind in {"numeric", "boolean"}]
    if not numbers:
        return []
    sample = data.train(data.full_size)
    fitted = DecisionTreeClassifier(random_state=0)
    fitted.fit(np.array(plain(sample.X), dtype=object)[:, numbers].astype(float), sample.y)
    new = np.array(plain(new_rows(data.schema, path)), dtype=object)[:, numbers].astype(float)
    return list(fitted.predict(new))


@fuzzed
@given(table=tables())
def test_every_format_gives_the_same_kinds_rows_and_predictions(table: Table) -> None:
    with TemporaryDirectory() as place:
        paths = [
            written(table.columns, Path(place) / f"x{end}", table.declared) for end in (".csv", ".parquet", ".arff")
        ]
        first = load(paths[0], "label")
        kinds = [(column.name, column.kind, column.missing, column.distinct) for column in first.schema.columns]
        expected = plain(first.train(first.full_size).X), plain(new_rows(first.schema, paths[0]))
        for path in paths[1:]:
            data = load(path, "label")
            found = [(column.name, column.kind, column.missing, column.distinct) for column in data.schema.columns]
            assert found == kinds, path.suffix
            assert (plain(data.train(data.full_size).X), plain(new_rows(data.schema, path))) == expected, path.suffix
            assert predictions(first, path) == predictions(data, paths[0]), path.suffix
        prepare_out_of_core(Wanted(str(paths[0]), "label"), Path(place) / "out", LEAST_MEMORY)
        beyond = Prepared.open(Path(place) / "out").schema
        assert [(column.name, column.kind, column.missing) for column in beyond.columns] == [each[:3] for each in kinds]


REFUSED = object()
TRAINED: dict[str, list[Any]] = {
    "flags": [True, False],
    "yes": ["yes", "no"],
    "ones": [1, 0],
    "whole": [3, 4, 7],
    "numbers": [1.5, 2.5],
}
TRUTHS = {"yes": 1.0, "true": 1.0, "y": 1.0, "t": 1.0, "no": 0.0, "false": 0.0, "n": 0.0, "f": 0.0}
ODD = [
    1,
    0,
    2,
    5,
    -1,
    0.25,
    0.5,
    1.0,
    0.0,
    -0.0,
    "yes",
    "no",
    "True",
    "false",
    "Y",
    "maybe",
    "1",
    "0.0",
    "2",
    "x1",
    None,
]


def meaning(kind: str, cell: Any) -> Any:
    """Return what a new cell of a column must mean: what it would have meant in training, or it is refused."""
    if cell is None:
        return None
    number: Any = TRUTHS.get(str(cell).lower(), REFUSED) if kind == "boolean" else REFUSED
    if not isinstance(cell, bool):
        with suppress(ValueError):
            number = float(cell)
    return REFUSED if kind == "boolean" and number not in {0.0, 1.0} else number


@fuzzed
@given(
    trained=st.sampled_from([*TRAINED]),
    odd=st.lists(st.sampled_from(ODD), min_size=1, max_size=2),
    end=st.sampled_from([".csv", ".parquet"]),
    validating=st.booleans(),
)
@example(trained="yes", odd=[5, 0], end=".csv", validating=False)
@example(trained="flags", odd=[0.25, 0.5], end=".parquet", validating=True)
def test_a_new_value_means_what_it_meant_in_training_or_is_refused(
    trained: str, odd: list[Any], end: str, *, validating: bool
) -> None:
    cells: dict[str, list[Any]] = {
        "flags": [True, False],
        "yes": ["yes", "no"],
        "ones": [1, 0],
        "whole": [3, 4, 7],
        "numbers": [1.5, 2.5],
    }
    old = [cells[trained][place * place % len(cells[trained])] for place in range(ROWS)]
    labels = [LABELS[place % 2] for place in range(ROWS)]
    with TemporaryDirectory() as place:
        path = written({"a": old, "b": [place / 4 for place in range(ROWS)], "label": labels}, Path(place) / f"x{end}")
        data = load(path, "label")
        kind = data.schema.columns[0].kind
        assert kind == ("boolean" if trained in {"flags", "yes", "ones"} else "numeric")
        new = [odd[place % len(odd)] for place in range(ROWS)]
        other = written({"a": new, "b": [place / 4 for place in range(ROWS)], "label": labels}, Path(place) / f"y{end}")
        expected = [meaning(kind, cell) for cell in new]
        if validating:
            made = refused_or_done(lambda: load(path, "label", validation=other))
            found = None if made is None else sorted((row[0] for row in plain(made.valid().X)), key=str)
            expected.sort(key=str)
        else:
            made = refused_or_done(lambda: new_rows(data.schema, other))
            found = None if made is None else [row[0] for row in plain(made)]
        assert found == (None if REFUSED in expected else expected)


@fuzzed
@given(
    labels=st.lists(
        st.sampled_from(
            ["1", "01", "0x1", "true", "True", "1.0", "+1", "2", "02", "0", "false", "a", "A", "1e0", "007"]
        ),
        min_size=2,
        max_size=5,
        unique=True,
    ),
    disk=st.booleans(),
)
@example(labels=["01", "1"], disk=False)
@example(labels=["0x1", "1", "2"], disk=True)
def test_labels_that_are_written_differently_stay_apart_or_a_note_says_so(labels: list[str], *, disk: bool) -> None:
    columns: dict[str, list[Any]] = {
        "a": [place % 7 / 2 for place in range(100)],
        "label": [labels[place % len(labels)] for place in range(100)],
    }
    with TemporaryDirectory() as place:
        path = written(columns, Path(place) / "x.csv")
        if disk:
            wanted = Wanted(str(path), "label", task="classification")
            done = refused_or_done(lambda: prepare_out_of_core(wanted, Path(place) / "out", LEAST_MEMORY))
            data = None if done is None else Prepared.open(Path(place) / "out")
        else:
            data = refused_or_done(lambda: load(path, "label", task="classification"))
        if data is None:
            return  # all labels are one class
        assert len(data.schema.classes) == len(labels) or any("written" in note for note in data.notes), data.notes


@fuzzed
@given(start=st.integers(2**53, 2**70), step=st.integers(1, 3), count=st.integers(2, 4))
@example(start=2**63 + 10, step=1, count=2)
def test_whole_numbers_that_differ_are_no_constant(start: int, step: int, count: int) -> None:
    cells = [start + step * (place % count) for place in range(ROWS)]
    with TemporaryDirectory() as place:
        columns: dict[str, list[Any]] = {
            "a": cells,
            "b": [place % 7 / 2 for place in range(ROWS)],
            "label": [LABELS[i % 2] for i in range(ROWS)],
        }
        data = load(written(columns, Path(place) / "x.csv"), "label")
        assert data.schema.columns[0].kind != "constant"
