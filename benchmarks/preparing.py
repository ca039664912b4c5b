"""Compare `pydaub prepare` on data larger than memory with a plain shuffle by DuckDB, Polars and pyarrow.

    python benchmarks/preparing.py [--rows 24000000] [--memory 500MB] [--folder FOLDER] [--only pydaub duckdb ...]
    python benchmarks/preparing.py --frame --rows 6000000

First, a Parquet file of random rows is written: 20 features of 32 bits and a target; 24,000,000 rows are 2 GB. With
`--frame`, they are 10 numbers of 64 bits, three categories and a text of six words; 6,000,000 rows are 1 GB. Each tool
shuffles it in a separate process into its own file; its wall time until all rows are on disk, its CPU time and its peak
memory are printed, and the ratios of pydaub's to DuckDB's, which has two threads and orders by a seeded hash of the row
number. The other tools do less: they shuffle and write Parquet, without stratification, types, validation rows, or a
format that can be memory-mapped.
pyarrow cannot shuffle out of core and reads everything. Then the prepared rows are compared with their checksums, as at
the start of every run. Finally, `pydaub run` is started on the prepared folder, and the time until the first learner
has a bound is printed. To include DuckDB, install it: pip install duckdb.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pydaub.data import Prepared

FEATURES, BLOCK = 20, 500_000
PEAK = """
import sys
def peak():
    return max(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1000
"""
CONTENDERS = {
    "pydaub": """
from pydaub.cli import main
try:
    main(["prepare", sys.argv[1], "--target", "y", "--out", sys.argv[2], "--memory", sys.argv[3], "--quiet"])
except SystemExit as end:
    if end.code:
        raise
""",
    "duckdb": """
import duckdb
connection = duckdb.connect(config={"memory_limit": sys.argv[3], "threads": 2, "temp_directory": sys.argv[2] + ".tmp"})
connection.execute("SET preserve_insertion_order = false")
rows = f"read_parquet('{sys.argv[1]}', file_row_number = true) ORDER BY hash(file_row_number, 7)"
connection.execute(f"COPY (SELECT * EXCLUDE file_row_number FROM {rows}) TO '{sys.argv[2]}' (FORMAT parquet)")
""",
    "polars": """
import polars
frame = polars.scan_parquet(sys.argv[1]).with_row_index("row")
frame = frame.sort(polars.col("row").hash(7)).drop("row")
frame.sink_parquet(sys.argv[2], engine="streaming")
""",
    "pyarrow": """
import numpy, pyarrow.parquet
table = pyarrow.parquet.read_table(sys.argv[1])
pyarrow.parquet.write_table(table.take(numpy.random.default_rng(0).permutation(len(table))), sys.argv[2])
""",
}


def write(path: Path, rows: int, *, frame: bool) -> None:
    """Write a file of random rows with a target that depends on the features."""
    rng = np.random.default_rng(0)
    writer = None
    for _ in range(rows // BLOCK):
        features = rng.normal(size=(FEATURES // 2 if frame else FEATURES, BLOCK))
        features = features if frame else features.astype(np.float32)
        target = (features[0] + features[1] * features[2] + rng.normal(size=BLOCK) > 0).astype(np.int8)
        texts = {f"c{count}": words(rng, count) for count in (5, 50, 400)} if frame else {}
        if frame:
            texts["text"] = pc.binary_join_element_wise(*(words(rng, 3000) for _ in range(6)), " ")
        table = pa.table({**{f"x{place}": column for place, column in enumerate(features)}, **texts, "y": target})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table, row_group_size=250_000)
    if writer:
        writer.close()


def words(rng: np.random.Generator, count: int) -> pa.Array:
    """Return a random one of so many words for each row of a block."""
    return pa.array([f"word{number}" for number in range(count)]).take(pa.array(rng.integers(0, count, BLOCK)))


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=24_000_000, help="rows of the file (default: 24,000,000)")
    parser.add_argument("--frame", action="store_true", help="numbers, categories and text instead of numbers only")
    parser.add_argument("--memory", default="500MB", help="memory limit, where a tool has one (default: 500MB)")
    parser.add_argument("--folder", type=Path, help="folder with room for five times the file")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), help="tools to run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        source = folder / "rows.parquet"
        write(source, arguments.rows, frame=arguments.frame)
        print(f"{arguments.rows:,} rows, {source.stat().st_size / 1e9:.2f} GB; at most {arguments.memory}")
        taken = {}
        for contender in arguments.only:
            if find_spec(contender) is None:
                print(f"{contender:8} is not installed")
                continue
            out = folder / f"{contender}.out"
            code = f"{PEAK}{CONTENDERS[contender]}\nimport time\nprint(time.process_time(), peak())"
            os.sync()  # what was written before must not wait for the disk at the same time
            began = time.perf_counter()
            done = subprocess.run(  # noqa: S603  # our own interpreter and code
                [sys.executable, "-c", code, str(source), str(out), arguments.memory],
                capture_output=True,
                text=True,
                check=False,
            )
            os.sync()  # which `prepare` has waited for
            seconds = time.perf_counter() - began
            if done.returncode:
                print(f"{contender:8} failed after {seconds:.0f} s: {done.stderr.strip().splitlines()[-1][:150]}")
            else:
                used, peak = map(float, done.stdout.split()[-2:])
                taken[contender] = seconds, used, peak
                print(f"{contender:8} {seconds:6.1f} s, {used:6.1f} s of CPU time, peak {peak:6,.0f} MB")
            if contender != "pydaub":
                shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        if {"pydaub", "duckdb"} <= set(taken):
            wall, used, peak = (ours / theirs for ours, theirs in zip(taken["pydaub"], taken["duckdb"], strict=True))
            print(
                f"pydaub to duckdb: {wall:.2f} of its wall time, {used:.2f} of its CPU time, {peak:.2f} of its memory"
            )
        if (folder / "pydaub.out").exists():
            print(checked(folder / "pydaub.out"))
            print(f"first bound after {first_bound(folder / 'pydaub.out', folder / 'run'):.1f} s")


def checked(prepared: Path) -> str:
    """Compare the rows with their checksums; return what that takes."""
    size = sum(path.stat().st_size for path in prepared.iterdir()) / 1e9
    began, used = time.perf_counter(), time.process_time()
    Prepared.open(prepared, checked=True)
    wall, used = time.perf_counter() - began, time.process_time() - used
    return f"checked {size:.2f} GB: {wall / size:.2f} s per GB, {used / size:.2f} s of CPU time per GB"


def first_bound(prepared: Path, run: Path) -> float:
    """Start a run and return the seconds until the first learner has a bound."""
    options = [
        "--learners",
        "tree-depth-5,naive-bayes-gaussian,sgd-logistic",
        "--jobs",
        "1",
        "--quiet",
        "--metrics",
        "none",
    ]
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  # our own interpreter and code
        [sys.executable, "-m", "pydaub", "run", str(prepared), *options, "--out", str(run)],
        stdout=subprocess.DEVNULL,
    )
    try:
        journal = run / "journal.jsonl"
        while process.poll() is None:
            lines = journal.read_text().splitlines() if journal.exists() else []
            bounds = [json.loads(line) for line in lines[1:] if line.endswith("}")]
            if any(event.get("bound") is not None for event in bounds):
                break
            time.sleep(0.02)
        return time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
