from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from cli.commands import Finished, call, refused
from pydaub.runs import JOURNAL
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import Journal

OLD = 40 * 86_400  # seconds


def aged(run: Path, seconds: float = OLD) -> Path:
    for name in ("run.json", JOURNAL):
        if (run / name).exists():
            os.utime(run / name, (time.time() - seconds,) * 2)
    return run


@pytest.fixture
def runs(finished: Finished, tmp_path: Path) -> Path:
    """An old and a new run."""
    for name, age in (("old", OLD), ("new", 100.0)):
        aged(Path(shutil.copytree(finished.folder, tmp_path / "runs" / name)), age)
    return tmp_path / "runs"


def left(runs: Path) -> set[str]:
    return {path.name for path in runs.iterdir()}


def deleted(*arguments: object) -> set[str]:
    return {Path(run["run"]).name for run in call("clean", *arguments, "--json").json["runs"] if run["deleted"]}


def test_old_runs_are_listed_and_deleted_only_with_yes(runs: Path) -> None:
    listed = call("clean", runs)
    assert "1 run, " in listed.out
    assert "would be deleted. Nothing was" in listed.out
    assert left(runs) == {"old", "new"}
    assert deleted(runs) == set()
    assert deleted(runs, "--yes") == {"old"}
    assert left(runs) == {"new"}
    assert deleted(runs, "--yes", "--older-than", "10s", "--keep", "1") == set()
    assert deleted(runs, "--yes", "--older-than", "10s") == {"new"}
    assert call("clean", runs).out == "There are no runs.\n"


def test_what_every_command_leaves_is_deleted_too(runs: Path) -> None:
    run = runs / "old"
    for command in (("report", run), ("export", run, "--to", "curves"), ("plot", run, "--formats", "png")):
        assert call(*command).code == 0
    for part in (".model.123", "notes.txt.part", ".result.json.7"):
        (run / part).touch()
    aged(run)
    assert deleted(run, "--yes") == {"old"}


def test_a_run_that_is_going_on_is_kept(runs: Path) -> None:
    with Journal(runs / "old" / JOURNAL, RunFolder(runs / "old").begun()):
        aged(runs / "old")
        found = call("clean", runs, "--yes", "--older-than", "1s", "--json").json["runs"]
    assert {Path(run["run"]).name: run["kept"] for run in found} == {"old": "it is going on", "new": None}
    assert left(runs) == {"old"}


def test_what_is_no_run_is_kept(runs: Path, tmp_path: Path) -> None:
    shutil.move(runs / "old", tmp_path / "elsewhere")
    (runs / "link").symlink_to(tmp_path / "elsewhere")
    (runs / "folder").mkdir()
    (runs / "file").touch()
    (runs / "new" / "data").rename(tmp_path / "rows")
    (runs / "new" / "data").symlink_to(tmp_path / "rows")
    assert deleted(runs, "--yes", "--older-than", "1s") == {"new"}
    assert left(runs) == {"link", "folder", "file"}
    assert any((tmp_path / "rows").iterdir()), "links are not followed"
    assert (tmp_path / "elsewhere" / JOURNAL).exists()


@pytest.mark.parametrize(
    ("spoil", "kept"),
    [
        (lambda run: (run / "mine.txt").touch(), "mine.txt in it is not pydaub's"),
        (
            lambda run: ((run / "plots").mkdir(), (run / "plots" / "mine.png").touch()),
            "plots/mine.png in it is not pydaub's",
        ),
        (lambda run: (run / "data" / "thesis.txt").touch(), "data/thesis.txt in it is not pydaub's"),
        (lambda run: (run / "train.npy").touch(), "train.npy in it is not pydaub's"),
        (lambda run: (run / "data" / "train.csv").touch(), "data/train.csv in it is not pydaub's"),
        (lambda run: (run / "learned" / "deep").mkdir(), "learned/deep in it is not pydaub's"),
        (lambda run: (run / "run.json").write_text("{"), "it is damaged: look at it, and remove it yourself"),
        (lambda run: (run / JOURNAL).write_text("?"), "it is damaged: look at it, and remove it yourself"),
    ],
)
def test_doubtful_folders_are_kept(runs: Path, spoil: object, kept: str) -> None:
    (runs / "old" / "result.json").unlink()
    spoil(runs / "old")  # type: ignore[operator]  # one of the functions above
    aged(runs / "old")
    found = {Path(run["run"]).name: run for run in call("clean", runs, "--yes", "--json").json["runs"]}
    assert found["old"]["kept"] == kept
    assert left(runs) == {"old", "new"}


def test_a_run_without_a_journal_is_kept_while_it_may_be_about_to_start(runs: Path) -> None:
    for name in ("old", "new"):
        (runs / name / JOURNAL).unlink()
    assert deleted(runs, "--yes", "--older-than", "1s") == {"old"}


def test_nonsense_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs)
    (tmp_path / "file").touch()
    assert "must be a folder of runs, got nothing there" in refused("clean", tmp_path / "nowhere")
    assert "must be a folder of runs, got a file" in refused("clean", tmp_path / "file")
    assert "must be a folder of runs, got a link" in refused("clean", tmp_path / "link", "--yes")
    assert "`--older-than` must be a time" in refused("clean", runs, "--older-than", "soon", "--yes")
    assert "`--older-than` must be more than 0" in refused("clean", runs, "--older-than", "0", "--yes")
    assert "`--keep` must be 0 or more, got -1." in refused("clean", runs, "--keep", "-1", "--yes")
    assert left(runs) == {"old", "new"}
