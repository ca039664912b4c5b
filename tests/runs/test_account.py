"""The account of a run is a fold of its events: live or from the journal, whole or cut anywhere, it says the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pydaub import (
    STRATEGIES,
    Account,
    Allocation,
    Asked,
    Daub,
    Evaluated,
    Failure,
    Frugal,
    Halving,
    JournalError,
    JournalMismatch,
    Measurement,
    Schedule,
    Scores,
    Selected,
    Started,
    Steered,
    Stopped,
    Strategy,
    Submitted,
    TableEngine,
    run,
)
from pydaub.algorithm.strategies import strategy_of
from pydaub.events import Adjusted, Combined, Event, Resumed
from pydaub.runs.account import Status
from runs.recording import facts, recorded
from tables import random_schedule, random_table

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
WORDS = {
    *("selected", "best so far", "failed", "dropped", "training", "next", "waiting", "ruled out", "has all rows"),
}


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written matters here, not the disk."""
    monkeypatch.setattr("os.fdatasync", lambda _descriptor: None)


@every_strategy
@pytest.mark.parametrize("seed", range(8))
def test_every_prefix_of_a_journal_is_what_the_run_said_then(kind: type[Strategy], seed: int, tmp_path: Path) -> None:
    result, events, seen = recorded(kind, seed, tmp_path, steer=seed % 2 == 1)
    account = Account.begun(events[0], held=True)
    for event, said in zip(events[1:], seen, strict=True):
        account.take(event)
        assert facts(account) == said, event
    account.held = False
    found = account.result
    for name in ("selected", "selected_size", "steps", "failures", "speculated", "stopped", "wall_seconds", "rows"):
        assert getattr(found, name) == getattr(result, name), name


@every_strategy
@pytest.mark.parametrize("seed", range(8, 14))
def test_statuses_use_known_words_and_have_reasons(kind: type[Strategy], seed: int, tmp_path: Path) -> None:
    result, events, _ = recorded(kind, seed, tmp_path)
    account = Account.begun(events[0], held=True)
    for event in events[1:]:
        account.take(event)
        statuses = account.statuses()
        assert {status.word for status in statuses.values()} <= WORDS
        for status in statuses.values():
            assert status.why or status.word in {"next", "waiting", "has all rows"}
        training = {allocation.learner for allocation in account.training}
        assert {name for name, status in statuses.items() if status.word == "training"} <= training
        assert sum(status.word == "next" for status in statuses.values()) <= 1
        for asked in account.strategy.outstanding if account.state == "running" else ():
            assert statuses[asked.learner].word in {"training", "next"}, "whoever is asked for is not put off"
    words = {name: status.word for name, status in account.statuses().items()}
    if result.stopped is None and result.selected:
        assert words[result.selected] == "selected"
        others = {word for name, word in words.items() if name != result.selected}
        assert others <= {"ruled out", "has all rows", "failed"}, "nobody waits in a run that is over"


@every_strategy
@pytest.mark.parametrize("seed", range(30))
def test_reasons_do_not_contradict_the_figures(kind: type[Strategy], seed: int) -> None:
    """The learner that is asked for has the highest priority of those that compete with it."""
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule)
    strategy = kind(table.learners, schedule)
    while (asked := strategy.ask()) is not None:
        own = strategy.priority(asked.learner)
        if own is not None and not strategy.why:  # it was asked for by its priority
            before = strategy.curve(asked.learner).sizes[-1]
            rivals = [
                strategy.priority(name)
                for name in strategy.racing
                if name != asked.learner
                and (isinstance(strategy, Daub | Frugal) or strategy.curve(name).sizes[-1] <= before)
                and strategy.curve(name).sizes[-1:] != (strategy.schedule.full_size,)
            ]
            assert all(rival is None or rival <= own for rival in rivals)
        strategy.tell(asked, table[asked])
    assert strategy.ruled_out().keys().isdisjoint({strategy.winner})


SIZES = (10, 20, 40, 80)
STARTED = Started({**Daub(["good", "fair"], Schedule(SIZES)).settings, "scores": Scores("accuracy", 100).to_json()})


def evaluated(account: Account, learner: str, size: int, outcome: Measurement | Failure, clock: float) -> None:
    allocation = Allocation(learner, size)
    for event in (Asked(allocation, None), Submitted(allocation), Evaluated(allocation, outcome, clock)):
        account.take(event)


def after_three_sizes() -> Account:
    account = Account.begun(STARTED)
    for name, start in (("good", 0.5), ("fair", 0.3)):
        for place, size in enumerate(SIZES[:3]):
            evaluated(account, name, size, Measurement(0.99, start + 0.02 * place, 1.0), float(len(account.steps)))
    return account


