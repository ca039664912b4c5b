"""Which tables the paper's evaluation needs, which of them are missing, and how long these will take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from command import TABLE_1
from curves import Wanted
from datasets import DATA_SETS
from extending import extended

from pydaub import Allocation, Failure, Measurement
from pydaub.units import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from replays import Curves

OVERHEAD: Final = 0.15  # seconds for each training, in addition to the training itself
SEEDS: Final = 5
SMALL: Final = 4_000  # rows of HIGGS and PARITY
SMALLER: Final = 2_500  # rows of the others, and with WEKA, which is slower


def small(data: list[str], *, weka: bool) -> Iterator[Wanted]:
    """Yield the tables of the small version: Table 1, then Table 2, then several seeds of one data set."""
    yield from (Wanted(name, "sklearn", 0, SMALL, "20s") for name in TABLE_1 if name in data)
    if weka:
        yield from (Wanted(name, "weka", 0, SMALLER, "10s") for name in TABLE_1 if name in data)
    yield from (Wanted(name, "sklearn", 0, SMALLER, "20s") for name in data if name not in TABLE_1)
    several = next((name for name in ("susy", *data) if name in data), None)
    if several:
        yield from (Wanted(several, "sklearn", seed, SMALLER, "20s") for seed in range(1, SEEDS))


def large(data: list[str], *, weka: bool) -> Iterator[Wanted]:
    """Yield all tables: WEKA's on the paper's data sets, half an hour a training; scikit-learn's with five seeds."""
    if weka:
        yield from (Wanted(name, "weka", 0, None, "30m") for name in data if DATA_SETS[name].in_paper)
    for name in data:
        yield from (Wanted(name, "sklearn", seed, None, "60s") for seed in range(SEEDS))


def still_missing(plan: Iterable[Wanted], known: Iterable[Curves]) -> list[Wanted]:
    """Return the tables that are not complete yet, those last that are complete with a shorter time limit.

    Complete tables are kept whatever machine and versions they were measured with; the page names these.
    """
    limits: dict[Wanted, float] = {}
    for one in known:
        about = one.about
        for wanted in plan:
            same = (about["data"], about["portfolio"], about["seed"]) == (wanted.data, wanted.learners, wanted.seed)
            if same and about["sizes"][-1] >= wanted.sizes(about["train_rows"])[-1]:
                limits[wanted] = max(about["timeout"], limits.get(wanted, 0.0))
    rest = [wanted for wanted in plan if limits.get(wanted, 0.0) < (seconds(wanted.timeout, "--timeout") or math.inf)]
    return sorted(rest, key=lambda wanted: wanted in limits)


def estimate(plan: Iterable[Wanted], known: list[Curves], jobs: int) -> tuple[float, list[str]]:
    """Estimate the seconds of a plan from measured tables; return them and the parts that cannot be estimated."""
    total, unknown = 0.0, []
    for wanted in plan:
        like = [one for one in known if (one.about["data"], one.about["portfolio"]) == (wanted.data, wanted.learners)]
        longest = max(like, key=lambda one: one.full_size, default=None)
        if longest is None:
            unknown.append(f"{wanted.data} ({wanted.learners})")
            continue
        rows = longest.about["train_rows"]
        sizes = [size for size in wanted.sizes(rows) if size <= (wanted.full_size or size)]
        limit = seconds(wanted.timeout, "--timeout") or 0.0
        total += sum(_seconds(longest, name, sizes, limit) for name in longest.table.learners)
    return total / jobs, list(dict.fromkeys(unknown))


def _seconds(one: Curves, name: str, sizes: Iterable[int], limit: float) -> float:
    """Estimate the seconds of a learner on these sizes from a table, up to its first failure."""
    times: list[tuple[int, float]] = []
    total = 0.0
    for size in sizes:
        known = one.table.outcomes.get(Allocation(name, size))
        if isinstance(known, Failure) and known.kind != "timeout":
            return total + known.seconds
        if isinstance(known, Measurement):
            times.append((size, known.seconds))
        took = extended(times, size) if times and not isinstance(known, Failure) else limit
        total += min(took, limit) + OVERHEAD
        if took >= limit:
            break
    return total
