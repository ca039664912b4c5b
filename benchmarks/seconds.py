"""Compare forecast with measured seconds on recorded tables, by family of learner and by doublings of the rows ahead.

    python -m benchmarks.seconds [--cache DIR]
    python -m benchmarks.seconds --fit
    python -m benchmarks.seconds --record FILE.parquet [FILE.parquet ...] [--learners sklearn] [--most 20]

A forecast is made as in a run of `frugal`, once for a learner with a single size, and once with two, the second about
four times as large. Its ratio to what was then measured is counted where
that is at least 0.05 s. The tables show the median ratio, and in brackets those that 10 % and 90 % stay below. Each
learner counts once for each data set and number of doublings. The last line of a table is the share that took at most
as long as `enough` says.

The tables are those of LCDB 1.0 with odd ids (seconds of fitting, medians over splits; those of LCDB 1.1 come from
there), those in `experiments/measured` (whole evaluations, less what the dummy takes), and `benchmarks/seconds.csv`,
which `--record` writes: CPU seconds of fitting and scoring in processes of their own, so that a busy machine does not
count. `--fit` prints how the seconds of each kind of learner grow, for `pydaub.learners.costs`.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.lcdb.curves import LEAST_FULL_SIZE
from benchmarks.lcdb.methods import KINDS
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.seconds import enough
from pydaub.algorithm.strategies.costs import MEASURED, Costs
from pydaub.algorithm.strategies.groups import Groups
from pydaub.data import Split, load
from pydaub.engines.worker import warm_up
from pydaub.evaluation import evaluate as evaluating
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.workbench import Workbench
from pydaub.learners import portfolio
from pydaub.learners.costs import GROWTHS, growth_kind, kind_of_name
from pydaub.records import VALIDATION_FRACTION, Allocation, Measurement, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from multiprocessing.connection import Connection

RECORDED: Final = Path(__file__).with_suffix(".csv")
TABLES: Final = Path(__file__).parents[1] / "experiments" / "measured"
COLUMNS: Final = ("data", "learner", "kind", "size", "fitting", "scoring", "scored")
LEAST: Final = 0.05  # seconds
FIRST: Final = 400  # rows
SHORTEST: Final = 0.003  # seconds of fitting
EXPONENTS: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 1.8, 1.9, 2.0, 2.1)
STARTING: Final = (0, 100, 200, 500, 1000, 2000, 4000, 8000, 16000)  # rows
SMALLEST, STEEPEST = 500, 2.2  # rows, and how many times as long twice as many take
BEFORE: Final = (3.0, 5.2)  # how many times as large the second size is
AHEAD: Final = {"1": (0.9, 1.4), "2": (1.4, 2.4), "3": (2.4, 3.4), "4-5": (3.4, 5.4), "6+": (5.4, 99.0)}
FAMILIES: Final = {
    "boosting": ("LGBM", "XGB", "HistGradientBoosting", "CatBoost", "GradientBoosting", "AdaBoost"),
    "boosting, early stopping": ("EarlyStopped", "AllRounds"),
    "forests": ("RandomForest", "ExtraTrees", "Bagging"),
    "trees, rules": ("DecisionTree", "ExtraTree", "OneR", "GreedyRuleList", "FIGS"),
    "kernel SVM": ("SVC",),
    "neighbours": ("Nearest", "KNeighbors"),
    "networks": ("MLP",),
    "linear": (
        *("LogisticRegression", "Ridge", "SGD", "Perceptron", "PassiveAggressive", "LinearSVC", "Linear"),
        *("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "QuadraticDiscriminant"),
    ),
    "naive Bayes, centroids": (
        *("BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB", "GaussianNB", "NearestCentroid"),
    ),
}


class Found(NamedTuple):
    """A forecast, and what was then measured."""

    source: str
    data: str
    learner: str
    kind: str
    points: int
    size: int
    larger: int
    forecast: float
    measured: float


def lcdb(cache: Path) -> pd.DataFrame:
    """Return the seconds of fitting in LCDB 1.0, on data sets with odd ids."""
    frame = pd.read_parquet(cache / "accuracy.parquet", columns=["openmlid", "learner", "size_train", "traintime"])
    frame = frame[frame["openmlid"] % 2 == 1]
    frame = frame[frame.groupby("openmlid")["size_train"].transform("max") >= LEAST_FULL_SIZE]
    found = frame.groupby(["openmlid", "learner", "size_train"], observed=True)["traintime"].median().reset_index()
    found.columns = pd.Index(["data", "learner", "size", "fitting"])
    return found.assign(data=found["data"].astype(str), kind=found["learner"].map(KINDS), scoring=0.0, scored=1)


def ours() -> pd.DataFrame:
    """Return the seconds of our own tables, less those of the dummy, which no learner can avoid."""
    tables = []
    for path in sorted(TABLES.glob("*-sklearn-*.csv")):
        table = pd.read_csv(path)
        table = table[table["failure"].isna()]
        dummy = table[table["learner"] == "dummy"].set_index("size")["seconds"]
        name = json.loads(path.with_suffix(".json").read_text())["data"]
        tables.append(table.assign(fitting=table["seconds"] - table["size"].map(dummy), data=name))
    found = pd.concat(tables).groupby(["data", "learner", "size"])["fitting"].median().reset_index()
    return found.assign(kind=found["learner"].map(kind_of_name), scoring=0.0, scored=1)


def recorded() -> pd.DataFrame:
    """Return the seconds that were recorded for this benchmark."""
    return pd.read_csv(RECORDED)


def sources(cache: Path) -> dict[str, pd.DataFrame]:
    """Return all tables by name, without what is too short to be measured."""
    found = {"LCDB 1.0, odd ids": lcdb(cache), "experiments/measured": ours(), "benchmarks/seconds.csv": recorded()}
    known = {kind for kinds in FAMILIES.values() for kind in kinds}
    return {
        name: table[(table["size"] >= FIRST) & table["kind"].isin(known) & (table["fitting"] > SHORTEST)]
        for name, table in found.items()
    }


def forecasts(source: str, table: pd.DataFrame) -> Iterator[Found]:
    """Yield what a run forecasts on each data set of a table."""
    for data, rows in table.groupby("data"):
        curves = {str(name): part.sort_values("size") for name, part in rows.groupby("learner")}
        kinds = {name: str(part["kind"].iloc[0]) for name, part in curves.items()}
        sizes = sorted(rows["size"].unique())
        for size in sizes[:-1]:
            before = [each for each in sizes if BEFORE[0] <= size / each <= BEFORE[1]]
            for first in ([], before[:1]) if before else ([],):
                yield from _ahead(source, str(data), curves, kinds, [*map(int, first), int(size)])


def _ahead(
    source: str, data: str, curves: Mapping[str, pd.DataFrame], kinds: Mapping[str, str], sizes: list[int]
) -> Iterator[Found]:
    points = {name: _points(part) for name, part in curves.items()}
    points = {name: each for name, each in points.items() if each.keys() >= set(sizes)}
    made = {name: Curve(name) for name in points}
    growths = {name: GROWTHS[kinds[name]] for name in points if kinds[name] in GROWTHS}
    rows = max((each.scored or 1 for part in points.values() for each in part.values()), default=1)
    full_size = max(map(max, points.values()), default=1)
    costs = Costs(MEASURED, growths, made, Groups(points, {}, {}), Scores(rows=rows), full_size)
    for size, name in product(sizes, points):
        made[name] = made[name].extended(size, points[name][size])
    for name, part in points.items():
        for larger, measured in part.items():
            if larger >= sizes[-1] * 2 ** AHEAD["1"][0] and measured.own_seconds >= LEAST:
                found = costs.of(name, larger)
                yield Found(source, data, name, kinds[name], len(sizes), sizes[-1], larger, found, measured.own_seconds)


def _points(part: pd.DataFrame) -> dict[int, Measurement]:
    columns = (part[name].tolist() for name in ("size", "fitting", "scoring", "scored"))
    return {
        int(size): Measurement(None, 0.5, fitting + scoring, fitting=fitting, scoring=scoring, scored=int(scored))
        for size, fitting, scoring, scored in zip(*columns, strict=True)
    }


def table(found: pd.DataFrame) -> str:
    """Return the ratios of forecast to measured seconds as a Markdown table."""
    family = {kind: name for name, kinds in FAMILIES.items() for kind in kinds}
    found = found.assign(
        family=found["kind"].map(family),
        ratio=found["forecast"] / found["measured"],
        doublings=np.log2(found["larger"] / found["size"]),
        sufficed=[
            each.measured <= enough(each.forecast, each.size, each.larger)
            for each in found.rename(columns={"size": "smaller"}).assign(size=found["size"]).itertuples(index=False)
        ],
    )
    lines = [f"| family | {' | '.join(f'{name} doublings' for name in AHEAD)} |", "|---|" + "--:|" * len(AHEAD)]
    for name in FAMILIES:
        part = found[found["family"] == name]
        if len(part):
            lines.append(f"| {name} | {' | '.join(_cell(each) for each in _by_doublings(part))} |")
    lines.append(f"| all | {' | '.join(_cell(each) for each in _by_doublings(found))} |")
    lines.append(f"| enough | {' | '.join(_share(each) for each in _by_doublings(found))} |")
    return "\n".join(lines)


def _by_doublings(found: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for low, high in AHEAD.values():
        yield found[(found["doublings"] >= low) & (found["doublings"] < high)]


def _weights(found: pd.DataFrame) -> np.ndarray:
    return np.asarray(1 / found.groupby(["source", "data", "learner"])["ratio"].transform("size"))


def _cell(found: pd.DataFrame) -> str:
    if found.empty:
        return ""
    found = found.sort_values("ratio")
    weights = _weights(found)
    levels = (np.cumsum(weights) - weights / 2) / weights.sum()
    low, middle, high = np.interp((0.1, 0.5, 0.9), levels, found["ratio"])
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def _share(found: pd.DataFrame) -> str:
    return "" if found.empty else f"{100 * np.average(found['sufficed'], weights=_weights(found)):.0f} %"


def fitted(tables: Iterable[pd.DataFrame]) -> dict[str, tuple[float, float, float]]:
    """Return exponent and starting rows of each kind of learner, and the mean error of the logarithm of seconds."""
    pairs = pd.concat([_pairs(part) for part in tables])
    found: dict[str, tuple[float, float, float]] = {}
    for kind, part in pairs.groupby("kind"):
        weights = 1 / part.groupby(["source", "data", "learner"])["grew"].transform("size")
        errors = {}
        for exponent, starting in product(EXPONENTS, STARTING):
            expected = exponent * np.log((part["larger"] + starting) / (part["size"] + starting))
            errors[exponent, starting] = float(np.average(np.abs(part["grew"] - expected), weights=weights))
        best = min(errors, key=lambda each: errors[each])
        found[str(kind)] = (*best, errors[best])
    return found


def _pairs(part: pd.DataFrame) -> pd.DataFrame:
    larger = part.rename(columns={"size": "larger", "fitting": "more"})
    joined = part.merge(larger, on=["source", "data", "learner", "kind"])
    joined = joined[(joined["larger"] >= joined["size"] * 2 ** AHEAD["1"][0]) & (joined["more"] >= LEAST)]
    return joined.assign(grew=np.log(joined["more"] / joined["fitting"]))


def record(paths: Iterable[Path], learners: str, most: float) -> None:
    """Measure learners on doubling sizes, each until one more would probably take longer than `most` seconds."""
    warm_up()
    evaluating.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment,attr-defined]  # CPU seconds
    with RECORDED.open("a", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        if not file.tell():
            lines.writerow(COLUMNS)
        for path in paths:
            data = load(str(path), "target", split=Split(fraction=VALIDATION_FRACTION))
            made = portfolio(learners, data.schema)
            task = Task(data, made, scoring=None, score_rows="few", train_scores=False, metrics="none")
            with TemporaryDirectory(prefix="pydaub-") as folder:
                bench = Workbench(Path(folder))
                bench.lay_out(task)
                for name, learner in made.items():
                    took, size = 0.0, SMALLEST
                    while size <= data.full_size and STEEPEST * took <= most:
                        outcome = _evaluated(bench, Allocation(name, size), 5 * most)
                        if outcome is None:
                            break
                        took = outcome.own_seconds
                        parts = (f"{outcome.fitting:.4f}", f"{outcome.scoring:.4f}", outcome.scored or data.valid_size)
                        lines.writerow((path.stem, name, growth_kind(learner.estimator), size, *parts))
                        size *= 2


def _evaluated(bench: Workbench, allocation: Allocation, limit: float) -> Measurement | None:
    """Evaluate in a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_evaluate, args=(bench, allocation, theirs))
    child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(limit) else None
    except EOFError:
        found = None
    child.kill()
    child.join()
    return found if isinstance(found, Measurement) else None


