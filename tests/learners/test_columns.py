from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from pydaub.learners.columns import Dates, Labels, Numbers, TextParts


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False, None], dtype=object),
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series([1, 0, None], dtype="Int64"),
        pd.Series([1.0, 0.0, np.nan]),
        pd.Series([1.0, 0.0, np.nan]).astype("category"),
        pl.Series([True, False, None]),
        pl.Series([1, 0, None]),
    ],
    ids=lambda column: f"{type(column).__module__}-{column.dtype}",
)
def test_a_category_has_the_same_name_in_columns_of_every_type(column: Any) -> None:
    frame = column.to_frame("a") if hasattr(column, "to_frame") else pl.DataFrame({"a": column})
    assert Labels().fit_transform(frame)[:2].tolist() == [["1.0"], ["0.0"]]
    assert np.isnan(Labels().fit_transform(frame)[2, 0])


def test_categories_may_mix_types() -> None:
    values = np.array([["a", 1], [2.5, None], [dt.date(2024, 1, 2), pd.NA]], dtype=object)
    assert Labels().fit_transform(values)[:, 0].tolist() == ["a", "2.5", "2024-01-02"]
    assert [isinstance(label, str) for label in Labels().fit_transform(values)[:, 1]] == [True, False, False]


@settings(max_examples=50)
@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()), min_size=1))
def test_labels_are_text_or_missing(values: list[Any]) -> None:
    found = Labels().fit_transform(pd.DataFrame({"a": pd.Series(values, dtype=object)}))
    assert found.shape == (len(values), 1)
    for value, label in zip(values, found[:, 0], strict=True):
        assert isinstance(label, str) == (not pd.isna(value))
        assert isinstance(label, str) or np.isnan(label)


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"a": pd.to_datetime(["1970-01-02T06:00", None])}),
        pd.DataFrame({"a": pd.to_datetime(["1970-01-02T06:00", None]).tz_localize("UTC")}),
        pd.DataFrame({"a": ["1970-01-02T06:00:00", None]}),
        pd.DataFrame({"a": ["1970-01-02T08:00:00+02:00", "no date"]}),
        pd.DataFrame({"a": ["1970-01-02T06:00:00Z", "no date"]}).astype("category"),
        pd.DataFrame({"a": pd.Series([dt.datetime(1970, 1, 2, 6, tzinfo=dt.UTC), None], dtype=object)}),
        pl.DataFrame({"a": [dt.datetime(1970, 1, 2, 6), None]}),  # noqa: DTZ001  # most dates have no time zone
        pl.DataFrame({"a": ["1970-01-02T06:00:00", None]}),
        np.array([["1970-01-02T06"], ["NaT"]], dtype="datetime64[s]"),
    ],
)
def test_a_date_becomes_four_numbers(rows: Any) -> None:
    found = Dates().fit_transform(rows)
    assert found[0].tolist() == [1.25, 1, 4, 6]
    assert np.isnan(found[1]).all()


def test_dates_may_lack_a_time_and_fill_several_columns() -> None:
    rows = pd.DataFrame({"a": [dt.date(1970, 1, 1)], "b": [dt.date(1969, 12, 31)]})
    assert Dates().fit_transform(rows).tolist() == [[0, 1, 3, 0, -1, 12, 2, 0]]


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "1677-01-01"])
def test_dates_that_stand_for_never_are_numbers_too(day: str) -> None:
    """Nanoseconds reach from 1677 to 2262 only."""
    never = dt.date.fromisoformat(day)
    days = (never - dt.date(1970, 1, 1)).days
    moments = pd.Series(np.array([day, "NaT"], dtype="datetime64[us]"))
    for values in (moments, pd.Series([day, None]), pd.Series([never, None], dtype=object)):
        found = Dates().fit_transform(pd.DataFrame({"a": values}))
        assert found[0].tolist() == [days, never.month, never.weekday(), 0]
        assert np.isnan(found[1]).all()


def test_missing_numbers_are_nan() -> None:
    for rows in (pd.DataFrame({"a": [1, None]}, dtype="Int64"), pl.DataFrame({"a": [1, None]})):
        found = Numbers().fit_transform(rows)
        assert found[0, 0] == 1
        assert np.isnan(found[1, 0])


@parametrize_with_checks([Numbers()])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_numbers_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_column_that_is_empty_in_the_sample_becomes_zero() -> None:
    """Its later values are ignored, while missing values of other columns stay missing."""
    numbers = Numbers().fit(np.array([[np.nan, 1], [np.nan, 2]]))
    assert numbers.transform([[np.nan, 1], [5, 2]]).tolist() == [[0, 1], [0, 2]]
    assert np.isnan(numbers.transform([[5, np.nan]])[0, 1])


def frame(texts: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(texts, dtype=object)})


WORDS = frame(["red wine", "white wine", None, "dark beer", "beer and wine"])


def test_text_becomes_a_few_numbers() -> None:
    parts = TextParts(n_components=2, random_state=0).fit(WORDS)
    assert parts.transform(WORDS).shape == (5, 2)
    assert np.allclose(parts.transform(WORDS), clone(parts).fit_transform(WORDS))
    assert np.allclose(parts.transform(frame(["unheard", None])), 0)


def test_rounding_errors_are_no_directions() -> None:
    """Scaling would turn them into noise that differs between the sample and the same rows later."""
    assert TextParts(random_state=0).fit_transform(frame(["one two", "three four"] * 30)).shape == (60, 2)


@settings(max_examples=50)
@given(st.lists(st.one_of(st.none(), st.text(alphabet="ab .", max_size=12)), min_size=2, max_size=12))
def test_any_texts_become_finite_numbers(texts: list[str | None]) -> None:
    """New rows get as many numbers as the sample, even if it has few words, none, or the same in each row."""
    parts = TextParts(n_components=3, random_state=0)
    found = parts.fit_transform(frame(texts))
    again = parts.transform(WORDS)
    assert 1 <= found.shape[1] == again.shape[1] <= 3
    assert np.isfinite(found).all()
    assert np.isfinite(again).all()
