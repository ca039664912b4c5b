"""A task with made-up learning curves."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.lcdb.curves import Task
from pydaub import Allocation, Measurement, Table

SIZES = (*(round(16 * math.sqrt(2) ** k) for k in range(4, 25)), 80_000)  # 64 ... 65536, 80000


def task(data: int, seed: int = 0, steepness: float = 0.2, sizes: tuple[int, ...] = SIZES) -> Task:
    """Return a task with three learners whose errors fall as a power of the rows, with noise."""
    rng = np.random.default_rng(1000 * data + seed)
    outcomes, test = {}, {}
    for learner in ("a", "b", "c"):
        start, power = rng.uniform(0.3, 0.6), steepness * rng.uniform(0.5, 1.5)
        for size in sizes:
            score = 1 - start * (64 / size) ** power * rng.uniform(0.95, 1.05)
            outcomes[Allocation(learner, size)] = Measurement(1.0, score, size / 1000)
        test[learner] = 0.123
    return Task(data, (0, seed), Table(outcomes), test, 1000)
