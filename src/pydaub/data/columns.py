"""The kinds of columns, inferred from their values, and whether a target is a class or a number."""

from __future__ import annotations

import re
from difflib import get_close_matches
from numbers import Number
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pydaub.data.names import brief, listed, some
from pydaub.data.schema import KINDS, LEFT_OUT, NUMBERS, Column
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydaub.data.schema import Array, Form, Kind, Task

TRUE: Final = ("true", "yes", "t", "y")
FALSE: Final = ("false", "no", "f", "n")
PAIRS: Final = tuple({true, false} for true, false in zip(TRUE, FALSE, strict=True))
DATES: Final = {"string", "datetime", "datetime64", "date", "empty"}  # what pandas calls objects that may all be dates
ISO_DATE: Final = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?"
ID_NAME: Final = re.compile(r"(?:.*[_\W])?(?:[Ii]d|idx|index|uuid|guid|rowid|row_?num(?:ber)?)|.*[a-z]I[dD]", re.ASCII)
FEW_ROWS: Final = 20  # up to here, all values of a column may be distinct by coincidence
NEARLY_ALL: Final = 0.95
WORDS: Final = 3  # on average, for free text
SAMPLED_TEXTS: Final = 1000  # distinct texts in which words are counted
TWO: Final = 2  # distinct values are classes, however few the rows
MOST_CLASSES: Final = 50
ROWS_PER_CLASS: Final = 5
NOT_NUMBERS: Final = ("identifier", "categorical", "text")  # kinds of text
BLOCK: Final = 1 << 20  # cells that are handled at a time, unless one column has more


def infer_columns(frame: pd.DataFrame, kinds: Mapping[str, Kind] | None = None) -> tuple[Column, ...]:
    """Infer the kinds of the columns of a frame, in order.

    The first rule that fits decides:

    - constant: at most one distinct value, where missing counts as a value
    - boolean: bools, the numbers 0 and 1, or a pair of texts: yes and no, true and false, t and f, y and n
    - date: dates, or text in which every value is an ISO date
    - identifier: distinct whole numbers, none missing, that have no gap in more than 20 rows or whose column is named
      like an identifier; or text that is not free text, with at least 95 % distinct values in more than 20 rows
    - numeric: all other numbers
    - text: free text, with at least three words on average and at least half of the values distinct
    - categorical: all other text

    Parameters
    ----------
    frame
        The columns.
    kinds
        Kinds that override the inferred ones, by column name.

    Examples
    --------
    >>> infer_columns(pd.DataFrame({"age": [31, 25, 31], "smokes": ["yes", "no", None]}))[1].kind
    'boolean'
    """
    kinds = kinds or {}
    check_kinds(kinds, list(frame.columns))
    found = {place: column for places in number_blocks(frame) for place, column in _numbers(frame, places, kinds)}
    for place in range(frame.shape[1]):
        if place not in found:
            name = frame.columns[place]
            found[place] = _column(str(name), frame.iloc[:, place], kinds.get(name))
    return tuple(found[place] for place in range(frame.shape[1]))


