"""A journal that grows, followed from its first byte: the story so far, and what has changed since one last looked."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from pydaub.errors import PydaubError
from pydaub.records import from_json
from pydaub.runs.journal import MAGIC, is_held
from pydaub.views.story import Story

if TYPE_CHECKING:
    from pathlib import Path


class Following:
    """The story of a run that may be going on in another process. It only ever reads.

    `generation` counts how often the story began anew: the journal was cut after a kill, or is another one.
    """

    def __init__(self, journal: Path, valid_size: int = 0) -> None:
        self.path = journal
        self.valid_size = valid_size
        self.generation = 0
        self._identity: tuple[int, int] | None = None
        self._begin()

    def _begin(self) -> None:
        self.story = Story(self.valid_size)
        self.trouble = ""  # why the journal cannot be followed any further
        self.unreadable = ""  # why it cannot be read just now
        self._statuses: dict[str, str] = {}
        self._read = 0
        self._torn = b""
        self._changed_at = 0.0
        self.generation += 1

    def look(self) -> bool:
        """Take in what the journal holds by now; return whether there was anything new."""
        before = (self.unreadable, self.story.held)
        try:
            content = self._unread()
            self.unreadable = ""
        except FileNotFoundError:
            content = b""
            self.unreadable = "The journal is gone." if self._read else ""  # or the run has not begun yet
        except OSError as error:
            content = b""
            self.unreadable = f"{self.path.name} cannot be read: {error.strerror}."
        self.story.held = is_held(self.path)
        if content and not self.trouble:
            self._take_all(content)
        return bool(content) or before != (self.unreadable, self.story.held)

    def _unread(self) -> bytes:
        with self.path.open("rb") as file:
            found = self.path.stat()
            identity = (found.st_dev, found.st_ino)
            if self._read and (identity != self._identity or found.st_size < self._read):
                self._begin()
            self._identity, self._changed_at = identity, found.st_mtime
            file.seek(self._read)
            return file.read()

    def _take_all(self, content: bytes) -> None:
        if not self._read and content[: len(MAGIC)] != MAGIC[: len(content)]:
            self.trouble = f"{self.path.name} is no journal of pydaub."
            return
        self._read += len(content)
        *lines, self._torn = (self._torn + content).split(b"\n")
        for line in lines:
            try:
                event = from_json(json.loads(line))
                if event is not None:
                    self.story.take(event)
            except (
                PydaubError,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                RecursionError,
                OverflowError,
            ) as error:
                self.trouble = f"The journal cannot be followed from here: {error}"
                return

    def snapshot(self) -> dict[str, Any]:
        """Return everything."""
        self.story.changed.clear()
        self._statuses = self.story.statuses() if self.story.begun else {}
        return self._told(list(self._statuses), 0)

    def changes(self, seen: int) -> dict[str, Any]:
        """Return what has changed; `seen` is how many decisions are known already."""
        statuses = self.story.statuses() if self.story.begun else {}
        changed = self.story.changed | {name for name, status in statuses.items() if status != self._statuses.get(name)}
        self.story.changed.clear()
        self._statuses = statuses
        return self._told([name for name in statuses if name in changed], seen)

    def _told(self, names: list[str], seen: int) -> dict[str, Any]:
        trouble = self.trouble or self.unreadable
        if not self.story.begun:
            return {"header": {"state": "waiting", "trouble": trouble}, "learners": [], "decisions": []}
        claim = self.story.certificate
        return {
            "header": {**self.story.header(), "elapsed": self._elapsed(), "trouble": trouble},
            "learners": [self.story.learner(name, self._statuses[name]) for name in names],
            "decisions": self.story.decisions[seen:],
            "summary": self.story.summary if self.story.over else [],
            "certificate": claim.sentences if claim else [],
            "misbehaved": dict(claim.misbehaved) if claim else {},
        }

    def _elapsed(self) -> float:
        """Return how long the run has been going on: by its own clock, and since it last wrote something."""
        since = max(time.time() - self._changed_at, 0.0) if self.story.state in {"running", "paused"} else 0.0
        return round(self.story.clock + since, 1)
