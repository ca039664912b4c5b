"""Replay the choice of a language model to fine-tune, and print what it saves and what it loses.

    python -m benchmarks.finetuning FILE [--out finetuning.json]

The file has a line for each model and a column for each number of examples, with the test loss after fine-tuning on so
many, and the columns `config name`, `size` (parameters) and `family`: the results of Lin et al. ("Selecting Large
Language Model to Fine-tune via Rectified Scaling Law", 2024). Fine-tuning costs parameters x examples.

`frugal` is given each loss as a loss (its best value, 0, is known), as -loss (its best value is not known), and as
exp(-loss), with and without the families of the models. Unlike curves of accuracies, the gains for each doubling of the
examples do not shrink.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydaub import Allocation, Daub, Frugal, Halving, Measurement, Schedule, Scores, Table, TableEngine, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydaub.algorithm.strategies import Strategy

COST: Final = 1e-12  # seconds for a parameter and an example; all that matters is that no training is free
WAYS: Final[dict[str, tuple[Callable[[float], float], Scores]]] = {
    "loss": (lambda loss: -loss, Scores("loss", top=0.0, proportion=False)),
    "-loss": (lambda loss: -loss, Scores("-loss", top=None, proportion=False)),
    "exp(-loss)": (lambda loss: math.exp(-loss), Scores("exp(-loss)")),
}


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its name, parameters and family, and its loss after so many examples."""

    name: str
    parameters: float
    family: str
    losses: dict[int, float]


@dataclass(frozen=True, slots=True)
class Line:
    """What one method came to."""

    method: str
    score: str
    speed_up: float
    rank: int
    regret: float  # relative to the best loss


def read(path: Path) -> list[Model]:
    """Return the models in a file."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Model(
                row["config name"],
                float(row["size"]),
                row["family"],
                {int(name): float(loss) for name, loss in row.items() if name.isdigit() and int(name) > 0},
            )
            for row in csv.DictReader(file)
        ]


def lines(models: list[Model]) -> Iterator[Line]:
    """Yield what each method came to, each way of giving it the loss."""
    families = {model.name: model.family for model in models}
    for name, (score_of, scores) in WAYS.items():
        table = table_of(models, score_of)
        schedule = Schedule(table.sizes)
        methods: dict[str, Strategy] = {
            "frugal": Frugal(table.learners, schedule, scores=scores),
            "frugal, families": Frugal(table.learners, schedule, scores=scores, families=families),
            "halving": Halving(table.learners, schedule),
            "daub": Daub(table.learners, schedule, train_bound=False, scores=scores),
        }
        for method, strategy in methods.items():
            result = run(strategy, TableEngine(table))
            assert result.selected  # noqa: S101  # no recorded model fails
            yield judged(models, method, name, result.selected, result.seconds)
    best = min(models, key=lambda model: model.losses[max(model.losses)])
    yield judged(models, "knowing it", "", best.name, COST * best.parameters * max(best.losses))


def table_of(models: list[Model], score_of: Callable[[float], float]) -> Table:
    """Return the scores of all models as a table."""
    outcomes = {
        Allocation(model.name, size): Measurement(None, score_of(loss), COST * model.parameters * size)
        for model in models
        for size, loss in model.losses.items()
    }
    return Table(outcomes, "fine-tuning")


def judged(models: list[Model], method: str, score: str, selected: str, seconds: float) -> Line:
    """Compare a choice, and the time that it took, with training everything."""
    ends = {model.name: model.losses[max(model.losses)] for model in models}
    everything = sum(COST * model.parameters * max(model.losses) for model in models)
    rank = sorted(ends, key=lambda name: ends[name]).index(selected) + 1
    return Line(method, score, everything / seconds, rank, ends[selected] / min(ends.values()) - 1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="CSV with a line for each model")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    found = list(lines(read(arguments.file)))
    print("| method | given as | speed-up | rank | regret % |\n|---|---|--:|--:|--:|")
    for one in found:
        print(f"| {one.method} | {one.score} | {one.speed_up:.1f} | {one.rank} | {100 * one.regret:.2f} |")
    if arguments.out:
        arguments.out.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
