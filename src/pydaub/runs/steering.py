"""Commands that a person leaves in the folder of a run: pause, resume, stop, drop, restore, boost, add.

A command is a file of its own, there whole or not at all. The run looks for new ones between two outcomes and while
it waits for one, does what they say, journals it, and leaves an answer. The run needs nobody who steers.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from pydaub.errors import InputError
from pydaub.records import Steered

STEERING: Final = "steering"  # the folder of a run in which commands are left
POLL_SECONDS: Final = 0.2  # how often a run looks, and who waits for its answer
COMMAND: Final = ".command"
ANSWER: Final = ".answer"


@dataclass(frozen=True, slots=True)
class Letter:
    """A command as it was found: `key` says which answer is for it."""

    key: str
    command: str
    learner: str | None


class Mailbox:
    """The folder in which commands and answers lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def send(self, command: str, learner: str | None = None) -> str:
        """Leave a command and return the key of its answer."""
        Steered(command, learner, 0.0)  # refuses what is none
        key = f"{time.time_ns():020}-{uuid4().hex[:8]}"  # so that names sort by time
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._put(f"{key}{COMMAND}", {"command": command, "learner": learner})
        except OSError as error:
            raise InputError(f"{self.folder} must be a folder that can be written, got {error.strerror}.") from None
        return key

    def answer_to(self, key: str, timeout: float) -> bool:
        """Wait for the answer: True if the run has obeyed, False if there is none yet; raises if it refused."""
        path, deadline = self.folder / f"{key}{ANSWER}", time.monotonic() + timeout
        while not path.exists():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS / 4)
        refused = json.loads(path.read_text())["refused"]
        path.unlink(missing_ok=True)
        if refused:
            raise InputError(refused)
        return True

    def take(self) -> list[Letter]:
        """Return the commands that have come, the oldest first; what is no command is thrown away."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder) if entry.name.endswith(COMMAND))
        except OSError:
            return []  # nobody has ever steered
        found = []
        for name in names:
            path = self.folder / name
            with suppress(OSError, ValueError, KeyError, TypeError):
                fields = json.loads(path.read_text())
                Steered(fields["command"], fields["learner"], 0.0)
                found.append(Letter(name.removesuffix(COMMAND), fields["command"], fields["learner"]))
            with suppress(OSError):
                path.unlink()
        return found

    def answer(self, letter: Letter, refused: str | None = None) -> None:
        """Tell whoever sent it that the run has obeyed, or why not."""
        with suppress(OSError):  # the disk is full, or the folder gone: the run goes on
            self._put(f"{letter.key}{ANSWER}", {"refused": refused})

    def clear(self) -> None:
        """Throw away what lies there: commands to a run that has ended are not for the next one."""
        with suppress(OSError):
            for entry in os.scandir(self.folder):
                Path(entry.path).unlink()

    def _put(self, name: str, fields: dict[str, str | None]) -> None:
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(fields))
        part.rename(self.folder / name)
