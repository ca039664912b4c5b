"""Columns by which rows should perhaps be divided: dates, and identifiers that repeat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydaub.data.columns import FEW_ROWS, ID_NAME
from pydaub.data.names import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.data.schema import Column, Schema

WHO: Final = re.compile(  # whose rows are alike
    r"(?:.*[\W_])?(?:customer|client|user|patient|subject|person|member|household|account|session|device|machine"
    r"|student|employee|player|driver)s?(?:[\W_]?(?:id|no|nr|num|number|key|name))?",
    re.IGNORECASE,
)
BIRTH: Final = re.compile(
    r"birth|born|\bdob\b|_dob|dob_", re.IGNORECASE
)  # a date that says nothing of when a row is from
REPEATS: Final = 2.0  # rows of each value, on average


def hints(schema: Schema, rows: int, written: Callable[[str, str], str], *, folds: bool = False) -> list[str]:
    """Return a sentence for a column that is a date, and one for an identifier that repeats.

    Where rows were divided at random, a learner could know the future of a row, or others of the same person: its score
    would then promise too much.

    Parameters
    ----------
    schema
        The schema of rows that are to be divided at random.
    rows
        How many rows there are.
    written
        Returns how a person writes an option for a column.
    folds
        Whether scores come from cross-validation, which cannot divide by time.
    """
    found = []
    dated = next((each for each in schema.columns if _is_time(each)), None)
    if dated is not None and not folds:
        how = written("time", dated.name)
        found.append(f"Column {brief(dated.name)} is a date: {how} would validate on the latest rows.")
    repeated = next((each for each in schema.columns if _repeats(each, rows)), None)
    if repeated is not None:
        times, how = rows / (repeated.distinct or 1), written("group", repeated.name)
        found.append(
            f"Column {brief(repeated.name)} repeats about {times:,.0f} times: {how} would keep its rows together."
        )
    return found


def _is_time(column: Column) -> bool:
    told = column.kind == "date" and (column.distinct or 0) > FEW_ROWS
    return told and not column.missing and not BIRTH.search(column.name)


def _repeats(column: Column, rows: int) -> bool:
    name = column.name if not column.name.isupper() else column.name.lower()
    named = ID_NAME.fullmatch(name) or WHO.fullmatch(name)
    several = column.distinct is not None and FEW_ROWS < column.distinct <= rows / REPEATS
    return bool(named) and several and not column.missing and column.kind in {"numeric", "categorical", "text"}
