"""The paper's whole evaluation with one command: measure what is missing, then write the results page.

    python experiments/paper.py              # small: at most a quarter of an hour on 2 cores
    python experiments/paper.py --large      # the paper's sizes, five seeds; its estimate comes first, and takes --yes

What was measured is kept: killed or stopped, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from command import MEASURED
from curves import Wanted, measure
from datasets import present
from replays import Curves, all_curves
from results import write

from pydaub import Allocation
from pydaub.cli.units import seconds
from pydaub.errors import InputError, PydaubError
from pydaub.learners.weka.jar import obstacle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OVERHEAD: Final = 0.15  # seconds that a training costs besides itself
SEEDS: Final = 5


def small(data: list[str], *, weka: bool) -> Iterator[Wanted]:
    """Yield what takes a quarter of an hour: 2,500 rows, all learners; five seeds where that is cheap."""
    for name in data:
        for seed in range(SEEDS if name in {"parity", "susy"} else 1):
            yield Wanted(name, "sklearn", seed, 2_500, "10s")
    if weka:
        for name in ("higgs", "parity"):
            if name in data:
                yield Wanted(name, "weka", 0, 2_500, "20s")


def large(data: list[str], *, weka: bool) -> Iterator[Wanted]:
    """Yield everything: the paper's sizes, both portfolios, five seeds, with two minutes for a training."""
    for portfolio in ("weka", "sklearn") if weka else ("sklearn",):
        for name in data:
            for seed in range(SEEDS):
                yield Wanted(name, portfolio, seed, None, "120s")


def estimate(plan: Iterable[Wanted], known: list[Curves], jobs: int) -> tuple[float, list[str]]:
    """Return about how many seconds a plan takes, by what the shipped tables took, and what they do not know."""
    total, unknown = 0.0, []
    for wanted in plan:
        like = [one for one in known if (one.about["data"], one.about["portfolio"]) == (wanted.data, wanted.learners)]
        longest = max(like, key=lambda one: one.full_size, default=None)
        if longest is None:
            unknown.append(f"{wanted.data} ({wanted.learners})")
            continue
        limit = seconds(wanted.timeout, "--timeout") or 0.0
        sizes = [size for size in longest.sizes if size <= (wanted.full_size or size)]
        for name in longest.table.learners:
            for size in sizes:
                took = longest.table[Allocation(name, size)].seconds
                total += min(took, limit) + OVERHEAD
                if took >= limit:
                    break
    return total / jobs, list(dict.fromkeys(unknown))


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="the paper's sizes; takes hours")
    parser.add_argument("--yes", action="store_true", help="begin without asking")
    parser.add_argument("--data", nargs="+", help="only these data sets")
    parser.add_argument("--budget", help="for everything that is trained, such as 10m; the rest is left out, and said")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="the folder of tables, page and pictures")
    arguments = parser.parse_args()
    try:
        repeat(arguments)
    except PydaubError as error:
        sys.exit(str(error))


def repeat(arguments: argparse.Namespace) -> None:
    """Do what was asked for."""
    there = present()
    data = arguments.data or there
    if missing := [name for name in data if name not in there]:
        raise InputError(f"`--data` must be of {', '.join(there)}, got {missing[0]}.")
    plan = list((large if arguments.large else small)(data, weka=_weka()))
    about, unknown = estimate(plan, all_curves(MEASURED), arguments.jobs)
    words = f" and nobody knows how long for {', '.join(unknown)}" if unknown else ""
    print(f"{len(plan)} tables, about {about / 60:.0f} minutes on the machine of docs/results.md{words}.", flush=True)
    if arguments.large and not arguments.yes:
        print("Nothing was begun: add --yes to begin, --budget to bound it.")
        return
    until = None if arguments.budget is None else time.monotonic() + (seconds(arguments.budget, "--budget") or 0.0)
    measured = arguments.out / "measured"
    for place, wanted in enumerate(plan, start=1):
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            print(f"Out of budget: {len(plan) - place + 1} of {len(plan)} tables left out.")
            break
        begun = time.monotonic()
        path = measure(wanted, measured, jobs=arguments.jobs, budget=left)
        print(f"{place} of {len(plan)}: {path.stem} in {time.monotonic() - begun:.0f} s", flush=True)
    page = arguments.out / "results.md"
    write(measured, page)
    print(page)


def _weka() -> bool:
    """Whether WEKA can be had; if not, it is said."""
    if lacking := obstacle():
        print(f"Without WEKA: {lacking}")
    return not lacking


if __name__ == "__main__":
    main()
