"""Measure how much errors fall from one size to a larger one, and write the table that forecasts begin with.

    python -m benchmarks.lcdb.steps --lcdb11 FILE

The table has quantiles of the log-error reduction, by the number of doublings of the rows and by the slope before (the
reduction per doubling from a quarter of the rows). Each data set counts once for each version of LCDB. Only odd ids are
used. The table is written to src/pydaub/algorithm/recorded.py.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.lcdb.curves import SEEDS, tasks, tasks_11
from pydaub.algorithm.experience import LEVELS, SLOPE_UNIT
from pydaub.algorithm.forecast import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from multiprocessing.pool import Pool

    from benchmarks.lcdb.curves import Task

WRITTEN: Final = Path("src/pydaub/algorithm/recorded.py")
DOUBLINGS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
SLOPES: Final = tuple(place / 2 for place in range(-8, 9))  # arcsinh(slope / SLOPE_UNIT)
APART: Final = 1.38  # sizes that are closer than that are not used
NEAR: Final = 0.2  # how far the logarithm of a size may be from the wanted one
WIDTH: Final = 0.35  # of the kernel over slopes
BORROWED: Final = 0.1  # weight of the neighbouring slopes, so that none is without data
DIGITS: Final = 3


class Steps(NamedTuple):
    """Steps between two sizes of recorded curves, as columns."""

    data: np.ndarray  # OpenML id
    source: np.ndarray  # 0 for LCDB 1.0, 1 for 1.1
    doublings: np.ndarray
    slope: np.ndarray  # nan for a learner without a size a quarter as large
    reduction: np.ndarray
    size: np.ndarray  # the larger one


class Recorded(NamedTuple):
    """The quantiles of reductions: by doublings, and by doublings and slope."""

    first: tuple[tuple[float, ...], ...]
    steps: tuple[tuple[tuple[float, ...], ...], ...]


def errors_of(task: Task) -> np.ndarray:
    """Return the logarithms of the errors of all learners at all sizes."""
    scale, least = Scale(1.0, logarithmic=True), 0.5 / task.valid_rows
    found = [[scale.error(task.recorded(name, size).valid_score) for size in task.sizes] for name in task.learners]
    return np.log(np.maximum(found, least))


def nearest(sizes: np.ndarray, wanted: float) -> int | None:
    """Return the place of the size that is nearest to the wanted one, if it is near enough."""
    apart = np.abs(np.log(sizes / wanted))
    place = int(np.argmin(apart))
    return place if apart[place] < NEAR else None


def steps_of(given: Iterable[Task], ahead: Sequence[float] = DOUBLINGS) -> Steps:
    """Return the steps over so many doublings of all curves of these tasks."""
    rows = [row for task in given for row in _steps_of(task, ahead)]
    return Steps(*np.array(rows).T)


def _steps_of(task: Task, ahead: Sequence[float]) -> Iterable[Sequence[float]]:
    sizes, logs, last = np.array(task.sizes, float), errors_of(task), 0.0
    for place, size in enumerate(sizes):
        if size < APART * last:
            continue
        last, before = size, nearest(sizes[:place], size / 4) if place else None
        slopes = np.full(len(logs), math.nan)
        if before is not None:
            slopes = (logs[:, before] - logs[:, place]) / math.log2(size / sizes[before])
        for doublings in ahead:
            after = nearest(sizes, size * 2**doublings)
            if after is None or after <= place:
                continue
            fell = (logs[:, place] - logs[:, after]) * doublings / math.log2(sizes[after] / size)
            for slope, reduction in zip(slopes, fell, strict=True):
                yield task.data, float(task.source == "1.1"), doublings, slope, reduction, sizes[after]


def recorded_of(steps: Steps, without: int | None = None) -> Recorded:
    """Return the table of these steps, without those of one data set."""
    first, rest = [], []
    place = np.clip(np.arcsinh(steps.slope / SLOPE_UNIT), SLOPES[0], SLOPES[-1])
    for doublings in DOUBLINGS:
        chosen = (steps.doublings == doublings) & (steps.data != without)
        fell, at, weights = steps.reduction[chosen], place[chosen], weights_of(steps.data[chosen], steps.source[chosen])
        order = np.argsort(fell)
        fell, at, weights = fell[order], at[order], weights[order]
        first.append(_quantiles(fell, weights))
        known = ~np.isnan(at)
        fell, at, weights = fell[known], at[known], weights[known]
        kernel = np.exp(-0.5 * ((at[:, None] - np.array(SLOPES)) / WIDTH) ** 2)
        kernel *= (weights / kernel.sum(1))[:, None]
        wider = kernel.copy()
        wider[:, 1:] += BORROWED * kernel[:, :-1]
        wider[:, :-1] += BORROWED * kernel[:, 1:]
        rest.append(tuple(_quantiles(fell, wider[:, slope]) for slope in range(len(SLOPES))))
    return Recorded(tuple(first), tuple(rest))


def left_out(steps: Steps, pool: Pool) -> dict[int, Recorded]:
    """Return, for each data set, the table of the steps of all others."""
    ids = [int(data) for data in np.unique(steps.data)]
    return dict(zip(ids, pool.map(partial(recorded_of, steps), ids), strict=True))


def weights_of(data: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return weights that count each data set of each version once."""
    _, groups, counts = np.unique(np.stack([data, source]), axis=1, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[groups.ravel()])


def _quantiles(values: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    """Return the weighted quantiles of ascending values at `LEVELS`."""
    levels = (np.cumsum(weights) - weights / 2) / weights.sum()
    return tuple(round(float(each), DIGITS) for each in np.interp(LEVELS, levels, values))


def written(table: Recorded) -> str:
    """Return the module that holds the table."""
    lines = [
        '"""Quantiles of log-error reductions on recorded curves, written by `python -m benchmarks.lcdb.steps`.',
        "",
        "Do not edit them by hand. `FIRST` has a row for each number of doublings, `STEPS` one for each slope besides.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        f"DOUBLINGS: Final = {DOUBLINGS}",
        f"SLOPES: Final = {SLOPES}",
        "FIRST: Final = (",
        *(f"    {row}," for row in table.first),
        ")",
        "STEPS: Final = (",
    ]
    for block in table.steps:
        lines += ["    (", *(f"        {row}," for row in block), "    ),"]
    return "\n".join([*lines, ")", ""])


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB")
    parser.add_argument("--lcdb11", type=Path, required=True, help="Parquet file with curves of LCDB 1.1")
    arguments = parser.parse_args()
    steps = steps_of(chain(tasks(arguments.cache, seeds=SEEDS), tasks_11(arguments.lcdb11)))
    WRITTEN.write_text(written(recorded_of(steps)), encoding="utf-8")
    print(f"{len(steps.data):,} steps of {len(np.unique(steps.data))} data sets in {WRITTEN}")


if __name__ == "__main__":
    main()
