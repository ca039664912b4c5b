"""`pydaub steer`: send a command to a run that is going on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from pydaub.cli import completion
from pydaub.cli.app import app
from pydaub.errors import InputError
from pydaub.events import COMMANDS
from pydaub.runs import JOURNAL
from pydaub.runs.account import Account
from pydaub.runs.journal import is_held, read
from pydaub.runs.steering import STEERING, Mailbox
from pydaub.views.terminal import console, print_lines
from pydaub.within import Folder

Command = StrEnum("Command", [(name, name) for name in COMMANDS])  # type: ignore[misc]  # mypy wants a literal list

PATIENCE: Final = 10.0  # seconds to wait for the run's answer
DONE: Final = {
    "pause": "Paused. Evaluations that are running finish; nothing new starts. `pydaub steer {run} resume` continues.",
    "resume": "Resumed.",
    "stop": "Stopped with the best learner so far. `pydaub resume {run}` continues the run.",
    "drop": "Dropped {learner}. `pydaub steer {run} restore {learner}` brings it back.",
    "restore": "Restored {learner}.",
    "boost": "Boosted {learner}: its next size comes before all others.",
    "retry": "{learner} gets another chance.",
    "add": "Added {learner}; it starts with the first size.",
}


@app.command()
def steer(
    folder: Annotated[Path, typer.Argument(help="Folder of a run that is going on.", autocompletion=completion.runs)],
    command: Annotated[Command, typer.Argument(help="What the run should do.")],
    learner: Annotated[
        str | None,
        typer.Argument(
            help="The learner to drop, restore, boost, retry or add.", autocompletion=completion.learners_of_run
        ),
    ] = None,
) -> None:
    """Pause, resume or stop a run that is going on; drop, restore, boost, retry or add a learner.

    The run answers that it has carried out the command, or why it cannot. Dropping a learner also stops its training.
    Commands are journalled, so a run that is killed and resumed keeps them; only a pause ends with the process.
    """
    journal = folder / JOURNAL
    if not Folder(folder).has(JOURNAL):
        raise InputError(
            f"{folder} must be the folder of a run, got {'one without a journal' if folder.is_dir() else 'no folder'}."
        )
    if not is_held(journal):
        if Account.of(read(journal)).state == "finished":
            raise InputError(f"{folder} must be a run that is going on, got one that has finished.")
        raise InputError(
            f"{folder} must be a run that is going on, got one that is not. `pydaub resume {folder}` continues it."
        )
    mailbox = Mailbox(folder / STEERING)
    key = mailbox.send(command.value, learner)
    if mailbox.answer_to(key, PATIENCE):
        said = DONE[command.value].format(run=folder, learner=learner)
    else:
        said = (
            f"The run has not answered within {PATIENCE:.0f} s. It carries out the command as soon as it is free,"
            " unless it is killed before."
        )
    print_lines(console(), [said])
