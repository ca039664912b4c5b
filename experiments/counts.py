"""What the paper's "Iterations" and "Allocation" can mean: how many rows a number of iterations takes, least and most.

    python experiments/counts.py

DAUB gives all 41 learners the three smallest sizes. If iterations are the allocations after that, one learner goes
through all larger sizes, since one is selected, and the other iterations are the next sizes of other learners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from curves import PARITY_ROWS
from replays import BOOTSTRAP, markdown, thousands

from pydaub import PAPER_SIZES

if TYPE_CHECKING:
    from collections.abc import Sequence

LEARNERS: Final = 41
PARITY_SIZES: Final = (*(size for size in PAPER_SIZES if size < PARITY_ROWS), PARITY_ROWS)
# From the paper's two tables: run, sizes, iterations, allocation.
PAPER: Final = (
    ("PARITY, no f^T", PARITY_SIZES, 26, 171_000),
    ("PARITY", PARITY_SIZES, 19, 156_000),
    ("HIGGS, no f^T", PAPER_SIZES, 105, 590_000),
    ("HIGGS", PAPER_SIZES, 56, 372_000),
    ("Buzz", PAPER_SIZES, 57, 302_000),
    ("Cover Type", PAPER_SIZES, 13, 160_000),
    ("Million Songs", PAPER_SIZES, 53, 333_000),
    ("SUSY", PAPER_SIZES, 31, 214_000),
    ("Vehicle Sensing", PAPER_SIZES, 50, 296_000),
)
ROUNDING: Final = 500  # rows; the paper gives thousands


def least_and_most(iterations: int, sizes: Sequence[int]) -> tuple[int, int]:
    """Return the least and the most rows that this many allocations after the bootstrap can have."""
    after = list(sizes[BOOTSTRAP:])
    others = iterations - len(after)  # allocations to learners that are not selected
    before_all = after[:-1]
    whole, rest = divmod(others, len(before_all))
    most = sum(after) + whole * sum(before_all) + sum(before_all[:rest])
    least = sum(after)
    for size in before_all:
        count = min(others, LEARNERS - 1)
        least, others = least + count * size, others - count
    return least, most


def counts() -> str:
    """Return the paper's figures beside what is possible with and without the bootstrap."""
    rows = []
    for name, sizes, iterations, allocated in PAPER:
        least, most = least_and_most(iterations, sizes)
        bootstrap = LEARNERS * sum(sizes[:BOOTSTRAP])
        rows.append([
            name, iterations, thousands(allocated), f"{thousands(least)} to {thousands(most)}",
            fits(allocated, least, most), f"{thousands(bootstrap + least)} to {thousands(bootstrap + most)}",
            fits(allocated, bootstrap + least, bootstrap + most),
        ])  # fmt: skip
    header = ("Run", "Iterations", "Allocation", "possible without the bootstrap", "fits", "possible with it", "fits")
    return markdown(header, rows)


def fits(allocated: int, least: int, most: int) -> str:
    """Return whether an allocation is possible, as yes or no."""
    return "yes" if least - ROUNDING <= allocated <= most + ROUNDING else "no"


if __name__ == "__main__":
    print(counts())
