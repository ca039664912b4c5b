"""Rows that the tests of WEKA share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

J48 = "weka.classifiers.trees.J48"


def mixed() -> tuple[pd.DataFrame, Any]:
    """Return 400 rows whose class depends on a category and on a number."""
    random = np.random.default_rng(1)
    colour, size = random.choice(["red", "green", "blue"], 400), random.normal(size=400)
    frame = pd.DataFrame({"colour": colour, "size": size, "flag": random.random(400) > 0.5})
    return frame, np.where((colour == "green") ^ (size > 0), "left", "right")
