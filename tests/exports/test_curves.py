from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.commands import Finished, call
from cli.conftest import finished  # noqa: F401  # a fixture
from pydaub import Account, InputError, Table
from pydaub.exports.curves import COLUMNS, write_curves
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import read

LEARNERS = "tree,knn-5,naive-bayes-gaussian,logistic,lda,ridge,stump"


def decisions(account: Account) -> list[tuple[str, int]]:
    return [(step.allocation.learner, step.allocation.size) for step in account.steps]


@pytest.mark.parametrize(
    "options", [("--strategy", "frugal", "--costs", "declared"), ("--strategy", "daub"), ("--strategy", "halving")]
)
def test_a_replay_of_the_exported_curves_decides_as_the_run_did(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = call("run", "parity:900", "--learners", LEARNERS, *options, "--out", tmp_path / "run", "--quiet")
    assert done.code == 0, done.err
    path = Path(call("export", tmp_path / "run", "--to", "curves", "--out", tmp_path / "curves.csv").out.strip())
    account = RunFolder(tmp_path / "run").account()
    sizes = ",".join(map(str, account.settings["sizes"]))
    again = call("replay", path, *options, "--sizes", sizes, "--json", "--journal", tmp_path / "again.jsonl").json
    replayed = Account.of(read(tmp_path / "again.jsonl")).settings
    same = replayed.keys() - {"growths", "table"}  # declared costs know no growths
    assert {name: replayed[name] for name in same} == {name: account.settings[name] for name in same}
    assert [(each["learner"], each["size"]) for each in again["allocations"]] == decisions(account)
    assert again["selected"] == account.selected


def test_every_outcome_is_a_line_that_can_be_read_alone(finished: Finished, tmp_path: Path) -> None:  # noqa: F811
    assert call("export", finished.folder, "--to", "curves", "--out", tmp_path / "curves.csv").code == 0
    account = RunFolder(finished.folder).account()
    with (tmp_path / "curves.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == COLUMNS
    assert len(lines) == len(account.outcomes)
    for line in lines:
        assert line["dataset"] == "numbers"
        assert (line["metric"], line["columns"], line["classes"], line["inner_seed"]) == ("accuracy", "4", "2", "0")
        assert f"scikit-learn {account.versions['scikit-learn']}" in line["versions"]
        assert "core" in line["machine"]
        assert float(line["memory_mb"]) > 0
        assert 0 <= float(line["traintime"]) <= float(line["seconds"])
    table = Table.read(tmp_path / "curves.csv")
    for allocation, outcome in account.outcomes.items():
        for name in ("train_score", "valid_score", "seconds", "fitting", "scoring", "scored"):
            assert getattr(table[allocation], name) == getattr(outcome, name)
    assert table.about.scores == account.scores


def line(**values: Any) -> str:
    usual: dict[str, Any] = {
        "dataset": "a",
        "inner_seed": 0,
        "score_train": 1,
        "score_valid": 0.5,
        "traintime": 1,
        "metric": "accuracy",
    }
    return ",".join(str({**usual, **values}[name]) for name in ("learner", "size_train", *usual)) + "\n"


HEADER = "learner,size_train,dataset,inner_seed,score_train,score_valid,traintime,metric\n"
BOTH = "".join(line(learner=name, size_train=size, score_valid=size / 9) for name in "xy" for size in (1, 2, 4, 8))


def test_a_folder_of_several_data_sets_and_seeds_is_replayed_one_by_one(tmp_path: Path) -> None:
    other = BOTH.replace(",a,0,", ",a,1,") + BOTH.replace(",a,0,", ",b,0,")
    (tmp_path / "1.csv").write_text(HEADER + BOTH)
    (tmp_path / "2.csv").write_text(
        HEADER + other + "".join(line(learner="x", size_train=size, dataset="c") for size in (1, 2))
    )
    (tmp_path / "3.csv").write_text(HEADER + line(learner="y", size_train=1, dataset="c"))
    found = call("replay", tmp_path, "--json").json
    assert set(found["replayed"]) == {"a (seed 0)", "a (seed 1)", "b (seed 0)"}
    assert list(found["not_replayed"]) == ["c (seed 0)"]
    assert "must hold size 2 of learner 'y', which is asked for, got only 1" in found["not_replayed"]["c (seed 0)"]
    out = call("replay", tmp_path).out
    assert [row.split()[0] for row in out.splitlines()[:4]] == ["curves", "a", "a", "b"]
    assert "Not replayed: c (seed 0): " in out
    assert (
        "`--journal` must go with the curves of one data set, got 4"
        in call("replay", tmp_path, "--journal", tmp_path / "x").err
    )
    with pytest.raises(InputError, match=r"must hold the curves of one data set, got 4: a \(seed 0\), "):
        Table.read(tmp_path)


def test_files_of_the_same_rows_complete_each_other(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(HEADER + BOTH[: BOTH.index("y,8")])
    (tmp_path / "2.csv").write_text(HEADER + BOTH.replace(",1,accuracy", ",7,accuracy"))
    table = Table.read(tmp_path)
    assert len(table.outcomes) == 8
    assert {each.size: outcome.seconds for each, outcome in table.outcomes.items() if each.learner == "y"} == {
        1: 1.0, 2: 1.0, 4: 1.0, 8: 7.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line(learner="z", size_train="x"), "Line 10 of {}: `size` must be a whole number, got 'x'."),
        (line(learner="z", size_train=1, traintime=""), "Line 10 of {}: `seconds` must be a finite number, got ''."),
        (line(learner="x", size_train=8), "Line 10 of {}: a learner and size must not repeat, got 'x' with 8"),
        ("z,1\n", "Line 10 of {}: a line must have 8 values, got 2."),
    ],
)
def test_a_bad_file_in_a_folder_is_refused_by_name_and_line(tmp_path: Path, bad: str, message: str) -> None:
    (tmp_path / "1.csv").write_text(HEADER + BOTH)
    (tmp_path / "2.csv").write_text(HEADER + BOTH + bad)
    done = call("replay", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message.format(tmp_path / "2.csv") in done.err


def test_nothing_to_export_and_nowhere_to_write(finished: Finished, tmp_path: Path) -> None:  # noqa: F811
    assert "must be the folder of a run, got nothing there" in call("export", tmp_path / "no", "--to", "curves").err
    assert call("export", finished.folder, "--to", "nowhere").code == 2
    assert call("export", finished.folder).code == 2
    done = call("export", finished.folder, "--to", "curves", "--out", tmp_path / "no" / "curves.csv")
    assert (done.code, done.err.count("\n")) == (2, 1)
    with pytest.raises(InputError, match="`dataset` must be the name of the data, got ''"):
        write_curves(RunFolder(finished.folder).account(), tmp_path / "x.csv", dataset="")


def test_a_file_of_lcdb_is_read_as_it_is(tmp_path: Path) -> None:
    """Its own columns, of which `size_test` and others are not needed."""
    rows = [
        {"openmlid": 61, "learner": f"sklearn.{name}", "size_train": size, "size_test": 15, "outer_seed": 0,
         "inner_seed": seed, "traintime": 0.1, "score_train": 1.0, "score_valid": size / 99, "score_test": 0.5}
        for seed in (0, 1) for name in ("svm.SVC_linear", "tree.ExtraTreeClassifier") for size in (16, 23, 32)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "database-accuracy.csv")
    found = call("replay", tmp_path / "database-accuracy.csv", "--json").json
    assert list(found["replayed"]) == ["openml:61 (seed 0/0)", "openml:61 (seed 0/1)"]
