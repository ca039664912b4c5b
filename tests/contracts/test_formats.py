"""The laws of formats, checked for every format in the folder."""

from __future__ import annotations

import bz2
import gzip
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from data.formats.recorded import recorded_openml
from pydaub import InputError
from pydaub.data import formats, load, read
from pydaub.data.formats import FILE_FORMATS, NAMED_FORMATS, FileFormat, NamedFormat

ROWS = 60
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(
    {
        "number": RNG.normal(size=ROWS).round(3) + 10,  # never zero, which svmlight does not store
        "count": RNG.integers(1, 90, ROWS),
        "flag": np.arange(ROWS) % 2,
        "label": np.arange(ROWS) % 3,
    }
)
MIXED = NUMBERS.assign(
    number=NUMBERS["number"].where(NUMBERS["count"] > 20),
    town=np.array(["Rome", "Oslo", None], dtype=object)[RNG.integers(0, 3, ROWS)],
    day=pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 99, ROWS), "D"),
)
KINDS = {"number": "numeric", "count": "numeric", "flag": "boolean", "town": "categorical", "day": "date"}


def write_csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False)


def write_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, engine="pyarrow")


def write_arrow(table: pd.DataFrame, path: Path) -> None:
    table.to_feather(path)


def write_arff(table: pd.DataFrame, path: Path) -> None:
    types = {"town": "{Rome,Oslo}", "day": "date yyyy-MM-dd"}
    header = [f"@attribute {name} {types.get(name, 'numeric')}" for name in table]
    rows = table.to_csv(index=False, header=False, na_rep="?")
    path.write_text("\n".join(["@relation r", *header, "@data", rows]))


def write_svmlight(table: pd.DataFrame, path: Path) -> None:
    dump_svmlight_file(table.drop(columns="label").to_numpy(float), table["label"].to_numpy(), str(path))


class Case(NamedTuple):
    """How a table is written in a format, and whether the format stores names and types."""

    write: Callable[[pd.DataFrame, Path], None]
    names: bool = True

    @property
    def target(self) -> str | None:
        return "label" if self.names else None


FILES = {
    "CSV": Case(write_csv),
    "Parquet": Case(write_parquet),
    "Arrow": Case(write_arrow),
    "ARFF": Case(write_arff),
    "svmlight": Case(write_svmlight, names=False),
}
NAMED = {"OpenML": "openml:61", "parity": "parity:500"}
MODULES = [
    module.name for module in pkgutil.iter_modules(formats.__path__) if module.name not in {"base", "folders", "stores"}
]

every_file_format = pytest.mark.parametrize("kind", FILE_FORMATS, ids=lambda kind: kind.name)
every_named_format = pytest.mark.parametrize("kind", NAMED_FORMATS, ids=lambda kind: kind.name)


