"""WekaClassifier: an estimator like any other, whose every answer is WEKA's own."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import pydaub
from pydaub import Allocation, Measurement
from pydaub.data import load, prepare
from pydaub.errors import InputError
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.learners import Learner
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.jar import VARIABLE, jar
from pydaub.runs import saving
from weka_here import needs_old_weka, needs_weka, newer_weka

pytestmark = needs_weka

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
J48 = "weka.classifiers.trees.J48"
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
# J48, naive Bayes and others pass every check. These know weights, but in a way of their own:
CANNOT_HOLD = {
    "weka.classifiers.functions.Logistic": {WEIGHTS: "it scales columns by all rows alike, whatever their weights"},
    "weka.classifiers.trees.RandomForest": {WEIGHTS: "rows are drawn by chance, as many as there are"},
    "weka.classifiers.lazy.IBk": {WEIGHTS: "the 3 nearest are 3 rows, whatever their weights"},
}
CHECKED = [
    WekaClassifier(),
    WekaClassifier("weka.classifiers.bayes.NaiveBayes"),
    WekaClassifier("weka.classifiers.functions.Logistic"),
    WekaClassifier("weka.classifiers.trees.RandomForest", "-I 5"),
    WekaClassifier("weka.classifiers.lazy.IBk", "-K 3"),
]


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    CHECKED, expected_failed_checks=lambda estimator: CANNOT_HOLD.get(estimator.class_name, {})
)
def test_it_is_what_scikit_learn_calls_an_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def arff(path: Path, X: pd.DataFrame, y: Any, classes: Any) -> Path:
    """Write rows as one would write them for WEKA, with every digit."""
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
    """Return rows as a frame in which nominal columns are categories, and labels as text."""
    if name in ("cancer", "wine"):
        X, y = {"cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True, as_frame=True)
        order = np.random.default_rng(3).permutation(len(X))  # so that both halves have all classes
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
    sample = data.train(3000)
    columns = [column.name for column in data.schema.used]
    return pd.DataFrame(np.asarray(sample.X, dtype=float), columns=columns), sample.y.astype(str)


COUNTED = (
    (J48, "-M 2 -C 0.25"),
    ("weka.classifiers.lazy.IBk", "-K 5"),
    ("weka.classifiers.bayes.NaiveBayes", ""),
    ("weka.classifiers.functions.Logistic", ""),
    ("weka.classifiers.trees.RandomForest", "-depth 10 -I 10 -K 0"),
    ("weka.classifiers.functions.SMO", '-K "weka.classifiers.functions.supportVector.RBFKernel -C 250007 -G 0.01"'),
    ("weka.classifiers.rules.PART", "-M 3"),
)


@pytest.mark.parametrize("name", ["cancer", "wine", "missing", "parity", "higgs", "covtype"])
def test_as_many_rows_are_right_as_wekas_own_command_line_counts(name: str, tmp_path: Path) -> None:
    X, y = rows_of(name)
    half, classes = len(X) // 2, sorted(set(y))
    train = arff(tmp_path / "train.arff", X[:half], y[:half], classes)
    test = arff(tmp_path / "test.arff", X[half:], y[half:], classes)
    for class_name, options in COUNTED:
        fitted = WekaClassifier(class_name, options).fit(X[:half], y[:half])
        right = int((fitted.predict(X[half:]) == y[half:]).sum())
        command = ["java", "-Djava.awt.headless=true", "-cp", ":".join(jar().paths), class_name]
        given = re.findall(r'"[^"]*"|\S+', options)
        command += [option.strip('"') for option in given] + ["-t", str(train), "-T", str(test), "-v", "-o"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        section = printed[printed.index("Error on test data") :]
        counted = re.search(r"Correctly Classified Instances\s+(\d+)", section)
        assert counted is not None
        assert right == int(counted[1]), (class_name, right, counted[1])


def test_options_are_what_one_would_type_with_quoting_or_a_list() -> None:
    X, y = load_iris(return_X_y=True)
    kernel = "weka.classifiers.functions.supportVector.PolyKernel -C 250007 -E 2.0"
    typed = WekaClassifier("weka.classifiers.functions.SMO", f'-C 0.5 -K "{kernel}"').fit(X, y)
    listed = WekaClassifier("weka.classifiers.functions.SMO", ["-C", "0.5", "-K", kernel]).fit(X, y)
    other = WekaClassifier("weka.classifiers.functions.SMO", "-C 0.5").fit(X, y)
    assert np.array_equal(typed.predict_proba(X), listed.predict_proba(X))
    assert (typed.predict(X) != other.predict(X)).any()
    nested = "-W weka.classifiers.trees.J48 -I 3 -- -M 20"
    boosted = WekaClassifier("weka.classifiers.meta.AdaBoostM1", nested).fit(X, y)
    assert boosted.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("class_name", "options", "message"),
    [
        ("weka.classifiers.trees.J84", "", r"class of WEKA .*, got 'weka.classifiers.trees.J84'. Did you mean .*J48"),
        ("J48", "", "Did you mean weka.classifiers.trees.J48"),
        ("trees.J48; rm -rf /", "", "must be a class of WEKA"),
        ("weka.clusterers.SimpleKMeans", "", "SimpleKMeans is not assignable|weka.classifiers.Classifier"),
        ("", "", "`class_name` must be the name"),
        (None, "", "`class_name` must be the name"),
        ("weka.classifiers.SingleClassifierEnhancer", "", "this class is abstract"),
        ("weka.classifiers.trees.j48.C45Split", "", "Classifier"),
        (J48, "-Z 3", "Illegal options: -Z 3"),
        (J48, "-C much", "much"),
        (J48, "-C", "No value given for -C option"),
        (J48, '-K "open', "Quote parse error"),
        (J48, 3, "`options` must be text, or a list of it, got 3"),
        (J48, ["-M", 3], "`options` must be text"),
        ("weka.classifiers.functions.LinearRegression", "", "Cannot handle multi-valued nominal class"),
    ],
)
def test_nonsense_is_refused(class_name: Any, options: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        WekaClassifier(class_name, options).fit(X, y)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("all", "must be 'from_dtype'"), ([4], "among the 4 columns"), ([-1], "among the 4"), ([True], "4 truth values")],
)
def test_categories_that_are_not_there_are_refused(wanted: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        WekaClassifier(categorical_features=wanted).fit(X, y)


def mixed() -> tuple[pd.DataFrame, Any]:
    """Return rows whose class depends on a category, in no order of its values, and on a number."""
    random = np.random.default_rng(1)
    colour, size = random.choice(["red", "green", "blue"], 400), random.normal(size=400)
    frame = pd.DataFrame({"colour": colour, "size": size, "flag": random.random(400) > 0.5})
    return frame, np.where((colour == "green") ^ (size > 0), "left", "right")


def test_categories_text_and_truth_values_are_nominal() -> None:
    frame, y = mixed()
    for rows in (frame, frame.astype({"colour": "category"}), frame.astype({"colour": object}), pl.from_pandas(frame)):
        fitted = WekaClassifier().fit(rows, y)
        kinds = [None if column.categories is None else list(column.categories) for column in fitted.columns_]
        assert kinds == [["blue", "green", "red"], None, [False, True]]
        assert fitted.score(rows, y) > 0.95
        assert list(fitted.feature_names_in_) == ["colour", "size", "flag"]
    codes = frame.assign(colour=frame["colour"].astype("category").cat.codes, flag=frame["flag"].astype(int))
    by_name = WekaClassifier(categorical_features=["colour"]).fit(codes, y)
    by_place = WekaClassifier(categorical_features=[0]).fit(codes.to_numpy(), y)
    by_mask = WekaClassifier(categorical_features=[True, False, False]).fit(codes.to_numpy(), y)
    assert (
        len(
            {
                tuple(each.predict(rows))
                for each, rows in ((by_name, codes), (by_place, codes.to_numpy()), (by_mask, codes.to_numpy()))
            }
        )
        == 1
    )
    numeric = WekaClassifier(categorical_features=None).fit(codes, y)
    assert all(column.categories is None for column in numeric.columns_)


def test_text_in_an_array_is_nominal_where_that_is_told() -> None:
    frame, y = mixed()
    told = WekaClassifier(categorical_features=[0, 2])
    for rows in (frame.to_numpy(dtype=object), frame.to_numpy(dtype=object).astype(str)):
        fitted = clone(told).fit(rows, y)
        assert fitted.score(rows, y) > 0.95
        assert [column.categories is None for column in fitted.columns_] == [False, True, False]
    with pytest.raises(ValueError, match="could not convert string to float"):
        WekaClassifier().fit(frame.to_numpy(dtype=object), y)
    with pytest.raises(ValueError, match="among the 3 columns"):
        WekaClassifier(categorical_features=[99]).fit(frame.to_numpy(dtype=object), y)


def test_labels_are_written_as_people_write_them() -> None:
    """RandomForest and others draw their chance from the text of a row too."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = WekaClassifier("weka.classifiers.trees.RandomForest", "-I 3")
    answers = [clone(forest).fit(X, labels).predict_proba(X) for labels in (y, y.astype(float), y.astype(str))]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_numbers_that_came_as_objects_are_numbers() -> None:
    frame, y = mixed()
    fitted = WekaClassifier().fit(frame.astype({"size": object}), y)
    assert fitted.columns_[1].categories is None
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame.astype({"size": object})))


