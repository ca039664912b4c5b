"""Choose the configurations of the portfolio `strong`, by how much each adds to the rest.

    python -m benchmarks.portfolio measure FILE.parquet [...] --keep FOLDER [--rows 8000] [--draws 40 | --chosen]
    python -m benchmarks.portfolio choose --keep FOLDER [--count 120] [--write]

`measure` trains draws from every family in `pydaub.learners.families` on the first rows of each data set, and keeps
their scores on the validation rows and their seconds, one file for each data set; what is kept already is not measured
again. With `--chosen`, it trains what is in the portfolio already, so that `choose` can order it by what it reaches
with more rows. A file with two dots in its name has another target: `blogfeedback.comments.parquet` replaces the target
of `blogfeedback.parquet` in a regression.

`choose` adds, one at a time, the configuration that raises the expected best score most for its time, expected over
data sets that resemble the measured ones: to each score a deviation is added, a part of which the configurations of one
family share. So a portfolio that is strong on the measured data sets by luck is worth less than one of variety.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from pydaub.data import Split, prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners.families import CHOSEN, FAMILIES
from pydaub.records import Allocation, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydaub.data import Prepared

WORLDS = 400  # perturbed copies of each data set
SHARED, OWN = 0.5, 0.5  # deviations of a family and of a configuration, as shares of the spread of good scores
CHEAP = 1.0  # seconds that each configuration costs besides


class Drawn(NamedTuple):
    """A configuration."""

    family: str
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """All of it, as text."""
        return json.dumps([self.family, self.settings])


def drawn(count: int) -> list[Drawn]:
    """Return the same `count` different configurations of each family every time, or all where there are fewer."""
    found = []
    for family, space in FAMILIES.items():
        generator = np.random.default_rng(zlib.crc32(family.encode()))
        grid = list(dict.fromkeys(product(*space.choices.values())))
        places = generator.permutation(len(grid))[:count]
        found += [Drawn(family, dict(zip(space.choices, grid[place], strict=True))) for place in places]
    return found


def data_of(path: Path, rows: int) -> Prepared:
    """Return the data of a file, cut to `rows` to train on and as many to validate on."""
    whole, _, other = path.stem.partition(".")
    frame = pd.read_parquet(path.with_name(f"{whole}.parquet"))
    target = frame.pop("target") if not other else pd.read_parquet(path).iloc[:, 0]
    frame, target = frame[: 2 * rows], target[: 2 * rows]
    split = Split(fraction=0.5)
    return prepare(frame, target.to_numpy(), split=split, task="regression" if other else "classification", seed=0)


def measure(path: Path, configurations: list[Drawn], rows: int, keep: Path, timeout: float) -> None:
    """Measure what has not been measured yet on a data set."""
    data, file = data_of(path, rows), keep / f"{path.stem}.json"
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    task, scoring = data.schema.task, "accuracy" if data.schema.task == "classification" else "r2"
    missing = [each for each in configurations if each.name not in known]
    learners = {
        each.name: FAMILIES[each.family].recipe(each.name, each.settings, task).learner(data.schema) for each in missing
    }
    if not learners:
        return
    with TemporaryDirectory() as folder:
        asked = Task(data, learners, scoring=scoring, score_rows="all", train_scores=False, metrics="none")
        limits, began = Limits(timeout), time.monotonic()
        with closing(ProcessEngine(asked, 2, Path(folder), limits)) as engine:
            waiting, running = list(learners), 0
            while waiting or running:
                while waiting and engine.free:
                    engine.submit(Allocation(waiting.pop(0), data.full_size))
                    running += 1
                collected = engine.collect()
                running -= 1
                if collected is not None:
                    allocation, outcome = collected
                    score = outcome.valid_score if isinstance(outcome, Measurement) else None
                    known[allocation.learner] = [score, round(outcome.seconds, 3)]
                    file.write_text(json.dumps(known, indent=0))
                    if score is None and outcome.seconds < timeout:
                        print(allocation.learner, outcome)
        print(f"{path.stem}: {len(learners)} in {time.monotonic() - began:.0f} s", flush=True)


def tables(keep: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the measured data sets."""
    for file in sorted(keep.glob("*.json")):
        yield file.stem, json.loads(file.read_text())


def worlds(keep: Path, names: list[str], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return losses of the configurations in perturbed data sets (worlds x names), and their mean seconds."""
    generator = np.random.default_rng(seed)
    families = [json.loads(name)[0] for name in names]
    kinds = sorted({*families})
    of = np.array([kinds.index(family) for family in families])
    losses, seconds = [], []
    for _, table in tables(keep):
        scores = np.array([np.nan if table[name][0] is None else table[name][0] for name in names])
        seconds.append([table[name][1] for name in names])
        good = np.sort(scores[~np.isnan(scores)])[::-1]
        spread = good[0] - good[len(good) // 4]  # of the best quarter
        deviation = SHARED * generator.normal(size=(WORLDS, len(kinds)))[:, of]
        deviation = deviation + OWN * generator.normal(size=(WORLDS, len(names)))
        loss = (good[0] - scores) / spread + deviation
        losses.append(np.where(np.isnan(loss), np.inf, loss))
    return np.concatenate(losses), np.mean(seconds, axis=0)


def choose(keep: Path, count: int) -> list[Drawn]:
    """Return the chosen configurations in order; print the gain that each brought, and its mean seconds."""
    found = [table for _, table in tables(keep)]
    names = [name for name in found[0] if all(name in table for table in found)]
    losses, seconds = worlds(keep, names)
    reached = np.full(len(losses), np.nanmax(losses[np.isfinite(losses)]))
    price = seconds + CHEAP
    chosen: list[int] = []
    while len(chosen) < min(count, len(names)):
        gains = np.maximum(reached[:, None] - losses, 0).mean(axis=0)
        gains[chosen] = -1
        best = int(np.argmax(gains / price))
        chosen.append(best)
        print(f"{len(chosen):4} {gains[best]:8.4f} {seconds[best]:7.2f} s  {names[best]}")
        reached = np.minimum(reached, losses[:, best])
    return [Drawn(*json.loads(names[each])) for each in chosen]


def main() -> None:
    """Measure or choose."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("measure", "choose"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.action == "measure":
        known = [Drawn(*each) for each in json.loads(CHOSEN.read_text())]
        for path in given.files:
            measure(path, known if given.chosen else drawn(given.draws), given.rows, given.keep, given.timeout)
        return
    chosen = choose(given.keep, given.count)
    if given.write:
        rows = [json.dumps([each.family, each.settings]) for each in chosen]
        CHOSEN.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
