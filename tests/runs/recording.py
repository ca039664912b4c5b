"""Journals of real runs of the loop, with everything that can happen in them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from pydaub import (
    AllLearnersFailed,
    Journal,
    NothingMeasured,
    Steerable,
    TableEngine,
    run,
)
from pydaub.records import Scores
from pydaub.runs.journal import read
from pydaub.runs.loop import Steering
from pydaub.runs.steering import Mailbox
from tables import random_schedule, random_table

if TYPE_CHECKING:
    from pathlib import Path

    from pydaub import Account, Result, Strategy
    from pydaub.events import Event


def facts(account: Account) -> dict[str, Any]:
    """Return what every view must agree on."""
    result = account.result
    return {
        "state": account.state,
        "leader": account.leader,
        "rows": result.rows,
        "allocations": len(result.steps),
        "seconds": result.seconds,
        "ahead": len(account.ahead),
        "statuses": account.statuses(),
        "priorities": [account.strategy.priority(name) for name in account.learners],
    }


def recorded(
    kind: type[Strategy], seed: int, folder: Path, *, steer: bool = False
) -> tuple[Result, list[Event], list[dict[str, Any]]]:
    """Run a strategy on a random table with some workers, failures and perhaps a time limit and a person who steers.

    A run that stopped is resumed. Returns the result, the events, and the live account's facts after each event.
    """
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule, failures=rng.choice([0.0, 0.3]))
    seen: list[dict[str, Any]] = []
    mailbox, path = Mailbox(folder / "steering"), folder / "journal.jsonl"

    def watch(_: Event, account: Account) -> None:
        seen.append(facts(account))
        if steer and rng.random() < 0.2:
            command = rng.choice(["drop", "restore", "boost", "pause", "stop"])
            mailbox.send(command, rng.choice(account.learners) if command in {"drop", "restore", "boost"} else None)
            if command == "pause":
                mailbox.send("resume")

    workers, limit = rng.choice([1, 4]), rng.choice([None, None, rng.uniform(0.01, 60)])
    for time_limit in (limit, None):
        scores = Scores("accuracy", 100)
        strategy = kind(table.learners, schedule, **({"scores": scores} if kind.needs_scores else {}))
        settings = {**strategy.settings, "scores": scores.to_json()}
        steering = Steering(mailbox, lambda _: None) if issubclass(kind, Steerable) else None
        with Journal(path, settings) as journal:
            try:
                engine = TableEngine(table, workers)
                result = run(strategy, engine, journal, time_limit=time_limit, watch=watch, steering=steering)
            except (AllLearnersFailed, NothingMeasured) as error:
                result = error.result
    return result, read(path), seen
