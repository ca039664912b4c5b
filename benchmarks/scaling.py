"""Measure how `ask` and `tell` scale with the number of learners, and what a whole replay costs.

    python benchmarks/scaling.py [--learners 100000] [--sizes 12]
    python benchmarks/scaling.py --frugal --learners 10000

For each strategy: microseconds for one `ask` and one `tell` together, with a hundredth, a tenth and all of the
learners; with all learners also the 99.9th percentile and the slowest pair. Then the microseconds for one step of a
whole replay through `run` on the table engine, with one worker and all learners, and with 64 workers and a tenth of the
learners. `frugal`, which takes longer, is measured by `--frugal` alone, where the times of the learners differ by up
to a factor of 10,000. The curves are random with a fixed seed. Figures are kept in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from dataclasses import replace

from pydaub import STRATEGIES, Allocation, Frugal, Measurement, Outcome, Schedule, Strategy, Table, TableEngine, run


def random_table(learners: int, schedule: Schedule, seed: int = 2016) -> Table:
    """Return curves of the form end - gap / (1 + size / knee), with some noise."""
    rng = random.Random(seed)
    outcomes: dict[Allocation, Outcome] = {}
    for i in range(learners):
        end, gap, knee = rng.uniform(0.5, 0.95), rng.uniform(0.05, 0.5), rng.uniform(100, 10_000)
        for size in schedule.sizes:
            valid = end - gap / (1 + size / knee) + rng.gauss(0, 0.003)
            train = end + gap / (1 + size / knee)
            outcomes[Allocation(f"learner-{i}", size)] = Measurement(train, valid, size / 1000)
    return Table(outcomes)


def timed_pairs(strategy: Strategy, table: Table) -> list[float]:
    """Return the seconds of each `ask` and `tell` together, without the lookup between them."""
    seconds: list[float] = []
    clock = time.perf_counter
    while True:
        start = clock()
        allocation = strategy.ask()
        asked = clock() - start
        if allocation is None:
            return seconds
        outcome = table[allocation]
        start = clock()
        strategy.tell(allocation, outcome)
        seconds.append(asked + clock() - start)


def with_other_times(table: Table, seed: int = 1) -> Table:
    """Return the table with the times of each learner multiplied by a random factor."""
    rng = random.Random(seed)
    factors = {name: 10 ** rng.uniform(-2, 2) for name in table.learners}
    return Table(
        {
            allocation: replace(outcome, seconds=outcome.seconds * factors[allocation.learner])
            for allocation, outcome in table.outcomes.items()
        }
    )


def print_frugal(learners: int, schedule: Schedule) -> None:
    """Print mean and slowest pair of `frugal` with a tenth and with all of the learners."""
    for count in (learners // 10, learners):
        table = with_other_times(random_table(count, schedule))
        gc.freeze()
        gc.disable()
        pairs = timed_pairs(Frugal(table.learners, schedule), table)
        mean = 1e3 * sum(pairs) / len(pairs)
        print(f"frugal, {count:,} learners: {mean:.2f} ms a pair, slowest {max(pairs):.3f} s, {len(pairs):,} pairs")


def microseconds_in_run(kind: type[Strategy], table: Table, schedule: Schedule, workers: int) -> tuple[float, int]:
    """Return the microseconds for one step of a replay, garbage collection included, and the number of steps."""
    strategy = kind(table.learners, schedule)
    gc.enable()
    start = time.perf_counter()
    steps = len(run(strategy, TableEngine(table, workers)).steps)
    seconds = time.perf_counter() - start
    gc.disable()
    return 1e6 * seconds / steps, steps


def main() -> None:
    """Print one line for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", type=int, default=100_000, help="most learners (default: 100,000)")
    parser.add_argument("--sizes", type=int, default=12, help="sizes for each learner (default: 12)")
    parser.add_argument("--frugal", action="store_true", help="measure `frugal` alone")
    arguments = parser.parse_args()
    schedule = Schedule(tuple(500 * 2**k for k in range(arguments.sizes)))
    if arguments.frugal:
        print_frugal(arguments.learners, schedule)
        return
    counts = [arguments.learners // 100, arguments.learners // 10, arguments.learners]
    print(f"Python {sys.version.split()[0]}, {arguments.sizes} sizes; microseconds per ask and tell together")
    heads = (*(f"{count:,}" for count in counts), "p99.9", "slowest", "in run()", "steps", "64 workers")
    print(f"{'strategy':<12}" + "".join(f"{head:>11}" for head in heads))
    tables = {count: random_table(count, schedule) for count in counts}
    gc.freeze()  # keep the tables out of garbage collection
    gc.disable()  # its pauses count in the last columns only
    for name, kind in ((name, kind) for name, kind in STRATEGIES.items() if kind is not Frugal):
        means = []
        for table in tables.values():
            pairs = sorted(timed_pairs(kind(table.learners, schedule), table))
            means.append(1e6 * sum(pairs) / len(pairs))
        rare = 1e6 * pairs[int(len(pairs) * 0.999)]
        in_run, steps = microseconds_in_run(kind, tables[counts[-1]], schedule, 1)
        prefetched, _ = microseconds_in_run(kind, tables[counts[1]], schedule, 64)
        figures = "".join(f"{figure:>11.1f}" for figure in (*means, rare, 1e6 * pairs[-1], in_run))
        print(f"{name:<12}{figures}{steps:>11,}{prefetched:>11.1f}", flush=True)


if __name__ == "__main__":
    main()
