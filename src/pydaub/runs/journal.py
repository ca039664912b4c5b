"""The append-only journal of a run: one JSON object per line, locked, and intact after a kill at any byte."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from pydaub.errors import InputError, JournalDamaged, JournalError, JournalLocked, JournalMismatch
from pydaub.events import Event, Started, from_json, to_json
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1
PATIENCE: Final = 0.5  # seconds
# Every journal begins with these bytes, so that no other file is mistaken for a torn journal and cut.
MAGIC: Final = b'{"journal":"pydaub","format":'
SEAL: Final = re.compile(rb',"crc":"([0-9a-f]{8})"\}')  # ends every line
SEAL_LENGTH: Final = 18


class Journal:
    """The events of one run, in the order in which they happened.

    Opening creates the file or continues it. A torn last line, which a kill in the middle of a write leaves behind, is
    cut off; anything else that is wrong raises a `JournalError` and leaves the file unchanged. Only one process at a
    time may hold a journal open; the kernel releases the lock when that process ends.

    Parameters
    ----------
    path
        The file.
    settings
        What the run is about, as plain JSON values. They become the first line of a new journal; an existing one must
        have been started with the same.
    versions, descriptions
        Versions of the libraries in use, and what each learner is, for the first line of a new journal.
    defaults
        What settings are that an older journal does not have, because they were added later.

    Examples
    --------
    >>> import tempfile
    >>> from pydaub import Selected
    >>> path = Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> with Journal(path, {"strategy": "daub"}) as journal:
    ...     journal.append(Selected("tree", clock=1.5))
    >>> read(path)[1:]
    [Selected(learner='tree', clock=1.5)]
    """

    def __init__(
        self,
        path: str | Path,
        settings: Mapping[str, Any],
        versions: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(path, str | Path):
            raise InputError(f"`path` must be the path of a file, got {path!r}.")
        self.path, self._defaults = Path(path), dict(defaults or {})
        try:
            plain = json.loads(json.dumps(dict(settings), allow_nan=False))
            started = Started(plain, dict(versions or {}), dict(descriptions or {}))
        except (TypeError, ValueError) as error:
            raise InputError(f"`settings` must be plain JSON values, got: {error}.") from None
        try:
            inside = Folder(self.path.parent)
            created = not inside.has(self.path.name)
            self._file = inside.open(self.path.name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except (OSError, ValueError) as error:
            raise JournalError(f"Cannot write the journal {path}: {getattr(error, 'strerror', error)}.") from None
        try:
            self._lock()
            with open(self._file, "rb", closefd=False) as file:
                content = file.read()
            self._lines = Lines(self.path)
            self.events, self._size = _parsed(content, self._lines)
            self._begin(started, torn=len(content) > self._size)
            if created:
                _sync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    @property
    def started(self) -> Started:
        """The first event."""
        first = self.events[0]
        assert isinstance(first, Started)  # noqa: S101  # `_parsed` and `_begin` see to it
        return first

    def append(self, *events: Event, sync: bool = True) -> None:
        """Write the events and, if `sync`, wait until they are on disk."""
        lines, crc = b"", self._lines.crc
        for event in events:
            line, crc = _line(to_json(event), crc)
            lines += line
        try:
            written = os.write(self._file, lines)
            while written < len(lines):
                written += os.write(self._file, lines[written:])
            if sync:
                _sync(self._file)
        except OSError as error:
            with suppress(OSError):  # if this fails too, the next open cuts the torn line
                os.ftruncate(self._file, self._size)
            raise JournalError(
                f"Cannot write to {self.path}: {error.strerror}. What was measured is kept: resume the run once this is"
                " mended."
            ) from error
        self._size += len(lines)
        self._lines.count(len(events), crc)
        self.events.extend(events)

    def close(self) -> None:
        """Release the journal. Closing twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        """Take the lock, retrying for a moment: `is_held` of another process takes it for an instant."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise JournalLocked(
                        f"Another process is writing {self.path}. Wait for it to end, or start another run elsewhere."
                    ) from None
                time.sleep(PATIENCE / 20)
            except OSError as error:
                raise JournalError(f"Cannot lock {self.path}: {error.strerror}.") from None
            else:
                return

    def _begin(self, started: Started, *, torn: bool) -> None:
        if not self._size:  # not a single complete line
            os.ftruncate(self._file, 0)
            self.append(started)
            return
        before, now = ({**self._defaults, **each.settings} for each in (self.started, started))
        if before != now:
            names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
            if "data" in names and {*names} <= {"data", "scores", "sizes"}:  # which follow from it
                raise JournalMismatch(
                    f"{self.path} must be of a run on the same rows, got others: the data has changed."
                    " Restore it to continue the run, or start another run elsewhere."
                )
            raise JournalMismatch(
                f"{self.path} must be of the same run, got one with other settings: {', '.join(names)}."
                " Give the same settings to continue it, or start another run elsewhere."
            )
        if torn:
            os.ftruncate(self._file, self._size)
            _sync(self._file)


def read(path: str | Path, *, only_first: bool = False) -> list[Event]:
    """Return the complete events of a journal without locking it; another process may be writing it."""
    try:
        with _reading(path) as file:
            content = file.readline() if only_first else file.read()
    except OSError as error:
        raise JournalError(f"Cannot read the journal {path}: {error.strerror}.") from None
    return _parsed(content, Lines(Path(path)))[0]


def is_held(path: str | Path) -> bool:
    """Return whether a process is writing this journal now."""
    try:
        with _reading(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def _reading(path: str | Path) -> BinaryIO:
    path = Path(path)
    return os.fdopen(Folder(path.parent).open(path.name), "rb")


class Lines:
    """The lines of a journal in their order, each checked against the checksum at its end.

    A checksum covers its line and the checksum before it, so that a line that is missing is noticed too. Older journals
    have none. They are read, and what is appended to them has checksums.
    """

    def __init__(self, path: Path) -> None:
        self.crc: int | None = None  # of the last line
        self.path, self._number = path, 0

    def count(self, lines: int, crc: int | None) -> None:
        """Take note of lines that were written, the last with this checksum."""
        self._number += lines
        self.crc = crc

    def event(self, line: bytes) -> Event | None:
        """Return the event of the next line, or None if it is of an unknown kind."""
        body, crc = _opened(line)
        if crc is None and self.crc is not None:
            raise self.damaged("its checksum is missing", line)
        if crc is not None and crc != zlib.crc32(body, self.crc or 0):
            raise self.damaged("it does not match its checksum", line)
        try:
            event = from_json(json.loads(line))
            if not self._number and not isinstance(event, Started):
                raise TypeError("a journal begins with its settings")  # noqa: TRY301  # reported with the others below
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise self.damaged(f"it is not an event ({error})", line) from None
        self.count(1, crc)
        return event

    def damaged(self, why: str, line: bytes) -> JournalDamaged:
        """Return the error about the next line."""
        number, advice = self._number + 1, "Restore the file from a copy"
        if self._number:
            advice += f", or keep the lines before it (head -n {self._number}): what followed is measured again"
        return JournalDamaged(f"Line {number} of {self.path} is damaged: {why}: {line[:80]!r}. {advice}.")


def check_format(content: bytes, path: Path) -> None:
    """Raise if the first bytes of a journal are of another format."""
    expected = MAGIC + b"%d," % FORMAT
    if content[: len(expected)] != expected[: len(content)]:
        found = content[len(MAGIC) : len(MAGIC) + 20].partition(b",")[0].decode(errors="replace")
        raise JournalError(f"{path} must be of journal format {FORMAT}, got {found}. Use the pydaub that wrote it.")


def _parsed(content: bytes, lines: Lines) -> tuple[list[Event], int]:
    """Return the complete events and their length in bytes."""
    path = lines.path
    if content[: len(MAGIC)] != MAGIC[: len(content)]:
        raise JournalError(f"{path} exists and is not a journal of pydaub. Choose another path.")
    check_format(content, path)
    *complete, torn = content.split(b"\n")
    events = [event for line in complete if (event := lines.event(line)) is not None]
    if (end := SEAL.search(torn)) and torn[end.end() :].strip(b"\0"):  # a kill cuts a line, but adds nothing to it
        raise lines.damaged("it does not end with a newline", torn)
    return events, len(content) - len(torn)


def _line(fields: dict[str, Any], before: int | None) -> tuple[bytes, int]:
    """Return the line of an event and its checksum; `before` is that of the line before."""
    if fields["kind"] == "started":
        fields = {"journal": "pydaub", "format": FORMAT, **fields}
    body = json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()[:-1]
    crc = zlib.crc32(body, before or 0)
    return b'%s,"crc":"%08x"}\n' % (body, crc), crc


def _opened(line: bytes) -> tuple[bytes, int | None]:
    """Return a line without its checksum, and the checksum."""
    found = SEAL.fullmatch(line, max(0, len(line) - SEAL_LENGTH))
    return (line, None) if found is None else (line[: found.start()], int(found[1], 16))


def _sync(descriptor: int) -> None:
    """Wait until the content is on disk; macOS has no fdatasync."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file survive a power cut, where the folder can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
