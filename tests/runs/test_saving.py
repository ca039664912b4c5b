"""A loaded learner predicts as before, and loading a skops file runs no code."""

from __future__ import annotations

import errno
import json
import os
import pickle
import threading
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

import cloudpickle
import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from learners.samples import made, quick
from pydaub import Allocation, InputError, Measurement
from pydaub.data import Prepared, prepare
from pydaub.data.schema import Task as Kind
from pydaub.errors import FolderTrouble, SavedLearnerError
from pydaub.evaluation.encoded import key_of
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.learners import Learner, portfolio
from pydaub.learners.encoding import shared_steps
from pydaub.runs.saving import ABOUT, PICKLE, SAFE, Saved, load, not_saved, save, saved_in


@cache
def data_of(kind: Kind, form: str) -> Prepared:
    rows = made(form, kind, rows=80)
    return prepare(rows.X, rows.y, task=kind)


def cases() -> list[tuple[Kind, str, str]]:
    """Return each learner with few columns, and the first learner with each preprocessing with columns of all kinds."""
    found: list[tuple[Kind, str, str]] = []
    for kind in get_args(Kind):
        learners = portfolio("sklearn", data_of(kind, "frame").schema)
        found += [(kind, "mixed", name) for name in learners]
        steps = {name: shared_steps(learner.estimator) for name, learner in learners.items()}
        firsts = {key_of(each): name for name, each in reversed(steps.items()) if each is not None}
        found += [(kind, "frame", name) for name in firsts.values()]
    return found


@pytest.mark.parametrize(("kind", "form", "name"), cases())
def test_every_learner_of_the_portfolio_is_saved_as_data(kind: Kind, form: str, name: str, tmp_path: Path) -> None:
    """The columns are mixed, so that preprocessing is saved too."""
    data = data_of(kind, form)
    learner = Learner(name, quick(portfolio(name, data.schema)[name].estimator))
    evaluation = evaluate(Task(data, {name: learner}), Allocation(name, 50))
    assert isinstance(evaluation.outcome, Measurement), evaluation.outcome
    rows = data.valid().X
    saved = save(evaluation.fitted, tmp_path, rows)
    assert saved == Saved(tmp_path / SAFE), saved.reason
    assert sorted(path.name for path in tmp_path.iterdir()) == [ABOUT, SAFE]
    assert saved_in(tmp_path) == saved
    loaded = load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(rows), evaluation.fitted.predict(rows))
    if hasattr(evaluation.fitted, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(rows), evaluation.fitted.predict_proba(rows))


X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, "up", "down").astype(object)


class Foreign(GaussianNB):
    """A class that is not trusted."""


def test_a_foreign_class_goes_into_a_pickle_and_says_why(tmp_path: Path) -> None:
    fitted = Foreign().fit(X, y)
    saved = save(fitted, tmp_path, X)
    assert saved.path == tmp_path / PICKLE
    assert saved.reason is not None
    assert saved.reason.startswith("SavedLearnerError: ")
    assert "must contain only trusted types, got" in saved.reason
    assert sorted(path.name for path in tmp_path.iterdir()) == [ABOUT, PICKLE]
    assert json.loads((tmp_path / ABOUT).read_text()) == {"file": PICKLE, "reason": saved.reason}
    assert saved_in(tmp_path) == saved
    with pytest.raises(InputError, match=r"model\.pkl is a pickle: loading it runs code .* add `--trust`"):
        load(tmp_path)
    loaded = load(tmp_path, trust=True)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_functions_and_classes_of_a_main_file_go_into_a_pickle_by_value(tmp_path: Path) -> None:
    fitted = make_pipeline(FunctionTransformer(lambda values: values * 2), GaussianNB()).fit(X, y)
    assert save(fitted, tmp_path, X).reason
    np.testing.assert_array_equal(load(tmp_path, trust=True).predict(X), fitted.predict(X))


def test_a_learner_whose_predictions_change_when_loaded_is_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = GaussianNB().fit(X, y)
    other = GaussianNB().fit(X, y[::-1])
    monkeypatch.setattr("pydaub.runs.saving._load_safe", lambda _path, **_: other)
    saved = save(fitted, tmp_path, X)
    assert (saved.path, saved.reason) == (
        tmp_path / PICKLE,
        "SavedLearnerError: its predictions change when it is loaded",
    )
    assert not (tmp_path / SAFE).exists()
    assert save(fitted, tmp_path).path == tmp_path / SAFE, "without rows nothing is compared"


def test_an_earlier_file_is_replaced(tmp_path: Path) -> None:
    save(Foreign().fit(X, y), tmp_path, X)
    save(GaussianNB().fit(X, y), tmp_path, X)
    assert sorted(path.name for path in tmp_path.iterdir()) == [ABOUT, SAFE]
    assert type(load(tmp_path)) is GaussianNB
    save(Foreign().fit(X, y), tmp_path, X)
    assert sorted(path.name for path in tmp_path.iterdir()) == [ABOUT, PICKLE]
    assert type(load(tmp_path, trust=True)).__name__ == "Foreign"


