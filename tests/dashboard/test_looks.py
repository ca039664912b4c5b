"""How the page looks: at every width, light and dark, with few and many learners, odd names and scores of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dashboard.pages import CHROMIUM, needs_dashboard, watched
from dashboard.races import LONG, going, race
from dashboard.test_browser import PATIENCE, playwright
from pydaub import Account
from pydaub.dashboard.report import Report
from pydaub.runs.journal import read

pytestmark = [
    needs_dashboard,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
    pytest.mark.slow("browser"),
]


class Race(NamedTuple):
    """How many learners race, for which scores, until so many outcomes, and whether the report shows its end."""

    learners: int
    kind: str = "shares"
    until: int | None = None
    ends: bool = True


RACES = {
    "two": Race(2, until=3),
    "many": Race(52, until=90),
    "thousand": Race(1000, until=1100, ends=False),
    "tiny": Race(12, "tiny", until=20),
    "huge": Race(12, "huge", until=20),
}
WIDTHS = {390: 844, 900: 900, 1440: 900}
# Pairs of texts whose visible boxes overlap. Rotated names are left out: their boxes are larger than they are.
OVERLAPS = """() => {
  for (const each of [document.documentElement, ...document.querySelectorAll(".scroll")]) each.scrollTo(0, 0);
  const texts = [];
  const clips = new Map([[document.body, { left: -1e9, right: 1e9, top: -1e9, bottom: 1e9 }]]);
  const shared = (a, b) => ({
    left: Math.max(a.left, b.left), right: Math.min(a.right, b.right),
    top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom),
  });
  const clip = (element) => { // what is visible of the content of an element
    if (!clips.has(element)) {
      const above = clip(element.parentElement);
      const hides = getComputedStyle(element).overflow !== "visible";
      clips.set(element, hides ? shared(above, element.getBoundingClientRect()) : above);
    }
    return clips.get(element);
  };
  const root = document.querySelector("dialog[open]") ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, noscript, option, title, [transform]")) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const box = { ...shared({ left, right, top, bottom }, clip(parent)), node };
      if (box.right - box.left > 2 && box.bottom - box.top > 2) texts.push(box);
    }
  }
  texts.sort((a, b) => a.top - b.top);
  const found = [];
  texts.forEach((one, place) => {
    for (let next = place + 1; next < texts.length && texts[next].top < one.bottom - 3; next += 1) {
      const other = texts[next];
      if (one.node === other.node) continue; // two lines of one text
      const both = shared(one, other);
      if (both.right - both.left > 2) found.push([one, other].map(({ node }) => node.data.trim().slice(0, 40)));
    }
  });
  return found;
}"""
# Cells whose numbers or words are cut off.
CUT = """() => [...document.querySelectorAll("#ranking tbody td, #ranking thead th")]
  .filter((x) => !["learner", "remark"].includes(x.dataset.key) && x.scrollWidth > x.clientWidth + 1)
  .map((x) => x.textContent)"""
# Scores that were evaluated ahead and are not in the picture.
OUTSIDE = """() => [...document.querySelectorAll("#picture .guess")]
  .filter((x) => x.y.baseVal.value < 0 || x.y.baseVal.value > x.ownerSVGElement.viewBox.baseVal.height).length"""
# Everything that Tab reaches.
STOPS = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
  .filter((x) => x.tabIndex >= 0 && !x.disabled && x.checkVisibility()).length"""


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab that fails the test if the page logs an error."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield tab
    context.close()
    assert errors == []


