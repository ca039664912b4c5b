"""Runs that earlier versions have left behind: they are shown, predict what they predicted, and go on.

`kept` has the folder of a run for each version and strategy, without what only workers need. For a release, add one:
`pydaub run rows.csv --target label --learners tree,logistic,naive-bayes-gaussian --first-size 20`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.commands import call
from pydaub import Daub, Journal, JournalMismatch, load
from pydaub.runs.plan import DEFAULTS

KEPT = Path(__file__).with_name("kept")
FOLDERS = sorted(path for path in KEPT.iterdir() if path.is_dir())
each_kept = pytest.mark.parametrize("kept", FOLDERS, ids=lambda path: path.name)


@pytest.fixture
def copied(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "run"))


def test_runs_of_earlier_versions_are_there() -> None:
    assert {path.name for path in FOLDERS} >= {"before-0.1.0-daub", "before-0.1.0-frugal", "0.1.0-daub", "0.1.0-frugal"}


@each_kept
def test_it_is_shown_as_it_ended(kept: Path, copied: Path) -> None:
    then = json.loads((kept / "result.json").read_text())
    now = call("show", copied, "--json").json
    for name in ("strategy", "selected", "selected_size", "valid_score", "state", "full_size", "rows"):
        assert now[name] == then[name], name
    steps = [
        [(step["learner"], step["size"], step["valid_score"]) for step in told["allocations"]] for told in (then, now)
    ]
    assert steps[0] == steps[1]
    assert (
        call("report", copied).code == call("advise", copied).code == call("export", copied, "--to", "curves").code == 0
    )


@each_kept
def test_it_predicts_what_it_predicted(kept: Path, copied: Path) -> None:
    assert call("predict", copied, KEPT / "rows.csv").out == (kept / "predictions.csv").read_text()
    assert load(copied).result_.selected == json.loads((kept / "result.json").read_text())["selected"]


@each_kept
def test_it_goes_on_where_it_was_cut_or_nothing_is_lost(kept: Path, copied: Path) -> None:
    """Frugal decides by what was learned from recorded curves, which changes: it may refuse, or decide otherwise."""
    journal = copied / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    before = journal.read_bytes()
    done = call("resume", copied, "--jobs", 1, "--quiet", "--json")
    assert journal.read_bytes().startswith(before)
    then = json.loads((kept / "result.json").read_text())
    if then["strategy"] == "frugal":
        assert done.code in {0, 2}, done.err
        assert done.code == 0 or "must be of the same run, got " in done.err
        return
    assert done.json["selected"] == then["selected"]
    assert [step["valid_score"] for step in done.json["allocations"]] == [
        step["valid_score"] for step in then["allocations"]
    ]


OTHER = {"bound": "difference", "train_bound": False, "non_increasing_bound": True, "cv": "3", "reuse": False}


@pytest.mark.parametrize("option", OTHER)
def test_an_option_that_came_later_leaves_older_journals_valid_while_it_has_its_default(
    option: str, tmp_path: Path
) -> None:
    """Here a journal does not name an option of today, and has no checksums, as the oldest ones."""
    copied = Path(shutil.copytree(KEPT / "0.1.0-daub", tmp_path / "run"))
    journal, own = copied / "journal.jsonl", Daub.parameters
    lines = [line.rpartition(b',"crc"')[0] + b"}" for line in (copied / "journal.jsonl").read_bytes().splitlines()]
    older = json.loads(lines[0])
    del older["settings"][option]
    lines[0] = json.dumps(older, separators=(",", ":")).encode()
    journal.write_bytes(b"\n".join([*lines, b""]))
    assert call("show", copied, "--json").json["selected"] == "tree"
    done = call("resume", copied, "--jobs", 1, "--quiet")
    assert done.code == 0, done.err
    defaults = {**DEFAULTS, **{parameter.name: parameter.default for parameter in own}}
    with pytest.raises(JournalMismatch, match=rf"other settings: {option}\."):
        Journal(journal, {**older["settings"], option: OTHER[option]}, defaults=defaults)
