"""Data files of every format, made of odd cells and damaged at random."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands import Finished, call
from fuzz.rule import content, fuzzed, holds, refused_or_done, texts
from pydaub import InputError
from pydaub.data import Split, load, new_rows
from pydaub.data.outofcore.external import LEAST_MEMORY, Wanted, prepare_out_of_core
from pydaub.data.schema import KINDS

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = list("abcd")  # as the run has them that predicts
readable = texts.filter(lambda text: "\ud800" not in text)  # pandas holds no text that is none
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "numbers": st.floats(width=32, allow_infinity=False) | st.none(),
    "any numbers": st.floats() | st.none(),
    "whole": st.integers(-5, 5) | st.none(),
    "large": st.integers(-(2**63), 2**63 - 1),
    "texts": readable | st.none(),
    "classes": st.sampled_from(["yes", "no"]),
    "dates": st.sampled_from(["2020-01-01", "2021-05-05 12:00:00", "9999-12-31", "0001-01-01", "1700-01-01", None]),
    "constant": st.just("k"),
    "missing": st.none(),
}
ENDS = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow", ".arff", ".svm"]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.sampled_from([0, 1, 2, 10, 30, 60]))
    names = [*NAMES[: draw(st.integers(1, 4))], *draw(st.lists(readable, max_size=2)), "label"]
    columns = []
    for name in names:
        kind = draw(st.sampled_from(["classes"] * 4 + [*CELLS] if name == "label" else [*CELLS]))
        few = draw(st.lists(CELLS[kind], min_size=1, max_size=8))
        columns.append([few[place % len(few)] for place in range(rows)])
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.set_axis(names, axis=1)


def as_bytes(frame: pd.DataFrame, path: Path, encoding: str) -> bytes:
    """Return a table in the format of a path's name; what the format cannot hold becomes text."""
    if path.suffix in {".parquet", ".feather", ".arrow"}:
        names = [f"{place}{name}".encode(errors="replace").decode() for place, name in enumerate(frame.columns)]
        names[-1] = "label"
        columns = {name: _array(frame.iloc[:, place].tolist()) for place, name in enumerate(names)}
        table, sink = pa.table(columns), pa.BufferOutputStream()
        if path.suffix == ".parquet":
            pq.write_table(table, sink)
        else:
            pyarrow.feather.write_feather(table, sink)
        return sink.getvalue().to_pybytes()
    if path.suffix == ".svm":
        rows = ([row[-1], *(f"{place}:{cell}" for place, cell in enumerate(row[:-1]))] for row in frame.to_numpy())
        return "\n".join(" ".join(map(str, row)) for row in rows).encode(errors="replace")
    if path.suffix == ".arff":
        head = "".join(f"@attribute '{name}' {'{yes,no}' if name == 'label' else 'string'}\n" for name in frame.columns)
        text = f"@relation r\n{head}@data\n{frame.to_csv(index=False, header=False, na_rep='?')}"
    else:
        text = frame.to_csv(index=False, sep="\t" if path.suffix == ".tsv" else ",")
    made = text.encode(encoding, errors="replace")
    return gzip.compress(made) if path.suffix == ".gz" else made


def _array(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


@st.composite
def damage(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return the bytes unchanged, cut, with others, with a part twice, or with something in between."""
    made = bytearray(whole)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 3]))):
        place = draw(st.integers(0, len(made)))
        match draw(st.sampled_from(["cut", "change", "twice", "insert"])):
            case "cut":
                del made[place:]
            case "change" if place < len(made):
                made[place] = draw(st.integers(0, 255))
            case "twice":
                made += made[place : place + 50]
            case _:
                odd = [b'"', b"\n", b"\0", b",", b"'", b"\xff", b"=", b"{", b"@data\n", b"\r", b"\xef\xbb\xbf"]
                made[place:place] = draw(st.sampled_from(odd))
    return bytes(made)


@pytest.fixture
def place() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield Path(folder)


def written(draw: Any, place: Path) -> tuple[Path, str | None]:
    """Write a file; return its path and the encoding to name."""
    path = place / f"x{draw(st.sampled_from(ENDS))}"
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1"]))
    path.write_bytes(draw(damage(as_bytes(draw(tables()), path, encoding))))
    return path, draw(st.sampled_from([None, encoding, "ascii", "rot13", "utf-7"]))


@fuzzed
@given(data=st.data())
def test_a_file_is_read_or_refused(data: st.DataObject, place: Path) -> None:
    path, encoding = written(data.draw, place)
    before = content(place)
    target = data.draw(st.sampled_from(["label", "label", None, "a"]))
    options: dict[str, Any] = {
        "split": Split(data.draw(st.sampled_from([0.3, 0.3, 1e-300, 0.999]))),
        "task": data.draw(st.sampled_from([None, None, "regression", "classification"])),
        "kinds": data.draw(st.none() | st.dictionaries(st.sampled_from(NAMES), st.sampled_from(KINDS), max_size=2)),
        "group": data.draw(st.sampled_from([None, None, "b"])),
        "time": data.draw(st.sampled_from([None, None, "c"])),
    }
    prepared = refused_or_done(lambda: load(path, target, encoding=encoding, **options))
    if prepared is not None:
        assert prepared.full_size
        assert prepared.fingerprint
        refused_or_done(lambda: new_rows(prepared.schema, path, encoding=encoding))
    assert content(place) == before


@fuzzed
@given(data=st.data())
def test_a_file_is_prepared_or_refused_and_nothing_is_left(data: st.DataObject, place: Path) -> None:
    with TemporaryDirectory(dir=place) as folder:
        path, encoding = written(data.draw, Path(folder))
        before, out = content(Path(folder)), Path(folder) / "out"
        try:
            done = refused_or_done(
                lambda: prepare_out_of_core(Wanted(str(path), "label", encoding=encoding), out, LEAST_MEMORY)
            )
        except InputError:
            done = None
        after = content(Path(folder))
        assert {name: held for name, held in after.items() if not name.startswith("out/") and name != "out"} == before
        assert (done is not None) == out.exists()


@fuzzed
@given(data=st.data())
def test_a_file_is_predicted_or_refused(data: st.DataObject, place: Path, finished: Finished) -> None:
    path, encoding = written(data.draw, place)
    out = place / "predictions.csv"
    done = call("predict", finished.folder, path, "--out", out, *(["--encoding", encoding] if encoding else []))
    holds(done, quiet=True)
    assert out.exists() == (done.code == 0)
    out.unlink(missing_ok=True)
