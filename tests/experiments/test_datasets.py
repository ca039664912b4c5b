"""Published files are verified before rows are kept, and an interrupted download continues."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import published
import pytest
from datasets import COPIES, DATA_SETS, DataSet, keep, present, source
from published import File, download

from pydaub.data import load
from pydaub.errors import InputError

ROWS = 120


def text(rows: int = ROWS, features: int = 3, *, label: int = 0) -> bytes:
    """Return comma-separated text in which the first feature of a row is its number."""
    lines = []
    for row in range(rows):
        values = [str(row), *(f"{row / 7 + place:.4f}" for place in range(1, features))]
        values.insert(0 if label == 0 else len(values), str(1990 + row % 20))
        lines.append(",".join(values))
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def songs(monkeypatch: pytest.MonkeyPatch) -> File:
    """A small data set whose published label is a year."""
    file = File("https://example.invalid/tiny.csv.gz", ROWS, 3, 2, 0)
    monkeypatch.setitem(
        datasets.DATA_SETS, "tiny", DataSet("tiny", "Tiny", "tests", file, derived=lambda years: (years >= 2000) * 1)
    )
    return file


def packed(path: Path, content: bytes) -> Path:
    """Write content, compressed or archived according to the suffix."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz") as tar:
            entry = tarfile.TarInfo("folder/tiny.data")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tiny.data", content)
    else:
        ends = {".gz": gzip.compress(content), ".bz2": bz2.compress(content)}
        path.write_bytes(ends.get(path.suffix, content))
    return path


@pytest.mark.parametrize("end", ["csv", "csv.gz", "csv.bz2", "zip", "tar.gz"])
def test_a_published_file_is_read_in_every_compression(end: str, songs: File, tmp_path: Path) -> None:
    kept = keep("tiny", packed(tmp_path / f"tiny.{end}", text()), tmp_path / "kept")
    frame = pd.read_parquet(kept)
    assert sorted(frame["x1"]) == list(range(ROWS))
    assert list(frame["target"]) == [int(1990 + row % 20 >= 2000) for row in frame["x1"]]
    assert np.allclose(frame["x3"], frame["x1"] / 7 + 2, atol=1e-4)
    assert len(load(str(kept), "target").schema.columns) == songs.features
    assert source("tiny", tmp_path / "kept", tmp_path)[0] == str(kept)


