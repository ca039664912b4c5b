"""Adjusting a classifier: what each score depends on, the value that is chosen, and that its score is honest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer_names

from pydaub.data import Prepared, Split, prepare
from pydaub.errors import InputError
from pydaub.evaluation.adjusting import adjust, method_for
from pydaub.learners.adjusted import tempered

ROWS = 6000


class Shown(ClassifierMixin, BaseEstimator):
    """Predicts the probability that the second column tells, less or more extreme."""

    def __init__(self, temperature: float = 1.0) -> None:
        self.temperature = temperature
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return tempered(np.column_stack([1 - X[:, 1], X[:, 1]]), self.temperature)


def rows_of(share: float = 0.5, *, told: bool = True) -> Prepared:
    """Return rows with their true probability of the second class, or with one that has nothing to do with it."""
    generator = np.random.default_rng(0)
    truth = generator.beta(4 * share, 4 * (1 - share), ROWS)
    target = (generator.random(ROWS) < truth).astype(int)
    shown = truth if told else generator.permutation(truth)
    return prepare(np.column_stack([np.arange(ROWS), shown]), target, split=Split(fraction=0.5), seed=0)


@pytest.mark.parametrize(
    ("method", "scores"),
    [
        ("threshold", ("accuracy", "balanced_accuracy", "f1", "f1_macro", "precision", "recall", "matthews_corrcoef")),
        ("temperature", ("neg_log_loss", "neg_brier_score")),
        (None, ("roc_auc", "average_precision")),
    ],
)
def test_what_a_score_depends_on(method: str | None, scores: tuple[str, ...]) -> None:
    schema = rows_of().schema
    for scoring in scores:
        assert scoring in get_scorer_names()
        if method is not None:
            assert method_for(scoring, schema) == method
        else:
            with pytest.raises(InputError, match=f"got {scoring}: it depends on their order alone"):
                method_for(scoring, schema)


def test_a_threshold_needs_two_classes_and_a_temperature_any() -> None:
    schema = prepare(np.arange(90.0)[:, None], np.repeat(["a", "b", "c"], 30)).schema
    assert method_for("neg_log_loss", schema) == "temperature"
    with pytest.raises(InputError, match=r"must go with two classes.*got 3 classes and accuracy"):
        method_for(None, schema)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_a_wrong_temperature_is_undone(temperature: float) -> None:
    found = adjust({"shown": Shown(temperature)}, rows_of(), weights=None, scoring="neg_log_loss")
    assert found["method"] == "temperature"
    assert found["value"] == pytest.approx(1 / temperature, rel=0.15)
    assert found["score"] > found["plain"] if temperature != 1 else abs(found["score"] - found["plain"]) < 1e-3


def test_a_rare_class_gets_a_lower_threshold() -> None:
    found = adjust({"shown": Shown()}, rows_of(0.1), weights=None, scoring="f1")
    assert found["method"] == "threshold"
    assert found["value"] < 0.4
    assert found["score"] > found["plain"] + 0.02


def test_where_there_is_nothing_to_gain_the_reported_score_says_so() -> None:
    """The threshold is chosen among a hundred on noise: on the rows that chose it, it would look better."""
    found = adjust({"shown": Shown()}, rows_of(told=False), weights=None, scoring="accuracy")
    assert abs(found["score"] - 0.5) < 0.03


def test_the_weights_of_an_ensemble_are_chosen_by_other_rows_too() -> None:
    """Twenty members that know nothing: with weights that the same rows have chosen, they would look better."""
    data = rows_of(told=False)
    generator = np.random.default_rng(1)
    guesses = generator.random((20, 3 * ROWS))
    members = {f"{place}": Guessing(guess) for place, guess in enumerate(guesses)}
    weights = dict.fromkeys(members, 0.05)
    found = adjust(members, data, weights=weights, scoring="accuracy")
    assert abs(found["plain"] - 0.5) < 0.03
    assert abs(found["score"] - 0.5) < 0.03


class Guessing(Shown):
    """Predicts what is given for the row whose number is in the first column."""

    def __init__(self, guesses: np.ndarray) -> None:
        super().__init__()
        self.guesses = guesses

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        guessed = self.guesses[X[:, 0].astype(int)]
        return np.column_stack([1 - guessed, guessed])


def test_a_threshold_is_not_a_rule_for_ties() -> None:
    """Where only rows with equal probabilities differ, the threshold lies below them, and is not called a half."""
    data = rows_of(0.5)
    sample = data.valid()
    guesses = np.full(3 * ROWS, 0.1)
    guesses[sample.X[:, 0].astype(int)] = np.where(np.asarray(sample.y) == 1, 0.5, 0.1)
    found = adjust({"tied": Guessing(guesses)}, data, weights=None, scoring="f1")
    assert found["plain"] == 0
    assert found["score"] == 1
    assert found["value"] == pytest.approx(0.3)


def test_all_rows_may_be_of_the_second_class() -> None:
    found = adjust({"constant": Guessing(np.full(3 * ROWS, 0.3))}, rows_of(), weights=None, scoring="f1")
    assert found["plain"] == 0
    assert found["score"] > 0.6
    assert found["value"] == pytest.approx(0.15)


def test_a_member_of_an_ensemble_needs_no_probabilities() -> None:
    class Labels(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X: np.ndarray) -> np.ndarray:
            return (X[:, 1] > 0.5).astype(int)

    members = {"shown": Shown(), "labels": Labels()}
    found = adjust(members, rows_of(0.1), weights={"shown": 0.7, "labels": 0.3}, scoring="f1")
    assert found["score"] > found["plain"]


def test_a_learner_without_probabilities_is_not_adjusted() -> None:
    class Silent(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

    assert adjust({"silent": Silent()}, rows_of(), weights=None, scoring="f1") == {}
