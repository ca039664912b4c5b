"""The law of views: on every prefix of every journal, all of them say what the account says."""

from __future__ import annotations

import io
import json
import math
import pkgutil
import re
from html import escape, unescape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sklearn.dummy import DummyClassifier

from pydaub import STRATEGIES, Account, DaubSearch, InputError, Strategy, views
from pydaub.cli.output import as_json, run_as_json
from pydaub.dashboard.following import Following
from pydaub.dashboard.report import Report
from pydaub.exports.leaderboard import leaderboard
from pydaub.learners import Learner
from pydaub.runs.certificate import certificate_of, percent
from pydaub.runs.journal import Journal
from pydaub.runs.selection import Selection
from pydaub.runs.standing import standing
from pydaub.views import overview, plots
from pydaub.views.glance import Claims, result_line
from pydaub.views.lines import lines
from pydaub.views.notebook import LISTED, card
from pydaub.views.story import story
from pydaub.views.summary import duration, shortened, summary
from pydaub.views.terminal import LEADERS, live_table, print_run
from pydaub.views.verdict import LEAST_CHANCE, LONGEST, verdict
from runs.recording import recorded

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
MOST_WORDS = 25  # of a sentence
RECORDED = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))


def test_every_view_is_held_to_the_law() -> None:
    checked = {
        "activity",
        "glance",
        "notebook",
        "overview",
        "plots",
        "portraits",
        "scales",
        "lines",
        "story",
        "summary",
        "terminal",
        "tiles",
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
    """Compare the views with the account, except those that take longer."""
    result, leader, statuses = account.result, account.leader, account.statuses()
    told, said = story(account), verdict(account)
    check_page(account, told)
    check_terminal(account)
    check_notebook(account)
    check_plots(account, told)
    check_python(account)
    check_standing(account, told)
    shown = lines(account)
    assert {line.learner: (line.status, line.rows, line.seconds) for line in shown} == {
        name: (status.word, account.rows(name), account.seconds(name)) for name, status in statuses.items()
    }
    assert sum(line.rows for line in shown) == result.rows
    assert sum(line.seconds for line in shown) == pytest.approx(result.seconds)
    found = as_json(account.strategy, result)
    assert (found["rows"], len(found["allocations"]), found["seconds"]) == (
        result.rows,
        len(result.steps),
        result.seconds,
    )
    assert (found["selected"], found["selected_size"]) == ((leader.learner, leader.size) if leader else (None, None))
    listed = overview.line(account)
    assert (listed["state"], listed["leader"]) == (account.state, leader.learner if leader else "")
    assert (listed["score"], listed["allocations"]) == (result.valid_score, len(result.steps))
    assert (listed["seconds"], listed["time"]) == (round(result.seconds, 3), duration(result.seconds))
    assert "\n" not in said.line
    assert leader is None or leader.learner in said.line
    assert said.title.startswith(account.state)
    assert (said.fraction == 1) == (account.state == "finished")


def check_standing(account: Account, told: dict[str, Any]) -> None:
    """No two outputs name different leaders, rivals, ties or times, and none says a sentence that is too long."""
    found, said, claim = standing(account), verdict(account), certificate_of(account)
    assert found.leader == (account.leader if account.result.valid_score is not None else None)
    assert (found.state, found.score) == (account.state, account.result.valid_score)
    out = {*account.strategy.failures, *account.strategy.dropped}
    at_full = {name for name in account.learners if account.size(name) == account.full_size}
    assert not (out | at_full) & {*found.chances}
    assert all(found.change >= chance for chance in found.chances.values())
    rival = next(iter(found.chances), None)
    if rival is not None and found.chances[rival] >= LEAST_CHANCE:
        assert f": {shortened(rival, LONGEST)} ({percent(found.chances[rival])}" in said.line
    assert said.seconds == (found.left and (round(found.left.low, 1), round(found.left.high, 1)))
    assert told["header"]["standing"] == json.loads(json.dumps(found.to_json()))
    assert told["header"]["verdict"]["line"] == said.line
    assert run_as_json(account, Path("nowhere"))["standing"] == found.to_json()
    if claim and claim.certain:
        assert (claim.selected, claim.score, claim.rival, tuple(claim.ties)) == (
            found.leader and found.leader.learner,
            found.score,
            rival,
            found.ties,
        )
        assert rival is None or not claim.margin or rival in claim.choice or claim.margin is None
    board = leaderboard(account, ())
    alike = "as good as the leader, within chance"
    assert {*board.loc[board["remark"] == alike, "learner"]} == {*found.ties}
    for sentence in [*said.sentences, *summary(account), *(claim.sentences if claim else [])]:
        for part in re.split(r"(?<=[.?!]) ", sentence):
            assert len(part.split()) <= MOST_WORDS, part


def check_page(account: Account, told: dict[str, Any]) -> None:
    result, leader, header = account.result, account.leader, told["header"]
    json.dumps(told, allow_nan=False)
    facts = dict(header["facts"])
    assert header["state"] == account.state
    assert header["verdict"]["line"] == verdict(account).line
    assert [one["learner"] for one in sorted(told["learners"], key=lambda one: one["rank"])] == [
        line.learner for line in lines(account)
    ]
    assert header["focus"]["leader"] == (leader and leader.learner)
    assert facts["Allocations"] == f"{len(result.steps):,}"
    assert facts["Rows"].startswith(f"{result.rows:,}")
    assert facts["Training time"].startswith(duration(result.seconds))
    best = facts.get("Selected") or facts.get("Best so far") or facts["Leader"]
    assert best.startswith(leader.learner if leader and result.valid_score is not None else "none yet")
    assert leader is None or best.endswith(f"with {leader.size:,} rows")
    assert {one["learner"]: (one["status"], one["rows"], one["seconds"], one["time"]) for one in told["learners"]} == {
        name: (status.word, account.rows(name), round(account.seconds(name), 3), duration(account.seconds(name)))
        for name, status in account.statuses().items()
    }
    claim = certificate_of(account)
    assert (told["certificate"] or {}).get("text") == (" ".join(claim.sentences) if claim else None)


def check_terminal(account: Account) -> None:
    """What `show` prints, and the live table."""
    result, said, sentences, shown = account.result, verdict(account), summary(account), lines(account)
    cost = f"{len(result.steps):,} training{'s' * (len(result.steps) != 1)} of {result.rows:,} rows in all: "
    spent = f", {duration(result.seconds)} of training."
    assert any(sentence.startswith(cost) and sentence.endswith(spent) for sentence in sentences)
    text = printed(account)
    assert text.splitlines()[0] == said.line
    assert all(sentence in text for sentence in sentences)
    for line in shown:
        interval = f"{re.escape(line.interval)} .*" if line.interval else ""
        row = rf"^{re.escape(line.learner)} .*{interval} {line.seconds:,.2f} +(leads, )?{line.status}"
        assert re.search(row, text, flags=re.MULTILINE)
    first, _, grid, *_ = live_table(account, 1000).renderables
    assert isinstance(first, Text)
    assert first.plain == said.line
    assert isinstance(grid, Table)
    names, words = ([str(cell) for cell in grid.columns[place].cells] for place in (1, -1))
    assert names == [line.learner for line in shown[:LEADERS]]
    assert [word.removeprefix("leads, ") for word in words] == [line.status for line in shown[:LEADERS]]


def check_notebook(account: Account) -> None:
    html = card(account)
    assert escape(verdict(account).line) in html
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]
    shown = lines(account)[:LISTED]
    assert [unescape(re.sub("<.*?>", "", name)) for name, *_ in rows] == [line.learner for line in shown]
    assert [(time, unescape(word)) for *_, time, word in rows] == [
        (duration(line.seconds), line.status) for line in shown
    ]


