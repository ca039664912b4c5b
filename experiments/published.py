"""Read files as UCI, OpenML and LIBSVM publish them: download, unpack, verify, and draw rows."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from pydaub.data import Source, read
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS: Final = 55_000  # kept of a larger file
SEED: Final = 2016
TARGET: Final = "target"
BLOCK: Final = 1 << 24
LIBSVM: Final = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"


@dataclass(frozen=True)
class File:
    """A published file and its expected content.

    Parameters
    ----------
    address
        Its URL, or the name of a smaller copy.
    rows, features, classes
        Expected counts.
    label
        Index of the column with the label.
    sha256
        Known checksum.
    member
        End of the file's name within an archive.
    """

    address: str
    rows: int
    features: int
    classes: int
    label: int = -1
    sha256: str | None = None
    member: str = ""

    @property
    def name(self) -> str:
        """Name of the published file."""
        return self.address.rsplit("/", 1)[-1]


def download(address: str, folder: Path) -> Path:
    """Download a file, continue an interrupted download, and show the progress."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / address.rsplit("/", 1)[-1]
    if path.is_file():
        return path
    part = path.with_name(f"{path.name}.part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310  # known addresses
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  # known addresses
            resumed = answer.status == http.client.PARTIAL_CONTENT
            total = int(answer.headers.get("Content-Length", 0)) + (have if resumed else 0)
            with part.open("ab" if resumed else "wb") as file:
                while block := answer.read(BLOCK):
                    file.write(block)
                    print(f"\r{path.name}: {file.tell() / 1e6:,.0f} of {total / 1e6:,.0f} MB", end="", file=sys.stderr)
        print(file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError) and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            if error.headers.get("Content-Range", "").endswith(f"/{have}"):  # the download was complete
                part.rename(path)
                return path
            part.unlink()
        reason = getattr(error, "reason", None) or error
        advice = "Run the same command again to continue, or name a file that you have with --file."
        raise InputError(f"{address} must be reachable, got: {reason}. {advice}") from None
    if total and part.stat().st_size < total:
        raise InputError(
            f"{address} must be downloaded completely, got {part.stat().st_size:,} of {total:,} bytes."
            " Run the same command again to continue."
        )
    part.rename(path)
    return path


def checksum(path: Path, file: File) -> str:
    """Return the checksum of a file; raise `InputError` if it has the published name but not the known checksum."""
    if not path.is_file():
        raise InputError(f"`--file` must be a copy of {file.address}, got no such file: {path}.")
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if path.name == file.name and file.sha256 not in {None, digest}:
        raise InputError(f"{path} must have the SHA-256 {file.sha256}, got {digest}. Fetch it again.")
    return digest


def read_rows(path: Path, file: File) -> tuple[pd.DataFrame, int]:
    """Return rows drawn from a published file, and the number of rows it has."""
    if path.suffix in {".arff", ".parquet"}:
        found = from_openml(read(path), path, file)
        return draw(found), len(found)
    if file.address.startswith(LIBSVM):
        found = read_libsvm(path, file.features)
        return draw(found), len(found)
    chosen = np.sort(np.random.default_rng(SEED).choice(file.rows, min(ROWS, file.rows), replace=False))
    drawn, rows = [], 0
    for batch in _batches(path, file):
        first, last = np.searchsorted(chosen, [rows, rows + batch.num_rows])
        drawn.append(batch.take(pa.array(chosen[first:last] - rows)))
        rows += batch.num_rows
    frame = pa.Table.from_batches(drawn).to_pandas() if drawn else pd.DataFrame(columns=["0"])
    label = frame.pop(frame.columns[file.label])
    frame = frame.set_axis(_names(frame.shape[1]), axis=1)
    frame[TARGET] = label
    return frame, rows


def from_openml(known: Source, where: object, file: File) -> pd.DataFrame:
    """Return the rows of a file from OpenML; the label is the declared one, the one named so, or the last column."""
    frame = known.rows
    if not isinstance(frame, pd.DataFrame) or frame.shape[1] != file.features + 1:
        raise InputError(f"{where} must have {file.features + 1} columns, got {frame.shape[1]}. Is it this data set?")
    called = [name for name in frame.columns if name.lower() in {"class", "target", "label", "year"}]
    label = known.label or (called[0] if len(called) == 1 else frame.columns[-1])
    labels = frame[label]
    if not pd.api.types.is_numeric_dtype(labels):
        labels = pd.Series(labels.astype("category").cat.codes)
    try:
        features = frame.drop(columns=label).apply(pd.to_numeric)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where} must have features that are numbers, got: {error}.") from None
    return features.set_axis(_names(file.features), axis=1).assign(**{TARGET: labels})


