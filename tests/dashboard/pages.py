"""A small finished run, and the page of a run served by another process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.commands import call, numbers, written
from pydaub.cli.watch import check_dashboard
from pydaub.errors import InputError

try:
    check_dashboard()
    MISSING = ""
except InputError as error:
    MISSING = str(error)
needs_dashboard = pytest.mark.skipif(bool(MISSING), reason=MISSING)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page(NamedTuple):
    """The address of a served page, and its parts."""

    address: str
    base: str
    token: str
    process: subprocess.Popen[str]

    @property
    def keys(self) -> dict[str, str]:
        """The header that opens everything."""
        return {"X-Token": self.token}


@contextmanager
def watched(folder: Path, *options: str) -> Iterator[Page]:
    """Serve the page of a run while the context is open."""
    command = [sys.executable, "-m", "pydaub", "watch", str(folder), "--no-browser", *(options or ["--port", "0"])]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"(http://[^/]+)/#token=(\S+)", line := process.stderr.readline())
        assert found, line + process.stderr.read()
        yield Page(found[0], found[1], found[2], process)
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


def finished(folder: Path, learners: str = "tree,knn-5,naive-bayes-gaussian") -> Path:
    """Do a run and return its folder."""
    data = written(numbers(), folder / "data.csv")
    done = call(
        "run", data, "--target", "label", "--learners", learners, "--out", folder / "run", "--jobs", 1, "--quiet"
    )
    assert done.code == 0, done.err
    return folder / "run"
