"""From what a person asked for to a task and a strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, zero_one_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub import PAPER_SIZES, STRATEGIES, InputError, Schedule, Scores
from pydaub.algorithm.strategies import PARAMETERS, strategies_with
from pydaub.data import Prepared, prepare
from pydaub.evaluation.evaluate import Task
from pydaub.learners import listed
from pydaub.runs.plan import SMALLEST_FIRST_SIZE, Plan, Sizes, check_scoring, plan, scores_of, versions

LEARNERS = [("bayes", GaussianNB()), ("logistic", LogisticRegression(C=0.01)), ("tree", DecisionTreeClassifier())]


class Configured(ClassifierMixin, BaseEstimator):
    """A learner with a parameter of any type."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def fit(self, _X: Any, _y: Any) -> Configured:
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def closeness(_fitted: Any, _X: Any, _y: Any) -> float:
    return 1.0


def data_of(count: int = 300, seed: int = 0) -> Prepared:
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(count, 4)))
    return prepare(X, np.where(X[:, 0] > 0.7, "high", "low"), seed=seed)


def plan_of(
    learners: Any = LEARNERS, data: Prepared | None = None, strategy: Any = "daub", parameters: Any = None, **task: Any
) -> Plan:
    return plan(Task(data or data_of(), listed(learners), **task), strategy, parameters)


@given(st.integers(1, 10**7), st.sampled_from(["1.1", "1.5", "2", "3/2", "7", "1000"]))
def test_there_is_a_schedule_for_any_number_of_rows(full_size: int, ratio: str) -> None:
    schedule, note = Sizes(None, ratio).schedule(full_size)
    assert schedule.full_size == full_size
    first = schedule.sizes[0]
    assert first == full_size or SMALLEST_FIRST_SIZE <= first <= 500
    assert (note is None) == (first == 500 and len(schedule.sizes) >= 3)
    assert len(schedule.sizes) == 1 or note is None or sum(schedule.sizes[:3]) < full_size, (
        "less than training everything"
    )
    if note:
        assert ("every learner gets all of them" in note) == (len(schedule.sizes) == 1)
        assert f"{full_size:,} training rows" in note


def test_the_first_size_is_the_papers_where_it_can_be() -> None:
    assert Sizes().schedule(2375) == (Schedule((500, 750, 1125, 1688, 2375)), None)
    schedule, note = Sizes().schedule(2374)
    assert schedule.sizes == (313, 469, 704, 1056, 1583, 2374)
    assert note == "The paper's first size of 500 is too large for 2,374 training rows, so it is 313 instead."
    assert Sizes().schedule(44)[0].sizes == (44,)
    assert Sizes().schedule(105)[0].sizes == (21, 32, 47, 70, 105)
    assert Sizes().schedule(44)[1] == (
        "The paper's first size of 500 is too large for 44 training rows, so every learner gets all of them."
    )
    assert Sizes(10).schedule(100)[0].sizes[:3] == (10, 15, 23)
    with pytest.raises(InputError, match=r"The largest `first_size` that works is 44"):
        Sizes(45).schedule(100)


def minus_loss(_fitted: Any, _X: Any, _y: Any) -> float:
    return -1.5


@pytest.mark.parametrize("scoring", ["neg_log_loss", minus_loss])
def test_a_floor_is_the_best_loss(scoring: Any) -> None:
    task = plan_of(scoring=scoring, floor=0.25).task
    assert scores_of(task).top == -0.25
    assert not scores_of(task).proportion
    assert plan_of(scoring=scoring, floor=0).task.floor == 0
    nonsense: list[Any] = [float("inf"), float("nan"), "low"]
    for floor in nonsense:
        with pytest.raises(InputError, match=r"`floor` must be a"):
            scores_of(plan_of(scoring=scoring, floor=floor).task)


def test_a_floor_goes_with_a_loss() -> None:
    for scoring in ("accuracy", None):
        with pytest.raises(InputError, match=r"`floor` must go with a score that is a negative loss .*'accuracy'"):
            plan_of(scoring=scoring, floor=0.1)
    with pytest.raises(InputError, match=r"`floor` must be a finite number of at least 0, got -1"):
        plan_of(scoring="neg_log_loss", floor=-1)
    assert scores_of(plan_of(scoring=minus_loss, floor=-1).task).top == 1


def test_sizes_are_given_in_one_way() -> None:
    assert Sizes(sizes="20, 40").schedule(100)[0].sizes == (20, 40, 100)
    assert Sizes(sizes=[20, 40]).schedule(100)[0].sizes == (20, 40, 100)
    assert Sizes(sizes="paper").schedule(38_500)[0].sizes == PAPER_SIZES
    for more in ({"first_size": 5}, {"ratio": 2}):
        with pytest.raises(InputError, match=r"`sizes` must be given without `first_size` and `ratio`"):
            Sizes(sizes="20", **more).schedule(100)
    with pytest.raises(
        InputError, match=r"`sizes` must be whole numbers separated by commas, or 'paper', got '5 rows'"
    ):
        Sizes(sizes="5 rows").schedule(100)


