"""A growing journal is followed line by line, and unreadable ones are reported."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from dashboard.pages import needs_dashboard
from pydaub.dashboard.following import Following
from pydaub.runs.account import Account
from pydaub.runs.journal import read
from pydaub.views.story import learners, story

pytestmark = needs_dashboard


@pytest.fixture(scope="module")
def journal(finished_run: Path) -> bytes:
    return (finished_run / "journal.jsonl").read_bytes()


def test_changes_add_up_to_the_whole_whatever_the_pieces(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    following = Following(path)
    assert not following.look()
    assert following.snapshot()["header"]["state"] == "waiting"
    found: dict[str, object] = {}
    seen = 0
    with path.open("ab", buffering=0) as file:
        for start in range(0, len(journal), 97):
            file.write(journal[start : start + 97])
            assert following.look()
            changes = following.changes()
            seen += len(changes["decisions"])
            found |= {learner["learner"]: learner for learner in changes["learners"]}
    assert not following.look()
    whole = Account.of(read(path))
    assert found == learners(whole)
    assert seen == len(whole.decisions)
    assert following.snapshot()["decisions"] == story(whole)["decisions"]
    assert not following.trouble


def test_what_follows_a_selection_is_shown_while_the_run_still_holds_its_journal(finished_run: Path) -> None:
    with (finished_run / "journal.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (following := Following(finished_run / "journal.jsonl")).look()
        assert following.snapshot()["header"]["words"] == "finished; the learner is being prepared and saved"
    assert following.look()
    assert following.snapshot()["header"]["words"] == "finished"


def test_a_truncated_journal_is_read_again_from_its_start(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal + b'{"kind":"evalu')
    following = Following(path)
    following.look()
    lines = journal.split(b"\n")
    path.write_bytes(b"\n".join(lines[:10]) + b"\n")
    before = following.generation
    assert following.look()
    assert following.generation > before
    assert not following.trouble
    assert following.account
    assert following.account.decisions == Account.of(read(path)).decisions


def test_a_replaced_journal_is_read_from_its_start_and_a_missing_one_reported_once(
    journal: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal[: len(journal) // 2].rpartition(b"\n")[0] + b"\n")
    following = Following(path)
    following.look()
    (tmp_path / "other").write_bytes(journal)
    (tmp_path / "other").rename(path)
    assert following.look()
    assert following.generation == 2
    assert following.account
    assert following.account.state == "finished"
    path.unlink()
    assert following.look()
    assert following.snapshot()["header"]["trouble"] == "The journal is gone."
    assert not following.look()


def test_an_unknown_strategy_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    settings = {"strategy": "magic", "sizes": [1, 2], "learners": ["a"]}
    started = {"journal": "pydaub", "format": 1, "kind": "started", "settings": settings, "versions": {}}
    path.write_text(json.dumps(started, separators=(",", ":")) + "\n")
    following = Following(path)
    following.look()
    header = following.snapshot()["header"]
    assert header["state"] == "waiting"
    assert "magic" in header["trouble"]


@pytest.mark.parametrize("content", [b"nonsense\n", b'{"journal":"pydaub","format":1,"kind":"started"}\n', b"\xff\n"])
def test_a_file_that_is_no_journal_is_reported(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    following = Following(path)
    following.look()
    assert following.trouble
    assert json.dumps(following.snapshot())


def test_a_journal_of_another_format_is_said_to_be_one(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal.replace(b'"format":1', b'"format":2'))
    following = Following(path)
    following.look()
    assert "must be of journal format 1, got 2. Use the pydaub that wrote it" in following.trouble


def test_an_impossible_event_is_reported_and_earlier_ones_are_kept(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = journal.split(b"\n")
    path.write_bytes(
        b"\n".join([*lines[:6], b'{"kind":"asked","learner":"nobody","size":7,"bound":null,"priority":null}', b""])
    )
    following = Following(path)
    following.look()
    assert "cannot be followed" in following.trouble
    told = following.snapshot()
    assert told["learners"]
    assert told["header"]["words"] == "damaged: the rest of its journal cannot be read"
    assert told["header"]["verdict"]["line"].startswith("Before the damage: ")
