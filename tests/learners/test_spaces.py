"""Spaces of learners: points and what they stand for, proposals, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scipy.stats import loguniform, randint, uniform
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from learners.samples import made
from pydaub import InputError
from pydaub.data import prepare
from pydaub.learners import Space, listed, portfolio
from pydaub.learners.spaces import BRANCH, in_words

SVM = Space("svm", SVC(), parameters={"C": loguniform(0.1, 100), "degree": randint(2, 5), "kernel": ["rbf", "poly"]})
EITHER = Space(
    "either",
    SVC(),
    parameters=[{"kernel": ["linear"], "C": [1, 10]}, {"kernel": ["rbf"], "C": [1, 10], "gamma": uniform(0.1, 2)}],
)


@pytest.mark.parametrize("space", [SVM, EITHER])
def test_points_are_plain_numbers_that_mean_the_same_after_a_journal(space: Space) -> None:
    for point in space.first(20, seed=0):
        again = json.loads(json.dumps(point))
        assert space.settings(again) == space.settings(point)
        learner = space.at(again, "svm 1")
        assert learner.name == "svm 1"
        assert {name: learner.estimator.get_params()[name] for name in space.settings(point)} == space.settings(point)


def test_values_come_from_where_they_should() -> None:
    for settings in map(SVM.settings, SVM.first(50, seed=1)):
        assert 0.1 <= settings["C"] <= 100
        assert settings["degree"] in {2, 3, 4}
        assert type(settings["degree"]) is int
        assert settings["kernel"] in {"rbf", "poly"}


def test_parameters_that_matter_only_with_others() -> None:
    found = [EITHER.settings(point) for point in EITHER.first(30, seed=0)]
    assert all(("gamma" in settings) == (settings["kernel"] == "rbf") for settings in found)
    assert {settings["kernel"] for settings in found} == {"linear", "rbf"}
    assert EITHER.settings({BRANCH: 0, "kernel": 0, "C": 1}) == {"kernel": "linear", "C": 10}


def test_how_many_there_are() -> None:
    assert SVM.count == float("inf")
    small = Space("small", SVC(), parameters=[{"C": [1, 2, 3], "degree": randint(2, 4)}, {"C": [5]}])
    assert small.count == 7
    points = small.first(100, seed=0)
    assert len({str(small.settings(point)) for point in points}) == len(points) == 7


@pytest.mark.parametrize("space", [SVM, EITHER])
def test_proposals_are_new_and_the_same_for_the_same_history(space: Space) -> None:
    history: list[tuple[dict[str, float], float | None]] = [(point, 0.5) for point in space.first(8, seed=0)]
    for number in range(6):
        proposed = space.proposed(history, seed=number)
        assert proposed == space.proposed(history, seed=number)
        assert space.settings(proposed) not in [space.settings(point) for point, _ in history]
        history.append((proposed, None if number == 3 else 0.1 * number))


def test_proposals_are_near_what_did_well() -> None:
    """Of forty configurations that follow eight random ones, most are nearer to the best value than random ones."""
    space = Space("tree", DecisionTreeClassifier(), parameters={"min_samples_leaf": uniform(0, 0.5)})

    def score(point: dict[str, float]) -> float:
        return -abs(float(space.settings(point)["min_samples_leaf"]) - 0.1)

    history: list[tuple[dict[str, float], float | None]] = [(point, score(point)) for point in space.first(8, seed=3)]
    for number in range(40):
        point = space.proposed(history, seed=number)
        history.append((point, score(point)))
    near = sum(score(point) > -0.05 for point, _ in history[8:])
    assert near > 20, "a fifth of all values is as near"


def test_a_space_that_is_used_up_gives_what_is_left() -> None:
    space = Space("small", SVC(), parameters={"C": [1, 2, 3], "kernel": ["rbf", "poly"]})
    history: list[tuple[dict[str, float], float | None]] = [(point, 0.5) for point in space.first(3, seed=0)]
    for number in range(3):
        history.append((space.proposed(history, seed=number), 0.5))
    assert len({str(space.settings(point)) for point, _ in history}) == 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "must be a dict of parameters"),
        ([], "must be a dict of parameters"),
        ([{}], "must be a dict of parameters"),
        (5, "must be a dict of parameters"),
        ({"c": [1]}, "must name parameters of SVC, got 'c'"),
        ({"C": []}, "must have a list of values or a distribution of scipy, got \\[\\]"),
        ({"C": 5}, "must have a list of values or a distribution of scipy, got 5"),
        ({"C": "abc"}, "must have a list of values"),
    ],
)
def test_nonsense_is_refused(parameters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space("svm", SVC(), parameters=parameters)


def test_a_space_is_a_learner_of_a_portfolio() -> None:
    found = listed([SVM, ("line", LogisticRegression()), ("renamed", EITHER)])
    assert [*found] == ["svm", "line", "renamed"]
    assert isinstance(found["renamed"], Space)
    assert found["renamed"].parameters == EITHER.parameters


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_built_in_spaces_make_learners(kind: Any) -> None:
    rows = made("matrix", kind, rows=60)
    data = prepare(rows.X, rows.y, task=kind)
    for space in portfolio("spaces", data.schema).values():
        assert isinstance(space, Space)
        point = space.first(1, seed=0)[0]
        sample = data.train(40)
        assert len(space.at(point, "x 1").estimator.fit(sample.X, sample.y).predict(sample.X)) == 40


def test_words() -> None:
    assert in_words(SVM.settings({"C": 0.5, "degree": 0.5, "kernel": 1})) == "C 3.16, degree 3, kernel poly"
