"""Commands that a person leaves in the folder of a run: pause, resume, stop, drop, restore, boost, retry, add.

Each command is a file that appears atomically. The run looks for new ones between outcomes and while it waits, carries
them out, journals them, and leaves an answer.
"""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pydaub.errors import InputError
from pydaub.events import Steered
from pydaub.within import Folder

if TYPE_CHECKING:
    from pathlib import Path

STEERING: Final = "steering"  # subfolder of the run for commands and answers
POLL_SECONDS: Final = 0.2  # how often the run looks for commands, and a sender for the answer
COMMAND: Final = ".command"
ANSWER: Final = ".answer"


class Mailbox:
    """The folder for commands and answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._inside = Folder(folder.parent, folder.name)

    def send(self, command: str, learner: str | None = None) -> str:
        """Leave a command; return the key of its answer."""
        Steered(command, learner, 0.0)  # rejects anything that is not a command
        key = f"{time.time_ns():020}-{uuid4().hex[:8]}"  # so that names sort by time
        try:
            self._inside.make()
            self._put(f"{key}{COMMAND}", {"command": command, "learner": learner})
        except OSError as error:
            raise InputError(f"Cannot leave a command in {self.folder}: {error.strerror}.") from None
        return key

    def answer_to(self, key: str, timeout: float) -> bool:
        """Wait for the answer. Return True if the run obeyed, False if there is no answer yet; raise if it refused."""
        name, deadline = f"{key}{ANSWER}", time.monotonic() + timeout
        while not self._inside.has(name):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS / 4)
        refused = json.loads(self._inside.read(name))["refused"]
        self._inside.remove(name)
        if refused:
            raise InputError(refused)
        return True

    def take(self) -> dict[str, Steered]:
        """Remove and return the commands by the keys of their answers, oldest first; delete what is no command."""
        found = {}
        for name in self._inside.names():
            if not name.endswith(COMMAND):
                continue
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                fields = json.loads(self._inside.read(name))
                found[name.removesuffix(COMMAND)] = Steered(fields["command"], fields["learner"], 0.0)
            with suppress(OSError):
                self._inside.remove(name)
        return found

    def answer(self, key: str, refused: str | None = None) -> None:
        """Answer a command: the run obeyed, or refused it for this reason."""
        with suppress(OSError):  # a full disk or a missing folder must not stop the run
            self._put(f"{key}{ANSWER}", {"refused": refused})

    def clear(self) -> None:
        """Delete everything: commands to a run that has ended are not for the next one."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _put(self, name: str, fields: dict[str, str | None]) -> None:
        self._inside.write(name, json.dumps(fields).encode())
