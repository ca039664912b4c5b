"""A leaderboard with the score on rows that the search has not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pydaub import DaubSearch
from search.rows import table


@pytest.fixture(scope="module")
def fitted() -> tuple[DaubSearch, pd.DataFrame, pd.Series]:
    rows = table()
    X, y = rows[["number", "city", "smokes"]], rows["label"]
    half = len(rows) // 2
    search = DaubSearch("tree,logistic,dummy").fit(X[:half], y[:half])
    return search, X[half:], y[half:]


def test_the_selected_learner_has_a_test_score_with_an_interval(
    fitted: tuple[DaubSearch, pd.DataFrame, pd.Series],
) -> None:
    search, X, y = fitted
    board = search.evaluate(X, y).set_index("learner")
    own = board.loc[search.best_learner_]
    assert own["test"] == search.score(X, y)
    assert own["test_low"] <= own["test"] <= own["test_high"]
    assert own["test_high"] - own["test_low"] < 0.5
    others = board.drop(index=search.best_learner_)
    assert others[["test", "test_low", "test_high"]].isna().all(axis=None), "they are not kept"
    pd.testing.assert_frame_equal(
        board.drop(columns=["test", "test_low", "test_high"]), search.leaderboard_.set_index("learner")
    )


def test_a_few_rows_have_a_score_and_no_interval(fitted: tuple[DaubSearch, pd.DataFrame, pd.Series]) -> None:
    search, X, y = fitted
    few = search.evaluate(X[:5], y[:5]).set_index("learner").loc[search.best_learner_]
    assert few["test"] == search.score(X[:5], y[:5])
    assert np.isnan(few["test_low"])
