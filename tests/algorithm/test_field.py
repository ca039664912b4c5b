"""Laws of the forecasts of a run's learners, and of what follows for a leader."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.calibrate import measured, replayed
from pydaub import Measurement, Scores
from pydaub.algorithm.curve import Curve
from pydaub.algorithm.field import HALVINGS, Contender, Field, margin, none_better

SIZES = (100, 400, 1600, 6400)
CONFIDENCE = 0.95


def field_of(curves: dict[str, list[float]], scores: Scores | None = None, sizes: tuple[int, ...] = SIZES) -> Field:
    """Return the field of learners with these scores at the first sizes."""
    known = {
        name: Curve(name, sizes[: len(some)], tuple(Measurement(None, score, 1.0) for score in some))
        for name, some in curves.items()
    }
    field = Field(known, sizes, lambda _: None, scores or Scores(rows=1000))
    for count in range(1, len(sizes) + 1):
        for name, curve in known.items():
            if len(curve.sizes) >= count:
                field.take(name, count)
    return field


score = st.floats(0.01, 0.99)


def contenders(curves: list[list[float]]) -> list[Contender]:
    """Return learners with these scores."""
    field = field_of({str(place): curve for place, curve in enumerate(curves)})
    return [found for place in range(len(curves)) if (found := field.contender(str(place)))]


races = st.lists(st.lists(score, min_size=1, max_size=3), min_size=1, max_size=5).map(contenders)


@given(races, score, score)
def test_a_higher_score_is_less_likely(rivals: list[Contender], one: float, other: float) -> None:
    low, high = sorted((one, other))
    for rival in rivals:
        assert 0 <= rival.beats(high) <= rival.beats(low) <= 1
        assert 0 <= rival.forecast.chance(high) <= rival.forecast.chance(low) <= 1
        assert 0 <= rival.beats(rival) <= 1


@given(races, score)
def test_that_none_is_better_is_no_less_likely_than_if_each_excluded_the_others(
    rivals: list[Contender], best: float
) -> None:
    chances, found = [rival.beats(best) for rival in rivals], none_better(rivals, best)
    assert 1 - sum(chances) - 0.02 <= found <= 1 - max(chances) + 0.02  # nine places stand for a distribution
    assert none_better([], best) == pytest.approx(1.0)
    assert none_better(rivals[1:], best) >= found - 1e-9, "one rival less never makes a choice less safe"


@given(races, score)
def test_the_margin_is_the_smallest_that_is_covered(rivals: list[Contender], best: float) -> None:
    most = 1 - best
    found = margin(rivals, best, most, CONFIDENCE)
    assert 0 <= found <= most
    assert none_better(rivals, best + found) >= CONFIDENCE - 1e-9 or found == most
    below = found - 2 * most / 2**HALVINGS
    assert below <= 0 or none_better(rivals, best + below) < CONFIDENCE + 1e-6


def test_learners_that_went_on_tell_what_the_others_may_expect() -> None:
    waiting = [0.7, 0.72]
    rose, stayed = [0.7, 0.8, 0.9, 0.95], [0.7, 0.7, 0.7, 0.7]
    risen, same = (field_of({"other": curve, "waiting": waiting}).contender("waiting") for curve in (rose, stayed))
    assert risen is not None
    assert same is not None
    assert risen.beats(0.8) > same.beats(0.8)


def test_slopes_are_over_two_doublings_as_recorded_ones_are() -> None:
    """Noise of a small step would look like a steep curve."""
    dense, sizes = [0.6, 0.65, 0.7, 0.69, 0.71], (100, 150, 200, 300, 400)
    found = field_of({"a": dense}, sizes=(*sizes, 6400)).forecast("a")
    coarse = field_of({"a": [0.6, 0.71]}, sizes=(100, 400, 6400)).forecast("a")
    assert found is not None
    assert coarse is not None
    assert found.slope == pytest.approx(coarse.slope)
    close = field_of({"a": [0.6, 0.9]}, sizes=(300, 400, 6400)).forecast("a")
    assert close is not None
    assert close.slope is None, "no size is at most half the last one"


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_errors_does_not_matter(unit: float) -> None:
    errors = {"a": [-0.5, -0.4, -0.3, -0.2], "b": [-0.6, -0.5, -0.32], "c": [-0.7]}
    scores, chances = Scores("neg_mean_squared_error", 600, 0.0, proportion=False), []
    for scale in (1.0, unit):
        field = field_of({name: [scale * each for each in some] for name, some in errors.items()}, scores)
        chances.append([each.beats(-0.2 * scale) for name in "bc" if (each := field.contender(name))])
    assert chances[0] == pytest.approx(chances[1], rel=1e-6)


def test_noise_of_other_scores_is_what_pairs_tell() -> None:
    scores = Scores("r2", 600, 1.0, proportion=False)
    field = field_of({"a": [0.5]}, scores)
    sure = field.forecast("a")
    field.noise = 0.3
    unsure = field.forecast("a")
    assert sure is not None
    assert unsure is not None
    assert (sure.noise, unsure.noise) == (0.0, 0.3)
    assert unsure.quantile(0.95) > sure.quantile(0.95)
    assert math.isclose(unsure.likely, sure.likely)


@pytest.mark.slow("random")
def test_on_our_own_curves_claims_are_as_true_as_they_say() -> None:
    """benchmarks/README.md has the figures on all curves, with data sets left out."""
    found = [replayed(one) for one in [*measured()][::6]]
    margins = [each for one in found for each in one.margins if each["end"]]
    assert sum(each["covered"] for each in margins) / len(margins) >= CONFIDENCE - 0.05
    assert sum(each["margin"] for each in margins) / len(margins) < 0.2, "and it is not so by claiming nothing"
    claims = [each for one in found for each in one.claims if each["strategy"].startswith("frugal")]
    off = sum(each["said"] - each["held"] for each in claims) / len(claims)
    assert abs(off) < 0.1
