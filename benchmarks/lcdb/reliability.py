"""Count how often recorded curves stay below the quantiles that were forecast for them.

    python -m benchmarks.lcdb.reliability --lcdb11 FILE [--cache DIR] [--plot FILE] [--fan FILE]

A forecast is reliable if 5 % of all outcomes are below its quantile of 5 %, 50 % below that of 50 %, and so on. An
outcome is the log-error reduction from one size to a size that is 1, 2, ..., 10 times doubled. Its forecast is made
once without looking at the curve before (one point) and, where there is a size a quarter as large, once more from the
slope between the two (two points). The table of the forecast is made without the data set that it is tried on. The
steps of the same run, which move forecasts in `frugal`, and the noise of small validation sets play no part.

The tables show the observed shares. Each data set counts once for each version of LCDB, and only odd ids are used. Many
reductions are exactly 0, as are several quantiles of one forecast. Such an outcome is spread evenly over the levels
that it ties with (Czado, Gneiting and Held, "Predictive Model Assessment for Count Data", 2009).

`--plot` draws observed against forecast shares, `--fan` forecasts from N/32 on with what then happened.
"""

from __future__ import annotations

import argparse
import math
import os
from itertools import accumulate, chain, pairwise
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.lcdb.curves import tasks, tasks_11
from benchmarks.lcdb.diagrams import Fan, draw_fans, draw_reliability
from benchmarks.lcdb.steps import DIGITS, Recorded, Steps, errors_of, left_out, nearest, steps_of
from pydaub.algorithm.experience import LEVELS, WEIGHTS, reductions
from pydaub.algorithm.forecast import use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.lcdb.curves import Task

AHEAD: Final = tuple(float(doublings) for doublings in range(1, 11))
DOUBLINGS: Final = {"1-2": (1, 2), "3-4": (3, 4), "5-6": (5, 6), "7 or more": (7, 10)}
SLOPES: Final = (-math.inf, 0.0, 0.02, 0.05, 0.1, 0.2, math.inf)
ONE_POINT, TWO_POINTS = "one point", "two points"
EDGES: Final = np.array([0.0, *accumulate(WEIGHTS)])  # each quantile stands for the share between two of them
TIED: Final = 0.5 * 10**-DIGITS  # as quantiles are rounded
FANS: Final = 4  # data sets
FAN_FROM: Final = 32
FAN_POINTS: Final = 25  # of each forecast that is drawn


class Shares(NamedTuple):
    """How much was below each of `LEVELS`, in one group of steps."""

    below: np.ndarray
    data_sets: int
    steps: int


