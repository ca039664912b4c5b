from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pydaub.data.schema import Schema
from pydaub.errors import InputError
from pydaub.learners import Learner, combinations, from_file, listed

TWO = Schema("matrix", "classification", 4, classes=("a", "b"))


def test_lists_dicts_and_learners_are_equivalent() -> None:
    soft, hard = SVC(C=0.1), SVC(C=100)
    expected = {"soft": Learner("soft", soft), "hard": Learner("hard", hard)}
    assert listed([("soft", soft), ("hard", hard)]) == expected
    assert listed((["soft", soft], ["hard", hard])) == expected
    assert listed({"soft": soft, "hard": hard}) == expected
    assert listed(expected) == listed(list(expected.values())) == expected
    assert listed(pair for pair in [("soft", soft), ("hard", hard)]) == expected


def test_a_dict_names_its_learners_and_keeps_their_descriptions() -> None:
    assert listed({"b": Learner("a", svc := SVC(), "a description")}) == {"b": Learner("b", svc, "a description")}


class Forgetful(SVC):
    """Does not store its parameter, as beginners write it."""

    def __init__(self, depth: int) -> None:
        self.deep = depth
        super().__init__()


class Varied(SVC):
    """Takes any number of parameters, which scikit-learn cannot name."""

    def __init__(self, *values: int) -> None:
        self.values = values
        super().__init__()


class Leaving(SVC):
    """Exits when its parameters are read."""

    def get_params(self, deep: bool = True) -> Any:  # noqa: ARG002, FBT001, FBT002  # scikit-learn's
        raise SystemExit(0)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("tree", r"must be a list of \(name, estimator\) pairs.*got 'tree'"),
        (b"tree", r"got b'tree'"),
        (7, r"got 7"),
        (None, r"got None"),
        (SVC(), r"got SVC\(\)"),
        ([], r"got an empty list. Name at least one"),
        ([SVC()], r"got SVC\(\) in it. Give it a name: \(name, estimator\)"),
        ([("a", "b", "c")], r"got \('a', 'b', 'c'\) in it. Give pairs"),
        (["ab"], r"got 'ab' in it. Give pairs"),
        ([("a", SVC()), ("a", SVC())], r"must have a name of its own, got 'a' twice. Rename one."),
        ([("", SVC())], r"`name` of a learner must be text, got ''. Name each learner."),
        ([(3, SVC())], r"must be text, got 3"),
        ([("a", SVC)], r"got the class SVC. Write SVC\(\)"),
        ([("a", StandardScaler())], r"got StandardScaler without `predict`"),
        (
            [("a", Forgetful(3))],
            r"parameters that can be read, got AttributeError.*store it under its own name",
        ),
        ([("a", Varied(3))], r"must have parameters that can be read, got RuntimeError.*without \*args"),
        ([("a", Leaving())], r"must have parameters that can be read, got SystemExit: 0\. Its `__init__`"),
        ([("a", "tree")], r"Learner 'a' must be a scikit-learn estimator, got str without `fit`"),
        (np.zeros((2, 2)), r"in it. Give pairs"),
    ],
)
def test_bad_lists_are_refused(pairs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        listed(pairs)


def test_every_combination_of_a_grid_is_a_learner() -> None:
    found = combinations(SVC(tol=0.5), {"C": [1, 10.0], "gamma": ["scale", 0.001]})
    assert list(found) == [
        "svc C=1 gamma=scale",
        "svc C=1 gamma=0.001",
        "svc C=10 gamma=scale",
        "svc C=10 gamma=0.001",
    ]
    last = found["svc C=10 gamma=0.001"].estimator
    assert (last.C, last.gamma, last.tol) == (10.0, 0.001, 0.5)


def test_several_grids_of_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grids = [{"logisticregression__C": [1, 1, 2]}, {"standardscaler": [MinMaxScaler(), None]}, {}]
    assert list(combinations(pipeline, grids)) == [
        "logisticregression C=1",
        "logisticregression C=2",
        "logisticregression standardscaler=minmaxscaler",
        "logisticregression standardscaler=None",
        "logisticregression",
    ]


def test_the_seed_decides_what_is_drawn() -> None:
    ranges = {"C": loguniform(1e-3, 1e3), "kernel": ["rbf", "poly"]}
    found = combinations(SVC(), ranges, n_iter=7, seed=3)
    assert len(found) == 7
    assert list(found) == list(combinations(SVC(), ranges, n_iter=7, seed=3))
    assert list(found) != list(combinations(SVC(), ranges, n_iter=7, seed=4))


def test_a_combination_that_is_drawn_twice_is_one_learner() -> None:
    found = combinations(DecisionTreeClassifier(), {"max_depth": randint(1, 3)}, n_iter=20)
    assert set(found) == {"decisiontreeclassifier max_depth=1", "decisiontreeclassifier max_depth=2"}


def test_names_show_all_digits_if_values_look_alike() -> None:
    assert list(combinations(SVC(), {"C": [0.12345, 0.12349]})) == ["svc C=0.12345", "svc C=0.12349"]


@pytest.mark.parametrize(
    ("estimator", "grid", "settings", "message"),
    [
        (SVC, {"C": [1]}, {}, r"got the class SVC. Write SVC\(\)."),
        (3, {"C": [1]}, {}, r"must be a scikit-learn estimator, got int"),
        (SVC(), {"Q": [1]}, {}, r"must name parameters of SVC, got 'Q'. It has C, break_ties, cache_size, .*tol"),
        (SVC(), {3: [1]}, {}, r"must name parameters of SVC, got 3"),
        (SVC(), {"C": 1}, {}, r"must have a list of values for each parameter: "),
        (SVC(), {"C": []}, {}, r"must have a list of values for each parameter: "),
        (SVC(), {"kernel": "rbf"}, {}, r"must have a list of values for each parameter: "),
        (SVC(), [], {}, r"`param_grid` must be a dict of parameters to lists of values, got \[\]"),
        (SVC(), None, {}, r"got None"),
        (SVC(), "C", {}, r"got 'C'"),
        (SVC(), [["C"]], {}, r"must be a dict"),
        (SVC(), {"C": [1]}, {"n_iter": 0}, r"`n_iter` must be at least 1 and `seed` a whole number from 0, got 0"),
        (SVC(), {"C": [1]}, {"n_iter": 1.5}, r"`n_iter` must be a whole number, got 1.5"),
        (SVC(), {"C": [1]}, {"seed": -1}, r"got 10 and -1"),
    ],
)
def test_bad_grids_are_refused(estimator: Any, grid: Any, settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        combinations(estimator, grid, **settings)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "learners = [('soft', SVC())]",
        "learners = {'soft': SVC()}",
        "from pydaub.learners import listed\nlearners = listed([('soft', SVC())])",
        "def learners():\n    return [('soft', SVC())]",
        "def learners(schema):\n    return [('soft', SVC())] if schema.features == 4 else []",
        "from pydaub.learners import encoded\nlearners = lambda schema: [('soft', encoded(SVC(), schema, 'scaled'))]",
    ],
)
def test_a_file_may_define_learners_in_each_of_these_ways(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, f"from sklearn.svm import SVC\n{text}\n")
    assert list(from_file(path, TWO)) == list(from_file(str(path), TWO)) == ["soft"]


