"""The law of views: on every prefix of every journal, all of them say what the account says."""

from __future__ import annotations

import io
import json
import pkgutil
import re
from html import escape
from pathlib import Path

import pytest
from rich.console import Console

from pydaub import STRATEGIES, Account, Measurement, Strategy, views
from pydaub.cli.output import as_json
from pydaub.dashboard.following import Following
from pydaub.dashboard.report import Report
from pydaub.runs.certificate import certificate_of
from pydaub.runs.journal import Journal
from pydaub.views import overview, plots
from pydaub.views.notebook import card
from pydaub.views.standings import lines
from pydaub.views.story import story
from pydaub.views.summary import summary
from pydaub.views.terminal import live_table, print_run
from pydaub.views.verdict import verdict
from runs.recording import recorded

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
RECORDED = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))


def test_every_view_is_held_to_the_law() -> None:
    checked = {
        "activity",
        "notebook",
        "overview",
        "plots",
        "portraits",
        "scales",
        "standings",
        "story",
        "summary",
        "terminal",
        "verdict",
    }
    silent = {"callbacks"}  # which say what is trained, and nothing of the run
    assert {module.name for module in pkgutil.iter_modules(views.__path__)} == checked | silent


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written matters here, not the disk."""
    monkeypatch.setattr("os.fdatasync", lambda _descriptor: None)


def printed(account: Account) -> str:
    out = io.StringIO()
    print_run(Console(file=out, width=250, emoji=False, highlight=False), account)
    return out.getvalue()


def check(account: Account) -> None:
    """Compare all views with the account."""
    result, leader, standings = account.result, account.leader, account.standings()
    told = story(account)
    json.dumps(told, allow_nan=False)
    facts = dict(told["header"]["facts"])
    assert told["header"]["state"] == account.state
    assert facts["Allocations"] == f"{len(result.steps):,}"
    assert facts["Rows"].startswith(f"{result.rows:,}")
    best = facts.get("Selected") or facts.get("Best so far") or facts["Leader"]
    assert best.startswith(leader.learner if leader and result.valid_score is not None else "none yet")
    assert {one["learner"]: one["standing"] for one in told["learners"]} == {
        name: standing.word for name, standing in standings.items()
    }
    assert {line.learner: (line.standing, line.rows, line.seconds) for line in lines(account)} == {
        name: (standing.word, account.rows(name), account.seconds(name)) for name, standing in standings.items()
    }
    assert sum(line.rows for line in lines(account)) == result.rows
    found = as_json(account.strategy, result)
    assert (found["rows"], len(found["allocations"])) == (result.rows, len(result.steps))
    assert (found["selected"], found["selected_size"]) == ((leader.learner, leader.size) if leader else (None, None))
    words = summary(account)
    cost = f"{len(result.steps):,} allocation{'s' * (len(result.steps) != 1)}, {result.rows:,} rows"
    assert any(sentence.startswith(f"{cost}, {result.seconds:,.1f} s of training") for sentence in words)
    text = printed(account)
    listed = overview.line(account)
    assert (listed["state"], listed["leader"]) == (account.state, leader.learner if leader else "")
    assert (listed["score"], listed["allocations"]) == (result.valid_score, len(result.steps))
    said = verdict(account)
    assert escape(said.line) in card(account)
    out = io.StringIO()
    Console(file=out, width=1000, emoji=False, highlight=False).print(live_table(account, 1000))
    assert out.getvalue().splitlines()[0].rstrip() == said.line
    assert told["header"]["verdict"]["line"] == said.line == text.splitlines()[0]
    assert "\n" not in said.line
    assert leader is None or leader.learner in said.line
    assert said.title.startswith(account.state)
    assert (said.fraction == 1) == (account.state == "finished")
    assert all(sentence in text for sentence in words)
    for name, standing in standings.items():
        assert re.search(rf"^{re.escape(name)} .*{standing.word}", text, flags=re.MULTILINE)
    claim = certificate_of(account)
    assert (told["certificate"] or {}).get("text") == (" ".join(claim.sentences) if claim else None)


@every_strategy
@pytest.mark.parametrize("seed", range(2))
def test_on_every_prefix_all_views_agree(kind: type[Strategy], seed: int, tmp_path: Path) -> None:
    _, events, _ = recorded(kind, seed, tmp_path, steer=seed == 1)
    account = Account.begun(events[0], held=True)
    check(account)
    for event in events[1:]:
        account.take(event)
        check(account)
    account.held = False
    check(account)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_on_journals_of_real_runs_all_views_agree(path: Path, tmp_path: Path) -> None:
    """Recorded with two workers on real data. The page, which follows the file, says the same as well."""
    lines_ = path.read_bytes().splitlines(keepends=True)
    assert len(lines_) > 100
    copy = tmp_path / "journal.jsonl"
    copy.write_bytes(b"")
    following, account = Following(copy), None
    with copy.open("ab", buffering=0) as file:
        for number, line in enumerate(lines_):
            file.write(line)
            following.look()
            assert not following.trouble
            if number % 7 == 0 or number > len(lines_) - 4:
                account = following.account
                assert account is not None
                check(account)
                head = following.changes()["header"]
                assert head["state"] == account.state
                assert head["verdict"]["line"] == verdict(account).line
    assert account is not None
    assert account.state == "finished"


def test_a_report_and_the_figures_show_the_same_run(tmp_path: Path) -> None:
    _, events, _ = recorded(STRATEGIES["daub"], 2, tmp_path)
    account = Account.of(events)
    html = Report(account, "a run").html
    embedded = re.search(r'<script type="application/json" id="story">(.*?)</script>', html, flags=re.DOTALL)
    assert embedded
    told = json.loads(embedded[1])
    assert told["header"] == json.loads(json.dumps(story(account)["header"]))
    assert escape(verdict(account).line) in html, "also without scripts"
    if any(isinstance(step.outcome, Measurement) for step in account.steps):
        made = plots.draw_run(account, tmp_path / "plots", ["svg"])
        assert len(made) == 3


def test_the_recorded_journals_are_there() -> None:
    assert {path.stem for path in RECORDED} >= {"daub", "frugal"}


def test_a_journal_can_be_opened_again_with_its_own_settings(tmp_path: Path) -> None:
    _, events, _ = recorded(STRATEGIES["frugal"], 5, tmp_path)
    account = Account.of(events)
    with Journal(tmp_path / "journal.jsonl", account.settings) as journal:
        assert journal.events == events
