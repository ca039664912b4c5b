"""What is in a column? Its kind, found from its values, and whether a target is a class or a number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pydaub.data.formats.source import listed
from pydaub.data.schema import KINDS, Column, Kind, Task
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TRUE: Final = ("true", "yes", "t", "y")
FALSE: Final = ("false", "no", "f", "n")
PAIRS: Final = tuple({true, false} for true, false in zip(TRUE, FALSE, strict=True))
ISO_DATE: Final = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?"
ID_NAME: Final = re.compile(r"(?:.*[_\W])?(?:[Ii]d|idx|index|uuid|guid|rowid|row_?num(?:ber)?)|.*[a-z]I[dD]", re.ASCII)
FEW_ROWS: Final = 20  # of so few, all may differ by chance
NEARLY_ALL: Final = 0.95
WORDS: Final = 3  # on average, from which on text is free
LOOKED_AT: Final = 1000  # distinct texts, for the words in them
TWO: Final = 2  # values are classes however few the rows
MOST_CLASSES: Final = 50
ROWS_A_CLASS: Final = 5


def infer_columns(frame: pd.DataFrame, kinds: Mapping[str, Kind] | None = None) -> tuple[Column, ...]:
    """Return what the columns of a frame are; `kinds` says otherwise for some.

    The first rule that fits gives the kind:

    - constant: at most one distinct value, missing counting as one
    - boolean: bools, the numbers 0 and 1, or two texts such as yes and no, true and false, t and f, y and n
    - date: dates, or text of which every value is an ISO date
    - identifier: whole numbers, none twice or missing, that run on without a gap in more than 20 rows, or in a column
      named like an identifier; or text of which at least 95 % is distinct, in more than 20 rows, unless it is free
    - numeric: all other numbers
    - text: at least three words on average, at least half of them distinct
    - categorical: all other text

    >>> infer_columns(pd.DataFrame({"age": [31, 25, 31], "smokes": ["yes", "no", None]}))[1].kind
    'boolean'
    """
    given = dict(kinds or {})
    checked_kinds(given, list(frame.columns))
    return tuple(_column(str(name), frame[name], given.get(name)) for name in frame.columns)


def checked_kinds(kinds: Mapping[str, Kind], names: Sequence[str]) -> None:
    """Refuse kinds that there are not, and those of columns that there are not."""
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise InputError(f"`kinds` must name columns of the data, got {listed(unknown)}. It has {listed(names)}.")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise InputError(f"`kinds` must be among {', '.join(KINDS)}, got {kind!r} for {name!r}.")


def given_columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Return what the columns of a person's own frame are, by their types alone, all of them used.

    No text is taken for a date or a boolean here, since nothing is converted: learners see the frame as it is.
    """
    columns = []
    for name in frame.columns:
        values = frame[name]
        missing = int(values.isna().sum())
        kind = _given_kind(values)
        columns.append(Column(str(name), kind, missing, as_given=kind == "categorical" and not _is_text(values)))
    return tuple(columns)


def infer_task(y: Any) -> Task:  # noqa: ANN401  # whatever holds a column of labels
    """Return whether a target is a class or a number.

    Text, bools, dates and categories are classes. Numbers with fractions are a regression. Whole numbers are classes
    where there are two of them, or at most 50 with at least 5 rows each on average; else a regression.

    >>> infer_task(["a", "b"]), infer_task([0.5, 1.5, 2.0]), infer_task([1, 2, 3] * 5), infer_task(range(100))
    ('classification', 'regression', 'classification', 'regression')
    """
    values = series(y, "y").dropna().infer_objects()
    if not is_number(values):
        return "classification"
    numbers = values.to_numpy(dtype=float)
    if not _whole(numbers):
        return "regression"
    distinct = len(np.unique(numbers))
    few = distinct <= MOST_CLASSES and len(numbers) >= ROWS_A_CLASS * distinct
    return "classification" if few or distinct <= TWO else "regression"


def series(values: Any, name: str) -> pd.Series[Any]:  # noqa: ANN401  # whatever holds one column
    """Return one column of any library as a pandas series with a plain index."""
    if type(values).__module__.partition(".")[0] == "polars":
        values = values.to_pandas()
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        array = values.to_numpy() if isinstance(values, pd.DataFrame) else _array(values, name)
        if array.ndim == 2 and array.shape[1] == 1:  # noqa: PLR2004  # a table of one column
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(f"`{name}` must be one column, got {array.ndim} dimensions and shape {array.shape}.")
        values = array
    return pd.Series(values).reset_index(drop=True)


