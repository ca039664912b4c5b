"""Measure what the main process costs with many learners: thousands of real trainings of small trees.

    python benchmarks/many.py [--learners 10000] [--rows 3000] [--workers 2] [--search]

`pydaub run` with the default strategy is killed once half of the learners have an outcome, and resumed. Printed are the
CPU time of the main process for each outcome, the longest pauses between two outcomes, how long the resumed run takes
to its first outcome, and what `show` and `show --json` take afterwards. With `--search`, the same trees go through
`DaubSearch` instead. Figures are kept in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from pydaub import DaubSearch
from pydaub.learners.own import from_file

PYDAUB = [sys.executable, "-m", "pydaub"]
TICK = os.sysconf("SC_CLK_TCK")
TREES = """
from sklearn.tree import DecisionTreeClassifier
learners = {{
    f"tree {{number}}": DecisionTreeClassifier(
        max_depth=2 + number % 10, min_samples_leaf=1 + number // 10 % 100, max_features=1 + number // 1000 % 10
    )
    for number in range({count})
}}
"""


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def outcomes(journal: Path) -> list[float]:
    """Return the clock at each outcome."""
    lines = journal.read_bytes().splitlines() if journal.exists() else []
    return [json.loads(line)["clock"] for line in lines if b'"kind":"evaluated"' in line and line.endswith(b"}")]


def measured(command: list[str], journal: Path, *, until: float = float("inf")) -> None:
    """Run a command, which is killed after so many outcomes, and print what it takes."""
    before, began = len(outcomes(journal)), time.monotonic()
    with subprocess.Popen([*PYDAUB, *command], stdout=subprocess.DEVNULL) as process:  # noqa: S603  # our own command
        cpu = first = setup = 0.0
        while process.poll() is None:
            cpu = cpu_seconds(process.pid) or cpu
            if (count := len(outcomes(journal))) > before and not first:
                first, setup = time.monotonic() - began, cpu
            if count >= until:
                process.send_signal(signal.SIGKILL)
            time.sleep(0.2 if not first else 2.0)
    wall, clocks = time.monotonic() - began, outcomes(journal)[before:]
    print(f"pydaub {command[0]}: {wall:.0f} s, {cpu:.1f} s of CPU time in the main process", flush=True)
    if len(clocks) > 1:
        pauses = sorted(np.diff(clocks).tolist())[-3:]
        print(f"  first outcome after {first:.1f} s, {setup:.1f} s of CPU time")
        print(f"  {len(clocks):,} outcomes, {1000 * (cpu - setup) / len(clocks):.1f} ms of CPU time each")
        print(f"  longest pauses between two outcomes: {', '.join(f'{pause:.2f}' for pause in pauses)} s", flush=True)


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=10_000, help="number of learners (default: 10,000)")
    parser.add_argument("--rows", type=int, default=3_000, help="number of rows (default: 3,000)")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--search", action="store_true", help="measure DaubSearch instead of the command line")
    arguments = parser.parse_args()
    features, labels = make_classification(arguments.rows, 10, n_informative=8, flip_y=0.05, random_state=0)
    with TemporaryDirectory() as name:
        folder = Path(name)
        frame = pd.DataFrame(features.round(4)).add_prefix("x").assign(y=np.where(labels, "a", "b"))
        frame.to_csv(folder / "rows.csv", index=False)
        (folder / "trees.py").write_text(TREES.format(count=arguments.learners))
        if arguments.search:
            search = DaubSearch(from_file(folder / "trees.py", None), n_jobs=arguments.workers)  # type: ignore[arg-type]
            began, cpu = time.monotonic(), time.process_time()
            search.fit(frame.drop(columns="y").to_numpy(), frame["y"])
            wall, cpu, count = time.monotonic() - began, time.process_time() - cpu, len(search.result_.steps)
            print(f"DaubSearch: {wall:.0f} s, {count:,} outcomes, {1000 * cpu / count:.1f} ms of CPU time each")
            return
        journal, out = folder / "run" / "journal.jsonl", str(folder / "run")
        wanted = ["--target", "y", "--learners", str(folder / "trees.py"), "--jobs", str(arguments.workers)]
        begin = ["run", str(folder / "rows.csv"), *wanted, "--quiet", "--out", out]
        measured(begin, journal, until=arguments.learners // 2)
        measured(["resume", out, "--quiet", "--jobs", str(arguments.workers)], journal)
        measured(["show", out], journal)
        measured(["show", out, "--json"], journal)


if __name__ == "__main__":
    main()
