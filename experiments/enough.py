"""Are the validation rows that `pydaub advise` calls enough really enough? Finished runs choose again with so many.

    python experiments/enough.py RUN... [--delta 0.01]

The learners with all training rows were scored on the same blocks of validation rows. Blocks with as many rows as
advised are drawn 2,000 times; the best learner on them is compared, on the other blocks, with the one that the run
selected. Nothing is trained. What the freed rows bring to training is not tried here: `dividing.py` does that.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from dividing import DELTA, record
from replays import MEASURED, percent

from pydaub.errors import PydaubError
from pydaub.records import Measurement
from pydaub.runs.advice import advise
from pydaub.runs.folder import RunFolder
from pydaub.runs.forecasts import curves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS: Final = 2_000
HEADER: Final = (
    "Run", "Selected", "Training rows", "Validation rows", "Others with all rows", "Rows that are enough",
    "Same choice", "Mean loss", "Loss above delta",
)  # fmt: skip


def chosen_again(run: Path, delta: float) -> list[str]:
    """Return the line of a run."""
    account = RunFolder(run).account()
    advice = advise(account, delta)
    last = {name: curve[-1] for name, curve in curves_of(account.result).items()}
    parts = {
        name: step.outcome.parts
        for name, step in last.items()
        if step.allocation.size == account.full_size and isinstance(step.outcome, Measurement) and step.outcome.parts
    }
    share = advice.needed / advice.valid_rows
    same, losses = redrawn(np.asarray(list(parts.values())), list(parts).index(advice.selected), share)
    found = (
        (percent(same, 0), percent(float(losses.mean()), 2), percent(float(np.mean(losses > delta)), 1))
        if share < 1
        else ("", "", "")
    )
    return [
        str(Path(*run.parts[-2:])), advice.selected, f"{advice.train_rows:,}", f"{advice.valid_rows:,}",
        str(len(parts) - 1), f"{advice.needed:,}", *found,
    ]  # fmt: skip


def said(lines: Sequence[Sequence[str]]) -> str:
    """Return what the table says."""
    drawn = [dict(zip(HEADER, line, strict=True)) for line in lines if line[-1]]
    lost = max((float(line["Mean loss"].split()[0]) for line in drawn), default=0.0)
    above = max((float(line["Loss above delta"].split()[0]) for line in drawn), default=0.0)
    others = [f"{line['Same choice']} on {line['Run'].partition('/')[0]}" for line in drawn]
    return (
        f"Where a run has fewer validation rows than are enough, nothing can be drawn ({len(lines) - len(drawn)} of"
        f" {len(lines)}). On the others, the choice loses {lost:.2f} % on average at most, and more than delta in"
        f" {above:.1f} % of the cases at most. It is the run's own choice in {', '.join(others)}."
    )


def redrawn(
    scores: np.ndarray[Any, Any], selected: int, share: float, seed: int = 0
) -> tuple[float, np.ndarray[Any, Any]]:
    """Choose by a share of the blocks, again and again.

    Return how often the choice was the selected learner, and what each choice loses against it on the other blocks.
    """
    blocks = scores.shape[1]
    count = min(max(round(share * blocks), 1), blocks - 1)
    rng, chosen, losses = np.random.default_rng(seed), [], []
    for _ in range(DRAWS):
        order = rng.permutation(blocks)
        best = scores[:, order[:count]].mean(axis=1).argmax()
        unseen = scores[:, order[count:]].mean(axis=1)
        chosen.append(best == selected)
        losses.append(unseen[selected] - unseen[best])
    return float(np.mean(chosen)), np.asarray(losses)


def main() -> None:
    """Print the table."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("runs", type=Path, nargs="+", help="folders of finished runs")
    made.add_argument("--delta", type=float, default=DELTA, help="difference of scores to tell from chance")
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder for the table")
    chosen = made.parse_args()
    try:
        record("enough", HEADER, [chosen_again(run, chosen.delta) for run in chosen.runs], chosen.measured)
    except PydaubError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
