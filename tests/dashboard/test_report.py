"""The report is one file that needs nothing else, and names in it are never markup."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cli.commands import call, numbers, refused, written
from pydaub import DaubSearch

EVIL = "</script><script>alert(1)</script>__NONCE__/*STYLE*/<!--STORY-->"
LEARNERS = f"""
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

class Failing(GaussianNB):
    def fit(self, X, y):
        raise ValueError("<img src=x onerror=alert(1)>")

learners = {{"tree": DecisionTreeClassifier(), {EVIL!r}: GaussianNB(), "failing": Failing()}}
"""


def test_a_report_is_one_file_and_names_in_it_are_never_markup(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(LEARNERS)
    data, folder = written(numbers(), tmp_path / "data.csv"), tmp_path / "run"
    done = call("run", data, "--target", "label", "--learners", mine, "--out", folder, "--jobs", 1, "--quiet")
    assert done.code == 0, done.err
    assert call("report", folder).out.strip() == str(folder / "report.html")
    text = (folder / "report.html").read_text()
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
    assert story["about"]["Versions"]["scikit-learn"]
    assert "<td>tree</td>" in text, "also without scripts"

    plots = call("plot", folder, "--formats", "svg")
    assert plots.code == 0, plots.err
    assert [Path(line).name for line in plots.out.split()] == ["figure1.svg", "figure2.svg", "curves.svg"]
    assert "got 'gif'" in refused("plot", folder, "--formats", "gif")
    assert "got ','" in refused("plot", folder, "--formats", ",")
    assert "must be a file that can be written" in refused("report", folder, "--out", tmp_path / "no" / "such.html")
    assert "must be the folder of a run" in refused("report", tmp_path)
    assert "must be the folder of a run" in refused("plot", tmp_path)
    assert "must be the folder of a run" in refused("watch", tmp_path)


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