def read_libsvm(path: Path, features: int) -> pd.DataFrame:
    """Return the rows of a LIBSVM file, whose features are numbered from 1 in this collection."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415  # a slow import that one format needs

    try:
        rows, labels = load_svmlight_file(str(path), zero_based=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path} must be a LIBSVM file, got: {error}. Fetch it again.") from None
    if rows.shape[1] != features:
        raise InputError(f"{path} must have {features} features, got {rows.shape[1]}. Fetch it again.")
    frame = pd.DataFrame(rows.toarray(), columns=_names(features))
    frame[TARGET] = labels
    return frame


def _batches(path: Path, file: File) -> Iterator[pa.RecordBatch]:
    """Yield blocks of rows from comma-separated text without a header, compressed or not."""
    names = [str(place) for place in range(file.features + 1)]
    with ExitStack() as stack:
        stream = _unpacked(path, file.member, stack)
        try:
            yield from pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK),
                convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64())),
            )
        except (pa.ArrowInvalid, OSError, EOFError) as error:
            raise InputError(f"{path} must be numbers in {len(names)} columns, got: {error}. Fetch it again.") from None


def _unpacked(path: Path, member: str, stack: ExitStack) -> Any:  # noqa: ANN401  # several kinds of file objects
    """Open a file for reading, decompressing or extracting it if necessary."""
    try:
        if zipfile.is_zipfile(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            name = _member(archive.namelist(), member, path)
            inside = stack.enter_context(archive.open(name))  # it may be compressed itself, as at UCI
            return stack.enter_context(gzip.open(inside)) if name.endswith(".gz") else inside
        if tarfile.is_tarfile(path):
            tar = stack.enter_context(tarfile.open(path))  # noqa: SIM115  # the stack closes it
            inner = tar.extractfile(_member(tar.getnames(), member, path))
            if inner is None:
                raise InputError(f"{path} must hold a file that ends in {member}, got a folder.")
            return stack.enter_context(inner)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{path} must be a complete archive, got: {error}. Fetch it again.") from None
    with path.open("rb") as file:
        start = file.read(3)
    if start.startswith(b"\x1f\x8b"):
        return stack.enter_context(gzip.open(path))
    return stack.enter_context(bz2.open(path) if start == b"BZh" else path.open("rb"))


def _member(names: list[str], end: str, path: Path) -> str:
    files = [name for name in names if not name.endswith("/") and not Path(name).name.startswith(".")]
    found = [name for name in files if name.endswith(end)]
    if len(found) != 1:
        wanted = f"one file that ends in {end}" if end else "one file"
        raise InputError(f"{path} must hold {wanted}, got {len(found)}. Unpack it and name the right one with --file.")
    return found[0]


def _names(features: int) -> list[str]:
    return [f"x{place}" for place in range(1, features + 1)]


def draw(frame: pd.DataFrame) -> pd.DataFrame:
    """Return at most ROWS rows, in random order."""
    return frame.sample(min(ROWS, len(frame)), random_state=SEED)


def verify(frame: pd.DataFrame, file: File, path: object) -> dict[str, Any]:
    """Raise `InputError` unless the rows match the expected counts without gaps; return the metadata to store."""
    found = (len(frame), frame.shape[1] - 1, frame[TARGET].nunique() if TARGET in frame else 0)
    wanted = (file.rows, file.features, file.classes)
    if found != wanted:
        words = "{:,} rows, {} features and {} classes"
        raise InputError(f"{path} must have {words.format(*wanted)}, got {words.format(*found)}.")
    if frame.isna().to_numpy().any():
        raise InputError(f"{path} must have no gaps, got some. Fetch it again.")
    return {"file": file.name, "rows": len(frame)}