def is_number(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, bools not being any."""
    return pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)


def is_date(values: pd.Series[Any]) -> bool:
    """Whether a column holds dates that are known to be such."""
    return pd.api.types.is_datetime64_any_dtype(values.dtype)


def parsed_dates(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return dates of any type or ISO text as microseconds without a zone; raises ValueError where one is none."""
    if is_number(values) or pd.api.types.is_bool_dtype(values.dtype):
        raise ValueError(f"{values.dropna().iloc[0]!r} is a number")
    dates = values if is_date(values) else pd.to_datetime(values.astype(object), format="ISO8601", utc=True)
    if getattr(dates.dtype, "tz", None) is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    return dates.astype("datetime64[us]")


def group_codes(values: pd.Series[Any], name: str) -> np.ndarray[Any, Any]:
    """Return a number for each group."""
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise InputError(f"`{name}` must be labels, got: {error}.") from None
    _refuse_missing(codes < 0, name)
    return codes.astype(np.int64)


def times(values: pd.Series[Any], name: str) -> np.ndarray[Any, Any]:
    """Return dates or numbers as numbers that can be sorted."""
    _refuse_missing(values.isna().to_numpy(), name)
    if is_number(values):
        return values.to_numpy(dtype=float)
    try:
        return parsed_dates(values).to_numpy().astype(np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"`{name}` must be ISO dates such as 2016-02-12, or numbers, got: {error}.") from None


def _refuse_missing(missing: np.ndarray[Any, Any], name: str) -> None:
    if missing.any():
        raise InputError(
            f"`{name}` must have a value in every row, got {int(missing.sum())} without. Remove these rows."
        )


def _array(values: Any, name: str) -> np.ndarray[Any, Any]:  # noqa: ANN401  # as above
    try:
        if isinstance(values, np.ndarray):
            return values
        held = list(values)
        plain = {type(value) for value in held}
        # numpy would make text of numbers that stand beside text
        return np.asarray(held) if len(plain) == 1 else pd.Series(held).to_numpy()
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be one column of values, got {type(values).__name__}: {error}.") from None


def _column(name: str, values: pd.Series[Any], given: Kind | None) -> Column:
    present = values.dropna()
    missing = len(values) - len(present)
    distinct = present.nunique()
    if given is not None:
        kind = given
    elif distinct + bool(missing) <= 1:
        kind = "constant"
    elif pd.api.types.is_bool_dtype(values.dtype):
        kind = "boolean"
    elif is_date(values):
        kind = "date"
    elif is_number(values):
        kind = _number_kind(name, present, distinct, missing)
    else:
        kind = _text_kind(present.astype(object), distinct)
    return Column(name, kind, missing, distinct)


def _number_kind(name: str, present: pd.Series[Any], distinct: int, missing: int) -> Kind:
    numbers = present.to_numpy()
    low, high = numbers.min(), numbers.max()
    if distinct == 2 and low == 0 and high == 1:  # noqa: PLR2004  # 0 and 1
        return "boolean"
    if distinct == len(numbers) and not missing and _whole(numbers):
        gapless = len(numbers) > FEW_ROWS and float(high) - float(low) + 1 == len(numbers)
        if gapless or ID_NAME.fullmatch(name if not name.isupper() else name.lower()):
            return "identifier"
    return "numeric"


def _text_kind(present: pd.Series[Any], distinct: int) -> Kind:
    texts = pd.Series(present.unique()).astype("str")
    if {text.strip().lower() for text in texts.iloc[:LOOKED_AT]} in PAIRS:
        return "boolean"
    if texts.str.fullmatch(ISO_DATE).all():
        try:
            parsed_dates(texts)
        except ValueError:
            return "categorical"
        return "date"
    words = texts.iloc[:LOOKED_AT].str.split().str.len().mean()
    if words >= WORDS and 2 * distinct >= len(present):
        return "text"
    nearly_all = len(present) > FEW_ROWS and distinct >= NEARLY_ALL * len(present)
    return "identifier" if nearly_all else "categorical"


def _given_kind(values: pd.Series[Any]) -> Kind:
    if pd.api.types.is_bool_dtype(values.dtype):
        return "boolean"
    if is_date(values):
        return "date"
    if is_number(values):
        return "numeric"
    present = values.dropna()
    if isinstance(values.dtype, pd.CategoricalDtype) or present.empty:
        return "categorical"
    return "text" if _text_kind(present.astype(object), present.nunique()) == "text" else "categorical"


def _is_text(values: pd.Series[Any]) -> bool:
    held = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values.dropna().unique()
    return all(isinstance(value, str) for value in held)


def _whole(numbers: np.ndarray[Any, Any]) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.issubdtype(numbers.dtype, np.integer) or np.all(np.floor(numbers) == numbers))
