"""The shares of rows on which two learners differ, on invented predictions."""

from __future__ import annotations

import agreement
import numpy as np


def test_pairs_of_one_learner_and_of_two_are_told_apart() -> None:
    """Of 100 rows, one learner is right on the first ones, the other on the last ones."""
    small, *_, large = agreement.SIZES
    places = np.arange(100)
    right = {
        ("a", small): places < 50,
        ("a", large): places < 80,
        ("b", small): places >= 50,
        ("b", large): places >= 40,
    }
    alone, two = agreement.lines("data", right)
    assert alone[:5] == ["data", "one learner, two sizes", "20 %", "10 %", "30 %"]
    assert two[2:5] == ["60 %"] * 3
    assert float(alone[5]) < float(two[5])
    assert float(alone[-1]) > float(two[-1])