def report(folder: Path) -> str:
    """Return the address of the report of a race."""
    account = Account.of(read(folder / "journal.jsonl"))
    file = folder / "report.html"
    file.write_text(Report(account, "a race").html, encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of the pages of races that are going on, and of a report of each."""
    root = tmp_path_factory.mktemp("live")
    addresses = {}
    with ExitStack() as held:
        for name, (count, kind, until, whole) in RACES.items():
            for place in ("going", "ended"):
                (root / place / name).mkdir(parents=True)
            folder = race(root / "going" / name, count, kind, until=until)
            addresses[f"report of {name}"] = report(race(root / "ended" / name, count, kind) if whole else folder)
            held.enter_context(going(folder))
        page = held.enter_context(watched(root / "going"))
        yield addresses | {name: f"{page.base}/run/{name}/#token={page.token}" for name in RACES}


def is_inside(tab: Any, selector: str) -> bool:
    """Return whether the first such cell is in sight without scrolling sideways."""
    cell, table = tab.locator(selector).first.bounding_box(), tab.locator("#ranking .scroll").bounding_box()
    return bool(cell["x"] + cell["width"] <= table["x"] + table["width"] + 1)


def barriers(tab: Any, inside: str | None = None) -> list[tuple[str, str]]:
    """Return what axe-core finds, each kind with the first element that it concerns; of many alike, look at a few."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    alike = ["tbody tr:nth-child(n + 9)", "#log li:nth-child(n + 5)", ".card:nth-child(n + 5)"]
    found = axe.run(tab, inside or {"exclude": [[each] for each in alike]}).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def resize(tab: Any, width: int) -> None:
    """Change the width of the page and wait until its chart has followed."""
    tab.set_viewport_size({"width": width, "height": WIDTHS[width]})
    tab.wait_for_function(
        "() => document.querySelector('#picture svg').viewBox.baseVal.width"
        " === Math.max(300, document.querySelector('#picture').clientWidth)"
    )


PAGES = [(name, kind) for name in RACES for kind in ("report of ", "")]


@pytest.mark.parametrize("number", range(len(PAGES)), ids=[kind + name for name, kind in PAGES])
def test_nothing_overlaps_is_cut_off_or_is_a_barrier(number: int, live: dict[str, str], tab: Any) -> None:
    """At every width; as axe-core is slow, it sees each page once, and each width in light and dark."""
    name, kind = PAGES[number]
    tab.emulate_media(color_scheme=("light", "dark")[number % 2])
    tab.goto(live[kind + name])
    playwright.expect(tab.locator("tbody tr")).to_have_count(min(RACES[name].learners, 150))
    for place, width in enumerate(WIDTHS):
        resize(tab, width)
        assert tab.evaluate(OVERLAPS) == []
        assert tab.evaluate(CUT) == []
        assert tab.evaluate(OUTSIDE) == 0
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert is_inside(tab, "tbody [data-key=expected]")
        assert width < 1000 or is_inside(tab, "tbody [data-key=status]")
        if place == number % len(WIDTHS):
            assert barriers(tab) == []
    assert tab.evaluate(STOPS) < 40, "the table is one tab stop"


def test_small_and_large_scores_are_readable(tmp_path: Path, tab: Any) -> None:
    for kind, wanted in (("tiny", r"^\d(\.\d+)?e-07$"), ("huge", r"^-\d{3},\d{3}$")):
        (folder := tmp_path / kind).mkdir()
        tab.goto(report(race(folder, 12, kind)))
        scores = [text for text in tab.locator("tbody [data-key=valid]").all_inner_texts() if text]
        assert len(scores) > 10
        assert len(set(scores)) > 5
        assert all(re.match(wanted, score) for score in scores)
        for key in ("expected", "valid"):
            assert not [text for text in tab.locator(f"tbody [data-key={key}]").all_inner_texts() if "0.0000" in text]
        ticks = tab.locator("#picture text[text-anchor=end]").all_text_contents()
        assert len(set(ticks)) == len(ticks) > 2


def test_dialogs_and_cards_overlap_nothing_and_have_no_barriers(live: dict[str, str], tab: Any) -> None:
    tab.goto(live["many"])
    tab.get_by_text("Training against validation").click()
    playwright.expect(tab.locator("#cards .card")).to_have_count(52)
    for width, scheme in zip(WIDTHS, ("dark", "light", "dark"), strict=True):
        tab.emulate_media(color_scheme=scheme)
        resize(tab, width)
        assert tab.evaluate(OVERLAPS) == []
        ways = (
            tab.locator("tbody button.link", has_text="WWW"),
            tab.locator("tbody").get_by_role("button", name="Drop …").last,
            tab.locator("#tiles .link"),
            tab.get_by_role("button", name="Notes …"),
            tab.get_by_role("button", name="Commands …"),
        )
        for opens in ways if width == min(WIDTHS) else ways[:1]:
            if opens in ways[-2:]:
                tab.locator("#aside summary").click()
            opens.click()
            dialog = tab.locator("dialog[open]")
            playwright.expect(dialog).to_have_count(1)
            assert tab.evaluate(OVERLAPS) == []
            assert dialog.evaluate("(x) => x.scrollWidth <= x.clientWidth + 1")
            assert barriers(tab, "dialog[open]") == []
            tab.keyboard.press("Escape")
            playwright.expect(dialog).to_have_count(0)


def test_a_live_page_shows_lanes_and_asks_before_a_waiting_learner_is_dropped(live: dict[str, str], tab: Any) -> None:
    tab.goto(live["many"])
    playwright.expect(tab.locator("#lanes li").first).to_contain_text("so far")
    playwright.expect(tab.locator("#next")).to_have_text(re.compile(r"^Next: .* rows, because .*\.$"))
    playwright.expect(tab.locator("#verdict")).to_contain_text("leads: accuracy")
    assert tab.title().startswith("running")
    tab.locator("#now summary").click()
    assert tab.locator("#best circle").count() > 1
    waiting = tab.locator("tbody tr", has_text="… waiting").first
    name = waiting.locator("[data-key=learner]").inner_text()
    waiting.get_by_role("button", name="Drop …").click()
    playwright.expect(tab.locator("#ask-h")).to_have_text(f"Drop {name}?")
    playwright.expect(tab.locator("#ask-yes")).to_have_text(f"Drop {name}")
    playwright.expect(tab.locator("#ask-no")).to_be_focused()
    tab.locator("#ask-no").click()
    assert tab.evaluate(OVERLAPS) == []


def test_the_address_remembers_and_the_keyboard_reaches_everything(tmp_path: Path, tab: Any) -> None:
    tab.goto(report(race(tmp_path, 52)))
    tab.get_by_text("Columns", exact=True).click()
    tab.locator("#choose").get_by_text("Log loss").click()
    tab.keyboard.press("Escape")
    tab.locator("thead button", has_text="Log loss").click()
    tab.locator("thead button", has_text="Log loss").press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    first, second = (tab.locator("tbody tr").nth(place).locator("[data-key=learner]").inner_text() for place in (0, 1))
    for _ in range(20):
        tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Space")
    playwright.expect(tab.locator("tbody tr").nth(1).get_by_role("checkbox")).to_be_checked()
    tab.locator("#where-words").click()
    tab.locator("#where").select_option(label="F1")
    tab.locator("#than").fill("0.8")
    tab.keyboard.press("Enter")
    count = tab.locator("#count").inner_text()
    assert count != "52 of 52"
    tab.reload()
    playwright.expect(tab.locator("#count")).to_have_text(count)
    assert tab.locator("th[aria-sort=ascending]").inner_text().startswith("Log loss")
    shown = tab.locator("tbody [data-key=learner]").all_inner_texts()
    assert shown[:2] == [first, second]
    losses = [float(text) for text in tab.locator('tbody [data-key="figures.log_loss"]').all_inner_texts()]
    assert losses == sorted(losses)
    playwright.expect(tab.get_by_label(f"Compare {second}", exact=True)).to_be_checked()
    playwright.expect(tab.locator("#picture .curve.h0")).to_have_count(2)  # the curve, and the key beside its name


def test_the_chart_is_read_zoomed_and_saved(tmp_path: Path, tab: Any) -> None:
    tab.goto(report(race(tmp_path, 52)))
    chart = tab.locator("#picture svg")
    chart.scroll_into_view_if_needed()
    spot = tab.locator("#picture circle.dot.leader").last.bounding_box()
    tab.mouse.move(spot["x"] + 3, spot["y"] + 3)
    playwright.expect(tab.locator("#tip")).to_contain_text("validation 0.")
    tab.mouse.down()
    tab.mouse.up()
    playwright.expect(tab.locator("tbody input:checked")).to_have_count(1)

    def marks() -> list[str]:
        return list(tab.locator("#picture text[text-anchor=end]").all_text_contents())

    before, box = marks(), chart.bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 500, box["y"] + 120, steps=4)
    tab.mouse.up()
    assert marks() != before
    tab.get_by_role("button", name="Zoom to the contenders").click()
    assert marks() == before
    tab.get_by_role("button", name="Show everything").click()
    assert marks() != before
    tab.locator("summary", has_text="Chart").click()
    tab.locator("#up").select_option("error")
    tab.keyboard.press("Escape")
    assert float(marks()[0]) < float(marks()[-1]) < 1
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        tab.locator("summary", has_text="Chart").click()
        with tab.expect_download() as download:
            tab.get_by_role("button", name=f"Download {kind}").click()
        assert Path(download.value.path()).read_bytes().startswith(start)


