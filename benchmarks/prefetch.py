"""How wall time falls with the number of workers, on the virtual clock.

    python benchmarks/prefetch.py

For each recorded table that ships with pydaub and each strategy: wall seconds with 1 to 64 virtual workers, relative to
the least that as many workers could need if they knew all allocations beforehand (all training time shared out evenly,
or the longest single training, whichever is more); and the seconds guessed in vain relative to those asked for. The
clock is virtual, so the figures are exact and the same on any machine.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from pydaub import STRATEGIES, Schedule, Table, TableEngine, run

WORKERS = (1, 2, 4, 8, 16, 64)


def main() -> None:
    """Print one line for each table and strategy."""
    print("wall time / the least possible (seconds guessed in vain / seconds asked for)")
    print(f"{'':<20}" + "".join(f"{f'{workers} workers':>16}" for workers in WORKERS))
    for name in ("parity", "higgs"):
        with as_file(files("pydaub") / "recorded" / f"{name}.csv") as path:
            table = Table.read(path)
        for other, kind in STRATEGIES.items():
            figures = []
            for workers in WORKERS:
                result = run(kind(table.learners, Schedule(table.sizes)), TableEngine(table, workers))
                longest = max(step.outcome.seconds for step in result.steps)
                least = max(result.seconds / workers, longest)
                vain = sum(outcome.seconds for outcome in result.speculated.values())
                figures.append(f"{result.wall_seconds / least:.2f} ({vain / result.seconds:.2f})")
            print(f"{name + ' ' + other:<20}" + "".join(f"{figure:>16}" for figure in figures))


if __name__ == "__main__":
    main()
