"""The monotone regression spline."""

from __future__ import annotations

import math
import random
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from scipy.optimize import lsq_linear

from pydaub import Curve, Daub, Measurement, Schedule, Scores
from pydaub.extensions.bounds import spline
from pydaub.extensions.bounds.spline import DEGREE, RegressionSpline, fitted_end

SIZES = (500, 1000, 1500, 2500, 4000, 7500, 11500)
sizes = st.lists(st.integers(1, 50_000), min_size=2, max_size=11, unique=True).map(sorted)


@st.composite
def curves(draw: st.DrawFn) -> tuple[tuple[int, ...], list[float]]:
    places = draw(sizes)
    return tuple(places), [draw(st.floats(0, 1, allow_subnormal=False)) for _ in places]


def curve_of(scores: list[float], places: tuple[int, ...] = SIZES) -> Curve:
    return Curve("any", places[: len(scores)], tuple(Measurement(1.0, score, 0.0) for score in scores))


@given(curves(), st.none() | st.integers(10, 10**6))
def test_the_line_never_falls_and_begins_among_the_scores(
    points: tuple[tuple[int, ...], list[float]], rows: int | None
) -> None:
    places, scores = points
    curve = curve_of(scores, places)
    bound = RegressionSpline(rows, train_cap=False)
    here, there = bound(curve, places[-1]), bound(curve, 2 * places[-1])
    assert min(scores) - 1e-12 <= here <= max(scores) + 1e-12
    assert there >= here


@given(curves(), st.sampled_from([1e-6, 1e-2, 1.0, 1e3]))
def test_for_one_penalty_it_is_the_least_squares_fit(
    points: tuple[tuple[int, ...], list[float]], penalty: float
) -> None:
    """As found by another solver, with coefficients that are bounded instead of split; value and derivative."""
    places, scores = points
    variances = [score * (1 - score) / 100 + 1e-4 for score in scores]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spline, "PENALTIES", (penalty,))
        value, slope = fitted_end(places, scores, variances, known=True)
    x, weights = np.log(places), 1 / np.sqrt(variances)
    knots = np.concatenate([[x[0]] * DEGREE, x, [x[-1]] * DEGREE])
    values = BSpline.design_matrix(x, knots, DEGREE).toarray()
    count = values.shape[1]
    centres = np.array([knots[place + 1 : place + DEGREE + 1].mean() for place in range(count)])
    second = np.diff(np.diff(np.eye(count), axis=0) / np.diff(centres)[:, None], axis=0)
    second /= np.sqrt(np.diff((centres[1:] + centres[:-1]) / 2))[:, None]
    steps = np.tril(np.ones((count, count)))
    stacked = np.vstack([weights[:, None] * values, math.sqrt(penalty * fmean(weights**2)) * second]) @ steps
    wanted = np.append(weights * scores, np.zeros(len(second)))
    lower = np.append(-np.inf, np.zeros(count - 1))
    found = lsq_linear(stacked, wanted, (lower, np.inf), tol=1e-14, max_iter=1000)
    coefficients = steps @ found.x
    smooth = BSpline(knots, coefficients, DEGREE)

    assert slope * places[-1] == pytest.approx(float(smooth.derivative()(x[-1])), abs=2e-3 * (1 + 1 / np.diff(x)[-1]))
    expected = min(max(float(smooth(x[-1])), min(scores)), max(scores))
    assert value == pytest.approx(expected, abs=2e-3)


def test_more_validation_rows_follow_the_scores_more_closely() -> None:
    """With very many, the fit goes through scores that never fall; with few, one odd score changes little."""
    scores = [0.6, 0.7, 0.75, 0.78, 0.8, 0.815, 0.9]
    far, near = RegressionSpline(10, train_cap=False), RegressionSpline(10**9, train_cap=False)
    assert near(curve_of(scores), SIZES[-1]) == pytest.approx(0.9, abs=1e-3)
    assert far(curve_of(scores), SIZES[-1]) < 0.89


def test_with_noise_its_end_is_nearer_to_the_truth_than_the_last_score() -> None:
    rng, rows = random.Random(0), 200
    wrong: dict[str, list[float]] = {"fit": [], "score": []}
    truth = [0.85 - 0.4 * (500 / size) ** 0.5 * 0.5 for size in SIZES]
    for _ in range(200):
        scores = [fmean(rng.random() < share for _ in range(rows)) for share in truth]
        wrong["score"].append((scores[-1] - truth[-1]) ** 2)
        wrong["fit"].append((RegressionSpline(rows, train_cap=False)(curve_of(scores), SIZES[-1]) - truth[-1]) ** 2)
    assert fmean(wrong["fit"]) < 0.8 * fmean(wrong["score"])


def test_rows_count_only_where_a_score_is_a_share_of_them() -> None:
    made = {
        scores: Daub(["a"], Schedule((1, 2)), "spline", scores=scores)._bound  # noqa: SLF001  # what was made
        for scores in (Scores(rows=500), Scores("r2", 500, proportion=False), Scores(rows=500, cross_validated=True))
    }
    assert [bound.rows for bound in made.values()] == [500, None, None]  # type: ignore[attr-defined]