def test_a_file_with_a_foreign_type_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    skops.io.dump(Foreign().fit(X, y), tmp_path / SAFE)
    with pytest.raises(SavedLearnerError, match=r"model\.skops must contain only trusted types, got .*Foreign"):
        load(tmp_path)
    assert type(load(tmp_path, trust=True)) is Foreign, "a person may say that it can be trusted"


class Evil:
    """Unpickling this creates a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("wrap", [lambda evil: evil, lambda evil: make_pipeline(StandardScaler(), evil)])
def test_a_file_that_would_run_something_is_refused(wrap: Any, tmp_path: Path) -> None:
    learner = LogisticRegression().fit(X, y)
    learner.extra_ = wrap(Evil(tmp_path / "evil"))
    try:
        skops.io.dump(learner, tmp_path / SAFE)
    except Exception as error:  # noqa: BLE001  # then there is no file to load
        assert not (tmp_path / "evil").exists(), error  # noqa: PT017
        return
    with pytest.raises(SavedLearnerError, match=r"must contain only trusted types"):
        load(tmp_path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("function", [os.system, eval, exec])
def test_a_function_that_is_hidden_in_a_partial_is_refused(function: Any, tmp_path: Path) -> None:
    """A partial is trusted only around the one function that scikit-learn itself stores."""
    learner = FunctionTransformer(partial(function, "1"))
    skops.io.dump(learner, tmp_path / SAFE)
    with pytest.raises(SavedLearnerError, match=r"must contain only trusted types, got .*(system|eval|exec)"):
        load(tmp_path)


def renamed(path: Path, before: str, after: str) -> None:
    """Rename a type in the schema of a skops file."""
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    schema = content["schema.json"].decode()
    assert before in schema
    content["schema.json"] = schema.replace(before, after).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("sklearn.utils", "os"), ("subprocess", "Popen"), ("posix", "system")],
)
def test_a_file_that_names_a_dangerous_function_is_refused(module: str, name: str, tmp_path: Path) -> None:
    save(GaussianNB().fit(X, y), tmp_path, X)
    renamed(tmp_path / SAFE, '"__class__": "GaussianNB"', f'"__class__": "{name}"')
    renamed(tmp_path / SAFE, '"__module__": "sklearn.naive_bayes"', f'"__module__": "{module}"')
    with pytest.raises(SavedLearnerError, match=r"must (contain only trusted types|be a learner that pydaub saved)"):
        load(tmp_path)


def forged(folder: Path, module: str, name: str, arguments: tuple[Any, ...], loader: str) -> None:
    """Write a file with a learner that has a field made by this loader."""
    learner = GaussianNB().fit(X, y)
    learner.extra_ = arguments
    skops.io.dump(learner, folder / SAFE)
    with zipfile.ZipFile(folder / SAFE) as file:
        content = {each: file.read(each) for each in file.namelist()}
    schema = json.loads(content["schema.json"])
    fields = schema["content"]["content"]
    fields["extra_"] = {
        "__class__": name, "__module__": module, "__loader__": loader, "__id__": 1, "content": fields["extra_"],
    }  # fmt: skip
    content["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(folder / SAFE, "w") as file:
        for each, data in content.items():
            file.writestr(each, data)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sklearn.datasets._rcv1", "GzipFile"),
        ("pydaub.learners.weka.jar", "ZipFile"),
        ("pydaub.runs.saving", "ZipFile"),
        ("imodels.rule_set.slipper_util", "SlipperBaseEstimator"),
        ("sklearn.pipeline", "Pipeline"),
        ("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper"),
    ],
)
def test_no_constructor_is_called_by_a_file(module: str, name: str, tmp_path: Path) -> None:
    """Also of types whose fields may be set, and of names that are only re-exported."""
    written = tmp_path / "written"
    forged(tmp_path, module, name, (str(written), "w"), "ConstructorFromReduceNode")
    with pytest.raises(SavedLearnerError, match=rf"must contain only trusted types, got {module}\.{name}"):
        load(tmp_path)
    assert not written.exists()


def test_a_class_that_evaluates_its_fields_is_not_trusted(tmp_path: Path) -> None:
    slipper = pytest.importorskip("imodels").SlipperClassifier()
    skops.io.dump(slipper, tmp_path / SAFE)
    with pytest.raises(SavedLearnerError, match=r"must contain only trusted types, got imodels\."):
        load(tmp_path)


def test_an_old_format_whose_loaders_check_less_is_refused(tmp_path: Path) -> None:
    save(GaussianNB().fit(X, y), tmp_path, X)
    renamed(tmp_path / SAFE, '"protocol": 2', '"protocol": 0')
    with pytest.raises(SavedLearnerError, match=r"must contain only trusted types, got an old format of skops"):
        load(tmp_path)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), Foreign()])
def test_a_damaged_file_is_refused(learner: Any, kept: float, tmp_path: Path) -> None:
    path = save(learner.fit(X, y), tmp_path, X).path
    assert path is not None
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(SavedLearnerError, match=rf"{path.name} must be a learner that pydaub saved, got") as raised:
        load(tmp_path, trust=True)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / SAFE).write_bytes(b"no zip file at all")
    with pytest.raises(SavedLearnerError, match=r"must be a learner that pydaub saved, got .*zip"):
        load(tmp_path)
    (tmp_path / SAFE).unlink()
    (tmp_path / PICKLE).write_bytes(pickle.dumps(1)[:-1])
    with pytest.raises(SavedLearnerError, match=r"model\.pkl must be a learner that pydaub saved"):
        load(tmp_path, trust=True)


@pytest.mark.parametrize("about", [None, "", "[", "[]", "null", "{}", '{"reason": null}'])
def test_a_pickle_without_its_reason_is_still_a_pickle(about: str | None, tmp_path: Path) -> None:
    (tmp_path / PICKLE).write_bytes(cloudpickle.dumps(GaussianNB()))
    if about is not None:
        (tmp_path / ABOUT).write_text(about)
    assert saved_in(tmp_path) == Saved(tmp_path / PICKLE, "")
    assert type(load(tmp_path, trust=True)) is GaussianNB


def test_saved_in_does_not_load_the_learner(tmp_path: Path) -> None:
    (tmp_path / PICKLE).write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    (tmp_path / ABOUT).write_text(json.dumps({"file": PICKLE, "reason": "foreign"}))
    assert saved_in(tmp_path) == Saved(tmp_path / PICKLE, "foreign")
    with pytest.raises(InputError, match="is a pickle"):
        load(tmp_path)
    assert not (tmp_path / "evil").exists()


def test_a_folder_without_a_learner_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=r"must hold a saved learner, got none. Let the run end first"):
            load(folder)
        assert saved_in(folder) == Saved(None)


def test_a_learner_that_cannot_be_pickled_either_is_refused(tmp_path: Path) -> None:
    fitted = Foreign().fit(X, y)
    fitted.lock_ = threading.Lock()
    with pytest.raises(SavedLearnerError, match=r"Foreign could not be pickled: TypeError: .*lock"):
        save(fitted, tmp_path, X)
    assert not list(tmp_path.iterdir())


class Brittle(GaussianNB):
    """Can be pickled, but then not be loaded, or not predict."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["var_smoothing"] == 1:
            raise ValueError("spoilt")
        self.__dict__.update(state, brittle_=True)

    def predict(self, X: Any) -> Any:
        if hasattr(self, "brittle_"):
            raise ValueError("spent")
        return super().predict(X)


