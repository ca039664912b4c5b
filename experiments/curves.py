"""Measure the learning curves of a portfolio: every learner on every one of the paper's sizes.

    python experiments/curves.py parity --learners weka
    python experiments/curves.py higgs susy --seeds 5 --timeout 60s --budget 20m --full-size 11500

Data sets are those of experiments/datasets.py. All learners are measured on one size before any gets the next, so a
budget that runs out leaves out the most expensive part, and the script reports what is missing. A learner that fails
gets no larger size: the table records the same failure, with the same time, at all larger sizes.

The result is a table that `pydaub replay` reads, so strategies can be compared on it without training. Times and the
time limit are in CPU seconds, so other work on the machine hardly changes them; those of fitting and of scoring alone
(`traintime`, `scoretime`) are wall-clock seconds. Each table has a .json file with the
data, settings, machine and versions, and the learners that are missing at each size.

After a kill, or when the budget ran out, the same command continues: from the journal in the table's .run folder, and
from tables with the same circumstances, complete or not. A larger --full-size or --timeout takes over what was measured
with a smaller one. A table that is not complete yet is in the folder `begun` below that of the complete ones. On
another machine, or with other versions of the libraries, a table is measured anew, beside the one that was begun.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cpu import CpuEngine
from datasets import HERE, data_set, source
from replays import BEGUN, MEASURED

from pydaub import PAPER_SIZES, Account, Allocation, Failure, Journal, Measurement, Outcome, Schedule, run
from pydaub.algorithm.strategies.rounds import Rounds
from pydaub.data import Prepared, Split, load
from pydaub.engines.recorded import COLUMNS, FAILURE_COLUMN, SCORE_TIME, TRAIN_TIME, Table
from pydaub.errors import AllLearnersFailed, InputError, NothingMeasured, PydaubError
from pydaub.evaluation.evaluate import Task
from pydaub.events import Evaluated, Event
from pydaub.learners import portfolio
from pydaub.runs.journal import read
from pydaub.runs.plan import Plan, versions
from pydaub.units import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Must be equal to join two tables.
ALIKE: Final = ("source", "train_rows", "memory_gb", "clock", "machine", "versions")
SITTING: Final = ("jobs", "commit", "date")  # may differ from one sitting to the next
NOT_TRIED: Final = "not tried:"
PARITY_ROWS: Final = 21_500  # for training, and the same number for validation


@dataclass(frozen=True)
class Wanted:
    """One table to measure: data set, learners, seed of the split, largest size, and limits for one training."""

    data: str
    learners: str = "sklearn"
    seed: int = 0
    full_size: int | None = None
    timeout: str = "60s"
    memory_gb: float = 6.0

    def load(self) -> Prepared:
        """Load the data, with 70 % of the rows (50 % for parity) for training."""
        fraction = 0.5 if self.data == "parity" else 0.3
        return load(
            source(self.data)[0], None if self.data == "parity" else "target", split=Split(fraction), seed=self.seed
        )

    def sizes(self, rows: int) -> tuple[int, ...]:
        """Return the paper's sizes for which there are enough rows; for all of parity also its N of 21,500."""
        most = min(rows, self.full_size or rows)
        if self.data == "parity" and most >= PARITY_ROWS:
            return Schedule.listed(PARITY_ROWS, PAPER_SIZES).sizes
        return tuple(size for size in PAPER_SIZES if size <= most)


