"""A data set on which one slow learner once stopped all others: when is a good model found, and when is it selected?

    python -m benchmarks.story [--rows 60000] [--columns 25] [--time-limit SECONDS] [--write FILE.csv]

Made up: numbers and categories, of which some interact, three classes. `pydaub run` selects with default settings, in
a process of its own. Printed are the seconds until the best score on all rows was within 0.2 points of the best one in
the end, the seconds until the selection, and what the seconds of the workers were spent on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from pydaub import Account, Evaluated, Measurement, Postponed
from pydaub.runs.journal import read

NEAR = 0.002
LEVELS = (3, 5, 8, 20, 60)  # of the categories


def made(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """Return numbers, every fifth column a category, and a class that depends on them.

    It also depends on which pairs of numbers are high or low together.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(rows, columns - columns // 5))
    levels = [LEVELS[place % len(LEVELS)] for place in range(columns // 5)]
    codes = [rng.integers(0, count, rows) for count in levels]
    effects = [rng.normal(size=(count, 3)) for count in levels]
    weights = rng.normal(size=(8, 3)) / 2
    scores = numbers[:, :8] @ weights + sum(effect[code] for effect, code in zip(effects, codes, strict=True)) / 2
    for first, second in rng.integers(0, 12, size=(8, 2)):  # where both are above or below a limit
        alike = (numbers[:, first] > rng.normal() / 2) == (numbers[:, second] > rng.normal() / 2)
        scores += alike[:, None] * rng.normal(size=3)
    scores += rng.gumbel(size=(rows, 3)) * 0.4
    frame = pd.DataFrame(numbers, columns=[f"x{place}" for place in range(numbers.shape[1])]).round(4)
    for place, code in enumerate(codes):
        frame[f"kind{place}"] = [f"level {each}" for each in code]
    return frame.assign(target=np.array(["low", "middle", "high"])[scores.argmax(axis=1)])


def told(journal: Path) -> str:
    """Return what the journal of a run says about its time."""
    events = read(journal)
    account = Account.of(events)
    full, ends = account.full_size, [each for each in events if isinstance(each, Evaluated)]
    good = [
        (each.clock, each.outcome.valid_score)
        for each in ends
        if isinstance(each.outcome, Measurement) and each.allocation.size == full
    ]
    best = max((score for _, score in good), default=float("nan"))
    near = next((clock for clock, score in good if score >= best - NEAR), float("nan"))
    ended = sum(each.outcome.seconds for each in ends if isinstance(each.outcome, Postponed))
    spent = sum(each.outcome.seconds for each in ends)
    return (
        f"selected {account.selected} {account.result.valid_score:.4f} after {account.clock:.1f} s;"
        f" within {100 * NEAR:g} points of {best:.4f} after {near:.1f} s;"
        f" {len(good)} learners with all rows, {spent:.0f} s of training, {ended:.0f} s of them ended"
    )


def main() -> None:
    """Make the data, run, and print one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=25)
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--write", type=Path, help="only write the data")
    given = parser.parse_args()
    frame = made(given.rows, given.columns)
    if given.write:
        frame.to_csv(given.write, index=False)
        return
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "story.csv", Path(folder) / "run"
        frame.to_csv(data, index=False)
        limit = ["--time-limit", str(given.time_limit)] if given.time_limit else []
        command = [
            str(Path(sys.executable).with_name("pydaub")),
            "run",
            str(data),
            "--target",
            "target",
            "--out",
            str(out),
        ]
        subprocess.run([*command, *limit], check=True, capture_output=True)  # noqa: S603  # our own command
        print(told(out / "journal.jsonl"))


if __name__ == "__main__":
    main()