def check_python(account: Account) -> None:
    """What Python shows in two lines, and the data frame of the learners."""
    result, leader, statuses = account.result, account.leader, account.statuses()
    board = leaderboard(account, ())
    assert dict(zip(board["learner"], board["status"], strict=True)) == {
        name: status.word for name, status in statuses.items()
    }
    assert board["seconds"].sum() == pytest.approx(result.seconds)
    for shown in (result_line(account), repr(result), repr(Claims.of(certificate_of(account)))):
        assert leader is None or result.valid_score is None or leader.learner in shown
    if leader is not None and result.valid_score is not None:
        assert tuple(board.loc[0, ["learner", "score", "size"]]) == (leader.learner, result.valid_score, leader.size)


def check_plots(account: Account, told: dict[str, Any]) -> None:
    """What the figures show; nothing is drawn where nothing has been measured that was asked for."""
    leader, statuses = account.leader, account.statuses()
    learners = {one["learner"]: one for one in told["learners"]}
    if not any(one["points"] for one in learners.values()):
        with pytest.raises(InputError, match="Nothing has been measured"):
            plots.contents(account, learners)
        return
    shown = plots.contents(account, learners)
    assert shown.leader == (leader and leader.learner)
    assert shown.rows == {name: account.rows(name) for name in account.learners}
    assert list(shown.notes) == [line.learner for line in lines(account)]
    assert all(note.endswith(statuses[name].word) for name, note in shown.notes.items())
    assert shown.failed == set(account.strategy.failures)
    if leader:
        assert next(iter(shown.curves)) == leader.learner
        assert dict(shown.curves[leader.learner])[leader.size] == account.result.valid_score
        size = f"Best so far with {leader.size:,} of {account.full_size:,} rows"
        assert shown.title == f"{'Selected' if account.state == 'finished' else size}: {leader.learner}"
    else:
        assert shown.title.startswith("No learner is left")


