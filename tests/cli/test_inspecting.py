"""Runs that are shown and predicted from, and the list of learners."""

from __future__ import annotations

import csv
import json
import os
import pickle
import re
import shutil
from io import StringIO
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from cli.commands import CHEAP, PATIENCE, Finished, call, numbers, refused, sequence, written
from pydaub.cli.inspecting import formula
from pydaub.views.summary import CONTROLS

NUMBERS = numbers(40, seed=5)
PLAIN = re.compile(rb',"crc":"[0-9a-f]{8}"\}')  # a line's checksum, which older journals lack


@pytest.fixture
def copied(finished: Finished, tmp_path: Path) -> Path:
    """A run that has ended, to be damaged."""
    return Path(shutil.copytree(finished.folder, tmp_path / "copied"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_a_run_that_has_ended_is_shown_as_it_was_told(finished: Finished) -> None:
    done = call("show", finished.folder)
    told = finished.done.json
    assert (done.code, done.err) == (0, "")
    assert f"Selected {told['selected']}: accuracy {told['valid_score']:.4f} on all 420 training rows." in done.out
    assert told["certificate"]["text"] in done.out
    assert "resume" not in done.out
    assert "\x1b" not in done.out
    assert call("show", finished.folder, "--json").json == told


def test_a_run_says_how_many_validation_rows_are_enough(finished: Finished) -> None:
    told = call("advise", finished.folder, "--delta", "0.05", "--json").json
    done = call("advise", finished.folder, "--delta", "0.05")
    assert done.code == 0
    assert told["selected"] == finished.done.json["selected"]
    assert f"{told['valid_rows']:,} validation rows tell a difference of " in done.out
    assert "`delta` must be greater than 0 and less than 1, got -1.0." in refused(
        "advise", finished.folder, "--delta", "-1"
    )


def test_a_run_is_shown_as_far_as_its_journal_goes(finished: Finished, copied: Path) -> None:
    """Cut anywhere, also in the middle of a line; and what was kept of its end is not told then."""
    whole = finished.done.json
    content = (copied / "journal.jsonl").read_bytes()
    told = []
    for share in (0.4, 0.5, 0.8, 0.9):
        (copied / "journal.jsonl").write_bytes(content[: int(share * len(content))])
        done = call("show", copied)
        assert done.code == 0
        assert f"`pydaub resume {copied}` continues the run." in done.out
        assert done.out.startswith("Killed or interrupted: ")
        part = call("show", copied, "--json").json
        assert part["stopped"] == "not finished"
        assert sequence(part) == sequence(whole)[: len(part["allocations"])]
        told.append(len(part["allocations"]))
    assert told == sorted(told)
    assert told[0] < told[-1] <= len(whole["allocations"])


def test_what_was_running_is_counted(finished: Finished, copied: Path) -> None:
    lines = (copied / "journal.jsonl").read_text().splitlines()
    begun = [json.loads(line) for line in lines if '"kind":"submitted"' in line]
    ended = [json.loads(line) for line in lines if '"kind":"evaluated"' in line]
    assert call("show", copied, "--json").json["abandoned"] == len(begun) - len(ended)
    first = next(number for number, line in enumerate(lines) if '"kind":"evaluated"' in line)
    (copied / "journal.jsonl").write_text("\n".join(lines[:first]) + "\n")
    running = sum('"kind":"submitted"' in line for line in lines[:first])
    assert call("show", copied, "--json").json["abandoned"] == running
    assert re.search(rf"{running} trainings? (was|were) still going on at the end", call("show", copied).out)
    assert finished.done.json["abandoned"] <= len(begun) - len(ended)


@pytest.mark.parametrize("command", ["show", "resume", "predict"])
def test_what_is_no_run(finished: Finished, tmp_path: Path, command: str) -> None:
    more = [finished.data] if command == "predict" else []
    places = {tmp_path: "one without run.json", tmp_path / "nowhere": "nothing there", finished.data: "a file"}
    for place, got in places.items():
        assert f"{place} must be the folder of a run, got {got}." in refused(command, place, *more)


@pytest.mark.parametrize("command", ["show", "resume", "predict"])
def test_a_damaged_request(finished: Finished, copied: Path, command: str) -> None:
    more = [finished.data] if command == "predict" else []
    for content in (b"{", b"[]", b"\xff", b'{"request": {"data": 5, "cv": "x"}}'):
        (copied / "run.json").write_bytes(content)
        assert "run.json is damaged: " in refused(command, copied, *more)


@pytest.mark.parametrize("command", ["show", "resume"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [*lines[:3], b"garbage\n", *lines[3:]], "Line 4 of "),
        (lambda lines: [b"something else\n", *lines[1:]], "exists and is not a journal of pydaub"),
        (lambda lines: [lines[0].replace(b'"format":1', b'"format":9'), *lines[1:]], "must be of journal format 1"),
        (lambda lines: [*lines[:2], lines[2].replace(b"1", b"2"), *lines[3:]], "Line 3 of "),
        (lambda lines: [lines[0].replace(b'"frugal"', b'"magic"'), *lines[1:]], "does not match its checksum"),
        (lambda lines: [PLAIN.sub(b"}", line).replace(b'"frugal"', b'"magic"') for line in lines], "magic"),
        (lambda lines: [PLAIN.sub(b"}", line).replace(b'"sizes":[', b'"sizes":[9999,') for line in lines], "sizes"),
    ],
)  # fmt: skip
def test_a_damaged_journal(copied: Path, command: str, damage: object, message: str) -> None:
    path = copied / "journal.jsonl"
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))  # type: ignore[operator]  # a function
    content = path.read_bytes()
    line = refused(command, copied, "--json")
    assert message in line or command == "resume"
    assert path.read_bytes() == content, "it is left as it was"


