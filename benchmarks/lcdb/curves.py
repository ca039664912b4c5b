"""Selection tasks from the recorded learning curves of LCDB 1.0 (Mohr, Viering, Loog and van Rijn, 2022) and 1.1.

LCDB holds scores and training times of scikit-learn's classifiers with default settings on 246 data sets from OpenML,
for the sizes 16 sqrt(2)^k and a last one, each with several splits. It is on PyPI under the MIT license. One CSV file
of its source archive is read; nothing is installed.

A task is one data set with one pair of seeds (outer: the test rows, inner: the validation rows). The full size N of a
data set is the largest size at which some pair has at least 12 learners; data sets with N below 4,000 are left out. The
task of a pair has its sizes from 64 to N, and the learners that were recorded at each of them. A pair counts if it
reaches N and keeps at least 12 learners. Each data set contributes the first five pairs, ordered by the number of
learners (most first), then by inner and outer seed.

LCDB 1.1 (Yan, Mohr and Viering, 2025) is a new experiment on mostly the same data sets. Its curves are read from a
Parquet file with the columns `openmlid`, `learner`, `size`, `err_train`, `err_valid`, `err_test` (means over 25 splits)
and `seconds` (of the same learner on the same data set in LCDB 1.0), if one is given. Each data set is one task, with
the learners that are recorded at every size; it counts from eight learners on. One validation row for eight training
rows is assumed, the shares of LCDB.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from pydaub import Allocation, Measurement, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CSV: Final = "database-accuracy.csv"
COLUMNS: Final = (
    "openmlid",
    "learner",
    "size_train",
    "size_test",
    "outer_seed",
    "inner_seed",
    "traintime",
    "score_train",
    "score_valid",
    "score_test",
)
PAIR: Final = ["outer_seed", "inner_seed"]
LEAST_SIZE: Final = 64
LEAST_FULL_SIZE: Final = 4000
LEAST_LEARNERS: Final = 12
LEAST_SECONDS: Final = 1e-4  # shorter times are below the resolution of the clock
SEEDS: Final = 5
LEAST_LEARNERS_11: Final = 8
TRAIN_PER_VALID: Final = 8
IDS: Final = {"odd": (1,), "even": (0,), "all": (0, 1)}  # remainders of the ids modulo 2


@dataclass(frozen=True)
class Task:
    """One data set with one pair of seeds: recorded outcomes, and the test scores at the full size."""

    data: int
    seeds: tuple[int, int]  # outer, inner
    table: Table
    test: Mapping[str, float]  # hidden from strategies
    valid_rows: int
    source: str = "1.0"
    halvings: int = 0  # how often the rows were halved before; see `cuts`

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners."""
        return self.table.learners

    @property
    def sizes(self) -> tuple[int, ...]:
        """The recorded sizes, the same for every learner."""
        return self.table.sizes

    @property
    def full_size(self) -> int:
        """Number of all training rows: the paper's N."""
        return self.sizes[-1]

    @cached_property
    def at_full(self) -> dict[str, Measurement]:
        """Measurement of each learner at the full size."""
        return {name: self.recorded(name, self.full_size) for name in self.learners}

    def recorded(self, learner: str, size: int) -> Measurement:
        """Return the recorded measurement; LCDB has no failures."""
        outcome = self.table[Allocation(learner, size)]
        assert isinstance(outcome, Measurement)  # noqa: S101  # `_task` creates only measurements
        return outcome


def cuts(task: Task) -> Iterator[Task]:
    """Yield the task as if its data ended at the recorded sizes nearest to N/2, N/4, ..., down to 4,000 rows.

    LCDB has test scores for every size, but a task keeps only those of its full size. So the test scores of a cut task
    are its validation scores at the cut, and its loss by test says nothing new. The validation rows stay as many.
    """
    last, wanted, halvings = task.full_size, task.full_size / 2, 1
    while wanted >= LEAST_FULL_SIZE:
        size = min(task.sizes, key=lambda each: abs(math.log(each / wanted)))
        if LEAST_FULL_SIZE <= size < last:
            yield _ended(task, size, halvings)
            last = size
        wanted, halvings = wanted / 2, halvings + 1


def _ended(task: Task, size: int, halvings: int) -> Task:
    outcomes = {each: outcome for each, outcome in task.table.outcomes.items() if each.size <= size}
    table = Table(outcomes, f"{task.table.name}, the first {size:,} rows")
    test = {name: task.recorded(name, size).valid_score for name in task.learners}
    return replace(task, table=table, test=test, halvings=halvings)


def tasks(cache: Path, ids: str = "odd", seeds: int = SEEDS) -> Iterator[Task]:
    """Yield the tasks of the data sets with odd, even or all ids, ordered by id; other data sets are not touched."""
    frame = _compact(cache)
    frame = frame[(frame["openmlid"] % 2).isin(IDS[ids])]
    for data, rows in frame.groupby("openmlid"):
        yield from _tasks_of(int(data), rows, seeds)


