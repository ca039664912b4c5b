"""The tests of Ray that matter most, in a process of their own, since Ray and a JVM cannot share one; `make test-ray`
runs the rest too."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from faults import wait_until
from ray_here import APART, MISSING

FILE = Path(__file__).with_name("test_ray.py")
CHOSEN = (
    "test_the_answer_is_that_of_one_process_however_many_nodes_there_are",
    "test_what_is_killed_costs_what_it_was_running_which_is_tried_again",
    "test_cancelling_ends_what_is_running_and_so_does_closing",
)
ENOUGH = 900.0  # seconds: some ten times what they take


@pytest.mark.skipif(MISSING, reason="needs Ray: pip install 'pydaub[ray]'")
@pytest.mark.skipif(APART in os.environ, reason="the tests of Ray run in this process already")
def test_ray_on_a_real_cluster(tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RAY_"))}
    said = tmp_path / "said"  # a file: a pipe would be held open by whatever Ray leaves behind
    with said.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"{FILE}::{name}" for name in CHOSEN)],
            cwd=FILE.parents[2],
            env={**surroundings, APART: mark},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            process.wait(ENOUGH)
        finally:
            process.kill()
            process.wait()
            left = _ended(mark)
    tail = "\n".join(said.read_text(errors="replace").splitlines()[-100:])
    assert process.returncode == 0, tail
    assert not left, f"these were left, and have been ended: {left}\n{tail}"


def _ended(mark: str) -> list[str]:
    """Wait for all that was started there to go, and end what does not; return what that was."""
    with suppress(AssertionError):
        wait_until(lambda: not _marked(mark))
    left = _marked(mark)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"{pid} {name}" for pid, name in left.items()]


def _marked(mark: str) -> dict[int, str]:
    """Return the processes in whose surroundings a mark is, by their number, and what they are."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # somebody else's, or gone
            if f"{APART}={mark}".encode() in (place / "environ").read_bytes():
                found[int(place.name)] = (place / "comm").read_text().strip()
    return found
