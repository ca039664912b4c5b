"""How many validation rows it takes to rule out a learner that is 0.01 below the best: by the theorem and in runs.

    python experiments/ruled_out.py

The tables stand in docs/theory.md. Nothing is trained: learners have known accuracies on the paper's sizes, and scores
are drawn from the binomial distribution. Bounds are Hoeffding's, for 52 learners at 11 sizes.
"""

from __future__ import annotations

import math
from bisect import bisect_left as bisect
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np
from replays import BOOTSTRAP, markdown

from pydaub import PAPER_SIZES, Curve, Measurement, Schedule
from pydaub.extensions.bounds.confidence import ConfidenceBound
from pydaub.extensions.theory.noisy import n_stop, paired_hoeffding_radius, paired_radius
from pydaub.extensions.theory.paper import Problem
from pydaub.records import VALIDATION_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

LEARNERS: Final = 52
BEST: Final = 0.8
DELTA: Final = 0.01
RISE: Final = 0.01  # of the second learner, from the first size to the last
ROWS: Final = (10_000, 100_000, 1_000_000, 3_300_000, 10_000_000, 30_000_000, 100_000_000)
RUNS: Final = 40
SCHEDULE: Final = Schedule(PAPER_SIZES)
QUARTER: Final = next(n for n in PAPER_SIZES if 4 * n >= SCHEDULE.full_size)  # the first size from N/4 on
DIFFER: Final = (0.02, 0.05, 0.1, 0.2)  # share of the rows on which exactly one of two learners is right
HEADER: Final = (
    "Validation rows", "Radius", "Flat: by the theorem", "in runs, median", "at most", "Rising: by the theorem",
    "in runs, median", "at most",
)  # fmt: skip


def flat(_: int) -> float:
    """Return the accuracy of a learner that gains nothing from more rows."""
    return BEST - DELTA


def rising(n: int) -> float:
    """Return the accuracy of a learner that is as good with all rows, but is still rising like 1/n."""
    first, last = 1 / PAPER_SIZES[0], 1 / PAPER_SIZES[-1]
    return BEST - DELTA - RISE * (1 / n - last) / (first - last)


def table() -> str:
    """Return the sizes at which the two learners are ruled out, and how many rows the theorem needs for N/4."""
    lines = []
    for rows in ROWS:
        line = [f"{rows:,}", f"{bound(rows).radius(BEST):.5f}"]
        for f in (flat, rising):
            sure = n_stop(f, SCHEDULE, problem(f), bound(rows).radius(BEST))
            sizes = [ruled_out_at(f, rows, seed) for seed in range(RUNS)]
            line += [
                f"{size:,.0f}" if size < SCHEDULE.full_size else "not" for size in (sure, median(sizes), max(sizes))
            ]
        lines.append(line)
    needed = " and ".join(
        f"{needed_rows(f, QUARTER) / 1e6:.0f} million for the {f.__name__} one" for f in (flat, rising)
    )
    words = f"To be sure beforehand that a learner gets no more than {QUARTER:,} rows, the theorem needs {needed}."
    return f"{markdown(HEADER, lines)}\n\n{words}"


def paired() -> str:
    """Return how many validation rows rule out the flat learner, with scores that are compared on the same rows.

    And, the other way round, which difference so many rows as `pydaub run` uses at most rule out.
    """
    looks = LEARNERS * len(PAPER_SIZES)
    pairs, far = looks * (looks - 1) // 2, (SCHEDULE.full_size - QUARTER) / (QUARTER - PAPER_SIZES[0])
    narrower = partial(ConfidenceBound, looks=looks, interval="bernstein")
    noise: dict[str, Callable[[int], float]] = {
        "not paired, Hoeffding": lambda rows: (2 + 4 * far) * bound(rows).radius(BEST),
        "not paired, Bernstein": lambda rows: (2 + 4 * far) * narrower(rows).radius(BEST),
        "paired, Hoeffding": lambda rows: 2 * (1 + far) * paired_hoeffding_radius(rows, pairs),
    }
    noise |= {
        f"paired, Bernstein, {100 * share:.0f} % of the rows differ": partial(_moved, share, pairs, far)
        for share in DIFFER
    }
    lines = []
    for name, moved in noise.items():
        enough = bisect(range(10**9), 1, lo=2, key=lambda rows, moved=moved: moved(rows) < DELTA)  # type: ignore[misc]
        lines.append([name, f"{enough / 1e6:.1f}", f"{moved(VALIDATION_ROWS):.3f}"])
    return markdown(("Interval", "Million validation rows", f"Difference that {VALIDATION_ROWS:,} tell"), lines)


def _moved(share: float, pairs: int, far: float, rows: int) -> float:
    return 2 * (1 + far) * paired_radius(share, 0.0, rows, pairs)


def ruled_out_at(f: Callable[[int], float], rows: int, seed: int) -> int:
    """Return the size after which a learner's bound is below the accuracy of the best one: then DAUB stops it."""
    generator, made = np.random.default_rng(seed), bound(rows)
    correct = generator.binomial(rows, [f(size) for size in PAPER_SIZES])
    curve = Curve("other", PAPER_SIZES, tuple(Measurement(1.0, float(each) / rows, 0.0) for each in correct))
    known = (curve.prefix(length) for length in range(BOOTSTRAP, len(PAPER_SIZES) + 1))
    return next((each.sizes[-1] for each in known if made(each, SCHEDULE.full_size) < BEST), SCHEDULE.full_size)


def needed_rows(f: Callable[[int], float], n: int) -> float:
    """Return with how many validation rows item 3 of the theorem holds at n rows, for the best smaller size."""
    N = SCHEDULE.full_size  # noqa: N806  # the paper's
    radius = max(
        (DELTA - (N - n) * (f(n) - f(m)) / (n - m)) / (2 + 4 * (N - n) / (n - m)) for m in PAPER_SIZES if m < n
    )
    return math.log(2 * LEARNERS * len(PAPER_SIZES) / 0.05) / (2 * radius**2) if radius > 0 else math.inf


def bound(rows: int) -> ConfidenceBound:
    """Return Hoeffding's bound for all learners at all sizes."""
    return ConfidenceBound(rows, LEARNERS * len(PAPER_SIZES))


def problem(f: Callable[[int], float]) -> Problem:
    """Return the problem of a learner beside the best one."""
    curves = {"best": lambda _: BEST, "other": f}
    return Problem(curves, dict.fromkeys(curves, float), SCHEDULE.full_size, DELTA)


if __name__ == "__main__":
    print(f"{table()}\n\n{paired()}")
