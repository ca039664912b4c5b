"""The paired test keeps its level, and the correction for several looks removes what looking several times adds."""

from __future__ import annotations

import numpy as np

from pydaub.runs.paired import LEAST_DIFFERENT, SIGNIFICANCE, optimism, told_apart

BLOCKS, ROWS = 100, 50


def blocks(rows: np.ndarray) -> list[float]:
    return rows.reshape(BLOCKS, -1).mean(axis=1).tolist()


def test_equal_learners_are_rarely_told_apart_and_different_ones_mostly() -> None:
    rng = np.random.default_rng(0)
    alike = apart = 0
    for _ in range(400):
        right = rng.random(BLOCKS * ROWS) < 0.8
        flips = rng.random((2, right.size)) < 0.03
        first, second = (right ^ flip for flip in flips)
        worse = second & (rng.random(right.size) > 0.02)
        alike += told_apart(blocks(first), blocks(second))
        apart += told_apart(blocks(first), blocks(worse))
    assert alike <= 400 * SIGNIFICANCE * 2
    assert apart > 300


def test_a_few_rows_that_differ_tell_nothing() -> None:
    one = [0.5] * BLOCKS
    assert not told_apart(one, one)
    assert not told_apart(one, [0.0] * (LEAST_DIFFERENT - 1) + one[LEAST_DIFFERENT - 1 :])
    assert told_apart(one, [0.0] * 20 + one[20:])


def test_the_highest_of_equal_learners_is_corrected_to_their_true_score() -> None:
    rng = np.random.default_rng(1)
    naive, corrected = [], []
    for _ in range(60):
        scores = [blocks(rng.random(BLOCKS * ROWS) < 0.8) for _ in range(10)]
        best = max(np.mean(each) for each in scores)
        naive.append(best)
        corrected.append(best - optimism(scores))
    assert np.mean(naive) > 0.806
    assert abs(np.mean(corrected) - 0.8) < 0.004


def test_a_single_look_needs_no_correction_and_a_clear_winner_almost_none() -> None:
    rng = np.random.default_rng(2)
    good, bad = (blocks(rng.random(BLOCKS * ROWS) < right) for right in (0.9, 0.5))
    assert optimism([good]) == 0.0
    assert optimism([good, bad]) < 0.001
