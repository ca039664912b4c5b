"""What the number of rows and the time limit do to DAUB's speed-up, on the tables of the paper's 41 learners.

    python experiments/effects.py [--measured FOLDER]

Fewer rows and shorter limits are read off the measured tables. More rows and no limit are projected: the time of each
learner grows with the power of the rows that fits its measured times, and a training that was stopped takes at least as
long as the limit. Scores stay as they are at a learner's last size, so a projected loss would mean nothing. What such
projections are worth is shown by projecting tables, cut to fewer rows, to the rows that were measured.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from command import shown
from extending import extended
from replays import Curves, largest, markdown, percent
from table2 import PAPER

from pydaub import PAPER_SIZES, Allocation, Failure, Measurement, Outcome
from pydaub.engines.recorded import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SIZES: Final = (2_500, 5_000, 11_500)
LIMITS: Final = (10.0, 30.0)  # seconds
PROJECTED: Final = "projected"
PAPER_ROWS: Final = {"parity": 21_500}  # the paper's N; 38,500 for the others
CUT: Final = 5_000  # rows from which projections are checked


def effects(tables: Iterable[Curves]) -> str:
    """Return the speed-up and loss of DAUB for fewer rows, shorter limits, no limit, and the paper's N."""
    ours = [one for one in largest(tables) if one.about["portfolio"] == "weka"]
    if not ours:
        return "No table of the paper's 41 learners was measured."
    rows = [_line(*case) for one in ours for case in _cases(one)]
    header = ("Data set", "", "N", "Limit (s)", "Full time (s)", "of it, one learner", "DAUB (s)", "Speed-up", "Loss")
    shown = markdown(header, rows, left=2)
    real = [one for one in ours if one.about["data"] in PAPER]
    if not real:
        return shown
    there = fmean(_speed_up(projected(one, PAPER_SIZES[-1])) for one in real)
    theirs = fmean(PAPER[one.about["data"]][-2] for one in real)
    factors = [_speed_up(_from_cut(one)) / _speed_up(projected(one, one.full_size)) for one in ours if _can_be_cut(one)]
    worth = (
        f" That is rough: speed-ups without a limit that are projected from {CUT:,} rows are {min(factors):.1f} to"
        f" {max(factors):.1f} times those from all rows ({len(factors)} tables)."
        if factors
        else ""
    )
    these = f"{len(real)} real data set{'s' if len(real) > 1 else ''}"
    return (
        f"{shown}\n\nProjected to {PAPER_SIZES[-1]:,} rows without a limit, DAUB is {there:.0f} times as fast (mean of"
        f" {these}); the paper's mean of the same ones is {theirs:.0f}.{worth}"
    )


def _cases(one: Curves) -> Iterator[tuple[Curves, str, str]]:
    limit = one.about["timeout"]
    for size in SIZES:
        if size < one.full_size:
            yield one.up_to(size), "measured", f"{limit:,.0f}"
    for shorter in LIMITS:
        yield limited(one, shorter), "measured", f"{shorter:,.0f}"
    yield one, "measured", f"{limit:,.0f}"
    if _stopped(one):
        yield projected(one, one.full_size), PROJECTED, "none"
    if _can_be_cut(one):
        yield _from_cut(one), f"{PROJECTED} from {CUT:,} rows", "none"
    paper = PAPER_ROWS.get(one.about["data"], PAPER_SIZES[-1])
    if one.full_size < paper:
        yield projected(one, paper), PROJECTED, "none"


def _stopped(one: Curves) -> bool:
    outcomes = (one.table[Allocation(name, one.full_size)] for name in one.table.learners)
    return any(isinstance(outcome, Failure) and outcome.kind == "timeout" for outcome in outcomes)


def _can_be_cut(one: Curves) -> bool:
    return one.full_size > 2 * CUT


def _from_cut(one: Curves) -> Curves:
    return projected(one.up_to(CUT), one.full_size)


def _speed_up(one: Curves) -> float:
    return one.replayed("daub").speed_up


def _line(one: Curves, how: str, limit: str) -> list[str]:
    daub = one.replayed("daub")
    longest = max(one.table.learners, key=lambda name: one.table[Allocation(name, one.full_size)].seconds)
    share = one.table[Allocation(longest, one.full_size)].seconds / one.full_seconds
    times = (f"{one.full_seconds:,.0f}", f"{longest} {100 * share:.0f} %", f"{daub.result.seconds:,.0f}")
    loss = "" if how.startswith(PROJECTED) else percent(daub.loss)
    return [one.about["title"], how, f"{one.full_size:,}", limit, *times, f"{daub.speed_up:.1f}x", loss]


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
    sizes = sorted({*one.sizes, *(size for size in PAPER_SIZES if one.full_size < size <= full_size), full_size})
    outcomes: dict[Allocation, Outcome] = {}
    for learner in one.table.learners:
        curve = one.curve(learner)
        times = [(size, each.seconds) for size, each in zip(curve.sizes, curve.measurements, strict=True)]
        failed = one.table[Allocation(learner, one.full_size)]
        if isinstance(failed, Failure):
            stopped = next(size for size in one.sizes if size not in curve.sizes)
            if failed.kind == "timeout" and times:
                times.append((stopped, max(failed.seconds, extended(times, stopped))))
            else:
                times = []
        for size in sizes:
            measured = one.table.outcomes.get(Allocation(learner, size)) if size <= one.full_size else None
            if times and not isinstance(measured, Measurement):
                measured = replace(curve.measurements[-1], seconds=extended(times, size))
            outcomes[Allocation(learner, size)] = measured or failed
    return replace(one, table=Table(outcomes, one.table.name), most=full_size)


if __name__ == "__main__":
    shown(effects, __doc__)
