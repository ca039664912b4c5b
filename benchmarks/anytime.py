"""How good the answer is after a given time: `pydaub run` with short time limits on real data sets.

    python benchmarks/anytime.py FILE.parquet [FILE.parquet ...] [--limits 5 10 20 40 80] [--seeds 1]
    python benchmarks/anytime.py --order

Each run is a process of its own, and its time counts from the call to the saved model. --with names the pydaub command
of another environment, for a comparison with another commit in the same run. --order prints in which order the learners
of the default portfolio add most to those before them for their time, on the tables in `experiments/measured`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

MEASURED = Path(__file__).parents[1] / "experiments" / "measured"
FIRST_SIZE = 1_000  # rows; what a first training costs
LEAST_GAIN = 1e-6  # score per second


def answer(command: str, path: Path, limit: float, seed: int) -> tuple[str, int, float, float]:
    """Return who was selected, on how many rows, with which validation score, and after how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        options = f"--target target --time-limit {limit} --seed {seed} --json --quiet".split()
        done = subprocess.run(  # noqa: S603  # the person's own command
            [command, "run", str(path), *options, "--out", f"{folder}/run"], capture_output=True, check=False, text=True
        )
        took = time.monotonic() - start
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:40], 0, float("nan"), took
    said = json.loads(done.stdout)
    return said["selected"], said["selected_size"], said["valid_score"], took


def order() -> None:
    """Print the learners, each with the seconds of its first size and the mean loss of the best one up to it."""
    scores, seconds = {}, {}
    for path in sorted(MEASURED.glob("*-sklearn-*-0.csv")):
        table = pd.read_csv(path)
        by_size = {size: part.set_index("learner") for size, part in table.groupby("size")}
        scores[path.stem], seconds[path.stem] = by_size[max(by_size)].valid_score, by_size[FIRST_SIZE].seconds
    worse = pd.DataFrame(scores).max() - pd.DataFrame(scores)
    worse = worse.fillna(worse.max().max())  # it failed
    costs, best = pd.DataFrame(seconds).mean(axis=1), worse.max()
    while len(worse):
        gains = worse.rsub(best, axis=1).clip(lower=0).mean(axis=1) / costs
        name = gains.idxmax()
        if gains[name] < LEAST_GAIN:
            return
        best = best.combine(worse.loc[name], min)
        worse = worse.drop(name)
        print(f"{name:<24} {costs[name]:6.2f} s {best.mean():8.4f}")


def main() -> None:
    """Print one line for each data set, seed and limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, help="data files with a column `target`")
    parser.add_argument("--limits", nargs="+", type=float, default=[5, 10, 20, 40, 80], help="seconds")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits (default: 1)")
    parser.add_argument("--with", dest="other", help="pydaub command of another environment")
    parser.add_argument("--order", action="store_true", help="print in which order learners add most")
    arguments = parser.parse_args()
    if arguments.order:
        order()
    commands = [str(Path(sys.executable).with_name("pydaub")), *([arguments.other] if arguments.other else [])]
    for path in arguments.files:
        for seed in range(arguments.seeds):
            for limit in arguments.limits:
                for number, command in enumerate(commands):
                    name, size, score, took = answer(command, path, limit, seed)
                    which = "other" if number else "this"
                    line = f"{path.stem:<24} {seed:2} {limit:5.0f} s {which:<5} {score:.4f} {name:<24} {size:>9,} rows"
                    print(f"{line} {took:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
