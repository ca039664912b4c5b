"""Each learner as the page shows it."""

from __future__ import annotations

from pathlib import Path

from dashboard.races import race
from pydaub import Account
from pydaub.events import Combined, Drawn
from pydaub.runs.journal import read
from pydaub.views.story import learners, story


def test_figures_memory_and_weights_are_told_for_every_learner_that_has_them(tmp_path: Path) -> None:
    account = Account.of(read(race(tmp_path, 12) / "journal.jsonl"))
    first, second = (step.allocation.learner for step in account.steps[-2:])
    account.take(Combined({first: 0.75, second: 0.25}, 0.97, 0.95, account.clock))
    told = story(account)
    assert [(column["key"], column["title"], column["lower"]) for column in told["header"]["figures"]] == [
        ("f1", "F1", False),
        ("auc", "AUC", False),
        ("log_loss", "Log loss", True),
    ]
    for one in told["learners"]:
        assert set(one["figures"]) == ({"f1", "auc", "log_loss"} if one["size"] == account.full_size else set())
        assert one["memory"] == max(one["peaks"])
        assert len(one["peaks"]) == len(one["points"])
        assert one["weight"] == {first: 0.75, second: 0.25}.get(one["learner"])


def test_an_ensemble_that_is_not_used_has_no_weights(tmp_path: Path) -> None:
    account = Account.of(read(race(tmp_path, 12) / "journal.jsonl"))
    account.take(Combined({account.learners[0]: 1.0}, 0.9, 0.95, account.clock))
    assert all(one["weight"] is None for one in learners(account).values())


def test_a_learner_is_described_by_its_parameters_or_its_description(tmp_path: Path) -> None:
    account = Account.of(read(race(tmp_path, 12) / "journal.jsonl"))
    drawn, described, unknown = account.learners[:3]
    account.take(Drawn(drawn, {"depth": 0.5}, "max depth 7"))
    account.descriptions[described] = "a decision tree"
    found = learners(account)
    assert [found[name]["about"] for name in (drawn, described, unknown)] == [
        "Parameters: max depth 7.",
        "A decision tree.",
        "",
    ]


def test_dropping_is_always_confirmed_and_only_a_running_race_can_be_steered(tmp_path: Path) -> None:
    journal = read(race(tmp_path, 12, until=10) / "journal.jsonl")
    for held in (True, False):
        account = Account.of(journal, held=held)
        told = story(account)
        assert bool(told["header"]["immovable"]) != held
        for one in told["learners"]:
            assert bool(one["actions"]) == held
            assert all(one["confirm"][action] for action in one["actions"] if action == "drop")
