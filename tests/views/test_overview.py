"""Several runs in a list: what a run left behind says the same as its journal, and two runs are compared truly."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands import call, numbers, written
from pydaub.events import Started
from pydaub.records import Failure
from pydaub.runs.account import Account
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import read
from pydaub.views.overview import commands, comparison, ended_line, line


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("overview")
    data = written(numbers(), folder / "data.csv")
    learners = "tree,knn-5,naive-bayes-gaussian"
    done = call(
        "run", data, "--target", "label", "--learners", learners, "--out", folder / "run", "--jobs", 1, "--quiet"
    )
    assert done.code == 0, done.err
    return folder / "run"


def test_the_result_that_a_run_left_says_the_same_as_its_journal(run: Path) -> None:
    assert ended_line(run) == line(RunFolder(run).account())


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"state": "finished", "selected_size": "many"}'])
def test_a_result_that_cannot_be_used_is_left_aside(run: Path, content: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    (copy / "result.json").write_text(content)
    assert ended_line(copy) is None


def test_a_result_from_before_a_run_was_resumed_is_left_aside(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    later = (copy / "result.json").stat().st_mtime_ns + 1
    os.utime(copy / "journal.jsonl", ns=(later, later))
    assert ended_line(copy) is None


def test_every_prefix_of_a_journal_has_a_line(run: Path) -> None:
    events = read(run / "journal.jsonl")
    for end in range(1, len(events) + 1):
        account = Account.of(events[:end])
        found = json.loads(json.dumps(line(account)))
        assert found["state"] == account.state
        assert found["allocations"] == len(account.steps)
        assert (found["score"] is None) == (account.result.valid_score is None)


def test_two_runs_side_by_side(run: Path) -> None:
    whole = RunFolder(run).account()
    part = Account.of(read(run / "journal.jsonl")[:8])
    found = comparison({"whole": whole, "part": part})
    assert found["runs"] == ["whole", "part"]
    facts = {title: values for title, *values in found["facts"]}
    assert facts["State"] == ["finished", "killed"]
    assert facts["Allocations"] == [f"{len(whole.steps)}", f"{len(part.steps)}"]
    names = {name for name, *_ in found["learners"]}
    assert names == {step.allocation.learner for step in part.steps}
    assert found["common"] == len(names)
    assert found["alone"] == [3 - len(names), 0]
    assert found["warning"] == ""
    events = read(run / "journal.jsonl")
    begun = events[0]
    assert isinstance(begun, Started)
    other = Account.of([replace(begun, settings={**begun.settings, "data": "other"}), *events[1:]])
    assert comparison({"a": whole, "b": other})["warning"].startswith("The runs are on different rows")


def test_commands_are_those_that_work_and_survive_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' $(c)"

    def said(state: str, model: str | None) -> list[list[str]]:
        return [shlex.split(command) for _, command in commands(folder, state, model)]

    path = str(folder)
    assert said("finished", "model.skops")[0] == ["pydaub", "predict", path, "NEW.csv"]
    assert said("finished", "model.pkl")[0][-1] == "--trust"
    assert [words[1] for words in said("finished", "model.skops")] == ["predict", "pydaub;", "report", "show"]
    assert [words[1] for words in said("killed", None)] == ["resume", "report", "show"]
    failed = {"slow": Failure("timeout", "longer than 8 s", 8.0), "big": Failure("memory", "more than 2 GB", 1.0)}
    retry = dict(commands(folder, "finished", None, failed))["Retry what failed"]
    assert shlex.split(retry)[3:] == ["--retry", "--learner-timeout", "32s", "--learner-memory", "AMOUNT"]
    python = dict(commands(folder, "finished", "model.skops"))["Load it in Python"]
    assert ast.parse(python).body, "it can be pasted"
    assert [words[1] for words in said("running", None)] == ["report", "show"]
    assert [words[1] for words in said("damaged", None)] == ["report", "show"]
