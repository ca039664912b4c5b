"""What the number of rows and the time limit do to DAUB's speed-up, on the tables of the paper's 41 learners.

    python experiments/effects.py [--measured FOLDER]

Fewer rows and shorter limits are read off the measured tables. More rows and no limit are projected: the time of each
learner grows with the power of the rows that fits its measured times, where a training that was stopped counts with the
limit, and its scores stay as they are at its last size.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from command import shown
from replays import Curves, largest, markdown, percent
from table2 import PAPER

from pydaub import PAPER_SIZES, Allocation, Failure, Measurement, Outcome
from pydaub.algorithm.curve import extended
from pydaub.engines.recorded import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SIZES: Final = (2_500, 5_000, 11_500)
LIMITS: Final = (10.0, 30.0)  # seconds
PAPER_ROWS: Final = {"parity": 21_500}  # the paper's N; 38,500 for the others


def effects(tables: Iterable[Curves]) -> str:
    """Return the speed-up and loss of DAUB for fewer rows, shorter limits, no limit, and the paper's N."""
    ours = [one for one in largest(tables) if one.about["portfolio"] == "weka"]
    rows = [_line(*case) for one in ours for case in _cases(one)]
    header = ("Data set", "", "N", "Limit (s)", "Full time (s)", "DAUB (s)", "Speed-up", "Loss")
    real = [one for one in ours if one.about["data"] in PAPER]
    if not real:
        return markdown(header, rows, left=2)
    there = fmean(projected(one, PAPER_SIZES[-1]).replayed("daub").speed_up for one in real)
    theirs = fmean(PAPER[one.about["data"]][-2] for one in real)
    return (
        f"{markdown(header, rows, left=2)}\n\nProjected to {PAPER_SIZES[-1]:,} rows without a limit, DAUB is"
        f" {there:.0f} times as fast in the mean of these {len(real)} real data sets; the paper's mean of the same ones"
        f" is {theirs:.0f}."
    )


def _cases(one: Curves) -> Iterator[tuple[Curves, str, str]]:
    limit = one.about["timeout"]
    for size in SIZES:
        if size < one.full_size:
            yield one.up_to(size), "measured", f"{limit:,.0f}"
    for shorter in LIMITS:
        yield limited(one, shorter), "measured", f"{shorter:,.0f}"
    yield one, "measured", f"{limit:,.0f}"
    yield projected(one, one.full_size), "projected", "none"
    paper = PAPER_ROWS.get(one.about["data"], PAPER_SIZES[-1])
    if one.full_size < paper:
        yield projected(one, paper), "projected", "none"


def _line(one: Curves, how: str, limit: str) -> list[str]:
    daub = one.replayed("daub")
    times = (f"{one.full_seconds:,.0f}", f"{daub.result.seconds:,.0f}", f"{daub.speed_up:.1f}x")
    return [one.about["title"], how, f"{one.full_size:,}", limit, *times, percent(daub.loss)]


def limited(one: Curves, limit: float) -> Curves:
    """Return the curves as they would be with a shorter time limit."""
    outcomes: dict[Allocation, Outcome] = {}
    for learner in one.table.learners:
        stopped: Failure | None = None
        for size in one.sizes:
            outcome = one.table[Allocation(learner, size)]
            if stopped is None and outcome.seconds > limit:
                stopped = Failure("timeout", "longer than the limit", limit)
            outcomes[Allocation(learner, size)] = stopped or outcome
    return replace(one, table=Table(outcomes, one.table.name))


def projected(one: Curves, full_size: int) -> Curves:
    """Return the curves as they would probably be without a time limit, and up to more rows."""
    sizes = [*one.sizes, *(size for size in PAPER_SIZES if one.full_size < size <= full_size)]
    outcomes: dict[Allocation, Outcome] = {}
    for learner in one.table.learners:
        curve = one.curve(learner)
        times = [(size, each.seconds) for size, each in zip(curve.sizes, curve.measurements, strict=True)]
        failed = one.table[Allocation(learner, one.full_size)]
        if isinstance(failed, Failure):
            stopped = next(size for size in one.sizes if size not in curve.sizes)
            times = [*times, (stopped, failed.seconds)] if failed.kind == "timeout" and times else []
        for size in sizes:
            measured = one.table.outcomes.get(Allocation(learner, size)) if size <= one.full_size else None
            if times and not isinstance(measured, Measurement):
                measured = replace(curve.measurements[-1], seconds=extended(times, size))
            outcomes[Allocation(learner, size)] = measured or failed
    return replace(one, table=Table(outcomes, one.table.name), most=full_size)


if __name__ == "__main__":
    shown(effects, __doc__)
