"""The second pass converts columns as `load` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pydaub.data.coercion import laid_out
from pydaub.data.formats.arrow import frame
from pydaub.data.outofcore.scatter import TARGET, _rows_of
from pydaub.data.outofcore.survey import Survey, alike
from pydaub.data.schema import Column

NAN = float("nan")
COLUMNS: list[tuple[Any, pa.DataType, str]] = [
    ([1.5, None, NAN, -0.0], pa.float64(), "numeric"),
    ([1.5, None, NAN, 3.0], pa.float32(), "numeric"),
    ([2**60 + 1, None, -1, 0], pa.int64(), "numeric"),
    ([2**60 + 1, 7, -1, 0], pa.int64(), "numeric"),
    ([255, 7, 1, 0], pa.uint8(), "numeric"),
    ([True, None, False, True], pa.bool_(), "boolean"),
    ([True, True, False, True], pa.bool_(), "boolean"),
    ([1, 0, 0, 1], pa.int8(), "boolean"),
    (["yes", "no", None, "yes"], pa.string(), "boolean"),
    (["1", "2.5", None, "-3"], pa.string(), "numeric"),
    (["a", None, "", "ä"], pa.string(), "text"),
    (["a", None, "", "ä"], pa.large_string(), "categorical"),
    ([1.0, None, 2.5, 7.0], pa.float64(), "categorical"),
    ([10**15, None, -1, None], pa.timestamp("us"), "date"),
    (["2020-01-02", None, "1969-01-01", None], pa.string(), "date"),
]


@pytest.mark.parametrize(("values", "kind", "column"), COLUMNS)
def test_a_column_is_converted_as_by_load_whatever_its_type(values: Any, kind: pa.DataType, column: Any) -> None:
    block = pa.table({"x": pa.array(values, kind), "text": ["t"] * 4, "y": [0, 1, None, 1]})
    columns = (Column("x", column), Column("text", "text"))
    labels = np.array([0, 1])
    found = Survey({}, columns, "frame", "", "classification", labels, (1, 2), "y", 4, 8, ())
    made, codes = _rows_of(block, found, "here")
    kept = frame(block, "here").iloc[[0, 1, 3]].reset_index(drop=True)
    assert made.drop_columns([TARGET]).equals(alike(laid_out(kept, columns, "frame").held, columns))
    assert codes.tolist() == [0, 1, 1]