def measure(wanted: Wanted, folder: Path, *, jobs: int, budget: float | None = None) -> Path:
    """Measure a table, or continue it, and return its path."""
    data = wanted.load()
    sizes = wanted.sizes(data.full_size)
    if len(sizes) < 3:  # noqa: PLR2004  # DAUB's bootstrap needs three sizes
        most = min(data.full_size, wanted.full_size or data.full_size)
        raise InputError(f"{wanted.data} must be measured up to at least {PAPER_SIZES[2]} rows, got {most}.")
    slug = re.sub(r"\W+", "_", wanted.learners)
    path = folder / f"{wanted.data}-{slug}-{sizes[-1]}-{wanted.seed}.csv"
    about = circumstances(wanted, data, jobs)
    begun = folder / BEGUN / f"{path.stem}.{_digest(about)}.csv"
    working = folder / f"{begun.stem}.run"
    before = [table for table in _tables(folder, wanted, slug) if _alike(table, about)]
    if whole := [table for table in before if table.enough(sizes[-1], about["timeout"])]:
        return whole[-1].path
    learners = portfolio(wanted.learners, data.schema)
    strategy = Everything(tuple(learners), Schedule(sizes))
    task = Task(data, learners, scoring="accuracy", metrics="none", seed=wanted.seed, reuse=False)
    working.mkdir(parents=True, exist_ok=True)
    progress = Progress(path.stem, len(learners) * len(sizes))
    outcomes = {allocation: outcome for table in before for allocation, outcome in table.tried(about["timeout"])}
    settings = {**Plan(task, strategy).settings, **{name: about[name] for name in (*ALIKE, "timeout")}}
    with Journal(working / "journal.jsonl", settings) as journal:
        engine = CpuEngine(task, jobs, working, about["timeout"], int(wanted.memory_gb * 1e9))
        try:
            run(strategy, engine, journal, known=outcomes, time_limit=budget, watch=progress.take)
        except (AllLearnersFailed, NothingMeasured) as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
    events = read(working / "journal.jsonl")
    outcomes |= {event.allocation: event.outcome for event in events if isinstance(event, Evaluated)}
    if not outcomes:
        raise InputError(f"{path.stem} must have time for at least one training, got none. Increase --budget.")
    missing = missing_of(tuple(learners), sizes, outcomes)
    left_out = sum(map(len, missing.values()))
    if left_out:
        total = len(learners) * len(sizes)
        print(f"{path.stem}: {left_out} of {total} left out, because the budget ran out.", file=sys.stderr)
        path = begun
        path.parent.mkdir(exist_ok=True)
    write_table(path, tuple(learners), sizes, outcomes)
    about |= {"sizes": sizes, "learners": len(learners), "left_out": left_out, "missing": missing}
    about["sittings"] = sittings([*(table.about for table in before), about])
    path.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    if not left_out:
        _delete_superseded(path, [table for table in before if table.about["sizes"][-1] <= sizes[-1]])
    return path


def _delete_superseded(path: Path, smaller: Iterable[Before]) -> None:
    """Delete what a complete table stands for: smaller ones, and what was begun of it, in whatever circumstances."""
    for table in smaller:
        if table.path != path:
            _delete(table.path)
    for working in path.parent.glob(f"{path.stem}.*.run"):
        shutil.rmtree(working)
    for begun in (path.parent / BEGUN).glob(f"{path.stem}.*.csv"):
        _delete(begun)
    with suppress(OSError):  # others are begun, or none was
        (path.parent / BEGUN).rmdir()


def _digest(about: Mapping[str, Any]) -> str:
    """Return a short name of the circumstances: what was begun in others is then neither overwritten nor in the way."""
    settings = {name: about[name] for name in (*ALIKE, "timeout")}
    return blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=4).hexdigest()


