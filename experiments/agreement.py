"""On how many validation rows two learners differ in being right, and how much narrower that makes a paired interval.

    python experiments/agreement.py [higgs susy ...]

Trains a few learners on three of the paper's sizes. The radius of the difference of two scores by empirical Bernstein
intervals on the same rows (`paired_radius`) stands beside twice Hoeffding's radius of one score, on a million rows, for
52 learners at 11 sizes. It takes a minute or two.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from curves import Wanted
from dividing import record
from replays import MEASURED

from pydaub.extensions.bounds.confidence import ConfidenceBound
from pydaub.extensions.theory.noisy import paired_radius
from pydaub.learners import portfolio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMES: Final = "tree,logistic,naive-bayes-gaussian,forest-20,hist-gradient-boosting"
SIZES: Final = (500, 4_000, 11_500)
ROWS: Final = 1_000_000  # for which the radii are compared
LOOKS: Final = 52 * 11
HEADER: Final = (
    "Data set", "Pairs", "Rows that differ, median", "least", "most", "Paired radius", "not paired",
    "Fewer rows by a factor of",
)  # fmt: skip
Right = np.ndarray[Any, np.dtype[np.bool_]]


def rights(data: str) -> dict[tuple[str, int], Right]:
    """Return on which validation rows each learner is right after each size."""
    prepared = Wanted(data).load()
    valid, found = prepared.valid(), {}
    for learner in portfolio(NAMES, prepared.schema).values():
        seeds = [name for name in learner.estimator.get_params() if name.split("__")[-1] == "random_state"]
        learner.estimator.set_params(**dict.fromkeys(seeds, 0))
        for size in SIZES:
            sample = prepared.train(size)
            predicted = learner.estimator.fit(sample.X, sample.y).predict(valid.X)
            found[learner.name, size] = np.asarray(predicted) == np.asarray(valid.y)
    return found


def lines(title: str, right: Mapping[tuple[str, int], Right]) -> list[list[str]]:
    """Return a line for the pairs of one learner at two sizes, and one for those of two learners at the largest."""
    alone = [pair for pair in combinations(right, 2) if pair[0][0] == pair[1][0]]
    two = [pair for pair in combinations(right, 2) if pair[0][1] == pair[1][1] == SIZES[-1]]
    return [
        _line(title, words, [float(np.mean(right[a] != right[b])) for a, b in pairs])
        for words, pairs in (("one learner, two sizes", alone), (f"two learners, {SIZES[-1]:,} rows", two))
    ]


def _line(title: str, words: str, shares: Sequence[float]) -> list[str]:
    apart = 2 * ConfidenceBound(ROWS, LOOKS).radius(0.5)
    radius = paired_radius(median(shares), 0.0, ROWS, LOOKS * (LOOKS - 1) // 2)
    found = [f"{100 * share:.0f} %" for share in (median(shares), min(shares), max(shares))]
    return [title, words, *found, f"{radius:.4f}", f"{apart:.4f}", f"{(apart / radius) ** 2:.1f}"]


def main() -> None:
    """Print the table, and keep it."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("data", nargs="*", default=["higgs", "susy"], help="data sets of experiments/datasets.py")
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder for the table")
    chosen = made.parse_args()
    record("agreement", HEADER, [line for data in chosen.data for line in lines(data, rights(data))], chosen.measured)


if __name__ == "__main__":
    main()
