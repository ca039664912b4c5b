"""What a time limit costs: `frugal` against plain halving on recorded curves, on a quiet and on a bad machine.

    python -m benchmarks.limits [--lcdb11 FILE] [--cache build/lcdb] [--out FILE.json] [--processes 2]

The plain rule gives all learners the first size, the best half of them the next one, and so on, and answers with the
best one at the largest size that any has had in time. Both get the sizes of `frugal`. A *slow* machine takes three
times as long for everything after the first size as for that; on a *jittered* one, each takes exp(0.5 z) times
as long, z normal. Limits are shares of the time of training everything, on one and two virtual workers. Tables: the
recorded ones of `benchmarks/prefetch.py`, and data sets with odd ids of LCDB 1.0 (two pairs of seeds, from 30,000 rows)
and 1.1 (from 16,000 rows).

Printed are losses to the best score on all rows, in percent: of the answer in time (a model of fewer rows counts with
its own score), of the plain rule's, and how the difference is distributed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from benchmarks.lcdb.curves import tasks, tasks_11
from benchmarks.prefetch import recorded
from pydaub import Allocation, Frugal, Measurement, NothingMeasured, Schedule, Scores, Table, TableEngine, run
from pydaub.algorithm.strategies.sizes import few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SHARES = (1 / 200, 1 / 100, 1 / 50, 1 / 25, 1 / 12)
MACHINES = ("quiet", "slow", "jittered")
SLOWNESS, JITTER = 3.0, 0.5
WORKERS = (1, 2)
LEAST_ROWS, LEAST_ROWS_11 = 30_000, 16_000
USUAL_ROWS = 10_000  # validation rows of tables that do not say how many there were
MUCH = 0.5  # percent


class Job(NamedTuple):
    """A recorded table, and the number of its validation rows."""

    name: str
    table: Table
    rows: int


@dataclass(frozen=True)
class Answer:
    """The losses in percent of one run and of the plain rule; None where nothing was measured in time."""

    name: str
    machine: str
    share: float
    workers: int
    loss: float | None
    plain: float | None

    @property
    def difference(self) -> float:
        """By how much the answer is better than the plain rule's."""
        return math.nan if self.loss is None or self.plain is None else self.plain - self.loss


def machine_of(table: Table, machine: str, first: int, seed: int) -> Table:
    """Return the table as this machine would have recorded it."""
    rng = random.Random(seed)

    def factor(allocation: Allocation) -> float:
        if machine == "slow":
            return SLOWNESS if allocation.size > first else 1.0
        return math.exp(JITTER * rng.gauss(0, 1)) if machine == "jittered" else 1.0

    return Table(
        {
            each: replace(found, seconds=found.seconds * factor(each), fitting=None, scoring=None)
            if isinstance(found, Measurement)
            else found
            for each, found in table.outcomes.items()
        }
    )


def halved(table: Table, sizes: Sequence[int], limit: float, workers: int) -> float | None:
    """Return the best score at the largest size that plain halving measures in time; None if it measures nothing."""
    names, best, clock = [*table.learners], None, 0.0
    for size in sizes:
        free, done = [clock] * workers, list[tuple[float, str]]()
        for name in names:
            found, first = table.outcomes.get(Allocation(name, size)), free.index(min(free))
            if isinstance(found, Measurement) and free[first] < limit:
                free[first] += found.seconds
                if free[first] <= limit:
                    done.append((found.valid_score, name))
        best, clock = max(done)[0] if done else best, max(free)
        names = [name for _, name in sorted(done, reverse=True)[: -(-len(names) // 2)]]
    return best


def answers(job: Job) -> list[Answer]:
    """Return the answers on one table, for every machine, limit and number of workers."""
    sizes, full = few(job.table.sizes), job.table.sizes[-1]
    last = [found for each, found in job.table.outcomes.items() if each.size == full and isinstance(found, Measurement)]
    total, top = sum(each.seconds for each in last), max(each.valid_score for each in last)
    found = []
    for machine, share, workers in product(MACHINES, SHARES, WORKERS):
        table = machine_of(job.table, machine, sizes[0], crc32(job.name.encode()))
        limit = share * total / workers * (SLOWNESS if machine == "slow" else 1.0)
        strategy = Frugal(table.learners, Schedule(table.sizes), scores=Scores("accuracy", rows=job.rows))
        try:
            score = run(strategy, TableEngine(table, workers, limits=True), time_limit=limit).valid_score
        except NothingMeasured:
            score = None
        losses = (
            None if each is None else 100 * (1 - each / top) for each in (score, halved(table, sizes, limit, workers))
        )
        found.append(Answer(job.name, machine, share, workers, *losses))
    return found


def jobs(cache: Path, lcdb11: Path | None) -> Iterator[Job]:
    """Yield all tables."""
    for name, table in recorded():
        yield Job(name, table, USUAL_ROWS)
    for each in tasks(cache, "odd", 2):
        if each.table.sizes[-1] >= LEAST_ROWS:
            yield Job(f"LCDB 1.0 {each.data} {each.seeds}", each.table, each.valid_rows)
    for each in tasks_11(lcdb11, "odd") if lcdb11 else ():
        if each.table.sizes[-1] >= LEAST_ROWS_11:
            yield Job(f"LCDB 1.1 {each.data}", each.table, each.valid_rows)


def line(label: str, found: Sequence[Answer]) -> str:
    """Return a line of the table."""
    both = [each for each in found if not math.isnan(each.difference)]
    behind = [each for each in both if each.difference < -MUCH]
    return (
        f"| {label} | {fmean(each.loss or 0.0 for each in both):.2f} | {fmean(each.plain or 0.0 for each in both):.2f}"
        f" | {100 * len(behind) / len(both):.0f} % | {fmean(min(each.difference, 0.0) for each in both):.2f}"
        f" | {min(each.difference for each in both):.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lcdb11", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("build/lcdb"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with Pool(given.processes) as pool:
        found = [each for some in pool.imap(answers, jobs(given.cache, given.lcdb11)) for each in some]
    if given.out:
        given.out.write_text(json.dumps([asdict(each) for each in found]))
    groups: dict[str, Callable[[Answer], bool]] = {"all": lambda _: True}
    groups |= {each: partial(lambda each, answer: answer.machine == each, each) for each in MACHINES}
    groups |= {
        f"1/{1 / each:.0f} of everything": partial(lambda each, answer: answer.share == each, each) for each in SHARES
    }
    groups |= {f"{each} worker(s)": partial(lambda each, answer: answer.workers == each, each) for each in WORKERS}
    print("| | loss | plain rule | behind by > 0.5 | mean where behind | worst |\n|---|--:|--:|--:|--:|--:|")
    for label, belongs in groups.items():
        print(line(label, [each for each in found if belongs(each)]))
    print("\nFurthest behind:")
    for each in sorted((each for each in found if each.difference < -MUCH), key=lambda each: each.difference)[:10]:
        print(f"{each.difference:6.1f}  {each.name}, {each.machine}, 1/{1 / each.share:.0f}, {each.workers} worker(s)")


if __name__ == "__main__":
    main()