def test_a_strategy_is_named() -> None:
    assert plan_of(strategy="halving").strategy.learners == tuple(name for name, _ in LEARNERS)
    nonsense: list[Any] = ["best", None, [], 5]
    for given_ in nonsense:
        with pytest.raises(
            InputError, match=r"`strategy` must be one of frugal, daub, full, subset, elimination, halving, got"
        ):
            plan_of(strategy=given_)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_goes_with_the_strategies_that_have_it(name: str) -> None:
    """The declaration is what the constructor, the settings and the command line use."""
    parameter = PARAMETERS[name]
    for strategy in STRATEGIES:
        value = parameter.choices[-1] if parameter.choices else (not parameter.default if parameter.kind is bool else 1)
        if strategy in strategies_with(name):
            found = plan_of(strategy=strategy, parameters={name: value}).strategy.settings[name]
            if name == "costs":
                assert [*found] == [learner for learner, _ in LEARNERS], "declared costs are those of the learners"
            else:
                assert found == value
            assert plan_of(strategy=strategy, parameters={name: None}).strategy.settings[name] == parameter.default
        else:
            with pytest.raises(InputError, match=f"`{name}` must go with the strategy .*, got '{strategy}'"):
                plan_of(strategy=strategy, parameters={name: value})


@pytest.mark.parametrize(
    ("scoring", "scores"),
    [
        (None, Scores("accuracy", 90, 1.0)),
        ("accuracy", Scores("accuracy", 90, 1.0)),
        ("f1_macro", Scores("f1_macro", 90, 1.0, counting=0.9333)),
        ("f1_weighted", Scores("f1_weighted", 90, 1.0)),
        ("roc_auc_ovr", Scores("roc_auc_ovr", 90, 1.0, counting=0.9333)),
        ("neg_log_loss", Scores("neg_log_loss", 90, 0.0, proportion=False)),
        (closeness, Scores("closeness", 90, None, proportion=False)),
        (lambda *_: 1.0, Scores("score", 90, None, proportion=False)),
        (make_scorer(accuracy_score), Scores("accuracy", 90, 1.0)),
        (get_scorer("neg_log_loss"), Scores("neg_log_loss", 90, 0.0, proportion=False)),
        (make_scorer(zero_one_loss, greater_is_better=False), Scores("neg_zero_one_loss", 90, None, proportion=False)),
    ],
)
def test_what_the_scores_of_a_run_are(scoring: Any, scores: Scores) -> None:
    planned = plan_of(strategy="frugal", scoring=scoring)
    assert scores_of(planned.task) == scores
    assert Scores.from_json(planned.settings["scores"]) == scores
    crossed = scores_of(plan_of(cv=5).task)
    assert (crossed.rows, crossed.noise_rows(210), crossed.noise_rows(70)) == (210, 210, 70)
    rows = round(90 * scores.counting) if scores.proportion else None
    assert scores.noise_rows(70) == rows, "validation rows are the same at every size"
    assert scores.right_rows(70) == (rows if scores.name == "accuracy" else None)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("accurcy", r"`scoring` must be a scorer of scikit-learn, got 'accurcy'. Did you mean accuracy or"),
        ("mean_squared_error", r"Did you mean .*neg_mean_squared_error"),
        ("", r"get_scorer_names\(\) lists them"),
    ],
)
def test_an_unknown_scorer_is_refused_with_a_suggestion(scoring: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_scoring(scoring)
    check_scoring("neg_log_loss")


def test_nonsense_for_a_scorer_is_refused() -> None:
    with pytest.raises(InputError, match=r"`scoring` must be a name, a callable or None, got 5"):
        plan_of(scoring=5)
    with pytest.raises(InputError, match=r"`scoring` must be a scorer of scikit-learn, got 'accurcy'"):
        plan_of(scoring="accurcy")
    with pytest.raises(InputError, match=r"`cv` must be at most the \d+ rows of the first size, got 150 folds"):
        plan_of(cv=150)


def test_settings_differ_where_runs_do() -> None:
    def settings(learners: Any = LEARNERS, data: Prepared | None = None, **more: Any) -> dict[str, Any]:
        return plan_of(learners, data, **more).settings

    base = settings()
    assert settings() == base, "the same in another process: no address of an object is in it"
    changed = [
        settings([("bayes", GaussianNB(var_smoothing=1e-8)), *LEARNERS[1:]]),
        settings(LEARNERS[::-1]),
        settings(data=data_of(seed=1)),
        settings(scoring="f1_macro"),
        settings(cv=3),
        settings(seed=1),
        settings(reuse=False),
    ]
    assert all(other != base for other in changed)
    assert settings(scoring=lambda *_: 1.0) == settings(scoring=lambda *_: 1.0)
    long = [("x", "y" * 400), ("z", "w" * 400)]
    first, second = ([("a", Configured([*long, middle, *long]))] for middle in (1, 2))
    assert settings(first) != settings(second), "also where they differ in the middle of something long"


def test_the_versions_that_a_result_depends_on() -> None:
    assert {"python", "pydaub", "scikit-learn", "numpy"} <= versions().keys()


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_more_is_scored_than_the_strategy_needs_unless_it_is_wanted(name: str) -> None:
    given = Task(data_of(), listed([("a", GaussianNB())]))
    planned = plan(given, name).task
    assert planned.score_rows == ("few" if name == "frugal" else "all")
    assert planned.train_scores == (name != "frugal")
    few = plan(replace(given, score_rows="few"), name).task
    assert few.train_scores == (name in {"daub", "elimination"})
    assert plan(replace(given, score_rows="all"), name).task.train_scores


@pytest.mark.parametrize("settings", [{"score_rows": "some"}, {"metrics": True}])
def test_nonsense_for_what_is_scored_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"must be one of (few, all, None|full, all, none), got "):
        plan(replace(Task(data_of(), listed([("a", GaussianNB())])), **settings), "frugal")


def test_how_the_seconds_of_learners_grow_is_known_by_their_kind() -> None:
    learners = listed([("svm", make_pipeline(StandardScaler(), SVC())), ("bayes", GaussianNB())])
    settings = plan(Task(data_of(), learners), "frugal").settings
    assert settings["growths"]["svm"][0] > 1.5 > settings["growths"]["bayes"][0]
