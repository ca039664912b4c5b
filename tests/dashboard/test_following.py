"""A journal that grows is followed line by line, and what is no journal is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dashboard.pages import finished, needs_dashboard
from pydaub.dashboard.following import Following
from pydaub.runs.journal import read
from pydaub.views.story import Story

pytestmark = needs_dashboard


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return (finished(tmp_path_factory.mktemp("followed")) / "journal.jsonl").read_bytes()


def test_byte_by_byte_it_comes_to_the_same_story(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    following = Following(path)
    assert not following.look()
    assert following.snapshot()["header"]["state"] == "waiting"
    learners: dict[str, object] = {}
    seen = 0
    with path.open("ab", buffering=0) as file:
        for start in range(0, len(journal), 97):
            file.write(journal[start : start + 97])
            assert following.look()
            told = following.changes(seen)
            seen += len(told["decisions"])
            learners |= {one["name"]: one for one in told["learners"]}
    assert not following.look()
    whole = Story().take_all(read(path))
    assert learners == whole.told()
    assert seen == len(whole.decisions)
    assert following.snapshot()["decisions"] == whole.decisions
    assert not following.trouble


def test_a_journal_that_was_cut_is_read_again(journal: bytes, tmp_path: Path) -> None:
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
    assert following.story.decisions == Story().take_all(read(path)).decisions


def test_another_journal_in_its_place_is_a_new_story(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal[: len(journal) // 2].rpartition(b"\n")[0] + b"\n")
    following = Following(path)
    following.look()
    (tmp_path / "other").write_bytes(journal)
    (tmp_path / "other").rename(path)
    assert following.look()
    assert following.generation == 2
    assert following.story.state == "finished"
    path.unlink()
    assert following.look()
    assert following.snapshot()["header"]["trouble"] == "The journal is gone."
    assert not following.look(), "said once"


def test_a_strategy_that_is_not_known_is_said(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    settings = {"strategy": "magic", "sizes": [1, 2], "learners": ["a"]}
    started = {"journal": "pydaub", "format": 1, "kind": "started", "settings": settings}
    path.write_text(json.dumps(started, separators=(",", ":")) + "\n")
    following = Following(path)
    following.look()
    told = following.snapshot()["header"]
    assert told["state"] == "waiting"
    assert "magic" in told["trouble"]


@pytest.mark.parametrize("content", [b"nonsense\n", b'{"journal":"pydaub","format":1,"kind":"started"}\n', b"\xff\n"])
def test_what_is_no_journal_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    following = Following(path)
    following.look()
    assert following.trouble
    assert json.dumps(following.snapshot())


def test_an_event_that_does_not_fit_is_said_and_the_story_stays(journal: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = journal.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:6], b'{"kind":"asked","learner":"nobody","size":7,"bound":null}', b""]))
    following = Following(path)
    following.look()
    assert "cannot be followed" in following.trouble
    assert following.snapshot()["learners"]
