"""Journals of races between recorded curves: with few or many learners, odd names, and scores of any size."""

from __future__ import annotations

import fcntl
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydaub import Allocation, Frugal, Journal, Measurement, Outcome, Schedule, Table, TableEngine
from pydaub.events import Evaluated, Event
from pydaub.records import Failure, Scores
from pydaub.runs.account import Account
from pydaub.runs.loop import run

SIZES = (500, 2000, 16000)
KINDS = ("logistic", "svm-rbf", "hist-gradient-boosting", "forest-100", "knn-5", "mlp", "lightgbm", "tree")
LONG = "hist-gradient-boosting(learning_rate=0.05, max_leaf_nodes=31, min_samples_leaf=20, l2_regularization=0.001)"
ODD = (LONG, "W" * 120, "مصنف الغابات العشوائية", "<b>bold</b>")
# What a score between 0 and 1 becomes, and what is known of such scores.
SCORES: dict[str, tuple[Callable[[float], float], Scores]] = {
    "shares": (lambda share: share, Scores("accuracy", 6000)),
    "tiny": (lambda share: share * 1e-6, Scores("neg_mean_squared_error", 6000, None, proportion=False)),
    "huge": (lambda share: -1e6 * (1.3 - share), Scores("neg_mean_squared_error", 6000, 0.0, proportion=False)),
}


def names(count: int) -> list[str]:
    """Return different names, some of them odd."""
    usual = [f"{KINDS[i % len(KINDS)]} C={10.0 ** (i % 7 - 3):g} max_depth={i}" for i in range(count)]
    return [*ODD[: count // 3], *usual[count // 3 :]] if count // 3 < len(ODD) else [*ODD, *usual[len(ODD) :]]


def recorded(count: int, kind: str) -> Table:
    """Return curves, one of which ends in a failure."""
    rng, (scored, _) = random.Random(count), SCORES[kind]
    outcomes: dict[Allocation, Outcome] = {}
    for place, name in enumerate(names(count)):
        end, speed, seconds = rng.uniform(0.75, 0.95), rng.uniform(50, 900), 10 ** rng.uniform(-2, 1)
        for size in SIZES:
            valid = end - 0.3 * speed / (speed + size)
            figures = {"peak_mb": 80 + size / 50 * rng.random()}
            if size == SIZES[-1]:
                figures |= {"f1": valid - 0.01, "auc": (valid + 1) / 2, "log_loss": 1 - valid}
            train = scored(min(1.0, valid + 30 / (100 + size)))
            outcomes[Allocation(name, size)] = Measurement(train, scored(valid), seconds * size / 1000, figures)
        if place == count - 1 > 1:
            outcomes[Allocation(name, SIZES[1])] = Failure("memory", "more than 2 GB", 0.5)
    return Table(outcomes)


def race(folder: Path, count: int, kind: str = "shares", *, until: int | None = None) -> Path:
    """Write the journal of a race into the folder, up to so many outcomes."""
    table, scores = recorded(count, kind), SCORES[kind][1]
    strategy = Frugal(table.learners, Schedule(SIZES), scores=scores)
    seen = 0

    def watch(event: Event, _: Account) -> None:
        nonlocal seen
        seen += isinstance(event, Evaluated)
        if seen == until:
            raise KeyboardInterrupt

    try:
        with Journal(folder / "journal.jsonl", {**strategy.settings, "scores": scores.to_json()}) as journal:
            run(strategy, TableEngine(table, 3), journal, watch=watch)
    except KeyboardInterrupt:
        pass
    return folder


@contextmanager
def going(folder: Path) -> Iterator[Path]:
    """Make a race look as if it were going on: another process seems to write its journal."""
    (folder / "run.json").write_text('{"request": {"data": "data.csv"}}')
    with (folder / "journal.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield folder
