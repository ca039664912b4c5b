"""Combining learners: the choice of weights, and that the reported score is from rows that did not choose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from pydaub.data import Split, prepare
from pydaub.evaluation.combining import FixedClassifier, FixedRegressor, chosen, combine
from pydaub.evaluation.evaluate import Task

ROWS = 2000


class Noisy(ClassifierMixin, BaseEstimator):
    """A classifier that is right with some probability, whatever it was trained on; the row says the truth."""

    def __init__(self, right: float, seed: int) -> None:
        self.right, self.seed = right, seed
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        generator = np.random.default_rng(self.seed)
        sure = generator.uniform(0.5, 1.0, len(X))
        shown = np.where(generator.random(len(X)) < self.right, X[:, 0], 1 - X[:, 0]).astype(int)
        found = np.empty((len(X), 2))
        found[np.arange(len(X)), shown], found[np.arange(len(X)), 1 - shown] = sure, 1 - sure
        return found


def task(scoring: str = "accuracy", *, told: bool = True) -> Task:
    """Return a task whose first column is the target, or has nothing to do with it."""
    target = np.random.default_rng(0).integers(0, 2, ROWS)
    shown = target if told else np.random.default_rng(1).integers(0, 2, ROWS)
    rows = np.column_stack([shown, np.arange(ROWS)]).astype(float)
    return Task(prepare(rows, target, split=Split(fraction=0.5), seed=0), {}, scoring=scoring)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", "f1"])
def test_independent_learners_are_better_together(scoring: str) -> None:
    found = combine(task(scoring), {f"noisy-{seed}": Noisy(0.7, seed) for seed in range(5)})
    assert found is not None
    assert found.score > found.alone
    assert len(found.weights) > 2
    assert sum(found.weights.values()) == pytest.approx(1.0, abs=1e-3)


def test_the_score_is_not_of_rows_that_chose() -> None:
    """Learners that guess can be combined such that they seem better than chance, on the rows that choose."""
    found = combine(task(told=False), {f"noisy-{seed}": Noisy(0.5, seed) for seed in range(12)})
    assert found is not None
    error = 0.5 / np.sqrt(ROWS / 2)
    assert abs(found.score - 0.5) < 3 * error
    assert abs(found.alone - 0.5) < 3 * error


def test_a_useless_learner_gets_no_weight() -> None:
    found = combine(task(), {"good": Noisy(0.95, 0), "bad": Noisy(0.05, 1), "poor": Noisy(0.5, 2)})
    assert found is not None
    assert max(found.weights, key=found.weights.__getitem__) == "good"
    assert "bad" not in found.weights


def test_learners_that_cannot_predict_are_left_out() -> None:
    class Broken(Noisy):
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            raise RuntimeError(f"{len(X)} rows are too many")

    both = {"good": Noisy(0.9, 0), "fair": Noisy(0.8, 1)}
    assert combine(task(), {**both, "broken": Broken(0.9, 0)}) == combine(task(), both)
    assert combine(task(), {"good": Noisy(0.9, 0), "broken": Broken(0.9, 0)}) is None


def test_weights_are_those_of_the_best_round() -> None:
    truth = np.array([0.0, 1.0, 2.0, 3.0])
    members = np.stack([truth + 1, truth - 1])

    def score(predicted: np.ndarray, rows: np.ndarray) -> float:
        return -float(np.mean((predicted[rows] - truth[rows]) ** 2))

    assert chosen(members, np.arange(4), score).tolist() == [0.5, 0.5]


def test_fixed_predictions_are_scored_as_those_of_a_learner() -> None:
    generator = np.random.default_rng(0)
    classes, truth, rows = np.array(["x", "y"]), generator.choice(["x", "y"], 100), np.arange(100)
    likely = generator.dirichlet([1, 1], 100)
    fixed = FixedClassifier(likely, classes)
    for name in ("accuracy", "roc_auc", "neg_log_loss", "f1_macro"):
        assert np.isfinite(get_scorer(name)(fixed, rows, truth))
    assert get_scorer("r2")(FixedRegressor(likely[:, 0]), rows, likely[:, 0]) == 1.0
