"""Option lines: every option of every command, with values that make no sense, and some that do."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from cli.commands import Finished, call, numbers
from cli.commands import written as saved
from fuzz.rule import a_few, content, holds, texts
from pydaub.cli import everything

pytestmark = pytest.mark.filterwarnings("ignore")

COMMANDS: dict[str, Any] = get_command(everything()).commands  # type: ignore[attr-defined]  # a group has them
TRAINING = {"run", "compare", "demo", "resume"}
LASTING = {"watch", "recorded"}  # the one serves until it is ended, the other takes nothing but --jobs
LEFT_OUT = {"--help", "--dashboard", "--address", "--weka-jar", "--jobs", "--full", "--journal", "--out"}
LIKELY = {
    "--target": ["label", "a", "b"],
    "--learners": ["tree", "naive-bayes-gaussian", "tree,knn-5", "-tree", "sklearn,-*", "nowhere.py"],
    "--sizes": ["paper", "10,20,40", "40,10"],
    "--first-size": ["5", "10", "1"],
    "--ratio": ["2", "1.5", "3/2"],
    "--cv": ["2", "3"],
    "--validation": ["numbers.csv", "other.csv"],
    "--validation-fraction": ["0.2", "0.5"],
    "--validation-rows": ["20", "1000"],
    "--group": ["a"],
    "--time": ["b"],
    "--drop": ["a", "a,b"],
    "--kind": ["a=numeric", "a=categorical"],
    "--scoring": ["accuracy", "neg_log_loss", "r2"],
    "--encoding": ["latin-1", "rot13", "utf-16"],
    "--engine": ["processes"],
    "--time-limit": ["1s", "5"],
    "--learner-timeout": ["1s"],
    "--learner-memory": ["2GB"],
    "--memory": ["500MB", "1"],
    "--formats": ["svg", "png,svg"],
    "--strategies": ["daub", "full,halving"],
    "--full-size": ["40"],
}


@st.composite
def lines(draw: st.DrawFn, command: str) -> list[str]:
    """Return options of a command with values."""
    line = []
    known = [each for each in COMMANDS[command].params if each.param_type_name == "option"]
    for option in draw(st.lists(st.sampled_from(known), max_size=4)) if known else []:
        name = option.opts[0]
        if name in LEFT_OUT:
            continue
        line.append(name)
        if not option.is_flag:
            numbers_ = st.integers(-2, 100).map(str) | st.floats().map(str)
            line.append(draw(st.sampled_from(LIKELY.get(name, ["1"])) | texts | numbers_))
    return [text.replace("\0", "").encode(errors="replace").decode() for text in line]


def called(command: str, line: list[str], place: Path, finished: Finished) -> Any:
    data = saved(numbers(40), place / "numbers.csv")
    saved(numbers(20, seed=1), place / "other.csv")
    (place / "curves.csv").write_text("learner,size,train_score,valid_score,seconds\nt,20,1,0.5,1\nt,40,1,0.6,2\n")
    given: dict[str, list[Any]] = {
        "run": [data, "--target", "label", "--learners", "tree", "--jobs", 1, "--time-limit", "5s", "--quiet"],
        "compare": [data, "--target", "label", "--learners", "tree", "--jobs", 1, "--quiet"],
        "prepare": [data, "--target", "label", "--quiet"],
        "resume": [finished.folder, "--jobs", 1, "--quiet"],
        "demo": ["--jobs", 0],  # refused, in any case
        "predict": [finished.folder, data],
        "replay": [place / "curves.csv"],
        "steer": [finished.folder, "pause"],
        "learners": [],
    }
    out = ["--out", place / "out"] if any("--out" in each.opts for each in COMMANDS[command].params) else []
    return call(command, *given.get(command, [finished.folder]), *out, *line)


@a_few(2, least=10)
@given(data=st.data())
def test_a_line_without_training_is_carried_out_or_refused(data: st.DataObject, finished: Finished) -> None:
    command = data.draw(st.sampled_from(sorted({*COMMANDS} - TRAINING - LASTING)))
    line = data.draw(lines(command))
    with TemporaryDirectory() as folder:
        done = called(command, line, Path(folder), finished)
        holds(done)
        if done.code == 2:
            assert {*content(Path(folder))} == {"curves.csv", "numbers.csv", "other.csv"}, "nothing half-written"


@pytest.mark.slow("random")
@a_few(5, least=5)
@given(data=st.data())
def test_a_line_with_training_is_carried_out_or_refused(
    data: st.DataObject, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = data.draw(st.sampled_from(sorted(TRAINING)))
    line = data.draw(lines(command))
    with TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        done = called(command, line, Path(folder), finished)
        holds(done)
        if done.code == 2:
            assert {*content(Path(folder))} == {"curves.csv", "numbers.csv", "other.csv"}, "nothing half-written"
        monkeypatch.undo()
