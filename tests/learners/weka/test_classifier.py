"""WekaClassifier: a scikit-learn estimator that predicts exactly what WEKA predicts."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import pydaub
from learners.weka.frames import J48, mixed
from pydaub import Allocation, Measurement
from pydaub.data import load, prepare
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.learners import Learner
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.jar import jar
from pydaub.runs import saving
from weka_here import needs_old_weka, needs_weka

pytestmark = needs_weka

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
# These classes use weights in their own ways; all others pass every check.
CANNOT_HOLD = {
    "weka.classifiers.functions.Logistic": {WEIGHTS: "it scales columns by all rows alike, whatever their weights"},
    "weka.classifiers.trees.RandomForest": {WEIGHTS: "it draws as many rows as there are, whatever their weights"},
    "weka.classifiers.lazy.IBk": {WEIGHTS: "the 3 nearest rows are 3 rows, whatever their weights"},
}
CHECKED = [
    WekaClassifier("weka.classifiers.bayes.NaiveBayes"),
    WekaClassifier("weka.classifiers.functions.Logistic"),
    WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5"),
    WekaClassifier("weka.classifiers.lazy.IBk", "-K 3"),
]


@parametrize_with_checks([WekaClassifier()])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow("weka")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    CHECKED, expected_failed_checks=lambda estimator: CANNOT_HOLD.get(estimator.class_name, {})
)
def test_other_classes_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def arff(path: Path, X: pd.DataFrame, y: Any, classes: Any) -> Path:
    """Write rows to an ARFF file with all digits."""
    lines = ["@relation rows"]
    for name in X.columns:
        values = X[name].cat.categories if isinstance(X[name].dtype, pd.CategoricalDtype) else None
        kind = "numeric" if values is None else "{" + ",".join(quoted(str(value)) for value in values) + "}"
        lines.append(f"@attribute {quoted(name)} {kind}")
    lines += ["@attribute class {" + ",".join(quoted(str(value)) for value in classes) + "}", "@data"]
    columns = [
        [
            "?" if pd.isna(value) else repr(float(value)) if X[name].dtype.kind == "f" else quoted(str(value))
            for value in X[name]
        ]
        for name in X.columns
    ]
    columns.append([quoted(str(value)) for value in y])
    lines += [",".join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def rows_of(name: str) -> tuple[pd.DataFrame, Any]:
    """Return a data set as a frame with categorical columns, and its labels as text."""
    if name in ("cancer", "wine"):
        X, y = {"cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True, as_frame=True)
        order = np.random.default_rng(3).permutation(len(X))  # so that both halves contain all classes
        return X.iloc[order], y.astype(str).to_numpy()[order]
    if name == "missing":
        X, y = rows_of("wine")
        X = X.where(np.random.default_rng(3).random(X.shape) > 0.1)
        X["shade"] = pd.cut(X["hue"], 3, labels=["pale", "red", "it's dark"])
        return X, y
    if name == "parity":
        data = load("parity:4000", None)
        sample = data.train(2800)
        return pd.DataFrame(sample.X.astype(int).astype(str)).rename(columns=str).astype("category"), sample.y
    if not SHARED.exists():
        pytest.skip("the shared data sets are not here")
    data = load(str(SHARED / f"{name}.parquet"), "target")
    sample = data.train(1000)
    columns = [column.name for column in data.schema.used]
    frame = pd.DataFrame(np.asarray(sample.X, dtype=float), columns=columns)
    return frame.iloc[:, :20], sample.y.astype(str)  # with more columns, Logistic takes long


COUNTED = (
    (J48, "-M 2 -C 0.25"),
    ("weka.classifiers.lazy.IBk", "-K 5"),
    ("weka.classifiers.bayes.NaiveBayes", ""),
    ("weka.classifiers.functions.Logistic", ""),
    ("weka.classifiers.trees.RandomForest", "-depth 10 -I 10 -K 0"),
    ("weka.classifiers.functions.SMO", '-K "weka.classifiers.functions.supportVector.RBFKernel -C 250007 -G 0.01"'),
    ("weka.classifiers.rules.PART", "-M 3"),
)


def check_against_command_line(name: str, counted: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    """Compare the number of correct predictions on the second half of a data set with that of WEKA's command line."""
    X, y = rows_of(name)
    half, classes = len(X) // 2, sorted(set(y))
    train = arff(tmp_path / "train.arff", X[:half], y[:half], classes)
    test = arff(tmp_path / "test.arff", X[half:], y[half:], classes)
    for class_name, options in counted:
        fitted = WekaClassifier(class_name, options).fit(X[:half], y[:half])
        right = int((fitted.predict(X[half:]) == y[half:]).sum())
        command = ["java", "-Djava.awt.headless=true", "-cp", ":".join(jar().paths), class_name]
        given = re.findall(r'"[^"]*"|\S+', options)
        command += [option.strip('"') for option in given] + ["-t", str(train), "-T", str(test), "-v", "-o"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        section = printed[printed.index("Error on test data") :]
        expected = re.search(r"Correctly Classified Instances\s+(\d+)", section)
        assert expected is not None
        assert right == int(expected[1]), class_name


def test_it_is_right_as_often_as_on_wekas_command_line(tmp_path: Path) -> None:
    check_against_command_line("missing", COUNTED[:1], tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("wine", marks=pytest.mark.slow("weka")),
        pytest.param("missing", marks=pytest.mark.slow("weka")),
        pytest.param("covtype", marks=pytest.mark.slow("versions")),
    ],
)
def test_more_classes_are_right_as_often_as_on_wekas_command_line(name: str, tmp_path: Path) -> None:
    check_against_command_line(name, COUNTED, tmp_path)


