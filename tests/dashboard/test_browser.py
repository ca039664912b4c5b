"""The page in a real browser: Chromium, driven by Playwright, on real runs."""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from cli.commands import numbers, started, wait_until, written
from dashboard import races
from dashboard.pages import CHROMIUM, finished, needs_dashboard, watched
from pydaub.events import Evaluated, Steered
from pydaub.records import score_text
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import read
from pydaub.views.lines import lines
from pydaub.views.summary import duration

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright to drive a browser")
pytestmark = [
    needs_dashboard,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]
PATIENCE = 60_000  # milliseconds until a test fails
playwright.expect.set_options(timeout=PATIENCE)

CONNECTIONS = 6  # of a browser to one server
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

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


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab that fails the test if the page logs an error or requests anything from another host."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda line: errors.append(line.text) if _is_error(line) else None)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(str(request.url)))
    yield tab
    context.close()
    assert errors == []
    assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in asked)


def _is_error(line: Any) -> bool:
    """Return whether a line of the console is an error of the page; some tests stop its server on purpose."""
    return bool(line.type == "error" and not line.text.startswith("Failed to load resource"))


def names(tab: Any) -> list[str]:
    return list(tab.locator("tbody [data-key=learner]").all_inner_texts())


def state(tab: Any) -> str:
    return str(tab.locator("#state").get_attribute("data-state"))


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Path]:
    """The folder of a run in which one learner hangs from 100 rows on until the file `gate` exists."""
    mine = tmp_path / "mine.py"
    tests = str(Path(__file__).parents[1])
    mine.write_text(LEARNERS.format(tests=tests, gate=str(tmp_path / "gate"), pids=str(tmp_path / "pids")))
    data, folder = written(numbers(3000), tmp_path / "data.csv"), tmp_path / "run"
    options = ["--target", "label", "--learners", mine, "--out", folder, "--jobs", "1", "--quiet"]
    with started("run", data, *options):
        wait_until((tmp_path / "pids").exists)
        yield folder
        (tmp_path / "gate").touch()


def test_a_finished_run_is_shown_with_its_learners(finished_run: Path, tab: Any) -> None:
    with watched(finished_run) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("tbody tr")).to_have_count(3)
        assert names(tab) == [line.learner for line in lines(RunFolder(finished_run).account())]
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        playwright.expect(tab.locator("#facts")).to_contain_text("Elapsed")
        assert tab.locator("#facts dd").all_text_contents().count("") == 0
        playwright.expect(tab.locator("#certificate")).to_contain_text("Selected ")
        playwright.expect(tab.locator("#audit")).not_to_be_empty()
        assert tab.locator("#log li").count() > 3
        titles = [re.sub(r"\W", "", title) for title in tab.locator("thead th").all_inner_texts()]
        assert titles[1:4] == ["Learner", "Expected", "Status"]
        tiles = tab.locator("#tiles li")
        playwright.expect(tiles).to_have_count(4)
        playwright.expect(tiles.first).to_contain_text("Selected")
        playwright.expect(tab.locator("#steps button")).to_have_text(["Predict …", "Use in Python …", "Report …"])
        tab.get_by_role("button", name="Use in Python").click()
        playwright.expect(tab.locator("dialog[open]")).to_contain_text("pydaub.load(")
        tab.keyboard.press("Escape")
        first = tab.locator("tbody tr").first
        playwright.expect(first).to_contain_text("★ selected")
        first.locator("button").click()
        dialog = tab.locator("#detail")
        playwright.expect(dialog).to_contain_text("★ Selected: with all")
        playwright.expect(dialog.locator(".about")).to_have_text(re.compile(r"^[A-Z].*\.$"))
        playwright.expect(dialog.locator("svg circle").first).to_be_attached()
        assert dialog.locator(".steer button").count() == 0, "nothing can be steered any more"
        assert not [id_ for id_ in ("pause", "stop", "add") if tab.locator(f"#{id_}").is_visible()]


def test_the_page_writes_numbers_as_python_does(tab: Any) -> None:
    """Of any size, close to 1, at the ends of each range, and halfway between two roundings."""
    chance = random.Random(1)
    halves = [place / 2**power for power in (1, 2, 5, 6) for place in range(1, 64, 2)]
    scores = [10 ** chance.uniform(-9, 17) for _ in range(200)] + [1 - 10 ** chance.uniform(-14, 0) for _ in range(200)]
    ends = [1e-4, 1e-3, 0.999, 0.9999, 1.0, 1e4, 1e15, 0.99949999, 9999.99995, 99999.5, 100000.5]
    values = [0.0, *(sign * value for value in (*scores, *halves, *ends) for sign in (1, -1))]
    times = [
        0.0,
        0.05,
        9.95,
        9.96,
        119.5,
        119.6,
        120.0,
        7199.9,
        7200.0,
        *halves,
        *(119 * chance.random() for _ in range(99)),
    ]
    times += [10 ** chance.uniform(-2, 8) for _ in range(200)]
    tab.goto("about:blank")
    tab.add_script_tag(content=(files("pydaub.dashboard") / "static" / "format.js").read_text(encoding="utf-8"))
    written = tab.evaluate("([values, times]) => [values.map(number), times.map(duration)]", [values, times])
    assert dict(zip(values, written[0], strict=True)) == {value: score_text(value) for value in values}
    assert dict(zip(times, written[1], strict=True)) == {seconds: duration(seconds) for seconds in times}