def test_categories_of_several_types_stay_apart() -> None:
    frame, y = mixed()
    odd = frame.assign(colour=frame["colour"].map({"red": 1, "green": "1", "blue": "1 (2)"}).astype("category"))
    fitted = WekaClassifier().fit(odd, y)
    assert sorted(fitted.columns_[0].labels) == ["1", "1 (2)", "1 (2) (2)"]
    assert fitted.score(odd, y) > 0.95


def test_declared_categories_count_though_no_row_has_them() -> None:
    frame, y = mixed()
    declared = pd.CategoricalDtype(["red", "violet", "green", "blue"])
    fitted = WekaClassifier().fit(frame.astype({"colour": declared}), y)
    assert list(fitted.columns_[0].categories) == ["red", "violet", "green", "blue"]
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame.astype({"colour": declared})))


def test_missing_values_and_new_categories_are_missing_to_weka() -> None:
    frame, y = mixed()
    frame.loc[::9, "colour"] = None
    frame.loc[::7, "size"] = np.nan
    frame["nothing"] = np.nan
    frame["no category"] = pd.Categorical([None] * len(frame), categories=[])
    for class_name in (J48, "weka.classifiers.bayes.NaiveBayes", "weka.classifiers.lazy.IBk"):
        fitted = WekaClassifier(class_name).fit(frame, y)
        new, gone = frame.assign(colour="violet"), frame.assign(colour=None)
        assert np.array_equal(fitted.predict_proba(new), fitted.predict_proba(gone))
        assert fitted.score(frame, y) > 0.6


