"""Runs with commands: what is refused before anything is trained, what the scores are, and what is handed over."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from pydaub import InputError
from pydaub.data import prepare
from pydaub.data.rowfiles import rows_of
from pydaub.engines.registry import Where
from pydaub.evaluation.evaluate import Task
from pydaub.learners import Command, Learner
from pydaub.runs.advice import advise
from pydaub.runs.commands import refuse_addition
from pydaub.runs.plan import Plan, Sizes, plan, scores_of
from pydaub.runs.saving import saved_in
from pydaub.runs.selection import select

TREE = Learner("tree", DecisionTreeClassifier())
SIZES = Sizes(sizes=[5, 10, 20])


def lines(folder: Path, count: int = 20) -> Path:
    place = folder / "train.jsonl"
    place.write_text("".join(f"{number}\n" for number in range(count)))
    return place


def loss(offset: float, more: str = "") -> tuple[str, ...]:
    """Return a command whose loss is its offset and one over the number of its rows."""
    count = "$(wc -l < $PYDAUB_ROWS)"
    return ("sh", "-c", f'{more}echo "{{\\"score\\": $(awk "BEGIN {{print {offset} + 1 / {count}}}")}}"')


def task(folder: Path, **commands: Any) -> Task:
    learners = {
        name: Learner(name, each if isinstance(each, Command) else Command(each, "minimize", floor=0.0))
        for name, each in commands.items()
    }
    return Task(rows_of(lines(folder), None, None, 0), learners)


def planned(given: Task, strategy: str = "frugal", **parameters: Any) -> Plan:
    return plan(given, strategy, parameters, SIZES)


@pytest.mark.parametrize("strategy", ["frugal", "daub", "full", "halving"])
def test_the_command_with_the_lowest_loss_is_selected(strategy: str, tmp_path: Path) -> None:
    given = task(tmp_path, good=loss(0.1), bad=loss(0.5), worse=loss(2))
    selection = select(planned(given, strategy), Where(2, folder=tmp_path / "run"), save_to=tmp_path / "run")
    assert selection.result.selected == "good"
    assert selection.result.valid_score == pytest.approx(-0.15)
    assert scores_of(given).top == 0.0
    program = saved_in(tmp_path / "run").program
    assert program is not None
    assert Path(program.model) == (tmp_path / "run/commands/good/20").resolve()


def test_the_script_trains_on_every_row(tmp_path: Path) -> None:
    dev = tmp_path / "dev.jsonl"
    dev.write_text("100\n101\n")
    given = replace(task(tmp_path, only=loss(0)), data=rows_of(lines(tmp_path), dev, None, 0))
    select(planned(given), Where(1, folder=tmp_path / "run"), save_to=tmp_path / "run")
    done = subprocess.run(["sh", tmp_path / "run" / "every-row.sh"], check=True, capture_output=True, text=True)
    assert float(done.stdout.split(":")[1].strip(" }\n")) == pytest.approx(1 / 22, rel=1e-3)


def test_a_learner_of_a_portfolio_cannot_be_added(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Learners must be commands in this run, got 'tree'"):
        refuse_addition(task(tmp_path, a=loss(0)), "tree")


def test_advice_needs_validation_rows_that_are_known(tmp_path: Path) -> None:
    account = select(planned(task(tmp_path, a=loss(0))), Where(1, folder=tmp_path / "run")).account
    with pytest.raises(InputError, match="its learners are commands"):
        advise(account)


def test_a_refused_size_is_no_failure_in_words(tmp_path: Path) -> None:
    refuses = 'if [ $PYDAUB_SIZE -gt 5 ]; then echo \'{"refused": "too long"}\'; exit; fi; '
    given = task(tmp_path, good=loss(0.4), best=loss(0.0, refuses))
    account = select(planned(given, "full"), Where(1, folder=tmp_path / "run")).account
    assert account.result.selected == "good"
    standing = account.statuses()["best"]
    assert (standing.word, standing.why) == ("refused", "too long")
    assert any("best refuses 20 rows: too long." in each.words for each in account.decisions)


def test_a_command_and_other_learners_share_a_run(tmp_path: Path) -> None:
    rows = np.arange(60.0).reshape(-1, 1)
    data = prepare(rows, np.where(rows[:, 0] > 30, "yes", "no"))
    majority = 'awk -F, \'NR > 1 {n[$NF]++} END {print "{\\"score\\": " (n["no"] > n["yes"] ? 0.51 : 0.5) "}"}\' {rows}'
    learners = {"awk": Learner("awk", Command(majority)), "tree": TREE}
    given = Task(data, learners, scoring="accuracy")
    selection = select(planned(given, "full"), Where(2, folder=tmp_path / "run"), save_to=tmp_path / "run")
    assert selection.result.selected == "tree"
    assert {step.allocation.learner for step in selection.result.steps} == {"awk", "tree"}
    assert not selection.result.failures
    assert selection.saved is not None
    assert selection.saved.path is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cv": 3}, "`cv` must go without commands"),
        ({"ensemble": True}, "`ensemble` must go without commands"),
        ({"adjust": True}, "`adjust` must go without commands"),
        ({"learners": {"tree": TREE}}, "must go with learners that are commands"),
        (
            {"learners": {name: Learner(name, Command("true", name)) for name in ("minimize", "maximize")}},
            "same for all",
        ),
        ({"learners": {"a": Learner("a", Command("true {validation}"))}}, "`--validation` must be given"),
        (
            {"learners": {"a": Learner("a", Command("true {rows}"))}, "data": rows_of(None, None, 20, 0)},
            "`--rows` must",
        ),
    ],
)
def test_what_commands_cannot_do_is_refused(changes: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        planned(replace(task(tmp_path, a=loss(0)), **changes))


def test_scores_must_have_the_direction_of_those_beside_them() -> None:
    rows = np.arange(60.0).reshape(-1, 1)
    learners = {"a": Learner("a", Command("true", "minimize")), "tree": TREE}
    with pytest.raises(InputError, match="must be 'maximize', as their scores are compared with accuracy"):
        planned(Task(prepare(rows, rows[:, 0] > 30), learners, scoring="accuracy"))


def test_a_place_without_processes_or_gpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for where in (Where(engine="serial", folder=tmp_path / "run"), Where(1)):
        with pytest.raises(InputError, match="engine processes and in a folder"):
            select(planned(task(tmp_path, a=loss(0))), where)
    with pytest.raises(InputError, match="number of GPUs here, 0, got 1"):
        select(planned(task(tmp_path, a=Command("true", gpu=1))), Where(1, folder=tmp_path / "run"))
