"""Does it matter that samples are nested? Each training on a fresh draw from the training rows, beside nested samples.

    python experiments/fresh.py [covtype higgs susy ...] [--rows 2500] [--seeds 5]

The paper's `n examples sampled from T_r` can be read in both ways. pydaub takes the first n rows of one shuffle; the
other reading draws n rows anew for each learner and size. Both are measured on few rows, where it matters most, with
the same validation rows, and DAUB (the paper's bound) chooses on each. On all rows the two are the same.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from curves import Wanted
from dividing import record
from replays import BOOTSTRAP, MEASURED, percent

from pydaub import Allocation, Curve, Daub, Measurement, Schedule, SlopeBound, Table, TableEngine, run
from pydaub.learners import portfolio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydaub.data import Prepared

LEARNERS: Final = "tree,tree-depth-5,logistic,naive-bayes-gaussian,knn-5,knn-25,lda,forest-20,adaboost"
FIRST: Final = 250
VALID: Final = 4_000  # validation rows at most
MODES: Final = ("nested", "fresh")
HEADER: Final = ("Data set", "Samples", "Steps that fall", "Valid bounds", "Speed-up in rows", "Loss")


def measured(data: Prepared, rows: int, seed: int, mode: str) -> Table:
    """Return the curves of the learners, with samples of this kind."""
    schedule, train, valid = Schedule.geometric(rows, FIRST), data.train(rows), data.valid()
    X, y = valid.X[:VALID], valid.y[:VALID]  # noqa: N806  # as everybody calls it
    outcomes = {}
    for place, learner in enumerate(portfolio(LEARNERS, data.schema).values()):
        names = [name for name in learner.estimator.get_params() if name.split("__")[-1] == "random_state"]
        learner.estimator.set_params(**dict.fromkeys(names, seed))
        for size in schedule.sizes:
            drawn = np.random.default_rng((seed, place, size)).permutation(rows)[:size]
            chosen = np.arange(size) if mode == "nested" or size == rows else drawn
            began = time.perf_counter()
            fitted = learner.estimator.fit(train.X[chosen], train.y[chosen])
            own, score = (float(fitted.score(*part)) for part in ((train.X[chosen], train.y[chosen]), (X, y)))
            outcomes[Allocation(learner.name, size)] = Measurement(own, score, time.perf_counter() - began)
    return Table(outcomes)


def figures(table: Table) -> tuple[float, float, float, float]:
    """Return the share of steps that fall, that of valid bounds, DAUB's speed-up in rows, and its loss."""
    full, falls, held = table.sizes[-1], list[bool](), list[bool]()
    final = {name: score(table, name, full) for name in table.learners}
    bound = SlopeBound()
    for name in table.learners:
        points = tuple(table[Allocation(name, size)] for size in table.sizes)
        curve = Curve(name, table.sizes, points)  # type: ignore[arg-type]  # none of them failed
        scores = [score(table, name, size) for size in table.sizes]
        falls += [after < before for before, after in pairwise(scores)]
        lengths = range(BOOTSTRAP, len(table.sizes))
        held += [bound(curve.prefix(length), full) >= final[name] for length in lengths]
    result = run(Daub(table.learners, Schedule(table.sizes)), TableEngine(table))
    loss = max(final.values()) - (result.valid_score or 0.0)
    return fmean(falls), fmean(held), full * len(table.learners) / result.rows, loss


def score(table: Table, name: str, size: int) -> float:
    """Return a validation score."""
    outcome = table[Allocation(name, size)]
    return outcome.valid_score if isinstance(outcome, Measurement) else 0.0


def lines(data: str, rows: int, seeds: Iterable[int]) -> list[list[str]]:
    """Return a line for nested samples and one for fresh ones, each with means over seeds of the split."""
    prepared = [(seed, Wanted(data, seed=seed).load()) for seed in seeds]
    found = []
    for mode in MODES:
        each = [figures(measured(one, rows, seed, mode)) for seed, one in prepared]
        falls, held, speed_ups, losses = zip(*each, strict=True)
        shares = [f"{100 * fmean(share):.0f} %" for share in (falls, held)]
        found.append([data, mode, *shares, f"{geometric_mean(speed_ups):.2f}x", percent(fmean(losses), 2)])
    return found


def said(lines: Sequence[Sequence[str]]) -> str:
    """Return what the table says."""
    named = [dict(zip(HEADER, line, strict=True)) for line in lines]
    pairs = [*zip(named[::2], named[1::2], strict=True)]

    def gains(column: str, unit: str) -> str:
        return ", ".join(f"{_number(b[column]) - _number(a[column]):+.{2 * (unit != '')}f}" for a, b in pairs)

    return (
        f"With fresh samples instead of nested ones, on {', '.join(a['Data set'] for a, _ in pairs)}: steps that fall"
        f" {gains('Steps that fall', '')} percentage points, valid bounds {gains('Valid bounds', '')} points, speed-up"
        f" {gains('Speed-up in rows', 'x')}, loss {gains('Loss', '%')} points."
    )


def _number(cell: str) -> float:
    return float(cell.rstrip(" x%"))


def main() -> None:
    """Print the table, and keep it."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("data", nargs="*", default=["covtype", "higgs", "susy"], help="of experiments/datasets.py")
    made.add_argument("--rows", type=int, default=2_500, help="training rows")
    made.add_argument("--seeds", type=int, default=5, help="splits")
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder for the table")
    chosen = made.parse_args()
    found = [line for data in chosen.data for line in lines(data, chosen.rows, range(chosen.seeds))]
    record("fresh", HEADER, found, chosen.measured)


if __name__ == "__main__":
    main()