def test_the_label_may_be_the_last_column(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = File("https://example.invalid/tiny.csv", ROWS, 3, 20)
    monkeypatch.setitem(datasets.DATA_SETS, "tiny", DataSet("tiny", "Tiny", "tests", file))
    frame = pd.read_parquet(keep("tiny", packed(tmp_path / "tiny.csv", text(label=-1)), tmp_path / "kept"))
    assert list(frame["target"]) == [1990 + row % 20 for row in frame["x1"]]


def test_features_of_a_libsvm_file_are_numbered_from_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = File(f"{published.LIBSVM}/tiny.bz2", ROWS, 3, 3, 0)
    monkeypatch.setitem(datasets.DATA_SETS, "tiny", DataSet("tiny", "Tiny", "tests", file))
    lines = "".join(f"{row % 3 + 1} 1:{row} 3:{row / 8}\n" for row in range(ROWS))
    frame = pd.read_parquet(keep("tiny", packed(tmp_path / "tiny.bz2", lines.encode()), tmp_path / "kept"))
    assert list(frame["target"]) == [row % 3 + 1 for row in frame["x1"]]
    assert not frame["x2"].any()
    with pytest.raises(InputError, match="must have 3 features, got 4"):
        keep("tiny", packed(tmp_path / "tiny.bz2", b"1 1:1 4:2\n"), tmp_path / "kept")


@pytest.mark.usefixtures("songs")
@pytest.mark.parametrize("name", ["Class", "label", "year"])
def test_the_label_of_an_openml_file_is_found_by_its_name(name: str, tmp_path: Path) -> None:
    values = pd.read_csv(io.BytesIO(text(label=-1)), header=None).set_axis(["a", "b", "c", name], axis=1)
    kinds = "".join(f"@attribute {column} numeric\n" for column in values)
    path = tmp_path / "tiny.arff"
    path.write_text(f"@relation tiny\n{kinds}@data\n{values.to_csv(header=False, index=False)}")
    values.to_parquet(tmp_path / "tiny.parquet")
    for file in (path, tmp_path / "tiny.parquet"):
        frame = pd.read_parquet(keep("tiny", file, tmp_path / "kept"))
        assert sorted(frame["x1"]) == list(range(ROWS))
        assert list(frame["target"]) == [int(1990 + row % 20 >= 2000) for row in frame["x1"]]
    values.assign(d=1).to_parquet(tmp_path / "more.parquet")
    with pytest.raises(InputError, match="must have 4 columns, got 5"):
        keep("tiny", tmp_path / "more.parquet", tmp_path / "kept")


@pytest.mark.usefixtures("songs")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (text(ROWS - 1), "must hold 120 rows, got 119"),
        (text(ROWS + 1), "must hold 120 rows, got 121"),
        (text(features=2), "must be numbers in 4 columns"),
        (text(features=4), "must be numbers in 4 columns"),
        (text().replace(b"0.1429", b"what"), "must be numbers in 4 columns"),
        (text().replace(b"1.1429", b""), "must have no gaps"),
        (b"", "must be numbers in 4 columns"),
        (b"\n".join(line.replace(b"20", b"19") for line in text().split(b"\n")), "2 classes, got"),
    ],
)
def test_a_file_with_unexpected_content_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        keep("tiny", packed(tmp_path / "tiny.csv.gz", content), tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("songs")
def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    for end in ("csv.gz", "zip", "tar.gz"):
        path = packed(tmp_path / f"tiny.{end}", text(ROWS))
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(InputError, match="must"):
            keep("tiny", path, tmp_path / "kept")


def test_a_file_with_the_published_name_must_have_the_known_checksum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = packed(tmp_path / "tiny.csv", text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for known, fits in ((digest, True), (digest[::-1], False)):
        file = File("https://example.invalid/tiny.csv", ROWS, 3, 20, 0, known)
        monkeypatch.setitem(datasets.DATA_SETS, "tiny", DataSet("tiny", "Tiny", "tests", file))
        if fits:
            assert keep("tiny", path, tmp_path / "kept").exists()
        else:
            with pytest.raises(InputError, match="must have the SHA-256"):
                keep("tiny", path, tmp_path / "kept")


@pytest.mark.usefixtures("songs")
def test_rows_of_a_larger_file_are_drawn_uniformly(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = packed(tmp_path / "tiny.csv.gz", text())
    monkeypatch.setattr(published, "ROWS", 60)
    monkeypatch.setattr(published, "BLOCK", 256)  # read the file in many blocks
    times = np.zeros(ROWS)
    for seed in range(40):
        monkeypatch.setattr(published, "SEED", seed)
        rows = pd.read_parquet(keep("tiny", path, tmp_path / "kept"))["x1"]
        assert len(rows) == len(set(rows)) == 60
        times[list(rows)] += 1
    assert times.min() >= 5  # 20 of 40 on average, with a standard deviation of 3.2
    assert times.max() <= 35


@pytest.mark.usefixtures("songs")
def test_unknown_names_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be one of parity, higgs"):
        source("hicks")
    with pytest.raises(InputError, match="no such file"):
        keep("tiny", tmp_path / "absent.csv.gz", tmp_path)
    with pytest.raises(InputError, match="must have a published file"):
        keep("adult", tmp_path / "adult.csv", tmp_path)
    with pytest.raises(InputError, match=r"Fetch it: python experiments/datasets.py sensit"):
        source("sensit", tmp_path, tmp_path)


@pytest.mark.skipif(not COPIES.exists(), reason="needs the shared data sets")
@pytest.mark.parametrize("name", [name for name, one in DATA_SETS.items() if one.copy])
def test_the_smaller_copies_have_the_listed_content(name: str, tmp_path: Path) -> None:
    copy = DATA_SETS[name].copy
    assert copy is not None
    path, words = source(name, tmp_path, COPIES)
    assert copy.address in words
    frame = pd.read_parquet(path)
    assert frame.shape == (min(copy.rows, published.ROWS), copy.features + 1)
    assert frame["target"].nunique() == copy.classes
    assert name in present(tmp_path, COPIES)


def test_parity_needs_no_file(tmp_path: Path) -> None:
    data = load(source("parity", tmp_path, tmp_path)[0], None)
    assert (data.full_size + data.valid_size, data.schema.features) == (43_000, 16)
    assert present(tmp_path, tmp_path) == ["parity"]


class Server(ThreadingHTTPServer):
    """Server of one file that can truncate a response, with or without support for ranges."""

    content, cut, ranges = b"", 0, True
    asked: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        if self.path != "/file.bin":
            self.send_error(404)
            return
        start = int(wanted.split("=")[1].rstrip("-")) if wanted and self.server.ranges else 0
        if wanted and start >= len(self.server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(self.server.content)}")
            self.end_headers()
            return
        body = self.server.content[start:]
        self.send_response(206 if wanted and self.server.ranges else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.cut] if self.server.cut else body)

    def log_message(self, *_: Any) -> None:
        """Keep the output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.content, server.asked = bytes(range(256)) * 40, []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("songs")
def test_an_archive_may_hold_a_compressed_file_and_hidden_files(tmp_path: Path) -> None:
    path = tmp_path / "tiny.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.csv.gz", gzip.compress(text()))
        archive.writestr("folder/._tiny.csv.gz", b"what a Mac adds")
    assert len(pd.read_parquet(keep("tiny", path, tmp_path / "kept"))) == ROWS
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", text())
        archive.writestr("b.csv", text())
    with pytest.raises(InputError, match="must hold one file, got 2"):
        keep("tiny", path, tmp_path / "kept")


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_continues(server: Server, ranges: bool, tmp_path: Path) -> None:  # noqa: FBT001
    address = f"http://127.0.0.1:{server.server_port}/file.bin"
    server.cut, server.ranges = 4_000, ranges
    with pytest.raises(InputError, match="Run the same command again to continue"):
        download(address, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    server.cut = 0
    assert download(address, tmp_path).read_bytes() == server.content
    assert server.asked == [None, "bytes=4000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]
    download(address, tmp_path)
    assert len(server.asked) == 2
    (tmp_path / "file.bin").rename(tmp_path / "file.bin.part")  # killed just before the rename
    assert download(address, tmp_path).read_bytes() == server.content


def test_a_failed_download_says_why(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Not Found.*--file"):
        download(f"http://127.0.0.1:{server.server_port}/other.bin", tmp_path)
    with pytest.raises(InputError, match="must be reachable"):
        download("http://127.0.0.1:9/file.bin", tmp_path)
