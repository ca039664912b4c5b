"""A journal that grows, followed from its first byte: the story so far, and what has changed since one last looked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydaub.errors import PydaubError
from pydaub.journal import MAGIC, is_held
from pydaub.records import from_json
from pydaub.story import Story

if TYPE_CHECKING:
    from pathlib import Path


class Following:
    """The story of a run that may be going on in another process. It only ever reads."""

    def __init__(self, journal: Path, valid_size: int = 0) -> None:
        self.path = journal
        self.story = Story(valid_size)
        self.trouble = ""  # why the journal cannot be followed any further
        self._read = 0
        self._torn = b""

    def look(self) -> bool:
        """Take in what the journal holds by now; return whether there was anything new."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._read:  # cut after a kill: then the same events come again
                    self.story, self._read, self._torn = Story(self.story.valid_size), 0, b""
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return False  # the run has not begun yet
        except OSError as error:
            self.trouble = f"{self.path.name} cannot be read: {error.strerror}."
            return True
        if not content or self.trouble:
            return False
        if not self._read and content[: len(MAGIC)] != MAGIC[: len(content)]:
            self.trouble = f"{self.path.name} is no journal of pydaub."
            return True
        self._read += len(content)
        *lines, self._torn = (self._torn + content).split(b"\n")
        for line in lines:
            self._take(line)
        return True

    def _take(self, line: bytes) -> None:
        try:
            event = from_json(json.loads(line))
            if event is not None and not self.trouble:
                self.story.take(event)
        except (PydaubError, KeyError, TypeError, ValueError) as error:
            self.trouble = f"The journal cannot be followed from here: {error}"

    @property
    def begun(self) -> bool:
        """Whether there is a story to tell."""
        return bool(self.story.settings)

    def snapshot(self) -> dict[str, Any]:
        """Return everything."""
        self.story.changed.clear()
        return self._told(list(self.story.strategy.learners) if self.begun else [], 0)

    def changes(self, seen: int) -> dict[str, Any]:
        """Return what has changed; `seen` is how many decisions are known already."""
        changed = sorted(self.story.changed)
        self.story.changed.clear()
        return self._told(changed, seen)

    def _told(self, names: list[str], seen: int) -> dict[str, Any]:
        if not self.begun:
            return {"header": {"state": "waiting", "trouble": self.trouble}, "learners": [], "decisions": []}
        claim = self.story.certificate
        return {
            "header": {**self.story.header(held=is_held(self.path)), "trouble": self.trouble},
            "learners": [self.story.learner(name) for name in names],
            "decisions": self.story.decisions[seen:],
            "certificate": claim.sentences if claim else [],
            "misbehaved": dict(claim.misbehaved) if claim else {},
        }
