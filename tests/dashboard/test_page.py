"""The page in a real browser: Chromium, driven by Playwright, on runs that are really going on."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.commands import numbers, started, wait_until, written
from dashboard.pages import finished, needs_dashboard, watched
from pydaub.records import Evaluated, Steered
from pydaub.runs.journal import read

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright to drive a browser")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = [
    needs_dashboard,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]
PATIENCE = 60_000  # milliseconds; nothing is measured by it

LEARNERS = """
import sys
sys.path.insert(0, {tests!r})
import faulty
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
learners = {{
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(),
    "<b>bold</b>": DecisionTreeClassifier(max_depth=2),
    "gated": faulty.Gated({gate!r}, {pids!r}, closed_from=100),
}}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab that fails the test where the page has an error, or asks for anything from elsewhere."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console", lambda line: errors.append(line.text) if line.type == "error" and "ERR_" not in line.text else None
    )
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(str(request.url)))
    yield tab
    context.close()
    assert errors == []
    assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in asked)


def names(tab: Any) -> list[str]:
    return list(tab.locator("tbody td:nth-child(2)").all_inner_texts())


def state(tab: Any) -> str:
    return str(tab.locator("#state").get_attribute("data-state"))


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Path]:
    """The folder of a run in which one learner hangs from 100 rows on until there is a file `gate`."""
    mine = tmp_path / "mine.py"
    tests = str(Path(__file__).parents[1])
    mine.write_text(LEARNERS.format(tests=tests, gate=str(tmp_path / "gate"), pids=str(tmp_path / "pids")))
    data, folder = written(numbers(3000), tmp_path / "data.csv"), tmp_path / "run"
    options = ["--target", "label", "--learners", mine, "--out", folder, "--jobs", "1", "--quiet"]
    with started("run", data, *options):
        wait_until((tmp_path / "pids").exists)
        yield folder
        (tmp_path / "gate").touch()


@pytest.mark.slow("browser")
def test_a_person_watches_a_run_pauses_it_and_drops_the_learner_that_hangs(race: Path, tab: Any) -> None:
    with watched(race) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("tbody tr")).to_have_count(4)
        assert state(tab) == "running"
        hanging = tab.locator("tbody tr", has_text="gated")
        playwright.expect(hanging).to_contain_text("running")
        assert tab.locator("tbody b").count() == 0, "names are text, not markup"
        assert tab.get_by_role("button", name="<b>bold</b>").count() >= 1

        tab.get_by_role("button", name="Pause").click()
        playwright.expect(tab.locator("#state")).to_contain_text("paused")
        playwright.expect(tab.get_by_role("button", name="Resume")).to_be_visible()

        tab.get_by_role("button", name="gated").first.click()
        dialog = tab.locator("#detail")
        playwright.expect(dialog).to_contain_text("every learner begins")
        dialog.get_by_role("button", name="Drop").click()
        tab.locator("#ask-yes").click()
        playwright.expect(hanging).to_contain_text("dropped")
        playwright.expect(dialog.get_by_role("button", name="Restore")).to_be_visible()
        tab.keyboard.press("Escape")
        playwright.expect(tab.locator("#log")).to_contain_text("Somebody dropped gated.")

        before = sum(isinstance(event, Evaluated) for event in read(race / "journal.jsonl"))
        tab.get_by_role("button", name="Resume").click()
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        assert sum(isinstance(event, Evaluated) for event in read(race / "journal.jsonl")) > before
        playwright.expect(tab.locator("#certificate")).to_contain_text("Selected tree: accuracy")
        commands = [event.command for event in read(race / "journal.jsonl") if isinstance(event, Steered)]
        assert commands == ["pause", "drop", "resume"]
        assert tab.get_by_role("button", name="Pause").is_disabled()


