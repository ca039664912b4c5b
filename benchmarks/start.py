"""How soon `pydaub run` shows its first outcome, and how long `pydaub --help` takes.

    python -m benchmarks.start [--repeat 5] [--with OTHER/bin/pydaub ...]

The file has 2,000 rows and 14 columns, four of them text. Each run is ended after its first outcome. --with names the
pydaub command of another environment; the commands take turns. Importing scikit-learn and pandas alone is measured in
the same turns, because most of the time goes there. Printed are the least, the median and the most seconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

ROWS, NUMBERS, TEXTS = 2_000, 10, 4
IMPORTS = "import pandas, sklearn.ensemble, sklearn.linear_model"


def example() -> pd.DataFrame:
    """Return rows with numbers and text, of two classes."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {f"number {each}": random.normal(size=ROWS) for each in range(NUMBERS)}
    columns |= {f"text {each}": random.choice([*"abcdefgh"], ROWS) for each in range(TEXTS)}
    frame = pd.DataFrame(columns)
    return frame.assign(target=np.where(frame["number 0"] + random.normal(size=ROWS) > 0, "yes", "no"))


def first_outcome(command: str, path: Path, out: Path) -> float:
    """Return the seconds from the call of `pydaub run` to the line of its first outcome, and end it."""
    began = time.perf_counter()
    with subprocess.Popen(  # noqa: S603  # the person's own command
        [command, "run", str(path), "--target", "target", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        for line in process.stdout or ():
            if "rows: validation" in line:
                took = time.perf_counter() - began
                process.send_signal(signal.SIGINT)
                process.communicate()
                return took
    raise SystemExit(f"{command} showed no outcome")


def whole(*command: str) -> float:
    """Return the seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # the person's own command
    return time.perf_counter() - began


def main() -> None:
    """Measure in turns and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--with", dest="others", nargs="*", default=[])
    chosen = options.parse_args()
    commands = [str(Path(sys.executable).with_name("pydaub")), *chosen.others]
    seconds: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example.csv"
        example().to_csv(path, index=False)
        for turn in range(chosen.repeat + 1):
            taken = {"imports": whole(sys.executable, "-c", IMPORTS)}
            for place, command in enumerate(commands):
                taken[f"first outcome, {command}"] = first_outcome(command, path, Path(folder) / f"{turn} {place}")
                taken[f"--help, {command}"] = whole(command, "--help")
            for name, took in taken.items():
                seconds.setdefault(name, []).extend([took] if turn else [])  # the first turn fills caches
    for name, each in seconds.items():
        print(f"{min(each):5.2f} {statistics.median(each):5.2f} {max(each):5.2f}  {name}")


if __name__ == "__main__":
    main()
