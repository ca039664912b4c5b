"""Notes on a run: they are kept as they were written, and never overwrite those of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pydaub.errors import InputError
from pydaub.runs.notes import LONGEST, keep_notes, notes


@pytest.mark.parametrize(
    "text", ["", "tried with fewer rows\n", "Größe\n\n\t\u05d0\u202e", "<b>\x00\x1b[31m", "x" * LONGEST]
)
def test_notes_are_kept_as_they_were_written(text: str, tmp_path: Path) -> None:
    assert notes(tmp_path) == ""
    keep_notes(tmp_path, text, "")
    assert notes(tmp_path) == text
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_notes_that_were_changed_meanwhile_are_not_overwritten(tmp_path: Path) -> None:
    keep_notes(tmp_path, "mine", "")
    with pytest.raises(InputError, match="changed elsewhere"):
        keep_notes(tmp_path, "yours", "")
    assert notes(tmp_path) == "mine"
    keep_notes(tmp_path, "ours", "mine")
    assert notes(tmp_path) == "ours"


def test_notes_that_are_too_long_or_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must have at most 20,000 characters, got 20,001"):
        keep_notes(tmp_path, "x" * (LONGEST + 1), "")
    with pytest.raises(InputError, match="Cannot write"):
        keep_notes(tmp_path / "missing", "x", "")