@pytest.mark.slow("browser")
def test_a_person_pauses_a_run_and_drops_a_learner_that_hangs(race: Path, tab: Any) -> None:
    with watched(race) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("tbody tr")).to_have_count(4)
        assert state(tab) == "running"
        hanging = tab.locator("tbody tr", has_text="gated")
        playwright.expect(hanging).to_contain_text("training")
        playwright.expect(hanging).to_contain_text("rows")
        assert tab.locator("tbody b").count() == 0, "names are text, not markup"
        assert tab.get_by_role("button", name="<b>bold</b>").count() >= 1

        tab.get_by_role("button", name="Pause").click()
        playwright.expect(tab.locator("#state")).to_contain_text("paused")
        playwright.expect(tab.get_by_role("button", name="Resume")).to_be_visible()

        tab.get_by_role("button", name="gated").first.click()
        dialog = tab.locator("#detail")
        playwright.expect(dialog).to_contain_text("every learner starts")
        dialog.get_by_role("button", name="Drop …").click()
        playwright.expect(tab.locator("#ask")).to_contain_text("the work on this size is lost")
        tab.locator("#ask-yes").click()
        playwright.expect(hanging).to_contain_text("dropped")
        playwright.expect(dialog.get_by_role("button", name="Restore")).to_be_visible()
        tab.keyboard.press("Escape")
        playwright.expect(tab.locator("#log")).to_contain_text("gated was dropped by hand.")

        before = sum(isinstance(event, Evaluated) for event in read(race / "journal.jsonl"))
        tab.get_by_role("button", name="Resume").click()
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        assert sum(isinstance(event, Evaluated) for event in read(race / "journal.jsonl")) > before
        playwright.expect(tab.locator("#certificate")).to_contain_text("Selected tree: accuracy")
        commands = [event.command for event in read(race / "journal.jsonl") if isinstance(event, Steered)]
        assert commands == ["pause", "drop", "resume"]
        assert not tab.locator("#pause").is_visible()
        focused = tab.evaluate("document.activeElement.tagName")
        assert focused != "BODY", "the button that was pressed is gone"


@pytest.mark.slow("browser")
def test_an_open_tab_comes_back_to_life_when_the_page_is_restarted(race: Path, tab: Any) -> None:
    with watched(race) as page:
        tab.goto(page.address)
        tab.get_by_text("Training against validation").click()
        playwright.expect(tab.locator("#cards .card")).to_have_count(4)
        before = tab.locator("#cards svg circle.c").count()
        assert "token" not in tab.url, "the token is not in the address bar"
        tab.reload()
        playwright.expect(tab.locator("tbody tr")).to_have_count(4)
        playwright.expect(tab.locator("#heard")).to_contain_text("last heard")
        port = page.base.rsplit(":", 1)[1]
    playwright.expect(tab.locator("#state")).to_contain_text("connection lost")
    assert not [id_ for id_ in ("pause", "stop", "add") if tab.locator(f"#{id_}").is_visible()]
    tab.evaluate("void document.getElementById('pause').onclick()")
    playwright.expect(tab.locator("#ask")).to_contain_text("there is no connection")
    tab.locator("#ask-yes").click()
    assert state(tab) == "lost", "a command changes nothing about that"
    (race.parent / "gate").touch()
    with watched(race, "--port", port) as again:
        assert again.token == page.token
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        playwright.expect(tab.locator("#heard")).to_be_hidden()
        tab.get_by_text("Training against validation").click()
        playwright.expect(tab.locator("#cards .card")).to_have_count(4)
        assert tab.locator("#cards svg circle.c").count() > before
        tab.locator("#spent summary").click()
        playwright.expect(tab.locator("#allocation path.bar").first).to_be_attached()
        bars = [path.get_attribute("d") for path in tab.locator("#allocation path.bar").all()]
        assert sum(bar.count("M") for bar in bars) == 4
        assert tab.locator("#allocation path[data-status=selected]").count() == 1
    playwright.expect(tab.locator("#heard")).to_contain_text("no connection")
    assert state(tab) == "finished"


@pytest.mark.slow("browser")
def test_a_half_open_connection_is_noticed_and_mended(race: Path, tab: Any) -> None:
    """As after a sleep: the connection is there, and nothing comes."""
    with watched(race) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("#state")).to_contain_text("running")
        page.process.send_signal(signal.SIGSTOP)
        playwright.expect(tab.locator("#state")).to_contain_text("connection lost")
        playwright.expect(tab.locator("#heard")).to_contain_text(re.compile(r"^last heard \d+ s ago"))
        page.process.send_signal(signal.SIGCONT)
        playwright.expect(tab.locator("#state")).to_contain_text("running")


