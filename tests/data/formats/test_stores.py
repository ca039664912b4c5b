"""Files in stores: the same rows as from local files, and no credentials anywhere.

pyarrow's own local file system stands in for a store; docs/guide.md says which stores were tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from pydaub import InputError
from pydaub.data import load
from pydaub.data.formats import read, stores
from pydaub.data.origin import Origin
from pydaub.data.outofcore.external import Wanted, prepare_out_of_core

TABLE = pa.table({"x": list(range(40)), "c": ["red", "blue"] * 20, "y": ["a", "b", "b", "a"] * 10})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with tables, which is also a store: its addresses begin with `here://`."""
    for name in ("parts", "texts", "arrows"):
        (tmp_path / name).mkdir()
    pq.write_table(TABLE.slice(0, 30), tmp_path / "parts" / "a.parquet")
    pq.write_table(TABLE.slice(30), tmp_path / "parts" / "b.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    pv.write_csv(TABLE, tmp_path / "texts" / "rows.csv")
    pf.write_feather(TABLE, tmp_path / "arrows" / "rows.feather")
    local = fs.LocalFileSystem()
    monkeypatch.setattr(stores, "_opened", lambda address: (local, address.removeprefix("here://").rstrip("/"), ""))
    return tmp_path


PLACES = ["parts", "parts/a.parquet", "parts/*.parquet", "*/rows.csv", "texts/rows.csv", "arrows/rows.feather"]


@pytest.mark.parametrize("place", PLACES)
def test_rows_of_an_address_are_those_of_the_files(folder: Path, place: str) -> None:
    expected = load(f"{folder}/{place}", "y").fingerprint
    for beginning in ("here://", "file://"):
        assert load(f"{beginning}{folder}/{place}", "y").fingerprint == expected


@pytest.mark.parametrize("place", ["parts", "texts/rows.csv"])
def test_data_is_prepared_from_an_address_and_noticed_if_it_changes(folder: Path, place: str) -> None:
    address = f"here://{folder}/{place}"
    for source, out in ((address, "one"), (f"{folder}/{place}", "two")):
        prepare_out_of_core(Wanted(source, "y"), folder / out, 1 << 27)
    for file in (folder / "one").glob("*.arrow"):
        assert file.read_bytes() == (folder / "two" / file.name).read_bytes()
    origin = Origin.of(address)
    assert not origin.changes()
    changed = Path(next(iter(origin.files)).removeprefix("here://"))
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert f"{changed.name!r} changed" in origin.changes()
    with pytest.raises(InputError, match="changes there since it was prepared"):
        load(folder / "one", None)


def test_what_cannot_be_read_at_an_address_is_refused_in_one_line(folder: Path) -> None:
    (folder / "parts" / "deeper").mkdir()
    (folder / "year=2024").mkdir()
    (folder / "year=2024" / "rows.csv").write_text("x,y\n1,a\n")
    for place, message in {
        "parts": "must hold files only, got the folder 'deeper'",
        "nothing.csv": "must be a file that can be read, got no such file",
        "*.nothing": "must match at least one file, got none",
        "*/*.csv": "got the partition 'year=2024'",
        "*/*": "got the partition|must end in one of|must hold files of one format",
    }.items():
        with pytest.raises(InputError, match=message) as caught:
            read(f"here://{folder}/{place}")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="must be a local file, or a Parquet or CSV file, got an Arrow file"):
        prepare_out_of_core(Wanted(f"here://{folder}/arrows", "y"), folder / "out", 1 << 27)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://KEY:SECRET@bucket/rows.csv", "An address must contain no credentials"),
        ("s3://bucket/rows.csv?secret_key=SECRET", "An address must contain no credentials"),
        ("https://host/rows.csv?signature=SECRET", "An address must contain no credentials"),
        ("s3://", "must name a bucket, as in s3://bucket/path, got none"),
        ("gs:///rows.csv", "must name a bucket, as in gs://bucket/path, got none"),
        ("nonsense://host/rows.csv", "fsspec|nonsense"),
        ("://", "no such file"),
    ],
)
def test_nonsense_is_refused_and_secrets_are_not_repeated(address: str, message: str) -> None:
    calls: list[Any] = [lambda: read(address), lambda: load(address, "y"), lambda: Origin.of(address)]
    for call in calls:
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert "SECRET" not in str(caught.value)
        assert "\n" not in str(caught.value)
