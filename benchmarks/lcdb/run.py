"""Replay every method on every task of LCDB and print speed-ups and losses.

    python -m benchmarks.lcdb.run [--ids odd] [--seeds 5] [--lcdb11 FILE] [--out odd.json] [--plot odd.svg]

With a file of LCDB 1.1, its data sets are added, and the tables are those of both together and of each alone.

Run it in the root of the repository. Each data set counts once. The speed-up of a task is the time of full training
over the time that the method spent; the figure is the geometric mean over the seeds of a data set, and then over data
sets. The loss of a task is the full-data score of the best learner minus that of the selected one; the figure is the
mean over the seeds of a data set, and then over data sets. The best learner is the best by validation score, which full
training would select; by test score the loss can therefore be negative. Times are the recorded ones, for one worker.

Tune strategies on odd ids only. Even ids are for one look at the end, after all settings are fixed.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass
from itertools import chain, product
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.lcdb.curves import IDS, SEEDS, Task, tasks, tasks_11
from benchmarks.lcdb.frontier import draw
from benchmarks.lcdb.methods import DELTAS, LINE, METHODS
from benchmarks.lcdb.peers import Chosen
from pydaub import TableEngine, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GROUPS: Final = (30_000, 4_000)  # minimum full sizes
MUCH: Final = 0.01  # a loss that users would notice


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of one method on one task."""

    method: str
    source: str
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
    """The figures of one method: one line of the table."""

    speed_up: float
    valid: Losses
    test: Losses


def replayed(task: Task, method: str) -> Replay:
    """Run one method on one task."""
    made = METHODS[method](task)
    if isinstance(made, Chosen):
        selected = made.learner
        # Sorted, so that the sum of floats does not depend on the order of a set.
        spent = sum(sorted(task.table[each].seconds for each in made.trained))
    else:
        result = run(made, TableEngine(task.table))
        assert result.selected  # noqa: S101  # no recorded learner fails
        selected, spent = result.selected, result.seconds
    return judged(task, method, selected, spent)


def judged(task: Task, method: str, selected: str, spent: float) -> Replay:
    """Compare a choice, and the seconds that it took, with full training."""
    full = sum(measured.seconds for measured in task.at_full.values())
    best = max(task.learners, key=lambda name: task.at_full[name].valid_score)
    return Replay(
        method,
        task.source,
        task.data,
        task.full_size,
        task.seeds,
        selected,
        full / spent,
        task.at_full[best].valid_score - task.at_full[selected].valid_score,
        task.test[best] - task.test[selected],
    )


def all_replayed(task: Task) -> list[Replay]:
    """Run every method on one task."""
    return [replayed(task, method) for method in METHODS]


def by_data(replays: Iterable[Replay]) -> dict[tuple[str, int], list[Replay]]:
    """Group replays by data set."""
    found: dict[tuple[str, int], list[Replay]] = {}
    for replay in replays:
        found.setdefault((replay.source, replay.data), []).append(replay)
    return found


def figures(replays: Sequence[Replay]) -> Figures:
    """Return the figures of one method; each data set counts once."""
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
    """Return the figures as a Markdown table, with losses in percent."""
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
    """Return the share of tasks in which the loss exceeded delta, for each delta."""
    over = [(delta, fmean(each.loss > delta for each in replays[f"{LINE} delta {delta}"])) for delta in DELTAS]
    return f"{LINE}: the loss exceeded delta in " + ", ".join(f"{100 * share:.0f} % ({delta})" for delta, share in over)


def _of_data(replays: Sequence[Replay]) -> list[dict[str, object]]:
    """Return the figures of one method for each data set, as JSON values."""
    return [
        {
            "lcdb": source,
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
        for (source, data), one in by_data(replays).items()
    ]


def main() -> None:
    """Print one table for each group of data sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--ids", choices=IDS, default="odd", help="OpenML ids (default: odd); even ids are for one look at the end"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="most tasks for each data set (default: 5)")
    parser.add_argument(
        "--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB, which is downloaded if it is missing"
    )
    parser.add_argument("--lcdb11", type=Path, help="Parquet file with curves of LCDB 1.1 (see curves.py)")
    parser.add_argument("--out", type=Path, help="write the figures of each data set to this JSON file")
    parser.add_argument("--plot", type=Path, help="draw speed-up against loss, of all curves together: .svg or .png")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes (default: all CPUs)")
    arguments = parser.parse_args()
    with Pool(arguments.workers) as pool:
        more = tasks_11(arguments.lcdb11, arguments.ids) if arguments.lcdb11 else ()
        given = chain(tasks(arguments.cache, arguments.ids, arguments.seeds), more)
        replays = [each for some in pool.imap(all_replayed, given) for each in some]
    of_method = {name: [each for each in replays if each.method == name] for name in METHODS}
    groups: dict[str, dict[str, Figures]] = {}
    sources = (("1.0", "1.1"), ("1.0",), ("1.1",)) if arguments.lcdb11 else (("1.0",),)
    for least, source in product(GROUPS, sources):
        some = {
            name: [each for each in each_of if each.full_size >= least and each.source in source]
            for name, each_of in of_method.items()
        }
        if not (counted := by_data(some["full"])):
            continue
        title = f"LCDB {' and '.join(source)}, N >= {least:,}"
        groups[title] = {name: figures(each) for name, each in some.items()}
        print(f"\n{title}: {len(counted)} data sets ({arguments.ids} ids), {len(some['full'])} tasks\n")
        print(table(groups[title]))
        print(f"\n{promises(some)}")
    if arguments.out:
        written = {
            "ids": arguments.ids,
            "seeds": arguments.seeds,
            "groups": {title: {name: asdict(one) for name, one in group.items()} for title, group in groups.items()},
            "data_sets": {name: _of_data(each) for name, each in of_method.items()},
        }
        arguments.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if arguments.plot:
        draw(
            arguments.plot,
            {
                title: {name: (one.speed_up, 100 * one.valid.mean) for name, one in group.items()}
                for title, group in groups.items()
                if title.startswith(f"LCDB {' and '.join(sources[0])},")
            },
        )


if __name__ == "__main__":
    main()
