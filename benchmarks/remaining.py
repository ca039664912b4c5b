"""Measure how well the time that is left of a run is estimated.

    python -m benchmarks.remaining [--lcdb11 FILE] [--write]

The curves are those in experiments/measured, and those of LCDB 1.1 with odd ids if a file is given (see
benchmarks/lcdb). On each of them several strategies are replayed with one, two or four virtual workers. At many moments
of each replay, the time that is left is compared with what `pydaub.runs.remaining` expects. The quantiles of the ratio
of the times, by progress, are kept in `pydaub.runs.ratios`; `--write` replaces them. Printed are, cross-validated (each
half of the data sets is checked with constants of the other half): the coverage of the intervals, how wide they are, by
how many points the progress that is shown is off, and how far it falls back.

Run it in the root of the repository; it takes ten minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from itertools import chain, product
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd

from benchmarks.calibrate import Recorded, measured
from benchmarks.lcdb.curves import tasks_11
from pydaub import Daub, Evaluated, Frugal, Halving, Schedule, Started, TableEngine
from pydaub.runs import ratios, remaining
from pydaub.runs.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub import Account
    from pydaub.algorithm.strategies import Strategy
    from pydaub.events import Event

Factors: TypeAlias = dict[str, dict[str, tuple[tuple[float, ...], ...]]]
WORKERS: Final = (1, 2, 4)
LOOKS: Final = 8  # at each run, while every learner gets a size
LEVELS: Final = (0.1, 0.5, 0.9)
PROGRESS: Final = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # at which the factors are kept
NEAR: Final = 0.12  # distance in progress of the moments that count for a factor
RATIO: Final = 1.5  # between the sizes that daub and halving use
LEAST: Final = 40  # moments for a factor


def lcdb(path: Path | None) -> Iterator[Recorded]:
    """Yield the tables of LCDB 1.1, with learners in random order: theirs ends with the most expensive ones."""
    for task in tasks_11(path) if path else ():
        learners = tuple(map(str, np.random.default_rng(task.data).permutation(task.learners)))
        yield Recorded("LCDB 1.1", str(task.data), learners, task.sizes, task.table, task.valid_rows)


def thinned(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes that grow by about `RATIO`, as in a run, the full size included."""
    kept = [sizes[-1]]
    for size in reversed(sizes):
        if size * RATIO <= kept[-1] * 1.05:
            kept.append(size)
    return tuple(reversed(kept))


def strategies(one: Recorded) -> dict[str, Strategy]:
    """Return the strategies that are replayed."""
    return {
        "frugal": Frugal(one.learners, Schedule(one.sizes), scores=one.scores),
        "daub": Daub(one.learners, Schedule(thinned(one.sizes))),
        "halving": Halving(one.learners, Schedule(thinned(one.sizes))),
    }


