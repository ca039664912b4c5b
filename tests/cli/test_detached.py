"""Runs in the background: one line when they are up, a list of them, and waiting for one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from cli.commands import PATIENCE, SCHEMA, alive, call, environment, evaluated, gated, numbers, wait_until, written


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pydaub", *map(str, arguments)],
        check=False,
        capture_output=True,
        env=environment(),
        text=True,
        timeout=PATIENCE,
    )


def valid(kind: str, line: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(line)
    jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{kind}"}).validate(found)
    return found


@pytest.mark.slow("processes")
def test_a_run_is_left_in_the_background_listed_and_waited_for(tmp_path: Path) -> None:
    data, gate, folder = written(numbers(300), tmp_path / "data.csv"), tmp_path / "gate", tmp_path / "run"
    gate.touch()
    mine = gated(tmp_path / "mine.py", gate, 100)
    given = (data, "--target", "label", "--learners", mine, "--jobs", 1, "--out", folder, "--strategy", "full")
    done = command("run", *given, "--detach", "--dashboard")
    assert done.returncode == 0, done.stderr
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    launched = valid("launched", done.stdout)
    assert launched["folder"] == str(folder.resolve())
    assert str(launched["page"]).startswith("http://127.0.0.1:")
    wait_until(lambda: evaluated(folder) >= 1)
    (own,) = [each for each in json.loads(call("ps", "--json").out) if each["folder"] == str(folder.resolve())]
    assert (own["pid"], own["state"], own["page"]) == (launched["pid"], "running", launched["page"])
    assert str(folder) in call("ps").out.replace("\n", "")
    gate.unlink()
    waited = command("wait", folder)
    assert waited.returncode == 0, waited.stderr
    assert (waited.stdout.count("\n"), waited.stderr) == (1, "")
    assert valid("wait", waited.stdout)["state"] == "finished"
    wait_until(lambda: not alive({int(str(launched["pid"]))}))
    assert "Selected" in (folder / "output.txt").read_text()
    assert not [each for each in json.loads(call("ps", "--json").out) if each["folder"] == str(folder.resolve())]


@pytest.mark.slow("processes")
def test_waiting_for_a_run_that_is_killed_ends_with_1(tmp_path: Path) -> None:
    data, gate, folder = written(numbers(300), tmp_path / "data.csv"), tmp_path / "gate", tmp_path / "run"
    gate.touch()
    given = (data, "--target", "label", "--learners", gated(tmp_path / "mine.py", gate, 1), "--out", folder)
    launched = valid("launched", command("run", *given, "--jobs", 2, "--detach").stdout)
    os.kill(int(str(launched["pid"])), signal.SIGKILL)
    waited = command("wait", folder)
    assert waited.returncode == 1
    assert valid("wait", waited.stdout)["state"] == "killed"


def test_a_run_that_cannot_begin_says_so_as_without_detaching(tmp_path: Path) -> None:
    without, done = (command("run", tmp_path / "no.csv", *more) for more in ([], ["--detach"]))
    assert (
        (done.returncode, done.stdout, done.stderr) == (without.returncode, "", without.stderr) == (2, "", done.stderr)
    )


def test_waiting_for_what_is_no_run_is_refused(tmp_path: Path) -> None:
    assert call("wait", tmp_path).code == 2
