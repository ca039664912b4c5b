"""The metrics agree with scikit-learn's, and predictions are made only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pydaub.evaluation.combining import FixedClassifier
from pydaub.evaluation.metrics import (
    BY_PROBABILITY,
    Predictions,
    classification_metrics,
    quick_scorer,
    regression_metrics,
    score_parts,
)
from pydaub.runs.paired import standard_error

fewer = settings(max_examples=40)  # scikit-learn's functions are slow

LABELS = {
    "numbers": np.array([-3, 0, 7, 11]),
    "text": np.array(["a", "b with blank", "ä", "ö"], dtype=object),
    "bools": np.array([False, True]),
    "floats": np.array([0.5, 1.0, 1.5, 2.0]),
}


@dataclass
class Fixed:
    """A fitted learner with given predictions."""

    predictions: Any
    classes_: Any = None
    probabilities: Any = None
    decisions: Any = None
    calls: list[str] = field(default_factory=list)

    def predict(self, _X: Any) -> Any:
        self.calls.append("predict")
        return self.predictions

    def __getattr__(self, name: str) -> Any:
        values = {"predict_proba": "probabilities", "decision_function": "decisions"}
        if name not in values or getattr(self, values[name]) is None:
            raise AttributeError(name)
        self.calls.append(name)
        return lambda _X: getattr(self, values[name])


@dataclass(frozen=True)
class Case:
    classes: Any  # all labels
    y: Any
    predicted: Any
    known: Any  # the labels in the learner's sample
    probabilities: Any


@st.composite
def cases(draw: st.DrawFn, fewest: int = 1) -> Case:
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    classes = labels[: draw(st.integers(2, len(labels)))]
    rows = draw(st.integers(fewest, 30))
    codes = st.lists(st.integers(0, len(classes) - 1), min_size=rows, max_size=rows)
    known = np.array(sorted(draw(st.sets(st.integers(0, len(classes) - 1), min_size=1))))
    grid = np.array(draw(st.lists(st.integers(0, 6), min_size=rows * len(known), max_size=rows * len(known))))
    weights = grid.reshape(rows, len(known)) + np.where(np.arange(len(known)) == 0, 1.0, 0.0)
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    predicted = classes[known[np.array(draw(codes)) % len(known)]]
    return Case(classes, classes[np.array(draw(codes))], predicted, classes[known], probabilities)


def codes(case: Case, labels: Any) -> Any:
    """Return the indices of labels: scikit-learn does not accept labels of some types, such as floats."""
    return np.searchsorted(case.classes, labels)


@fewer
@given(cases())
def test_metrics_by_class_agree_with_scikit_learn(case: Case) -> None:
    found = classification_metrics(Fixed(case.predicted), None, case.y, case.classes)
    y, predicted = codes(case, case.y), codes(case, case.predicted)
    macro = {"average": "macro", "zero_division": 0.0}
    assert found == pytest.approx(
        {
            "accuracy": theirs.accuracy_score(y, predicted),
            "precision": theirs.precision_score(y, predicted, **macro),
            "recall": theirs.recall_score(y, predicted, **macro),
            "f1": theirs.f1_score(y, predicted, **macro),
        }
    )


@fewer
@given(cases())
def test_the_log_loss_agrees_with_scikit_learn_even_if_the_sample_lacked_a_class(case: Case) -> None:
    found = classification_metrics(Fixed(case.predicted, case.known, case.probabilities), None, case.y, case.classes)
    aligned = np.zeros((len(case.y), len(case.classes)))
    aligned[:, codes(case, case.known)] = case.probabilities
    expected = theirs.log_loss(codes(case, case.y), aligned, labels=np.arange(len(case.classes)))
    assert found["log_loss"] == pytest.approx(expected)


@fewer
@given(cases(fewest=4))
def test_the_area_under_the_curve_agrees_with_scikit_learn(case: Case) -> None:
    """It is nan if a class has no rows, because then there is no curve."""
    found = classification_metrics(Fixed(case.predicted, case.known, case.probabilities), None, case.y, case.classes)
    aligned = np.zeros((len(case.y), len(case.classes)))
    aligned[:, codes(case, case.known)] = case.probabilities
    y = codes(case, case.y)
    if len(np.unique(y)) < len(case.classes):
        assert np.isnan(found["auc"])
    elif len(case.classes) == 2:
        assert found["auc"] == pytest.approx(theirs.roc_auc_score(y, aligned[:, 1]))
    else:
        assert found["auc"] == pytest.approx(theirs.roc_auc_score(y, aligned, multi_class="ovr", average="macro"))


def test_no_area_is_computed_where_that_would_take_longer_than_most_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = GaussianNB().fit(X, y)
    known = classification_metrics(fitted, X, y, np.unique(y))
    monkeypatch.setattr("pydaub.evaluation.metrics.MOST_RANKED", 3 * len(y) - 1)
    assert classification_metrics(fitted, X, y, np.unique(y)) == {k: v for k, v in known.items() if k != "auc"}


@fewer
@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30))
def test_the_decision_function_of_two_classes_gives_an_area_too(rows: list[tuple[bool, int]]) -> None:
    y, decisions = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    found = classification_metrics(Fixed(decisions > 0, decisions=decisions), None, y, np.array([False, True]))
    assert "log_loss" not in found
    if y.all() or not y.any():
        assert np.isnan(found["auc"])
    else:
        assert found["auc"] == pytest.approx(theirs.roc_auc_score(y, decisions))


finite = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))  # scikit-learn's r2 overflows for a tiny spread


@fewer
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30))
def test_regression_metrics_agree_with_scikit_learn(rows: list[tuple[float, float]]) -> None:
    y, predicted = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found = regression_metrics(Fixed(predicted[:, None]), None, y)  # some learners predict a column
    assert found["mean_absolute_error"] == pytest.approx(theirs.mean_absolute_error(y, predicted))
    assert found["root_mean_squared_error"] == pytest.approx(theirs.root_mean_squared_error(y, predicted))
    if np.sum((y - np.mean(y)) ** 2) == 0:
        assert np.isnan(found["r2"]), "a constant target has no variance to explain"
    else:
        assert found["r2"] == pytest.approx(theirs.r2_score(y, predicted), rel=1e-6)


def test_predictions_that_are_not_labels_are_refused() -> None:
    """For example those of a regressor: 0.3 is not a class."""
    y = np.array([0, 1])
    for predicted in ([0.3, 1.0], [0, 2], [-1, 1]):
        with pytest.raises(ValueError, match="predictions must be labels"):
            classification_metrics(Fixed(np.array(predicted)), None, y, y)
    with pytest.raises(ValueError, match="predictions must be labels"):
        classification_metrics(Fixed(y, np.array([0, 5]), np.ones((2, 2)) / 2), None, y, y)


def test_the_same_rows_are_predicted_only_once() -> None:
    fixed = Fixed(np.array([0, 1]), np.array([0, 1]), np.eye(2), np.array([-1.0, 1.0]))
    seen, X, other = Predictions(fixed), np.zeros((2, 1)), np.zeros((2, 1))
    for _ in range(3):
        assert seen.predict(X) is fixed.predictions
        assert seen.predict_proba(X) is fixed.probabilities
        assert seen.decision_function(X) is fixed.decisions
    assert fixed.calls.count("predict") == 1
    assert seen.predict(other) is fixed.predictions
    assert fixed.calls.count("predict") == 2, "other rows are predicted again"
    assert seen.classes_ is fixed.classes_
    assert not hasattr(Predictions(Fixed(np.array([0]))), "predict_proba")


SCORERS = ("accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", "matthews_corrcoef")


OF_TWO = (
    "roc_auc",
    "average_precision",
    "neg_brier_score",
    "f1",
)  # for text labels they need to know which one is positive


@pytest.mark.parametrize(
    ("scoring", "text"),
    [(name, text) for name in SCORERS for text in (False, True)] + [(name, False) for name in OF_TWO],
)
def test_scorers_give_the_same_score_for_predictions_as_for_the_learner(scoring: str, *, text: bool) -> None:
    X, y = (load_iris if scoring in SCORERS else load_breast_cancer)(return_X_y=True)
    if text:
        y = np.array(["red", "green", "blue"], dtype=object)[y]
    for learner in (GaussianNB(), KNeighborsClassifier(3), make_pipeline(StandardScaler(), LogisticRegression())):
        fitted = learner.fit(X[::2], y[::2])
        scorer = theirs.check_scoring(fitted, scoring=scoring)
        seen = Predictions(fitted)
        classification_metrics(seen, X, y, np.unique(y))  # must not change the score
        assert scorer(seen, X, y) == pytest.approx(scorer(fitted, X, y), rel=1e-12)


def test_scorers_of_decision_functions_and_regressions_accept_predictions() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    svm = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    scorer = theirs.get_scorer("roc_auc")
    assert scorer(Predictions(svm), X, y) == scorer(svm, X, y)
    assert classification_metrics(svm, X, y, np.unique(y))["auc"] == pytest.approx(scorer(svm, X, y))
    X, y = load_diabetes(return_X_y=True)
    linear = LinearRegression().fit(X, y)
    for scoring in ("r2", "neg_root_mean_squared_error", "neg_median_absolute_error"):
        scorer = theirs.get_scorer(scoring)
        assert scorer(Predictions(linear), X, y) == scorer(linear, X, y)


def by_probability() -> list[Any]:
    return [
        KNeighborsClassifier(4),
        KNeighborsClassifier(4, algorithm="kd_tree"),
        KNeighborsClassifier(4, weights="distance"),
        RandomForestClassifier(4, random_state=0),
        ExtraTreesClassifier(4, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=1), 4, random_state=0),
        BaggingClassifier(LinearSVC(), 4, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier(4)),
    ]


@pytest.mark.parametrize("position", range(len(by_probability())))
def test_these_learners_predict_the_most_probable_class(position: int) -> None:
    """With few distinct values there are many ties."""
    rng = np.random.default_rng(position)
    for names in (np.array([0, 1, 2]), np.array(["x", "y", "z"], dtype=object)):
        X, y = rng.integers(0, 3, size=(80, 2)).astype(float), names[rng.integers(0, 3, 80)]
        fitted = by_probability()[position].fit(X, y)
        seen, rows = Predictions(fitted), rng.integers(0, 3, size=(60, 2)) + 0.5
        seen.predict_proba(rows)
        np.testing.assert_array_equal(seen.predict(rows), fitted.predict(rows))
        np.testing.assert_array_equal(Predictions(fitted).predict(rows), fitted.predict(rows))


def test_a_subclass_may_predict_differently() -> None:
    class Contrary(KNeighborsClassifier):
        def predict(self, X: Any) -> Any:
            return 1 - super().predict(X)

    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    fitted = Contrary(1).fit(X, y)
    seen = Predictions(fitted)
    seen.predict_proba(X)
    np.testing.assert_array_equal(seen.predict(X), 1 - y)
    assert Contrary not in BY_PROBABILITY


CLASSES = ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "precision", "recall", "jaccard_macro")
PROBABILITIES = ("roc_auc", "neg_log_loss", "neg_brier_score")
REGRESSION = (
    "r2",
    "neg_mean_absolute_error",
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_percentage_error",
)


@pytest.mark.parametrize("scoring", [*CLASSES, *PROBABILITIES, *REGRESSION])
def test_the_parts_of_a_score_average_to_it_and_vary_as_it_does(scoring: str) -> None:
    """The standard error by the parts is that of the score on other rows of the same kind (bootstrap)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    if scoring in REGRESSION:
        y = 5 + X[:, 0] + rng.normal(size=6000)
        fitted: Any = LinearRegression().fit(X[:2000], y[:2000])
    else:
        y = (X[:, 0] + rng.normal(size=6000) > 1.8).astype(int)
        fitted = LogisticRegression().fit(X[:2000], y[:2000])
    X, y = X[2000:], y[2000:]
    scorer, predictions = theirs.get_scorer(scoring), Predictions(fitted)
    score = scorer(predictions, X, y)
    parts = score_parts(predictions, X, y, scoring, score)
    assert len(parts) == 100
    assert np.mean(parts) == pytest.approx(score, rel=1e-4)
    drawn = [scorer(fitted, X[rows], y[rows]) for rows in rng.integers(len(y), size=(60, len(y)))]
    assert standard_error(parts) == pytest.approx(np.std(drawn), rel=0.35)


