"""From a folder of Parquet files with a hundred million rows to a certified choice on one machine, killed on the way.

    python benchmarks/hundred.py --folder FOLDER [--rows 100000000] [--learners streaming] [--memory 1GB]

Writes files of 5,000,000 rows with 30 features of 32 bits and a target (12 GB for 100,000,000 rows), prepares them, and
runs `pydaub run` on the prepared folder; both are killed with SIGKILL once (`prepare` when it has written a third of
the rows, the run after six outcomes) and continued. For each phase it prints wall time, CPU time, and the largest
memory of all processes together that is not backed by a file, looked at twice per second. The folder needs room for
five times the rows; what is there already is used again. To prove that a machine with less memory is enough, run it in
a control group with a limit, which also counts the page cache.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable

FEATURES, PART = 30, 5_000_000
PYDAUB = (sys.executable, "-m", "pydaub")


def write(folder: Path, rows: int) -> None:
    """Write the files that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(rows // PART):
        path = folder / f"part-{number:03}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        features = rng.standard_normal((FEATURES, PART), dtype=np.float32)
        features += rng.standard_normal(PART, dtype=np.float32)  # columns depend on each other
        slope = np.linspace(-1, 1.5, FEATURES, dtype=np.float32) @ features / 2
        target = (slope + rng.logistic(size=PART) > 0).astype(np.int8)
        table = pa.table({**{f"x{place}": column for place, column in enumerate(features)}, "y": target})
        pq.write_table(table, path.with_suffix(".tmp"), compression="none", use_dictionary=False)
        path.with_suffix(".tmp").rename(path)


def unbacked(group: int) -> int:
    """Return the bytes of a process and all its descendants that are not backed by files."""
    kilobytes = 0
    for process in family(group):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon", "Pss_Shmem")))
    return kilobytes * 1024


def family(first: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [first]
    for process in found:
        with suppress(OSError):
            tasks = Path(f"/proc/{process}/task")
            found += [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    return found


def phase(name: str, command: list[str], enough: Callable[[], bool] | None = None) -> None:
    """Run a command, until it ends or, with `enough`, until that holds and it is killed; print what it took."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([*PYDAUB, *command])  # noqa: S603  # our own interpreter
    peak = 0
    while process.poll() is None:
        peak = max(peak, unbacked(process.pid))
        if enough and enough():
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        time.sleep(0.5)
    if process.returncode not in (0, -signal.SIGKILL):
        sys.exit(f"{name} failed with {process.returncode}.")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{name:24} {time.perf_counter() - began:7,.0f} s {used:7,.0f} s of CPU time {peak / 1e6:7,.0f} MB", flush=True
    )


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder with room for five times the rows")
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows (default: 100,000,000)")
    parser.add_argument("--learners", default="streaming", help="learners (default: streaming)")
    parser.add_argument("--memory", default="1GB", help="memory for `pydaub prepare` (default: 1GB)")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    rows, prepared, run = folder / "rows", folder / "prepared", folder / "run"
    began = time.perf_counter()
    write(rows, arguments.rows)
    size = sum(path.stat().st_size for path in rows.iterdir())
    print(f"{arguments.rows:,} rows, {size / 1e9:.1f} GB, written in {time.perf_counter() - began:,.0f} s", flush=True)
    if not prepared.exists():
        options = ["--target", "y", "--memory", arguments.memory, "--validation-rows", "100000", "--quiet"]
        prepare = ["prepare", str(rows), *options, "--out", str(prepared)]
        buckets = folder / "prepared.work"
        phase(
            "prepare, killed", prepare, lambda: 3 * sum(each.stat().st_size for each in buckets.glob("*.rows")) > size
        )
        phase("prepare, continued", prepare)
    journal = run / "journal.jsonl"
    options = ["--learners", arguments.learners, "--quiet", "--out", str(run)]
    if not run.exists():
        started = ["run", str(prepared), *options]
        phase("run, killed", started, lambda: journal.exists() and journal.read_text().count('"kind":"evaluated"') > 5)  # noqa: PLR2004
    phase("run, continued", ["resume", str(run)])


if __name__ == "__main__":
    main()
