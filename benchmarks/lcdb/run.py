"""Replay methods on the tasks of LCDB and print speed-ups and losses.

    python -m benchmarks.lcdb.run [--ids odd] [--seeds 5] [--lcdb11 FILE] [--cuts] [--methods PATTERN]
                                  [--out odd.json] [--plot odd.svg]

With a file of LCDB 1.1, its data sets are added, and the tables are those of both together and of each alone. With
`--cuts`, every task is also replayed as if its data ended at N/2, N/4, ...; these have tables of their own.

Run it in the root of the repository. Each data set counts once, and so does each cut of it. The speed-up of a task is
the time of full training over the time that the method spent; the figure is the geometric mean over the seeds of a data
set, and then over data sets. The loss of a task is the full-data score of the best learner minus that of the selected
one; the figure is the mean over the seeds of a data set, and then over data sets. The best learner is the best by
validation score, which full training would select; by test score the loss can therefore be negative. Times are the
recorded ones, for one worker. A training is ended at the limit that the strategy sets, as in a run.

The forecast of `frugal` is made from the odd ids. So before a data set with an odd id is replayed, the forecast gets a
table without that data set, made from the other ones of the replay. For even ids it is the table that is shipped.

Tune strategies on odd ids only. Even ids are for one look at the end, after all settings are fixed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from dataclasses import asdict, dataclass
from itertools import chain, product
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.lcdb.curves import IDS, SEEDS, Task, cuts, tasks, tasks_11
from benchmarks.lcdb.frontier import draw
from benchmarks.lcdb.methods import DELTAS, LINE, METHODS
from benchmarks.lcdb.peers import Chosen
from benchmarks.lcdb.steps import Recorded, left_out, steps_of
from pydaub import TableEngine, run
from pydaub.algorithm.forecast import use
from pydaub.algorithm.strategies.frugal import DELTA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from multiprocessing.pool import Pool as Processes

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
    halvings: int = 0


class Job(NamedTuple):
    """What one process replays at a time."""

    task: Task
    methods: Sequence[str]
    recorded: Recorded | None  # the table of the forecast; None for the one that is shipped


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
        result = run(made, TableEngine(task.table, limits=True))
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
        task.halvings,
    )


def all_replayed(job: Job) -> list[Replay]:
    """Run some methods on one task, with the forecast that the job has."""
    use(*job.recorded or ())
    try:
        return [replayed(job.task, method) for method in job.methods]
    finally:
        use()


def jobs(given: Sequence[Task], methods: Sequence[str], pool: Processes, *, with_cuts: bool = False) -> list[Job]:
    """Return a job for each task, and for its cuts; one with an odd id has a forecast without its data set."""
    odd = [task for task in given if task.data % 2]
    tables = left_out(steps_of(odd), pool) if odd else {}
    whole = ((task, (task, *(cuts(task) if with_cuts else ()))) for task in given)
    return [Job(each, methods, tables.get(task.data)) for task, some in whole for each in some]


def by_data(replays: Iterable[Replay]) -> dict[tuple[str, int, int], list[Replay]]:
    """Group replays by data set: by version of LCDB, id, and how often the rows were halved."""
    found: dict[tuple[str, int, int], list[Replay]] = {}
    for replay in replays:
        found.setdefault((replay.source, replay.data, replay.halvings), []).append(replay)
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


def table(found: Mapping[str, Figures], *, by_test: bool = True) -> str:
    """Return the figures as a Markdown table, with losses in percent; cuts have no test scores of their own."""
    heads = ["method", "speed-up", "mean loss %", "p95", "worst", "over 1 %"]
    heads += ["mean by test", "worst by test"] if by_test else []
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1)]
    for method, one in found.items():
        cells = [f"{one.speed_up:.1f}", *(_percent(each) for each in (one.valid.mean, one.valid.p95, one.valid.worst))]
        cells += [f"{100 * one.valid.often:.0f} %"]
        cells += [_percent(one.test.mean), _percent(one.test.worst)] if by_test else []
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(loss: float) -> str:
    return f"{100 * loss:.2f}"


def promises(replays: Mapping[str, list[Replay]]) -> str:
    """Return the share of tasks in which the loss exceeded delta, for each delta that was replayed."""
    asked = {delta: f"{LINE} delta {delta}" for delta in DELTAS}
    over = {
        delta: fmean(each.loss > delta for each in replays[name]) for delta, name in asked.items() if name in replays
    }
    return f"{LINE}: the loss exceeded delta in " + ", ".join(
        f"{100 * share:.0f} % ({delta})" for delta, share in over.items()
    )


def losers(replays: Iterable[Replay]) -> str:
    """Return the data sets on which the mean loss is one that users would notice, the largest loss first."""
    means = {key: fmean(each.loss for each in one) for key, one in by_data(replays).items()}
    found = []
    for (source, data, halvings), loss in sorted(means.items(), key=lambda each: -each[1]):
        if loss > MUCH:
            part = f", N/{2**halvings}" if halvings else ""
            found.append(f"{data} (LCDB {source}{part}) {100 * loss:.1f} %")
    return ", ".join(found) or "none"


def _of_data(replays: Sequence[Replay]) -> list[dict[str, object]]:
    """Return the figures of one method for each data set, as JSON values."""
    return [
        {
            "lcdb": source,
            "data": data,
            "halvings": halvings,
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
        for (source, data, halvings), one in by_data(replays).items()
    ]


def groups(replays: Mapping[str, list[Replay]], sources: Sequence[str]) -> dict[str, dict[str, list[Replay]]]:
    """Return the replays of each method by group of data sets: all versions of LCDB together, each alone, and cuts."""
    apart = [sources, *([one] for one in sources if len(sources) > 1)]
    wanted = [(least, some, False) for least, some in product(GROUPS, apart)]
    wanted += [(least, sources, True) for least in GROUPS]
    found = {}
    for least, some, cut in wanted:
        chosen = {
            name: [
                each for each in of if each.full_size >= least and each.source in some and (each.halvings > 0) == cut
            ]
            for name, of in replays.items()
        }
        if any(chosen.values()):
            found[f"LCDB {' and '.join(some)}{', cuts' if cut else ''}, N >= {least:,}"] = chosen
    return found


def main() -> None:
    """Print one table for each group of data sets."""
    arguments = _arguments()
    methods = [name for name in METHODS if arguments.methods.search(name)]
    if not methods:
        raise SystemExit(f"`--methods` must match at least one method, got {arguments.methods.pattern!r}.")
    more = tasks_11(arguments.lcdb11, arguments.ids) if arguments.lcdb11 else ()
    given = list(chain(tasks(arguments.cache, arguments.ids, arguments.seeds), more))
    with Pool(arguments.workers) as pool:
        wanted = jobs(given, methods, pool, with_cuts=arguments.cuts)
        replays = [each for some in pool.imap(all_replayed, wanted) for each in some]
    of_method = {name: [each for each in replays if each.method == name] for name in methods}
    found: dict[str, dict[str, Figures]] = {}
    usual, sources = f"{LINE} delta {DELTA.default}", ("1.0", "1.1") if arguments.lcdb11 else ("1.0",)
    for title, some in groups(of_method, sources).items():
        found[title] = {name: figures(each) for name, each in some.items()}
        counted = some[methods[0]]
        counts = f"{len(by_data(counted))} {'cuts' if counted[0].halvings else 'data sets'}"
        print(f"\n{title}: {counts} ({arguments.ids} ids), {len(counted)} tasks\n")
        print(table(found[title], by_test=not counted[0].halvings))
        if any(name.startswith(LINE) for name in some):
            print(f"\n{promises(some)}")
        if usual in some:
            print(f"{usual}: data sets with a mean loss over {100 * MUCH:g} %: {losers(some[usual])}")
    if arguments.out:
        written = {
            "ids": arguments.ids,
            "seeds": arguments.seeds,
            "groups": {title: {name: asdict(one) for name, one in group.items()} for title, group in found.items()},
            "data_sets": {name: _of_data(each) for name, each in of_method.items()},
        }
        arguments.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if arguments.plot:
        together = [title for title in found if title.startswith(f"LCDB {' and '.join(sources)}, N")]
        draw(
            arguments.plot,
            {
                title: {name: (one.speed_up, 100 * one.valid.mean) for name, one in found[title].items()}
                for title in together
            },
        )


def pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression from the command line."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"must be a regular expression, got {text!r} ({error}).") from None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--ids", choices=IDS, default="odd", help="OpenML ids (default: odd); even ids are for one look at the end"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="most tasks for each data set (default: 5)")
    parser.add_argument(
        "--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB, which is downloaded if it is missing"
    )
    parser.add_argument("--lcdb11", type=Path, help="Parquet file with curves of LCDB 1.1 (see curves.py)")
    parser.add_argument("--cuts", action="store_true", help="also replay each task with a half, a quarter, ... of it")
    parser.add_argument(
        "--methods", type=pattern, default=re.compile(""), help="regular expression of the methods (default: all)"
    )
    parser.add_argument("--out", type=Path, help="write the figures of each data set to this JSON file")
    parser.add_argument("--plot", type=Path, help="draw speed-up against loss, of all curves together: .svg or .png")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes (default: all CPUs)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
