"""The page's process: it starts with a run, can die without harming it, and refuses addresses it cannot use."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import pytest

from cli.commands import call, gated, numbers, refused, started, wait_until, written
from dashboard.pages import needs_dashboard
from pydaub.runs.journal import is_held

httpx = pytest.importorskip("httpx", reason="needs httpx to ask the page")
pytestmark = needs_dashboard


def pages_of(folder: Path) -> list[int]:
    """Return the processes that serve the page of this run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_text().split("\0")
        except OSError:
            continue
        if "watch" in command and str(folder) in command:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.slow("processes")
def test_a_run_goes_on_when_its_page_is_killed(tmp_path: Path) -> None:
    data, folder = written(numbers(), tmp_path / "data.csv"), tmp_path / "run"
    (tmp_path / "gate").touch()
    mine = gated(tmp_path / "mine.py", tmp_path / "gate", 100)
    options = ["--target", "label", "--learners", mine, "--out", folder, "--jobs", 1, "--quiet", "--dashboard"]
    with started("run", data, *options, env={**os.environ, "BROWSER": "true"}) as process:
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stderr.readline())
        assert address
        assert httpx.get(address[0]).status_code == 200
        (page,) = pages_of(folder)
        os.kill(page, signal.SIGKILL)
        wait_until(lambda: not pages_of(folder))
        assert process.poll() is None
        assert is_held(folder / "journal.jsonl")
        (tmp_path / "gate").unlink()
        assert process.wait() == 0
    assert "Selected" in call("show", folder).out


def test_addresses_that_cannot_be_used_are_refused(finished_run: Path, tmp_path: Path) -> None:
    folder = finished_run
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert "Cannot listen on" in refused("watch", folder, "--no-browser", "--port", port)
    assert "must be from 0 to 65535" in refused("watch", folder, "--no-browser", "--port", 70_000)
    assert "Cannot listen on" in refused("watch", folder, "--no-browser", "--host", "192.0.2.1")
    for nothing in ("", " "):  # as from a variable that is not set
        assert "`--host` must be an address, got" in refused("watch", folder, "--no-browser", "--host", nothing)
    assert "must be the folder of a run" in refused("watch", tmp_path / "no", "--no-browser")
