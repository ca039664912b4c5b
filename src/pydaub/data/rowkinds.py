"""Kinds of files whose rows only commands read: each can be counted, put into another order, and cut after a row."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHECKED: Final = 1000  # rows that are looked at before anything is trained
READ: Final = 1 << 20  # bytes
BATCH: Final = 10_000  # rows


class Kind(Protocol):
    """A kind of file, or of folder, that holds rows."""

    name: str
    ending: str  # of the files that `ordered` writes
    sample_ending: str  # of those that `first` writes

    def count(self, source: Path) -> int:
        """Return the number of rows; raise ValueError if it is not of this kind."""

    def digest(self, source: Path) -> str:
        """Return a digest of the content."""

    def ordered(self, source: Path, places: Sequence[int], out: Path) -> None:
        """Write rows of a source in this order."""

    def first(self, ordered: Path, size: int, out: Path) -> None:
        """Write the first rows of what `ordered` wrote."""

    def joined(self, parts: Sequence[Path], out: Path) -> None:
        """Write the rows of several files as one."""


class Lines:
    """One row a line: JSON lines, or plain text."""

    name: str = "jsonl"
    ending: str = ".jsonl"
    sample_ending: str = ".jsonl"

    def _records(self, source: Path) -> tuple[bytes, list[tuple[int, int]]]:
        """Return what comes before the rows, and where each begins and ends."""
        return b"", [(start, stop) for start, stop, line in _lines(source) if line.strip()]

    def count(self, source: Path) -> int:
        """Return the number of rows."""
        records = self._records(source)[1]
        with source.open("rb") as file:
            for number, (start, stop) in enumerate(records[:CHECKED], start=1):
                file.seek(start)
                try:
                    json.loads(file.read(stop - start))
                except ValueError as error:
                    raise ValueError(f"row {number} is not JSON: {error}") from None
        return len(records)

    def digest(self, source: Path) -> str:
        """Return a digest of the content."""
        return _digest(source)

    def ordered(self, source: Path, places: Sequence[int], out: Path) -> None:
        """Write rows in this order."""
        head, records = self._records(source)
        with source.open("rb") as file, out.open("wb") as found:
            found.write(head)
            if not records:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                for place in places:
                    start, stop = records[place]
                    found.write(content[start:stop].rstrip(b"\r\n") + b"\n")

    def first(self, ordered: Path, size: int, out: Path) -> None:
        """Write the first rows."""
        stop = self._records(ordered)[1][size - 1][1]
        with ordered.open("rb") as file, out.open("wb") as found:
            while stop and (part := file.read(min(stop, READ))):
                found.write(part)
                stop -= len(part)

    def joined(self, parts: Sequence[Path], out: Path) -> None:
        """Write the rows of several files as one."""
        with out.open("wb") as found:
            for number, part in enumerate(parts):
                records = self._records(part)[1]
                with part.open("rb") as file:
                    file.seek(records[0][0] if number and records else 0)
                    shutil.copyfileobj(file, found)


class Csv(Lines):
    """A header and comma-separated rows; a value in quotes may hold line breaks."""

    name = "csv"
    ending = sample_ending = ".csv"

    def _records(self, source: Path) -> tuple[bytes, list[tuple[int, int]]]:
        found: list[tuple[int, int]] = []
        began, quotes, head = 0, 0, b""
        for start, stop, line in _lines(source):
            began = began if quotes % 2 else start
            quotes += line.count(b'"')
            if quotes % 2 == 0 and line.strip():
                found.append((began, stop))
                if len(found) == 1:
                    head = _part(source, began, stop).rstrip(b"\r\n") + b"\n"
        if quotes % 2:
            raise ValueError(f"a quote is not closed that opens in the row at byte {began:,}")
        return head, found[1:]

    def count(self, source: Path) -> int:
        """Return the number of rows."""
        return len(self._records(source)[1])


class Parquet:
    """A Parquet file."""

    name = "parquet"
    ending = sample_ending = ".parquet"

    def count(self, source: Path) -> int:
        """Return the number of rows."""
        return int(pq.ParquetFile(source).metadata.num_rows)

    def digest(self, source: Path) -> str:
        """Return a digest of the content."""
        return _digest(source)

    def ordered(self, source: Path, places: Sequence[int], out: Path) -> None:
        """Write rows in this order."""
        pq.write_table(pq.read_table(source).take(np.asarray(places, dtype=np.int64)), out)

    def first(self, ordered: Path, size: int, out: Path) -> None:
        """Write the first rows."""
        file, left = pq.ParquetFile(ordered), size
        with pq.ParquetWriter(out, file.schema_arrow) as writer:
            for batch in file.iter_batches(BATCH):
                writer.write_batch(batch.slice(0, left))
                left -= min(left, batch.num_rows)
                if not left:
                    return

    def joined(self, parts: Sequence[Path], out: Path) -> None:
        """Write the rows of several files as one."""
        with pq.ParquetWriter(out, pq.ParquetFile(parts[0]).schema_arrow) as writer:
            for part in parts:
                for batch in pq.ParquetFile(part).iter_batches(BATCH):
                    writer.write_batch(batch)


class FolderOfFiles:
    """A folder in which each file is a row, such as images in a folder for each class; samples are folders of links."""

    name = "folder"
    ending, sample_ending = ".json", ""

    def _files(self, source: Path) -> list[str]:
        found = (Path(top) / name for top, _, names in os.walk(source) for name in names)
        names = (str(path.relative_to(source)) for path in found)
        return sorted(name for name in names if not any(part.startswith(".") for part in Path(name).parts))

    def count(self, source: Path) -> int:
        """Return the number of rows."""
        return len(self._files(source))

    def digest(self, source: Path) -> str:
        """Return a digest of the content."""
        told = [(name, (source / name).stat().st_size) for name in self._files(source)]
        return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()

    def ordered(self, source: Path, places: Sequence[int], out: Path) -> None:
        """Write rows in this order."""
        files = self._files(source)
        about = {"folder": str(source.absolute()), "files": [files[place] for place in places]}
        out.write_text(json.dumps(about), encoding="utf-8")

    def first(self, ordered: Path, size: int, out: Path) -> None:
        """Write the first rows."""
        out.mkdir()
        self._link(ordered, size, out, "")

    def joined(self, parts: Sequence[Path], out: Path) -> None:
        """Write the rows of several files as one."""
        out.mkdir()
        for number, part in enumerate(parts):
            self._link(part, None, out, f"{number}-" if number else "")

    @staticmethod
    def _link(ordered: Path, size: int | None, out: Path, before: str) -> None:
        about = json.loads(ordered.read_text())
        for name in about["files"][:size]:
            link = out / name
            link = link.with_name(f"{before}{link.name}")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(about["folder"]) / name)


KINDS: Final[dict[str, Kind]] = {each.name: each for each in (Lines(), Csv(), Parquet(), FolderOfFiles())}
ENDINGS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def _lines(source: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield where each line begins and ends, and the line."""
    start = 0
    with source.open("rb") as file:
        for line in file:
            yield start, start + len(line), line
            start += len(line)


def _part(source: Path, start: int, stop: int) -> bytes:
    with source.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)


def _digest(source: Path) -> str:
    with source.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