def test_labels_may_be_of_any_type_and_names_anything() -> None:
    frame, y = mixed()
    for labels in (y == "left", np.where(y == "left", 7, -3), np.where(y == "left", "{a,'b}", "% ?")):
        fitted = WekaClassifier().fit(frame, labels)
        assert fitted.score(frame, labels) > 0.95
        assert set(fitted.classes_) == set(labels)
    odd = frame.rename(columns={"colour": "class", "size": "a,'b' {%}", "flag": "class_"})
    assert WekaClassifier().fit(odd, y).score(odd, y) > 0.95


def test_one_class_is_refused_and_so_are_rows_that_are_none() -> None:
    frame, y = mixed()
    with pytest.raises(ValueError, match="at least two classes"):
        WekaClassifier().fit(frame, np.full(len(y), "left"))
    for value in (pd.Timestamp(0), pd.Timedelta(1, "D")):
        with pytest.raises(ValueError, match="columns must be numbers, truth values, text or categories, got"):
            WekaClassifier().fit(frame.assign(when=value), y)
    with pytest.raises(ValueError, match="finite numbers"):
        WekaClassifier().fit(frame.assign(size=np.inf), y)
    with pytest.raises(ValueError, match="0 sample"):
        WekaClassifier().fit(frame[:0], y[:0])
    fitted = WekaClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="'size' must be of numbers, as in training"):
        fitted.predict(frame.assign(size="large"))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"size": "weight"}))


