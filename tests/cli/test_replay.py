from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reference
from cli.commands import check_json
from pydaub import STRATEGIES, Allocation, Resumed, Table
from pydaub.cli import main
from pydaub.runs.journal import read
from tables import random_schedule, random_table, write_csv

HEADER = "learner,size,train_score,valid_score,seconds\n"
KEYS = {
    "strategy", "sizes", "resumed", "selected_size", "valid_score", "metrics", "stopped",
    "selected", "full_size", "allocations", "rows", "seconds", "wall_seconds", "speculated", "abandoned", "failures",
    "regret",
}  # fmt: skip


@pytest.fixture
def pydaub(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command in this process; return exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as raised:
            main([str(argument) for argument in arguments])
        code = raised.value.code
        captured = capsys.readouterr()
        check_json(arguments, captured.out)
        return code if isinstance(code, int) else 0, captured.out, captured.err

    return call


@pytest.fixture
def curves(tmp_path: Path) -> Path:
    """Three learners at 10, 20, 40, 80 and 100 rows; the third overtakes the others late."""
    path = tmp_path / "curves.csv"
    lines = [
        f"{name},{size},{train},{start + gain * size / 100:.4f},{size / 10}\n"
        for name, start, gain, train in (("flat", 0.5, 0.0, 0.6), ("quick", 0.4, 0.3, 0.9), ("steep", 0.1, 0.8, 1.0))
        for size in (10, 20, 40, 80, 100)
    ]
    path.write_text(HEADER + "".join(lines))
    return path


def test_the_json_object(pydaub: Any, curves: Path) -> None:
    code, out, err = pydaub("replay", curves, "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) == KEYS
    assert result["selected"] == "steep"
    assert result["full_size"] == 100
    first = result["allocations"][0]
    assert first == {
        "learner": "flat", "size": 10, "train_score": 0.6, "valid_score": 0.5, "seconds": 1.0, "bound": None,
    }  # fmt: skip
    assert result["allocations"][2]["bound"] == 0.5
    assert result["rows"] == sum(allocation["size"] for allocation in result["allocations"])
    assert result["seconds"] == pytest.approx(sum(allocation["seconds"] for allocation in result["allocations"]))
    assert result["wall_seconds"] == pytest.approx(result["seconds"])
    assert result["speculated"] == {"count": 0, "seconds": 0}
    assert result["failures"] == []


@pytest.mark.parametrize("seed", range(12))
def test_replay_is_algorithm_1(pydaub: Any, tmp_path: Path, seed: int) -> None:
    """From the file to the JSON object, with floats as people have them."""
    rng = random.Random(seed)
    first, ratio, schedule = random_schedule(rng)
    path = write_csv(random_table(rng, schedule), tmp_path / "curves.csv")
    table = Table.read(path)

    def accuracy(i: int, n: int) -> tuple[float, float]:
        outcome: Any = table[Allocation(table.learners[i], n)]
        return outcome.train_score, outcome.valid_score

    for options, use_f_T in ((), True), (("--no-train-bound",), False):
        selected, sequence = reference.daub(
            len(table.learners), schedule.full_size, Fraction(ratio), first, accuracy, use_f_T=use_f_T
        )
        for sizes in (("--first-size", first, "--ratio", ratio), ()):
            code, out, _ = pydaub("replay", path, *sizes, *options, "--json")
            result = json.loads(out)
            asked = [(table.learners.index(step["learner"]), step["size"]) for step in result["allocations"]]
            assert (code, result["selected"], asked) == (0, table.learners[selected], sequence)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_jobs_change_nothing_but_the_clock(pydaub: Any, tmp_path: Path, strategy: str) -> None:
    rng = random.Random(4)
    path = write_csv(random_table(rng, random_schedule(rng)[2], failures=0.05), tmp_path / "curves.csv")
    declared = ("--costs", "declared") if strategy == "frugal" else ()
    results = [
        json.loads(pydaub("replay", path, "--strategy", strategy, *declared, "--jobs", jobs, "--json")[1])
        for jobs in (1, 2, 7, 64)
    ]
    for result in results:
        for key in ("selected", "allocations", "rows", "seconds", "failures"):
            assert result[key] == results[0][key]
        assert result["wall_seconds"] <= results[0]["wall_seconds"] + 1e-9


def test_failures_are_reported(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    good = "".join(f"good,{size},1,0.5,1,\n" for size in (1, 2, 4, 8))
    path.write_text(HEADER.strip() + ",failure\n" + good + "svm,1,1,0.9,1,\nsvm,2,,,60,timeout: over 60 s\n")
    code, out, _ = pydaub("replay", path, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["failures"] == [{"learner": "svm", "size": 2, "kind": "timeout", "message": "over 60 s"}]
    failed = [step for step in result["allocations"] if step["learner"] == "svm"][-1]
    assert failed == {
        "learner": "svm", "size": 2, "train_score": None, "valid_score": None, "seconds": 60.0, "bound": None,
    }  # fmt: skip
    assert result["seconds"] == 65.0
    assert "Failed: 1 x timeout (over 60 s): svm" in pydaub("replay", path)[1]


def test_training_scores_may_be_left_out(pydaub: Any, tmp_path: Path) -> None:
    """Bounds are then not capped by them, unless a person asks for it."""
    whole, without = tmp_path / "whole.csv", tmp_path / "without.csv"
    lines = [(name, size, 1 - 1 / (size + place)) for place, name in enumerate("ab") for size in (1, 2, 4, 8)]
    whole.write_text(HEADER + "".join(f"{name},{size},0.99,{score},1\n" for name, size, score in lines))
    without.write_text("learner,size,valid_score,seconds\n" + "".join(f"{a},{n},{s},1\n" for a, n, s in lines))
    code, out, err = pydaub("replay", without, "--json")
    said = f"pydaub: {without} has no training scores: bounds are not capped by them (--no-train-bound).\n"
    assert (code, err) == (0, said)
    asked = json.loads(pydaub("replay", whole, "--no-train-bound", "--json")[1])
    key = ("learner", "size", "bound")
    assert [[step[each] for each in key] for step in json.loads(out)["allocations"]] == [
        [step[each] for each in key] for step in asked["allocations"]
    ]
    assert pydaub("replay", without, "--strategy", "halving", "--json")[2] == ""
    assert pydaub("replay", without, "--bound", "hoeffding", "--validation-rows", 500, "--json")[2] == "", (
        "never capped"
    )


def test_when_every_learner_failed(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(HEADER.strip() + ",failure\na,1,,,2,crash: exit -11\nb,1,,,3,crash: exit -11\n")
    code, out, err = pydaub("replay", path, "--json")
    assert code == 1
    assert err == "pydaub: All 2 learners failed: 2 x crash (exit -11): a, b.\n"
    assert json.loads(out)["selected"] is None
    assert len(json.loads(out)["failures"]) == 2
    assert pydaub("replay", path) == (1, "", err)


def test_the_readable_table(pydaub: Any, curves: Path) -> None:
    code, out, err = pydaub("replay", curves, "--jobs", 2)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == [
        "learner",
        "expected",
        "valid",
        "rows",
        "train",
        "bound",
        "total",
        "s",
        "status",
    ]
    assert lines[1].split() == ["steep", "0.9000", "0.9000", "100", "1.0000", "0.9000", "25.00", "selected"]
    assert "Selected steep: score 0.9000 on all 100 training rows." in out
    assert "Training 3 learners on all rows would take 30 s" in out
    assert "\x1b" not in out, "no colours off a terminal"


def test_the_comparison_with_full_training_is_in_plain_words(pydaub: Any, curves: Path) -> None:
    assert "No learner scores higher on all rows: no loss." in pydaub("replay", curves)[1]
    out = pydaub("replay", curves, "--strategy", "subset")[1]
    assert "The best on all rows is steep with 0.9000: a loss of 0.4000." in out
    assert "would take" not in pydaub("replay", curves, "--strategy", "full")[1], "not with itself"


def test_regret_is_the_time_of_learners_that_turn_out_to_be_worse(pydaub: Any, curves: Path) -> None:
    """ "steep" ends at 0.9, "quick" at 0.7 and "flat" at 0.5."""
    told = json.loads(pydaub("replay", curves, "--json")[1])
    for delta, worse in ((0.01, {"quick", "flat"}), (0.3, {"flat"}), (0.5, set())):
        found = json.loads(pydaub("replay", curves, "--json", "--regret-delta", delta)[1])["regret"]
        seconds = sum(step["seconds"] for step in told["allocations"] if step["learner"] in worse)
        assert found["seconds"] == pytest.approx(seconds)
        assert found["share"] == pytest.approx(seconds / told["seconds"])
        assert (found["delta"], found["suboptimal"], found["learners"]) == (delta, len(worse), 3)
        out = pydaub("replay", curves, "--regret-delta", delta)[1]
        assert f"Regret: {100 * found['share']:.0f} % of the training time ({seconds:,.1f} s) went to learners" in out
    assert told["regret"]["delta"] == 0.01
    assert pydaub("replay", curves, "--regret-delta", 0)[2] == (
        "pydaub: `regret_delta` must be a number greater than 0, got 0.0.\n"
    )


def test_a_comparison_that_speaks_against_the_run(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    falling = [f"{name},{size},1,{-size / 100},{20 / size}\n" for name in "ab" for size in (10, 20, 40)]
    best = ["c,10,1,-1,1\n", "c,20,1,-1,1\n", "c,40,1,0.0,1\n"]
    path.write_text(HEADER + "".join(falling + best))
    out = pydaub("replay", path)[1]
    assert "Selected c: score 0.0000" in out, "a perfect score may well be zero"
    assert "no loss" in out
    assert "Training 3 learners on all rows would take 2.0 s; this run took 5.0 times that." in out
    path.write_text(HEADER + "".join(falling[:5] + best))
    assert (
        "No comparison with full training: 1 learner not recorded" in pydaub("replay", path, "--strategy", "subset")[1]
    )


def test_names_are_printed_as_they_are(pydaub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither rich's markup nor a very long name may eat a learner."""
    monkeypatch.delenv("COLUMNS", raising=False)
    path = tmp_path / "curves.csv"
    names = ["[red]x[/red]", "svm(C=[1])", "n" * 70, "größe", "svm:a:1"]
    path.write_text(HEADER + "".join(f"{name},{size},1,0.5,1\n" for name in names for size in (1, 2, 4, 8)))
    out = pydaub("replay", path)[1]
    for name in names:
        assert name in out


def test_names_cannot_steer_the_terminal(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(HEADER + "".join(f'"two\nlines\x1b[31m",{size},1,0.5,1\n' for size in (1, 2, 4, 8)))
    out = pydaub("replay", path)[1]
    assert "Selected two\\nlines\\x1b[31m: score" in out
    assert "\x1b" not in out


def test_a_narrow_terminal_still_shows_whole_names(pydaub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = pydaub("recorded")[1]
    assert "…" not in out
    assert all(len(line) <= 60 for line in out.splitlines()[3:20])


def test_many_learners_are_cut_for_people_only(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(HEADER + "".join(f"l{i},{size},1,0.5,1\n" for i in range(500) for size in (1, 2, 4, 8)))
    out = pydaub("replay", path)[1]
    assert "... and 460 more; --json has them all." in out
    assert len({step["learner"] for step in json.loads(pydaub("replay", path, "--json")[1])["allocations"]}) == 500


def test_sizes(pydaub: Any, curves: Path) -> None:
    def sizes(*options: object) -> list[int]:
        out = pydaub("replay", curves, "--json", *options)[1]
        return sorted({step["size"] for step in json.loads(out)["allocations"]})

    assert sizes() == [10, 20, 40, 80, 100]
    assert sizes("--ratio", "2") == [10, 20, 40, 80, 100], "from the table's smallest size"
    assert sizes("--first-size", 20, "--ratio", "2") == [20, 40, 80, 100]
    assert sizes("--sizes", "10,40,80") == [10, 40, 80, 100], "the full size is always the last"
    assert sizes("--full-size", 80) == [10, 20, 40, 80]
    assert sizes("--full-size", 40) == [10, 20, 40]
    assert sizes("--sizes", "paper") == [100], "none of them is below 100"
    assert sizes("--strategy", "subset", "--sizes", "40") == [40, 100]
    assert sizes("--strategy", "full") == [100]


def test_bounds(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    scores = zip((1, 2, 4, 8, 16), (0.5, 0.5, 0.5, 0.8, 0.8), strict=True)
    rows = [f"a,{size},0.6,{score},1\n" for size, score in scores]
    path.write_text(HEADER + "".join(rows))

    def bounds(*options: str) -> list[float]:
        result = json.loads(pydaub("replay", path, "--json", *options)[1])
        return [step["bound"] for step in result["allocations"][2:]]

    assert bounds() == [0.5, 0.6, 0.6]
    assert bounds("--no-train-bound")[1] > 0.9
    assert bounds("--non-increasing-bound") == [0.5, 0.5, 0.5]


def test_a_journal_is_gone_on_with(pydaub: Any, curves: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    code, out, err = pydaub("replay", curves, "--json", "--journal", path)
    assert (code, err) == (0, "")
    whole = json.loads(out)
    content, events = path.read_bytes(), read(path)
    path.write_bytes(content[: len(content) // 2])
    again = json.loads(pydaub("replay", curves, "--json", "--journal", path)[1])
    assert 0 < again.pop("resumed") < len(whole["allocations"])
    assert whole.pop("resumed") == 0
    assert again == whole
    known = len(whole["allocations"])
    assert f"{known} outcomes came from the journal" in pydaub("replay", curves, "--journal", path)[1]
    assert [event for event in read(path) if not isinstance(event, Resumed)] == events
    code, out, err = pydaub("replay", curves, "--journal", path, "--no-train-bound")
    assert (code, out) == (2, "")
    assert "must be of the same run, got one with other settings: train_bound." in err
    for nonsense in (tmp_path, "/dev/null", "/dev/full"):
        assert pydaub("replay", curves, "--journal", nonsense)[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", "0"), "`--jobs` must be at least 1, got 0."),
        (("--sizes", "10,x"), "`sizes` must be whole numbers separated by commas, or 'paper', got '10,x'."),
        (("--sizes", "1_0,20"), "`sizes` must be whole numbers separated by commas, or 'paper', got '1_0,20'."),
        (("--sizes", ""), "`sizes` must be whole numbers separated by commas, or 'paper', got ''."),
        (("--sizes", "40,20"), "`sizes` must be at least one and strictly grow"),
        (("--sizes", "0,20"), "`sizes` must be at least one and strictly grow from 1 or more"),
        (("--sizes", "10,20", "--ratio", "2"), "`sizes` must be given without `first_size` and `ratio`."),
        (("--ratio", "1"), "`ratio` must be greater than 1, got 1."),
        (("--ratio", "x"), "`ratio` must be a finite number greater than 1, got 'x'."),
        (("--ratio", "nan"), "`ratio` must be a finite number greater than 1, got 'nan'."),
        (("--first-size", "0"), "`first_size` must be at least 1, got 0."),
        (("--first-size", "90"), "The largest `first_size` that works is 44."),
        (("--full-size", "99"), "curves.csv, got 99. It has 10, 20, 40, 80, 100."),
        (
            ("--first-size", "11"),
            "curves.csv must hold size 11 of learner 'flat', which is asked for, got only 10, 20,",
        ),
        (
            ("--strategy", "full", "--no-train-bound"),
            "`train_bound` must go with the strategy daub or elimination, got 'full'",
        ),
        (
            ("--strategy", "halving", "--non-increasing-bound"),
            "`non_increasing_bound` must go with the strategy daub or elimination, got 'halving'",
        ),
    ],
)
def test_bad_options_get_one_line_and_exit_code_2(
    pydaub: Any, curves: Path, options: tuple[str, ...], message: str
) -> None:
    for extra in ((), ("--json",)):
        code, out, err = pydaub("replay", curves, *options, *extra)
        assert (code, out) == (2, "")
        assert err.startswith("pydaub: ")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [("replay",), ("replay", "x.csv", "--strategy", "magic"), ("replay", "x.csv", "--jobs", "many")],
)
def test_usage_errors_have_exit_code_2(pydaub: Any, arguments: tuple[str, ...]) -> None:
    code, out, err = pydaub(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pydaub: ")
    assert err.count("\n") == 1


def test_a_bad_table_gets_one_line_and_exit_code_2(pydaub: Any, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    for text in ("", HEADER, HEADER + "a,1,1,x,1\n", HEADER + "a,1,1,1,1\na,1,1,1,1\n"):
        path.write_text(text)
        code, out, err = pydaub("replay", path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "curves.csv" in err


def test_help_names_every_option(pydaub: Any) -> None:
    for option in ("--strategy", "--first-size", "--ratio", "--sizes", "--full-size", "--no-train-bound", "--jobs",
                   "--journal", "--json"):  # fmt: skip
        assert option in pydaub("replay", "--help")[1]


@pytest.mark.parametrize("name", ["parity", "higgs"])
def test_the_recorded_curves(pydaub: Any, name: str) -> None:
    code, out, err = pydaub("recorded", name)
    assert (code, err) == (0, "")
    assert f"25 scikit-learn learners on {name}" in out
    assert pydaub("recorded", name, "--jobs", 0)[::2] == (2, "pydaub: `--jobs` must be at least 1, got 0.\n")
    for strategy in STRATEGIES:
        assert f"\n{strategy} " in out


def test_recorded_fine_tuning(pydaub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    code, out, err = pydaub("recorded", "llm", "--jobs", 1)
    assert (code, err) == (0, "")
    assert "30 pre-trained language models" in out
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    table = out[out.index("\nstrategy ") :].split("\n\n")[0].strip()
    assert table.splitlines()[:7] == page[page.index("\nstrategy ") :].strip().splitlines()[:7]


def test_a_terminal_that_knows_no_umlauts(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(HEADER + "".join(f"größe,{size},1,0.5,1\n" for size in (1, 2, 4)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pydaub", "replay", str(path)],
        capture_output=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"gr\\xf6\\xdfe" in done.stdout


def test_an_interrupted_run_says_how_to_go_on(curves: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    errors: list[str] = []
    monkeypatch.setattr("pydaub.cli.replay.Loop", interrupted)
    monkeypatch.setattr("pydaub.cli.replay.complain", errors.append)
    with pytest.raises(SystemExit) as raised:
        main(["replay", str(curves), "--journal", str(tmp_path / "run.jsonl")])
    assert raised.value.code == 130
    assert errors == [f"Interrupted. The same command continues with {tmp_path / 'run.jsonl'}."]
