"""What a further configuration brings on average."""

from __future__ import annotations

import math
import random

import pytest

from cases import seeds
from pydaub.algorithm.strategies.drawing import LEAST, expected_gain


def sample(seed: int, count: int = 200, deviation: float = 0.02) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0.8, deviation) for _ in range(count)]


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_it_is_what_a_draw_exceeds_the_best_by(seed: int) -> None:
    scores = sample(seed, 20_000)
    best = 0.82
    rng = random.Random(-seed)
    found = sum(max(rng.gauss(0.8, 0.02) - best, 0.0) for _ in range(20_000)) / 20_000
    assert expected_gain(scores, best, 0.0) == pytest.approx(found, rel=0.15)


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_it_falls_with_the_best_and_the_noise_and_is_never_negative(seed: int) -> None:
    scores = sample(seed, 20)
    gains = [expected_gain(scores, best, 0.0) for best in (0.78, 0.8, 0.82, 0.9, 5.0)]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) >= 0
    assert expected_gain(scores, 0.82, 0.01) < expected_gain(scores, 0.82, 0.0)
    assert expected_gain(scores, 0.82, 1.0) == 0


def test_bad_configurations_do_not_make_it_larger() -> None:
    scores = sorted(sample(0, 20))
    worse = [score - 0.3 * (place < 5) for place, score in enumerate(scores)]
    assert expected_gain(worse, 0.82, 0.0) == expected_gain(scores, 0.82, 0.0) > 0


def test_too_few_or_equal_scores_promise_nothing() -> None:
    assert expected_gain([0.5] * (LEAST - 1), 0.1, 0.0) == 0
    assert expected_gain([0.5] * 9, 0.1, 0.0) == 0
    assert math.isfinite(expected_gain([1e9, -1e9, 0.0, 5.0], 0.0, 0.0))
