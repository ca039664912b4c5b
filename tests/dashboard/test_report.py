"""The report is one file that needs nothing else, and names in it are never markup."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cli.commands import call, numbers, refused
from pydaub import (
    Account,
    Allocation,
    Daub,
    DaubSearch,
    Failure,
    Journal,
    Measurement,
    Outcome,
    Schedule,
    Table,
    TableEngine,
    run,
)
from pydaub.dashboard.report import Report
from pydaub.runs.journal import read

EVIL = "</script><script>alert(1)</script>__NONCE__/*STYLE*/<!--STORY-->"


def account_of_evil_names(folder: Path) -> Account:
    """Return the account of a run with markup in a learner's name and in the message of a failure."""
    outcomes: dict[Allocation, Outcome] = {
        Allocation(name, size): Measurement(0.9, score + size / 1e4, 0.1)
        for name, score in (("tree", 0.7), (EVIL, 0.6))
        for size in (10, 20, 40, 80)
    }
    outcomes[Allocation("failing", 10)] = Failure("error", "<img src=x onerror=alert(1)>")
    table = Table(outcomes)
    strategy = Daub(table.learners, Schedule(table.sizes))
    with Journal(folder / "journal.jsonl", strategy.settings, {"scikit-learn": "1.0"}) as journal:
        run(strategy, TableEngine(table), journal)
    return Account.of(read(folder / "journal.jsonl"))


def test_a_report_is_one_file_and_names_in_it_are_never_markup(tmp_path: Path) -> None:
    text = Report(account_of_evil_names(tmp_path), EVIL, {"Request": {"data": EVIL}}).html
    assert text.count("<script") == text.count("</script>") == 2, "the page's own and the story"
    assert "<img" not in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    policy = re.search(r"script-src 'nonce-([^']+)'", text)
    assert policy
    assert f'<script nonce="{policy[1]}">' in text
    found = re.search(r'<script type="application/json" id="story">(.*?)</script>', text, flags=re.DOTALL)
    assert found
    story = json.loads(found[1])
    assert {learner["learner"] for learner in story["learners"]} == {"tree", EVIL, "failing"}
    assert story["header"]["state"] == "finished"
    assert set(story["about"]) == {"Failures", "Request", "Settings", "Versions"}
    assert "onerror" in story["about"]["Failures"]["1."]
    assert story["about"]["Versions"]["scikit-learn"] == "1.0"
    assert "<td>tree</td>" in text, "also without scripts"


def test_report_and_plot_write_files(finished_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (run / "notes.txt").write_text("the <b>first</b>\nof many\n")
    assert call("report", run, "--out", out).out.strip() == str(out)
    assert "<p>the &lt;b&gt;first&lt;/b&gt;</p><p>of many</p>" in out.read_text(), "also without scripts"
    assert '"notes":"the \\u003cb>first\\u003c/b>\\nof many"' in out.read_text()
    about = re.search(r'"about":({.*})}</script>', out.read_text())
    assert about
    assert set(json.loads(about[1])) == {"Request", "Settings", "Versions"}
    plots = call("plot", finished_run, "--formats", "svg", "--out", tmp_path)
    assert plots.code == 0, plots.err
    assert [Path(line).name for line in plots.out.split()] == ["figure1.svg", "figure2.svg", "curves.svg"]


def test_report_and_plot_say_what_they_cannot_do(finished_run: Path, tmp_path: Path) -> None:
    assert "got 'gif'" in refused("plot", finished_run, "--formats", "gif")
    assert "got none" in refused("plot", finished_run, "--formats", ",")
    nowhere = tmp_path / "no" / "such.html"
    assert "No such file" in refused("report", finished_run, "--out", nowhere)
    for command in ("report", "plot", "watch"):
        assert "must be the folder of a run" in refused(command, tmp_path)


def test_a_search_shows_its_page_in_a_notebook(tmp_path: Path) -> None:
    rows = numbers(400)
    learners = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())]
    for folder in (None, tmp_path / "search"):
        search = DaubSearch(learners, random_state=0, folder=folder).fit(rows[list("abcd")], rows["label"])
        shown = search.report_._repr_html_()
        assert shown.startswith("<iframe")
        assert shown.count("<") == 2, "the page in the frame is escaped"
        assert "</script>" in search.report_.html
        assert f"{search.best_learner_} is selected." in search.report_.html
        assert np.array_equal(search.predict(rows[list("abcd")]), search.best_estimator_.predict(rows[list("abcd")]))
