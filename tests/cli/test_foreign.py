"""The folder of a run that somebody else has filled: what it holds leads nowhere else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.commands import CHEAP, Finished, call, refused
from fuzz.rule import content
from pydaub.dashboard.address import Record
from pydaub.engines.processes import NOTE
from pydaub.runs import ABOUT, JOURNAL

WORD = "this-is-private"
# What a run reads or writes, there already or not.
NAMES = (
    *(ABOUT, JOURNAL, NOTE, "schema.json", "result.json", "model.skops", "model.json", "page.json", "notes.txt"),
    *("report.html", "plots", "curves.csv", "steering", "learners", "learned", "fitted", "predicted", "task.pkl"),
)
COMMANDS = {
    "show": (),
    "report": (),
    "plot": ("--formats", "svg"),
    "advise": (),
    "predict": ("DATA",),
    "export": ("--to", "curves"),
    "resume": ("--quiet",),
}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A person's files, outside of the run."""
    place = tmp_path / "private"
    place.mkdir()
    for name in ("file", "figure1.svg", "x.command", "tree.pkl"):
        (place / name).write_text(WORD)
    return place


@pytest.fixture
def copied(finished: Finished, tmp_path: Path) -> Path:
    """A run that somebody else has made."""
    return Path(shutil.copytree(finished.folder, tmp_path / "copied"))


def linked(path: Path, private: Path) -> None:
    """Put a link there, instead of what was there."""
    folder = path.is_dir() or path.name in {"plots", "steering"}
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(private if folder else private / "file", target_is_directory=folder)


@pytest.mark.parametrize("name", NAMES)
def test_no_command_follows_a_link(name: str, finished: Finished, copied: Path, private: Path) -> None:
    linked(copied / name, private)
    before, outside = content(copied), content(private)
    for command, more in COMMANDS.items():
        line = refused(command, copied, *(finished.data if each == "DATA" else each for each in more))
        assert f"{copied / name} must be a " in line
        assert "got a link" in line or name == ABOUT
        assert WORD not in line
    assert (content(copied), content(private)) == (before, outside)
    assert (copied / name).is_symlink()


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("plots/figure1.svg", "plot"),
        ("learners/x.pkl", "resume"),
        ("fitted/x.pkl", "resume"),
        ("data/prepared.json", "resume"),
        ("data/train.rows.npy", "resume"),
    ],
)
def test_links_further_down_are_not_followed(place: str, command: str, copied: Path, private: Path) -> None:
    path = copied / place
    path.parent.mkdir(exist_ok=True)
    linked(path, private)
    outside = content(private)
    line = refused(command, copied, *COMMANDS[command])
    assert "a link, which could lead anywhere" in line
    assert WORD not in line
    assert content(private) == outside


@pytest.mark.parametrize("name", ["notes.txt", NOTE, JOURNAL, "page.json", "report.html", "result.json"])
def test_other_names_of_a_persons_file_change_and_show_nothing(name: str, copied: Path, private: Path) -> None:
    """An archive can unpack hard links to files beside it."""
    path = private / "file"
    if name == JOURNAL:
        path.write_bytes((copied / JOURNAL).read_bytes())
    path.chmod(0o600)
    (copied / name).unlink(missing_ok=True)
    (copied / name).hardlink_to(path)
    before = path.read_bytes()
    assert call("report", copied).code == 0
    assert call("resume", copied, "--quiet").code == (2 if name == JOURNAL else 0)
    Record(copied).keep("http://127.0.0.1:1234/", 1234)
    assert path.read_bytes() == before
    assert WORD not in (copied / "report.html").read_text()


def test_a_run_is_reached_through_a_link(finished: Finished, copied: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(copied)
    for command, more in COMMANDS.items():
        done = call(command, tmp_path / "link", *(finished.data if each == "DATA" else each for each in more))
        assert done.code == 0, done.err
    assert (copied / "report.html").is_file()


def test_rows_that_were_prepared_elsewhere_may_be_linked(finished: Finished, tmp_path: Path) -> None:
    """So that they need not be copied."""
    rows, run = tmp_path / "rows", tmp_path / "run"
    assert call("prepare", finished.data, "--target", "label", "--out", rows).code == 0
    assert call("run", rows, "--learners", CHEAP, "--out", run, "--quiet").code == 0
    assert (run / "data").is_symlink()
    assert call("show", run).code == call("resume", run, "--quiet").code == 0


def test_files_of_the_rows_are_named_within_their_folder(copied: Path) -> None:
    about = copied / "data" / "prepared.json"
    fields = json.loads(about.read_text())
    fields.pop("crc")
    fields["files"]["../../copied/run.json"] = {"bytes": len(WORD), "crc": "00000000"}
    about.write_text(json.dumps(fields))
    assert "within the folder" in refused("resume", copied, "--quiet")
