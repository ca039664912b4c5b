"""The recorded curves of LCDB 1.0 (Mohr, Viering, Loog and van Rijn, 2022) as tasks of selection.

LCDB holds the scores and training times of scikit-learn's default classifiers on 246 data sets of OpenML, for sizes
16 sqrt(2)^k and a last one, each with several splits. It is on PyPI under the MIT license; of its source archive one
CSV file is read and nothing is installed.

A task is one data set with one pair of seeds (outer: the test rows, inner: the validation rows). The full size N of a
data set is the largest size at which some pair has at least 12 learners; data sets with less than 4,000 rows then are
left out. A pair's task has its sizes from 64 to N, and the learners that were recorded at each of them. A pair counts
if it reaches N and keeps at least 12 learners; of those, each data set gives the first five, by the most learners and
then by inner and outer seed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
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
LEAST_SECONDS: Final = 1e-4  # shorter times are what the clock happened to say
SEEDS: Final = 5
IDS: Final = {"odd": (1,), "even": (0,), "all": (0, 1)}  # what the ids leave when they are halved


@dataclass(frozen=True)
class Task:
    """One data set and one pair of seeds: recorded outcomes, and the test scores at the full size."""

    data: int
    seeds: tuple[int, int]  # outer, inner
    table: Table
    test: Mapping[str, float]  # no strategy sees them
    valid_rows: int

    @property
    def learners(self) -> tuple[str, ...]:
        """The learners by name."""
        return self.table.learners

    @property
    def sizes(self) -> tuple[int, ...]:
        """The recorded sizes, which are the same for each learner."""
        return self.table.sizes

    @property
    def full_size(self) -> int:
        """All rows: the paper's N."""
        return self.sizes[-1]

    @cached_property
    def at_full(self) -> dict[str, Measurement]:
        """What each learner gave with all rows."""
        return {name: self.recorded(name, self.full_size) for name in self.learners}

    def recorded(self, learner: str, size: int) -> Measurement:
        """Return what was recorded, which is never a failure."""
        outcome = self.table[Allocation(learner, size)]
        assert isinstance(outcome, Measurement)  # noqa: S101  # `_task` records nothing else
        return outcome


def tasks(cache: Path, ids: str = "odd", seeds: int = SEEDS) -> Iterator[Task]:
    """Yield the tasks of the data sets with such ids, in the order of the ids; other data sets are not looked at."""
    frame = _compact(cache)
    frame = frame[(frame["openmlid"] % 2).isin(IDS[ids])]
    for data, rows in frame.groupby("openmlid"):
        yield from _tasks_of(int(data), rows, seeds)


def _tasks_of(data: int, rows: pd.DataFrame, seeds: int) -> Iterator[Task]:
    counts = rows.groupby([*PAIR, "size_train"])["learner"].nunique().reset_index()
    full_size = counts.loc[counts["learner"] >= LEAST_LEARNERS, "size_train"].max()
    if not full_size >= LEAST_FULL_SIZE:  # also where no size has so many
        return
    rows = rows[rows["size_train"].between(LEAST_SIZE, full_size)]
    pairs = rows.groupby(PAIR)["size_train"]
    rows = rows[pairs.transform("max") == full_size].drop_duplicates([*PAIR, "learner", "size_train"])
    # Whole curves only: a learner has as many sizes as its pair has.
    recorded = rows.groupby([*PAIR, "learner"])["size_train"].transform("size")
    rows = rows[recorded == rows.groupby(PAIR)["size_train"].transform("nunique")]
    learners = rows.groupby(PAIR)["learner"].nunique()
    found = [(-count, inner, outer) for (outer, inner), count in learners.items() if count >= LEAST_LEARNERS]
    for _, inner, outer in sorted(found)[:seeds]:
        pair = rows[(rows["outer_seed"] == outer) & (rows["inner_seed"] == inner)]
        yield _task(data, (int(outer), int(inner)), pair)


def _task(data: int, seeds: tuple[int, int], rows: pd.DataFrame) -> Task:
    """Return the task of one pair of seeds, of which the rows that count are given."""
    outcomes, test = {}, {}
    for row in rows.sort_values(["learner", "size_train"]).itertuples():
        seconds = max(float(row.traintime), LEAST_SECONDS)
        allocation = Allocation(row.learner, int(row.size_train))
        outcomes[allocation] = Measurement(float(row.score_train), float(row.score_valid), seconds)
        test[row.learner] = float(row.score_test)  # in the end, that of the largest size
    return Task(data, seeds, Table(outcomes, f"data set {data}"), test, int(rows["size_test"].iloc[0]))


def _compact(cache: Path) -> pd.DataFrame:
    """Return the rows of LCDB, from a compact copy, which is made where it is missing."""
    path = cache / "accuracy.parquet"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        frame = read(_archive(cache))
        partial = path.with_suffix(".partial")
        frame.to_parquet(partial, index=False)
        partial.replace(path)  # whole, or not there
    return pd.read_parquet(path)


def read(archive: Path) -> pd.DataFrame:
    """Read the CSV file in LCDB's source archive: the sizes that count, learners by the last part of their name."""
    with tarfile.open(archive) as tar:
        member = next((each for each in tar if each.name.endswith(f"/lcdb/{CSV}")), None)
        file = tar.extractfile(member) if member else None
        if file is None:
            raise SystemExit(f"{archive} must hold lcdb/{CSV}. Remove it to have it downloaded again.")
        frame = pd.read_csv(file, usecols=list(COLUMNS))
    frame = frame[frame["size_train"] >= LEAST_SIZE]
    return frame.assign(learner=frame["learner"].str.rpartition(".")[2])


def _archive(cache: Path) -> Path:
    """Return LCDB's source archive; pip downloads it where it is missing."""
    if not (found := sorted(cache.glob("lcdb-*.tar.gz"))):
        pip: Any = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip")]
        if pip == [None]:
            raise SystemExit(f"LCDB needs pip to be downloaded, or its source archive in {cache}.")
        wanted = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(cache), "lcdb"]
        subprocess.run([*pip, *wanted], check=True)  # noqa: S603  # nothing of it comes from outside
        found = sorted(cache.glob("lcdb-*.tar.gz"))
    return found[-1]
