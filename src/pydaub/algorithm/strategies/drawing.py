"""What a further learner of a family or space brings on average."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RECENT: Final = 8  # configurations, at least, by which further ones are judged
LEAST: Final = 4  # scores from which their spread is judged
ROOT_TWO, ROOT_TWO_PI = math.sqrt(2), math.sqrt(2 * math.pi)


def expected_gain(scores: Sequence[float], best: float, noise: float) -> float:
    """Return by how much one further configuration exceeds the best score, on average.

    Scores are taken as normally distributed around their median, with the spread of their better half: bad
    configurations say little about how good another one may be.

    Parameters
    ----------
    scores
        What the configurations so far will probably reach on all rows.
    best
        Best score on all rows so far, of any learner.
    noise
        Standard error of a score, which is no difference between configurations.
    """
    if len(scores) < LEAST:
        return 0.0
    middle = median(scores)
    variance = fmean((score - middle) ** 2 for score in scores if score >= middle) - noise**2
    if variance <= 0:
        return 0.0
    deviation = math.sqrt(variance)
    distance = (best - middle) / deviation
    density, beyond = math.exp(-(distance**2) / 2) / ROOT_TWO_PI, 0.5 * math.erfc(distance / ROOT_TWO)
    return max(deviation * (density - distance * beyond), 0.0)
