"""Compare DAUB with training every learner on all rows: speed-up and loss.

    python benchmarks/datasets.py FILE.parquet [FILE.parquet ...] [--target target] [--timeout 60] [--jobs 2]
    python benchmarks/datasets.py parity --target parity --learners weka --fraction 0.5

Both strategies see the same outcomes: an allocation that both ask for is trained once and counted for both. A training
that takes longer than the timeout fails and counts with the time it took. Files with fewer than 20,000 rows are
skipped. Each result is printed at once and stored in --out, so a killed benchmark continues where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pydaub import STRATEGIES, Allocation, Journal, Outcome, Result, Schedule, run
from pydaub.data import Split, load
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.runs.plan import Plan

LEAST = 20_000  # rows


def compared(path: str, arguments: argparse.Namespace) -> dict[str, Result] | None:
    """Run both strategies on a file and return their results, or None if the file has too few rows."""
    data = load(path, arguments.target, split=Split(fraction=arguments.fraction))
    if data.full_size + data.valid_size < LEAST:
        return None
    learners = portfolio(arguments.learners, data.schema)
    limits = Limits(arguments.timeout, arguments.memory)
    schedule = Schedule.geometric(data.full_size)
    scoring = "accuracy" if data.schema.task == "classification" else "r2"
    known: dict[Allocation, Outcome] = {}
    results: dict[str, Result] = {}
    for name in ("daub", "full"):
        strategy = STRATEGIES[name](tuple(learners), schedule)
        task = Task(data, learners, scoring=scoring, metrics="none", reuse=False)
        folder = arguments.out / Path(path).stem / name
        folder.mkdir(parents=True, exist_ok=True)
        with Journal(folder / "journal.jsonl", Plan(task, strategy).settings) as journal:
            results[name] = run(strategy, ProcessEngine(task, arguments.jobs, folder, limits), journal, known=known)
        known.update({step.allocation: step.outcome for step in results[name].steps})
        known.update(results[name].speculated)
    return results


def main() -> None:
    """Print one line for each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", help="data files, or the name of a built-in problem such as parity")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names (default: sklearn)")
    parser.add_argument("--fraction", type=float, default=0.3, help="share of validation rows (default: 0.3)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one training (default: 60)")
    parser.add_argument("--memory", type=int, default=6 * 10**9, help="bytes for one training (default: 6 GB)")
    parser.add_argument("--jobs", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("datasets-benchmark"), help="folder for the journals")
    arguments = parser.parse_args()
    print("| data | rows | learners (failed) | full s | daub s | speed-up | best on all rows | selected | loss |")
    print("|---|--:|--:|--:|--:|--:|---|---|--:|", flush=True)
    for path in arguments.files:
        results = compared(path, arguments)
        if results is None:
            continue
        daub, full = results["daub"], results["full"]
        loss = (full.valid_score or 0.0) - (daub.valid_score or 0.0)
        trained = f"{len(full.steps)} ({len(full.failures)})"
        print(
            f"| {Path(path).stem} | {full.full_size:,} | {trained} | {full.seconds:,.0f} |"
            f" {daub.seconds:,.0f} | {full.seconds / daub.seconds:.1f} | {full.selected} {full.valid_score:.4f} |"
            f" {daub.selected} {daub.valid_score:.4f} | {loss:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
