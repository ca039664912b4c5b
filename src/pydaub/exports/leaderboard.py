"""The learners of a run as a data frame: one row for each, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from pydaub.records import Measurement
from pydaub.runs.certificate import percent
from pydaub.runs.forecasts import forecasts
from pydaub.runs.standing import standing

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydaub.runs.account import Account, Status
    from pydaub.runs.standing import Standing

COLUMNS: Final = ("learner", "score", "size", "likely", "at_best", "seconds", "status", "remark")
BASELINES: Final = frozenset({"dummy", "dummy-median", "weka-zero-r"})  # they know nothing of a row
WORDS: Final = 8  # of a remark, at most


def leaderboard(account: Account, baselines: Collection[str] = BASELINES) -> pd.DataFrame:
    """Return a row for each learner: the leader first, then by score, baselines last.

    The score is that with most rows, `size` how many these were, and `seconds` the training time of all sizes. Scores
    of different sizes are comparable only roughly: most learners gain with more rows. `likely` and `at_best` are the
    50 % and 95 % quantiles of the forecast of the score with all rows; NaN for a learner that has had them.
    """
    found, ahead = standing(account), forecasts(account)
    measured = _with_most_rows(account)
    floor = max((measured[name][1] for name in baselines if name in measured), default=None)
    rows = []
    for name, status in account.statuses().items():
        size, score = measured.get(name, (0, None))
        if account.leader is not None and name == account.leader.learner:
            size, score = account.leader.size, account.result.valid_score
        remark = _remark(status, found, name, size, account.full_size)
        if status.word != "failed" and name in baselines:
            remark = "a baseline"
        elif status.word != "failed" and score is not None and floor is not None and score <= floor:
            remark = "no better than a baseline"
        forecast = None if status.word == "failed" else ahead.of(name)
        expected = (forecast.likely, forecast.bound) if forecast else (None, None)
        words = " ".join(remark.split()[:WORDS])
        rows.append((name, score, size, *expected, account.seconds(name), status.word, words))
    numbers = dict.fromkeys(("score", "likely", "at_best", "seconds"), float)
    board = pd.DataFrame(rows, columns=list(COLUMNS)).astype({**numbers, "size": int})
    leads = board["learner"] != (account.leader.learner if account.leader else None)
    last = leads & board["learner"].isin(list(baselines))
    order = board.assign(leads=leads, last=last).sort_values(
        ["leads", "last", "score", "size"], ascending=[True, True, False, False], kind="stable"
    )
    return board.loc[order.index].reset_index(drop=True)


def _with_most_rows(account: Account) -> dict[str, tuple[int, float]]:
    """Return each learner's largest size that was measured, and its score there."""
    found: dict[str, tuple[int, float]] = {}
    for allocation, outcome in account.outcomes.items():
        if isinstance(outcome, Measurement) and allocation.size >= found.get(allocation.learner, (0, 0.0))[0]:
            found[allocation.learner] = (allocation.size, outcome.valid_score)
    return found


def _remark(status: Status, found: Standing, name: str, size: int, full: int) -> str:
    """Return what a person should know of a learner, in a few words."""
    if status.word == "failed":
        return _failure(status.why)
    if status.word == "dropped":
        return "dropped by hand"
    if not size:
        return "not measured"
    if name in found.ties:
        return "as good as the leader, within chance"
    if name in found.possible:
        return f"{percent(found.chances[name])} chance to win with all rows"
    return f"has seen {100 * size / full:.0f} % of the rows" if size < full else ""


def _failure(why: str) -> str:
    """Return why a learner failed; for limits, what gives it another chance."""
    kind = why.partition(":")[0]
    if kind in {"timeout", "memory"}:
        return f"{kind}: a higher `learner_{kind}` may help"
    words = why.removeprefix("error: ").split()
    return " ".join(words) if len(words) <= WORDS else f"{' '.join(words[:WORDS])}…"