def test_weights_are_heeded_or_refused() -> None:
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
    with pytest.raises(ValueError, match="must not be negative"):
        WekaClassifier().fit(frame, y, sample_weight=-weights)
    with pytest.raises(ValueError, match="at least"):
        WekaClassifier().fit(frame, y, sample_weight=0 * weights)
    with pytest.raises(ValueError, match="two classes to choose from"):
        WekaClassifier().fit(frame, y, sample_weight=y == "left")
    lmt = WekaClassifier("weka.classifiers.trees.LMT", "-B")
    with pytest.raises(ValueError, match="LMT does not heed sample weights"):
        clone(lmt).fit(frame, y, sample_weight=weights)
    clone(lmt).fit(frame[:50], y[:50], sample_weight=np.full(50, 3.0))  # all alike: nothing to heed


@pytest.mark.parametrize("class_name", [J48, "weka.classifiers.lazy.IBk", "weka.classifiers.trees.RandomForest"])
def test_a_fitted_one_travels_and_is_saved_as_data(class_name: str, tmp_path: Path) -> None:
    frame, y = mixed()
    fitted = WekaClassifier(class_name).fit(frame, y)
    before = fitted.predict_proba(frame)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert np.array_equal(again.predict_proba(frame), before)
        assert np.array_equal(pickle.loads(pickle.dumps(again)).predict_proba(frame), before)
    saved = saving.save(fitted, tmp_path, frame)
    assert (saved.path.name, saved.reason) == ("model.skops", None)
    assert np.array_equal(saving.load(tmp_path).predict_proba(frame), before)


def test_an_unfitted_one_travels_too() -> None:
    assert pickle.loads(pickle.dumps(WekaClassifier(J48, "-M 5"))).options == "-M 5"


def test_what_was_kept_by_another_weka_is_refused() -> None:
    frame, y = mixed()
    state = pickle.dumps(WekaClassifier().fit(frame, y))
    again = pickle.loads(state)
    again.weka_version_ = "3.4.1"
    with pytest.raises(ValueError, match=r"must be the one that this learner was trained with, 3\.4\.1, got 3\."):
        again.predict(frame)


