"""What the measured curves say of a strategy: what it would have selected, what that costs, and what is lost."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub import STRATEGIES, Allocation, Daub, Measurement, Result, Schedule, SlopeBound, Strategy, run
from pydaub.algorithm.curve import Curve
from pydaub.engines.table import Table, TableEngine
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MEASURED: Final = Path(__file__).parent / "measured"  # the tables behind docs/results.md
BOOTSTRAP: Final = 3  # sizes that DAUB gives to every learner
PORTFOLIOS: Final = {"weka": "the paper's 41 of WEKA", "sklearn": "scikit-learn"}


@dataclass(frozen=True)
class Curves:
    """A measured table with its circumstances, up to the largest size at which no learner is missing."""

    about: dict[str, Any]
    table: Table
    most: int | None = None

    @classmethod
    def read(cls, path: Path) -> Curves:
        """Return a table and what is told beside it."""
        try:
            about = json.loads(path.with_suffix(".json").read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path.with_suffix('.json')} must be as curves.py wrote it, got {error}.") from None
        return cls(about, Table.read(path))

    def up_to(self, size: int) -> Curves:
        """Return the curves as they would be if there were no more rows than these."""
        return replace(self, most=size)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes at which every learner was tried."""
        whole = [
            size
            for size in self.table.sizes
            if size <= (self.most or size)
            and len(self.table.learners) >= self.about.get("learners", 0)  # else one has not had its turn yet
            and all(Allocation(learner, size) in self.table.outcomes for learner in self.table.learners)
        ]
        if len(whole) < BOOTSTRAP:
            raise InputError(f"{self.table.name} must have at least {BOOTSTRAP} whole sizes, got {len(whole)}. Go on.")
        return tuple(whole)

    @property
    def full_size(self) -> int:
        """N."""
        return self.sizes[-1]

    @cached_property
    def scores(self) -> dict[str, float]:
        """The score at N of each learner that has one, the best first."""
        found = {
            name: outcome.valid_score
            for name in self.table.learners
            if isinstance(outcome := self.table[Allocation(name, self.full_size)], Measurement)
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @cached_property
    def full_seconds(self) -> float:
        """What training every learner on N rows took, those that were ended at a limit counted with their time."""
        return sum(self.table[Allocation(name, self.full_size)].seconds for name in self.table.learners)

    @property
    def failed(self) -> list[str]:
        """Learners without a score at N."""
        return [name for name in self.table.learners if name not in self.scores]

    def curve(self, learner: str) -> Curve:
        """Return the measured points of a learner."""
        points = [(size, self.table[Allocation(learner, size)]) for size in self.sizes]
        measured = [(size, outcome) for size, outcome in points if isinstance(outcome, Measurement)]
        return Curve(learner, tuple(size for size, _ in measured), tuple(outcome for _, outcome in measured))

    def replayed(self, method: str) -> Replay:
        """Return what a strategy would have done."""
        strategy = METHODS[method](self.table.learners, Schedule(self.sizes))
        return Replay(self, method, run(strategy, TableEngine(self.table)))


METHODS: Final[dict[str, Callable[[Iterable[str], Schedule], Strategy]]] = {
    **STRATEGIES,
    "daub without f^T": lambda learners, schedule: Daub(learners, schedule, SlopeBound(train_cap=False)),
}


@dataclass(frozen=True)
class Replay:
    """A strategy on measured curves."""

    curves: Curves
    method: str
    result: Result

    @property
    def iterations(self) -> int:
        """How many allocations it made, those of DAUB's bootstrap not counted: so the paper's figures must be read.

        Its 19 on PARITY come with 156k rows, of which three sizes for 41 learners are more than half.
        """
        daub = self.method.startswith("daub")
        least = self.curves.sizes[BOOTSTRAP - 1] if daub else 0
        return sum(step.allocation.size > least for step in self.result.steps)

    @property
    def loss(self) -> float:
        """The best score at N, less the selected learner's."""
        if self.result.selected is None:
            raise InputError(f"{self.curves.table.name} must have a learner that did not fail, got none.")
        return max(self.curves.scores.values()) - (self.result.valid_score or 0.0)

    @property
    def speed_up(self) -> float:
        """Full training's time over this one's."""
        return self.curves.full_seconds / self.result.seconds

    @property
    def rows_of(self) -> dict[str, int]:
        """All rows that each learner was given."""
        given = dict.fromkeys(self.curves.table.learners, 0)
        for step in self.result.steps:
            given[step.allocation.learner] += step.allocation.size
        return given


def all_curves(folder: Path) -> list[Curves]:
    """Return every table in a folder, data sets in the paper's order."""
    from datasets import DATA_SETS  # noqa: PLC0415  # pandas and pyarrow, which reading tables does not need

    order, found = list(DATA_SETS), []
    for path in sorted(folder.glob("*.csv")):
        one = Curves.read(path)
        try:
            one.sizes  # noqa: B018  # refuses a table that has hardly been begun
        except InputError as error:
            print(f"Set aside: {error}", file=sys.stderr)
            continue
        found.append(one)
    if not found:
        raise InputError(f"{folder} must hold measured tables, got none. Run experiments/curves.py first.")
    return sorted(
        found, key=lambda one: (one.about["portfolio"] != "weka", order.index(one.about["data"]), one.about["seed"])
    )


def grouped(tables: Iterable[Curves]) -> dict[tuple[str, str], list[Curves]]:
    """Return the tables of the same data and learners together, for each seed the one with the largest N."""
    groups: dict[tuple[str, str], dict[int, Curves]] = {}
    for one in tables:
        seeds = groups.setdefault((one.about["data"], one.about["portfolio"]), {})
        seed = one.about["seed"]
        if seed not in seeds or seeds[seed].full_size < one.full_size:
            seeds[seed] = one
    return {key: list(seeds.values()) for key, seeds in groups.items()}


def common(seeds: Sequence[Curves], enough: int) -> list[Curves]:
    """Return as many tables up to the largest size that they all reach, or none if there are not as many."""
    longest = sorted(seeds, key=lambda one: -one.full_size)
    if len(longest) < enough:
        return []
    size = longest[enough - 1].full_size
    return [one.up_to(size) for one in seeds if one.full_size >= size]


def largest(tables: Iterable[Curves]) -> list[Curves]:
    """Return for each data set and portfolio the first table with the largest N."""
    return [max(seeds, key=lambda one: one.full_size) for seeds in grouped(tables).values()]


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """Return a table of a Markdown page, its first columns to the left."""
    marks = ["---"] * left + ["--:"] * (len(header) - left)
    lines = [header, *rows]
    texts = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "|".join(marks) + "|", *texts[1:]])


def thousands(rows: float) -> str:
    """Return a number of rows as the paper writes it: 1,578k."""
    return f"{rows / 1000:,.0f}k"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, without a minus before nothing."""
    return f"{100 * share + 0.0:.{digits}f} %"
