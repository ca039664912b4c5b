"""Measure the live page with many learners in a real browser: time until it is drawn, and cost of each update.

    python benchmarks/dashboard.py [--learners 1000] [--sizes 12] [--chromium PATH] [--picture FILE.png]

The journal of a run on random curves is written beforehand. All but its last events are there when the page is opened;
the others are appended ten per second, as a running search would do. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import fcntl
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright

from pydaub import Allocation, Elimination, Journal, Measurement, Schedule, Table, TableEngine, run
from pydaub.dashboard.serving import serve
from pydaub.records import Scores

LATE = 100  # outcomes that arrive while the page is open
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
BUSY = """() => { window.slow = []; new PerformanceObserver((list) => { for (const one of list.getEntries())
 window.slow.push(one.duration); }).observe({ entryTypes: ["longtask"] }); }"""


def journalled(folder: Path, learners: int, sizes: int) -> bytes:
    """Return the journal of a run in which every learner gets every size."""
    rng = random.Random(0)
    schedule = Schedule(tuple(500 * 2**place for place in range(sizes)))
    outcomes = {}
    for number in range(learners):
        for place, size in enumerate(schedule.sizes):
            valid = 0.5 + 0.03 * place + rng.gauss(0, 0.002)
            outcomes[Allocation(f"learner-{number}", size)] = Measurement(1.0, valid, size / 1e4)
    strategy = Elimination(Table(outcomes).learners, schedule)
    with Journal(
        folder / "whole.jsonl", {**strategy.settings, "scores": Scores("accuracy", 10_000).to_json()}
    ) as journal:
        run(strategy, TableEngine(Table(outcomes), 4), journal)
    return (folder / "whole.jsonl").read_bytes()


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=1000, help="number of learners (default: 1000)")
    parser.add_argument("--sizes", type=int, default=12, help="sizes for each learner (default: 12)")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="path of the browser")
    parser.add_argument("--picture", type=Path, help="save a screenshot here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = journalled(folder, arguments.learners, arguments.sizes).splitlines(keepends=True)
        late = [place for place, line in enumerate(lines) if b'"evaluated"' in line][-LATE]
        journal = folder / "journal.jsonl"
        journal.write_bytes(b"".join(lines[:late]))
        address = _served(folder)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=arguments.chromium, args=FLAGS)
            tab = browser.new_page(viewport={"width": 1300, "height": 1000})
            tab.add_init_script(f"({BUSY})()")
            began = time.perf_counter()
            tab.goto(address)
            tab.locator("#count", has_text=str(arguments.learners)).wait_for()
            tab.locator("#cards svg").first.wait_for(state="attached")
            opened = time.perf_counter() - began
            tab.evaluate("window.slow.length = 0")
            with journal.open("ab", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # as a running search does
                for line in lines[late:]:
                    file.write(line)
                    if b'"evaluated"' in line:
                        time.sleep(0.1)
            time.sleep(1.5)
            slow = tab.evaluate("window.slow")
            heap = tab.evaluate("performance.memory ? performance.memory.usedJSHeapSize / 1e6 : 0")
            if arguments.picture:
                tab.screenshot(path=arguments.picture)
            state = tab.locator("#state").inner_text()
            browser.close()
    print(f"{arguments.learners} learners, {len(lines):,} events; {state}")
    print(f"drawn after {opened:.2f} s; {heap:.0f} MB of JavaScript heap")
    longest, middle = max(slow, default=0.0), statistics.median(slow) if slow else 0.0
    print(
        f"while {LATE} outcomes arrived: {len(slow)} tasks over 50 ms, median {middle:.0f} ms, longest {longest:.0f} ms"
    )


def _served(folder: Path) -> str:
    """Start the server of the page in a thread and return its address, which it prints to standard error."""
    printed, before = StringIO(), sys.stderr
    sys.stderr = printed
    threading.Thread(target=serve, args=(folder,), kwargs={"browse": False}, daemon=True).start()
    while "http" not in printed.getvalue():
        time.sleep(0.01)
    sys.stderr = before
    return "http" + printed.getvalue().split("http")[1].split()[0]


if __name__ == "__main__":
    main()