def replayed(job: tuple[Recorded, int]) -> list[dict[str, Any]]:
    """Return what was expected at many moments of the replays of a table, and what came."""
    one, workers = job
    scores, found = one.scores, []
    for name, strategy in strategies(one).items():
        moments: list[dict[str, Any]] = []
        every = max(len(one.learners) // LOOKS, 1)
        seen = 0

        def watch(event: Event, account: Account) -> None:
            nonlocal seen  # called before the next turn
            seen += isinstance(event, Evaluated)
            if isinstance(event, Evaluated) and seen % every == 0:  # noqa: B023
                moments.append(_moment(account))  # noqa: B023

        started = Started({**strategy.settings, "scores": scores.to_json()})
        account = Loop(strategy, TableEngine(one.table, workers), started=started, watch=watch).run()
        about = {"source": one.source, "data": one.data, "strategy": name, "workers": workers}
        found += [
            {**about, "run": f"{one.data} {one.rows} {name} {workers}", **moment, "end": account.clock}
            for moment in moments
        ]
    return found


def _moment(account: Account) -> dict[str, Any]:
    remaining.forget(account)
    return {
        "clock": account.clock,
        "expected": remaining.expected_seconds(account, account.clock),
        "untried": bool(account.untried_yet),
    }


def factors(found: pd.DataFrame) -> Factors:
    """Return the quantiles of what was left over what was expected, by progress; each run counts the same."""
    made: Factors = {}
    for (strategy, untried), group in found.groupby(["strategy", "untried"]):
        rows = []
        for progress in PROGRESS:
            near = group[(group["progress"] - progress).abs() <= NEAR]
            near = (
                near if len(near) >= LEAST else group.loc[(group["progress"] - progress).abs().nsmallest(LEAST).index]
            )
            rows.append(tuple(float(f"{value:.3g}") for value in _quantiles(near)))
        made.setdefault(strategy, {})["untried" if untried else "tried"] = tuple(rows)
    return made


def _quantiles(found: pd.DataFrame) -> list[float]:
    weights = 1 / found.groupby("run")["ratio"].transform("size")
    order = np.argsort(found["ratio"].to_numpy())
    shares = np.cumsum(weights.to_numpy()[order]) / weights.sum()
    values = found["ratio"].to_numpy()[order]
    return [float(values[min(int(np.searchsorted(shares, level)), len(values) - 1)]) for level in LEVELS]


def checked(found: pd.DataFrame, made: Factors) -> pd.DataFrame:
    """Return for each moment whether the interval contained the truth, its width, and the progress shown."""
    factor = np.empty((len(found), len(LEVELS)))
    for strategy, kind in product(made, ("untried", "tried")):
        chosen = ((found["untried"] == (kind == "untried")) & (found["strategy"] == strategy)).to_numpy()
        for place in range(len(LEVELS)):
            logs = np.log([row[place] for row in made[strategy][kind]])
            factor[chosen, place] = np.exp(np.interp(found["progress"][chosen], PROGRESS, logs))
    low, middle, high = (factor * found["expected"].to_numpy()[:, None]).T
    left, spent = found["left"], found["clock"]
    shown = spent / (spent + np.sqrt(middle * high))
    return found.assign(
        **{"inside %": 100.0 * ((low <= left) & (left <= high)), "below middle %": 100.0 * (left < middle)},
        **{"high / low": high / low},
        shown=shown,
        off=100 * (shown - spent / found["end"]).abs(),
        weight=1 / found.groupby("run")["ratio"].transform("size"),
    )


def show(checks: pd.DataFrame) -> None:
    """Print the coverage; every run counts the same."""
    figures = ["inside %", "below middle %", "high / low", "off"]
    parts = pd.cut(checks["clock"] / checks["end"], [0, 0.1, 0.25, 0.5, 0.75, 1.0]).rename("passed")
    for by in ("strategy", "source", "workers", parts):
        told = checks.groupby(by, observed=True)
        means = told.apply(lambda each: pd.Series(np.average(each[figures], axis=0, weights=each["weight"]), figures))
        print(means.assign(**{"high / low": told["high / low"].median()}).round(1).to_string(), "\n")
    falls = checks.groupby("run")["shown"].apply(lambda shown: 100 * (shown.cummax() - shown).max())
    print("largest fall of the progress shown, in points:", falls.quantile([0.5, 0.8, 0.9]).round(1).to_dict(), "\n")


def main() -> None:
    """Replay, check and print; with `--write`, also write the factors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lcdb11", type=Path, help="Parquet file with curves of LCDB 1.1")
    parser.add_argument("--every", type=int, default=1, help="replay only every so many tables")
    parser.add_argument("--write", action="store_true", help="write the factors into the package")
    arguments = parser.parse_args()
    tables = [*measured(), *lcdb(arguments.lcdb11)][:: arguments.every]
    jobs = [(one, WORKERS[place % len(WORKERS)]) for place, one in enumerate(tables)]
    with Pool(os.cpu_count()) as pool:
        found = pd.DataFrame(chain.from_iterable(pool.imap_unordered(replayed, jobs)))
    found = found[found["expected"].notna() & (found["clock"] < found["end"])].reset_index(drop=True)
    found["left"] = found["end"] - found["clock"]
    found["expected"] = np.maximum(found["expected"], 1e-3 * found["clock"])
    found["ratio"] = found["left"] / found["expected"]
    found["progress"] = found["clock"] / (found["clock"] + found["expected"])
    names = sorted(found["data"].unique())
    half = found["data"].isin(set(np.random.default_rng(0).permutation(names)[: len(names) // 2]))
    halves = (found[half], found[~half]), (found[~half], found[half])
    show(pd.concat([checked(rest, factors(fitted)) for fitted, rest in halves]))
    made = factors(found)
    print(made)
    if arguments.write:
        path = Path(ratios.__file__)
        text = path.read_text()
        head, constants = text[: text.index("PROGRESS")], {"PROGRESS": PROGRESS, "RATIOS": made}
        path.write_text(head + "".join(f"{name}: Final = {value}\n" for name, value in constants.items()))
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", path], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
