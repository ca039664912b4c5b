"""What another machine does to the times, to DAUB's speed-up and to the scores: tables that were measured on two.

    python experiments/machines.py [--measured FOLDER]

The folder `machines` among the measured tables holds earlier tables of the same data, learners and seed. Where one had
a shorter limit, the other is cut to it.
"""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from command import shown
from effects import limited
from replays import MEASURED, Curves, curves_in, markdown, percent

from pydaub import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER: Final = "machines"
TENTHS: Final = 10
LONG: Final = 1.0  # seconds; shorter trainings are mostly start-up
CLOCKS: Final = {"cpu": "CPU seconds", None: "wall-clock seconds"}


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
    words = "These were measured on two machines, with the same rows and learners. Both are cut to the shorter limit."
    header = ("Data set", "Machine", "N", "Limit (s)", "Full time (s)", "DAUB (s)", "Speed-up", "Loss", "Stopped")
    return "\n\n".join([words, markdown(header, rows, left=2), *said])


def _key(one: Curves) -> tuple[object, ...]:
    return tuple(one.about[name] for name in ("data", "portfolio", "seed"))


def _line(one: Curves, limit: float) -> list[str]:
    daub = one.replayed("daub")
    times = (f"{one.full_seconds:,.0f}", f"{daub.result.seconds:,.0f}", f"{daub.speed_up:.1f}x", percent(daub.loss))
    where = f"{one.about['machine']}, {CLOCKS[one.about.get('clock')]}"
    return [one.about["title"], where, f"{one.full_size:,}", f"{limit:,.0f}", *times, str(len(one.failed))]


def _compared(earlier: Curves, later: Curves) -> str:
    """Return how many times as long trainings took on the later machine, and how many scores are equal."""
    ratios, both, equal = list[float](), 0, 0
    for allocation, before in earlier.table.outcomes.items():
        after = later.table.outcomes.get(allocation)
        if isinstance(before, Measurement) and isinstance(after, Measurement):
            both, equal = both + 1, equal + (after.valid_score == before.valid_score)
            if before.seconds >= LONG:
                ratios.append(after.seconds / before.seconds)
    if len(ratios) < TENTHS:
        return f"{earlier.about['title']}: too few trainings to compare."
    low, *_, high = quantiles(ratios, n=TENTHS)
    return (
        f"{earlier.about['title']}: trainings of at least {LONG:g} s took {median(ratios):.2f} times as long on the"
        f" second machine (median of {len(ratios)}; eight of ten: {low:.2f} to {high:.2f} times). {equal} of all {both}"
        " have the same validation score on both. Besides the machine they differ in"
        f" {_differences(earlier.about, later.about)}."
    )


def _differences(earlier: dict[str, Any], later: dict[str, Any]) -> str:
    """Return what else differs between the circumstances of two tables."""
    pairs: dict[str, list[Any]] = {"the clock": [CLOCKS[about.get("clock")] for about in (earlier, later)]}
    pairs["trainings at a time"] = [about.get("jobs") for about in (earlier, later)]
    for package in {**earlier.get("versions", {}), **later.get("versions", {})}:
        pairs[package] = [about.get("versions", {}).get(package) for about in (earlier, later)]
    found = [f"{name} ({first}, {second})" for name, (first, second) in pairs.items() if first != second]
    return ", ".join(found) or "nothing that was recorded"


if __name__ == "__main__":
    shown(lambda tables: machines(tables, MEASURED / FOLDER), __doc__)