def number_blocks(frame: pd.DataFrame) -> Iterator[list[int]]:
    """Yield the places of columns that hold plain numbers, some of the same type at a time.

    They are handled together, because pandas takes tens of microseconds for each step with each column.
    """
    places: dict[Any, list[int]] = {}
    for place, kind in enumerate(frame.dtypes):
        if isinstance(kind, np.dtype) and kind.kind in "iuf":
            places.setdefault(kind, []).append(place)
    step = max(1, BLOCK // max(len(frame), 1))
    for alike in places.values():
        yield from (alike[start : start + step] for start in range(0, len(alike), step))


def _numbers(frame: pd.DataFrame, places: list[int], kinds: Mapping[str, Kind]) -> Iterator[tuple[int, Column]]:
    """Yield columns of plain numbers, each with its place."""
    values = np.sort(frame.iloc[:, places].to_numpy().T)  # missing ones last
    rows = values.shape[1]
    absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros_like(values, dtype=bool)
    missing = absent.sum(axis=1)
    distinct = (values[:, 1:] != values[:, :-1]).sum(axis=1) + (rows > 0) - missing  # a missing one differs from all
    with np.errstate(invalid="ignore"):
        wholes = ((np.floor(values) == values) | absent).all(axis=1)
    names = frame.columns[places]
    facts = zip(places, names, values, missing.tolist(), distinct.tolist(), wholes.tolist(), strict=True)
    for place, name, column, lacking, different, whole in facts:
        present = rows - lacking
        kind = kinds.get(name)
        if kind is None and different + bool(lacking) <= 1:
            kind = "constant"
        elif kind is None:
            kind = _number_kind(str(name), column[:present], different, lacking, whole=whole)
        yield place, Column(str(name), kind, lacking, different)


def check_kinds(kinds: Mapping[str, Kind], names: Sequence[str]) -> None:
    """Raise if a kind or its column does not exist."""
    known = {*names}
    unknown = [name for name in kinds if name not in known]
    if unknown:
        raise InputError(f"Kinds must be given for columns of the data, got {listed(unknown)}. It has {listed(names)}.")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise InputError(f"The kind of {brief(name)} must be among {', '.join(KINDS)}, got {kind!r}.")


def check_roles(roles: Sequence[tuple[str, str]], columns: Sequence[str], where: str) -> None:
    """Raise if the column of a role (target, group, time, drop) does not exist or has two roles."""
    taken: dict[str, str] = {}
    for role, name in roles:
        if name not in columns:
            near = get_close_matches(str(name), columns, n=3)
            advice = f"Did you mean {listed(near)}?" if near else f"It has {listed(columns, 20)}."
            raise InputError(f"`{role}` must be a column of {where}, got {name!r}. {advice}")
        if name in taken:
            raise InputError(f"`{role}` must not be the column of `{taken[name]}`, got {name!r} for both.")
        taken[name] = role


def form_of(columns: Sequence[Column]) -> Form:
    """Return the form that these columns need."""
    used = [column for column in columns if column.used]
    if not used:
        found = some(f"{brief(column.name)} ({column.kind})" for column in columns) or "none"
        advice = " Name a kind for one of them." if any(column.kind == "identifier" for column in columns) else ""
        raise InputError(f"The data must have a column to learn from besides the target, got {found}.{advice}")
    return "matrix" if all(column.kind in NUMBERS for column in used) else "frame"


def left_out(columns: Sequence[Column]) -> list[str]:
    """Return a note for each kind of column that is left out."""
    names = {kind: [column.name for column in columns if column.kind == kind] for kind in LEFT_OUT}
    return [f"Columns left out as {kind}: {listed(found)}." for kind, found in names.items() if found]


class NearlyNumbers(NamedTuple):
    """Distinct texts that mostly look like numbers: these numbers, and a text that is no number."""

    numbers: pd.Series[Any]
    odd: str

    @property
    def words(self) -> str:
        """What a message says of them."""
        return f"nearly all of its values look like numbers, but {brief(self.odd)} cannot be read as one"


def nearly_numbers(values: pd.Series[Any], odd: str | None = None) -> NearlyNumbers | None:
    """Return what keeps a column of texts from being one of numbers, such as a misspelt value or decimal commas.

    With `odd`, a text that is no number, `values` need not have one: they are a sample.
    """
    if is_number(values):
        return None
    try:
        texts = pd.Series(values.dropna().unique()).astype(object)
    except TypeError:  # they cannot be compared, so they are no texts
        return None
    few = texts.iloc[:SAMPLED_TEXTS].map(_written)  # usually they tell
    if len(texts) <= FEW_ROWS or not _are_texts(few) or _as_numbers(few).notna().mean() < NEARLY_ALL:
        return None
    texts = texts.map(_written)
    if not _are_texts(texts):
        return None
    numbers, odd = _as_numbers(texts), first_odd(texts) or odd
    if odd is None or numbers.notna().mean() < NEARLY_ALL:
        return None
    return NearlyNumbers(numbers.dropna(), odd)


def first_odd(texts: pd.Series[Any]) -> str | None:
    """Return the first text that is no number; None if all are."""
    odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
    return None if odd.empty else str(odd.iloc[0])


def _are_texts(values: pd.Series[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _written(value: object) -> object:
    """Return a number as text: numbers of one file come together with texts of another."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _as_numbers(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return texts as numbers, also those with commas; the others as missing."""
    return pd.to_numeric(texts.str.replace(",", ".", n=1, regex=False), errors="coerce")


def read_as_text(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    kinds: Mapping[str, Kind] | None = None,
    odd: Mapping[str, str] | None = None,
) -> list[str]:
    """Return a note for each column that is text only because of a few values, unless a kind was named for it.

    `odd` has texts that are no numbers, where the frame is a sample that may have none.
    """
    inferred = [column for column in columns if column.kind in NOT_NUMBERS and column.name not in (kinds or {})]
    return [
        f"Column {column.name!r} counts as {column.kind}, not as numeric: {found.words}."
        for column in inferred
        if (found := nearly_numbers(frame[column.name], (odd or {}).get(column.name)))
    ]


def given_columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Describe the columns of a user's own frame by their types alone; all of them are used.

    Text is never taken for a date or a boolean, because nothing is converted: learners see the frame as it is.
    """
    columns = []
    for name in frame.columns:
        values = frame[name]
        missing = int(values.isna().sum())
        kind = _given_kind(values)
        columns.append(Column(str(name), kind, missing, as_given=kind == "categorical" and not _is_text(values)))
    return tuple(columns)


def infer_task(y: Any) -> Task:  # noqa: ANN401  # a column of any library
    """Infer whether a target is a class or a number: `classification` or `regression`.

    Text, bools, dates and categories are classes. Numbers with fractions are a regression. Whole numbers are classes
    if there are two distinct ones, or at most 50 with at least 5 rows each on average; otherwise they are a regression.

    Parameters
    ----------
    y
        The target: a list, an array, or a series of pandas or polars.

    Examples
    --------
    >>> infer_task(["a", "b"]), infer_task([0.5, 1.5, 2.0]), infer_task([1, 2, 3] * 5), infer_task(range(100))
    ('classification', 'regression', 'classification', 'regression')
    """
    values = series(y, "y").dropna().infer_objects()
    return task_of(values.drop_duplicates() if is_number(values) else values, len(values))


def task_of(distinct: pd.Series[Any], rows: int) -> Task:
    """Infer the task from the distinct values of a target and the number of rows that have one."""
    if not is_number(distinct):
        return "classification"
    if not is_whole(distinct.to_numpy(dtype=float)):
        return "regression"
    few = len(distinct) <= MOST_CLASSES and rows >= ROWS_PER_CLASS * len(distinct)
    return "classification" if few or len(distinct) <= TWO else "regression"


def series(values: Any, name: str) -> pd.Series[Any]:  # noqa: ANN401  # a column of any library
    """Return one column of any library as a pandas series with a plain index."""
    if is_polars(values):
        values = values.to_pandas()
    if not isinstance(values, pd.Series | pd.Categorical | pd.Index):
        array = values.to_numpy() if isinstance(values, pd.DataFrame) else _array(values, name)
        if array.ndim == 2 and array.shape[1] == 1:  # noqa: PLR2004  # a table of one column
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(f"`{name}` must be one column, got {array.ndim} dimensions and shape {array.shape}.")
        values = array
    try:
        return pd.Series(values).reset_index(drop=True)
    except UnicodeError as error:
        raise InputError(f"`{name}` must be text that can be written, got: {error}.") from None


def is_polars(values: object) -> bool:
    """Whether this is an object of polars, which need not be installed."""
    return type(values).__module__.partition(".")[0] == "polars"


def is_number(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers; bools are not numbers."""
    return pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)


def is_date(values: pd.Series[Any]) -> bool:
    """Whether a column has a date type."""
    return pd.api.types.is_datetime64_any_dtype(values.dtype)


def is_whole(numbers: Array) -> bool:
    """Whether all numbers are whole."""
    with np.errstate(invalid="ignore"):
        return bool(np.issubdtype(numbers.dtype, np.integer) or np.all(np.floor(numbers) == numbers))


def parsed_dates(values: pd.Series[Any], wanted: str) -> pd.Series[Any]:
    """Return dates of any type, or ISO text, in microseconds without a time zone; `wanted` begins the error message."""
    try:
        if is_number(values) or pd.api.types.is_bool_dtype(values.dtype) or _has_numbers(values):
            raise TypeError  # noqa: TRY301  # reported below: pandas would convert numbers
        dates = values if is_date(values) else pd.to_datetime(values.astype(object), format="ISO8601", utc=True)
        if getattr(dates.dtype, "tz", None) is not None:
            dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
        return dates.astype("datetime64[us]")
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{wanted} ISO dates such as 2016-02-12, got {brief(_no_date(values))}.") from None


def _has_numbers(values: pd.Series[Any]) -> bool:
    """Whether there are numbers among the objects of a column; pandas would take them for nanoseconds."""
    if is_date(values) or isinstance(values.dtype, pd.StringDtype):
        return False
    plain = values.dropna().astype(object)
    known = pd.api.types.infer_dtype(plain) in DATES
    return not known and any(isinstance(value, Number | np.bool_) for value in plain)


def _no_date(values: pd.Series[Any]) -> object:
    """Return the first value that is not an ISO date, where one is not."""
    present = values.dropna().astype(object)
    for value in present:
        if isinstance(value, Number):
            return value
        try:
            pd.to_datetime([str(value)], format="ISO8601", utc=True).astype("datetime64[us, UTC]")
        except (ValueError, TypeError, OverflowError):
            return value
    return present.iloc[0]


def group_codes(values: pd.Series[Any], name: str) -> Array:
    """Return the number of each row's group."""
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise InputError(f"`{name}` must be labels, got: {error}.") from None
    _refuse_missing(codes < 0, name)
    return codes.astype(np.int64)


def times(values: pd.Series[Any], name: str) -> Array:
    """Return dates or numbers as numbers to sort by."""
    _refuse_missing(values.isna().to_numpy(), name)
    if is_number(values):
        return values.to_numpy(dtype=float)
    return parsed_dates(values, f"`{name}` must be numbers or").to_numpy().astype(np.int64)


def _refuse_missing(missing: Array, name: str) -> None:
    if missing.any():
        raise InputError(
            f"`{name}` must have a value in every row, got {int(missing.sum())} without. Remove these rows."
        )


def _array(values: Any, name: str) -> Array:  # noqa: ANN401  # a column of any library
    try:
        if isinstance(values, np.ndarray):
            return values
        held = list(values)
        one_type = len({type(value) for value in held}) == 1
        return np.asarray(held) if one_type else pd.Series(held).to_numpy()  # numpy converts mixed values to text
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be one column of values, got {type(values).__name__}: {error}.") from None


def _column(name: str, values: pd.Series[Any], given: Kind | None) -> Column:
    """Return a column that does not hold plain numbers."""
    present = values.dropna()
    missing = len(values) - len(present)
    distinct = present.nunique()
    if given is not None:  # bools that count as numbers stay bools: other numbers mean nothing there
        kind = "boolean" if given == "numeric" and pd.api.types.infer_dtype(values) == "boolean" else given
    elif distinct + bool(missing) <= 1:
        kind = "constant"
    elif is_number(values):
        numbers = np.sort(present.to_numpy())
        kind = _number_kind(name, numbers, distinct, missing, whole=is_whole(numbers))
    else:
        kind = _type_kind(values) or _text_kind(present.astype(object), distinct)
    return Column(name, kind, missing, distinct)


def _number_kind(name: str, numbers: Array, distinct: int, missing: int, *, whole: bool) -> Kind:
    """Return the kind of a column of numbers, which are sorted, none missing."""
    low, high = numbers[0], numbers[-1]
    if distinct == 2 and low == 0 and high == 1:  # noqa: PLR2004  # 0 and 1
        return "boolean"
    if distinct == len(numbers) and not missing and whole:
        gapless = len(numbers) > FEW_ROWS and float(high) - float(low) + 1 == len(numbers)
        if gapless or ID_NAME.fullmatch(name if not name.isupper() else name.lower()):
            return "identifier"
    return "numeric"


def _text_kind(present: pd.Series[Any], distinct: int) -> Kind:
    texts = pd.Series(present.unique()).astype("str")
    if {text.strip().lower() for text in texts.iloc[:SAMPLED_TEXTS]} in PAIRS:
        return "boolean"
    if texts.str.fullmatch(ISO_DATE).all():
        try:
            parsed_dates(texts, "")
        except InputError:
            return "categorical"
        return "date"
    words = texts.iloc[:SAMPLED_TEXTS].str.split().str.len().mean()
    if words >= WORDS and 2 * distinct >= len(present):
        return "text"
    nearly_all = len(present) > FEW_ROWS and distinct >= NEARLY_ALL * len(present)
    return "identifier" if nearly_all else "categorical"


def _type_kind(values: pd.Series[Any]) -> Kind | None:
    """Return the kind of a column whose type says it."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return "boolean"
    if is_date(values):
        return "date"
    return "numeric" if is_number(values) else None


def _given_kind(values: pd.Series[Any]) -> Kind:
    kind = _type_kind(values)
    if kind is not None:
        return kind
    present = values.dropna()
    if isinstance(values.dtype, pd.CategoricalDtype) or present.empty:
        return "categorical"
    return "text" if _text_kind(present.astype(object), present.nunique()) == "text" else "categorical"


def _is_text(values: pd.Series[Any]) -> bool:
    held = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values.dropna().unique()
    return all(isinstance(value, str) for value in held)
