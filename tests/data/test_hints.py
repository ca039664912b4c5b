"""Columns by which rows should perhaps be divided are named, and no others."""

from __future__ import annotations

import pytest

from pydaub.data.hints import hints
from pydaub.data.schema import Column, Kind, Schema

ROWS = 1200


def said(*columns: Column, folds: bool = False) -> list[str]:
    schema = Schema("frame", "classification", len(columns), columns, (0, 1))
    return hints(schema, ROWS, lambda option, name: f"--{option} {name}", folds=folds)


@pytest.mark.parametrize("name", ["customer", "customer_id", "Patient ID", "userId", "id", "SUBJECT", "household-no"])
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_an_identifier_that_repeats_is_named(name: str, kind: Kind) -> None:
    assert said(Column(name, kind, distinct=100)) == [
        f"Column {name!r} repeats about 12 times: --group {name} would keep its rows together."
    ]


def test_a_date_is_named() -> None:
    date = Column("day", "date", distinct=400)
    assert said(Column("size", "numeric"), date) == [
        "Column 'day' is a date: --time day would validate on the latest rows."
    ]
    assert said(date, folds=True) == [], "folds cannot be divided by time"
    assert len(said(date, Column("later", "date", distinct=400), Column("user", "numeric", distinct=30))) == 2


@pytest.mark.parametrize(
    "column",
    [
        Column("customer", "numeric", distinct=3),  # too few to divide by
        Column("customer", "numeric", distinct=1100),  # hardly any repeats
        Column("customer", "identifier", distinct=ROWS),
        Column("customer", "numeric", missing=5, distinct=100),  # could not divide the rows
        Column("customer", "numeric"),  # not counted
        Column("customer_age", "numeric", distinct=60),
        Column("zip", "categorical", distinct=100),
        Column("humid", "numeric", distinct=100),
        Column("date_of_birth", "date", distinct=400),
        Column("day", "date", distinct=7),
        Column("day", "date", missing=1, distinct=400),
    ],
    ids=str,
)
def test_other_columns_are_not(column: Column) -> None:
    assert said(column) == []