@pytest.mark.slow("browser")
def test_curves_grow_and_it_survives_a_restart_of_the_page(race: Path, tab: Any) -> None:
    with watched(race, "--port", "0") as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("#cards .card")).to_have_count(4)
        before = tab.locator("#cards svg circle").count()
        port = page.base.rsplit(":", 1)[1]
    playwright.expect(tab.locator("#state")).to_contain_text("no connection")
    (race.parent / "gate").touch()
    with watched(race, "--port", port) as again:
        assert again.token != page.token, "a new process has a new token, and the old page does not get in"
        tab.goto(again.address)
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        assert tab.locator("#cards svg circle").count() > before
        assert (tab.locator("#allocation path.bar").get_attribute("d") or "").count("M") == 3
        assert (tab.locator("#allocation path.won").get_attribute("d") or "").count("M") == 1


def test_a_finished_run_can_be_sorted_searched_and_compared(tmp_path: Path, tab: Any) -> None:
    folder = finished(tmp_path, "tree,knn-5,naive-bayes-gaussian,logistic,stump")
    with watched(folder) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("tbody tr")).to_have_count(5)
        found = [
            int(re.split(r"\D", text.replace(",", ""))[0])
            for text in tab.locator("tbody td:nth-child(3)").all_inner_texts()
        ]
        assert found == sorted(found, reverse=True), "the largest size comes first"
        tab.locator("thead button", has_text="Learner").click()
        assert names(tab) == sorted(names(tab))
        tab.locator("thead button", has_text="Learner").click()
        assert names(tab) == sorted(names(tab), reverse=True)
        assert tab.locator("th[aria-sort=descending]").inner_text().startswith("Learner")
        tab.get_by_label("Search").fill("knn")
        playwright.expect(tab.locator("tbody tr")).to_have_count(1)
        tab.get_by_label("Search").fill("")
        tab.get_by_label("Status").select_option("selected")
        playwright.expect(tab.locator("tbody tr")).to_have_count(1)
        tab.get_by_label("Status").select_option("")
        tab.get_by_label("Compare tree").check()
        tab.get_by_label("Compare knn-5").check()
        tab.get_by_role("button", name="Compare 2").click()
        playwright.expect(tab.locator("#detail")).to_contain_text("tree, knn-5")
        assert tab.locator("#detail svg polyline.v").count() == 2
        tab.keyboard.press("Escape")
        # By keyboard alone: to a learner, its history, and out again.
        tab.get_by_role("button", name="tree", exact=True).first.focus()
        tab.keyboard.press("Enter")
        playwright.expect(tab.locator("#detail")).to_contain_text("History")
        tab.keyboard.press("Escape")
        assert not tab.locator("#detail").is_visible()


@pytest.mark.slow("browser")
def test_a_run_that_was_killed_is_shown_as_such(race: Path, tab: Any) -> None:
    with watched(race) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("#state")).to_contain_text("running")
        pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _runs(entry.name, str(race))]
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        playwright.expect(tab.locator("#state")).to_contain_text("killed")
        assert tab.get_by_role("button", name="Pause").is_disabled()


@pytest.mark.slow("browser")
def test_it_fits_a_phone_and_both_colour_schemes_and_has_names_for_everything(tmp_path: Path, tab: Any) -> None:
    with watched(finished(tmp_path)) as page:
        tab.set_viewport_size({"width": 375, "height": 740})
        colours = []
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            tab.goto(page.address)
            playwright.expect(tab.locator("tbody tr")).to_have_count(3)
            colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        assert colours[0] != colours[1]
        unnamed = tab.evaluate(
            "[...document.querySelectorAll('button, input, select')].filter((x) => !x.textContent.trim()"
            " && !x.getAttribute('aria-label') && !x.labels?.length).length"
        )
        assert unnamed == 0
        assert tab.evaluate(
            "[...document.querySelectorAll('svg[role=img]')].every((x) => x.getAttribute('aria-label'))"
        )


def _runs(pid: str, folder: str) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return False
    return "run" in command and folder in command and bool(re.search("python", command[0]))
