"""The list of the runs in a folder: what it shows, how it stays up to date, and what it lets a person do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cli.commands import gated, numbers, refused, started, wait_until, written
from dashboard.pages import Page, needs_dashboard, watched
from pydaub import InputError
from pydaub.runs.folder import RunFolder
from pydaub.runs.notes import keep_notes
from pydaub.views.overview import line

httpx = pytest.importorskip("httpx", reason="needs httpx to ask the page")
pytestmark = needs_dashboard

AWKWARD = "ü b%2F#?&<b>"


@pytest.fixture(scope="module")
def folder(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, one of them killed, and other things."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(finished_run, folder / "whole")
    cut = Path(shutil.copytree(finished_run, folder / AWKWARD))
    lines = (cut / "journal.jsonl").read_bytes().split(b"\n")
    (cut / "journal.jsonl").write_bytes(b"\n".join([*lines[:9], b""]))
    damaged = Path(shutil.copytree(finished_run, folder / "damaged"))
    (damaged / "journal.jsonl").write_text("nonsense\n")
    (damaged / "result.json").unlink()
    (folder / "other").mkdir()
    (folder / "file.txt").touch()
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    with watched(folder) as page:
        yield page


def asked(page: Page, path: str) -> Any:
    return httpx.get(f"{page.base}/{path}", headers=page.keys, timeout=60)


def listed(page: Page) -> dict[str, dict[str, Any]]:
    """Return the list once every run in it has been read."""

    def lines() -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in asked(page, "runs").json()["runs"]}

    wait_until(lambda: (found := lines()) and all(one["state"] != "reading" for one in found.values()))
    return lines()


def test_every_run_is_listed_as_its_account_says(page: Page, folder: Path) -> None:
    found = listed(page)
    assert set(found) == {"whole", AWKWARD, "damaged"}
    for name in ("whole", AWKWARD):
        account = RunFolder(folder / name).account()
        assert found[name].items() >= line(account).items()
    assert (found["whole"]["state"], found[AWKWARD]["state"]) == ("finished", "killed")
    assert "not a journal" in found["damaged"]["trouble"]


def test_what_the_page_has_already_is_not_sent_again(page: Page) -> None:
    listed(page)
    version = asked(page, "runs").json()["version"]
    assert asked(page, f"runs?version={version}").json() == {"version": version}


def test_everything_needs_the_token(page: Page) -> None:
    for path in ("runs", "compare?run=whole&run=damaged", "run/whole/events", "run/whole/about"):
        assert httpx.get(f"{page.base}/{path}").status_code == 403
    for path in ("", "run/whole/", "run/no/"):
        answer = httpx.get(f"{page.base}/{path}")
        assert answer.status_code == 200
        assert "damaged" not in answer.text


@pytest.mark.parametrize("name", ["no", "..", "%2e%2e", "other", "..%2fwhole", ""])
def test_only_runs_of_the_folder_have_a_page(page: Page, name: str) -> None:
    assert asked(page, f"run/{name}/about").status_code == 404


def test_a_run_of_the_folder_has_its_own_page(page: Page) -> None:
    with httpx.stream("GET", f"{page.base}/run/{quote(AWKWARD, safe='')}/events", headers=page.keys) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line == "event: snapshot")
        sent = json.loads(next(lines).removeprefix("data: "))
    assert (sent["header"]["run"], sent["header"]["state"], sent["header"]["home"]) == (AWKWARD, "killed", True)


def test_two_runs_are_compared(page: Page) -> None:
    listed(page)
    found = httpx.get(f"{page.base}/compare", params={"run": ["whole", AWKWARD]}, headers=page.keys).json()
    assert found["runs"] == ["whole", AWKWARD]
    assert found["common"] > 0
    for wrong in (["whole"], ["whole", "whole"], ["whole", "../x"], ["whole", AWKWARD, "damaged"]):
        answer = httpx.get(f"{page.base}/compare", params={"run": wrong}, headers=page.keys)
        assert (answer.status_code, "two runs" in answer.json()["error"]) == (400, True)
    damaged = httpx.get(f"{page.base}/compare", params={"run": ["whole", "damaged"]}, headers=page.keys)
    assert (damaged.status_code, "not a journal" in damaged.json()["error"]) == (409, True)


def noted(page: Page, body: object, **headers: str) -> Any:
    return httpx.post(f"{page.base}/run/whole/notes", json=body, headers={**page.keys, **headers})


def test_notes_are_kept_in_the_folder_of_the_run(page: Page, folder: Path) -> None:
    assert noted(page, {"text": "first try\nmore", "before": ""}).json() == {"notes": "first try\nmore"}
    assert (folder / "whole" / "notes.txt").read_text() == "first try\nmore"
    assert asked(page, "run/whole/about").json()["notes"] == "first try\nmore"
    wait_until(lambda: listed(page)["whole"]["notes"] == "first try")
    assert noted(page, {"text": "other", "before": ""}).status_code == 409
    assert noted(page, {"text": "other", "before": "first try\nmore"}, Origin="http://evil.example").status_code == 403
    bad: tuple[object, ...] = ({}, [], {"text": 5, "before": ""}, {"text": "x" * 500_000, "before": ""})
    for wrong in bad:
        assert noted(page, wrong).status_code == 400
    assert noted(page, {"text": "x" * 20_001, "before": "first try\nmore"}).status_code == 409
    assert (folder / "whole" / "notes.txt").read_text() == "first try\nmore"
    half = httpx.post(
        f"{page.base}/run/whole/notes",
        content=rb'{"text": "half \ud83d", "before": "first try\nmore"}',
        headers={**page.keys, "Content-Type": "application/json"},
    )
    assert (half.status_code, half.json()) == (200, {"notes": "half ?"})


def test_notes_that_are_a_link_are_neither_shown_nor_written(page: Page, folder: Path) -> None:
    private, link = folder.parent / "private.txt", folder / AWKWARD / "notes.txt"
    private.write_text("private")
    link.symlink_to(private)
    try:
        assert asked(page, f"run/{quote(AWKWARD, safe='')}/about").json()["notes"] == ""
        assert listed(page)[AWKWARD]["notes"] == ""
        with pytest.raises(InputError, match="it is a link"):
            keep_notes(folder / AWKWARD, "mine", "")
        assert private.read_text() == "private"
    finally:
        link.unlink()


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    assert "must be the folder of a run" in refused("watch", tmp_path, "--no-browser")


@pytest.mark.slow("processes")
def test_states_stay_up_to_date(tmp_path: Path) -> None:
    """A run that begins, that is killed, and one that is deleted."""
    runs, gate = tmp_path / "runs", tmp_path / "gate"
    gate.touch()
    data, mine = written(numbers(), tmp_path / "data.csv"), gated(tmp_path / "mine.py", gate, 100)
    options = ["--target", "label", "--learners", mine, "--jobs", 1, "--quiet"]
    with started("run", data, *options, "--out", runs / "one"):
        wait_until((runs / "one" / "journal.jsonl").exists)
        with watched(runs) as page:
            wait_until(lambda: listed(page)["one"]["state"] == "running")
            with started("run", data, *options, "--out", runs / "two") as second:
                wait_until(lambda: listed(page).get("two", {}).get("state") == "running")
                second.kill()
                wait_until(lambda: listed(page)["two"]["state"] == "killed")
            shutil.rmtree(runs / "two")
            wait_until(lambda: set(listed(page)) == {"one"})
            gate.unlink()
            wait_until(lambda: listed(page)["one"]["state"] == "finished")
