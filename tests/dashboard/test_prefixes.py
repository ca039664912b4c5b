"""After every line of a journal, what the page shows agrees with the account of the run."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pydaub import (
    Account,
    Allocation,
    Daub,
    Failure,
    Frugal,
    Journal,
    Measurement,
    Outcome,
    Schedule,
    Table,
    TableEngine,
)
from pydaub.events import Evaluated, Event, Steered
from pydaub.records import Scores
from pydaub.runs.journal import read
from pydaub.runs.loop import Steering, run
from pydaub.runs.steering import Mailbox
from pydaub.views.story import story
from pydaub.views.summary import duration

SCHEDULE = Schedule.geometric(6400, 100, 2)
SCORES = Scores("accuracy", 2000)
STATES = {"running", "paused", "finished", "stopped", "failed", "killed"}
STATUSES = {
    "training", "next", "waiting", "ruled out", "has all rows", "failed", "dropped", "selected", "best so far",
}  # fmt: skip
COMMANDS: dict[int, list[tuple[str, str | None]]] = {  # after which outcome a person sends which commands
    4: [("pause", None), ("resume", None)],
    6: [("drop", "learner 1")],
    9: [("boost", "learner 2"), ("restore", "learner 1")],
    12: [("add", "late")],
}


def recorded(seed: int) -> Table:
    """Return seven learners, one of which fails, and one that is added later."""
    rng = random.Random(seed)
    outcomes: dict[Allocation, Outcome] = {}
    for name in [*(f"learner {number}" for number in range(7)), "late"]:
        end, speed = rng.uniform(0.7, 0.95), rng.uniform(20, 400)
        for size in SCHEDULE.sizes:
            valid = end - 0.3 * speed / (speed + size) + rng.gauss(0, 0.004)
            outcomes[Allocation(name, size)] = Measurement(min(1.0, valid + 0.05), valid, size / 1000 * rng.random())
    for size in SCHEDULE.sizes[1:]:
        outcomes[Allocation("learner 3", size)] = Failure("memory", "more than 2 GB", 0.5)
    return Table(outcomes)


def journalled(path: Path, name: str, *, stop: bool = False) -> list[Event]:
    """Return the events of a steered run with three workers."""
    table = recorded(5)
    names = [learner for learner in table.learners if learner != "late"]
    strategy = Daub(names, SCHEDULE) if name == "daub" else Frugal(names, SCHEDULE, scores=SCORES)
    mailbox, seen = Mailbox(path / "steering"), 0

    def watch(event: Event, _: Account) -> None:
        nonlocal seen
        if isinstance(event, Evaluated):
            seen += 1
            for command, learner in COMMANDS.get(seen, []):
                mailbox.send(command, learner)
            if stop and seen == 15:
                mailbox.send("stop", None)

    with Journal(path / "journal.jsonl", {**strategy.settings, "scores": SCORES.to_json()}) as journal:
        run(strategy, TableEngine(table, 3), journal, watch=watch, steering=Steering(mailbox, lambda _: None))
    return read(path / "journal.jsonl")


def prefixes(events: list[Event], *, held: bool) -> Any:
    account = Account.begun(events[0], held=held)
    yield account
    for event in events[1:]:
        account.take(event)
        yield account


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(("name", "stop"), [("daub", False), ("frugal", False), ("daub", True)])
def test_after_every_line_the_page_agrees_with_the_account(
    tmp_path: Path, name: str, *, stop: bool, held: bool
) -> None:
    events = journalled(tmp_path, name, stop=stop)
    assert {event.command for event in events if isinstance(event, Steered)} >= {"pause", "drop", "boost", "add"}
    states, statuses = set(), set()
    for account in prefixes(events, held=held):
        told = json.loads(json.dumps(story(account), allow_nan=False))
        check(account, told)
        states.add(told["header"]["state"])
        statuses |= {learner["status"] for learner in told["learners"]}
    assert states <= STATES
    assert statuses <= STATUSES
    assert told["header"]["state"] == ("stopped" if stop else "finished")
    assert {"failed", "dropped", "waiting"} <= statuses
    assert ("training" in statuses) == held


def check(account: Account, told: dict[str, Any]) -> None:
    header, result, leader = told["header"], account.result, account.leader
    facts = dict(header["facts"])
    assert header["state"] == account.state
    assert facts["Rows"].split(", ")[0].split(" ")[0] == f"{result.rows:,}"
    assert facts["Allocations"] == f"{len(result.steps):,}"
    assert facts["Training time"].split(", ")[0] == duration(result.seconds)
    assert header["elapsed"] == round(account.clock, 1)
    chosen = next(facts[term] for term in ("Selected", "Best so far", "Leader") if term in facts)
    if leader is None:
        assert chosen == "none yet"
    else:
        assert result.valid_score is not None
        assert chosen == f"{leader.learner}: {result.valid_score:.4f} with {leader.size:,} rows"
    assert {learner["learner"]: (learner["status"], learner["why"]) for learner in told["learners"]} == {
        name: (status.word, status.why) for name, status in account.statuses().items()
    }
    assert sum(learner["rows"] for learner in told["learners"]) == result.rows
    assert sum(learner["seconds"] for learner in told["learners"]) == pytest.approx(result.seconds, abs=0.01)
    assert bool(told["summary"]) == (account.state not in ("running", "paused"))
    for learner in told["learners"]:
        if learner["actions"]:
            assert header["going"]
        assert set(learner["confirm"]) <= {"drop"}