def sittings(tables: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return when, from which commit and with how many workers the outcomes of these tables were measured."""
    found: list[dict[str, Any]] = []
    for about in tables:
        for sitting in about.get("sittings", [{name: about[name] for name in SITTING}]):
            if sitting not in found:
                found.append(sitting)
    return found


def _delete(path: Path) -> None:
    for each in (path, path.with_suffix(".json")):
        each.unlink(missing_ok=True)


class Everything(Rounds):
    """Strategy that trains every learner on every size, smallest size first."""

    jumps = False


@dataclass(frozen=True)
class Before:
    """A table that was measured before."""

    path: Path
    about: Mapping[str, Any]

    @property
    def whole(self) -> bool:
        """Whether no outcome is missing."""
        return not self.about["left_out"]

    def enough(self, size: int, timeout: float | None) -> bool:
        """Return whether nothing up to this size, and with this time limit, is left to measure."""
        return self.whole and self.about["sizes"][-1] >= size and self.about["timeout"] == timeout

    def tried(self, timeout: float | None) -> list[tuple[Allocation, Outcome]]:
        """Return the outcomes that hold with this time limit too, without the failures copied to larger sizes."""
        limit, longest = self.about["timeout"] or math.inf, timeout or math.inf
        return [
            (allocation, outcome)
            for allocation, outcome in Table.read(self.path).outcomes.items()
            if not (isinstance(outcome, Failure) and outcome.message.startswith(NOT_TRIED))
            and not (isinstance(outcome, Failure) and outcome.kind == "timeout" and limit < longest)
            and outcome.seconds <= longest
        ]


def _tables(folder: Path, wanted: Wanted, slug: str) -> list[Before]:
    """Return the tables of these learners, data and seed, the one with the most rows last."""
    name = f"{wanted.data}-{slug}-*-{wanted.seed}"
    paths = [*folder.glob(f"{name}.csv"), *folder.glob(f"{BEGUN}/{name}.*.csv")]
    found = [
        Before(path, json.loads(path.with_suffix(".json").read_text()))
        for path in paths
        if path.with_suffix(".json").exists()
    ]
    return sorted(found, key=lambda table: table.about["sizes"][-1])


def _alike(table: Before, about: Mapping[str, Any]) -> bool:
    """Return whether a table was measured with the same data, memory, clock and versions."""
    return all(table.about.get(key) == about[key] for key in ALIKE)


def missing_of(
    learners: tuple[str, ...], sizes: tuple[int, ...], outcomes: Mapping[Allocation, Outcome]
) -> dict[int, list[str]]:
    """Return the learners that are missing at each size. Those that failed with fewer rows are not."""
    missing: dict[int, list[str]] = {}
    for learner in learners:
        for size in sizes:
            outcome = outcomes.get(Allocation(learner, size))
            if isinstance(outcome, Failure):
                break
            if outcome is None:
                missing.setdefault(size, []).append(learner)
    return dict(sorted(missing.items()))


def write_table(
    path: Path, learners: tuple[str, ...], sizes: tuple[int, ...], outcomes: Mapping[Allocation, Outcome]
) -> None:
    """Write the outcomes, and copy failures to all larger sizes."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, FAILURE_COLUMN, TRAIN_TIME, SCORE_TIME])
        for learner in learners:
            failed: Failure | None = None
            for size in sizes:
                outcome = outcomes.get(Allocation(learner, size)) or failed
                if isinstance(outcome, Measurement):
                    scores = (f"{outcome.train_score:.5f}", f"{outcome.valid_score:.5f}")
                    parts = ["" if part is None else f"{part:.3f}" for part in (outcome.fitting, outcome.scoring)]
                    writer.writerow([learner, size, *scores, f"{outcome.seconds:.3f}", "", *parts])
                elif isinstance(outcome, Failure):
                    writer.writerow([learner, size, "", "", f"{outcome.seconds:.3f}", _text(outcome), "", ""])
                    failed = failed or Failure(outcome.kind, f"{NOT_TRIED} failed with {size} rows", outcome.seconds)


def _text(failure: Failure) -> str:
    return f"{failure.kind}: {' '.join(failure.message.split())[:100]}"


class Progress:
    """Progress of a table, printed to standard error."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.begun = name, total, 0, time.monotonic()

    def take(self, event: Event, _: Account) -> None:
        """Print a line for each outcome."""
        if isinstance(event, Evaluated):
            self.done += 1
            outcome = event.outcome
            got = f"{outcome.valid_score:.4f}" if isinstance(outcome, Measurement) else getattr(outcome, "kind", "")
            print(
                f"{self.name} {self.done}/{self.total} after {time.monotonic() - self.begun:.0f} s:"
                f" {event.allocation.learner} {event.allocation.size:,} {got} ({outcome.seconds:.1f} s)",
                file=sys.stderr,
                flush=True,
            )


def circumstances(wanted: Wanted, data: Prepared, jobs: int) -> dict[str, Any]:
    """Return the data, settings, machine, versions and commit of a table, for its .json file."""
    about: dict[str, Any] = {
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
        "clock": "cpu",
        "jobs": jobs,
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    if wanted.learners == "weka":
        from pydaub.learners.weka.jar import jar  # noqa: PLC0415  # needs WEKA

        about["versions"] = {**about["versions"], "weka": jar().version, "java": _java()}
    return about


def machine() -> str:
    """Return a description of the processor and its cores."""
    lines = _output("lscpu").splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name")), platform.machine())
    return f"{platform.system()} {platform.machine()}, {os.cpu_count() or '?'} cores ({name})"


def commit() -> str:
    """Return the current commit, with a plus if the library has uncommitted changes."""
    changed = _output("git", "-C", str(HERE), "status", "--porcelain", "--", "../src")
    return _output("git", "-C", str(HERE), "rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _java() -> str:
    printed = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S607  # java from the PATH
    return printed.split('"')[1] if '"' in printed else "?"


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # fixed commands
    except OSError:
        return ""


def main() -> None:
    """Measure the requested tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="data sets of experiments/datasets.py")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names (default: sklearn)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds, from 0 on (default: 1)")
    parser.add_argument("--full-size", type=int, help="largest size (default: the largest for which there are rows)")
    parser.add_argument("--timeout", default="60s", help="CPU time limit for one training (default: 60s)")
    parser.add_argument("--memory-gb", type=float, default=6.0, help="memory limit for one training (default: 6)")
    parser.add_argument("--budget", help="time limit for each table, such as 20m")
    parser.add_argument("--jobs", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--out", type=Path, default=MEASURED, help="folder for the tables")
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
