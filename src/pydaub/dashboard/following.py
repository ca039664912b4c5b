"""A journal that another process may be writing, followed from its first byte."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from pydaub.errors import PydaubError
from pydaub.runs.account import GOING_ON, Account
from pydaub.runs.journal import MAGIC, Lines, check_format, is_held
from pydaub.views.story import DAMAGED, story, waiting
from pydaub.views.verdict import KILLED
from pydaub.within import Folder

if TYPE_CHECKING:
    from pathlib import Path


class Following:
    """The account of a run that another process may be writing. It only ever reads.

    `generation` counts how often the account began anew, because the journal was cut after a kill or replaced.
    """

    def __init__(self, journal: Path) -> None:
        self.path = journal
        self.generation = 0
        self._identity: tuple[int, int] | None = None
        self._begin()

    def _begin(self) -> None:
        self.account: Account | None = None
        self.trouble = ""  # why the journal cannot be followed any further
        self.unreadable = ""  # why it cannot be read just now
        self._held = False
        self._sent: dict[str, dict[str, Any]] = {}  # learners as the page has them
        self._seen = 0  # lines of the log that it has
        self._read = 0
        self._torn = b""
        self._lines = Lines(self.path)
        self._changed_at = 0.0
        self.generation += 1

    def look(self) -> bool:
        """Read what is new in the journal; return whether anything changed."""
        before, content = (self.unreadable, self._held), b""
        try:
            content = self._unread()
            self.unreadable = ""
        except FileNotFoundError:
            self.unreadable = "The journal is gone." if self._read else ""  # or the run has not begun yet
        except OSError as error:
            self.unreadable = f"{self.path.name} cannot be read: {error.strerror}."
        self._held = is_held(self.path)
        if content and not self.trouble:
            self._take_all(content)
        if self.account is not None:
            self.account.held = self._held
        return bool(content) or before != (self.unreadable, self._held)

    def _unread(self) -> bytes:
        with os.fdopen(Folder(self.path.parent).open(self.path.name), "rb") as file:
            found = os.fstat(file.fileno())
            identity = (found.st_dev, found.st_ino)
            if self._read and (identity != self._identity or found.st_size < self._read):
                self._begin()
            self._identity, self._changed_at = identity, found.st_mtime
            file.seek(self._read)
            return file.read()

    def _take_all(self, content: bytes) -> None:
        if not self._read and content[: len(MAGIC)] != MAGIC[: len(content)]:
            self.trouble = f"{self.path.name} is not a journal of pydaub."
            return
        begins = not self._read
        self._read += len(content)
        *lines, self._torn = (self._torn + content).split(b"\n")
        try:
            if begins:
                check_format(content, self.path)
            for line in lines:
                event = self._lines.event(line)
                if event is None:
                    continue
                if self.account is None:
                    self.account = Account.begun(event)
                else:
                    self.account.take(event)
        except (PydaubError, KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
            self.trouble = f"The journal cannot be followed from here: {error}"

    def snapshot(self) -> dict[str, Any]:
        """Return everything."""
        self._sent, self._seen = {}, 0
        return self.changes()

    def changes(self) -> dict[str, Any]:
        """Return what has changed since the last call."""
        account, trouble = self.account, self.trouble or self.unreadable
        if account is None:
            return waiting(trouble)
        told = story(account, elapsed=self._elapsed(account), seen=self._seen)
        told["header"]["trouble"] = trouble
        if self.trouble and not told["header"]["going"]:
            told["header"]["words"] = DAMAGED
            said = told["header"]["verdict"]
            said["line"] = said["line"].replace(KILLED, "Before the damage: ", 1)
        now = {one["learner"]: one for one in told["learners"]}
        told["learners"] = [one for name, one in now.items() if one != self._sent.get(name)]
        self._sent, self._seen = now, len(account.decisions)
        return told

    def _elapsed(self, account: Account) -> float:
        """Return how long the run has been going on: its own clock, plus the time since it last wrote something."""
        since = max(time.time() - self._changed_at, 0.0) if account.state in GOING_ON else 0.0
        return account.clock + since