def test_on_paper_all_rows_are_shown_in_ink(tmp_path: Path, tab: Any) -> None:
    tab.emulate_media(color_scheme="dark")
    tab.goto(report(race(tmp_path, 200)))
    playwright.expect(tab.locator("tbody tr")).to_have_count(150)
    tab.emulate_media(color_scheme="dark", media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    playwright.expect(tab.locator("tbody tr")).to_have_count(200)
    colours = tab.evaluate("['header', '#verdict'].map((x) => getComputedStyle(document.querySelector(x)).color)")
    assert set(colours) == {"rgb(29, 35, 41)"}
    assert tab.locator("#ranking .scroll").evaluate("(x) => x.scrollHeight <= x.clientHeight + 1")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    playwright.expect(tab.locator("tbody tr")).to_have_count(150)


def test_a_long_name_is_whole_where_it_is_asked_for(tmp_path: Path, tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto(report(race(tmp_path, 52)))
    link = tab.locator("tbody button.link", has_text="learning_rate=0.05")
    assert link.get_attribute("title") == LONG
    link.click()
    playwright.expect(tab.locator("#detail-h")).to_have_text(LONG)
    assert tab.evaluate(OVERLAPS) == []
    assert tab.locator("#detail").evaluate("(x) => x.scrollWidth <= x.clientWidth + 1")
    assert tab.locator("#detail .scroll").evaluate("(x) => x.scrollWidth <= x.clientWidth + 1"), "no column is cut"
