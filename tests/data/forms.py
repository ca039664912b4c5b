"""Small data sets of every form that users pass in."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

ROWS: Final = 60
RNG: Final = np.random.default_rng(7)
NUMBERS: Final = RNG.normal(size=(ROWS, 4))
GAPS: Final = np.where(RNG.random((ROWS, 4)) < 0.2, np.nan, NUMBERS)
LABELS: Final = np.array(["no", "yes", "perhaps"] * 20)

FRAME: Final = pd.DataFrame(
    {
        "number": NUMBERS[:, 0],
        "gaps": GAPS[:, 1],
        "small": np.arange(ROWS, dtype=np.int8) % 7,
        "nullable": pd.array([1, 2, None] * 20, dtype="Int64"),
        "flag": [True, False] * 30,
        "maybe": pd.Series([True, None, False] * 20, dtype=object),
        "text": ["a", "b", None] * 20,
        "objects": pd.Series(["ü", None, "z" * 40] * 20, dtype=object),
        "category": pd.Categorical(["x", None, "y"] * 20, categories=["y", "x", "never"]),
        "ranks": pd.Categorical([1, 3, 2] * 20, ordered=True),
        "when": pd.date_range("2020-01-01", periods=ROWS, freq="h"),
        "day": [date(2020, 1, 1 + i % 28) for i in range(ROWS)],
    },
    index=range(ROWS, 0, -1),
)
POLARS: Final = pl.DataFrame(
    {
        "number": NUMBERS[:, 0],
        "whole": [1, None, 3] * 20,
        "flag": [True, None, False] * 20,
        "text": ["a", None, "ü"] * 20,
        "category": pl.Series(["x", None, "y"] * 20, dtype=pl.Categorical),
        "day": [date(2020, 1, 1 + i % 28) for i in range(ROWS)],
    }
)
FORMS: Final[dict[str, Any]] = {
    "float64": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "gaps": GAPS,
    "fortran": np.asfortranarray(NUMBERS),
    "int16": np.arange(ROWS * 3, dtype=np.int16).reshape(ROWS, 3),
    "bool": NUMBERS > 0,
    "csr": sparse.random(ROWS, 9, 0.3, format="csr", random_state=1),
    "csc": sparse.random(ROWS, 9, 0.3, format="csc", random_state=2, dtype=np.float32),
    "empty": sparse.csr_array((ROWS, 9)),
    "pandas": FRAME,
    "polars": POLARS,
    "texts": np.array([["a", "b"], ["c", "d"]] * 30),
    "objects": np.array([["a", 1.5], [None, 2.5]] * 30, dtype=object),
    "object numbers": np.array([[1, 1.5], [None, 2.5]] * 30, dtype=object),
}


def equal(one: Any, other: Any) -> bool:
    """Whether two X have the same type and exactly the same values."""
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
        return True
    if isinstance(one, pl.DataFrame):
        return one.schema == other.schema and one.equals(other)
    if sparse.issparse(one):
        same = all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("data", "indices", "indptr"))
        return same and type(one) is type(other) and one.shape == other.shape and one.dtype == other.dtype
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
