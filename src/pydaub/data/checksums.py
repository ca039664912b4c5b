"""Checksums of files, by which damage is noticed before a learner is trained on them.

They are CRC-32: quick, in the standard library, and sure to notice a flipped bit. They are no protection against a
person who changes a file on purpose.
"""

from __future__ import annotations

import json
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from pydaub.isolation.proc import cores
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PIECE: Final = 1 << 26  # bytes of a file that have a checksum of their own, so that several threads can share a file
READ: Final = 1 << 20  # bytes in memory at a time
MOST: Final = 1 << 34  # bytes that are checked at most: to read hundreds of gigabytes first would take too long
SEAL: Final = "crc"


class Damaged(ValueError):
    """A file is not as it was written."""


def checksums(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the size of each file of a folder, and the checksums of its pieces as one hexadecimal text."""
    inside = Folder(folder)
    sizes = {path.name: inside.size(path.name) for path in sorted(folder.iterdir())}
    pieces = [(name, start) for name, size in sizes.items() for start in range(0, size, PIECE)]
    with ThreadPoolExecutor(cores()) as pool:  # reading and computing release Python's lock
        found = [*pool.map(lambda piece: f"{_crc(inside, *piece):08x}", pieces)]
    sums = dict.fromkeys(sizes, "")
    for (name, _), crc in zip(pieces, found, strict=True):
        sums[name] += crc
    return {name: {"bytes": size, "crc": sums[name]} for name, size in sizes.items()}


def check(folder: Path, written: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Raise `Damaged` if a file in a folder differs from what `checksums` found when it was written.

    Of more than `MOST` bytes, only the beginnings of the files are read, which most learners are trained on. A note
    says so.
    """
    inside = Folder(folder)
    sizes = {name: inside.size(name) for name in written}
    for name, size in sizes.items():
        if size != written[name]["bytes"]:
            raise Damaged(f"{name} has {size:,} bytes instead of {written[name]['bytes']:,}")

    def differs(piece: tuple[int, str]) -> bool:
        start, name = piece
        place = start // PIECE * 8
        return f"{_crc(inside, name, start):08x}" != written[name]["crc"][place : place + 8]

    pieces = sorted((start, name) for name, size in sizes.items() for start in range(0, size, PIECE))
    chosen = pieces[: max(1, MOST // PIECE)]
    with ThreadPoolExecutor(cores()) as pool:
        for (_, name), bad in zip(chosen, pool.map(differs, chosen), strict=True):
            if bad:
                pool.shutdown(cancel_futures=True)
                raise Damaged(f"{name} does not match its checksum")
    if len(chosen) == len(pieces):
        return None
    return f"Of {sum(sizes.values()) / 1e9:,.0f} GB of rows, only the first {MOST / 1e9:,.0f} were checked for damage."


def sealed(fields: Mapping[str, Any]) -> str:
    """Return fields as JSON with a checksum, for a file that people may read."""
    return json.dumps({**fields, SEAL: _seal(fields)}, indent=1)


def opened(path: Path) -> dict[str, Any]:
    """Return the fields that `sealed` wrote to a file; a file without a checksum, as older ones are, is accepted.

    Raises
    ------
    Damaged
        If they do not match their checksum.
    OSError, ValueError, TypeError
        If the file cannot be read, or does not hold a JSON object.
    """
    try:
        fields = dict(json.loads(Folder(path.parent).read(path.name)))
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply") from None
    if (seal := fields.pop(SEAL, None)) is not None and seal != _seal(fields):
        raise Damaged(
            f"{path.name} does not match its checksum (if you changed it yourself, remove its field {SEAL!r})"
        )
    return fields


def _seal(fields: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(fields, sort_keys=True).encode()):08x}"


def _crc(folder: Folder, name: str, start: int) -> int:
    """Return the checksum of the piece of a file that begins here."""
    crc, left, buffer = 0, PIECE, memoryview(bytearray(READ))
    with os.fdopen(folder.open(name), "rb", buffering=0) as file:
        file.seek(start)
        while left and (count := file.readinto(buffer[: min(left, READ)])):
            crc, left = zlib.crc32(buffer[:count], crc), left - count
    return crc
