"""Combining learners: the choice of weights, and that the reported score is from rows that did not choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from learners.samples import made
from pydaub import Allocation
from pydaub.data import Split, prepare
from pydaub.evaluation import combining
from pydaub.evaluation.combining import Combination, FixedClassifier, FixedRegressor, chosen, combine, predictions
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.evaluation.workbench import Workbench
from pydaub.learners import portfolio
from pydaub.learners.ensemble import probabilities

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


def combined(task: Task, learners: Mapping[str, Any]) -> Combination | None:
    found = {name: predictions(task.data, learner, task.data.valid().X) for name, learner in learners.items()}
    return combine(task, {name: predicted for name, predicted in found.items() if predicted is not None})


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", "f1"])
def test_independent_learners_are_better_together(scoring: str) -> None:
    found = combined(task(scoring), {f"noisy-{seed}": Noisy(0.7, seed) for seed in range(5)})
    assert found is not None
    assert found.score > found.alone
    assert len(found.weights) > 2
    assert sum(found.weights.values()) == pytest.approx(1.0, abs=1e-3)


def test_the_score_is_not_of_rows_that_chose() -> None:
    """Learners that guess can be combined such that they seem better than chance, on the rows that choose."""
    found = combined(task(told=False), {f"noisy-{seed}": Noisy(0.5, seed) for seed in range(12)})
    assert found is not None
    error = 0.5 / np.sqrt(ROWS / 2)
    assert abs(found.score - 0.5) < 3 * error
    assert abs(found.alone - 0.5) < 3 * error


def test_a_useless_learner_gets_no_weight() -> None:
    found = combined(task(), {"good": Noisy(0.95, 0), "bad": Noisy(0.05, 1), "poor": Noisy(0.5, 2)})
    assert found is not None
    assert max(found.weights, key=found.weights.__getitem__) == "good"
    assert "bad" not in found.weights


def test_learners_that_cannot_predict_are_left_out() -> None:
    class Broken(Noisy):
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            raise RuntimeError(f"{len(X)} rows are too many")

    both = {"good": Noisy(0.9, 0), "fair": Noisy(0.8, 1)}
    assert combined(task(), {**both, "broken": Broken(0.9, 0)}) == combined(task(), both)
    assert combined(task(), {"good": Noisy(0.9, 0), "broken": Broken(0.9, 0)}) is None


@pytest.mark.parametrize("most", [50, 10_000])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("tree", "classification"), ("svm-linear", "classification"), ("hist-gradient-boosting", "regression")],
)
def test_an_evaluation_keeps_what_the_learner_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: Any, most: int
) -> None:
    """For the validation rows that an ensemble is chosen by; with encoded rows as well as without."""
    monkeypatch.setattr(combining, "MOST_ROWS", most)
    rows = made("frame", kind, rows=300)
    data = prepare(rows.X, rows.y, task=kind)
    one = Task(data, portfolio(name, data.schema), scoring="r2" if kind == "regression" else "accuracy", ensemble=True)
    bench = Workbench(tmp_path)
    bench.lay_out(one)
    small = evaluate(one, Allocation(name, 100), bench)
    assert small.predicted is None
    full = evaluate(one, Allocation(name, data.full_size), bench)
    sample = data.valid(most)
    if kind == "regression":
        expected = full.fitted.predict(sample.X)
    else:
        expected = probabilities(full.fitted, sample.X, np.asarray(data.schema.classes))
    np.testing.assert_allclose(full.predicted, expected, rtol=1e-6)
    assert len(full.predicted) == min(most, data.valid_size)
    assert evaluate(replace(one, ensemble=False), Allocation(name, data.full_size), bench).predicted is None


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
