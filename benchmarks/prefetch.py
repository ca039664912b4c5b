"""Measure how wall time falls with the number of workers, on a virtual clock.

    python benchmarks/prefetch.py [--learners 41 1000 10000] [--workers 1 4 16 64 256] [--strategy daub] [--all]

The curves are recorded ones (those that ship with pydaub, and those in experiments/measured) and synthetic ones. For
each number of workers, the table has the wall time relative to the critical path: the time that the same number of
workers would need if they knew all allocations beforehand (all training time divided evenly, or the longest single
training if that is more). In brackets: seconds of guesses that were never used, relative to the seconds asked for. The
clock is virtual, so these figures are the same on any machine. The last column, what the run itself takes, is real
time.
"""

from __future__ import annotations

import argparse
import random
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from pydaub import STRATEGIES, Allocation, Measurement, Schedule, Table, TableEngine, run

if TYPE_CHECKING:
    from collections.abc import Iterator

MEASURED = Path(__file__).parent.parent / "experiments" / "measured"
SIZES = Schedule.geometric(100_000, 500, 1.5).sizes


def recorded() -> Iterator[tuple[str, Table]]:
    """Yield the recorded tables with their names."""
    for name in ("parity", "higgs"):
        with as_file(files("pydaub") / "recorded" / f"{name}.csv") as path:
            yield f"{name}, 25 of scikit-learn", Table.read(path)
    for path in sorted(MEASURED.glob("*-weka-*.csv")):
        yield f"{path.stem.partition('-')[0]}, 41 of WEKA", Table.read(path)
    for name in ("parity-sklearn-21500-0", "higgs-sklearn-17500-0"):
        if (MEASURED / f"{name}.csv").exists():
            yield f"{name.partition('-')[0]}, 52 of scikit-learn", Table.read(MEASURED / f"{name}.csv")


def synthetic(learners: int) -> Table:
    """Return noisy power laws with random asymptotes, gaps, exponents and costs."""
    rng = random.Random(learners)
    outcomes = {}
    for number in range(learners):
        end, gap, fall = rng.uniform(0.6, 0.9), rng.uniform(0.5, 4.0), rng.uniform(0.3, 0.7)
        slow, power = 10 ** rng.uniform(-5, -3), rng.uniform(0.9, 1.6)
        for size in SIZES:
            valid = end - gap * size**-fall + rng.gauss(0, 0.002)
            train = min(1.0, end + 0.3 * gap * size**-fall)
            outcomes[Allocation(f"learner-{number}", size)] = Measurement(train, valid, slow * size**power / 10)
    return Table(outcomes)


def main() -> None:
    """Print one line for each table and strategy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--learners", type=int, nargs="*", default=[41, 1000, 10_000], help="sizes of synthetic portfolios"
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 16, 64, 256], help="numbers of workers")
    parser.add_argument("--strategy", choices=STRATEGIES, default="daub", help="default: daub")
    parser.add_argument("--all", action="store_true", help="compare every strategy")
    arguments = parser.parse_args()
    strategies = list(STRATEGIES) if arguments.all else [arguments.strategy]
    print("wall time / critical path (seconds guessed in vain / seconds asked for)")
    print(f"{'':<38}" + "".join(f"{f'{workers} workers':>16}" for workers in arguments.workers) + f"{'run itself':>12}")
    tables = [*recorded(), *((f"synthetic, {count:,}", synthetic(count)) for count in arguments.learners)]
    for name, table in tables:
        for strategy in strategies:
            figures, began = [], time.perf_counter()
            for workers in arguments.workers:
                result = run(STRATEGIES[strategy](table.learners, Schedule(table.sizes)), TableEngine(table, workers))
                longest = max(step.outcome.seconds for step in result.steps)
                least = max(result.seconds / workers, longest)
                vain = sum(outcome.seconds for outcome in result.speculated.values())
                figures.append(f"{result.wall_seconds / least:.2f} ({vain / result.seconds:.2f})")
            took = f"{time.perf_counter() - began:.1f} s"
            label = name + (f" {strategy}" if arguments.all else "")
            print(f"{label:<38}" + "".join(f"{figure:>16}" for figure in figures) + f"{took:>12}", flush=True)


if __name__ == "__main__":
    main()
