"""Every method on every task of LCDB, replayed: how much faster than training everything, and what it loses.

    python -m benchmarks.lcdb.run [--ids odd] [--seeds 5] [--out build/lcdb/odd.json] [--plot build/lcdb/odd.svg]

Run it in the repository's root. Each data set counts once. Its speed-up is the geometric mean over its seeds of the
full training time over the time spent, and the figure is the geometric mean over data sets. Its loss is the mean over
its seeds of what the best learner scores with all rows minus what the selected one does. The best is that by
validation score, which full training would select; by test score the loss can therefore be negative. Times are
recorded ones, of one worker.

Strategies are made by looking at odd ids. Even ids are for a look at the end, when all settings are fixed.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.lcdb.curves import IDS, SEEDS, Task, tasks
from benchmarks.lcdb.frontier import draw
from benchmarks.lcdb.methods import DELTAS, LINE, METHODS
from benchmarks.lcdb.peers import Chosen
from pydaub import TableEngine, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GROUPS: Final = (30_000, 4_000)  # least full sizes
MUCH: Final = 0.01  # a loss that one would notice


@dataclass(frozen=True, slots=True)
class Replay:
    """What one method did on one task."""

    method: str
    data: int
    full_size: int
    seeds: tuple[int, int]
    selected: str
    speed_up: float
    loss: float
    test_loss: float


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses over data sets; `often` is the share of tasks with more than 1 %."""

    mean: float
    p95: float
    worst: float
    often: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What a method's line of the table says."""

    speed_up: float
    valid: Losses
    test: Losses


def replayed(task: Task, method: str) -> Replay:
    """Carry one method through on one task."""
    made = METHODS[method](task)
    if isinstance(made, Chosen):
        selected = made.learner
        # In an order of their own, so that a sum of floats is the same each time.
        spent = sum(sorted(task.table[each].seconds for each in made.trained))
    else:
        result = run(made, TableEngine(task.table))
        assert result.selected  # noqa: S101  # no recorded learner fails
        selected, spent = result.selected, result.seconds
    full = sum(measured.seconds for measured in task.at_full.values())
    best = max(task.learners, key=lambda name: task.at_full[name].valid_score)
    return Replay(
        method,
        task.data,
        task.full_size,
        task.seeds,
        selected,
        full / spent,
        task.at_full[best].valid_score - task.at_full[selected].valid_score,
        task.test[best] - task.test[selected],
    )


def all_replayed(task: Task) -> list[Replay]:
    """Carry every method through on one task."""
    return [replayed(task, method) for method in METHODS]


def by_data(replays: Iterable[Replay]) -> dict[int, list[Replay]]:
    """Return the replays of each data set."""
    found: dict[int, list[Replay]] = {}
    for replay in replays:
        found.setdefault(replay.data, []).append(replay)
    return found


def figures(replays: Sequence[Replay]) -> Figures:
    """Return one method's figures over data sets, each of which counts once."""
    sets = by_data(replays).values()
    return Figures(
        geometric_mean(geometric_mean(each.speed_up for each in one) for one in sets),
        _losses([[each.loss for each in one] for one in sets]),
        _losses([[each.test_loss for each in one] for one in sets]),
    )


def _losses(sets: list[list[float]]) -> Losses:
    means = [fmean(one) for one in sets]
    often = fmean(loss > MUCH for one in sets for loss in one)
    return Losses(fmean(means), float(np.percentile(means, 95)), max(means), often)


def table(found: dict[str, Figures]) -> str:
    """Return the figures as a table in Markdown; losses are in percent."""
    head = "mean loss % | p95 | worst | over 1 %"
    lines = [f"| method | speed-up | {head} | by test: {head} |", "|---|" + "--:|" * 9]
    for method, one in found.items():
        cells = [f"{one.speed_up:.1f}"]
        for losses in (one.valid, one.test):
            cells += [f"{100 * loss:.2f}" for loss in (losses.mean, losses.p95, losses.worst)]
            cells.append(f"{100 * losses.often:.0f} %")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def promises(replays: dict[str, list[Replay]]) -> str:
    """Return in what share of tasks the loss exceeded the delta that was tolerated."""
    over = [(delta, fmean(each.loss > delta for each in replays[f"{LINE} delta {delta}"])) for delta in DELTAS]
    return f"{LINE}: the loss exceeded delta in " + ", ".join(f"{100 * share:.0f} % ({delta})" for delta, share in over)


def _of_data(replays: Sequence[Replay]) -> list[dict[str, object]]:
    """Return one method's figures of each data set, for JSON."""
    return [
        {
            "data": data,
            "full_size": one[0].full_size,
            "speed_up": geometric_mean(each.speed_up for each in one),
            "loss": fmean(each.loss for each in one),
            "test_loss": fmean(each.test_loss for each in one),
            "tasks": [
                {"seeds": each.seeds, "selected": each.selected, "speed_up": each.speed_up, "loss": each.loss}
                | {"test_loss": each.test_loss}
                for each in one
            ],
        }
        for data, one in by_data(replays).items()
    ]


def main() -> None:
    """Print a table for each group of data sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ids", choices=IDS, default="odd", help="OpenML ids; even ones are for one look, at the end")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="for each data set, at most")
    parser.add_argument("--cache", type=Path, default=Path("build/lcdb"), help="where LCDB is, or is downloaded to")
    parser.add_argument("--out", type=Path, help="JSON with the figures of each data set")
    parser.add_argument("--plot", type=Path, help="picture of the frontier: .svg or .png")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with Pool(arguments.workers) as pool:
        given = tasks(arguments.cache, arguments.ids, arguments.seeds)
        replays = [each for some in pool.imap(all_replayed, given) for each in some]
    of_method = {name: [each for each in replays if each.method == name] for name in METHODS}
    groups: dict[int, dict[str, Figures]] = {}
    for least in GROUPS:
        some = {name: [each for each in each_of if each.full_size >= least] for name, each_of in of_method.items()}
        if not (counted := by_data(some["full"])):
            continue
        groups[least] = {name: figures(each) for name, each in some.items()}
        print(f"\nN >= {least:,}: {len(counted)} data sets ({arguments.ids} ids), {len(some['full'])} tasks\n")
        print(table(groups[least]))
        print(f"\n{promises(some)}")
    if arguments.out:
        told = {
            "ids": arguments.ids,
            "seeds": arguments.seeds,
            "groups": {least: {name: asdict(one) for name, one in group.items()} for least, group in groups.items()},
            "data_sets": {name: _of_data(each) for name, each in of_method.items()},
        }
        arguments.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if arguments.plot:
        draw(
            arguments.plot,
            {
                f"N >= {least:,}": {name: (one.speed_up, 100 * one.valid.mean) for name, one in group.items()}
                for least, group in groups.items()
            },
        )


if __name__ == "__main__":
    main()
