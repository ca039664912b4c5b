"""Fits to whole curves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.isotonic import isotonic_regression

from pydaub import InputError
from pydaub.extensions.bounds.fitted import FittedBound, concave, isotonic

sizes = st.lists(st.integers(1, 5000), min_size=2, max_size=12, unique=True).map(sorted)
score = st.floats(0, 1, allow_subnormal=False)


@st.composite
def curves(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    places = draw(sizes)
    return places, [draw(score) for _ in places]


@given(curves())
def test_the_isotonic_fit_is_that_of_scikit_learn(points: tuple[list[int], list[float]]) -> None:
    assert isotonic(points[1]) == pytest.approx(isotonic_regression(points[1]), abs=1e-9)


@given(curves())
def test_the_concave_fit_is_the_least_squares_one(points: tuple[list[int], list[float]]) -> None:
    """As found by scipy's solver for non-negative least squares."""
    places, scores = points
    hinges = [np.minimum(places, knot) / places[-1] for knot in places[1:]]
    basis = np.column_stack([np.ones(len(places)), -np.ones(len(places)), *hinges])
    expected = basis @ nnls(basis, np.array(scores))[0]
    found = concave(places, scores)
    assert found == pytest.approx(expected, abs=1e-6)
    gains = [(b - a) / (n - m) for (m, n), (a, b) in zip(pairwise(places), pairwise(found), strict=True)]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(gains))
    assert gains[-1] >= -1e-9


def test_an_unknown_fit_is_refused() -> None:
    with pytest.raises(InputError, match="`fit` must be one of isotonic, concave, got 'cubic'"):
        FittedBound("cubic")
