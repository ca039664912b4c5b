"""The seconds of a training that was not recorded, from those of the same learner on fewer rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALLEST_TIME: Final = 0.01  # seconds; shorter times are too noisy to fit an exponent to
EXPONENTS: Final = (0.5, 3.0)  # limits of the exponent in cost ~ rows ** exponent


def extended(times: Sequence[tuple[int, float]], full_size: int) -> float:
    """Estimate the seconds that a learner takes on `full_size` rows.

    Parameters
    ----------
    times
        Pairs of size and seconds, the largest size last. An exponent is fitted to them on a log-log scale and limited
        to `EXPONENTS`; it is 1 if fewer than two times are long enough.
    full_size
        Number of rows to extrapolate to.
    """
    size, seconds = times[-1]
    points = [(math.log(n), math.log(s)) for n, s in times if s >= SMALLEST_TIME]
    exponent = 1.0
    if len(points) > 1:
        mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        exponent = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    least, most = EXPONENTS
    return float(seconds * (full_size / size) ** min(max(exponent, least), most))
