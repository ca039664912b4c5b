"""The tests of Ray, in a process of their own: Ray and a JVM do not go together in one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ray_here import APART, MISSING

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(MISSING, reason="needs Ray: pip install 'pydaub[ray]'")
def test_the_tests_of_ray_pass(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    files = ["tests/engines/test_ray.py", "tests/contracts/test_engines.py"]
    options = ["-q", "-k", "ray", "--basetemp", str(tmp_path / "apart"), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *files, *options],
        cwd=ROOT,
        env={**environment, APART: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout.splitlines()[-1]
    assert " passed" in done.stdout
