"""The leaderboard as a data frame: one row for each learner, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from pydaub.views.lines import BASELINES, lines
from pydaub.views.portraits import peak

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydaub.runs.account import Account

NUMBERS: Final = ("expected", "low", "high", "score", "size", "seconds", "predict_ms", "memory_mb")
COLUMNS: Final = ("learner", *NUMBERS, "status", "remark")


def leaderboard(account: Account, baselines: Collection[str] = BASELINES) -> pd.DataFrame:
    """Return a row for each learner: the leader first, then by expected score with all rows, baselines last.

    `expected`, `low` and `high` are the score with all rows and its 90 % interval: measured, or forecast for a learner
    that has had fewer. `score` is the one measured with `size` rows, `seconds` the training time of all sizes,
    `predict_ms` the milliseconds that 1,000 rows take to predict, and `memory_mb` the most that a training took.
    """
    rows = [
        (
            line.learner,
            *(line.expected, line.low, line.high, line.valid, line.size if line.valid is not None else 0),
            *(line.seconds, line.predict, peak(account.curve(line.learner))),
            *(line.status, line.remark),
        )
        for line in lines(account, baselines)
    ]
    kinds = {name: int if name == "size" else float for name in NUMBERS}
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(kinds)