def tasks_11(path: Path, ids: str = "odd") -> Iterator[Task]:
    """Yield the tasks of LCDB 1.1 with odd, even or all ids that the file holds, ordered by id."""
    frame = pd.read_parquet(path)
    frame = frame[(frame["openmlid"] % 2).isin(IDS[ids]) & (frame["size"] >= LEAST_SIZE)]
    frame = frame.assign(learner=frame["learner"].astype(str))
    for data, rows in frame.groupby("openmlid"):
        sizes = rows["size"].nunique()
        complete = rows[rows.groupby("learner")["size"].transform("size") == sizes]
        full_size = int(rows["size"].max())
        if full_size < LEAST_FULL_SIZE or complete["learner"].nunique() < LEAST_LEARNERS_11:
            continue
        scored = complete.assign(
            size_train=complete["size"],
            size_test=full_size // TRAIN_PER_VALID,
            traintime=complete["seconds"],
            **{f"score_{part}": 1 - complete[f"err_{part}"] for part in ("train", "valid", "test")},
        )
        yield replace(_task(int(data), (0, 0), scored), source="1.1")


def _tasks_of(data: int, rows: pd.DataFrame, seeds: int) -> Iterator[Task]:
    counts = rows.groupby([*PAIR, "size_train"])["learner"].nunique().reset_index()
    full_size = counts.loc[counts["learner"] >= LEAST_LEARNERS, "size_train"].max()
    if not full_size >= LEAST_FULL_SIZE:  # also if no size has enough learners
        return
    rows = rows[rows["size_train"].between(LEAST_SIZE, full_size)]
    pairs = rows.groupby(PAIR)["size_train"]
    rows = rows[pairs.transform("max") == full_size].drop_duplicates([*PAIR, "learner", "size_train"])
    # Keep complete curves only: as many sizes as the pair has.
    recorded = rows.groupby([*PAIR, "learner"])["size_train"].transform("size")
    rows = rows[recorded == rows.groupby(PAIR)["size_train"].transform("nunique")]
    learners = rows.groupby(PAIR)["learner"].nunique()
    found = [(-count, inner, outer) for (outer, inner), count in learners.items() if count >= LEAST_LEARNERS]
    for _, inner, outer in sorted(found)[:seeds]:
        pair = rows[(rows["outer_seed"] == outer) & (rows["inner_seed"] == inner)]
        yield _task(data, (int(outer), int(inner)), pair)


def _task(data: int, seeds: tuple[int, int], rows: pd.DataFrame) -> Task:
    """Return the task of one pair of seeds from its rows."""
    outcomes, test = {}, {}
    for row in rows.sort_values(["learner", "size_train"]).itertuples():
        seconds = max(float(row.traintime), LEAST_SECONDS)
        allocation = Allocation(row.learner, int(row.size_train))
        outcomes[allocation] = Measurement(float(row.score_train), float(row.score_valid), seconds)
        test[row.learner] = float(row.score_test)  # the last one is that of the largest size
    return Task(data, seeds, Table(outcomes, f"data set {data}"), test, int(rows["size_test"].iloc[0]))


def _compact(cache: Path) -> pd.DataFrame:
    """Return the rows of LCDB from a compact copy, which is created if it is missing."""
    path = cache / "accuracy.parquet"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        frame = read(_archive(cache))
        partial = path.with_suffix(".partial")
        frame.to_parquet(partial, index=False)
        partial.replace(path)  # atomic
    return pd.read_parquet(path)


def read(archive: Path) -> pd.DataFrame:
    """Read the CSV file in LCDB's source archive: only sizes from 64 on, and class names without their modules."""
    with tarfile.open(archive) as tar:
        member = next((each for each in tar if each.name.endswith(f"/lcdb/{CSV}")), None)
        file = tar.extractfile(member) if member else None
        if file is None:
            raise SystemExit(f"{archive} must hold lcdb/{CSV}. Delete the archive to download it again.")
        frame = pd.read_csv(file, usecols=list(COLUMNS))
    frame = frame[frame["size_train"] >= LEAST_SIZE]
    return frame.assign(learner=frame["learner"].str.rpartition(".")[2])


def _archive(cache: Path) -> Path:
    """Return the path of LCDB's source archive; pip downloads it if it is missing."""
    if not (found := sorted(cache.glob("lcdb-*.tar.gz"))):
        pip: Any = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip")]
        if pip == [None]:
            raise SystemExit(f"Cannot download LCDB without pip. Install pip, or put the source archive into {cache}.")
        wanted = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(cache), "lcdb"]
        subprocess.run([*pip, *wanted], check=True)  # noqa: S603  # the command has no outside input
        found = sorted(cache.glob("lcdb-*.tar.gz"))
    return found[-1]
