from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub.data.schema import Schema
from pydaub.errors import InputError
from pydaub.learners import Learner, classification, listed, portfolio, regression

TWO = Schema("matrix", "classification", 4, classes=("a", "b"))
MINE = "from sklearn.svm import SVC\nlearners = [('soft', SVC(C=0.1)), ('hard', SVC(C=100))]\n"


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("tree", ["tree"]),
        (" tree , dummy,", ["tree", "dummy"]),
        (["tree", "dummy"], ["tree", "dummy"]),
        ("tree,dummy,tree", ["tree", "dummy"]),
        ("knn-*", ["knn-1", "knn-5", "knn-10", "knn-25"]),
        ("knn-5,knn-*", ["knn-5", "knn-1", "knn-10", "knn-25"]),
        ("knn-*,-knn-1*", ["knn-5", "knn-25"]),
        ("svm-*,-svm-poly-2,dummy", ["svm-linear", "svm-poly-3", "svm-rbf", "dummy"]),
        ("tree,-tree,tree", ["tree"]),
        (("stump",), ["stump"]),
    ],
)
def test_specs(spec: Any, names: list[str]) -> None:
    assert list(portfolio(spec, TWO)) == names


def test_sklearn_is_the_default_portfolio_of_the_task() -> None:
    assert list(portfolio("sklearn", TWO)) == list(classification(TWO))
    number = Schema("matrix", "regression", 4)
    assert list(portfolio("sklearn", number)) == list(regression(number))


def test_a_minus_in_front_takes_out_of_the_default_portfolio() -> None:
    left = [name for name in classification(TWO) if not name.startswith("svm")]
    assert list(portfolio("-svm-*", TWO)) == left == list(portfolio("sklearn,-svm-*", TWO))


def test_files_are_items_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert list(portfolio(f"dummy,{file},-soft", TWO)) == ["dummy", "hard"]
    assert list(portfolio(file, TWO)) == list(portfolio([file, file], TWO)) == ["soft", "hard"]


def test_learners_of_ones_own_may_stand_among_names() -> None:
    mine = Learner("mine", SVC())
    assert list(portfolio(["dummy", mine, ("other", SVC()), "-dummy"], TWO)) == ["mine", "other"]
    assert portfolio(listed([mine]), TWO) == portfolio([mine], TWO) == {"mine": mine}


def test_a_pattern_passes_over_what_cannot_be_used() -> None:
    three = Schema("matrix", "classification", 4, classes=(1, 2, 3))
    assert list(portfolio("rule-*,one-*,dummy", three)) == ["dummy"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("forst-10", r"got 'forst-10'. Did you mean forest-10.*\?"),
        (
            "zzz",
            r"must name learners, sklearn, weka, streaming, or a Python file, got 'zzz'. `pydaub learners` lists them.",
        ),
        ("tree,-stump", r"must name what to take out behind it, got '-stump', which nothing matches"),
        ("dummy,-dummy,-tree", r"got '-tree', which nothing matches"),
        ("fores-*", r"got 'fores-\*'. Did you mean"),
        ("-*", r"must name at least one learner that can be used, got '-\*', which names none. Write sklearn"),
        ("", r"must name at least one learner that can be used, got '', which names none"),
        (" , ", r"must name at least one learner"),
        ([], r"must name at least one learner that can be used, got \[\]"),
        ("nowhere.py", r"must name a readable Python file, got nowhere.py: No such file"),
        (None, r"`learners` must be a list of \(name, estimator\) pairs.* got None"),
        (3, r"got 3"),
        (SVC(), r"got SVC\(\)"),
        ({}, r"got an empty dict. Name at least one"),
        ([3], r"got 3 in it. Give pairs"),
        ([("dummy", SVC()), "dummy"], r"must have a name of its own, got 'dummy' twice. Rename one."),
        ([SVC()], r"Give it a name: \(name, estimator\)"),
    ],
)
def test_nonsense_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        portfolio(spec, TWO)


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("lda", Schema("sparse", "classification", 4, classes=(0, 1)), "it cannot take sparse rows. Leave it out."),
        ("one-rule", Schema("matrix", "classification", 4, classes=(0, 1, 2)), "for two classes and there are 3"),
    ],
)
def test_a_learner_that_cannot_be_used_says_why(name: str, schema: Schema, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        portfolio(name, schema)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydaub.learners.recipe.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"got 'lightgbm', but lightgbm is not installed. Install pydaub\[boost\]."):
        portfolio("lightgbm", TWO)
    assert "figs" not in classification(TWO)


def test_a_learner_refuses_nonsense() -> None:
    with pytest.raises(InputError, match=r"`name` of a learner must be text, got ''"):
        Learner("", SVC())
    with pytest.raises(InputError, match=r"`description` of learner 'a' must be text, got 3"):
        Learner("a", SVC(), 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"must be an estimator, got the class SVC. Write SVC\(\)."):
        Learner("a", SVC)
    with pytest.raises(InputError, match=r"must be a scikit-learn estimator, got int without `fit`, `predict`"):
        Learner("a", 3)
    assert Learner("a", DecisionTreeClassifier()).description == ""
