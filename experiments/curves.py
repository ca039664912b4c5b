"""Measure the learning curves of a portfolio: every learner on every one of the paper's sizes.

    python experiments/curves.py parity --learners weka --out parity-weka.csv
    python experiments/curves.py higgs.parquet --target target --timeout 60s --budget 20m --out higgs.csv

Sizes come in their order, all learners on one before any gets the next, so that what a budget leaves out is the most
costly part; it is said. The table is one that `pydaub replay` reads, so that strategies can be compared on it for
nothing. Beside it, in a folder with the ending .run, is the journal: killed or out of budget, the same command goes on
where it was.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from pydaub import PAPER_SIZES, Journal, Schedule, run
from pydaub.cli.units import seconds
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.engines.table import COLUMNS, FAILURE_COLUMN
from pydaub.errors import AllLearnersFailed, InputError, NothingMeasured
from pydaub.evaluation import Task
from pydaub.journal import read
from pydaub.learners import portfolio
from pydaub.nursery import Limits
from pydaub.records import Evaluated, Measurement
from pydaub.selection import settings_of
from pydaub.strategies.rounds import Rounds  # which drops nobody: every learner gets every size


def measured(arguments: argparse.Namespace) -> tuple[list[Evaluated], int]:
    """Return the outcomes that there are, and how many there would be."""
    data = load(arguments.data, arguments.target, split=Split(fraction=arguments.fraction), seed=arguments.seed)
    full_size = min(data.full_size, arguments.full_size or data.full_size)
    learners = portfolio(arguments.learners, data.schema)
    strategy = Rounds(tuple(learners), Schedule.listed(full_size, PAPER_SIZES))
    task = Task(data, learners, scoring="accuracy", metrics=False, seed=arguments.seed, reuse=False)
    folder = arguments.out.with_suffix(".run")
    folder.mkdir(parents=True, exist_ok=True)
    limits = Limits(seconds(arguments.timeout, "--timeout"), int(arguments.memory_gb * 1e9))
    path = folder / "journal.jsonl"
    with Journal(path, settings_of(task, strategy)) as journal:
        engine = ProcessEngine(task, arguments.jobs, folder, limits)
        try:
            budget = seconds(arguments.budget, "--budget")
            run(strategy, engine, journal, time_limit=budget, watch=progress)
        except (AllLearnersFailed, NothingMeasured) as error:
            print(error, file=sys.stderr)
    events = [event for event in read(path) if isinstance(event, Evaluated)]
    places = {name: place for place, name in enumerate(learners)}  # ties go to the first of a table
    events.sort(key=lambda event: (places[event.allocation.learner], event.allocation.size))
    return events, len(learners) * len(strategy.schedule.sizes)


def progress(event: object) -> None:
    """Print a line for each outcome."""
    if isinstance(event, Evaluated):
        outcome = event.outcome
        score = (
            f"{outcome.valid_score:.4f}" if isinstance(outcome, Measurement) else f"{outcome.kind}: {outcome.message}"
        )
        print(f"{event.allocation.learner} {event.allocation.size:,}: {score} ({outcome.seconds:.1f} s)", flush=True)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data")
    parser.add_argument("--target")
    parser.add_argument("--learners", default="sklearn")
    parser.add_argument("--fraction", type=float, default=0.3, help="of the rows validate")
    parser.add_argument("--full-size", type=int, help="the last size, if not all rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", default="60s", help="for one training")
    parser.add_argument("--memory-gb", type=float, default=6.0)
    parser.add_argument("--budget", help="for everything, such as 20m")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        events, wanted = measured(arguments)
    except InputError as error:
        parser.error(str(error))
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, FAILURE_COLUMN])
        for event in events:
            outcome, start = event.outcome, (event.allocation.learner, event.allocation.size)
            if isinstance(outcome, Measurement):
                scores = (f"{outcome.train_score:.6f}", f"{outcome.valid_score:.6f}")
                writer.writerow([*start, *scores, f"{outcome.seconds:.3f}", ""])
            else:
                writer.writerow([*start, "", "", f"{outcome.seconds:.3f}", f"{outcome.kind}: {outcome.message}"])
    failed = sum(not isinstance(event.outcome, Measurement) for event in events)
    print(f"{len(events)} of {wanted} measured, {failed} of them failures; a learner that failed gets no larger size.")


if __name__ == "__main__":
    main()
