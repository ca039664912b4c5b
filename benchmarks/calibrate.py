"""Fit the chances that certificates state, on recorded curves, and print how often they were true.

    python -m benchmarks.calibrate [--lcdb11 FILE] [--write]
    python -m benchmarks.calibrate --even

The curves are those of LCDB 1.0 and 1.1 with odd ids (see benchmarks/lcdb) and those in experiments/measured. On each
task several strategies are replayed. Every learner that a replay did not train on all rows is a rival of the selected
one, and the table says how much it would have caught up. The constants of `pydaub.algorithm.prospects` are fitted to
that by the pinball loss of several quantiles. The coverage is printed twice: cross-validated, where each half of the
data sets is checked with constants fitted to the other half, and with the constants that the package has. `--write`
replaces these by constants fitted to all data sets. `--even` fits nothing and checks the constants of the package on
the even ids of LCDB 1.0, which nothing was tuned on.

Run it in the root of the repository; it takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import dataclass
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from benchmarks.lcdb.curves import tasks, tasks_11
from pydaub import Allocation, Daub, Frugal, Halving, Measurement, Schedule, Scores, Table, TableEngine, run
from pydaub.algorithm import calibrated
from pydaub.algorithm.prospects import (
    AFTER_MORE,
    AFTER_ONE,
    CONFIDENCE,
    GROWTH,
    INTERVAL,
    MoreRows,
    Overtaking,
    Rival,
    Trace,
    margin,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydaub.algorithm.strategies import Strategy

Array: TypeAlias = np.ndarray[Any, Any]
MEASURED: Final = Path(__file__).parents[1] / "experiments/measured"
CHANCES: Final = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # at which the tail is fitted
AHEAD: Final = (1.0, 2.0, 3.3)  # doublings over which more rows are forecast
NEAR: Final = 0.3  # doublings by which a recorded size may differ from these
LEAST_SIZE: Final = 1000  # from which more rows are forecast
LEADERS: Final = 3  # learners at each size for which more rows are forecast
SMALL: Final = 1e-4  # weight of the penalty on exponents
ROUNDS: Final = 3  # fits, each with the scales of the one before as weights
SPLITS_11: Final = 25  # LCDB 1.1 has means over so many splits


@dataclass(frozen=True)
class Recorded:
    """A recorded table without failures: its data set, and on how many rows each score was measured."""

    source: str
    data: str
    learners: tuple[str, ...]
    sizes: tuple[int, ...]
    table: Table
    rows: int

    def trace(self, learner: str, sizes: tuple[int, ...], splits: int = 1) -> Trace:
        """Return the errors of a learner at these sizes."""
        return Trace.of({size: self.score(learner, size) for size in sizes}, 1.0, splits * self.rows)

    def score(self, learner: str, size: int) -> float:
        """Return the score of a learner at a size."""
        outcome = self.table[Allocation(learner, size)]
        assert isinstance(outcome, Measurement)  # noqa: S101  # others were left out
        return outcome.valid_score


def lcdb(cache: Path, lcdb11: Path | None, ids: str = "odd") -> Iterator[Recorded]:
    """Yield the tables of LCDB."""
    for task in chain(tasks(cache, ids), tasks_11(lcdb11, ids) if lcdb11 else ()):
        source = f"LCDB {task.source}"
        yield Recorded(source, str(task.data), task.learners, task.sizes, task.table, task.valid_rows)


def measured() -> Iterator[Recorded]:
    """Yield the tables of experiments/measured."""
    for path in sorted(MEASURED.glob("*.csv")):
        about, table = json.loads(path.with_suffix(".json").read_text()), Table.read(path)
        complete = tuple(
            name
            for name in table.learners
            if all(isinstance(table.outcomes.get(Allocation(name, size)), Measurement) for size in table.sizes)
        )
        yield Recorded("measured", about["data"], complete, table.sizes, table, about["valid_rows"])


STRATEGIES: Final[dict[str, Callable[[Recorded], Strategy]]] = {
    **{
        f"frugal {delta}": lambda one, delta=delta: Frugal(  # type: ignore[misc]
            one.learners, Schedule(one.sizes), delta, scores=Scores(rows=one.rows)
        )
        for delta in (0.001, 0.01, 0.05)
    },
    "halving": lambda one: Halving(one.learners, Schedule(one.sizes)),
    "daub": lambda one: Daub(one.learners, Schedule(one.sizes)),
}


@dataclass(frozen=True)
class Replayed:
    """A strategy on a table: what was lost, the error that is left, and each rival with what it would catch up."""

    source: str
    data: str
    strategy: str
    loss: float
    error: float
    rivals: tuple[tuple[Rival, float], ...]


def replayed(one: Recorded) -> list[Replayed]:
    """Return the replays of all strategies on a table."""
    found, full = [], one.sizes[-1]
    best = max(one.score(name, full) for name in one.learners)
    for name, make in STRATEGIES.items():
        strategy = make(one)
        selected = run(strategy, TableEngine(one.table)).selected
        assert selected is not None  # noqa: S101  # nothing fails
        winner = one.trace(selected, strategy.curve(selected).sizes)
        rivals = []
        for other in one.learners:
            if (sizes := strategy.curve(other).sizes)[-1] < full:
                rival = Rival.of(one.trace(other, sizes), winner, full)
                left = math.log(one.trace(other, (full,)).errors[-1] / winner.errors[-1])
                rivals.append((rival, rival.behind - left))
        loss = best - one.score(selected, full)
        found.append(Replayed(one.source, one.data, name, loss, winner.errors[-1], tuple(rivals)))
    return found


def forecasts(one: Recorded) -> list[dict[str, Any]]:
    """Return what more rows brought to the best learners of each size, and what was known before."""
    found = []
    splits = SPLITS_11 if one.source.endswith("1.1") else 1
    for place, size in enumerate(one.sizes):
        known = one.sizes[: place + 1]
        if size < LEAST_SIZE or 2 * known[0] > size:
            continue
        for name in sorted(one.learners, key=lambda name: -one.score(name, size))[:LEADERS]:
            trace = one.trace(name, known, splits)
            for doublings in AHEAD:
                later = min(one.sizes, key=lambda each: abs(math.log2(each / size) - doublings))
                if abs(math.log2(later / size) - doublings) <= NEAR:
                    brought = math.log(trace.errors[-1] / one.trace(name, (later,)).errors[-1])
                    about = {"source": one.source, "data": one.data, "step": trace.step, "noise": trace.noise}
                    found.append({**about, "doublings": math.log2(later / size), "brought": brought})
    return found


def fit_overtaking(replays: Sequence[Replayed], *, one_point: bool) -> Overtaking:
    """Return the constants that fit rivals with one point, or with more."""
    rows = [
        (rival.behind, rival.noise, rival.doublings, rival.step or 0.0, caught, len(each.rivals) ** -0.5)
        for each in replays
        for rival, caught in each.rivals
        if (rival.step is None) == one_point
    ]
    behind, noise, doublings, step, caught, weights = np.array(rows).T
    weights = weights / weights.sum()

    def constants(values: Array) -> Overtaking:
        factor, behind, noise, doublings, *step, tail = values.tolist()
        return Overtaking(math.exp(factor), behind, noise, doublings, step[0] if step else 0.0, math.exp(tail))

    def loss(values: Array, scales: Array) -> float:
        found = constants(values)
        scale, total = found.scale(behind, noise, doublings, step), SMALL * float(np.sum(values[1:-1] ** 2))
        for chance in CHANCES:
            over = (caught - scale * math.log(found.tail / chance)) / scales
            total += float(weights @ np.where(over > 0, (1 - chance) * over, -chance * over)) / math.sqrt(chance)
        return total

    values, scales = np.array([-1.0, 0.5, 0.4, 0.5, *([] if one_point else [0.3]), -1.3]), np.full(len(rows), 0.3)
    for _ in range(ROUNDS):
        values = minimize(loss, values, args=(scales,), method="Powell", options={"ftol": 1e-5}).x
        scales = np.asarray(constants(values).scale(behind, noise, doublings, step))
    return constants(values)


def fit_more_rows(found: pd.DataFrame) -> MoreRows:
    """Return the constants that fit what more rows brought; each data set of each source counts the same."""
    step, noise, doublings, brought = (found[name].to_numpy() for name in ("step", "noise", "doublings", "brought"))
    weights = 1 / found.groupby(["source", "data"])["step"].transform("size").to_numpy()
    weights, aside = weights / weights.sum(), (1 - INTERVAL) / 2

    def loss(values: Array, scales: Array) -> float:
        total = 0.0
        for level, forecast in zip(
            (aside, 0.5, 1 - aside), MoreRows(*values).reduction(step, noise, doublings), strict=True
        ):
            over = (brought - forecast) / scales
            total += float(weights @ np.where(over > 0, level * over, (level - 1) * over)) / math.sqrt(level - level**2)
        return total

    values, scales = np.array(GROWTH), np.full(len(brought), 0.1)
    for _ in range(ROUNDS):
        values = minimize(loss, values, args=(scales,), method="Powell").x
        low, _, high = MoreRows(*values).reduction(step, noise, doublings)
        scales = np.asarray(high) - low
    return MoreRows(*values)


def checked(replays: Sequence[Replayed], one: Overtaking, more: Overtaking) -> pd.DataFrame:
    """Return for each replay whether the margin covered its loss, and the margin."""
    rows = []
    for each in replays:
        claimed = margin([rival for rival, _ in each.rivals], each.error, one=one, more=more)
        rows.append((each.source, each.strategy, each.loss <= claimed, claimed, claimed == 0))
    return pd.DataFrame(rows, columns=["source", "strategy", "covered %", "mean margin %", "margin 0 %"])


def covered(found: pd.DataFrame, constants: MoreRows) -> pd.DataFrame:
    """Return for each forecast whether the interval contained what was brought."""
    low, middle, high = constants.reduction(found["step"], found["noise"], found["doublings"])
    brought = found["brought"]
    inside = {
        "inside %": (low <= brought) & (brought <= high),
        "above %": brought > high,
        "below middle %": brought < middle,
    }
    return found.assign(**inside, ahead=found["doublings"].round())


def show(title: str, checks: pd.DataFrame, intervals: pd.DataFrame) -> None:
    """Print the coverage in percent."""
    figures = list(checks.columns[2:])
    print(f"\n{title}: margins, to cover {100 * CONFIDENCE:.0f} %")
    print((100 * checks.groupby(["strategy", "source"])[figures].mean()).round(2).to_string())
    print((100 * checks.groupby("strategy")[figures].mean()).round(2).to_string())
    print(f"\n{title}: intervals for more rows, to contain {100 * INTERVAL:.0f} %")
    print(
        (100 * intervals.groupby(["source", "ahead"])[["inside %", "above %", "below middle %"]].mean())
        .round(1)
        .to_string()
    )


def fitted(replays: Sequence[Replayed], found: pd.DataFrame) -> tuple[Overtaking, Overtaking, MoreRows]:
    """Return all constants, rounded."""
    fits = fit_overtaking(replays, one_point=True), fit_overtaking(replays, one_point=False), fit_more_rows(found)
    return tuple(type(each)(*(float(f"{value:.3g}") for value in each)) for each in fits)  # type: ignore[return-value]


def main() -> None:
    """Fit, check and print; with `--write`, also write the constants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB 1.0 (see benchmarks/lcdb)"
    )
    parser.add_argument(
        "--lcdb11", type=Path, help="Parquet file with curves of LCDB 1.1 (see benchmarks/lcdb/curves.py)"
    )
    parser.add_argument("--write", action="store_true", help="write the constants into the package")
    parser.add_argument("--even", action="store_true", help="only check, on even ids of LCDB 1.0")
    arguments = parser.parse_args()
    tables = (
        [*lcdb(arguments.cache, None, "even")]
        if arguments.even
        else [*lcdb(arguments.cache, arguments.lcdb11), *measured()]
    )
    with Pool(os.cpu_count()) as pool:
        replays = list(chain.from_iterable(pool.imap(replayed, tables)))
        found = pd.DataFrame(chain.from_iterable(pool.imap(forecasts, tables)))
    if arguments.even:
        show("even ids", checked(replays, AFTER_ONE, AFTER_MORE), covered(found, GROWTH))
        return
    names = sorted({one.data for one in tables})
    half = set(np.random.default_rng(0).permutation(names)[: len(names) // 2])
    checks, intervals = [], []
    for side in (True, False):
        inside = found["data"].isin(half) == side
        one, more, growth = fitted([each for each in replays if (each.data in half) == side], found[inside])
        checks.append(checked([each for each in replays if (each.data in half) != side], one, more))
        intervals.append(covered(found[~inside], growth))
    show("cross-validated", pd.concat(checks), pd.concat(intervals))
    show("with the constants of the package", checked(replays, AFTER_ONE, AFTER_MORE), covered(found, GROWTH))
    constants = fitted(replays, found)
    print("\nfitted to all:", *constants, sep="\n")
    if arguments.write:
        text = Path(calibrated.__file__).read_text()
        head = text[: text.index("OVERTAKES_AFTER_ONE")]
        written = zip(("OVERTAKES_AFTER_ONE", "OVERTAKES_AFTER_MORE", "MORE_ROWS"), constants, strict=True)
        Path(calibrated.__file__).write_text(
            head + "".join(f"{name}: Final = {tuple(each)}\n" for name, each in written)
        )


if __name__ == "__main__":
    main()