def passed(quantiles: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """Return whether each outcome is below each level, 0 or 1, or between if it ties with some quantiles.

    Parameters
    ----------
    quantiles
        For each outcome those at `LEVELS`, ascending.
    outcomes
        What happened.
    """
    first = (quantiles < outcomes[:, None] - TIED).sum(1)
    after = (quantiles <= outcomes[:, None] + TIED).sum(1)
    places = np.arange(len(LEVELS))
    low, high = EDGES[first][:, None], EDGES[after][:, None]
    tied = np.clip((np.array(LEVELS) - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return np.where((after > first)[:, None], tied, (places >= first[:, None]).astype(float))


def groups(steps: Steps) -> dict[str, np.ndarray]:
    """Return which steps belong to which group; a step without a slope is a forecast from one point."""
    one, every = np.isnan(steps.slope), np.ones(len(steps.slope), dtype=bool)
    found = {}
    for points, some in ((ONE_POINT, one), (TWO_POINTS, ~one)):
        for name, (least, most) in DOUBLINGS.items():
            found[f"{points}, {name} doublings"] = some & (steps.doublings >= least) & (steps.doublings <= most)
        found[points] = some
    for low, high in pairwise(SLOPES):
        found[slope_class(low, high)] = (steps.slope >= low) & (steps.slope < high)
    return found | {"all": every}


def slope_class(low: float, high: float) -> str:
    """Return the name of the class of slopes from `low` to `high`."""
    if low == -math.inf:
        return f"last slope below {high:g}"
    return f"last slope above {low:g}" if high == math.inf else f"last slope {low:g} to {high:g}"


def of_data(job: tuple[Steps, Recorded]) -> dict[tuple[str, float], Shares]:
    """Return the shares in the steps of one data set, by group and version of LCDB."""
    steps, recorded = job
    some = ~np.isnan(steps.slope)
    # Every step is forecast from one point, and those with a slope from two as well.
    both = Steps(*(np.concatenate([column, column[some]]) for column in steps))
    both.slope[: len(some)] = math.nan
    use(*recorded)
    try:
        quantiles = [
            reductions(None if math.isnan(slope) else slope, doublings)
            for slope, doublings in zip(both.slope.tolist(), both.doublings.tolist(), strict=True)
        ]
    finally:
        use()
    below, found = passed(np.array(quantiles), both.reduction), {}
    for name, chosen in groups(both).items():
        for source in np.unique(both.source[chosen]):
            of_source = below[chosen & (both.source == source)]
            found[name, float(source)] = Shares(of_source.mean(0), 1, len(of_source))
    return found


def pooled(of_sets: Iterable[Mapping[tuple[str, float], Shares]]) -> dict[str, Shares]:
    """Return the shares of each group; each data set counts once for each version of LCDB."""
    found: dict[str, list[Shares]] = {}
    for one in of_sets:
        for (name, _), shares in one.items():
            found.setdefault(name, []).append(shares)
    return {
        name: Shares(np.mean([each.below for each in some], 0), len(some), sum(each.steps for each in some))
        for name, some in found.items()
    }


def table(found: Mapping[str, Shares]) -> str:
    """Return the observed shares as a Markdown table, in percent, under the forecast ones."""
    lines = [f"| | {' | '.join(f'{100 * level:g} %' for level in LEVELS)} | data sets | steps |"]
    lines.append("|---|" + "--:|" * (len(LEVELS) + 2))
    for name, shares in found.items():
        cells = [f"{100 * share:.1f}" for share in shares.below]
        lines.append(f"| {name} | {' | '.join(cells)} | {shares.data_sets} | {shares.steps:,} |")
    return "\n".join(lines)


def fans(given: Sequence[Task], tables: Mapping[int, Recorded]) -> Iterator[Fan]:
    """Yield forecasts from N/32 on, of the best and of the middle learner on the largest data sets of LCDB 1.1."""
    largest = sorted((task for task in given if task.source == "1.1"), key=lambda task: -task.full_size)[:FANS]
    for rank in ("best", "middle"):
        for task in largest:
            ranked = sorted(task.learners, key=lambda name: -task.at_full[name].valid_score)
            learner = ranked[0] if rank == "best" else ranked[len(ranked) // 2]
            use(*tables[task.data])
            try:
                yield fan(task, learner)
            finally:
                use()


def fan(task: Task, learner: str) -> Fan:
    """Return the forecast for one learner from N/32 on, with the slope from N/128."""
    sizes, logs = np.array(task.sizes, float), errors_of(task)[task.learners.index(learner)]
    now = int(np.argmin(np.abs(np.log(sizes * FAN_FROM / task.full_size))))
    before = nearest(sizes[:now], sizes[now] / 4) if now else None
    slope = None if before is None else (logs[before] - logs[now]) / math.log2(sizes[now] / sizes[before])
    ahead = np.linspace(0, math.log2(task.full_size / sizes[now]), FAN_POINTS)
    fell = np.array([reductions(slope, doublings) for doublings in ahead.tolist()])
    return Fan(
        f"OpenML {task.data}, {learner.removeprefix('ens.')}",
        task.sizes,
        _mistakes(logs),
        now,
        (sizes[now] * 2**ahead).tolist(),
        {level: _mistakes(logs[now] - fell[:, place]) for place, level in enumerate(LEVELS)},
    )


def _mistakes(logs: np.ndarray) -> list[float]:
    """Return the share of wrong classes in percent, from the logarithms of -log(accuracy)."""
    return [float(each) for each in 100 * -np.expm1(-np.exp(logs))]


def main() -> None:
    """Print the tables, and draw the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB")
    parser.add_argument("--lcdb11", type=Path, required=True, help="Parquet file with curves of LCDB 1.1")
    parser.add_argument("--plot", type=Path, help="draw observed against forecast shares: .svg or .png")
    parser.add_argument("--fan", type=Path, help="draw forecasts with what then happened: .svg or .png")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes (default: all CPUs)")
    arguments = parser.parse_args()
    given = list(chain(tasks(arguments.cache), tasks_11(arguments.lcdb11)))
    tried = steps_of(given, AHEAD)
    with Pool(arguments.workers) as pool:
        tables = left_out(steps_of(given), pool)
        jobs = [(Steps(*(column[tried.data == data] for column in tried)), tables[data]) for data in tables]
        found = pooled(pool.imap(of_data, jobs))
    by_doublings = {name: shares for name, shares in found.items() if "slope" not in name}
    by_slope = {name: shares for name, shares in found.items() if "slope" in name or name == ONE_POINT}
    print(f"By doublings ahead:\n\n{table(by_doublings)}\n\nBy last slope:\n\n{table(by_slope)}")
    if arguments.plot:
        panels = {
            points: {name: found[f"{points}, {name} doublings"].below.tolist() for name in DOUBLINGS}
            for points in (ONE_POINT, TWO_POINTS)
        }
        draw_reliability(arguments.plot, LEVELS, panels)
    if arguments.fan:
        draw_fans(arguments.fan, list(fans(given, tables)))


if __name__ == "__main__":
    main()
