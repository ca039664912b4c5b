"""Fit what each learner of the portfolios costs and promises, to the measured curves, and write it into the package.

    python experiments/costs.py [--check]

The seconds of a learner are a power of the rows, of the columns and of the classes. The exponents of columns and
classes are drawn towards those of all learners together, because there are only ten data sets. The strength of a
learner is the mean, over the tables, of the share of what the best learner gains over the best guess that it gains too,
to the power of 16: about how often it is among the best. A learner that did not end counts as the guess. `--check` fits
to half of the data sets and prints how far the others are from it, by a factor.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from pydaub.learners.costs import COSTS, Cost, kind_of
from pydaub.learners.sklearn import CLASSIFIERS

MEASURED: Final = Path(__file__).parent / "measured"
LEAST_SECONDS: Final = 0.001
ROWS: Final = (1.0, 3.0)  # limits of the exponent of the rows: each row is read, at least
LARGE: Final = 0.25  # share of the largest size from which trainings count; below, what does not grow prevails
STRENGTH: Final = 16  # power of the share of what the best learner gains
GUESS: Final = {"sklearn": "dummy", "weka": "weka-zero-r"}
FEW: Final = 3.0  # weight of the exponents of all learners together, in data sets


def measured() -> pd.DataFrame:
    """Return learner, data, rows, columns, classes and seconds of every training that ended."""
    tables = []
    for path in sorted(MEASURED.glob("*.csv")):
        about, table = json.loads(path.with_suffix(".json").read_text()), pd.read_csv(path)
        table = table[table["failure"].isna() & (table["size"] >= LARGE * table["size"].max())]
        known = {"data": about["data"], "columns": about["features"], "classes": about["classes"] or 1}
        tables.append(table.assign(**known))
    found = pd.concat(tables)
    return found.assign(seconds=found["seconds"].clip(LEAST_SECONDS))


def fitted(trainings: pd.DataFrame) -> dict[str, Cost]:
    """Return the cost of each learner."""
    logs = pd.DataFrame({name: np.log(trainings[name]) for name in ("size", "columns", "classes", "seconds")})
    logs = logs.assign(learner=trainings["learner"], data=trainings["data"])
    centred = logs.drop(columns=["learner", "data"]) - logs.groupby("learner")[list(logs.columns[:4])].transform("mean")
    everywhere = np.linalg.lstsq(centred[["size", "columns", "classes"]], centred["seconds"], rcond=None)[0]
    found = {}
    for name, rows in logs.groupby("learner"):
        known, y = rows[["size", "columns", "classes"]].to_numpy(), rows["seconds"].to_numpy()
        weight = FEW * len(rows) / rows["data"].nunique()
        middle = known.mean(axis=0)
        known = known - middle
        normal = known.T @ known + weight * np.diag([0.0, 0.1, 0.1])
        exponents = np.linalg.solve(normal, known.T @ (y - y.mean()) + weight * np.array([0.0, 0.1, 0.1]) * everywhere)
        exponents[0] = np.clip(exponents[0], *ROWS)
        exponents[1:] = exponents[1:].clip(0.0, 2.0)
        factor = float(np.exp(y.mean() - middle @ exponents))
        found[str(name)] = Cost(*(float(f"{value:.3g}") for value in (factor, *exponents)))
    return found


def strengths() -> dict[str, float]:
    """Return about how often each learner is among the best with all rows of a table."""
    shares = []
    for path in sorted(MEASURED.glob("*.csv")):
        guess, table = GUESS[json.loads(path.with_suffix(".json").read_text())["portfolio"]], pd.read_csv(path)
        ended = table[table["failure"].isna() & (table["size"] == table["size"].max())].set_index("learner")
        scores = ended["valid_score"].reindex(table["learner"].unique()).fillna(ended["valid_score"][guess])
        shares.append(((scores - scores[guess]) / (scores.max() - scores[guess])).clip(0.0) ** STRENGTH)
    return dict(pd.concat(shares).groupby(level=0).mean().round(3))


def misses(trainings: pd.DataFrame, costs: dict[str, Cost]) -> pd.Series[float]:
    """Return the logarithm of each training's seconds over its cost, up to a factor that all of a table share."""
    cost = [
        costs[row.learner].seconds(row.size, row.columns, row.classes)
        for row in trainings[["learner", "size", "columns", "classes"]].itertuples()
    ]
    missed = np.log(trainings["seconds"] / cost)
    return missed - missed.groupby(trainings["data"]).transform("median")


def main() -> None:
    """Fit and write, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fit to half of the data sets and check on the others")
    trainings = measured()
    if parser.parse_args().check:
        trainings = trainings[~trainings["learner"].str.startswith("weka")]
        names = sorted(trainings["data"].unique())
        half = trainings["data"].isin(names[::2])
        missed = pd.concat(misses(trainings[~side], fitted(trainings[side])) for side in (half, ~half))
        print("off by a factor of", dict(np.exp(missed.abs().quantile([0.5, 0.9, 0.99])).round(1)))
        return
    made = {recipe.name: kind_of(recipe.make()) for recipe in CLASSIFIERS}
    strength = strengths()
    costs = {name: (cost, *made.get(name, ("", 1.0)), strength[name]) for name, cost in fitted(trainings).items()}
    lines = (f"  {json.dumps(name)}: {json.dumps(cost)}" for name, cost in sorted(costs.items()))
    COSTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
