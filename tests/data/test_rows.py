from __future__ import annotations

import numpy as np
import pytest

from pydaub.data.rows import MatrixRows, OwnMatrixRows


@pytest.mark.parametrize("columns", [1, 8, 21])
def test_a_matrix_that_nobody_else_uses_is_divided_in_place(columns: int) -> None:
    values = np.random.default_rng(columns).normal(size=(50, columns))
    order = np.random.default_rng(0).permutation(50)
    for first, second in ((order[:30], order[30:]), (order[:7], order[40:]), (order, order[:0])):
        expected, held = MatrixRows(values).divided(first, second), values.copy()
        found = OwnMatrixRows(held).divided(first, second)
        for rows, wanted in zip(found, expected, strict=True):
            assert np.array_equal(rows.held, wanted.held)
            assert rows.held.flags.c_contiguous
            assert not len(rows) or np.shares_memory(rows.held, held)
