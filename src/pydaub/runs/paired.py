"""Compare learners that were scored on the same rows, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNIFICANCE: Final = 0.05
LEAST_DIFFERENT: Final = 6  # blocks; with fewer, equal learners differ as one-sidedly in more than one case of twenty
DRAWS: Final = 1000


def told_apart(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the scores of two learners on the same blocks differ by more than chance (a paired t-test)."""
    import numpy as np  # noqa: PLC0415  # commands that need neither start faster
    from scipy.special import stdtrit  # noqa: PLC0415

    differences = np.subtract(first, second)
    if np.count_nonzero(differences) < LEAST_DIFFERENT:
        return False
    count = len(differences)
    mean = differences.sum() / count
    around = differences - mean
    error = np.sqrt(around @ around / (count - 1) / count)  # `np.std` takes several times as long for few numbers
    return bool(abs(mean) > stdtrit(count - 1, 1 - SIGNIFICANCE / 2) * error)


def standard_error(parts: Sequence[float]) -> float | None:
    """Return the standard error of the mean of these blocks; None where there are too few."""
    if len(parts) < LEAST_DIFFERENT:
        return None
    import numpy as np  # noqa: PLC0415  # as above

    return float(np.std(parts, ddof=1) / np.sqrt(len(parts)))


def optimism(parts: Sequence[Sequence[float]]) -> float:
    """Return by how much the highest of several scores is too high on average, because it was chosen for being so.

    Estimated by the bootstrap: choose the best learner on blocks drawn with replacement, and see by how much it is
    better there than on all blocks.
    """
    if len(parts) < 2:  # noqa: PLR2004  # a single look
        return 0.0
    import numpy as np  # noqa: PLC0415  # as above

    scores = np.asarray(parts)
    count = scores.shape[1]
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=DRAWS) @ scores.T / count
    best = drawn.argmax(axis=1)
    return max(float(np.mean(drawn[np.arange(DRAWS), best] - scores.mean(axis=1)[best])), 0.0)
