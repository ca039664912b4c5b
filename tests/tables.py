"""Random tables of recorded curves: noise, ties, plateaus, crossing curves, training below validation scores."""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydaub import Allocation, Failure, Frugal, Measurement, Outcome, Schedule, Strategy, Table, TableEngine

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable
    from pathlib import Path

    from pydaub import Engine
    from pydaub.evaluation.workbench import Workbench

RATIOS = ("1.1", "1.25", "1.5", "2", "2.7", "3")


def in_order(kind: type[Strategy], learners: Iterable[str], schedule: Schedule) -> Strategy:
    """Return a new strategy that decides by the scores alone: its answer does not depend on the number of workers."""
    return Frugal(learners, schedule, costs={}) if kind is Frugal else kind(learners, schedule)


def random_schedule(rng: random.Random) -> tuple[int, str, Schedule]:
    """Return first size, ratio and the schedule; now and then one whose bootstrap reaches the full size."""
    ratio = rng.choice(RATIOS)
    first = rng.randint(1, 60)
    least = int(first * Fraction(ratio) ** 2) + 1
    full = rng.choice([least, least + rng.randint(0, 5), rng.randint(least, 40 * least)])
    return first, ratio, Schedule.geometric(full, first, ratio)


def random_curve(rng: random.Random, sizes: tuple[int, ...], grid: int | None) -> list[tuple[Any, Any]]:
    """Return a training and a validation score for each size, on a grid of exact fractions or as floats."""
    start, end = rng.uniform(0.2, 0.9), rng.uniform(0.3, 1.0)
    knee = rng.choice([1, 10, 100, 1000])
    noise = rng.choice([0.0, 0.0, 0.02, 0.2])
    plateau = rng.random() < 0.2
    gap = rng.choice([0.3, 0.1, 0.0, -0.1])  # below zero: training scores below validation scores
    scores: list[tuple[Any, Any]] = []
    for size in sizes:
        valid = start if plateau else end - (end - start) * knee / (knee + size) + rng.gauss(0, noise)
        train = valid + gap * knee / (knee + size) + rng.gauss(0, noise)
        if grid:
            scores.append((Fraction(round(train * grid), grid), Fraction(round(valid * grid), grid)))
        else:
            scores.append((train, valid))
    return scores


def random_table(rng: random.Random, schedule: Schedule, grid: int | None = None, failures: float = 0.0) -> Table:
    """Return a table of one to nine learners; some may have the same curve, so that ties happen."""
    curves = [random_curve(rng, schedule.sizes, grid) for _ in range(rng.randint(1, 9))]
    outcomes: dict[Allocation, Outcome] = {}
    for i in range(len(curves)):
        curve = rng.choice(curves) if rng.random() < 0.2 else curves[i]
        for size, (train, valid) in zip(schedule.sizes, curve, strict=True):
            seconds = rng.choice([0.0, 1.0, rng.expovariate(1), size * rng.random()])
            failed = rng.random() < failures
            outcomes[Allocation(f"learner {i}", size)] = (
                Failure(rng.choice(["error", "timeout", "memory", "crash"]), "no luck", seconds)
                if failed
                else Measurement(train, valid, seconds)
            )
    return Table(outcomes)


def write_csv(table: Table, path: Path) -> Path:
    """Write a table as the file that `pydaub replay` reads."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["learner", "size", "train_score", "valid_score", "seconds", "failure"])
        for allocation, outcome in table.outcomes.items():
            row: list[Any] = [allocation.learner, allocation.size]
            if isinstance(outcome, Measurement):
                row += [float(outcome.train_score or 0), float(outcome.valid_score), outcome.seconds, ""]
            elif isinstance(outcome, Failure):
                row += ["", "", outcome.seconds, f"{outcome.kind}: {outcome.message}"]
            writer.writerow(row)
    return path


def collected(engine: Engine) -> tuple[Allocation, Outcome]:
    """Wait for an evaluation without a limit: there is always one."""
    done = engine.collect()
    assert done is not None
    return done


def fitted_in(bench: Workbench, allocation: Allocation, score: float) -> Any:
    """Return the fitted learner that a folder keeps, or None."""
    from pydaub.evaluation.workbench import unpickled  # noqa: PLC0415  # slow to import

    path = bench.kept(allocation, score)
    return path and unpickled(path)


class CountingEngine(TableEngine):
    """Remembers what was begun."""

    def __init__(self, table: Table, workers: int = 1) -> None:
        super().__init__(table, workers)
        self.begun: list[Allocation] = []
        self.closed = False

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:
        super().submit(allocation, guess=guess)
        self.begun.append(allocation)

    def close(self) -> None:
        super().close()
        self.closed = True
