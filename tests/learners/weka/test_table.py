"""The paper's 41 learners: their classes and options, and that each of them trains."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pydaub import Allocation, Failure, InputError, Measurement
from pydaub.data import Prepared, prepare
from pydaub.data.schema import Column, Schema
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.learners import portfolio
from pydaub.learners.weka.jar import VARIABLE, obstacle
from pydaub.learners.weka.table import WEKA
from tables import collected
from weka_here import needs_old_weka, needs_weka, newer_weka

ROOT = Path(__file__).parents[3]
SHARED = ROOT / ".." / "shared"
TWO = Schema("matrix", "classification", 2, (Column("a", "numeric"), Column("b", "boolean")), ("x", "y"))


@pytest.mark.skipif(not (SHARED / "paper").exists(), reason="the paper is not here")
def test_they_are_those_of_the_papers_appendix_in_its_order() -> None:
    text = "".join(path.read_text() for path in sorted((SHARED / "paper").iterdir()))
    appendix = text.split("Classifier Parameterizations")[1]
    listed = [line.replace("``", '"').replace("''", '"').strip() for line in re.findall(r"\\item (.*)", appendix)]
    estimators = [recipe.make() for recipe in WEKA]
    assert [f"{estimator.class_name} {estimator.options}".strip() for estimator in estimators] == listed


@needs_old_weka
def test_they_are_chosen_as_other_learners_are() -> None:
    assert list(portfolio("weka", TWO)) == [recipe.name for recipe in WEKA]
    assert list(portfolio("weka-ibk-*, -weka-ibk-1, knn-1", TWO)) == [
        "weka-ibk-5",
        "weka-ibk-10",
        "weka-ibk-25",
        "knn-1",
    ]
    both = portfolio("sklearn,weka,-weka-smo-*", TWO)
    assert len(both) == len(portfolio("sklearn", TWO)) + 38
    assert not any(name.startswith("weka") for name in portfolio("sklearn", TWO))
    assert not any(
        name.startswith("weka") for name in portfolio("*", TWO)
    )  # patterns choose from the default portfolio
    assert portfolio("weka", TWO)["weka-j48"].estimator.categorical_features == [1]
    left_out: dict[str, str] = {}
    portfolio("weka", TWO, left_out)
    assert left_out == {}


@pytest.mark.parametrize(
    ("spec", "schema", "message"),
    [
        ("weka", Schema("matrix", "regression", 2), "must be for regression, got 'weka'. WEKA's are classifiers"),
        ("weka-j84", TWO, "Did you mean weka-j48"),
        ("wekka", TWO, "Did you mean weka"),
        pytest.param("weka", Schema("sparse", "classification", 2), "cannot take sparse rows", marks=needs_weka),
        pytest.param("weka-j*", Schema("sparse", "classification", 2), "cannot take sparse rows", marks=needs_weka),
    ],
)
def test_bad_specs_are_refused(spec: str, schema: Schema, message: str) -> None:
    with pytest.raises(InputError, match=message):
        portfolio(spec, schema)


def test_a_missing_weka_is_reported_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/weka.jar")
    for spec in ("weka", "weka-j48", "weka-j*"):
        with pytest.raises(InputError, match=rf"(usable here|can be used), got '{re.escape(spec)}', but `--weka-jar`"):
            portfolio(spec, TWO)
    assert len(portfolio("sklearn", TWO)) > 40


def test_a_newer_weka_offers_its_classes_and_lists_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, newer_weka())
    missing: dict[str, str] = {}
    offered = portfolio("weka", TWO, missing)
    assert len(offered) + len(missing) == 41
    assert {"weka-j48", "weka-ibk-1", "weka-smo-rbf", "weka-lmt"} <= set(offered)
    assert {"weka-simple-cart", "weka-simple-cart-2", "weka-nnge", "weka-vfi"} <= set(missing)
    assert all(re.match(r"WEKA 3\.9\.\d+ has no weka\.classifiers\.", reason) for reason in missing.values())
    fewer: dict[str, str] = {}
    portfolio("weka,-weka-nnge,-weka-j48*,-weka-simple-*", TWO, fewer)
    assert set(fewer) == set(missing) - {"weka-nnge", "weka-j48-graft", "weka-simple-cart", "weka-simple-cart-2"}
    with pytest.raises(InputError, match=r"has no weka\.classifiers\.rules\.NNge"):
        portfolio("weka-nnge", TWO)


def outcomes(data: Prepared, size: int, folder: Path) -> dict[str, Any]:
    """Return the outcome of each learner on a sample, with the limits of a real run."""
    learners = portfolio("weka", data.schema)
    task = Task(data, learners, scoring="accuracy", metrics="none")
    engine = ProcessEngine(task, len(os.sched_getaffinity(0)), folder, Limits(300.0, 1 << 30))
    found: dict[str, Any] = {}
    try:
        for name in learners:
            if not engine.free:
                ended, outcome = collected(engine)
                found[ended.learner] = outcome
            engine.submit(Allocation(name, size))
        while len(found) < len(learners):
            ended, outcome = collected(engine)
            found[ended.learner] = outcome
    finally:
        engine.close()
    return found


def rows(name: str, columns: int) -> Prepared:
    """Return few rows to validate, because some learners take much longer to predict than to train."""
    path = SHARED / "data" / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the shared data sets are not here")
    frame = pd.read_parquet(path)[:600]
    return prepare(frame.drop(columns="target").iloc[:, :columns], frame["target"])


@pytest.mark.slow("versions")
@needs_old_weka
def test_all_41_train(tmp_path: Path) -> None:
    """On seven classes; tests/contracts/ trains each of them on two."""
    data = rows("covtype", 20)
    assert len(set(data.train(150).y)) == 7
    found = outcomes(data, 150, tmp_path)
    assert len(found) == 41
    failed = {learner: outcome for learner, outcome in found.items() if isinstance(outcome, Failure)}
    failure = failed.pop("weka-spegasos")
    assert failure.kind == "error"
    assert "SPegasos: Cannot handle multi-valued nominal class!" in failure.message
    assert failed == {}
    measured = [outcome for outcome in found.values() if isinstance(outcome, Measurement)]
    assert all(0 <= outcome.valid_score <= 1 and 0 <= (outcome.train_score or 0) <= 1 for outcome in measured)
    guess = found["weka-zero-r"].valid_score
    assert max(outcome.valid_score for outcome in measured) > guess + 0.05  # the data can be learned


def test_the_obstacle_of_a_learner_names_its_class() -> None:
    if not obstacle():
        assert obstacle("weka.classifiers.trees.NoTree").startswith("WEKA 3.")
        assert "weka.classifiers.trees.NoTree" in obstacle("weka.classifiers.trees.NoTree")
    else:
        assert obstacle("weka.classifiers.trees.NoTree") == obstacle()
