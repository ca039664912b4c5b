"""The Python interface: public names with arguments that make no sense, and searches over odd rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier

from fuzz.rule import a_few, fuzzed, refused_or_done, scalars, values
from pydaub import (
    STRATEGIES,
    Allocation,
    Curve,
    DaubSearch,
    Failure,
    Journal,
    Measurement,
    NonIncreasing,
    Postponed,
    Schedule,
    Scores,
    SerialEngine,
    SlopeBound,
    Steered,
    Table,
    TableEngine,
    run,
)
from pydaub.data import Split, load, prepare

pytestmark = [pytest.mark.slow("random"), pytest.mark.filterwarnings("ignore")]

MEASURED = Measurement(1.0, 0.5, 0.1)
TABLE = Table({Allocation(name, size): MEASURED for name in "ab" for size in (10, 20)})
SCHEDULE = Schedule((10, 20))
ROWS = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.array(["x", "y"] * 15)
# What makes sense for each argument, by its name.
FITTING: dict[str, Any] = {
    "learner": "a",
    "learners": ["a", "b"],
    "size": 10,
    "full_size": 20,
    "first_size": 10,
    "ratio": 2,
    "sizes": (10, 20),
    "measurements": (MEASURED, MEASURED),
    "train_score": 1.0,
    "valid_score": 0.5,
    "seconds": 0.1,
    "kind": "error",
    "message": "no",
    "command": "drop",
    "clock": 1.0,
    "schedule": SCHEDULE,
    "bound": SlopeBound(),
    "outcomes": TABLE.outcomes,
    "table": TABLE,
    "evaluate": TABLE.__getitem__,
    "X": ROWS,
    "y": LABELS,
    "source": "parity:50",
    "target": None,
}
ODD = [
    *(None, True, 0, -1, 2**31, 2**64, 10**400, 1.5, math.nan, math.inf, 1e308, 5e-324, 1j, object, object(), range(3)),
    *(
        "",
        "x",
        "\ud800",
        "\0",
        "x" * 300,
        b"",
        b"\xff",
        (),
        [],
        [1],
        ["a"],
        [None],
        [[1]],
        (1, 2),
        ["a", "a"],
        {"a", "b"},
    ),
    *({}, {"a": 1}, {"a": None}, {1: 2}, {"a": (1, 2)}, [20, 10], [10, 10], [0], [-1], [1.5], [math.nan], len),
]
CALLED: list[Callable[..., Any]] = [
    *(Allocation, Curve, Failure, Measurement, NonIncreasing, Postponed, Scores, SerialEngine, SlopeBound, Steered),
    *(Schedule, Schedule.geometric, Schedule.listed, Table, TableEngine, Split, prepare, load),
    *STRATEGIES.values(),
]


@fuzzed
@given(data=st.data())
def test_arguments_are_accepted_or_refused(data: st.DataObject) -> None:
    called = data.draw(st.sampled_from(CALLED))
    parameters = inspect.signature(called).parameters
    given_ = {name: FITTING[name] for name, each in parameters.items() if each.default is each.empty}
    for name in data.draw(st.lists(st.sampled_from([*parameters]), min_size=1, max_size=2)):
        given_[name] = data.draw(values)
    refused_or_done(lambda: called(**given_))


@pytest.mark.parametrize("called", CALLED, ids=lambda each: each.__qualname__)
def test_each_argument_with_each_odd_value(called: Callable[..., Any]) -> None:
    parameters = inspect.signature(called).parameters
    fitting = {name: FITTING[name] for name, each in parameters.items() if each.default is each.empty}
    for name in parameters:
        for value in ODD:
            refused_or_done(lambda name=name, value=value: called(**{**fitting, name: value}))  # type: ignore[misc]


@fuzzed
@given(data=st.data())
def test_a_run_ends_or_is_refused(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([*STRATEGIES.values()]))
    answer = data.draw(scalars | st.just(MEASURED))
    answered: Callable[[Allocation], Any] = lambda _: answer  # noqa: E731  # of any type
    engine: Any = data.draw(st.sampled_from([TableEngine(TABLE), SerialEngine(answered)]) | values)
    options = data.draw(
        st.dictionaries(st.sampled_from(["journal", "known", "time_limit", "watch", "steering"]), values, max_size=1)
    )
    refused_or_done(lambda: run(kind(["a", "b"], SCHEDULE), engine, **options))


@fuzzed
@given(settings_=values, content=st.binary(max_size=80) | st.just(b'{"journal":"pydaub","format":1,'))
def test_a_journal_is_opened_or_refused_and_foreign_files_are_left_alone(settings_: Any, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(content)
        opened = refused_or_done(lambda: Journal(path, settings_))
        if opened is None:
            assert path.read_bytes() == content
        else:
            opened.close()


columns = st.sampled_from(
    [ROWS, ROWS.tolist(), pd.DataFrame(ROWS), sparse.csr_matrix(ROWS), ROWS.astype(object), ROWS[:, 0], ROWS[:0],
     np.where(ROWS > 1, np.nan, ROWS), np.where(ROWS > 1, np.inf, ROWS), ROWS.astype(str), ROWS.astype(complex),
     np.zeros((30, 0)), np.zeros((30, 3)), pd.DataFrame({"a": pd.date_range("1700", periods=30), "b": list("xyz") * 10}),  # noqa: E501
     pd.DataFrame({"a": [pd.Timestamp("9999-12-31")] * 15 + [None] * 15, "b": [[1]] * 30})]
)  # fmt: skip
labels = st.sampled_from(
    [LABELS, LABELS.tolist(), ROWS[:, 0], np.zeros(30), np.arange(30), ["x"] * 30, [None] * 30, LABELS[:5], ROWS,
     [1, "a"] * 15, np.where(ROWS[:, 0] > 0, np.nan, 1), pd.Series(LABELS, index=range(100, 130)), [[1]] * 30]
)  # fmt: skip
LEARNERS = [
    [("dummy", DummyClassifier()), ("tree", DecisionTreeClassifier())],
    [("mean", DummyRegressor())],
]
TOO_LONG = {
    "engine",
    "address",
    "n_jobs",
    "learners",
    "param_grid",
    "n_iter",
    "learner_memory",
}  # real clusters, searches


@a_few(2, least=20)
@given(data=st.data())
def test_a_search_ends_or_is_refused(data: st.DataObject) -> None:
    names = [name for name in inspect.signature(DaubSearch).parameters if name not in TOO_LONG]
    search = DaubSearch(data.draw(st.sampled_from(LEARNERS) | values), engine="serial", first_size=10)
    odd = data.draw(st.dictionaries(st.sampled_from(names), values, max_size=1))
    rows, target = data.draw(st.just(ROWS) | columns | values), data.draw(st.just(LABELS) | labels | values)
    try:
        search.set_params(**odd).fit(rows, target)
    except (ValueError, TypeError) as error:  # scikit-learn's own checks raise these
        reason = str(error)
    else:
        reason = "done"
        assert len(search.predict(rows)) == len(target)
    assert reason
