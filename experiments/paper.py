"""The paper's whole evaluation in one command: measure what is missing, then write the results page.

    python experiments/paper.py              # small: up to 4,000 rows, at most a quarter of an hour
    python experiments/paper.py --large      # the paper's sizes; prints an estimate and needs --yes

The small version goes to build/paper. The large one measures what is missing in experiments/measured, and writes
docs/results.md. Outcomes are kept: after a kill or a stop, the same command continues.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from curves import measure
from datasets import present, source
from plan import estimate, large, small, still_missing
from replays import MEASURED, all_curves
from results import PAGE, write

from pydaub.errors import InputError, PydaubError
from pydaub.learners.weka.jar import obstacle
from pydaub.units import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL_BUDGET: Final = "13m"
DIVIDED: Final = ("electricity", "susy", "adult", "higgs")  # data sets of `dividing.py` and `enough.py`
PROTOCOLS: Final = ("electricity",)  # of `protocols.py`
AGREEMENT: Final = ("higgs", "susy")  # of `agreement.py`
DIVIDING: Final = "build/dividing"  # their runs


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="the paper's sizes; takes hours")
    parser.add_argument("--yes", action="store_true", help="start the large version")
    parser.add_argument("--data", nargs="+", help="only these data sets")
    parser.add_argument(
        "--budget", help="time limit for all training, such as 2h; the rest is left out (small version: 13m)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--out", type=Path, help="folder for tables, page and pictures (small version: build/paper)")
    arguments = parser.parse_args()
    try:
        repeat(arguments)
    except PydaubError as error:
        sys.exit(str(error))


def repeat(arguments: argparse.Namespace) -> None:
    """Print the plan, measure its tables and write the page."""
    there = present()
    data = arguments.data or there
    if missing := [name for name in data if name not in there]:
        raise InputError(f"`--data` must be of {', '.join(there)}, got {missing[0]}.")
    plan, known = list((large if arguments.large else small)(data, weka=_weka())), all_curves(MEASURED)
    out = arguments.out or (None if arguments.large else Path("build/paper"))
    measured, page = (MEASURED, PAGE) if out is None else (out / "measured", out / "results.md")
    if out is None:
        plan = still_missing(plan, known)
    about, unknown = estimate(plan, known, arguments.jobs)
    words = f", plus an unknown time for {', '.join(unknown)}" if unknown else ""
    limit = arguments.budget or (None if arguments.large else SMALL_BUDGET)
    bounded = f"; what does not fit into {limit} is left out" if limit else ""
    minutes = f"about {about / 60:.0f} minutes on the machines of docs/results.md"
    print(f"{len(plan)} tables, {minutes}{words}{bounded}.", flush=True)
    if arguments.large and not arguments.yes:
        print("Nothing was started. Add --yes to start, and --budget to limit the time.")
        return
    budget = seconds(limit, "--budget")
    until = None if budget is None else time.monotonic() + budget
    for place, wanted in enumerate(plan, start=1):
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            print(f"The budget ran out: {len(plan) - place + 1} of {len(plan)} tables left out.")
            break
        begun = time.monotonic()
        try:
            path = measure(wanted, measured, jobs=arguments.jobs, budget=left)
        except PydaubError as error:  # the others need not wait for this one
            print(f"{place} of {len(plan)}, {wanted.data} ({wanted.learners}): {error}", flush=True)
            continue
        print(f"{place} of {len(plan)}: {path.stem} in {time.monotonic() - begun:.0f} s", flush=True)
    if out is None and (until is None or time.monotonic() < until):
        train_for_other_tables(data)
    write(measured, page, partial=out is not None)
    print(page)


def train_for_other_tables(data: Iterable[str], measured: Path = MEASURED) -> None:
    """Measure the page's other tables if they are missing: divisions of the rows, cross-validation and F1."""
    files = {name: source(name)[0] for name in DIVIDED if name in data}
    usual = [str(Path(DIVIDING) / Path(file).stem / "usual") for file in files.values()]
    wanted = {
        "dividing": [*files.values(), "--folder", DIVIDING],
        "enough": usual,
        "protocols": [files[name] for name in PROTOCOLS if name in files],
        "agreement": [name for name in AGREEMENT if name in data],
    }
    if usual and not (measured / "enough.json").exists() and not all(Path(each).exists() for each in usual):
        (measured / "dividing.json").unlink(missing_ok=True)  # its runs are needed again
    for name, arguments in wanted.items():
        if files and arguments and not (measured / f"{name}.json").exists():
            print(f"{name}.py", flush=True)
            script = Path(__file__).with_name(f"{name}.py")
            subprocess.run([sys.executable, script, *arguments, "--measured", measured], check=False)  # noqa: S603  # our own


def _weka() -> bool:
    """Return whether WEKA is available; if not, print why."""
    if lacking := obstacle():
        print(f"Without WEKA: {lacking}")
    return not lacking


if __name__ == "__main__":
    main()
