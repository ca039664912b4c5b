"""Measure the learning curves of a portfolio: every learner on every one of the paper's sizes.

    python experiments/curves.py parity --learners weka
    python experiments/curves.py higgs susy --seeds 5 --timeout 60s --budget 20m --full-size 11500

Data sets are those of experiments/datasets.py. Sizes come in their order, all learners on one before any gets the next,
so that what a budget leaves out is the most costly part; it is said. Each table is one that `pydaub replay` reads, so
that strategies can be compared on it for nothing. A learner that fails gets no larger size: the table has it failing
there too, after as long. A table to a larger size takes over what was measured to a smaller one. Beside a table are its
circumstances (.json) and its journal (in the folder .run): killed or out of budget, the same command goes on where it
was.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from datasets import HERE, data_set, source
from replays import MEASURED

from pydaub import PAPER_SIZES, Allocation, Failure, Journal, Measurement, Outcome, Schedule, run
from pydaub.algorithm.strategies.rounds import Rounds
from pydaub.cli.units import seconds
from pydaub.data import Prepared, Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.engines.table import COLUMNS, FAILURE_COLUMN, Table
from pydaub.errors import AllLearnersFailed, InputError, NothingMeasured, PydaubError
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.records import Evaluated, Event
from pydaub.runs.folder import versions
from pydaub.runs.journal import read
from pydaub.runs.selection import settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ALIKE: Final = ("source", "train_rows", "timeout", "memory_gb", "versions")  # what tables must share to be joined
NOT_TRIED: Final = "not tried:"
PARITY_ROWS: Final = 21_500  # to train, and as many to validate


@dataclass(frozen=True)
class Wanted:
    """One table: which learners on which data, split by which seed, up to which size, with which limit."""

    data: str
    learners: str = "sklearn"
    seed: int = 0
    full_size: int | None = None
    timeout: str = "60s"
    memory_gb: float = 6.0

    def load(self) -> Prepared:
        """Return the rows, 70 % of them (half of parity's) for training."""
        fraction = 0.5 if self.data == "parity" else 0.3
        return load(
            source(self.data)[0], None if self.data == "parity" else "target", split=Split(fraction), seed=self.seed
        )

    def sizes(self, rows: int) -> tuple[int, ...]:
        """Return the paper's sizes up to the largest that there are rows for."""
        most = min(rows, self.full_size or rows)
        if self.data == "parity" and most >= PARITY_ROWS:
            return Schedule.listed(PARITY_ROWS, PAPER_SIZES).sizes
        return tuple(size for size in PAPER_SIZES if size <= most)


def measure(wanted: Wanted, folder: Path, *, jobs: int, budget: float | None = None) -> Path:
    """Measure a table, or go on with it, and return where it is."""
    data = wanted.load()
    sizes = wanted.sizes(data.full_size)
    if len(sizes) < 3:  # noqa: PLR2004  # DAUB's bootstrap
        most = min(data.full_size, wanted.full_size or data.full_size)
        raise InputError(f"{wanted.data} must be measured up to at least {PAPER_SIZES[2]} rows, got {most}.")
    slug = re.sub(r"\W+", "_", wanted.learners)
    path = folder / f"{wanted.data}-{slug}-{sizes[-1]}-{wanted.seed}.csv"
    about_path, working = path.with_suffix(".json"), path.with_suffix(".run")
    about = circumstances(wanted, data, jobs)
    whole = [table for table in _whole(folder, wanted, slug) if _alike(table, about)]
    if whole and _size(whole[-1]) >= sizes[-1]:
        return whole[-1]
    learners = portfolio(wanted.learners, data.schema)
    strategy = Everything(tuple(learners), Schedule(sizes))
    task = Task(data, learners, scoring="accuracy", metrics=False, seed=wanted.seed, reuse=False)
    working.mkdir(parents=True, exist_ok=True)
    limits = Limits(seconds(wanted.timeout, "--timeout"), int(wanted.memory_gb * 1e9))
    progress = Progress(path.stem, len(learners) * len(sizes))
    outcomes = {allocation: outcome for table in whole for allocation, outcome in _tried(table)}
    settings = {**settings_of(task, strategy), **{name: about[name] for name in ALIKE}}
    with Journal(working / "journal.jsonl", settings) as journal:
        engine = ProcessEngine(task, jobs, working, limits)
        try:
            run(strategy, engine, journal, known=outcomes, time_limit=budget, watch=progress.take)
        except (AllLearnersFailed, NothingMeasured) as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
    events = read(working / "journal.jsonl")
    outcomes |= {event.allocation: event.outcome for event in events if isinstance(event, Evaluated)}
    if not outcomes:
        raise InputError(f"{path.stem} must have time for at least one training, got none. Give it more with --budget.")
    left_out = write_table(path, tuple(learners), sizes, outcomes)
    about |= {"sizes": sizes, "learners": len(learners), "left_out": left_out}
    about_path.write_text(json.dumps(about, indent=1) + "\n")
    if left_out:
        print(f"{path.stem}: {left_out} of {len(learners) * len(sizes)} left out, for lack of time.", file=sys.stderr)
    else:
        shutil.rmtree(working)
        for table in whole:
            table.unlink()
            table.with_suffix(".json").unlink()
    return path


class Everything(Rounds):
    """Every learner gets every size, in its turn: nobody is dropped, and nobody jumps."""

    jumps = False


def _whole(folder: Path, wanted: Wanted, slug: str) -> list[Path]:
    """Return the whole tables of these learners, data and seed, the longest last."""
    found = []
    for table in folder.glob(f"{wanted.data}-{slug}-*-{wanted.seed}.csv"):
        about = table.with_suffix(".json")
        if about.exists() and not json.loads(about.read_text())["left_out"]:
            found.append(table)
    return sorted(found, key=_size)


def _size(table: Path) -> int:
    return int(table.stem.rsplit("-", 2)[1])


def _alike(table: Path, about: Mapping[str, Any]) -> bool:
    """Whether a table was measured under the same circumstances."""
    other = json.loads(table.with_suffix(".json").read_text())
    return all(other[key] == about[key] for key in ALIKE)


def _tried(table: Path) -> list[tuple[Allocation, Outcome]]:
    """Return what was really measured: not the failures that stand for larger sizes."""
    return [
        (allocation, outcome)
        for allocation, outcome in Table.read(table).outcomes.items()
        if not (isinstance(outcome, Failure) and outcome.message.startswith(NOT_TRIED))
    ]


def write_table(
    path: Path, learners: tuple[str, ...], sizes: tuple[int, ...], outcomes: Mapping[Allocation, Outcome]
) -> int:
    """Write what was measured, with a failure standing for all larger sizes; return how many are missing."""
    missing = 0
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, FAILURE_COLUMN])
        for learner in learners:
            failed: Failure | None = None
            for size in sizes:
                outcome = outcomes.get(Allocation(learner, size)) or failed
                if isinstance(outcome, Measurement):
                    scores = (f"{outcome.train_score:.5f}", f"{outcome.valid_score:.5f}")
                    writer.writerow([learner, size, *scores, f"{outcome.seconds:.3f}", ""])
                elif outcome is not None:
                    writer.writerow([learner, size, "", "", f"{outcome.seconds:.3f}", _told(outcome)])
                    failed = failed or Failure(outcome.kind, f"{NOT_TRIED} failed with {size} rows", outcome.seconds)
                else:
                    missing += 1
    return missing