@pytest.mark.parametrize("scoring", ["matthews_corrcoef", "f1_weighted", "average_precision", "roc_auc_ovr"])
def test_where_the_influence_of_a_row_is_not_known_there_are_no_parts(scoring: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    predictions = Predictions(GaussianNB().fit(X, y))
    assert score_parts(predictions, X, y, scoring, theirs.get_scorer(scoring)(predictions, X, y)) == ()


SCORERS_OF_TWO = ["roc_auc", "f1", "precision", "recall", "jaccard", "average_precision"]
MEANS = [f"{name}_{mean}" for name in ("f1", "precision", "recall") for mean in ("macro", "micro", "weighted")]


@pytest.mark.filterwarnings("ignore:.*ill-defined")
@pytest.mark.parametrize(
    "classes", [(0, 1), (1, 2), (-1, 1), (0, 2), (False, True), ("no", "yes"), range(3), range(12)]
)
@pytest.mark.parametrize(
    "scoring", ["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc_ovr", *SCORERS_OF_TWO, *MEANS]
)
def test_quick_scorers_score_as_those_of_scikit_learn(scoring: str, classes: Sequence[Any]) -> None:
    count, labels = len(classes), np.asarray(classes)
    rng = np.random.default_rng(count)
    quick = quick_scorer(scoring, labels)
    if quick is None:
        assert scoring in SCORERS_OF_TWO
        assert count > 2 or 1 not in classes
        return
    for number in range(5):
        truth = np.arange(200) % count
        if scoring in MEANS and number == 0:
            truth = np.minimum(truth, 1)  # some classes have no row
        probabilities = np.round(rng.random((200, count)), 2) + (rng.random((200, 1)) < 0.5) * np.eye(count)[truth]
        probabilities[::7, 0] = 0.0
        probabilities[:, -1] += 0.01  # no row without any
        expected = theirs.get_scorer(scoring)(FixedClassifier(probabilities, labels), np.arange(200), labels[truth])
        assert quick(truth, probabilities) == pytest.approx(expected, rel=1e-9)
