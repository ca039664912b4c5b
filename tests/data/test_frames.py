"""The same rows give the same search, whatever library holds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pydaub import DaubSearch, InputError
from pydaub.data import new_rows, prepare
from pydaub.data.frames import plain_table

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")

ROWS = 120
RNG = np.random.default_rng(0)
GONE = RNG.random(ROWS) < 0.2


def some(values: Any) -> list[Any]:
    """Return these values, some of which are missing."""
    return [None if gone else value for value, gone in zip(values, GONE, strict=True)]


SIZES = [["small", "medium", "large"][code] for code in RNG.integers(0, 3, ROWS)]
DAYS = [date(2020, 1, 1) + timedelta(days=int(days)) for days in RNG.integers(0, 900, ROWS)]
MOMENTS = [datetime(2020, 1, 1) + timedelta(minutes=int(minutes)) for minutes in RNG.integers(0, 10**6, ROWS)]  # noqa: DTZ001
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int64(), RNG.integers(0, 1000, ROWS).tolist()),
    "count": (pa.int64(), some(RNG.integers(0, 9, ROWS).tolist())),
    "narrow": (pa.int8(), RNG.integers(0, 9, ROWS).tolist()),
    "number": (pa.float64(), some(RNG.normal(size=ROWS).tolist())),
    "word": (pa.large_string(), some(RNG.choice(["red", "green", "blue"], ROWS).tolist())),
    "kind": (pa.dictionary(pa.int32(), pa.large_string()), some(SIZES)),
    "size": (pa.dictionary(pa.int32(), pa.large_string(), ordered=True), SIZES),
    "yes": (pa.bool_(), (RNG.random(ROWS) < 0.5).tolist()),
    "maybe": (pa.bool_(), some((RNG.random(ROWS) < 0.5).tolist())),
    "day": (pa.date32(), some(DAYS)),
    "moment": (pa.timestamp("us"), MOMENTS),
    "there": (pa.timestamp("us", "Europe/Rome"), MOMENTS),
    "price": (pa.decimal128(9, 2), some([Decimal(int(cents)) / 100 for cents in RNG.integers(1, 9999, ROWS)])),
    "nothing": (pa.null(), [None] * ROWS),
}
TARGET = pa.array(
    np.where(
        [(n or 0) + (w or 0) / 500 > 1 for n, w in zip(VALUES["number"][1], VALUES["whole"][1], strict=True)],
        "yes",
        "no",
    )
)


def _arrow() -> pa.Table:
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in VALUES.items()})


def _pandas() -> pd.DataFrame:
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, (_, values) in VALUES.items()})
    words = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    kinds = {"whole": int, "count": "Int64", "narrow": np.int8, "number": float, "word": "str", "yes": bool}
    dates = {"moment": pd.to_datetime(frame["moment"]), "there": pd.to_datetime(frame["there"]).dt.tz_localize("UTC")}
    return frame.astype({**kinds, "maybe": "boolean", "kind": "category", "size": words}).assign(**dates)


def _polars() -> Any:
    return pl.from_arrow(_arrow()).with_columns(
        pl.col("size").cast(pl.String).cast(pl.Enum(["small", "medium", "large"]))
    )


def _duckdb() -> Any:
    return duckdb.connect().from_arrow(_arrow())


FRAMES: dict[str, Callable[[], Any]] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow, "duckdb": _duckdb}
TARGETS: dict[str, Callable[[], Any]] = {
    "pandas": TARGET.to_pandas,
    "polars": lambda: pl.Series(TARGET.to_pylist()),
    "pyarrow": lambda: pa.chunked_array([TARGET[:50], TARGET[50:]]),
    "duckdb": lambda: duckdb.connect().from_arrow(pa.table({"y": TARGET})),
}


@pytest.mark.filterwarnings("ignore:Columns left out", "ignore:Column .* would")
def test_the_search_does_not_depend_on_the_library() -> None:
    searches = {
        kind: DaubSearch("logistic,tree", strategy="daub", random_state=0).fit(make(), TARGETS[kind]())
        for kind, make in FRAMES.items()
    }
    first = searches["pandas"]
    for kind, found in searches.items():
        assert [*found.feature_names_in_] == [*VALUES]
        assert found.failures_ == {}
        assert found.best_learner_ == first.best_learner_
        for name in ("learner", "size", "mean_test_score"):
            assert [*found.cv_results_[name]] == [*first.cv_results_[name]]
        for make in FRAMES.values():  # fitted on one, it predicts on another
            assert isinstance(found.predict(make()), np.ndarray)
            assert np.array_equal(found.predict_proba(make()), first.predict_proba(_pandas()))
        assert found.score(FRAMES[kind](), TARGETS[kind]()) == first.score(_pandas(), TARGET.to_pandas())


@pytest.mark.parametrize("kind", FRAMES)
def test_the_prepared_rows_do_not_depend_on_the_library(kind: str) -> None:
    one, other = (prepare(plain_table(FRAMES[each](), "X"), TARGETS[each](), seed=1) for each in ("pandas", kind))
    assert one.schema == other.schema
    frames = [data.train(data.full_size).X for data in (one, other)]
    pd.testing.assert_frame_equal(*(each.astype({"kind": "str", "size": "str"}) for each in frames))
    assert np.array_equal(one.valid().y, other.valid().y)
    pd.testing.assert_frame_equal(
        *(new_rows(one.schema, make()).astype({"kind": "str", "size": "str"}) for make in (_pandas, FRAMES[kind]))
    )


def test_own_learners_get_polars_as_polars_and_the_others_as_pandas() -> None:
    y = TARGETS["pandas"]()
    for kind, library in {"pandas": "pandas", "polars": "polars", "pyarrow": "pandas", "duckdb": "pandas"}.items():
        data = prepare(FRAMES[kind](), y, columns=False)
        assert type(data.train(50).X).__module__.partition(".")[0] == library


NESTED = {"numbers": [[1, 2]] * ROWS, "whole": VALUES["whole"][1]}


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("learners", ["tree", None])
def test_nested_columns_are_refused_by_their_name(make: Any, learners: Any) -> None:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415  # for this test alone

    with pytest.raises(InputError, match="Column 'numbers' of `X` must hold"):
        DaubSearch(learners or DecisionTreeClassifier(), random_state=0).fit(make(NESTED), TARGET.to_pandas())


def test_frames_that_make_no_sense_are_refused() -> None:
    whole = pa.array(VALUES["whole"][1])
    search, y = DaubSearch("tree", random_state=0), TARGET.to_pandas()
    for X in (pa.table([whole, whole], ["a", "a"]), pd.DataFrame(np.ones((ROWS, 2)), columns=["a", "a"])):
        with pytest.raises(InputError, match="must not name two columns alike, got 'a' more than once"):
            search.fit(X, y)
    with pytest.raises(InputError, match=r"`X` must be a frame, got LazyFrame. Collect it first"):
        search.fit(_polars().lazy(), y)
    with pytest.raises(InputError, match="`y` must be one column, got a frame of 14"):
        search.fit(_arrow(), _duckdb())
