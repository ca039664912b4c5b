"""Metrics that are recorded besides the score, from predictions that are made only once.

scikit-learn has all of them, but validates its input again for each, even with parameter validation switched off. For
13,563 rows it takes 20 ms with 2 classes and 53 ms with 7, these functions take 3 ms and 15 ms; for 90 rows 9 ms and
0.3 ms. The tests compare the results with scikit-learn's.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from pydaub.learners.adapters import NearestClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = np.ndarray[Any, Any]

PARTS: Final = 100  # blocks of rows on which the score is also kept
MOST_RANKED: Final = 5_000_000  # probabilities, which are sorted for the auc, in about half a second
DIGITS: Final = 6  # of the score on a block
MEANS: Final = ("accuracy", "neg_mean_squared_error", "neg_mean_absolute_error")  # over the rows
CLOSE: Final = 1e-3  # rounding differs by less
RATIOS: Final = ("f1", "precision", "recall")
CLASS_RATIOS: Final = (*RATIOS, "jaccard")  # of hits to other rows of a class

# These classifiers predict the class with the highest probability, so that predictions follow from the probabilities at
# no cost. WEKA's do so too; they have an attribute that says so.
BY_PROBABILITY = (
    KNeighborsClassifier,
    NearestClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    BaggingClassifier,
)


class Predictions:
    """A fitted learner that remembers its predictions; all other attributes are those of the learner."""

    def __init__(self, fitted: Any) -> None:
        self._fitted = fitted
        self._known: dict[tuple[str, int], Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__sklearn_tags__":
            raise AttributeError(name)
        value = getattr(self._fitted, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return value

        def remembered(X: Any) -> Any:
            key = (name, id(X))
            if key not in self._known:
                self._known[key] = self._predicted(X) if name == "predict" else value(X)
            return self._known[key]

        remembered.__name__ = name  # scikit-learn reads it
        return remembered

    def made(self, X: Any, method: str = "predict") -> Any:
        """Return the predictions for these rows, if they were made already; otherwise None."""
        return self._known.get((method, id(X)))

    def _predicted(self, X: Any) -> Any:
        last = self._fitted.steps[-1][1] if isinstance(self._fitted, Pipeline) else self._fitted
        by_probability = type(last) in BY_PROBABILITY or getattr(last, "predicts_by_probability", False)
        if by_probability:  # so that whoever needs the probabilities finds them
            return last.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return self._fitted.predict(X)


def classification_metrics(fitted: Any, X: Any, y: Array, classes: Array) -> dict[str, float]:
    """Return accuracy, precision, recall and f1; also auc and log_loss if the learner predicts probabilities.

    Precision, recall and f1 are unweighted means over the classes. `classes` are all labels in sorted order. With more
    than two classes, auc is the mean over the classes of each one against the rest. It is left out where it would take
    longer than most trainings.
    """
    probabilities = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else None
    truth, predicted = _codes(y, classes), _codes(fitted.predict(X), classes)
    found = _by_class(truth, predicted, len(classes))
    if probabilities is not None:
        aligned = probabilities
        if not np.array_equal(fitted.classes_, classes):  # the sample may have lacked some
            aligned = np.zeros((len(y), len(classes)))
            aligned[:, _codes(fitted.classes_, classes)] = probabilities
        found["log_loss"] = _log_loss(truth, aligned)
        if aligned.size <= MOST_RANKED:
            found["auc"] = _auc(truth, aligned)
    elif len(classes) == 2 and hasattr(fitted, "decision_function"):  # noqa: PLR2004  # one decision value for two classes
        found["auc"] = _area(truth == 1, fitted.decision_function(X))
    return found


def regression_metrics(fitted: Any, X: Any, y: Array) -> dict[str, float]:
    """Return r2, mean_absolute_error and root_mean_squared_error."""
    errors = np.asarray(fitted.predict(X), dtype=float).ravel() - y
    spread = float(np.sum((y - np.mean(y)) ** 2))
    return {
        "r2": 1.0 - float(np.sum(errors**2)) / spread if spread else float("nan"),
        "mean_absolute_error": float(np.mean(np.abs(errors))),
        "root_mean_squared_error": float(np.sqrt(np.mean(errors**2))),
    }


def quick_scorer(scoring: str, classes: Array) -> Callable[[Array, Array], float] | None:
    """Return a function of the codes of true classes and of probabilities; None if there is none for this scorer.

    It scores as scikit-learn's scorer does, several times as fast, because it checks nothing.
    """
    of_labels = _quick_scorer_of_labels(scoring, classes)
    if of_labels is not None:
        return lambda truth, probabilities: of_labels(truth, np.argmax(probabilities, axis=1))
    positive = _positive(classes)
    if scoring == "neg_log_loss":
        return lambda truth, probabilities: -_log_loss(truth, probabilities)
    if scoring == "roc_auc_ovr" or (scoring == "roc_auc" and len(classes) == 2):  # noqa: PLR2004  # two classes share one curve
        return lambda truth, probabilities: _auc(truth, _normalised(probabilities))
    if scoring == "average_precision" and positive is not None:
        return lambda truth, shares: _average_precision(truth == positive, _normalised(shares)[:, positive])
    return None


def _quick_scorer_of_labels(scoring: str, classes: Array) -> Callable[[Array, Array], float] | None:
    """Return a function of the codes of true and of predicted classes."""
    name, _, average = scoring.partition("_")
    if scoring == "accuracy" or (name in RATIOS and average == "micro"):
        return lambda truth, predicted: float(np.mean(truth == predicted))
    if name in RATIOS and average == "macro":
        return lambda truth, predicted: float(_ratios(truth, predicted, len(classes))[0][name].mean())
    if scoring == "balanced_accuracy" or (name in RATIOS and average == "weighted"):

        def weighted(truth: Array, predicted: Array) -> float:
            ratios, actual = _ratios(truth, predicted, len(classes))
            balanced = scoring == "balanced_accuracy"  # the mean recall of the classes that occur
            return float(np.average(ratios["recall" if balanced else name], weights=actual > 0 if balanced else actual))

        return weighted
    positive = _positive(classes)
    if scoring in CLASS_RATIOS and positive is not None:
        return lambda truth, predicted: float(np.mean(_hits_by_row(scoring, predicted == positive, truth == positive)))
    return None


def _positive(classes: Array) -> int | None:
    """Return the code of the class that scikit-learn takes as the positive one: of two, the one with the label 1."""
    return classes.tolist().index(1) if len(classes) == 2 and 1 in classes.tolist() else None  # noqa: PLR2004  # see above


def _normalised(probabilities: Array) -> Array:
    totals = probabilities.sum(axis=1, keepdims=True)
    return probabilities / np.where(totals > 0, totals, 1.0)


def score_parts(predictions: Predictions, X: Any, y: Array, scoring: str, score: float) -> tuple[float, ...]:
    """Return the score on each of up to `PARTS` consecutive blocks of rows, to compare two learners block by block.

    A score that is no mean over rows is linearised: each row counts with its influence on the score. Empty where that
    is not known, or the predictions would have to be made for this alone.
    """
    with suppress(Exception):  # a learner may predict anything; the score counts all the same
        rows = _by_row(predictions, X, np.asarray(y), scoring)
        if rows is not None and math.isclose(float(np.mean(rows)), score, rel_tol=1e-6, abs_tol=1e-9):
            blocks = np.array_split(rows, min(PARTS, len(rows)))
            return tuple(float(f"{np.mean(block):.{DIGITS}g}") for block in blocks)
    return ()


def check_score(predictions: Predictions, X: Any, y: Array, scoring: str, score: float) -> None:
    """Raise if a score is not that of the predictions: something in this process has changed how it is computed.

    Only scores are checked that are simple means over the rows, which takes next to no time.
    """
    own = score
    if scoring in MEANS:
        made = np.asarray(predictions.predict(X)).ravel()
        with suppress(TypeError, ValueError):  # predictions of another form, which the scorer understands
            rows = _labels_by_row(made, np.asarray(y), scoring)
            own = score if rows is None or rows.shape != np.shape(y) else float(np.mean(rows))
    if math.isfinite(own) and not math.isclose(own, score, rel_tol=CLOSE, abs_tol=CLOSE):
        raise RuntimeError(
            f"its {scoring} is {score:.4g}, but that of its predictions is {own:.4g}: something has changed the scorer"
        )


def _by_row(predictions: Predictions, X: Any, y: Array, scoring: str) -> Array | None:
    """Return what each row contributes to the score, such that their mean is the score."""
    if scoring == "roc_auc":
        return _area_by_row(predictions, X, y)
    if scoring in ("neg_log_loss", "neg_brier_score"):
        return _loss_by_row(predictions, X, y, scoring)
    made = predictions.made(X)
    return None if made is None else _labels_by_row(np.asarray(made).ravel(), y, scoring)


def _labels_by_row(predicted: Array, y: Array, scoring: str) -> Array | None:
    if scoring == "accuracy" or scoring.endswith("_micro"):
        return (predicted == y).astype(float)
    name, _, average = scoring.partition("_")
    if scoring == "balanced_accuracy":
        name, labels = "recall", np.unique(y)
    elif name in CLASS_RATIOS and average in ("", "macro"):
        labels = np.union1d(y, predicted) if average else np.array([1])
    else:
        return _errors_by_row(predicted.astype(float), y, scoring)
    found: Array = np.mean([_hits_by_row(name, predicted == label, y == label) for label in labels], axis=0)
    return found


def _errors_by_row(predicted: Array, y: Array, scoring: str) -> Array | None:
    """Return what each row contributes to a score of regression."""
    errors = predicted - y
    match scoring:
        case "r2":
            return 1 - errors**2 / np.mean((y - np.mean(y)) ** 2)
        case "neg_mean_squared_error":
            return -(errors**2)
        case "neg_root_mean_squared_error":
            root = np.sqrt(np.mean(errors**2))
            return -(root + errors**2 / root) / 2
        case "neg_mean_absolute_error":
            return -abs(errors)
        case "neg_mean_absolute_percentage_error":
            return -abs(errors) / np.maximum(abs(y), np.finfo(float).eps)
    return None


def _hits_by_row(name: str, claimed: Array, actual: Array) -> Array:
    """Return the contributions to F1, precision, recall or the Jaccard score of one class: a ratio of two means."""
    hits = (claimed & actual).astype(float)
    above, below = {
        "f1": (2 * hits, claimed.astype(float) + actual),
        "precision": (hits, claimed.astype(float)),
        "recall": (hits, actual.astype(float)),
        "jaccard": (hits, (claimed | actual).astype(float)),
    }[name]
    mean = np.mean(below)
    return above if mean == 0 else np.mean(above) / mean + (above - np.mean(above) / mean * below) / mean


def _area_by_row(predictions: Predictions, X: Any, y: Array) -> Array | None:
    """Return the contributions to the area under the ROC curve (DeLong, DeLong and Clarke-Pearson 1988)."""
    scores = predictions.made(X, "decision_function")
    if scores is None and (probabilities := predictions.made(X, "predict_proba")) is not None:
        scores = probabilities[:, 1]
    if scores is None:
        return None
    positive = y == predictions.classes_[1]
    ranks, count = rankdata(scores), int(positive.sum())
    found = np.empty(len(y))
    found[positive] = (ranks[positive] - rankdata(scores[positive])) / (len(y) - count)
    found[~positive] = 1 - (ranks[~positive] - rankdata(scores[~positive])) / count
    area = found[positive].mean()
    return area + (found - area) * np.where(positive, len(y) / count, len(y) / (len(y) - count))


def _loss_by_row(predictions: Predictions, X: Any, y: Array, scoring: str) -> Array | None:
    """Return the contributions to a score of probabilities."""
    probabilities = predictions.made(X, "predict_proba")
    if probabilities is None:
        return None
    truth = _codes(y, predictions.classes_)
    if scoring == "neg_brier_score":
        return -((probabilities[:, 1] - truth) ** 2) if probabilities.shape[1] == 2 else None  # noqa: PLR2004  # two classes
    given = probabilities[np.arange(len(y)), truth] / probabilities.sum(axis=1)
    return np.log(np.clip(given, np.finfo(probabilities.dtype).eps, 1.0))


def _codes(labels: Any, classes: Array) -> Array:
    """Return the index of each label in the sorted classes."""
    labels = np.asarray(labels).ravel()
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not np.array_equal(classes[codes], labels):  # for example, from a regressor among classifiers
        raise ValueError("predictions must be labels")
    return codes


def _by_class(truth: Array, predicted: Array, count: int) -> dict[str, float]:
    ratios, _ = _ratios(truth, predicted, count)
    return {
        "accuracy": float(np.mean(truth == predicted)),
        **{name: float(each.mean()) for name, each in ratios.items()},
    }


def _ratios(truth: Array, predicted: Array, count: int) -> tuple[dict[str, Array], Array]:
    """Return precision, recall and f1 of each class that occurs or is predicted, and how often each occurs."""
    confusion = np.bincount(truth * count + predicted, minlength=count * count).reshape(count, count)
    right, actual, claimed = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    seen = (actual + claimed) > 0
    right, actual, claimed = right[seen], actual[seen], claimed[seen]
    ratios = {
        "precision": right / np.maximum(claimed, 1),
        "recall": right / np.maximum(actual, 1),
        "f1": 2 * right / (actual + claimed),
    }
    return ratios, actual


def _log_loss(truth: Array, probabilities: Array) -> float:
    totals = probabilities.sum(axis=1)
    right = probabilities[np.arange(len(truth)), truth] / np.where(totals > 0, totals, 1.0)
    return float(-np.mean(np.log(np.clip(right, np.finfo(float).eps, 1.0))))


def _auc(truth: Array, probabilities: Array) -> float:
    columns = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])  # noqa: PLR2004  # two classes share one curve
    areas = [_area(truth == column, probabilities[:, column]) for column in columns]
    return float(np.mean(areas))


def _area(positive: Array, scores: Array) -> float:
    """Return the area under the ROC curve; nan if all rows are positive or all are negative."""
    count = int(positive.sum())
    pairs = count * (len(positive) - count)
    if not pairs:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - count * (count + 1) / 2) / pairs)


def _average_precision(positive: Array, scores: Array) -> float:
    """Return the mean precision over the positive rows, where rows with equal scores come together."""
    order = np.argsort(scores)[::-1]
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of each score
    hits = np.cumsum(positive[order])[last]
    return float(np.sum(np.diff(hits, prepend=0) * hits / (last + 1)) / max(hits[-1], 1))
