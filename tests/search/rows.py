"""Rows with columns of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd


def table(seed: int = 0, rows: int = 240) -> pd.DataFrame:
    """Return rows with a column of every kind, as they come from a file: dates are text."""
    random = np.random.default_rng(seed)
    number, city = random.normal(size=rows), random.choice(["Rome", "Oslo", "Bern"], rows)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**7, rows), unit="s")
    return pd.DataFrame(
        {
            "row_id": np.arange(rows),
            "number": np.where(random.random(rows) < 0.1, np.nan, number),
            "city": city,
            "day": when.strftime("%Y-%m-%d %H:%M:%S"),
            "smokes": random.choice(["yes", "no"], rows),
            "zip": random.integers(10, 15, rows),
            "customer": random.integers(0, 40, rows),
            "same": 7,
            "label": np.where(number + (city == "Rome") + random.normal(size=rows) / 3 > 0, "stays", "goes"),
        }
    )
