"""Notes that a person keeps on a run: a text file in its folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from pydaub.errors import InputError
from pydaub.within import Folder

if TYPE_CHECKING:
    from pathlib import Path

NOTES: Final = "notes.txt"
LONGEST: Final = 20_000  # characters


def notes(folder: Path) -> str:
    """Return the notes on a run; empty if there are none, or if the file is also one of somebody else."""
    try:
        with os.fdopen(Folder(folder).open(NOTES, alone=True), encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except OSError:
        return ""


def keep_notes(folder: Path, text: str, before: str) -> None:
    """Replace the notes, which must still be those that were there `before`: another person may have changed them."""
    if len(text) > LONGEST:
        raise InputError(f"Notes must have at most {LONGEST:,} characters, got {len(text):,}.")
    if notes(folder) != before:
        raise InputError("The notes have been changed elsewhere meanwhile. Copy yours, and open them again.")
    try:
        Folder(folder).write(NOTES, text.encode(errors="replace"))
    except OSError as error:
        raise InputError(f"Cannot write {folder / NOTES}: {error.strerror}.") from None
