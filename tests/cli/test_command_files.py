"""`pydaub run` and `check` with a file of commands, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli.commands import PATIENCE, call, environment, evaluated, refused, wait_until

TRAIN = """
import json, os, sys, time
name, size, offset = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with open("calls", "a") as file:
    file.write(f"begin {name} {size}\\n")
time.sleep(float(os.environ.get("PAUSE", "0")))
rows = open(sys.argv[4]).read().split()
assert len(rows) == size
with open("calls", "a") as file:
    file.write(f"end {name} {size}\\n")
print(json.dumps({"score": offset + 1 / size}))
"""
LEARNERS = f"""
score = "minimize"
sizes = {{ first = 10, ratio = 2 }}
[learner."net-{{offset}}"]
command = "{sys.executable} train.py {{learner}} {{size}} {{offset}} {{rows}}"
offset = [0.5, 0.1, 0.3]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "learners.toml").write_text(LEARNERS)
    (tmp_path / "train.jsonl").write_text("".join(f"{number}\n" for number in range(80)))
    return tmp_path


def arguments(folder: Path, *more: object) -> list[str]:
    given = (folder / "learners.toml", "--rows", folder / "train.jsonl", "--jobs", "2", "--out", folder / "run")
    return ["run", *map(str, (*given, *more))]


def test_a_file_of_commands_is_run_and_shown(folder: Path) -> None:
    done = call(*arguments(folder), "--json")
    assert done.json["selected"] == "net-0.1"
    assert Path(done.json["model"]).is_dir()
    assert done.json["every_row"] == "every-row.sh"
    assert call("show", folder / "run", "--json").json["model"] == done.json["model"]
    again = call("predict", folder / "run", folder / "train.jsonl")
    assert again.code == 2
    assert "is a command. Its model is in" in again.err


def test_the_run_says_what_it_hands_over(folder: Path) -> None:
    done = call(*arguments(folder, "--quiet"))
    assert done.code == 0
    assert "the model, trained on 80 rows, is in" in done.out
    assert "every-row.sh` trains net-0.1 on all rows" in done.out


def test_commands_may_find_their_own_rows(folder: Path) -> None:
    own = LEARNERS.replace("{rows}", "/dev/stdin").replace("train.py", "own.py")
    (folder / "learners.toml").write_text(own)
    (folder / "own.py").write_text("import sys\nprint('{\"score\": %s}' % sys.argv[3])")
    done = call("run", folder / "learners.toml", "--full-size", 40, "--out", folder / "run", "--json")
    assert (done.json["selected"], done.json["full_size"]) == ("net-0.1", 40)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--target", "x"], "`--target` must go with a table"),
        (["--cv", 3], "`--cv` must go with a table"),
        (["--learners", "tree"], "`--learners` must be left out"),
        (["--engine", "serial"], "engine"),
        (["--full-size", 5], "got both"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, more: list[Any], message: str) -> None:
    assert message in refused(*arguments(folder, *more))
    assert not (folder / "run").exists()


def test_rows_go_with_commands(folder: Path) -> None:
    assert "must go with a TOML file" in refused("run", "a.csv", "--rows", folder / "train.jsonl")


def test_check_says_what_was_understood(folder: Path) -> None:
    more = "\n[learner.fails]\ncommand = \"sh -c 'echo no; exit 3'\"\n[learner.odd]\ncommand = \"sh -c 'cat odd'\"\n"
    (folder / "learners.toml").write_text(LEARNERS + more)
    (folder / "odd").write_text('{"score": 1, "speed": 2, "metrics": {}}')
    done = call("check", folder / "learners.toml", "--rows", folder / "train.jsonl", "--json")
    assert done.code == 1
    found = {each["learner"]: each for each in json.loads(done.out)}
    assert found["net-0.5"]["score"] == pytest.approx(0.55)
    assert (found["odd"]["understood"], found["odd"]["ignored"]) == (["score", "metrics"], ["speed"])
    assert (found["fails"]["failure"], found["fails"]["message"]) == ("error", "exit code 3: no")
    shown = call("check", folder / "learners.toml", "--rows", folder / "train.jsonl")
    assert "All 80 rows would take these 4 about" in shown.out
    assert "odd: not understood, and ignored: speed." in shown.out


def calls(folder: Path, what: str) -> list[str]:
    path = folder / "calls"
    return [line for line in path.read_text().splitlines() if line.startswith(what)] if path.exists() else []


def run_of(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pydaub", *command],
        env=environment(PAUSE="0.3"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def everything_of(folder: Path) -> list[int]:
    """Return the processes that have this folder in their environment, command line or as current folder."""
    found, name = [], str(folder).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            there = name in told or (entry / "cwd").readlink() == folder
        except OSError:
            continue
        if there and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
@pytest.mark.slow("processes")
@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_a_run_whose_processes_are_all_killed_goes_on_and_trains_nothing_twice(folder: Path, moment: int) -> None:
    undisturbed = call(*arguments(folder, "--strategy", "daub"), "--json").json["selected"]
    (folder / "calls").unlink()
    (folder / "run").rename(folder / "undisturbed")
    first = run_of(*arguments(folder, "--strategy", "daub", "--quiet"))
    wait_until(lambda: evaluated(folder / "run") >= moment and len(calls(folder, "begin")) > moment)
    for pid in [first.pid, *everything_of(folder)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    first.communicate(timeout=PATIENCE)
    before = evaluated(folder / "run")
    done = run_of("resume", str(folder / "run"), "--jobs", "2", "--json", "--quiet")
    out, _ = done.communicate(timeout=PATIENCE)
    assert done.returncode == 0, out
    assert json.loads(out.splitlines()[-1])["selected"] == undisturbed
    ended = calls(folder, "end")
    assert len(ended) == len({*ended}), ended
    assert evaluated(folder / "run") > before or moment == 0
    time.sleep(0.2)
    assert everything_of(folder) == []