def test_a_process_has_one_weka(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = newer_weka()
    frame, y = mixed()
    fitted = WekaClassifier().fit(frame, y)
    monkeypatch.setenv(VARIABLE, newer)
    with pytest.raises(InputError, match=r"one and the same in a process, got 3\.9\.\d+ where 3\."):
        WekaClassifier().fit(frame, y)
    with pytest.raises(ValueError, match=r"must be the one that this learner was trained with, 3\..*, got 3\.9"):
        fitted.predict(frame)


def test_objects_of_foreign_types_are_not_read() -> None:
    """Reading Java objects can run code as unpickling can: only those of WEKA and of plain Java are taken."""
    import jpype  # noqa: PLC0415  # optional

    frame, y = mixed()
    fitted = WekaClassifier().fit(frame, y)
    buffer = jpype.JClass("java.io.ByteArrayOutputStream")()
    stream = jpype.JClass("java.io.ObjectOutputStream")(buffer)
    stream.writeObject(jpype.JClass("java.net.URL")("http://localhost/"))
    stream.close()
    again = pickle.loads(pickle.dumps(fitted))
    again.model_ = bytes(memoryview(buffer.toByteArray()))  # as an attacker would
    with pytest.raises(ValueError, match="must be made of objects of WEKA and of plain Java alone"):
        again.predict(frame)


def test_a_class_that_holds_foreign_objects_is_refused_when_it_is_first_asked() -> None:
    """CostSensitiveClassifier holds a file's name, which reading back would open."""
    frame, y = mixed()
    costs = '-cost-matrix "[0.0 1.0; 2.0 0.0]" -W weka.classifiers.rules.ZeroR'
    fitted = WekaClassifier("weka.classifiers.meta.CostSensitiveClassifier", costs).fit(frame, y)
    with pytest.raises(ValueError, match="must be made of objects of WEKA and of plain Java alone"):
        fitted.predict(frame)


LAZY = ("lazy.IBk", "lazy.KStar", "lazy.LWL")


@pytest.mark.parametrize("name", LAZY)
def test_what_it_is_asked_does_not_change_it(name: str) -> None:
    """WEKA's IBk widens its ranges by each row that it is asked about."""
    random = np.random.default_rng(2)
    X = random.standard_t(1, size=(400, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    fitted = WekaClassifier(f"weka.classifiers.{name}", "-K 3" if name.endswith("IBk") else "").fit(X[:200], y[:200])
    before = fitted.predict_proba(X[200:])
    fitted.predict(1000 * X)
    assert np.array_equal(fitted.predict_proba(X[200:]), before)
    assert ((before >= 0) & (before <= 1)).all()


def test_metrics_beside_the_score_do_not_change_it() -> None:
    random = np.random.default_rng(2)
    X = random.standard_t(1, size=(600, 4))
    data = prepare(X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b"))
    learner = {"it": Learner("it", WekaClassifier("weka.classifiers.lazy.IBk"))}
    with_them, without = (
        evaluate(Task(data, learner, scoring="accuracy", metrics=metrics), Allocation("it", 200)).outcome
        for metrics in (True, False)
    )
    assert isinstance(with_them, Measurement)
    assert isinstance(without, Measurement)
    assert with_them.metrics["accuracy"] == with_them.valid_score == without.valid_score


def test_a_failed_training_leaves_the_one_before() -> None:
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


SEEDED = ("trees.RandomTree", "trees.RandomForest", "rules.JRip", "trees.REPTree", "functions.MultilayerPerceptron")


@pytest.mark.parametrize("name", SEEDED)
def test_the_seed_decides(name: str) -> None:
    X, y = load_wine(return_X_y=True)

    def answers(seed: Any, options: str = "") -> bytes:
        learner = WekaClassifier(f"weka.classifiers.{name}", options, random_state=seed)
        return bytes(learner.fit(X[::2], y[::2]).predict_proba(X).tobytes())

    assert answers(5) == answers(5)
    assert len({answers(seed) for seed in range(5)}) > 1
    assert answers(5, "-S 2") == answers(9, "-S 2") == answers(2)  # what was typed counts
    assert answers(None) == answers(None, "-S 0" if name.endswith("Perceptron") else "-S 1")  # WEKA's own
    assert answers(np.random.RandomState(3)) == answers(np.random.RandomState(3))  # scikit-learn's own
    assert answers(2**32 - 1)


def test_a_seed_changes_nothing_but_chance() -> None:
    """Of some classes an option speaks of a seed that means something else: ADTree's -E, and J48's -Q without -R."""
    X, y = load_breast_cancer(return_X_y=True)
    for name in ("trees.J48", "rules.PART", "trees.ADTree", "functions.Logistic"):
        if f"weka.classifiers.{name}" in jar().classes:
            answers = {
                WekaClassifier(f"weka.classifiers.{name}", random_state=seed).fit(X, y).predict_proba(X).tobytes()
                for seed in (None, 4, 7)
            }
            assert len(answers) == 1, name


@needs_old_weka
def test_rows_without_a_class_get_the_shares_of_training() -> None:
    """Id3 says nothing of a branch that no row of training took."""
    colours = pd.CategoricalDtype(["red", "green", "blue"])
    X = pd.DataFrame({"colour": pd.Series(["red", "red", "green", "green", "green", "green"], dtype=colours)})
    fitted = WekaClassifier("weka.classifiers.trees.Id3").fit(X, list("aabbbb"))
    new = pd.DataFrame({"colour": pd.Series(["red", "green", "blue"], dtype=colours)})
    assert np.allclose(fitted.predict_proba(new), np.array([[1, 0], [0, 1], [1 / 3, 2 / 3]]))
    assert list(fitted.predict(new)) == ["a", "b", "b"]


def test_it_works_in_a_pipeline_and_in_other_processes() -> None:
    X, y = load_wine(return_X_y=True)
    learner = make_pipeline(FunctionTransformer(), WekaClassifier("weka.classifiers.bayes.NaiveBayes"))
    here = cross_val_score(learner, X, y, cv=3)
    there = cross_val_score(learner, X, y, cv=3, n_jobs=2)
    assert np.array_equal(here, there)
    assert here.mean() > 0.9


def ran(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_nothing_is_printed_and_nothing_left_behind(tmp_path: Path) -> None:
    """WEKA prints, and a JVM says what it found in the environment and writes files where it likes."""
    code = """
import os
from sklearn.datasets import load_iris
from pydaub import WekaClassifier
X, y = load_iris(return_X_y=True)
learner = WekaClassifier("weka.classifiers.meta.AdditiveRegression").fit
try:
    learner(X, y)
except ValueError:
    pass
WekaClassifier("weka.classifiers.functions.MultilayerPerceptron", "-N 5").fit(X, y).predict(X)
import jpype
jpype.JClass("java.lang.System").out.println("to be heard by nobody")
jpype.JClass("java.lang.System").err.println("nor this")
assert jpype.JClass("java.lang.System").getProperty("told") == "a b"
assert jpype.JClass("java.lang.System").getProperty("too") == "c"
assert os.environ["_JAVA_OPTIONS"] == "-Dtoo=c"
os.kill(os.getpid(), 15)
"""
    told = {**os.environ, "JAVA_TOOL_OPTIONS": "-Dtold='a b'", "_JAVA_OPTIONS": "-Dtoo=c"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=told, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-15, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_full_heap_is_a_memory_error() -> None:
    done = ran(
        """
import numpy as np
from pydaub import WekaClassifier
X = np.random.default_rng(0).normal(size=(200_000, 30))
try:
    WekaClassifier().fit(X, X[:, 0] > 0)
except MemoryError as error:
    print(error)
""",
        PYDAUB_MEMORY=str(40 << 20),
    )
    assert re.fullmatch(r"(Java heap space|GC overhead limit exceeded) of the JVM, (29|30) MB\n", done.stdout), done


def test_a_forked_process_is_told_what_is_wrong() -> None:
    done = ran("""
import os, sys
from sklearn.datasets import load_iris
from pydaub import WekaClassifier
X, y = load_iris(return_X_y=True)
fitted = WekaClassifier().fit(X, y)
if os.fork() == 0:
    try:
        fitted.predict(X)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
""")
    assert "the JVM was started before this process was forked" in done.stdout, done


def test_a_jvm_that_others_have_started_must_know_weka() -> None:
    code = """
import jpype, sys
from sklearn.datasets import load_iris
from pydaub import InputError, WekaClassifier
X, y = load_iris(return_X_y=True)
jpype.startJVM(classpath=sys.argv[1:])
try:
    fitted = WekaClassifier().fit(X, y)
    import pickle
    print(pickle.loads(pickle.dumps(fitted)).score(X, y) > 0.9)
except InputError as error:
    print(error)
"""
    without = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert re.match("The JVM of this process must know WEKA, got one that was started without. Start it with", without)
    knowing = subprocess.run([sys.executable, "-c", code, *jar().paths], capture_output=True, text=True, check=True)
    assert knowing.stdout == "True\n"


def test_a_newer_weka_works_too(tmp_path: Path) -> None:
    code = """
import pickle
import numpy as np
from sklearn.datasets import load_wine
from pydaub import WekaClassifier
X, y = load_wine(return_X_y=True)
for name in ("trees.J48", "lazy.IBk", "trees.RandomForest", "functions.SMO"):
    fitted = WekaClassifier(f"weka.classifiers.{name}", random_state=7).fit(X, y, sample_weight=np.ones(len(y)))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(fitted.predict_proba(X), again.predict_proba(X)), name
    print(fitted.weka_version_, fitted.score(X, y) > 0.9)
"""
    done = ran(code, **{VARIABLE: newer_weka(), "WEKA_HOME": str(tmp_path)})
    assert re.fullmatch(r"(3\.9\.\d+ True\n){4}", done.stdout), done


def test_it_is_offered_at_the_front_door() -> None:
    assert pydaub.WekaClassifier is WekaClassifier