def check_documents(account: Account) -> None:
    """The report, and `DaubSearch` as it is after a run that ended here."""
    told, said, result, leader = story(account), verdict(account), account.result, account.leader
    html = Report(account, "a run").html
    embedded = re.search(r'<script type="application/json" id="story">(.*?)</script>', html, flags=re.DOTALL)
    assert embedded
    assert json.loads(embedded[1])["header"] == json.loads(json.dumps(told["header"]))
    assert escape(said.line) in html, "also without scripts"
    if leader is None or result.valid_score is None:
        return  # `fit` raises
    estimator = DummyClassifier()
    search = DaubSearch([estimator])
    learners = {name: Learner(name, estimator) for name in account.learners}
    search._take(Selection(account, learners, estimator), None)  # type: ignore[arg-type]  # noqa: SLF001  # no rows are needed
    assert (search.best_learner_, search.best_size_, search.best_score_) == (
        leader.learner,
        leader.size,
        result.valid_score,
    )
    assert (search.report_.account, search.result_.rows) == (account, result.rows)
    assert (len(search.allocations_), search.failures_) == (len(result.steps), account.strategy.failures)
    of_steps = search.cv_results_
    assert (of_steps["size"].sum(), of_steps["seconds"].sum()) == (result.rows, pytest.approx(result.seconds))
    assert (search.best_index_ is None) == (leader in account.result.speculated)
    claim = certificate_of(account)
    assert (search.certificate_ and search.certificate_.sentences) == (claim and claim.sentences)
    assert escape(said.line) in search._repr_html_()  # notebooks call it


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
    check_documents(account)


def follow(path: Path, copy: Path, every: int) -> None:
    """Write a journal again, line by line, while the page follows it; compare all views after every so many lines."""
    lines_ = path.read_bytes().splitlines(keepends=True)
    assert len(lines_) > 100
    copy.write_bytes(b"")
    following, account = Following(copy), None
    # What is left is worked out at each look: all views of a moment then say the same, however busy the machine is.
    with copy.open("ab", buffering=0) as file, patch("pydaub.runs.remaining.QUICK", math.inf):
        for number, line in enumerate(lines_):
            file.write(line)
            following.look()
            assert not following.trouble
            if number % every == 0 or number > len(lines_) - 4:
                account = following.account
                assert account is not None
                check_page(account, following.snapshot())
                account.held = number % 2 == 1  # as if the run were going on
                check(account)
                check_documents(account)
    assert account is not None
    assert account.state == "finished"


real_runs = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)


@real_runs
def test_on_journals_of_real_runs_all_views_agree(path: Path, tmp_path: Path) -> None:
    """Recorded with two workers on real data."""
    follow(path, tmp_path / "journal.jsonl", every=7)


@real_runs
@pytest.mark.slow("random")
def test_on_many_prefixes_of_journals_of_real_runs_all_views_agree(path: Path, tmp_path: Path) -> None:
    follow(path, tmp_path / "journal.jsonl", every=3)


def test_the_figures_of_a_run_are_drawn(tmp_path: Path) -> None:
    _, events, _ = recorded(STRATEGIES["daub"], 2, tmp_path)
    account = Account.of(events)
    assert len(plots.draw_run(account, tmp_path / "plots", ["svg"])) == 3


def test_the_recorded_journals_are_there() -> None:
    assert {path.stem for path in RECORDED} >= {"daub", "frugal"}


def test_a_journal_can_be_opened_again_with_its_own_settings(tmp_path: Path) -> None:
    _, events, _ = recorded(STRATEGIES["frugal"], 5, tmp_path)
    account = Account.of(events)
    with Journal(tmp_path / "journal.jsonl", account.settings) as journal:
        assert journal.events == events