@pytest.mark.slow("browser")
def test_more_tabs_than_a_browser_has_connections_stay_true(tmp_path: Path, tab: Any) -> None:
    """Without a window, Chromium hides no tab: whether one is hidden is set by hand, and its clock put forward."""
    tabs = [tab, *(tab.context.new_page() for _ in range(CONNECTIONS))]
    with ExitStack() as going, watched(going.enter_context(races.going(races.race(tmp_path, 2, until=3)))) as page:
        for each in tabs:
            each.clock.install()
            each.goto(page.address)
            playwright.expect(each.locator("#state")).to_contain_text("running")
            each.evaluate(HIDE, True)
        tabs[1].evaluate(HIDE, False)
        going.close()
        playwright.expect(tabs[1].locator("#state")).to_contain_text("killed")
        tabs[0].clock.fast_forward(15_000)
        playwright.expect(tabs[0]).to_have_title(re.compile("^killed"))
        tabs[2].evaluate(HIDE, False)
        playwright.expect(tabs[2].locator("#state")).to_contain_text("killed")


@pytest.mark.slow("browser")
def test_an_address_without_its_token_says_so_and_another_one_can_be_given(finished_run: Path, tab: Any) -> None:
    with watched(finished_run) as page:
        tab.goto(page.base)
        playwright.expect(tab.locator("#state")).to_contain_text("not valid")
        tab.goto(page.address)
        playwright.expect(tab.locator("#state")).to_contain_text("finished")
        playwright.expect(tab.locator("#title")).to_have_text(finished_run.name)


@pytest.mark.slow("browser")
def test_learners_can_be_sorted_searched_filtered_and_compared(tmp_path: Path, tab: Any) -> None:
    folder = finished(tmp_path, "tree,knn-5,naive-bayes-gaussian,logistic,stump")
    with watched(folder) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("tbody tr")).to_have_count(5)
        found = [float(text.split()[0]) for text in tab.locator("tbody [data-key=expected]").all_inner_texts() if text]
        assert found == sorted(found, reverse=True)
        tab.locator("thead button", has_text="Learner").click()
        assert names(tab) == sorted(names(tab))
        tab.locator("thead button", has_text="Learner").click()
        assert names(tab) == sorted(names(tab), reverse=True)
        assert tab.locator("th[aria-sort=descending]").inner_text().startswith("Learner")
        tab.get_by_label("Search").fill("knn")
        playwright.expect(tab.locator("tbody tr")).to_have_count(1)
        tab.get_by_label("Search").fill("")
        offered = set(tab.locator("#only option").all_inner_texts())
        assert offered == {
            "all",
            *(text.split(" ", 1)[1] for text in tab.locator("td[data-key=status]").all_inner_texts()),
        }
        tab.locator("#only").select_option("selected")
        playwright.expect(tab.locator("tbody tr")).to_have_count(1)
        tab.locator("#only").select_option("")
        tab.get_by_label("Compare tree", exact=True).check()
        tab.get_by_label("Compare knn-5").check()
        tab.locator("summary", has_text="Chart").click()
        tab.get_by_label("only compared").check()
        assert tab.locator("#picture path.curve").count() == 2
        assert sorted(tab.locator("#picture text.name title").all_text_contents()) == ["knn-5", "tree"]
        tab.get_by_label("only compared").uncheck()
        tab.keyboard.press("Escape")
        assert not tab.get_by_label("only compared").is_visible(), "Escape closes a menu"
        playwright.expect(tab.locator("summary", has_text="Chart")).to_be_focused()
        # With the keyboard alone: open a learner, read its history, close it.
        tab.get_by_role("button", name="tree", exact=True).first.focus()
        tab.keyboard.press("Enter")
        playwright.expect(tab.locator("#detail")).to_contain_text("History")
        tab.keyboard.press("Escape")
        assert not tab.locator("#detail").is_visible()


@pytest.mark.slow("browser")
def test_a_killed_run_is_shown_as_killed_and_as_running_once_it_is_resumed(race: Path, tab: Any) -> None:
    with watched(race) as page:
        tab.goto(page.address)
        playwright.expect(tab.locator("#state")).to_contain_text("running")
        pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _runs(entry.name, str(race))]
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        playwright.expect(tab.locator("#state")).to_contain_text("killed")
        playwright.expect(tab.locator("#certificate")).to_contain_text("was killed or interrupted")
        assert not tab.locator("#pause").is_visible()
        playwright.expect(tab.locator("#steps button").first).to_have_text("Continue …")
        with started("resume", race, "--jobs", "1", "--quiet"):
            playwright.expect(tab.locator("#state")).to_contain_text("running")
            playwright.expect(tab.locator("#log")).to_contain_text("The run was resumed.")
            assert tab.title().startswith("running")
        playwright.expect(tab.locator("#state")).to_contain_text("killed")


@pytest.mark.slow("browser")
def test_it_fits_a_phone_has_two_colour_schemes_and_names_every_control(finished_run: Path, tab: Any) -> None:
    with watched(finished_run) as page:
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
