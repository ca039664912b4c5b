"""`pydaub steer`: a person's word in a run that is going on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated, Final

import typer

from pydaub.cli.app import app
from pydaub.errors import InputError
from pydaub.records import COMMANDS, Selected
from pydaub.runs.journal import JOURNAL, is_held, read
from pydaub.runs.steering import STEERING, Mailbox
from pydaub.views.terminal import console, print_lines

Command = StrEnum("Command", [(name, name) for name in COMMANDS])  # type: ignore[misc]  # one list for all

PATIENCE: Final = 10.0  # seconds to wait for the run's answer
DONE: Final = {
    "pause": "Paused: what is running ends, and nothing new begins. `pydaub steer {run} resume` goes on.",
    "resume": "Going on.",
    "stop": "Stopped: the best so far is handed over. `pydaub resume {run}` goes on after all.",
    "drop": "{learner} is out of the race. `pydaub steer {run} restore {learner}` brings it back.",
    "restore": "{learner} is back in the race.",
    "boost": "{learner} gets its next size before all others.",
    "add": "{learner} has joined the race.",
}


@app.command()
def steer(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that is going on.")],
    command: Annotated[Command, typer.Argument(help="What it should do.")],
    learner: Annotated[str | None, typer.Argument(help="Which learner to drop, restore, boost or add.")] = None,
) -> None:
    """Pause, resume or stop a run that is going on; drop a learner, restore, boost or add one.

    A dropped learner's training is ended at once. Each command is in the journal: what was dropped, restored, boosted
    or added stays so when the run is resumed later, while a pause ends with the process. Without the run's consent
    nothing changes: it answers, or says why not.
    """
    journal = folder / JOURNAL
    if not journal.is_file():
        raise InputError(
            f"{folder} must be the folder of a run, got {'one without a' if folder.is_dir() else 'no'} journal."
        )
    if not is_held(journal):
        if any(isinstance(event, Selected) for event in read(journal)):
            raise InputError(f"{folder} must be a run that is going on, got one that has finished.")
        raise InputError(f"{folder} must be a run that is going on, got one that is not. Go on: pydaub resume {folder}")
    mailbox = Mailbox(folder / STEERING)
    key = mailbox.send(command.value, learner)
    if mailbox.answer_to(key, PATIENCE):
        said = DONE[command.value].format(run=folder, learner=learner)
    else:
        said = f"The run has not answered within {PATIENCE:.0f} s; it will do so when it next looks."
    print_lines(console(), [said])
