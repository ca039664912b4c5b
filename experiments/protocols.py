"""The same search by a plain split, by 5-fold cross-validation and by F1: what each costs and selects.

    python experiments/protocols.py DATA... [--target target] [--learners sklearn] [--folder build/protocols]

A fifth of the rows is held out. DAUB, whose decisions do not depend on times, selects a learner on the others in each
way, and each winner is scored on the fifth. The cost is the CPU time of the whole command. The target must be 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
from pathlib import Path
from typing import Any, Final

from dividing import held_out, predictions, pydaub, record
from replays import MEASURED
from sklearn.metrics import accuracy_score, f1_score

WAYS: Final = {
    "plain split, accuracy": (),
    "5-fold cross-validation, accuracy": ("--cv", "5"),
    "plain split, F1": ("--scoring", "f1"),
}


def searched(data: Path, target: str, learners: str, folder: Path) -> list[list[str]]:
    """Return a line for each way."""
    held_out(data, target, folder)
    lines = []
    for place, (way, options) in enumerate(WAYS.items()):
        run, cost = folder / f"run-{place}", folder / f"cost-{place}.json"
        if not cost.exists():
            shutil.rmtree(run, ignore_errors=True)  # of a run that was interrupted, only a part would be counted
            before = _cpu_seconds()
            pydaub("run", str(folder / "rest.parquet"), "--target", target, "--learners", learners,
                   "--strategy", "daub", "--jobs", "1", "--quiet", "--out", str(run), *options)  # fmt: skip
            cost.write_text(json.dumps(_cpu_seconds() - before))
        result = json.loads(pydaub("show", str(run), "--json"))
        truth, predicted = predictions(run, folder, target)
        cpu_seconds = json.loads(cost.read_text())
        lines.append([
            data.stem, way, f"{result['full_size']:,}", str(len(result["allocations"])), f"{cpu_seconds:,.0f}",
            result["selected"], f"{result['valid_score']:.4f}", f"{accuracy_score(truth, predicted):.4f}",
            f"{f1_score(truth, predicted, pos_label='1'):.4f}",
        ])  # fmt: skip
    return lines


def _cpu_seconds() -> float:
    """Return the CPU time of all commands so far, with their workers."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("data", type=Path, nargs="+", help="Parquet files with a class of 0 or 1 to predict")
    made.add_argument("--target", default="target")
    made.add_argument("--learners", default="sklearn")
    made.add_argument("--folder", type=Path, default=Path("build/protocols"), help="where runs are kept")
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder for the table")
    chosen = made.parse_args()
    lines = [
        line
        for data in chosen.data
        for line in searched(data, chosen.target, chosen.learners, chosen.folder / data.stem)
    ]
    header = ("Data set", "Way", "N", "Allocations", "CPU seconds", "Selected", "Its score", "Accuracy on unseen rows",
              "F1 on unseen rows")  # fmt: skip
    record("protocols", header, lines, chosen.measured)


if __name__ == "__main__":
    main()
