"""What another machine does to the times, to DAUB's speed-up and to the scores: tables that were measured on two.

The folder `machines` among the measured tables holds earlier tables of the same data, learners and seed. Where one had
a shorter limit, the other is cut to it.
"""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from effects import limited
from replays import Curves, curves_in, markdown, percent

from pydaub import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER: Final = "machines"
TENTHS: Final = 10


def machines(tables: Iterable[Curves], folder: Path) -> str:
    """Return both tables of each pair as rows, and how their times and scores compare.

    The folder has the tables of the first machine.
    """
    by_key = {_key(one): one for one in curves_in(folder)}
    pairs = [(by_key[_key(one)], one) for one in tables if _key(one) in by_key]
    rows, said = list[list[str]](), list[str]()
    for pair in pairs:
        size, limit = min(one.full_size for one in pair), min(one.about["timeout"] for one in pair)
        cut = [limited(one.up_to(size), limit) for one in pair]
        rows += [_line(one, limit) for one in cut]
        said.append(_compared(*cut))
    if not rows:
        return "No table was measured on two machines."
    header = ("Data set", "Machine", "N", "Limit (s)", "Full time (s)", "DAUB (s)", "Speed-up", "Loss", "Stopped")
    return "\n\n".join([markdown(header, rows, left=2), *said])


def _key(one: Curves) -> tuple[object, ...]:
    return tuple(one.about[name] for name in ("data", "portfolio", "seed"))


def _line(one: Curves, limit: float) -> list[str]:
    daub = one.replayed("daub")
    times = (f"{one.full_seconds:,.0f}", f"{daub.result.seconds:,.0f}", f"{daub.speed_up:.1f}x", percent(daub.loss))
    clock = "CPU" if one.about.get("clock") == "cpu" else "wall-clock"
    where = f"{one.about['machine']}, {clock} seconds"
    return [one.about["title"], where, f"{one.full_size:,}", f"{limit:,.0f}", *times, str(len(one.failed))]


def _compared(earlier: Curves, later: Curves) -> str:
    """Return how many times as long trainings took on the later machine, and how many scores are equal."""
    ratios, equal = list[float](), 0
    for allocation, before in earlier.table.outcomes.items():
        after = later.table.outcomes.get(allocation)
        if isinstance(before, Measurement) and isinstance(after, Measurement):
            ratios.append(after.seconds / before.seconds)
            equal += after.valid_score == before.valid_score
    if len(ratios) < TENTHS:
        return f"{earlier.about['title']}: too few trainings to compare."
    low, *_, high = quantiles(ratios, n=TENTHS)
    return (
        f"{earlier.about['title']}: on the second machine a training took {median(ratios):.2f} times as long as on the"
        f" first (median of {len(ratios)}; eight of ten: {low:.2f} to {high:.2f} times). {equal} of these have the"
        " same validation score on both."
    )
