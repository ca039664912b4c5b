"""How fast could a run be? Replay the trainings of real data sets with other settings.

    python -m benchmarks.reach FILE.parquet [FILE.parquet ...] --keep build/plain

Every learner is trained on all rows, as in plain.py, and evaluated at the smaller sizes of a run, on one core. Both are
kept in the folder `--keep`, so that they are measured only once. Strategies are replayed on what was measured.

The table has the speed-up over the loop and the loss of `frugal` with several deltas. Its last column is a bound
for strategies that evaluate every learner at the two smallest sizes of a run: the time of these evaluations and of the
best learner's others.
"""

from __future__ import annotations

import argparse
import json
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.plain import Plain, loop
from pydaub import Frugal, Table, TableEngine, run
from pydaub.algorithm.strategies.frugal import DELTA
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.records import (
    VALIDATION_FRACTION,
    Allocation,
    Failure,
    Measurement,
    Outcome,
    outcome_from_json,
    outcome_to_json,
)
from pydaub.runs.plan import plan

DELTAS: Final = (0.005, 0.01, 0.02, 0.03)
LOOKS: Final = 2  # sizes that every learner gets before any is left behind


@dataclass(frozen=True)
class Recorded:
    """All trainings of a data set, the settings of the strategy, and what the loop took."""

    name: str
    table: Table
    settings: dict[str, Any]
    full_size: int
    everything: float

    @property
    def at_full(self) -> dict[str, float]:
        """The scores on all rows."""
        outcomes = {name: self.table[Allocation(name, self.full_size)] for name in self.table.learners}
        return {name: each.valid_score for name, each in outcomes.items() if isinstance(each, Measurement)}

    def least(self, selected: str) -> float:
        """Return the seconds of the looks at every learner, and of the selected one's way to all rows."""
        sizes = self.settings["sizes"]
        looks = sum(
            self.table[Allocation(name, size)].seconds for name in self.table.learners for size in sizes[:LOOKS]
        )
        return looks + sum(self.table[Allocation(selected, size)].seconds for size in sizes[LOOKS:])


def recorded(path: Path, arguments: argparse.Namespace) -> Recorded:
    """Train every learner at every size of a run, or read what was kept."""
    data = load(str(path), arguments.target, split=Split(fraction=VALIDATION_FRACTION))
    plain = loop(path, data, arguments)
    learners = portfolio(arguments.learners, data.schema)
    planned = plan(Task(data, learners, scoring=None, metrics="none"), "frugal")
    kept = Path(arguments.keep) / f"{path.stem}.sizes.json"
    if not kept.exists():
        found = {}
        with (
            TemporaryDirectory(prefix="pydaub-") as folder,
            closing(ProcessEngine(planned.task, 1, Path(folder), Limits(arguments.timeout))) as engine,
        ):
            for size in planned.strategy.schedule.sizes[:-1]:
                for name in learners:
                    engine.submit(Allocation(name, size))
                    if collected := engine.collect():
                        found[f"{size} {name}"] = outcome_to_json(collected[1])
        kept.write_text(json.dumps(found))
    outcomes: dict[Allocation, Outcome] = {}
    for key, fields in json.loads(kept.read_text()).items():
        size, _, name = key.partition(" ")
        outcomes[Allocation(name, int(size))] = outcome_from_json(fields)
    outcomes |= {Allocation(name, data.full_size): _of_loop(each) for name, each in plain.items()}
    everything = sum(each.seconds for each in plain.values())
    return Recorded(path.stem, Table(outcomes), planned.strategy.settings, data.full_size, everything)


def _of_loop(each: Plain) -> Outcome:
    if each.score is None:
        return Failure("timeout", "no score in the loop", each.seconds)
    return Measurement(None, each.score, each.seconds, fitting=each.fitting, scoring=each.scoring)


def replayed(data: Recorded, delta: float = DELTA.default) -> tuple[float, float]:
    """Return how many times as fast as the loop `frugal` is, and its loss in percent."""
    strategy = Frugal.from_settings({**data.settings, "delta": delta})
    result, scores = run(strategy, TableEngine(data.table, limits=True)), data.at_full
    return data.everything / result.seconds, 100 * (max(scores.values()) - scores[str(result.selected)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="data files")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names (default: sklearn)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one training (default: 60)")
    parser.add_argument("--keep", default="build/plain", help="folder that keeps what was measured")
    arguments = parser.parse_args()
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # seconds are those of one core
    measured = [recorded(path, arguments) for path in arguments.files]
    os.sched_setaffinity(0, allowed)
    print("Times faster than the loop; loss in percent.\n")
    print(f"| data | {' | '.join(f'delta {delta:g}' for delta in DELTAS)} | two looks and the winner |")
    print("|---|" + "--:|" * (len(DELTAS) + 1))
    for data in measured:
        found = [replayed(data, delta) for delta in DELTAS]
        best = max(data.at_full, key=lambda name: data.at_full[name])
        cells = [f"{faster:.1f}; {loss:.2f}" for faster, loss in found]
        print(f"| {data.name} | {' | '.join(cells)} | {data.everything / data.least(best):.1f} |")


if __name__ == "__main__":
    main()