def _told(failure: Failure) -> str:
    return f"{failure.kind}: {' '.join(failure.message.split())[:100]}"


class Progress:
    """How far a table is, on standard error."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.begun = name, total, 0, time.monotonic()

    def take(self, event: Event) -> None:
        """Print a line for each outcome."""
        if isinstance(event, Evaluated):
            self.done += 1
            outcome = event.outcome
            got = f"{outcome.valid_score:.4f}" if isinstance(outcome, Measurement) else outcome.kind
            print(
                f"{self.name} {self.done}/{self.total} after {time.monotonic() - self.begun:.0f} s:"
                f" {event.allocation.learner} {event.allocation.size:,} {got} ({outcome.seconds:.1f} s)",
                file=sys.stderr,
                flush=True,
            )


def circumstances(wanted: Wanted, data: Prepared, jobs: int) -> dict[str, Any]:
    """Return what a reader must know of a table: data, settings, machine, versions, commit."""
    told: dict[str, Any] = {
        "data": wanted.data,
        "title": data_set(wanted.data).title,
        "source": source(wanted.data)[1],
        "train_rows": data.full_size,
        "valid_rows": data.valid_size,
        "features": data.schema.features,
        "classes": len(data.schema.classes),
        "portfolio": wanted.learners,
        "seed": wanted.seed,
        "timeout": seconds(wanted.timeout, "--timeout"),
        "memory_gb": wanted.memory_gb,
        "jobs": jobs,
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    if wanted.learners == "weka":
        from pydaub.learners.weka.jar import jar  # noqa: PLC0415  # only where WEKA takes part

        told["versions"] = {**told["versions"], "weka": jar().version, "java": _java()}
    return told


def machine() -> str:
    """Return the processor and its cores in words."""
    listed = _output("lscpu").splitlines()
    name = next((line.split(":", 1)[1].strip() for line in listed if line.startswith("Model name")), platform.machine())
    cores = _output("nproc") or "?"
    return f"{platform.system()} {platform.machine()}, {cores} cores ({name})"


def commit() -> str:
    """Return the commit of the code, with a plus where the library differs from it."""
    changed = _output("git", "-C", str(HERE), "status", "--porcelain", "--", "../src")
    return _output("git", "-C", str(HERE), "rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _java() -> str:
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S607
    return told.split('"')[1] if '"' in told else "?"


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    except OSError:
        return ""


def main() -> None:
    """Measure the tables that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--learners", default="sklearn")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0")
    parser.add_argument("--full-size", type=int, help="the last size, if not the largest for which there are rows")
    parser.add_argument("--timeout", default="60s", help="for one training")
    parser.add_argument("--memory-gb", type=float, default=6.0, help="for one training")
    parser.add_argument("--budget", help="for each table, such as 20m")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=MEASURED, help="the folder of the tables")
    arguments = parser.parse_args()
    try:
        budget = None if arguments.budget is None else seconds(arguments.budget, "--budget")
        for data in arguments.data:
            for seed in range(arguments.seeds):
                limits = (arguments.timeout, arguments.memory_gb)
                wanted = Wanted(data, arguments.learners, seed, arguments.full_size, *limits)
                print(measure(wanted, arguments.out, jobs=arguments.jobs, budget=budget))
    except PydaubError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
