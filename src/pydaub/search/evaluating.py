"""A leaderboard with the score on rows that the run has not seen."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils import _safe_indexing

from pydaub.runs.paired import standard_error
from pydaub.views.lines import NINE_OF_TEN

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

BLOCKS: Final = 20  # of rows, whose scores tell how noisy that of all rows is
FEWEST: Final = 10  # rows of a block
NEW: Final = ("test", "test_low", "test_high")


def with_test(board: pd.DataFrame, learner: str, score: Callable[[Any, Any], float], X: Any, y: Any) -> pd.DataFrame:
    """Return the leaderboard with the score of a learner on these rows, and its 90 % interval; NaN for all others.

    The interval follows from the scores of blocks of the rows, which are drawn with a fixed seed. It is NaN where there
    are too few rows, or a block cannot be scored.
    """
    found = score(X, y)
    room = NINE_OF_TEN * _noise(score, X, y)
    tested = board.assign(**dict.fromkeys(NEW, math.nan))
    tested.loc[tested["learner"] == learner, list(NEW)] = [found, found - room, found + room]
    return tested


def _noise(score: Callable[[Any, Any], float], X: Any, y: Any) -> float:
    """Return the standard error of a score; NaN if unknown."""
    count = min(BLOCKS, len(y) // FEWEST)
    if count < 1:
        return math.nan
    blocks = [np.sort(rows) for rows in np.array_split(np.random.default_rng(0).permutation(len(y)), count)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a block may lack a class
            parts = [score(_safe_indexing(X, rows), _safe_indexing(y, rows)) for rows in blocks]
    except ValueError:
        return math.nan
    error = standard_error(parts)
    return math.nan if error is None else error
