"""Write files whole or not at all, durably, or with a digest by which damage is noticed."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from pydaub.data.checksums import Damaged
from pydaub.within import Folder

if TYPE_CHECKING:
    from pathlib import Path

SEAL: Final = 16  # bytes of the digest at the end of a sealed file


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file atomically, and not through a link; if `durable`, it also survives a power cut."""
    Folder(path.parent).write(path.name, content, durable=durable)


def write_output(path: Path, content: bytes, *, named: bool = True) -> None:
    """Write a file whole or not at all; to a pipe or a device, as far as it goes.

    A link is followed only if a person has `named` the file.
    """
    if named and path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        write_whole(path.resolve() if named else path, content)


def write_sealed(path: Path, content: bytes) -> None:
    """Write a file atomically, with a digest at its end."""
    write_whole(path, content + _digest(content))


def read_sealed(path: Path) -> bytes:
    """Return what `write_sealed` wrote; raise `Damaged` if it is something else."""
    sealed = Folder(path.parent).read(path.name)
    content, digest = sealed[:-SEAL], sealed[-SEAL:]
    if digest != _digest(content):
        raise Damaged(f"{path.name} is damaged")
    return content


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=SEAL).digest()
