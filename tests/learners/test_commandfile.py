"""Files of learners that are commands: what they say, and what is refused, with the learner named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pydaub import InputError
from pydaub.data import Schema
from pydaub.learners import Command, portfolio
from pydaub.learners.commandfile import read_commands

FILE = """
score = "minimize"
floor = 0.0
sizes = { first = 800, ratio = 1.5 }
[learner.plain]
command = "sh -c 'exit 0' {rows}"
cost = 0.5
resources = { gpu = 1, memory = "40GB" }
[learner."t5-{width}-{rate}"]
command = ["./t5.sh", "{width}", "{rate}", "{size}"]
width = ["small", "a b"]
rate = [0.1, 2]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t5.sh").write_text("#!/bin/sh\n")
    (tmp_path / "t5.sh").chmod(0o755)
    return tmp_path


def written(folder: Path, content: str) -> Path:
    place = folder / "learners.toml"
    place.write_text(content)
    return place


def test_a_file_is_understood(folder: Path) -> None:
    found = read_commands(written(folder, FILE))
    assert found.sizes == {"first_size": 800, "ratio": "1.5"}
    assert list(found.learners) == ["plain", "t5-small-0.1", "t5-small-2", "t5-a b-0.1", "t5-a b-2"]
    plain, t5 = (found.learners[name].estimator for name in ("plain", "t5-a b-2"))
    assert isinstance(plain, Command)
    assert (plain.cost, plain.gpu, plain.memory, plain.floor, plain.sign) == (0.5, 1, 40_000_000_000, 0.0, -1.0)
    assert t5.words == ("./t5.sh", "a b", "2", "{size}")
    assert Path(t5.folder) == folder
    assert found.learners["t5-a b-2"].params == {"width": "a b", "rate": 2}
    assert list(portfolio(str(folder / "learners.toml"), Schema("frame", "regression", 0))) == list(found.learners)


def test_sizes_may_be_listed_or_left_out(folder: Path) -> None:
    plain = '[learner.a]\ncommand = "true"\n'
    assert read_commands(written(folder, f'score = "maximize"\n{plain}')).sizes == {"first_size": None, "ratio": None}
    assert read_commands(written(folder, f'score = "maximize"\nsizes = [1, 2]\n{plain}')).sizes == {"sizes": [1, 2]}


TOP = 'score = "maximize"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("score = ", "must be TOML"),
        ('[learner.a]\ncommand = "true"', "`score` must say"),
        ('score = "best"\n[learner.a]\ncommand = "true"', "learner 'a': `score` must be"),
        (TOP, "at least one table"),
        (f"{TOP}speed = 3", "only score, floor, sizes, learner, got 'speed'"),
        (f"{TOP}sizes = 3\n[learner.a]\ncommand = 'true'", "`sizes` must be"),
        (f"{TOP}sizes = {{ last = 3 }}\n[learner.a]\ncommand = 'true'", "got 'last'"),
        (f"{TOP}[learner.a]", "learner 'a': it must have a `command`"),
        (f"{TOP}[learner.a]\ncommand = 3", "must be text"),
        (f"{TOP}[learner.a]\ncommand = 'nowhere-at-all'", "no program 'nowhere-at-all'"),
        (f"{TOP}[learner.a]\ncommand = './nowhere'", "there is no file"),
        (f"{TOP}[learner.a]\ncommand = './learners.toml'", "may not be executed"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nwidth = 3", "a list of values"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nrows = [1]", "a list of values"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nwidth = [1]", "must be used by the command"),
        (f"{TOP}[learner.a]\ncommand = 'true {{w}}'\nw = [1, 2]", "one learner of each name"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nresources = {{ gpu = 0.5 }}", "two that share one"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nresources = {{ memory = 4 }}", "with a unit"),
        (f"{TOP}[learner.a]\ncommand = 'true'\nresources = {{ disk = 4 }}", "got 'disk'"),
    ],
)
def test_nonsense_is_refused(folder: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_commands(written(folder, content))
    assert "learners.toml" in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="readable TOML file"):
        read_commands(tmp_path / "nowhere.toml")