def test_a_journal_that_is_not_there_yet(copied: Path) -> None:
    (copied / "journal.jsonl").write_bytes(b"")
    assert "has no complete line yet. `pydaub resume" in refused("show", copied)
    assert call("resume", copied, "--quiet", "--jobs", "1").code == 0, "killed before its first line was written"
    (copied / "journal.jsonl").unlink()
    assert f"does not exist yet. `pydaub resume {copied}` starts the run." in refused("show", copied)
    (copied / "journal.jsonl").mkdir()
    assert "journal.jsonl must be a file, got a folder" in refused("show", copied)
    assert "journal.jsonl must be a file, got a folder" in refused("resume", copied)


def test_a_result_that_was_torn(finished: Finished, copied: Path) -> None:
    (copied / "result.json").write_bytes(b'{"strategy": "da')
    assert sequence(call("show", copied, "--json").json) == sequence(finished.done.json)


def test_damaged_data(finished: Finished, copied: Path) -> None:
    (copied / "data" / "prepared.json").write_text("{")
    assert "must be a folder of prepared data, got: " in refused("resume", copied)
    assert call("predict", copied, finished.data).code == 0, "it needs no data"
    assert call("show", copied).code == 0, "nor does this"


def test_predictions(finished: Finished, tmp_path: Path) -> None:
    """Columns by their names, in any order, others ignored; on stdout or in a file; no other line among them."""
    path = written(NUMBERS.assign(more="x")[["more", "d", "label", "b", "c", "a"]], tmp_path / "new.csv")
    done = call("predict", finished.folder, path, "--proba")
    assert (done.code, done.err) == (0, "")
    assert "\r" not in done.out
    rows = rows_of(done.out)
    assert list(rows[0]) == ["prediction", "p(no)", "p(yes)"]
    assert len(rows) == 40
    for row in rows:
        assert float(row["p(no)"]) + float(row["p(yes)"]) == pytest.approx(1)
    right = np.mean([row["prediction"] == label for row, label in zip(rows, NUMBERS["label"], strict=True)])
    assert right > 0.6
    parquet = written(NUMBERS, tmp_path / "new.parquet")
    plain = call("predict", finished.folder, parquet)
    assert [row["prediction"] for row in rows_of(plain.out)] == [row["prediction"] for row in rows]
    out = tmp_path / "predicted.csv"
    assert call("predict", finished.folder, path, "--proba", "--out", out) == (0, "", "")
    assert out.read_text() == done.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c\n1,2,3\n", "The data must have the columns 'd', got 'a', 'b', 'c'."),
        ("a,b,c,d\n1,2,hello,3\n", "Column 'c' must hold numbers, got 'hello'. Correct it."),
        ("a,b,c,d\n1,2,inf,3\n", "Features must be finite, got infinite values in 'c' (1)."),
        ("a,b,c,d\n1,2,,3\n", "The learner cannot predict these rows: "),
        ("a,b,c,d\n", "must hold rows, got 4 columns and 0 rows."),
        ("a,a,b,c,d\n1,2,3,4,5\n", "must not name two columns alike, got 'a' more than once."),
        ("", "must hold rows, got an empty file."),
    ],
)
def test_rows_that_cannot_be_predicted(finished: Finished, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "new.csv"
    path.write_text(content)
    assert message in refused("predict", finished.folder, path)


def test_files_that_cannot_be_predicted(finished: Finished, tmp_path: Path) -> None:
    sparse = tmp_path / "new.svm"
    sparse.write_text("1 1:0.5 2:1\n-1 1:0.2\n")
    assert "must have named columns, as in training, got a sparse matrix of (2, 3)" in refused(
        "predict", finished.folder, sparse
    )
    assert "must be a file that can be read, got no such file" in refused("predict", finished.folder, "nowhere.csv")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("a,b,c,d,größe\n1,2,3,4,5\n".encode("latin-1"))
    assert "must be UTF-8 text" in refused("predict", finished.folder, latin)
    assert call("predict", finished.folder, latin, "--encoding", "latin-1").code == 0
    done = call("predict", finished.folder, finished.data, "--out", tmp_path / "nowhere" / "x.csv")
    assert done.code == 2
    assert done.err.endswith("nowhere/x.csv: No such file or directory. Choose another `--out`.\n")


class NoProbabilities(BaseEstimator):
    """A learner that knows none."""

    def predict(self, X: object) -> object:
        return np.full(len(X), "yes")  # type: ignore[arg-type]  # rows


def test_saved_learners_that_are_not_as_usual(finished: Finished, copied: Path) -> None:
    (copied / "model.skops").write_bytes(b"no")
    assert "must be a learner that pydaub saved, got " in refused("predict", copied, finished.data)
    (copied / "model.skops").unlink()
    assert "must hold a saved learner, got none. Let the run end first" in refused("predict", copied, finished.data)
    (copied / "model.pkl").write_bytes(b"no")
    assert "must be a learner that pydaub saved, got " in refused("predict", copied, finished.data, "--trust")
    (copied / "model.pkl").write_bytes(pickle.dumps(NoProbabilities()))
    told = refused("predict", copied, finished.data)
    assert "model.pkl is a pickle: loading it runs code from the file. If you trust it, add `--trust`." in told
    assert rows_of(call("predict", copied, finished.data, "--trust").out)[0] == {"prediction": "yes"}
    assert "`--proba` must go with a learner that gives probabilities" in refused(
        "predict", copied, finished.data, "--proba", "--trust"
    )


def test_the_portfolio_is_listed() -> None:
    for task, known in (("classification", "svm-rbf"), ("regression", "lasso")):
        listed = call("learners", "--task", task, "--json").json
        assert known in listed
        assert len(listed) > 30
        out = call("learners", "--task", task).out
        assert out.splitlines()[0].split() == ["learner", "description"]
        for name, description in listed.items():
            assert name in out
            assert description
    assert list(call("learners", CHEAP, "--json").json) == CHEAP.split(",")
    assert list(call("learners", "knn-*,-knn-1", "--json").json) == ["knn-5", "knn-10", "knn-25"]


def test_learners_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "got 'forrest-20'. Did you mean forest-20" in refused("learners", "forrest-20")
    assert "must name at least one learner that can be used, got ','" in refused("learners", ",")
    assert "must name a readable Python file, got nowhere.py: No such file" in refused("learners", "nowhere.py")
    Path("boom.py").write_text("\n\nraise ValueError('boom')\n")
    assert "boom.py, line 3 must run without an error, got ValueError: boom." in refused("learners", "boom.py")
    Path("torn.py").write_text("learners = [\n")
    assert "torn.py, line 1 must run without an error, got SyntaxError" in refused("learners", "torn.py")


def test_no_output_replaces_a_file_that_the_run_needs(finished: Finished) -> None:
    run = finished.folder
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    for name in before:
        if name in {"report.html", "curves.csv"}:
            continue
        for command in (("predict", run, finished.data), ("report", run), ("export", run, "--to", "curves")):
            assert "must not be a file that the run needs" in refused(*command, "--out", run / name)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_predictions_are_written_as_a_whole_and_through_links(finished: Finished, tmp_path: Path) -> None:
    real, link, pipe = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "pipe.csv"
    link.symlink_to(real)
    expected = call("predict", finished.folder, finished.data).out
    assert call("predict", finished.folder, finished.data, "--out", link).code == 0
    assert link.is_symlink()
    assert real.read_text() == expected
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert call("predict", finished.folder, finished.data, "--out", pipe).code == 0
    reader.join(PATIENCE)
    assert read == [expected]
    assert pipe.is_fifo()
    assert "Cannot write " in refused("predict", finished.folder, finished.data, "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "pipe.csv", "real.csv"]


def test_predictions_do_not_replace_the_rows(finished: Finished, tmp_path: Path) -> None:
    mine = Path(shutil.copy(finished.data, tmp_path / "mine.csv"))
    for rows in (mine, tmp_path, f"{tmp_path}/m*.csv"):
        refusal = refused("predict", finished.folder, rows, "--out", mine)
        assert f"`--out` must be another file than those of the rows, got {mine} for both." in refusal
        assert mine.read_bytes() == finished.data.read_bytes()
    assert call("predict", finished.folder, finished.data, "--out", mine).code == 0, "a copy is another file"
    assert mine.read_text().startswith("prediction\n")


def test_labels_that_spreadsheets_calculate_are_written_as_they_are(tmp_path: Path) -> None:
    rows = numbers(60)
    data = written(rows.assign(label=rows["label"].replace({"yes": "=1+1", "no": "other"})), tmp_path / "x.csv")
    run = tmp_path / "run"
    done = call("run", data, "--target", "label", "--learners", "tree", "--jobs", 1, "--quiet", "--out", run)
    assert done.code == 0, done.err
    predicted = call("predict", run, data)
    assert {*predicted.out.split("\n")} == {"prediction", "=1+1", "other", ""}
    assert "The label '=1+1' would be a formula in a spreadsheet" in predicted.err


@pytest.mark.parametrize(
    ("labels", "found"), [(["a", "@x"], "@x"), (["-1.5", "+7", "a=1", 3], None), (["-1+1"], "-1+1")]
)
def test_numbers_are_no_formulas(labels: list[object], found: str | None) -> None:
    assert formula(labels) == found


def test_a_run_without_its_schema_gets_it_again(copied: Path, finished: Finished) -> None:
    (copied / "schema.json").unlink()
    assert "schema.json is damaged: No such file" in refused("predict", copied, finished.data)
    assert call("resume", copied, "--quiet").code == 0
    assert call("predict", copied, finished.data).code == 0


def test_a_folder_of_any_name_works(finished: Finished, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode("größe\u202e\x1b[31m".encode() + b"\xff\xfe")
    done = call("run", finished.data, "--target", "label", "--learners", "tree", "--jobs", 1, "--out", folder)
    assert done.code == 0, done.err
    for command in ("show", "resume", "report", "plot"):
        done = call(command, folder, *(["--formats", "svg"] if command == "plot" else []))
        assert (done.code, "Traceback" in done.err) == (0, False), done.err
    assert not CONTROLS.search((folder / "plots" / "curves.svg").read_text().replace("\n", ""))
    assert call("predict", folder, finished.data).code == 0
    assert "\x1b" not in call("show", folder).out