def _evaluate(bench: Workbench, allocation: Allocation, answer: Connection) -> None:
    answer.send(evaluate(bench.task(allocation.learner), allocation, bench).outcome)


def main() -> None:
    """Print the tables, or record one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/lcdb"), help="folder of LCDB")
    parser.add_argument("--fit", action="store_true", help="print how the seconds of each kind of learner grow")
    parser.add_argument("--record", nargs="+", type=Path, help="data files with a column `target` to measure on")
    parser.add_argument("--learners", default="sklearn", help="portfolio or names to measure (default: sklearn)")
    parser.add_argument("--most", type=float, default=20.0, help="seconds of the longest training (default: 20)")
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record, arguments.learners, arguments.most)
        return
    tables = sources(arguments.cache)
    if arguments.fit:
        named = [each.assign(source=name) for name, each in tables.items()]
        for kind, (exponent, starting, error) in fitted(named).items():
            print(f"{kind:<32} Growth({exponent:g}, {starting:g})  error {error:.2f}")
        return
    for name, each in tables.items():
        found = pd.DataFrame(forecasts(name, each))
        for points, words in ((1, "from one size"), (2, "from two sizes")):
            print(f"\n{name}, {words}: {found['data'].nunique()} data sets\n")
            print(table(found[found["points"] == points]))


if __name__ == "__main__":
    main()
