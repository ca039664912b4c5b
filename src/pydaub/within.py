"""Files within a folder that somebody else may have filled: none is reached through a link.

The folder itself may be reached through links, which the user has named. Every part of a name below it is opened
relative to the descriptor of what is above it, with O_NOFOLLOW: not even a link that appears meanwhile is followed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

LINK: Final = "it is a link, which could lead anywhere"
SHARED: Final = "it has other names (hard links), and may be a file of something else: put a copy there"
OUTSIDE: Final = "it must be the name of a file within the folder"
OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | OPEN
FILE: Final = OPEN | os.O_NONBLOCK | os.O_NOCTTY  # to open a pipe could take for ever
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE


class Folder:
    """A folder, and what lies within it.

    Names are relative to `path`; they may have several parts, such as ``plots/curves.png``. Whatever cannot be done
    raises an `OSError` whose `filename` is the whole path.

    Parameters
    ----------
    path
        The folder. Links on the way to it are followed.
    part
        A folder within it, to which names are relative. It must not be a link.
    """

    def __init__(self, path: str | Path, part: str = "") -> None:
        self._root, self._part = Path(path), part
        self.path = self._root / part

    def open(self, name: str, flags: int = os.O_RDONLY, *, alone: bool = False) -> int:
        """Return a descriptor of a regular file; one with other names is not opened to be written, or to be `alone`."""
        with self._above(name) as (folder, last):
            file = os.open(last, flags | FILE, 0o666, dir_fd=folder)
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode):
            wrong = errno.EISDIR, os.strerror(errno.EISDIR)
        elif not stat.S_ISREG(found.st_mode):
            wrong = errno.EINVAL, "it must be a regular file"
        elif found.st_nlink > 1 and (alone or flags & (os.O_WRONLY | os.O_RDWR)):
            wrong = errno.EMLINK, SHARED
        else:
            return file
        os.close(file)
        raise OSError(*wrong, str(self.path / name))

    def read(self, name: str, most: int = -1) -> bytes:
        """Return the content of a file, or its first bytes."""
        with os.fdopen(self.open(name), "rb") as file:
            return file.read(most)

    def write(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write a file whole or not at all; if `durable`, it also survives a power cut."""
        with self._above(name) as (folder, last):
            if _is_link(last, folder):
                raise OSError(errno.ELOOP, LINK)
            partial = f".{last}.{secrets.token_hex(4)}"
            try:
                with os.fdopen(os.open(partial, NEW, 0o666, dir_fd=folder), "wb") as file:
                    file.write(content)
                    if durable:
                        file.flush()
                        os.fsync(file.fileno())
                os.replace(partial, last, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                with suppress(OSError):
                    os.unlink(partial, dir_fd=folder)
                raise

    def status(self, name: str) -> os.stat_result | None:
        """Return what is known of a file, folder or link; None if there is none."""
        with suppress(FileNotFoundError, NotADirectoryError), self._above(name) as (folder, last):
            return _status(last, folder)
        return None

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        with self._above(name) as (folder, last):
            return os.stat(last, dir_fd=folder, follow_symlinks=False).st_size

    def has(self, name: str) -> bool:
        """Return whether there is a regular file of this name."""
        found = self.status(name)
        return found is not None and stat.S_ISREG(found.st_mode)

    def make(self) -> None:
        """Create this folder, unless it is there."""
        if not self._part:
            self.path.mkdir(parents=True, exist_ok=True)
            return
        outer = Folder(self._root)
        with outer._above(self._part) as (folder, last), suppress(FileExistsError):
            os.mkdir(last, dir_fd=folder)

    def names(self) -> list[str]:
        """Return the names in this folder, sorted; none if there is no such folder."""
        with suppress(OSError), self._above("") as (folder, _):
            return sorted(os.listdir(folder))  # noqa: PTH208  # of a descriptor
        return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError), self._above(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def refuse_links(self, but: Container[str] = ()) -> None:
        """Raise an error if an entry of this folder is a link; `but` names those that may be one."""
        with os.scandir(self.path) as entries:
            links = sorted(entry.name for entry in entries if entry.is_symlink() and entry.name not in but)
        if links:
            raise InputError(
                f"{self.path / links[0]} must be a file or a folder, got a link, which could lead anywhere. Remove it."
            )

    @contextmanager
    def _above(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder that holds a name, and the last part of that name."""
        named = PurePosixPath(name)
        parts, last = [*PurePosixPath(self._part).parts, *named.parent.parts], named.name
        place, folder = self._root, -1
        try:
            if named.is_absolute() or ".." in (*parts, last):
                raise OSError(errno.EINVAL, OUTSIDE)  # noqa: TRY301  # reported with its path below
            folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for part in parts:
                place, outer = place / part, folder
                folder = _entered(part, outer)
                os.close(outer)
            place /= last
            yield folder, last
        except OSError as error:
            linked = folder >= 0 and _is_link(last, folder)
            raise OSError(error.errno, LINK if linked else error.strerror, str(place)) from None
        finally:
            if folder >= 0:
                os.close(folder)


def _entered(name: str, folder: int) -> int:
    if _is_link(name, folder):
        raise OSError(errno.ELOOP, LINK)
    return os.open(name, FOLDER, dir_fd=folder)


def _is_link(name: str, folder: int) -> bool:
    found = _status(name, folder)
    return found is not None and stat.S_ISLNK(found.st_mode)


def _status(name: str, folder: int) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None
