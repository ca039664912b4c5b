"""A fit in a notebook: a real kernel shows it, and what it shows is true and harmless."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pydaub import Account, Allocation, Daub, Evaluated, Measurement, Schedule
from pydaub.records import Scores
from pydaub.views.notebook import Card, card, in_notebook
from pydaub.views.verdict import verdict

SIZES = (10, 20, 40, 80)


def measured(*scores: tuple[str, float], kind: Scores | None = None) -> Account:
    """Return the account of a run after the first outcome of each learner."""
    names = [name for name, _ in scores]
    strategy = Daub(names, Schedule(SIZES))
    account = Account(strategy, {**strategy.settings, "scores": (kind or Scores()).to_json()}, held=True)
    values = dict(scores)
    for _ in range(3 * len(names)):
        event = account.ask()
        assert event is not None
        score = values[event.allocation.learner]
        account.take(Evaluated(event.allocation, Measurement(score, score, 1.0), 1.0))
    return account


def test_a_card_has_the_verdict_the_curves_and_the_first_learners() -> None:
    account = measured(*((f"learner {i}", 0.5 + i / 100) for i in range(30)))
    html = card(account)
    assert verdict(account).line in html
    assert html.count("<polyline") == 30
    assert html.count("<tr>") == 9
    assert "and 22 more" in html
    leader = account.leader
    assert leader is not None
    assert html.index("<tr><td") < html.index(f'title="{leader.learner}"') < html.index("</td>", html.index("<tr><td"))


def test_nothing_in_a_card_is_markup_but_its_own() -> None:
    html = card(measured(("<script>alert(1)</script>", 0.5), ('"><b>', 0.6), ("x" * 120, 0.7), ("\u202eabc", 0.8)))
    assert not re.findall(r"<script|<b>", html)
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html, "a name cannot reverse the text around it"
    assert html.count("x" * 120) == 1, "in the tooltip"


@pytest.mark.parametrize(("unit", "label"), [(1e-6, "-1.4e-06"), (1e6, "-1,400,000")])
def test_scores_of_any_size_can_be_read(unit: float, label: str) -> None:
    html = card(
        measured(("a", -unit), ("b", -1.5 * unit), kind=Scores("neg_mean_absolute_error", 9, 0.0, proportion=False))
    )
    assert label in re.findall(r">([^<>]+)</text>", html)


def test_a_run_without_outcomes_has_a_card() -> None:
    account = Account(Daub(["a", "b"], Schedule(SIZES)), held=True)
    assert "Nothing has been measured yet" in card(account)
    assert "<svg" not in card(account)


class Display:
    """What a notebook shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, content: Any, *, display_id: bool) -> Display:
        assert display_id
        self.shown.append(content.data)
        return self

    def update(self, content: Any) -> None:
        self.shown.append(content.data)


def test_a_card_is_updated_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Display()
    html = SimpleNamespace(HTML=lambda data: SimpleNamespace(data=data), display=screen.display)
    monkeypatch.setitem(sys.modules, "IPython.display", html)
    account, shown = measured(("a", 0.5), ("b", 0.6)), Card()
    event = Evaluated(Allocation("a", 10), Measurement(0.5, 0.5, 1.0), 1.0)
    for _ in range(5):
        shown(event, account)
    assert len(screen.shown) == 1, "not more than twice a second"
    shown.close(ended=False)
    assert "Killed or interrupted" in screen.shown[-1]
    Card().close(ended=True)  # of a run in which nothing happened
    assert len(screen.shown) == 2


def test_only_kernels_of_notebooks_are_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    for shell, expected in ((None, False), (object(), False), (SimpleNamespace(kernel=1), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert in_notebook() == expected


SEARCH = (
    "from sklearn.datasets import load_iris\n"
    "from sklearn.naive_bayes import GaussianNB\n"
    "from sklearn.tree import DecisionTreeClassifier\n"
    "from pydaub import DaubSearch\n"
    "learners = [('bayes', GaussianNB()), ('stump', DecisionTreeClassifier(max_depth=1))]\n"
    "search = DaubSearch(learners, random_state=0).fit(*load_iris(return_X_y=True))"
)
CELLS = (
    SEARCH,
    "search",
    "search.report_",
    "_ = DaubSearch(learners, random_state=0, verbose=0).fit(*load_iris(return_X_y=True))",
    "_ = DaubSearch(learners, random_state=0, scoring=lambda *_: 1 / 0).fit(*load_iris(return_X_y=True))",
)


@pytest.mark.slow("processes")
def test_a_real_notebook_shows_the_fit_the_verdict_and_the_report() -> None:
    formats = pytest.importorskip("nbformat.v4", reason="needs nbclient and ipykernel to run a notebook")
    client = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel to run a notebook")
    notebook = formats.new_notebook(cells=[formats.new_code_cell(source) for source in CELLS])
    client.NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    fitted, search, report, silent, failed = (cell.outputs for cell in notebook.cells)
    assert [output.output_type for output in fitted] == ["display_data"], "one display, which is updated"
    line = re.search(r"bayes is selected: accuracy 0\.\d+ ± 0\.\d+ with all 105 rows[^<]*", fitted[0].data["text/html"])
    assert line
    assert line[0] in search[0].data["text/html"], "the same verdict"
    assert "sk-top-container" in search[0].data["text/html"], "and scikit-learn's diagram"
    assert report[0].data["text/html"].startswith("<iframe")
    assert silent == []
    assert "No learner is left: 2 failed" in failed[0].data["text/html"]
    assert failed[-1].output_type == "error"
