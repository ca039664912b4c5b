"""The examples are run as their pages say; of that in PyTorch, which is not installed here, only the rows are made."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pydaub.learners.commandfile import read_commands

ROOT = Path(__file__).parents[1]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / name, folder / name))


def commands(folder: Path) -> str:
    """Return the commands on the page of an example."""
    return re.findall(r"^```\n(.*?)^```", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)[0]


def done(script: str, folder: Path) -> str:
    """Run commands; return what they print."""
    ended = subprocess.run(
        ["sh", "-ec", script],
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_a_c_program(tmp_path: Path) -> None:
    folder = copied("c", tmp_path)
    out = done(commands(folder), folder)
    selected = re.search(r"^Selected (degree-(7|9|12)): neg_score -0\.12", out, re.MULTILINE)
    assert selected, out
    assert len(list(folder.glob(f"best/commands/{selected[1]}/40000/model.txt"))) == 1


def test_pipelines_and_a_command(tmp_path: Path) -> None:
    folder = copied("mixed", tmp_path)
    out = done(commands(folder), folder)
    assert re.search(r"^Selected near: accuracy", out, re.MULTILINE)
    assert "centroid-awk" in out


def test_the_files_for_pytorch_are_understood(tmp_path: Path) -> None:
    folder = copied("pytorch", tmp_path)
    done("python rows.py --rows 500", folder)
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    assert len(rows) == 500
    assert {len(row["text"]) for row in rows} == {257}
    assert (
        len(read_commands(folder / "small.toml").learners) == len(read_commands(folder / "learners.toml").learners) == 8
    )
    compile((folder / "train.py").read_text(), "train.py", "exec")


def test_each_page_is_short() -> None:
    for page in (ROOT / "examples").glob("*/README.md"):
        assert len([line for line in page.read_text().splitlines() if line.strip()]) <= 15, page
