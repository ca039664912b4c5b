"""The list of runs in a real browser: 500 runs, every width, light and dark, with the keyboard alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.pages import CHROMIUM, needs_dashboard, watched
from dashboard.test_browser import PATIENCE, playwright
from dashboard.test_looks import OVERLAPS, STOPS, WIDTHS

pytestmark = [
    needs_dashboard,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
    pytest.mark.slow("browser"),
]
MANY = 500
HEBREW = "\u05e8\u05d9\u05e6\u05d4"


@pytest.fixture(scope="module")
def folder(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with many runs, some with names that are long or run from right to left, and one that was killed."""
    folder = tmp_path_factory.mktemp("many")
    names = [f"run-{number:03}" for number in range(MANY - 3)]
    for name in [*names, "n" * 120, HEBREW, "killed"]:
        (folder / name).mkdir()
        for file in ("run.json", "journal.jsonl", "result.json"):
            shutil.copy2(finished_run / file, folder / name / file)
    lines = (folder / "killed" / "journal.jsonl").read_bytes().split(b"\n")
    (folder / "killed" / "journal.jsonl").write_bytes(b"\n".join([*lines[:9], b""]))
    return folder


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab that fails the test if the page logs an error."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield tab
    context.close()
    assert [error for error in errors if not error.startswith("Failed to load resource")] == []


def rows(tab: Any) -> Any:
    return tab.locator("#runs tbody tr")


def test_many_runs_fit_every_width_and_have_no_barriers(folder: Path, tab: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    with watched(folder) as page:
        tab.goto(page.address)
        playwright.expect(rows(tab)).to_have_count(MANY)
        playwright.expect(tab.locator("#runs tr[data-state=reading]")).to_have_count(0)
        playwright.expect(tab.locator("#runs tr[data-state=killed]")).to_have_count(1)
        playwright.expect(tab.locator("#count")).to_have_text(f"{MANY} runs")
        assert "token" not in tab.url
        assert tab.evaluate(STOPS) < 10, "the list is one tab stop"
        for name in ("nnn", HEBREW, "killed"):
            tab.get_by_label("Search").fill(name)
            playwright.expect(rows(tab)).to_have_count(1)
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                for width, height in WIDTHS.items():
                    tab.set_viewport_size({"width": width, "height": height})
                    assert tab.evaluate("document.documentElement.scrollWidth") <= width
                    assert tab.evaluate(OVERLAPS) == []
                found = axe.run(tab).response["violations"]
                assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_a_person_compares_two_runs_notes_something_and_copies_a_command(folder: Path, tab: Any) -> None:
    """With the keyboard alone."""
    with watched(folder) as page:
        tab.goto(page.address)
        tab.get_by_label("Search").fill("run-00")
        playwright.expect(rows(tab)).to_have_count(10)
        tab.get_by_label("Sort by").select_option("Run")
        playwright.expect(tab.locator("th[aria-sort]")).to_have_text("Run")
        tab.locator("#runs thead button").first.focus()
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Space")
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Space")
        tab.get_by_role("button", name="Compare two").press("Enter")
        dialog = tab.locator("dialog[open]")
        playwright.expect(dialog).to_contain_text("Learners that both have tried")
        assert dialog.locator("thead").first.inner_text().split() == ["run-000", "run-001"]
        tab.keyboard.press("Escape")
        playwright.expect(dialog).to_have_count(0)

        first = rows(tab).first
        first.get_by_label("Add a note").press("Enter")
        tab.keyboard.press("Enter")  # an impatient person gets one dialog all the same
        playwright.expect(dialog.locator("textarea")).to_be_focused()
        tab.keyboard.press("Control+A")  # where its second Enter came late, it is a line
        tab.keyboard.type("<b>best</b> so far")
        dialog.get_by_role("button", name="Save").press("Enter")
        playwright.expect(first).to_contain_text("<b>best</b> so far")
        assert (folder / "run-000" / "notes.txt").read_text() == "<b>best</b> so far"

        first.get_by_label("Commands").press("Enter")
        dialog.get_by_role("button", name=re.compile("report")).press("Enter")
        playwright.expect(dialog).to_contain_text("Copied")
        assert tab.evaluate("navigator.clipboard.readText()") == f"pydaub report {folder / 'run-000'}"
        tab.keyboard.press("Escape")

        first.get_by_role("link").press("Enter")
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        assert (tab.url, "token" in tab.url) == (f"{page.base}/run/run-000/", False)
        tab.locator("#aside summary").click()
        tab.get_by_role("button", name="Notes").click()
        playwright.expect(dialog.locator("textarea")).to_have_value("<b>best</b> so far")
        tab.keyboard.press("Escape")
        tab.locator("#aside summary").click()
        tab.get_by_role("link", name="All runs").click()
        playwright.expect(rows(tab)).to_have_count(MANY)
    playwright.expect(tab.locator("#state")).to_contain_text("connection lost")
