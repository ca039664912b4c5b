from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub.data.schema import Schema
from pydaub.errors import InputError
from pydaub.learners import Learner, built_in, listed, portfolio, recipes

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
    for schema in (TWO, Schema("matrix", "regression", 4)):
        assert list(portfolio("sklearn", schema)) == list(recipes(schema))


def test_a_leading_minus_removes_from_the_default_portfolio() -> None:
    left = [name for name in recipes(TWO) if not name.startswith("svm")]
    assert list(portfolio("-svm-*", TWO)) == left == list(portfolio("sklearn,-svm-*", TWO))


def test_an_item_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert list(portfolio(f"dummy,{file},-soft", TWO)) == ["dummy", "hard"]
    assert list(portfolio(file, TWO)) == list(portfolio([file, file], TWO)) == ["soft", "hard"]


def test_a_list_may_mix_names_learners_and_pairs() -> None:
    mine = Learner("mine", SVC())
    assert list(portfolio(["dummy", mine, ("other", SVC()), "-dummy"], TWO)) == ["mine", "other"]
    assert portfolio(listed([mine]), TWO) == portfolio([mine], TWO) == {"mine": mine}


def test_a_pattern_skips_what_cannot_be_used() -> None:
    three = Schema("matrix", "classification", 4, classes=(1, 2, 3))
    assert list(portfolio("rule-*,one-*,dummy", three)) == ["dummy"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("forst-10", r"got 'forst-10'. Did you mean forest-10.*\?"),
        (
            "zzz",
            r"sklearn, strong, spaces, weka, streaming, or a Python file, got 'zzz'. `pydaub learners` lists them.",
        ),
        ("tree,-stump", r"must name learners to remove after a minus, got '-stump': no match"),
        ("dummy,-dummy,-tree", r"got '-tree': no match"),
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
def test_bad_specs_are_refused(spec: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        portfolio(spec, TWO)


@pytest.mark.parametrize(
    ("name", "task", "other"),
    [("logistic", "regression", "classification"), ("lasso", "classification", "regression")],
)
def test_a_learner_for_the_other_task_is_not_called_unknown(name: str, task: Any, other: str) -> None:
    said = f"must be for {task} here, got '{name}', which is for {other}. Set the task to {other} if you mean that"
    with pytest.raises(InputError, match=said):
        portfolio(name, Schema("matrix", task, 4, classes=(1, 2) if task == "classification" else ()))


def test_built_in_returns_a_learner_of_any_portfolio_by_its_exact_name() -> None:
    assert [built_in(name, TWO).name for name in ("tree", "stream-mlp")] == ["tree", "stream-mlp"]
    for name, hint in (("tre", "Did you mean tree"), ("knn-*", "Did you mean knn-"), ("mine.py", "`pydaub learners`")):
        with pytest.raises(InputError, match=rf"must be in a portfolio .* got '{re.escape(name)}'. {hint}"):
            built_in(name, TWO)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydaub.learners.base.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"got 'lightgbm', but lightgbm is not installed. Install pydaub\[boost\]."):
        portfolio("lightgbm", TWO)
    assert "figs" not in portfolio("sklearn", TWO)


def test_a_learner_checks_its_fields() -> None:
    with pytest.raises(InputError, match=r"`name` of a learner must be text, got ''"):
        Learner("", SVC())
    with pytest.raises(InputError, match=r"`description` of learner 'a' must be text, got 3"):
        Learner("a", SVC(), 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"must be an estimator, got the class SVC. Write SVC\(\)."):
        Learner("a", SVC)
    with pytest.raises(InputError, match=r"must be a scikit-learn estimator, got int without `fit`, `predict`"):
        Learner("a", 3)
    assert Learner("a", DecisionTreeClassifier()).description == ""