def test_the_log_says_what_was_decided_and_why() -> None:
    account = after_three_sizes()
    assert account.decisions[0].words == "good gets 10 rows: every learner starts with the 3 smallest sizes."
    evaluated(account, "good", 80, Measurement(0.9, 0.6, 1.0), 7.0)
    account.take(Selected("good", 8.0))
    assert [decision.words for decision in account.decisions[-2:]] == [
        "good gets 80 rows: its bound 0.5914 is the highest; fair follows with 0.3914.",
        "good is selected.",
    ]
    assert (account.state, account.clock) == ("finished", 8.0)
    statuses = account.statuses()
    assert statuses["good"].word == "selected"
    assert statuses["fair"].word == "ruled out"
    assert statuses["fair"].why == "good has 0.6000 on all rows, and its own priority of 0.3914 is not higher"


def test_the_leader_is_the_selected_learner_with_all_rows_however_high_it_was_before() -> None:
    account = after_three_sizes()
    evaluated(account, "good", 80, Measurement(0.9, 0.01, 1.0), 7.0)
    assert account.leader == Allocation("good", 40)
    account.take(Selected("good", 8.0))
    assert account.leader == Allocation("good", 80)
    assert account.result.valid_score == 0.01


def test_a_learner_with_all_rows_leads_unless_another_score_is_higher_beyond_its_noise() -> None:
    account = after_three_sizes()
    before = account.result.valid_score
    assert before is not None
    evaluated(account, "good", 80, Measurement(0.9, before - 0.01, 1.0), 7.0)
    assert account.leader == Allocation("good", 80)
    assert account.result.valid_score == before - 0.01


def test_a_journal_without_its_last_line_is_of_a_killed_run() -> None:
    """The strategy has its winner, but the run never said so, and the learner was never saved."""
    account = after_three_sizes()
    evaluated(account, "good", 80, Measurement(0.9, 0.6, 1.0), 7.0)
    assert account.strategy.winner == "good"
    assert (account.state, account.result.stopped) == ("killed", "not finished")
    account.take(Selected("good", 8.0))
    assert (account.state, account.result.stopped) == ("finished", None)


def test_an_eliminated_learner_cannot_win() -> None:
    account = Account.begun(Started(Halving(["best", "good", "fair", "bad"], Schedule(SIZES)).settings), held=True)
    scores = {"best": 0.8, "good": 0.7, "fair": 0.6, "bad": 0.5}
    for size, names in ((10, "best good fair bad"), (20, "best good")):
        for name in names.split():
            evaluated(account, name, size, Measurement(0.9, scores[name], 1.0), 1.0)
    assert account.statuses()["bad"].why == "it was eliminated after the round of 10 rows"
    assert account.statuses()["best"].word in {"next", "waiting"}


def test_a_leader_by_a_guess_says_so() -> None:
    account = Account.begun(STARTED, held=True)
    account.take(Asked(Allocation("good", 10), None))
    account.take(Submitted(Allocation("good", 10)))
    account.take(Evaluated(Allocation("fair", 10), Measurement(None, 0.9, 1.0), 1.0))
    assert account.statuses()["fair"] == Status("next", "leading (the score came from an early start)")


def test_states_and_statuses_follow_the_events() -> None:
    account = Account.begun(STARTED)
    assert account.state == "killed"
    account.held = True
    assert account.state == "running"
    assert {name: status.word for name, status in account.statuses().items()} == {
        "good": "next",
        "fair": "waiting",
    }
    account.take(Asked(Allocation("good", 10), None))
    account.take(Submitted(Allocation("good", 10)))
    assert account.statuses()["good"].word == "training"
    account.held = False
    assert (account.statuses()["good"].word, account.training) == ("next", [])
    account.held = True
    account.take(Steered("pause", None, 1.0))
    assert account.state == "paused"
    account.take(Steered("drop", "good", 2.0))
    assert (account.statuses()["good"].word, account.training) == ("dropped", [])
    account.take(Steered("resume", None, 3.0))
    assert account.state == "running"
    account.take(Stopped("time limit", 4.0))
    assert account.state == "stopped"
    account.take(Resumed(4.0))
    assert account.state == "running"
    account.take(Asked(Allocation("fair", 10), None))
    account.take(Evaluated(Allocation("fair", 10), Failure("timeout", "longer than 1 s", 1.0), 5.0))
    assert account.statuses()["fair"].why == "timeout: longer than 1 s"
    assert account.decisions[-1].words == "fair failed with 10 rows: timeout, longer than 1 s."
    assert account.state == "failed", "the other one was dropped"
    assert (account.leader, account.result.selected) == (None, None)


