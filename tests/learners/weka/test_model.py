"""WEKA's classes, their options and seeds, and serialized models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from learners.weka.frames import J48, mixed
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.jar import jar
from weka_here import needs_weka

pytestmark = needs_weka


def test_options_are_those_of_wekas_command_line_or_a_list() -> None:
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
        (J48, 3, "`options` must be text or a list of texts, got 3"),
        (J48, ["-M", 3], "`options` must be text"),
        ("weka.classifiers.functions.LinearRegression", "", "Cannot handle multi-valued nominal class"),
    ],
)
def test_bad_classes_and_options_are_refused(class_name: Any, options: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        WekaClassifier(class_name, options).fit(X, y)


def test_a_model_of_another_version_of_weka_is_refused() -> None:
    frame, y = mixed()
    state = pickle.dumps(WekaClassifier().fit(frame, y))
    again = pickle.loads(state)
    again.weka_version_ = "3.4.1"
    with pytest.raises(ValueError, match=r"must have the version that trained this learner, 3\.4\.1, got 3\."):
        again.predict(frame)


def test_objects_of_other_classes_are_not_deserialized() -> None:
    """Deserializing Java objects can run code, as unpickling can."""
    import jpype  # noqa: PLC0415  # optional

    frame, y = mixed()
    fitted = WekaClassifier().fit(frame, y)
    buffer = jpype.JClass("java.io.ByteArrayOutputStream")()
    stream = jpype.JClass("java.io.ObjectOutputStream")(buffer)
    stream.writeObject(jpype.JClass("java.net.URL")("http://localhost/"))
    stream.close()
    again = pickle.loads(pickle.dumps(fitted))
    again.model_ = bytes(memoryview(buffer.toByteArray()))  # the attack
    with pytest.raises(ValueError, match="must contain only objects of WEKA and of the Java standard library"):
        again.predict(frame)


def test_a_model_that_contains_objects_of_other_classes_is_refused_on_prediction() -> None:
    """CostSensitiveClassifier contains a `java.io.File`."""
    frame, y = mixed()
    costs = '-cost-matrix "[0.0 1.0; 2.0 0.0]" -W weka.classifiers.rules.ZeroR'
    fitted = WekaClassifier("weka.classifiers.meta.CostSensitiveClassifier", costs).fit(frame, y)
    with pytest.raises(ValueError, match="must contain only objects of WEKA and of the Java standard library"):
        fitted.predict(frame)


LAZY = ("lazy.IBk", "lazy.KStar", "lazy.LWL")


@pytest.mark.parametrize("name", LAZY)
def test_predicting_does_not_change_the_model(name: str) -> None:
    """WEKA's IBk extends its value ranges with each row that it predicts."""
    random = np.random.default_rng(2)
    X = random.standard_t(1, size=(120, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    fitted = WekaClassifier(f"weka.classifiers.{name}", "-K 3" if name.endswith("IBk") else "").fit(X[:60], y[:60])
    before = fitted.predict_proba(X[60:])
    fitted.predict(1000 * X)
    assert np.array_equal(fitted.predict_proba(X[60:]), before)
    assert ((before >= 0) & (before <= 1)).all()


SEEDED = ("trees.RandomForest", "rules.JRip", "trees.REPTree", "functions.MultilayerPerceptron")
FEWER = {"trees.RandomForest": "-I 5 ", "functions.MultilayerPerceptron": "-N 20 "}  # rounds of training


@pytest.mark.parametrize(
    "name", ["trees.RandomTree", *(pytest.param(name, marks=pytest.mark.slow("weka")) for name in SEEDED)]
)
def test_the_seed_decides(name: str) -> None:
    X, y = load_wine(return_X_y=True)

    def answers(seed: Any, options: str = "") -> bytes:
        learner = WekaClassifier(f"weka.classifiers.{name}", FEWER.get(name, "") + options, random_state=seed)
        return bytes(learner.fit(X[::2], y[::2]).predict_proba(X).tobytes())

    assert answers(5) == answers(5)
    assert len({answers(seed) for seed in range(5)}) > 1
    assert answers(5, "-S 2") == answers(9, "-S 2") == answers(2)  # the option takes precedence
    assert answers(None) == answers(None, "-S 0" if name.endswith("Perceptron") else "-S 1")  # WEKA's default
    assert answers(np.random.RandomState(3)) == answers(np.random.RandomState(3))  # as in scikit-learn
    assert answers(2**32 - 1)


def test_a_seed_does_not_change_deterministic_learners() -> None:
    """Some classes have seed options that they ignore or that mean something else: J48's -Q and ADTree's -E."""
    X, y = (part[:150] for part in load_breast_cancer(return_X_y=True))
    for name in ("trees.J48", "rules.PART", "trees.ADTree", "functions.Logistic"):
        if f"weka.classifiers.{name}" in jar().classes:
            answers = {
                WekaClassifier(f"weka.classifiers.{name}", random_state=seed).fit(X, y).predict_proba(X).tobytes()
                for seed in (None, 4, 7)
            }
            assert len(answers) == 1, name