@pytest.mark.parametrize(
    ("smoothing", "message"),
    [
        (1, r"Brittle could not be loaded again: ValueError: spoilt\.$"),
        (0.5, r"Brittle could not be used to predict, once it was loaded again: ValueError: spent\.$"),
    ],
)
def test_a_pickle_that_would_be_of_no_use_is_refused(tmp_path: Path, smoothing: float, message: str) -> None:
    with pytest.raises(SavedLearnerError, match=message):
        save(Brittle(var_smoothing=smoothing).fit(X, y), tmp_path, X)
    assert not list(tmp_path.iterdir())


def test_a_learner_that_could_not_be_saved_replaces_an_earlier_one_and_says_why(tmp_path: Path) -> None:
    save(GaussianNB().fit(X, y), tmp_path, X)
    assert not_saved(tmp_path, "crash: it was upset") == Saved(None, "crash: it was upset") == saved_in(tmp_path)
    with pytest.raises(
        InputError, match=r"holds no learner: it could not be saved after the run \(crash: it was upset"
    ):
        load(tmp_path, trust=True)
    save(GaussianNB().fit(X, y), tmp_path, X)
    assert saved_in(tmp_path) == Saved(tmp_path / SAFE)


def test_a_folder_that_cannot_be_written_is_trouble_with_the_folder(tmp_path: Path) -> None:
    for estimator in (GaussianNB(), Foreign()):
        with pytest.raises(FolderTrouble, match=r"could not be written to .*: No such file or directory"):
            save(estimator.fit(X, y), tmp_path / "absent", X)
    with pytest.raises(FolderTrouble, match=r"could not be written: No such file or directory"):
        not_saved(tmp_path / "absent", "no")


def test_a_full_disk_is_not_the_fault_of_skops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a learner that skops can save would become a pickle, which needs trust."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(skops.io, "dump", full)
    with pytest.raises(FolderTrouble, match=r"could not be written to .*: No space left on device"):
        save(GaussianNB().fit(X, y), tmp_path, X)
    assert not [*tmp_path.iterdir()]
