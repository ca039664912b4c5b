"""A small trial of an installed pydaub: the command line and Python, in an empty folder. Standard library only."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Final

PATIENCE: Final = 1500  # seconds: only what hangs is ended, however busy the machine is


def pydaub(*arguments: str) -> str:
    """Run the installed command and return what it prints on stdout."""
    command = [str(Path(sys.executable).with_name("pydaub")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603  # itself
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_rows(path: Path, rows: int = 300) -> None:
    """Write rows with numbers and words, whose target a tree can learn."""
    draw = random.Random(0)  # noqa: S311  # no secrets
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "town", "y"])
        for _ in range(rows):
            x, town = draw.gauss(0, 1), draw.choice(["Rome", "Oslo"])
            writer.writerow([x, town, "yes" if x + (town == "Rome") > 0.5 else "no"])  # noqa: PLR2004  # any


def main(version: str) -> None:
    """Try the command line, then the estimator."""
    data = Path("data.csv")
    write_rows(data)
    assert pydaub("--version") == f"pydaub {version}\n"
    assert "Usage" in pydaub("--help")
    learners = "tree,knn-5,logistic"
    run = json.loads(pydaub("run", str(data), "--target", "y", "--learners", learners, "--out", "RUN", "--json"))
    assert run["state"] == "finished"
    assert run["model"] == "model.skops"
    lines = pydaub("predict", "RUN", str(data)).splitlines()
    assert lines[0] == "prediction"
    assert {*lines[1:]} == {"yes", "no"}
    Path("report.html").unlink(missing_ok=True)
    assert Path(pydaub("report", "RUN", "--out", "report.html").strip()).stat().st_size > 10_000  # noqa: PLR2004  # its scripts

    from sklearn.datasets import load_iris  # noqa: PLC0415  # after the command line, which must not need this process

    from pydaub import DaubSearch  # noqa: PLC0415  # the same

    X, y = load_iris(return_X_y=True)  # noqa: N806  # as everybody calls it
    search = DaubSearch(learners, random_state=0).fit(X, y)
    assert search.score(X, y) > 0.9  # noqa: PLR2004  # which is easy


if __name__ == "__main__":
    main(sys.argv[1])