def test_weights_are_used_or_refused() -> None:
    frame, y = mixed()
    weights = np.where(y == "left", 5.0, 1.0)
    zero = WekaClassifier("weka.classifiers.rules.ZeroR")
    assert set(clone(zero).fit(frame, y, sample_weight=weights).predict(frame)) == {"left"}
    assert set(clone(zero).fit(frame, y, sample_weight=1 / weights).predict(frame)) == {"right"}
    twice = pd.concat([frame, frame[y == "left"]], ignore_index=True)
    repeated = WekaClassifier().fit(twice, np.concatenate([y, y[y == "left"]]))
    weighted = WekaClassifier().fit(frame, y, sample_weight=np.where(y == "left", 2, 1))
    assert np.allclose(repeated.predict_proba(frame), weighted.predict_proba(frame))
    without = WekaClassifier().fit(frame[:300], y[:300])
    nothing = WekaClassifier().fit(frame, y, sample_weight=np.repeat([1, 0], [300, 100]))
    assert np.array_equal(without.predict_proba(frame), nothing.predict_proba(frame))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        WekaClassifier().fit(frame, y, sample_weight=-weights)
    with pytest.raises(ValueError, match="at least"):
        WekaClassifier().fit(frame, y, sample_weight=0 * weights)
    with pytest.raises(ValueError, match="needs at least two classes"):
        WekaClassifier().fit(frame, y, sample_weight=y == "left")
    lmt = WekaClassifier("weka.classifiers.trees.LMT", "-B")
    with pytest.raises(ValueError, match="LMT does not support sample weights"):
        clone(lmt).fit(frame, y, sample_weight=weights)
    clone(lmt).fit(frame[:50], y[:50], sample_weight=np.full(50, 3.0))  # equal weights change nothing


@pytest.mark.parametrize("class_name", [J48, "weka.classifiers.lazy.IBk", "weka.classifiers.trees.RandomForest"])
def test_a_trained_learner_is_pickled_copied_and_saved_without_code(class_name: str, tmp_path: Path) -> None:
    frame, y = mixed()
    fitted = WekaClassifier(class_name).fit(frame, y)
    before = fitted.predict_proba(frame)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert np.array_equal(again.predict_proba(frame), before)
        assert np.array_equal(pickle.loads(pickle.dumps(again)).predict_proba(frame), before)
    saved = saving.save(fitted, tmp_path, frame)
    assert saved == saving.Saved(tmp_path / "model.skops")
    assert np.array_equal(saving.load(tmp_path).predict_proba(frame), before)


def test_an_untrained_learner_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(WekaClassifier(J48, "-M 5"))).options == "-M 5"


def test_other_metrics_do_not_change_the_score() -> None:
    random = np.random.default_rng(2)
    X = random.standard_t(1, size=(600, 4))
    data = prepare(X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b"))
    learner = {"it": Learner("it", WekaClassifier("weka.classifiers.lazy.IBk"))}
    with_them, without = (
        evaluate(Task(data, learner, scoring="accuracy", metrics=metrics), Allocation("it", 200)).outcome
        for metrics in ("all", "none")
    )
    assert isinstance(with_them, Measurement)
    assert isinstance(without, Measurement)
    assert with_them.metrics["accuracy"] == with_them.valid_score == without.valid_score


def test_failed_training_keeps_the_previous_model() -> None:
    frame, y = mixed()
    learner = WekaClassifier().fit(frame, y)
    before = learner.predict(frame)
    with pytest.raises(ValueError, match="Illegal options"):
        learner.set_params(options="-Z").fit(frame, np.where(y == "left", "new", "newer"))
    assert np.array_equal(learner.predict(frame), before)
    unfitted = WekaClassifier(options="-Z")
    with pytest.raises(ValueError, match="Illegal options"):
        unfitted.fit(frame, y)
    with pytest.raises(NotFittedError):
        unfitted.predict(frame)


@needs_old_weka
def test_unclassified_rows_get_the_class_shares_of_training() -> None:
    """Id3 does not classify a row whose branch had no row in training."""
    colours = pd.CategoricalDtype(["red", "green", "blue"])
    X = pd.DataFrame({"colour": pd.Series(["red", "red", "green", "green", "green", "green"], dtype=colours)})
    fitted = WekaClassifier("weka.classifiers.trees.Id3").fit(X, list("aabbbb"))
    new = pd.DataFrame({"colour": pd.Series(["red", "green", "blue"], dtype=colours)})
    assert np.allclose(fitted.predict_proba(new), np.array([[1, 0], [0, 1], [1 / 3, 2 / 3]]))
    assert list(fitted.predict(new)) == ["a", "b", "b"]


@pytest.mark.slow("versions")
def test_it_works_in_a_pipeline_and_in_other_processes() -> None:
    X, y = load_wine(return_X_y=True)
    learner = make_pipeline(FunctionTransformer(), WekaClassifier("weka.classifiers.bayes.NaiveBayes"))
    here = cross_val_score(learner, X, y, cv=3)
    there = cross_val_score(learner, X, y, cv=3, n_jobs=2)
    assert np.array_equal(here, there)
    assert here.mean() > 0.9


def test_the_package_exports_it() -> None:
    assert pydaub.WekaClassifier is WekaClassifier