def test_a_resumed_run_is_neither_paused_nor_running_what_was_lost() -> None:
    account = Account.begun(STARTED, held=True)
    account.take(Asked(Allocation("good", 10), None))
    account.take(Submitted(Allocation("good", 10)))
    account.take(Steered("pause", None, 1.0))
    account.take(Resumed(2.0))
    assert (account.state, account.training) == ("running", [])
    assert account.statuses()["good"].word == "next", "it is still outstanding"


def test_what_followed_a_stopped_run_counts_no_more_once_it_is_resumed() -> None:
    account = after_three_sizes()
    account.take(Stopped("time limit", 9.0))
    account.take(Combined({"good": 0.5, "fair": 0.5}, 0.99, 0.9, 9.5))
    account.take(Adjusted("threshold", 0.4, 0.99, 0.9, 9.6))
    assert account.combined is not None
    account.take(Resumed(10.0))
    assert [each for each in (account.stopped, account.combined, account.adjusted) if each is not None] == []


def test_a_stopped_run_calls_its_best_learner_so() -> None:
    account = after_three_sizes()
    account.take(Steered("stop", None, 9.0))
    account.take(Stopped("stopped by hand", 9.0))
    assert account.statuses()["good"].word == "best so far"
    assert account.result.stopped == "stopped by hand"


def test_a_dropped_learner_neither_leads_nor_is_handed_over() -> None:
    account = after_three_sizes()
    assert account.leader == Allocation("good", 40)
    account.take(Steered("drop", "good", 9.0))
    assert account.leader == Allocation("fair", 40)
    assert account.result.selected == "fair"


def test_a_learner_that_failed_with_more_rows_can_still_be_the_best_so_far() -> None:
    account = after_three_sizes()
    evaluated(account, "good", 80, Failure("memory", "too much", 1.0), 7.0)
    assert account.leader == Allocation("good", 40)


@pytest.mark.parametrize(
    "events", [[], [Selected("a", 1.0)], [Asked(Allocation("a", 1), None), Started({"strategy": "daub"})]]
)
def test_a_journal_that_does_not_begin_with_its_settings_is_refused(events: list[Event]) -> None:
    with pytest.raises(JournalError, match=r"A journal must begin with its settings"):
        Account.of(events)


def test_an_event_that_the_strategy_would_not_cause_is_refused() -> None:
    account = Account.begun(STARTED)
    with pytest.raises(JournalMismatch, match="where the strategy now asks"):
        account.take(Asked(Allocation("fair", 10), None))
    account = Account.begun(STARTED)
    account.take(Asked(Allocation("good", 10), None))
    with pytest.raises(JournalMismatch, match="before the outcome of"):
        account.take(Asked(Allocation("good", 10), None))


SETTINGS = Daub(["a", "b"], Schedule((1, 2, 4))).settings


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": "best"},
        {"strategy": None},
        {"learners": 5},
        {"sizes": 5},
        {"sizes": [4, 2]},
        {"bound": "mine"},
        {"bound": None},
        {"train_bound": "yes"},
    ],
)
def test_settings_from_which_no_strategy_can_be_made_are_refused(change: dict[str, Any]) -> None:
    assert strategy_of(SETTINGS).settings == SETTINGS
    with pytest.raises(JournalError, match=r"must name a strategy of pydaub with its learners, sizes and parameters"):
        strategy_of({**SETTINGS, **change})
    for name in SETTINGS:
        lacking = {key: value for key, value in SETTINGS.items() if key != name}
        if name in {parameter.name for parameter in Daub.parameters}:  # it may be newer than the journal
            assert strategy_of(lacking).settings == SETTINGS
            continue
        with pytest.raises(JournalError, match=r"must name a strategy of pydaub"):
            strategy_of(lacking)


def test_an_old_journal_with_a_confidence_bound_that_is_capped_is_refused_with_the_reason() -> None:
    """Such runs could be begun once; their bounds did not hold with the probability that they stated."""
    made = Daub(["a", "b"], Schedule((1, 2, 4)), "hoeffding", scores=Scores(rows=500))
    assert strategy_of(made.settings).settings == made.settings
    reason = (
        r"as this version takes them\. `train_bound` must be left out or False with `bound` hoeffding, got True\. A"
    )
    with pytest.raises(JournalError, match=reason):
        strategy_of({**made.settings, "train_bound": True})


def test_the_live_account_costs_no_second_strategy() -> None:
    """The loop and its watchers share one strategy: what they see is what decides."""
    rng = random.Random(3)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule)
    strategy = Daub(table.learners, schedule)
    run(strategy, TableEngine(table), watch=lambda _, account: _same(account, strategy))


def _same(account: Account, strategy: Strategy) -> None:
    assert account.strategy is strategy
