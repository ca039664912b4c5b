from __future__ import annotations

import inspect
import signal
from pathlib import Path

import pytest

from cli.commands import (
    CHEAP,
    PATIENCE,
    Finished,
    alive,
    call,
    descendants,
    evaluated,
    gated,
    numbers,
    refused,
    sequence,
    started,
    wait_until,
    written,
)
from pydaub import STRATEGIES
from pydaub.cli.running import compare
from pydaub.runs.regret import meaning

KEYS = {
    "strategy", "sizes", "selected", "selected_size", "valid_score", "metrics", "stopped", "full_size",
    "allocations", "rows", "seconds", "wall_seconds", "speculated",
    "abandoned", "resumed", "failures", "regret",
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(numbers(), tmp_path / "numbers.csv")


def test_every_strategy_is_compared_unless_told_otherwise() -> None:
    assert inspect.signature(compare).parameters["strategies"].default.split(",") == list(STRATEGIES)


def test_strategies_side_by_side(finished: Finished, tmp_path: Path) -> None:
    """What was trained for one is not trained again for another; and a second time nothing is trained at all."""
    out = tmp_path / "compared"
    arguments = ("compare", finished.data, "--target", "label", "--learners", CHEAP, "--out", out, "--jobs", 2)
    done = call(*arguments, "--strategies", "daub,full")
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    columns = ["strategy", "allocations", "rows", "seconds", "selected", "score", "loss", "regret"]
    assert lines[0] == columns
    assert [line[0] for line in lines[1:3]] == ["daub", "full"]
    assert done.out.splitlines()[3:] == [meaning(0.01)]
    full = next(line for line in lines if line[0] == "full")
    assert full[-3] == "0.0000"
    trained = [line for line in done.err.splitlines() if " rows: training " in line]
    assert len(trained) == len({line.partition("] ")[2].partition(":")[0] for line in trained}), "each once"
    assert "\x1b" not in done.out + done.err
    journals = {name: (out / name / "journal.jsonl").read_bytes() for name in ("daub", "full")}
    told = call(*arguments, "--strategies", " daub, full,", "--json", "--quiet")
    assert told.err == ""
    assert list(told.json) == ["daub", "full"]
    for name, result in told.json.items():
        assert set(result) == KEYS
        assert result["strategy"] == name
        assert result["selected"] in CHEAP.split(",")
        assert (out / name / "journal.jsonl").read_bytes() == journals[name]
    few = call(*arguments, "--strategies", "daub", "--quiet")
    assert few.out.splitlines()[0].split() == columns[:-2], (
        "no loss and no regret where not everything was trained on everything"
    )
    alone = call("run", *arguments[1:6], "--strategy", "daub", "--out", tmp_path / "alone", "--json", "--quiet")
    assert sequence(told.json["daub"]) == sequence(alone.json), "as in a run of its own"
    best = max(step["valid_score"] for step in told.json["full"]["allocations"])
    for line in lines[1:3]:
        assert float(line[-3]) == pytest.approx(best - float(line[-4]), abs=1e-4)
        regret = told.json[line[0]]["regret"]
        assert line[-2:] == [f"{100 * regret['share']:.0f}", "%"]
        assert regret["delta"] == 0.01
    assert "`regret_delta` must be a number greater than 0, got 0" in refused(*arguments, "--regret-delta", 0)
    refusal = refused(*arguments, "--seed", 3)
    assert "daub/journal.jsonl must be of the same run, got one with other settings: data, seed." in refusal


def test_when_every_learner_fails(data: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n"
        "class Broken(GaussianNB):\n"
        "    def fit(self, X, y):\n"
        "        raise RuntimeError('no luck')\n"
        "learners = [('a', Broken())]\n"
    )
    done = call(
        "compare", data, "--target", "label", "--learners", tmp_path / "own.py", "--strategies", "full", "--cv", 3,
        "--first-size", 40, "--ratio", 2,
    )  # fmt: skip
    assert done.out.splitlines()[1].split()[:2] == ["full", "1"]
    assert "failed: error (" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--strategies", "daub,magic"),
            "`--strategies` must be some of frugal, daub, full, subset, elimination, halving, got",
        ),
        (
            ("--strategies", ","),
            "`--strategies` must be some of frugal, daub, full, subset, elimination, halving, got none.",
        ),
        (("--target", "lable"), "Did you mean 'label'?"),
        (
            ("--learners", "forrest"),
            "`learners` must name learners, sklearn, strong, spaces, weka, streaming, or a Python file, got 'forrest'.",
        ),
        (("--scoring", "acuracy"), "Did you mean accuracy"),
        (("--cv", "1"), "`--cv` must be at least 2 folds, got 1."),
        (("--first-size", "0"), "`first_size` must be at least 1, got 0."),
        (("--ratio", "1"), "`ratio` must be greater than 1, got 1."),
        (("--jobs", "0"), "`--jobs` must be at least 1, got 0."),
        (("--learner-timeout", "0"), "`--learner-timeout` must be more than 0"),
        (("--learner-memory", "5"), "`--learner-memory` must be an amount with a unit"),
        (("--validation", "nowhere.csv"), "nowhere.csv must be a file that can be read, got no such file."),
        (("--seed", "-1"), "`seed` must not be negative, got -1."),
    ],
)
def test_options_that_make_no_sense(data: Path, options: tuple[str, str], message: str) -> None:
    assert message in refused("compare", data, "--target", "label", *options)


@pytest.mark.slow("processes")
def test_a_comparison_that_was_interrupted_goes_on(data: Path, tmp_path: Path) -> None:
    gate, out = tmp_path / "gate", tmp_path / "compared"
    learners = gated(tmp_path / "gated.py", gate, rows=400)
    arguments = ("compare", data, "--target", "label", "--learners", learners, "--strategies", "halving,full", "--out")
    gate.touch()
    with started(*arguments, out, "--jobs", 1) as process:
        wait_until(lambda: evaluated(out / "halving") >= 2)
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "pydaub: Interrupted. The same command continues where it was.\n" in err
    assert "Traceback" not in err
    wait_until(lambda: not alive(children))
    gate.unlink()
    known = evaluated(out / "halving")
    assert call(*arguments, out, "--json", "--quiet").json["halving"]["resumed"] == known
