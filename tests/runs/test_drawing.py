"""Runs whose learners are spaces: configurations join while they pay, and a resumed run draws the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from pydaub import DaubSearch, Drawn, InputError
from pydaub.data import Prepared, Split, prepare
from pydaub.engines.registry import Where
from pydaub.evaluation.evaluate import Task
from pydaub.learners import Learner, Space
from pydaub.runs import JOURNAL
from pydaub.runs.account import Account
from pydaub.runs.journal import read
from pydaub.runs.plan import Plan, plan
from pydaub.runs.selection import Selection, select

TREES = Space(
    "trees",
    DecisionTreeClassifier(),
    parameters={"min_samples_leaf": randint(1, 60), "ccp_alpha": loguniform(1e-5, 1e-1), "max_features": [0.5, 1.0]},
)


def data() -> Prepared:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * generator.normal(size=3000) > 0).astype(int)
    return prepare(X, y, split=Split(fraction=0.4), seed=0)


def planned(*spaces: Space, **parameters: Any) -> Plan:
    learners = {"line": Learner("line", LogisticRegression()), **{space.name: space for space in spaces}}
    return plan(Task(data(), learners, scoring="accuracy"), "frugal", {"costs": "declared", **parameters})


def carried_out(folder: Path, workers: int | None = None, **parameters: Any) -> Selection:
    return select(planned(TREES, **parameters), Where(workers, folder=folder))


def test_configurations_join_until_they_no_longer_pay(tmp_path: Path) -> None:
    found = carried_out(tmp_path / "run", delta=0.001)
    drawn = [event for event in read(tmp_path / "run" / JOURNAL) if isinstance(event, Drawn)]
    assert len(drawn) > 8, "some joined"
    assert [event.learner for event in drawn] == [f"trees {number}" for number in range(1, len(drawn) + 1)]
    assert found.result.selected in {event.learner for event in drawn}
    assert found.account.drawn == {event.learner: event.words for event in drawn}
    assert found.fitted.get_params()["min_samples_leaf"] >= 1
    assert f"{found.result.selected} joins: " in "\n".join(each.words for each in found.account.decisions)
    assert len(carried_out(tmp_path / "less", delta=0.5).account.learners) < len(found.account.learners)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_resumed_run_draws_the_same(workers: int | None, tmp_path: Path) -> None:
    whole = carried_out(tmp_path / "run", workers, delta=0.001)
    journal = tmp_path / "run" / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if b'"drawn"' in line][8:]
    assert places
    for place in (places[0], places[0] + 1, places[-1] + 3, len(lines) - 2):
        journal.write_bytes(b"".join(lines[: place + 1]))
        again = carried_out(tmp_path / "run", workers, delta=0.001)
        assert again.account.drawn == whole.account.drawn
        assert [step.allocation for step in again.result.steps] == [step.allocation for step in whole.result.steps]
        assert Account.of(read(journal)).result.selected == whole.result.selected


def test_a_small_space_is_used_up_and_that_is_all(tmp_path: Path) -> None:
    small = replace(TREES, parameters={"min_samples_leaf": [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]})
    found = select(planned(small, delta=1e-6), Where(folder=tmp_path / "run"))
    assert 8 <= len(found.account.drawn) <= 10
    assert len({*found.account.drawn.values()}) == len(found.account.drawn), "none comes twice"


def test_spaces_need_a_strategy_that_knows_what_time_is_worth() -> None:
    task = Task(data(), {"trees": TREES}, scoring="accuracy")
    with pytest.raises(InputError, match="Spaces of learners must go with the strategy frugal, got 'daub'"):
        plan(task, "daub")
    with pytest.raises(InputError, match="name of its own, got 'trees 1' twice"):
        plan(replace(task, learners={"trees": TREES, "trees 1": Learner("trees 1", LogisticRegression())}), "frugal")


def test_a_search_without_a_number_of_draws() -> None:
    rows = data()
    sample = rows.train(rows.full_size)
    search = DaubSearch(
        DecisionTreeClassifier(), param_grid=TREES.parameters, n_iter=None, costs="declared", random_state=0
    )
    search.fit(sample.X, sample.y)
    assert set(search.best_params_) == {"min_samples_leaf", "ccp_alpha", "max_features"}
    assert str(search.best_learner_).startswith("decisiontreeclassifier ")
    assert len(search.cv_results_["params"]) == len(search.allocations_)
    assert search.score(sample.X, sample.y) > 0.6
