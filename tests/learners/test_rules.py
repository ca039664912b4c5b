from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from pydaub.engines.processes import packages
from pydaub.learners import Learner
from pydaub.learners.rules import RulesClassifier, RulesRegressor

imodels: Any = pytest.importorskip("imodels")
X, CODES = make_classification(200, 6, random_state=0)
LABELS = np.array(["no", "yes"])[CODES]


@pytest.mark.parametrize("kind", ["OneRClassifier", "GreedyRuleListClassifier", "FIGSClassifier"])
def test_classes_are_predicted_as_by_imodels(kind: str) -> None:
    np.random.seed(0)  # noqa: NPY002  # FIGS draws from the global generator, which the seed of a run sets
    ours = RulesClassifier(kind).fit(X, LABELS)
    np.random.seed(0)  # noqa: NPY002
    theirs = getattr(imodels, kind)().fit(X, LABELS)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.classes_.tolist() == ["no", "yes"]
    again = pickle.loads(pickle.dumps(ours))
    assert again.score(X, LABELS) == ours.score(X, LABELS) > 0.7
    with pytest.raises(NotFittedError):
        clone(ours).predict(X)


def test_numbers_are_predicted_as_by_imodels() -> None:
    target = X[:, 0] + X[:, 1] ** 2
    ours = RulesRegressor("FIGSRegressor").fit(X, target)
    assert np.allclose(ours.predict(X), imodels.FIGSRegressor().fit(X, target).predict(X))
    assert not hasattr(ours, "predict_proba")


def test_imodels_is_imported_by_a_server_for_trainings_and_by_nobody_before() -> None:
    code = "import sys; from pydaub.learners.rules import RulesClassifier; RulesClassifier('OneRClassifier')"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('imodels' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    assert "imodels" in packages(Learner("one-rule", RulesClassifier("OneRClassifier")))
