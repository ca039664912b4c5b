"""Replays of strategies on measured curves: what each would have selected, at which cost and with which loss."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub import STRATEGIES, Allocation, Daub, Frugal, Measurement, Result, Schedule, SlopeBound, Strategy, run
from pydaub.algorithm.curve import Curve
from pydaub.engines.recorded import Table
from pydaub.engines.table import TableEngine
from pydaub.errors import InputError
from pydaub.learners.costs import GROWTHS, kind_of_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MEASURED: Final = Path(__file__).parent / "measured"  # the tables behind docs/results.md
BEGUN: Final = "begun"  # a folder in it, for tables that are not complete yet
BOOTSTRAP: Final = 3  # sizes that DAUB gives to every learner
ORDERS: Final = 100  # of the learners, to see what ties do
PORTFOLIOS: Final = {"weka": "the paper's 41 of WEKA", "sklearn": "scikit-learn"}


@dataclass(frozen=True)
class Curves:
    """A measured table with its metadata, up to the largest size at which every learner was tried.

    Parameters
    ----------
    about
        The metadata from the .json file: data, settings, machine, versions.
    table
        The outcomes.
    most
        Largest size to use; None for all.
    """

    about: dict[str, Any]
    table: Table
    most: int | None = None

    @classmethod
    def read(cls, path: Path) -> Curves:
        """Read a table and the .json file beside it."""
        try:
            about = json.loads(path.with_suffix(".json").read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path.with_suffix('.json')} must be a file that curves.py wrote, got {error}.") from None
        return cls(about, Table.read(path))

    def up_to(self, size: int) -> Curves:
        """Return the curves up to this size."""
        return replace(self, most=size)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes at which every learner was tried."""
        whole = [
            size
            for size in self.table.sizes
            if size <= (self.most or size)
            and len(self.table.learners)
            >= self.about.get("learners", 0)  # otherwise some learner has no outcome at all yet
            and all(Allocation(learner, size) in self.table.outcomes for learner in self.table.learners)
        ]
        if len(whole) < BOOTSTRAP:
            raise InputError(
                f"{self.table.name} must have at least {BOOTSTRAP} complete sizes, got {len(whole)}."
                " Run the script that measures it again to continue."
            )
        return tuple(whole)

    @property
    def full_size(self) -> int:
        """N."""
        return self.sizes[-1]

    @cached_property
    def scores(self) -> dict[str, float]:
        """Score at N of each learner that has one, best first."""
        found = {
            name: outcome.valid_score
            for name in self.table.learners
            if isinstance(outcome := self.table[Allocation(name, self.full_size)], Measurement)
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @cached_property
    def full_seconds(self) -> float:
        """Seconds of training every learner on N rows; those stopped at a limit count with their time."""
        return sum(self.table[Allocation(name, self.full_size)].seconds for name in self.table.learners)

    @property
    def failed(self) -> list[str]:
        """Learners without a score at N."""
        return [name for name in self.table.learners if name not in self.scores]

    def curve(self, learner: str) -> Curve:
        """Return the measured curve of a learner."""
        points = [(size, self.table[Allocation(learner, size)]) for size in self.sizes]
        measured = [(size, outcome) for size, outcome in points if isinstance(outcome, Measurement)]
        return Curve(learner, tuple(size for size, _ in measured), tuple(outcome for _, outcome in measured))

    def replayed(self, method: str) -> Replay:
        """Replay a strategy on these curves, once."""
        if method not in self._replays:
            strategy = METHODS[method](self.table.learners, Schedule(self.sizes))
            self._replays[method] = Replay(self, method, run(strategy, TableEngine(self.table)))
        return self._replays[method]

    @cached_property
    def _replays(self) -> dict[str, Replay]:
        return {}

    @cached_property
    def reordered(self) -> list[Replay]:
        """Replays of DAUB with the learners in random orders, by which ties are broken."""
        order, found = random.Random(0), []  # noqa: S311  # no secret
        for _ in range(ORDERS):
            learners = order.sample(self.table.learners, len(self.table.learners))
            found.append(Replay(self, "daub", run(Daub(learners, Schedule(self.sizes)), TableEngine(self.table))))
        return found


def _frugal(learners: Iterable[str], schedule: Schedule) -> Strategy:
    """Return the default strategy, which knows the kinds of the learners, as in a run."""
    names = [*learners]
    kinds = {name: kind_of_name(name) for name in names}
    return Frugal(names, schedule, growths={name: GROWTHS[kind] for name, kind in kinds.items() if kind in GROWTHS})


METHODS: Final[dict[str, Callable[[Iterable[str], Schedule], Strategy]]] = {
    **STRATEGIES,
    "frugal": _frugal,
    "daub without f^T": lambda learners, schedule: Daub(learners, schedule, SlopeBound(train_cap=False)),
}


@dataclass(frozen=True)
class Replay:
    """Result of a strategy on measured curves."""

    curves: Curves
    method: str
    result: Result

    @property
    def after_bootstrap(self) -> list[Allocation]:
        """The allocations without those of DAUB's bootstrap: what the paper counts (`counts.py`)."""
        daub = self.method.startswith("daub")
        least = self.curves.sizes[BOOTSTRAP - 1] if daub else 0
        return [step.allocation for step in self.result.steps if step.allocation.size > least]

    @property
    def iterations(self) -> int:
        """Number of allocations, without those of DAUB's bootstrap."""
        return len(self.after_bootstrap)

    @property
    def rows_of(self) -> dict[str, int]:
        """Rows allocated to each learner, without those of DAUB's bootstrap."""
        given = dict.fromkeys(self.curves.table.learners, 0)
        for allocation in self.after_bootstrap:
            given[allocation.learner] += allocation.size
        return given

    @property
    def rows_after_bootstrap(self) -> int:
        """Rows allocated, without those of DAUB's bootstrap."""
        return sum(self.rows_of.values())

    @property
    def loss(self) -> float:
        """Best score at N minus that of the selected learner."""
        if self.result.selected is None:
            raise InputError(f"{self.curves.table.name} must have a learner that did not fail, got none.")
        return max(self.curves.scores.values()) - (self.result.valid_score or 0.0)

    @property
    def speed_up(self) -> float:
        """Time of full training divided by the time of this strategy."""
        return self.curves.full_seconds / self.result.seconds


def all_curves(folder: Path, *, partial: bool = False) -> list[Curves]:
    """Read every table in a folder; with `partial`, also those that are begun, up to the size that is complete."""
    if found := curves_in(folder, folder / BEGUN) if partial else curves_in(folder):
        return found
    raise InputError(f"{folder} must hold measured tables, got none. Run experiments/curves.py first.")


def curves_in(*folders: Path) -> list[Curves]:
    """Read the tables of folders, which need not exist, with data sets in the paper's order."""
    from datasets import DATA_SETS  # noqa: PLC0415  # imports pandas and pyarrow, which reading tables does not need

    order, found = list(DATA_SETS), []
    for path in sorted(path for folder in folders for path in folder.glob("*.csv")):
        one = Curves.read(path)
        try:
            one.sizes  # noqa: B018  # raises if the table has too few sizes
        except InputError as error:
            print(f"Skipped: {error}", file=sys.stderr)
            continue
        found.append(one)
    return sorted(
        found, key=lambda one: (one.about["portfolio"] != "weka", order.index(one.about["data"]), one.about["seed"])
    )


def grouped(tables: Iterable[Curves]) -> dict[tuple[str, str], list[Curves]]:
    """Group tables by data and learners, with one table for each seed: the one with the largest N."""
    groups: dict[tuple[str, str], dict[int, Curves]] = {}
    for one in tables:
        seeds = groups.setdefault((one.about["data"], one.about["portfolio"]), {})
        seed = one.about["seed"]
        if seed not in seeds or seeds[seed].full_size < one.full_size:
            seeds[seed] = one
    return {key: list(seeds.values()) for key, seeds in groups.items()}


def common(seeds: Sequence[Curves], enough: int) -> list[Curves]:
    """Cut tables to the largest size that at least `enough` of them reach; return none if there are fewer."""
    longest = sorted(seeds, key=lambda one: -one.full_size)
    if len(longest) < enough:
        return []
    size = longest[enough - 1].full_size
    return [one.up_to(size) for one in seeds if one.full_size >= size]


def largest(tables: Iterable[Curves]) -> list[Curves]:
    """Return the first table with the largest N for each data set and portfolio."""
    return [max(seeds, key=lambda one: one.full_size) for seeds in grouped(tables).values()]


def named(tables: Iterable[Curves], which: Callable[[Curves], bool]) -> list[str]:
    """Return the tables for which this holds, by data set and portfolio; with their seeds, if not for all of these."""
    found = []
    for (_, portfolio), seeds in grouped(tables).items():
        chosen = [str(one.about["seed"]) for one in seeds if which(one)]
        some = f", {'seed' if len(chosen) == 1 else 'seeds'} {', '.join(chosen)}" if len(chosen) < len(seeds) else ""
        found += [f"{seeds[0].about['title']} ({portfolio}{some})"] if chosen else []
    return found


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """Return a Markdown table with the first `left` columns left-aligned and the others right-aligned."""
    marks = ["---"] * left + ["--:"] * (len(header) - left)
    lines = [header, *rows]
    texts = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "|".join(marks) + "|", *texts[1:]])


def thousands(rows: float) -> str:
    """Format a number of rows as in the paper, which rounds 1,578,500 down: 1,578k."""
    return f"{rows // 1000:,.0f}k"


def percent(share: float, digits: int = 1) -> str:
    """Format a share in percent; adding 0.0 avoids a negative zero."""
    return f"{100 * share + 0.0:.{digits}f} %"
