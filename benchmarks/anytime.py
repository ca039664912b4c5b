"""How good the answer is after a given time: `pydaub run` with short time limits on real data sets.

    python -m benchmarks.anytime FILE.parquet [FILE.parquet ...] [--limits 5 10 20 40 80] [--seeds 1]
    python -m benchmarks.anytime --order
    python -m benchmarks.anytime --lcdb11 FILE [--workers 2] [--first-round 0.33]

Each run is a process of its own, and its time counts from the call to the saved model. --with names the pydaub command
of another environment, for a comparison with another commit in the same run. --order prints in which order the learners
of the default portfolio add most to those before them for their time, on the tables in `experiments/measured`. --lcdb11
replays `frugal` on recorded curves with a virtual clock: limits are shares of the time of training everything. Losses
are differences to the best score on all rows, in percent. With --first-round, smaller samples are tried: it begins with
the largest size that all learners together get within this share of the limit, if there is one.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import pandas as pd

from benchmarks.lcdb.curves import Task, tasks_11
from pydaub import Frugal, NothingMeasured, Schedule, Scores, TableEngine, run
from pydaub.algorithm.strategies.sizes import few, grown

MEASURED = Path(__file__).parents[1] / "experiments" / "measured"
FIRST_SIZE = 1_000  # rows; what a first training costs
LEAST_GAIN = 1e-6  # score per second
SHARES = (1 / 400, 1 / 200, 1 / 100, 1 / 50, 1 / 25, 1 / 12)
LEAST_ROWS = 4_000


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


class Given(Frugal):
    """A strategy that uses all of the sizes that it is given."""

    @staticmethod
    def _used(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return sizes


def sizes_within(task: Task, seconds: float) -> tuple[int, ...]:
    """Return the usual sizes, or smaller ones if all learners need more than `seconds` of training for the first."""
    usual = few(task.sizes)
    fitting = [
        size
        for size in task.sizes
        if size <= usual[0] and sum(task.recorded(name, size).seconds for name in task.learners) <= seconds
    ]
    if not fitting or fitting[-1] == usual[0]:
        return usual
    return grown(task.sizes, task.full_size, fitting[-1])


def losses(task: Task, workers: int, first_round: float) -> list[float]:
    """Return what is lost within each share of the time of training everything."""
    scores = [measured.valid_score for measured in task.at_full.values()]
    whole = sum(measured.seconds for measured in task.at_full.values())
    found = []
    for share in SHARES:
        sizes = sizes_within(task, first_round * whole * share * workers)
        strategy = Given(task.learners, Schedule(sizes), scores=Scores(rows=task.valid_rows))
        try:
            result = run(strategy, TableEngine(task.table, workers, limits=True), time_limit=whole * share)
            score = task.recorded(result.selected or "", result.selected_size or 0).valid_score
        except NothingMeasured:
            score = min(scores)
        found.append(max(scores) - score)
    return found


def p90(column: pd.Series) -> float:
    """Return what nine of ten data sets do not exceed."""
    return float(column.quantile(0.9))


def recorded(path: Path, workers: int, first_round: float) -> None:
    """Print the losses on recorded curves, by share of the time."""
    tasks = [task for task in tasks_11(path) if task.full_size >= LEAST_ROWS]
    with Pool(2) as pool:
        frame = pd.DataFrame(
            pool.map(partial(losses, workers=workers, first_round=first_round), tasks),
            columns=[f"1/{1 / s:.0f}" for s in SHARES],
        )
    frame = 100 * frame.groupby([task.data for task in tasks]).mean()
    print(frame.agg(["count", "mean", p90, "max"]).round(2).to_string())


def main() -> None:
    """Print one line for each data set, seed and limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, help="data files with a column `target`")
    parser.add_argument("--limits", nargs="+", type=float, default=[5, 10, 20, 40, 80], help="seconds")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits (default: 1)")
    parser.add_argument("--with", dest="other", help="pydaub command of another environment")
    parser.add_argument("--order", action="store_true", help="print in which order learners add most")
    parser.add_argument("--lcdb11", type=Path, help="curves of LCDB 1.1, of odd ids")
    parser.add_argument("--workers", type=int, default=2, help="virtual workers (default: 2)")
    parser.add_argument("--first-round", type=float, default=math.inf, help="share of the limit (default: any)")
    arguments = parser.parse_args()
    if arguments.lcdb11:
        recorded(arguments.lcdb11, arguments.workers, arguments.first_round)
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
