"""Measure what learners save by starting from what they learned on the smaller sample.

    python benchmarks/reuse.py DATA.parquet [--target target]

Each learner that supports it is trained on every size of the paper's schedule, alternately from scratch and with reuse.
The table has the seconds of all sizes together and the largest difference between validation scores.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from pydaub import Allocation, Measurement, Schedule
from pydaub.data import load
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.reuse import can_go_on
from pydaub.learners import portfolio

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.evaluation.encoded import Encoded


class Kept:
    """Memory of what learners have learned, in a dictionary."""

    def __init__(self) -> None:
        self.learned: dict[Allocation, Any] = {}

    def recall(self, allocation: Allocation) -> tuple[int, Any] | None:
        """Return the size and the state that were kept last for this learner."""
        kept = [each for each in self.learned if each.learner == allocation.learner]
        return (kept[-1].size, self.learned[kept[-1]]) if kept else None

    def keep(self, allocation: Allocation, learned: Any) -> None:  # noqa: ANN401  # any learner's state
        """Store what was learned."""
        self.learned[allocation] = learned

    def encoded(self, key: str, make: Callable[[], Encoded]) -> Encoded:  # noqa: ARG002  # nothing is kept
        """Encode the rows for this learner alone."""
        return make()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", help="data file")
    parser.add_argument("--target", default="target", help="column to predict (default: target)")
    arguments = parser.parse_args()
    data = load(arguments.data, arguments.target)
    schedule = Schedule.geometric(data.full_size)
    learners = {
        name: learner for name, learner in portfolio("sklearn", data.schema).items() if can_go_on(learner.estimator)
    }
    scoring = "accuracy" if data.schema.task == "classification" else "r2"
    task = Task(data, learners, scoring=scoring, metrics="none")
    print(f"{data.full_size:,} rows of {arguments.data}, sizes {schedule.sizes}")
    print(
        "| learner | from scratch | with reuse | times faster | largest difference of a score |\n|---|--:|--:|--:|--:|"
    )
    for name in learners:
        seconds: dict[bool, float] = {True: 0.0, False: 0.0}
        scores: dict[bool, list[float]] = {True: [], False: []}
        memory = Kept()
        for size in schedule.sizes:
            for reuse in (False, True):
                began = time.perf_counter()
                outcome = evaluate(task, Allocation(name, size), memory if reuse else None).outcome
                seconds[reuse] += time.perf_counter() - began
                if isinstance(outcome, Measurement):
                    scores[reuse].append(outcome.valid_score)
        apart = max(abs(a - b) for a, b in zip(scores[True], scores[False], strict=True))
        ratio = seconds[False] / seconds[True]
        print(f"| {name} | {seconds[False]:.2f} s | {seconds[True]:.2f} s | {ratio:.2f} | {apart:.5f} |")


if __name__ == "__main__":
    main()
