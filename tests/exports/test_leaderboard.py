"""The leaderboard has a row for each learner, in an order that does not mislead."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from pydaub import Account, Measurement
from pydaub.exports.leaderboard import COLUMNS, leaderboard
from pydaub.runs.journal import read
from pydaub.views.lines import WORDS

JOURNALS = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
@pytest.mark.parametrize("share", [0.3, 0.6, 1.0])
def test_every_prefix_of_a_run_has_a_board(journal: Path, share: float) -> None:
    """One row for each learner: the leader first, then by score. Failures have a reason, remarks are short."""
    events = read(journal)
    account = Account.of(events[: max(1, int(share * len(events)))])
    baseline = account.learners[0]
    board = leaderboard(account, {baseline})
    assert tuple(board.columns) == COLUMNS
    assert sorted(board["learner"]) == sorted(account.learners)
    assert board["remark"].map(lambda words: len(words.split())).max() <= WORDS
    assert set(board["status"]) <= {status.word for status in account.statuses().values()}
    if account.leader is not None:
        first = board.iloc[0]
        assert (first["learner"], first["size"]) == (account.leader.learner, account.leader.size)
        assert first["score"] == account.result.valid_score
        if account.leader.learner != baseline:
            assert board["learner"].iloc[-1] == baseline
    others = board.iloc[1:]
    racing = others.loc[(others["learner"] != baseline) & ~others["status"].isin(["failed", "dropped"])]
    assert racing["expected"].dropna().is_monotonic_decreasing
    assert racing["expected"].isna().is_monotonic_increasing, "those of which nothing is known come last"
    assert ((board["low"] <= board["expected"]) & (board["expected"] <= board["high"]) | board["expected"].isna()).all()
    assert (board.loc[board["status"] == "failed", "remark"] != "").all()
    measured = {each.learner for each, outcome in account.outcomes.items() if isinstance(outcome, Measurement)}
    assert set(board.loc[board["score"].notna(), "learner"]) == measured
    assert (board["seconds"] >= 0).all()


def test_a_limit_that_was_exceeded_is_named() -> None:
    for kind in ("timeout", "memory"):
        board = boards_with(kind)
        assert re.fullmatch(f"{kind}: a higher `learner_{kind}` may help", board["remark"].iloc[-1])


def boards_with(kind: str) -> pd.DataFrame:
    """Return the board of a run one of whose learners failed in this way."""
    from pydaub import Daub, Evaluated, Failure, Schedule  # noqa: PLC0415  # for this alone

    account = Account(Daub(["a", "b"], Schedule((10, 20))), held=True)
    while not account.strategy.failures:
        asked = account.ask()
        assert asked is not None
        bad = asked.allocation.learner == "b"
        outcome = Failure(kind, "after 8.0 s", 8.0) if bad else Measurement(0.5, 0.5, 1.0)
        account.take(Evaluated(asked.allocation, outcome, 1.0))
    return leaderboard(account)