@pytest.fixture(autouse=True)
def openml(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recorded answers instead of the network."""
    with recorded_openml(tmp_path_factory.mktemp("openml"), monkeypatch):
        yield


def written(kind: FileFormat, folder: Path, table: pd.DataFrame = NUMBERS, ending: str = "") -> Path:
    """Write a table in a format, compressed if the ending says so."""
    path = folder / f"table{ending or kind.endings[0]}"
    FILES[kind.name].write(table, path)
    if path.suffix in {".gz", ".bz2"}:
        pack = gzip.compress if path.suffix == ".gz" else bz2.compress
        path.write_bytes(pack(plain(kind, folder, table)))
    return path


def plain(kind: FileFormat, folder: Path, table: pd.DataFrame = NUMBERS) -> bytes:
    """Return the content of a table in a format, not compressed."""
    FILES[kind.name].write(table, folder / "plain")
    return (folder / "plain").read_bytes()


def refusal(path: Path, target: str | None) -> str:
    with pytest.raises(InputError) as refused:
        load(path, target)
    assert path.name in str(refused.value), "the message names the file"
    return str(refused.value)


@pytest.mark.parametrize("module", MODULES)
def test_every_format_in_the_folder_is_registered_and_has_a_case_here(module: str) -> None:
    values = vars(import_module(f"pydaub.data.formats.{module}")).values()
    found = [value for value in values if isinstance(value, FileFormat | NamedFormat)]
    assert found, f"{module}.py must define a FileFormat or a NamedFormat"
    for each in found:
        assert each in (*FILE_FORMATS, *NAMED_FORMATS)
        assert each.name in {**FILES, **NAMED}


def test_no_two_formats_claim_the_same_ending() -> None:
    endings = [ending for each in FILE_FORMATS for ending in each.endings]
    assert len(set(endings)) == len(endings)
    for each in FILE_FORMATS:
        for ending in each.endings:
            assert [other for other in FILE_FORMATS if other.matches(Path(f"x{ending.upper()}"))] == [each]


@every_file_format
def test_the_same_table_gives_the_same_data_in_every_format(kind: FileFormat, tmp_path: Path) -> None:
    expected = load(written(FILE_FORMATS[0], tmp_path), "label")
    case = FILES[kind.name]
    for ending in kind.endings:
        data = load(written(kind, tmp_path, ending=ending), case.target)
        sides = ((data.train(data.full_size), expected.train(42)), (data.valid(), expected.valid()))
        for mine, theirs in sides:
            dense = mine.X if case.names else mine.X.toarray()
            assert np.array_equal(dense, theirs.X)
            assert mine.y.tolist() == theirs.y.tolist()
        assert data.schema.classes == expected.schema.classes == (0, 1, 2)
        if case.names:
            assert data.schema == expected.schema
            assert data.fingerprint == expected.fingerprint


@every_file_format
def test_kinds_and_missing_values_are_the_same_in_every_format(kind: FileFormat, tmp_path: Path) -> None:
    if not FILES[kind.name].names:
        assert load(written(kind, tmp_path), None).schema.columns == (), "sparse data has no columns to describe"
        return
    data = load(written(kind, tmp_path, MIXED), "label")
    assert {column.name: column.kind for column in data.schema.columns} == KINDS
    assert {column.name: column.missing for column in data.schema.columns} == MIXED[list(KINDS)].isna().sum().to_dict()
    rows = pd.concat([data.train(data.full_size).X, data.valid().X])
    for name in KINDS:
        assert sorted(rows[name].dropna().astype(str).map(comparable)) == sorted(
            MIXED[name].dropna().astype(str).map(comparable)
        )


def comparable(value: str) -> str:
    return value.removesuffix(".0")


@every_file_format
def test_reading_twice_gives_the_same_fingerprint(kind: FileFormat, tmp_path: Path) -> None:
    path, target = written(kind, tmp_path), FILES[kind.name].target
    assert load(path, target).fingerprint == load(path, target).fingerprint


@every_named_format
def test_a_named_data_set_is_the_same_every_time(kind: NamedFormat) -> None:
    name = NAMED[kind.name]
    assert [each for each in NAMED_FORMATS if each.matches(name)] == [kind]
    assert not kind.matches("table.csv")
    assert read(name).label is not None, "no target has to be named"
    assert load(name, None).fingerprint == load(name, None).fingerprint


@every_file_format
def test_a_truncated_file_is_refused_or_read_in_part(kind: FileFormat, tmp_path: Path) -> None:
    for ending in kind.endings:
        path = written(kind, tmp_path, ending=ending)
        content = path.read_bytes()
        is_text = content.isascii()
        for length in np.linspace(0, len(content) - 2, 30).astype(int):
            path.write_bytes(content[:length])
            try:
                rows = read(path).rows
            except InputError as error:
                assert path.name in str(error)  # noqa: PT017  # either outcome is right
            else:
                assert is_text, "half of a binary or compressed file is not a table"
                assert 1 <= rows.shape[0] <= ROWS


@every_file_format
@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 100, b"\xff" * 100, b"nonsense"])
def test_a_file_without_a_table_is_refused(kind: FileFormat, content: bytes, tmp_path: Path) -> None:
    for ending in kind.endings:
        path = tmp_path / f"table{ending}"
        path.write_bytes(content)
        assert "\n" not in refusal(path, FILES[kind.name].target)


@pytest.mark.parametrize(("named", "held"), list(permutations(FILE_FORMATS, 2)), ids=lambda kind: kind.name)
def test_a_file_of_another_format_is_refused(named: FileFormat, held: FileFormat, tmp_path: Path) -> None:
    path = tmp_path / f"table{named.endings[0]}"
    path.write_bytes(plain(held, tmp_path))
    refusal(path, FILES[named.name].target)


@every_file_format
def test_an_empty_folder_and_a_missing_file_are_refused(kind: FileFormat, tmp_path: Path) -> None:
    path = tmp_path / f"table{kind.endings[0]}"
    assert refusal(path, None) == f"{path} must be a file that can be read, got no such file."
    path.mkdir()
    assert refusal(path, None) == f"{path} must hold files of one format, CSV, Parquet or Arrow, got none."