CLASS = """
import numpy as np
from dataclasses import dataclass
from sklearn.base import BaseEstimator, ClassifierMixin

@dataclass
class Seen:
    label: object

class First(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.seen_ = Seen(y[0])
        return self

    def predict(self, X):
        return np.repeat(self.seen_.label, len(X))

learners = [("first", First())]
"""


def test_other_processes_can_unpickle_classes_of_a_file(tmp_path: Path) -> None:
    learner = from_file(written(tmp_path, CLASS), TWO)["first"]
    parcel = tmp_path / "parcel"
    parcel.write_bytes(cloudpickle.dumps(learner.estimator.fit([[1], [2]], ["b", "a"])))
    (tmp_path / "mine.py").unlink()
    code = f"import pickle; print(*pickle.load(open({str(parcel)!r}, 'rb')).predict([[0], [0]]))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.split() == [b"b", b"b"]


def test_files_of_the_same_name_do_not_clash(tmp_path: Path) -> None:
    found = []
    for label in ("one", "two"):
        (tmp_path / label).mkdir()
        text = f"{CLASS}# {label}\n"
        found.append(from_file(written(tmp_path / label, text), TWO)["first"].estimator)
    assert type(found[0]) is not type(found[1])
    assert type(pickle.loads(pickle.dumps(found[0]))) is type(found[0])


BAD_SPACE = """from pydaub.learners import Space
from sklearn.tree import DecisionTreeClassifier
learners = [Space("x", DecisionTreeClassifier(), parameters={"max_depth": 5})]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nlearners = [(]\n", r"mine.py, line 2 must run without an error, got SyntaxError: "),
        ("\n\nimport nothing_of_this_name\n", r"mine.py, line 3 must run .* got ModuleNotFoundError: No module"),
        ("def f():\n    1 / 0\n\nf()\n", r"mine.py, line 2 must .* got ZeroDivisionError: division by zero\."),
        ("import sys\nsys.exit(3)\n", r"mine.py, line 2 must run without an error, got SystemExit: 3"),
        ("def learners():\n    return 1 / 0\n", r"mine.py, line 2 must run without an error, got ZeroDivisionError"),
        ("def learners(a, b):\n    return []\n", r"must take no parameter or the schema, got a function of 2"),
        ("def learners():\n    pass\n", r"mine.py: `learners` must be a list of .* got None"),
        ("learner = []\n", r"mine.py must define `learners`, got a file without. Set it to a list of"),
        ("", r"mine.py must define `learners`"),
        ("learners = ['tree']\n", r"mine.py: `learners` must be .* got 'tree' in it"),
        ("learners = int\n", r"mine.py: `learners` must be"),
        (BAD_SPACE, r"mine.py, line 3: Parameter 'max_depth' of space 'x' must have .* got 5\.$"),
        ("a = '\0'", r"mine.py.* must run without an error, got SyntaxError"),
    ],
)
def test_an_error_in_a_file_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    before = set(sys.modules)
    with pytest.raises(InputError, match=message):
        from_file(written(tmp_path, text), TWO)
    assert "nothing_of_this_name" not in set(sys.modules) - before


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must name a readable Python file, got .*: Is a directory"):
        from_file(tmp_path, TWO)
    with pytest.raises(InputError, match=r"No such file or directory"):
        from_file(tmp_path / "none.py", TWO)
    (tmp_path / "mine.txt").write_text("learners = []")
    with pytest.raises(InputError, match=r"must name a Python file, got .*mine.txt. Give it the extension .py."):
        from_file(tmp_path / "mine.txt", TWO)
    (tmp_path / "latin.py").write_bytes(b"learners = ['\xe9']\n")
    with pytest.raises(InputError, match=r"latin.py.* must run without an error, got SyntaxError"):
        from_file(tmp_path / "latin.py", TWO)
