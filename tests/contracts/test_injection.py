"""Whole runs with faults; `python tests/injection.py` tries many more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.commands import call
from injection import Fault, Trial, called, representative

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="faults are placed by /proc")
ROOM = "20m"


@needs_proc
@pytest.mark.slow("processes")
def test_a_run_survives_what_happens_to_it(tmp_path: Path) -> None:
    """A kill in the middle of a line of the journal; a disk that fills up. `injection.py` tries more, by hand."""
    trial = Trial(tmp_path, workers=2)
    operations = trial.operations()
    journal = [number for number, what in operations if what == "write /journal.jsonl"]
    rows = next(number for number, what in operations if what == "os.rename /data")
    assert trial.check(Fault("kill", journal[len(journal) // 2])).startswith("-9")
    assert "No space left on device" in trial.check(Fault("full", rows))


@needs_proc
@pytest.mark.slow("processes")
def test_a_preparation_survives_what_happens_to_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "prepare")
    for number in representative(trial.operations(), 1):
        assert trial.check(Fault("kill", number)).startswith("-9")
    assert trial.check(Fault("clock")).startswith("0")


@needs_proc
def test_what_a_run_writes_survives_a_kill_at_each_write(tmp_path: Path) -> None:
    """Journal, results, notes, commands, the record of the page, prepared rows: `killed.py` says what must hold."""
    killed = Path(__file__).parents[1] / "killed.py"
    done = subprocess.run([sys.executable, killed, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50, "kills"


def test_operations_of_many_kinds_are_chosen() -> None:
    operations = [*enumerate(["open /x.123", "write /x.124", "write /x.125", "os.rename /y", "write /z"], start=1)]
    assert representative(operations, 9) == [1, 2, 4, 5]
    assert representative(operations, 2) == [1, 4]


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a file system of this size; skip the test where that is not allowed."""
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@needs_proc
@pytest.mark.slow("processes")
@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
def test_a_full_disk_stops_every_command_with_its_reason_and_blames_no_learner(tmp_path: Path) -> None:
    """A file system that is really full: some of the writes are of C code, which no injection reaches."""
    trial = Trial(tmp_path)
    with small_disk(tmp_path / "disk", "76k") as disk:
        begin = ["run", trial.data, *trial.options, "--out", disk / "run", "--quiet", "--json"]
        stopped = called(*begin)
        assert (stopped.code, stopped.out) == (1, ""), stopped
        assert "No space left on device" in stopped.err.splitlines()[-1]
        subprocess.run(["mount", "-o", f"remount,size={ROOM}", disk], check=True)
        done = called("resume", disk / "run", "--quiet", "--json")
        assert trial.facts(disk / "run", done) == trial.expected
    with small_disk(tmp_path / "full", "4k") as disk:
        run = tmp_path / "whole"
        assert called("run", trial.data, *trial.options, "--out", run, "--quiet").code == 0
        (disk / "file").write_bytes(b"x" * 4096)
        for command in (
            ["report", run, "--out", disk / "report.html"],
            ["plot", run, "--formats", "svg", "--out", disk],
            ["predict", run, trial.data, "--out", disk / "predicted.csv"],
            ["prepare", trial.data, "--target", "label", "--out", disk / "prepared", "--quiet"],
        ):
            told = call(*command)
            assert (told.code, told.out) == (1, ""), (command, told)
            assert "No space left on device" in told.err
            assert [path.name for path in disk.iterdir()] == ["file"], "nothing is left half-written"
