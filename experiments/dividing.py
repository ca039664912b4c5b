"""Does the advice on validation rows help? Divide the rows as usual, then as advised, and score on rows nobody saw.

    python experiments/dividing.py DATA... [--target target] [--learners sklearn] [--folder build/dividing]

For each data set, a fifth of the rows is held out. A first run divides the others 70/30; a second one as
`pydaub advise` says of the first. Both winners, trained on their training rows, are scored on the fifth.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from curves import commit, machine
from replays import MEASURED, markdown, percent

from pydaub.algorithm.strategies import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

HELD_OUT: Final = 0.2
SEED: Final = 2016
DELTA: Final = PARAMETERS["delta"].default  # of the runs
HEADER: Final = (
    "Data set", "Division", "Training rows", "Validation rows", "Selected", "Validation score",
    "Score on unseen rows", "Forecast for the advised division", "Difference told from chance",
)  # fmt: skip


def divided(data: Path, target: str, learners: str, folder: Path) -> list[list[str]]:
    """Return a line for each of the two divisions."""
    held_out(data, target, folder)
    lines: list[list[str]] = []
    fraction: float | None = None
    for name in ("usual", "advised"):
        run = folder / name
        if not (run / "journal.jsonl").exists():
            if fraction is not None and fraction >= 1:
                sys.exit(f"{data.stem} has too few rows to tell a difference of {DELTA} from chance.")
            option = () if fraction is None else ("--validation-fraction", f"{fraction:.4f}")
            pydaub("run", str(folder / "rest.parquet"), "--target", target, "--learners", learners, "--jobs", "2",
                   "--quiet", "--out", str(run), *option)  # fmt: skip
        result = json.loads(pydaub("show", str(run), "--json"))
        advice = json.loads(pydaub("advise", str(run), "--json"))
        truth, predicted = predictions(run, folder, target)
        score = float((predicted == truth).mean())
        expected = advice["prospect"] if name == "usual" else None  # the second run's own advice is not followed
        lines.append([
            data.stem, name, f"{advice['train_rows']:,}", f"{advice['valid_rows']:,}", result["selected"],
            f"{result['valid_score']:.4f}", f"{score:.4f}",
            f"{expected['score']:.4f} ({expected['low']:.4f} to {expected['high']:.4f})" if expected else "",
            percent(advice["detectable"], 2),
        ])  # fmt: skip
        fraction = advice["fraction"]
    return lines


def said(lines: Sequence[Sequence[str]]) -> str:
    """Return what the table says."""
    named = [dict(zip(HEADER, line, strict=True)) for line in lines]
    pairs = [*zip(named[::2], named[1::2], strict=True)]
    same, within, words = 0, 0, []
    for usual, advised in pairs:
        score = float(advised["Score on unseen rows"])
        gain = score - float(usual["Score on unseen rows"])
        rows = int(advised["Training rows"].replace(",", "")) - int(usual["Training rows"].replace(",", ""))
        words.append(f"{usual['Data set']} {rows:+,} rows for training, {gain:+.4f}")
        if usual["Selected"] == advised["Selected"]:
            low, high = re.findall(r"[\d.]+", usual["Forecast for the advised division"])[1:]
            same, within = same + 1, within + (float(low) <= score <= float(high))
    told = ", ".join(advised["Difference told from chance"] for _, advised in pairs)
    chance = ", ".join(f"{percent(_chance(usual), 1)} on {usual['Data set']}" for usual, _ in pairs)
    forecast = f"; its score is within the forecast range in {within} of {same}" if same else ""
    return (
        f"The score on unseen rows after dividing as advised: {'; '.join(words)}. The same learner is selected in"
        f" {same} of {len(pairs)}{forecast}. The second runs tell {told} from chance, and {percent(DELTA, 0)} was aimed"
        " at: they train other learners on all rows, whose errors may differ more. There is one division of each kind."
        f" On the unseen rows, differences of up to {chance} may be chance (95 %, of two learners that share half of"
        " their errors)."
    )


def _chance(line: Mapping[str, str]) -> float:
    """Return the difference of two scores on the unseen rows that chance makes in 5 % of cases."""
    seen = sum(int(line[f"{part} rows"].replace(",", "")) for part in ("Training", "Validation"))
    score = float(line["Score on unseen rows"])
    return 1.96 * math.sqrt(score * (1 - score) / (seen * HELD_OUT / (1 - HELD_OUT)))


def held_out(data: Path, target: str, folder: Path) -> None:
    """Write a fifth of the rows to test.parquet, in proportion to the classes, and the others to rest.parquet."""
    frame = pd.read_parquet(data)
    test = frame.groupby(target, group_keys=False, observed=True).sample(frac=HELD_OUT, random_state=SEED)
    folder.mkdir(parents=True, exist_ok=True)
    frame.drop(test.index).to_parquet(folder / "rest.parquet")
    test.to_parquet(folder / "test.parquet")


def predictions(run: Path, folder: Path, target: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the classes of the rows that were held out, and those that the winner of a run predicts for them."""
    pydaub("predict", str(run), str(folder / "test.parquet"), "--out", str(run / "predicted.csv"))
    truth, predicted = (
        pd.read_parquet(folder / "test.parquet")[target],
        pd.read_csv(run / "predicted.csv")["prediction"],
    )
    return truth.astype(str).to_numpy(), predicted.astype(str).to_numpy()


def pydaub(*arguments: str) -> str:
    """Return what a command of pydaub prints; exit with its error if it fails."""
    done = subprocess.run([sys.executable, "-m", "pydaub", *arguments], capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def record(name: str, header: Sequence[str], lines: Sequence[Sequence[str]], folder: Path) -> None:
    """Print a table, and keep it with its circumstances for `results.py`."""
    print(markdown(header, lines, left=2))
    about = {"machine": machine(), "commit": commit(), "date": datetime.now(UTC).date().isoformat()}
    (folder / f"{name}.json").write_text(json.dumps({**about, "header": header, "lines": lines}, indent=1) + "\n")


def main() -> None:
    """Print the table."""
    made: Any = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("data", type=Path, nargs="+", help="Parquet files with a class to predict")
    made.add_argument("--target", default="target")
    made.add_argument("--learners", default="sklearn")
    made.add_argument("--folder", type=Path, default=Path("build/dividing"), help="where runs are kept")
    made.add_argument("--measured", type=Path, default=MEASURED, help="folder for the table")
    chosen = made.parse_args()
    lines = [
        line
        for data in chosen.data
        for line in divided(data, chosen.target, chosen.learners, chosen.folder / data.stem)
    ]
    record("dividing", HEADER, lines, chosen.measured)


if __name__ == "__main__":
    main()
