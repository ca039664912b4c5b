"""Count how often what a certificate claims is true, at every moment of many runs.

    python -m benchmarks.calibrate --lcdb11 FILE [--shared VALUE]

The runs are replays of several strategies on the curves of LCDB 1.0 and 1.1 with odd ids (see benchmarks/lcdb) and on
those in experiments/measured. Each data set is replayed and judged with a table of forecasts that was made without it.
At ten moments of each run, from the first outcome to the last, it is asked

- of a leader with all rows: how likely is it that no other learner is better on all rows by more than 0, 0.001, ...?
- how large is the margin of 95 %?
- of any leader, how likely are its five likeliest rivals to be better on all rows?
- what would the best learners of each size reach with two, four and ten times the rows?

The tables have what was said and how often it held. Every run of a data set counts the same. `--shared` tries another
correlation of learners than `pydaub.algorithm.field.SHARED`.

Run it in the root of the repository; it takes ten minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.lcdb.curves import tasks, tasks_11
from benchmarks.lcdb.steps import Recorded as Quantiles
from benchmarks.lcdb.steps import left_out, steps_of
from pydaub import Allocation, Daub, Frugal, Halving, Measurement, Schedule, Scores, Step, Table, TableEngine, run
from pydaub.algorithm import field
from pydaub.algorithm.forecast import use
from pydaub.runs.certificate import CONFIDENCE, INTERVAL
from pydaub.runs.forecasts import Forecasts
from pydaub.runs.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydaub.algorithm.strategies import Strategy

MEASURED: Final = Path(__file__).parents[1] / "experiments/measured"
MOMENTS: Final = 10  # of each run
LEADS: Final = (0.0, 0.001, 0.003, 0.01, 0.03)
RIVALS: Final = 5  # of a leader that are looked at, the likeliest first
AHEAD: Final = (1.0, 2.0, 3.3)  # doublings over which more rows are forecast
NEAR: Final = 0.3  # doublings by which a recorded size may differ from these
LEAST_SIZE: Final = 1000  # from which more rows are forecast
LEADERS: Final = 3  # learners at each size for which more rows are forecast
BANDS: Final = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
FIRST_SIZE, RATIO = 400, 1.5  # of daub and halving


@dataclass(frozen=True)
class Recorded:
    """A recorded table without failures: its data set, and on how many rows each score was measured."""

    source: str
    data: str
    learners: tuple[str, ...]
    sizes: tuple[int, ...]
    table: Table
    rows: int
    quantiles: Quantiles | None = None  # those made without this data set; None for the ones that are shipped

    def score(self, learner: str, size: int) -> float:
        """Return the score of a learner at a size."""
        outcome = self.table[Allocation(learner, size)]
        assert isinstance(outcome, Measurement)  # noqa: S101  # others were left out
        return outcome.valid_score

    @property
    def scores(self) -> Scores:
        """What the scores are."""
        return Scores("accuracy", self.rows)


class Found(NamedTuple):
    """What was said in the runs of a table, and what was true."""

    claims: list[dict[str, Any]]
    margins: list[dict[str, Any]]
    chances: list[dict[str, Any]]
    more_rows: list[dict[str, Any]]


def lcdb(cache: Path, lcdb11: Path | None, seeds: int) -> Iterator[Recorded]:
    """Yield the tables of LCDB with odd ids."""
    given = list(chain(tasks(cache, seeds=seeds), tasks_11(lcdb11) if lcdb11 else ()))
    with Pool(os.cpu_count()) as pool:
        tables = left_out(steps_of(given), pool)
    for task in given:
        source, without = f"LCDB {task.source}", tables[task.data]
        yield Recorded(source, str(task.data), task.learners, task.sizes, task.table, task.valid_rows, without)


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


def thinned(sizes: tuple[int, ...]) -> Schedule:
    """Return sizes that grow by about `RATIO`, as in a run."""
    kept = [sizes[-1]]
    for size in reversed(sizes):
        if size >= FIRST_SIZE and size * RATIO <= kept[-1] * 1.05:
            kept.append(size)
    return Schedule(tuple(reversed(kept)))


STRATEGIES: Final[dict[str, Callable[[Recorded], Strategy]]] = {
    **{
        f"frugal {delta}": lambda one, delta=delta: Frugal(  # type: ignore[misc]
            one.learners, Schedule(one.sizes), delta, scores=one.scores
        )
        for delta in (0.001, 0.01, 0.05)
    },
    "halving": lambda one: Halving(one.learners, thinned(one.sizes)),
    "daub": lambda one: Daub(one.learners, thinned(one.sizes)),
}


def replayed(one: Recorded) -> Found:
    """Return what is said and what is true in the runs of all strategies on a table."""
    found = Found([], [], [], [])
    if one.quantiles:
        use(*one.quantiles)
    try:
        for name, make in STRATEGIES.items():
            result = run(make(one), TableEngine(one.table))
            about = {"source": one.source, "data": one.data, "strategy": name}
            count = len(result.steps)
            for stop in sorted({-(-count * (moment + 1) // MOMENTS) for moment in range(MOMENTS)}):
                _look(one, replace(result, steps=result.steps[:stop]), {**about, "end": stop == count}, found)
        found.more_rows.extend(more_rows(one))
    finally:
        use()
    return found


def _look(one: Recorded, result: Result, about: dict[str, Any], found: Found) -> None:
    """Add what is said at a moment."""
    known, full = Forecasts(result, one.scores, {}), one.sizes[-1]
    reached = known.at_full or {name: max(map(_score, steps)) for name, steps in known.steps.items()}
    leader = max(reached, key=lambda name: reached[name])
    others = [name for name in one.learners if name != leader]
    own, truth = one.score(leader, full), {name: one.score(name, full) for name in others}
    chances = known.chances(leader, others)
    about = {**about, "all rows": leader in known.at_full}
    found.chances.extend(
        {**about, "said": chance, "held": truth[name] > own} for name, chance in [*chances.items()][:RIVALS]
    )
    if leader not in known.at_full or not chances or any(name not in known.steps for name in others):
        return
    best = max(truth.values()) - own
    for lead in LEADS:
        said = known.none_better(leader, others, lead)
        found.claims.append({**about, "lead": lead, "said": said, "held": best <= lead})
    margin = known.margin(leader, others, CONFIDENCE)
    found.margins.append({**about, "covered": best <= margin, "margin": margin, "margin is 0": margin == 0})


def _score(step: Step) -> float:
    assert isinstance(step.outcome, Measurement)  # noqa: S101  # nothing fails
    return step.outcome.valid_score


def more_rows(one: Recorded) -> Iterator[dict[str, Any]]:
    """Yield what more rows brought to the best learners of each size, and whether it was within the forecast."""
    for place, size in enumerate(one.sizes):
        if size < LEAST_SIZE or 4 * one.sizes[0] > size:
            continue
        sizes = one.sizes[: place + 1]
        steps = [
            Step(Allocation(name, each), one.table[Allocation(name, each)], None)
            for name in one.learners
            for each in sizes
        ]
        known = Forecasts(Result(None, size, tuple(steps), {}, 0.0), one.scores, {})
        for name in sorted(one.learners, key=lambda name: -one.score(name, size))[:LEADERS]:
            for doublings in AHEAD:
                later = min(one.sizes, key=lambda each: abs(math.log2(each / size) - doublings))
                if abs(math.log2(later / size) - doublings) > NEAR:
                    continue
                forecast, score = known.with_rows(name, later), one.score(name, later)
                low, high = map(forecast.quantile, INTERVAL)
                yield {
                    "source": one.source,
                    "data": one.data,
                    "doublings": round(doublings),
                    "inside %": 100.0 * (low <= score <= high),
                    "above %": 100.0 * (score > high),
                    "below middle %": 100.0 * (score < forecast.likely),
                }


def reliability(said: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    """Return what was said and how often it held, in percent, by bands of what was said."""
    band = pd.cut(said["said"], BANDS, include_lowest=True).rename("band")
    weights = 1 / said.groupby(["source", "data", "strategy"])["said"].transform("size")
    kept = said.assign(weight=weights, said=100 * said["said"] * weights, held=100 * said["held"] * weights)
    told = kept.groupby([band] if by is None else [by, band], observed=True)
    sums = told[["said", "held", "weight"]].sum()
    found = sums[["said", "held"]].div(sums["weight"], axis=0)
    return found.assign(share=100 * sums["weight"] / sums["weight"].sum(), claims=told.size()).round(1)


def weighted(found: pd.DataFrame, by: list[str], figures: list[str]) -> pd.DataFrame:
    """Return means in which each run counts the same."""
    means = found.groupby(list(dict.fromkeys([*by, "source", "data"])))[figures].mean()
    return means.groupby(by).mean().round(2)


def shared(value: float) -> None:
    """Try another correlation of learners."""
    field.SHARED, field.ALIKE, field.OWN = value, math.sqrt(value), math.sqrt(1 - value)  # type: ignore[misc]


def main() -> None:
    """Replay, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB 1.0 (see benchmarks/lcdb)"
    )
    parser.add_argument("--lcdb11", type=Path, help="Parquet file with curves of LCDB 1.1")
    parser.add_argument("--seeds", type=int, default=1, help="pairs of seeds of each data set of LCDB 1.0")
    parser.add_argument("--shared", type=float, default=field.SHARED, help="correlation of learners")
    arguments = parser.parse_args()
    tables = [*lcdb(arguments.cache, arguments.lcdb11, arguments.seeds), *measured()]
    with Pool(os.cpu_count(), shared, (arguments.shared,)) as pool:
        found = [*pool.imap_unordered(replayed, tables)]
    claims, margins, chances, later = (pd.DataFrame(chain.from_iterable(each)) for each in zip(*found, strict=True))
    for each in (claims, margins, chances):
        each["kind"] = np.where(each["strategy"].str.startswith("frugal"), "frugal", each["strategy"])
    print(f"{len(tables)} tables; correlation {arguments.shared}")
    print("\nNo other learner is better by more than 0 to 0.03 (in percent):")
    for title, some in [("all", claims), *claims.groupby("kind")]:
        off = ((some["said"] - some["held"]) ** 2).mean()
        print(f"\n{title} (Brier score {off:.4f})\n{reliability(some).to_string()}")
    print(f"\n{reliability(claims[claims['kind'] == 'frugal'], 'lead').to_string()}")
    print(f"\nMargins, to cover {100 * CONFIDENCE:.0f} %: at all moments, and at the end")
    figures = ["covered", "margin", "margin is 0"]
    margins[figures] = 100.0 * margins[figures].astype(float)
    print(weighted(margins, ["strategy"], figures).to_string())
    print(weighted(margins[margins["end"]], ["strategy"], figures).to_string())
    print(weighted(margins[margins["end"]], ["strategy", "source"], figures).to_string())
    print("\nA rival is better on all rows (in percent), by whether the leader had all rows:")
    print(reliability(chances, "all rows").to_string())
    print("\nMore rows, to contain 90 %")
    means = later.groupby(["source", "doublings", "data"]).mean()
    print(means.groupby(["source", "doublings"]).mean().round(1).to_string())


if __name__ == "__main__":
    main()
