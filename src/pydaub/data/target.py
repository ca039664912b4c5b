"""The target: labels of any type as codes and classes, or numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import numpy as np
import pandas as pd

from pydaub.data.columns import infer_task, is_date, is_number, is_whole, nearly_numbers, task_of
from pydaub.data.names import brief, listed
from pydaub.data.schema import Task
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.data.schema import Array

NEARLY_UNIQUE: Final = 0.9
EXACT: Final = 2.0**53  # up to here, floats represent every whole number
OBJECT_TYPES: Final = {  # numpy types of Python objects, by the names that pandas gives them
    "string": "object",
    "boolean": "bool",
    "integer": "int64",
    "floating": "float64",
    "mixed-integer-float": "float64",
    "date": "datetime64[D]",
}
CODED: Final = "OM"  # numpy kinds of labels that are stored as codes: text and dates


class Target(NamedTuple):
    """A target without its missing values: codes of the sorted `labels`, or numbers if there are no labels.

    `present` marks the original rows that have a target.
    """

    task: Task
    numbers: Array
    labels: Array
    present: Array


def stored(numbers: Array, labels: Array) -> Array:
    """Return a target as it is stored: text and dates as codes, numbers as they are, to be mapped without a copy."""
    if labels.dtype.kind in CODED:
        return numbers.astype(np.min_scalar_type(-len(labels)))
    return labels[numbers] if len(labels) else numbers


def encoded(y: pd.Series[Any], task: Task | None, name: str, rows: int | None = None) -> Target:
    """Return a target as codes or numbers; raise if it cannot be learned.

    With `rows`, `y` holds only the distinct values of so many rows.
    """
    if task is not None and task not in get_args(Task):
        raise InputError(f"`task` must be classification or regression, got {task!r}.")
    present = y.notna().to_numpy(dtype=bool)
    y = y[present]
    if y.empty:
        raise InputError(f"`{name}` must have values, got {len(present)} rows without one.")
    if task is None:
        refuse_nearly_numbers(y, rows or len(y), name)
    task = task or (infer_task(y) if rows is None else task_of(y, rows))
    if task == "regression":
        numbers = finite(y, name)
        if (rows or len(numbers)) > 1 and numbers.min() == numbers.max():
            raise InputError(f"`{name}` must have different values, got only {numbers[0]}. Name another target.")
        return Target(task, numbers, np.array([]), present)
    codes, labels = _classes(y, name)
    _check_classes(labels, rows or len(codes), name, missing=int((~present).sum()))
    return Target(task, codes, labels, present)


def refuse_nearly_numbers(y: pd.Series[Any], rows: int, name: str, odd: str | None = None) -> None:
    """Refuse a target whose numbers were read as text because of a few other values, such as `odd`."""
    found = nearly_numbers(y, odd)
    if found and task_of(found.numbers, rows) == "regression":
        raise InputError(
            f"`{name}` must be numbers or classes: {found.words}. Correct it, or name task classification."
        )


def _check_classes(labels: Array, rows: int, name: str, *, missing: int) -> None:
    if len(labels) == 1:
        only = brief(labels.tolist()[0])
        without = f" in {rows:,} rows, and {missing:,} without a value" if missing else ""
        raise InputError(f"`{name}` must have at least two classes, got only {only}{without}. Name another target.")
    if len(labels) > NEARLY_UNIQUE * rows:
        raise InputError(
            f"`{name}` must have classes of several rows, got {len(labels)} in {rows} rows: it looks like an "
            "identifier. Name another target, or task regression if it is a number."
        )


def differ_by_spaces(labels: Sequence[object]) -> list[str]:
    """Return a note if some classes differ from others only by spaces around them."""
    known = {*labels}
    found = [each for each in labels if isinstance(each, str) and each != each.strip() and each.strip() in known]
    return [f"Classes that differ from others only by spaces: {listed(found)}."] if found else []


def whole_labels(y: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole floats as integers: whole numbers with missing values are read as floats."""
    y = y.reset_index(drop=True)
    if pd.api.types.is_float_dtype(y.dtype) and is_number(y):
        present = y.dropna().to_numpy(dtype=float)
        if len(present) and (np.abs(present) < EXACT).all() and is_whole(present):
            return y.astype("Int64")
    return y


def labels_to_json(labels: Array) -> dict[str, Any]:
    """Return labels as plain JSON values, with their type."""
    plain = labels.astype(np.int64) if labels.dtype.kind == "M" else labels
    return {"dtype": labels.dtype.str, "values": plain.tolist()}


def labels_from_json(fields: dict[str, Any]) -> Array:
    """Return the labels that `labels_to_json` described."""
    return np.array(fields["values"], dtype=fields["dtype"])


def finite(y: pd.Series[Any], name: str) -> Array:
    """Return the numbers of a regression; raise if there are other values."""
    try:
        # numpy would convert dates, and text that looks like numbers.
        if not is_number(y) and (is_date(y) or y.map(lambda value: isinstance(value, str)).any()):
            raise TypeError  # noqa: TRY301  # reported below, like the values that numpy rejects
        values = y.to_numpy(dtype=float)
    except (TypeError, ValueError):
        odd = y[pd.to_numeric(y.astype("str"), errors="coerce").isna()]
        got = brief((y if odd.empty else odd).iloc[0])
        raise InputError(f"`{name}` must be numbers for a regression, got {got}. Is it a class?") from None
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise InputError(f"`{name}` must be finite, got {infinite} infinite values. Remove those rows.")
    return values


def _classes(y: pd.Series[Any], name: str) -> tuple[Array, Array]:
    """Return the codes of all rows and the sorted distinct labels."""
    try:
        codes, found = pd.factorize(y.to_numpy() if isinstance(y.dtype, pd.StringDtype) else y)
    except TypeError as error:
        raise InputError(f"`{name}` must be labels, got {brief(y.iloc[0])}: {error}.") from None
    labels, places = np.unique(_typed(found, name), return_inverse=True)
    return places[codes], labels


def _typed(found: Any, name: str) -> Array:  # noqa: ANN401  # an index, a categorical or an array
    """Return labels as an array of their own type, with text as objects and dates in days or microseconds."""
    if getattr(found.dtype, "tz", None) is not None:
        found = found.tz_convert("UTC").tz_localize(None)
    labels = np.asarray(found)
    if labels.dtype.kind == "M":
        return labels.astype("datetime64[us]")
    if labels.dtype.kind == "O":
        labels = _same_type(labels, name)
        if labels.dtype.kind in CODED:
            return labels
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(f"`{name}` must be finite, got infinite labels. Remove those rows.")
    if labels.dtype.kind == "f" and np.abs(labels).max() >= EXACT:
        raise InputError(
            f"`{name}` must be labels that can be told apart, got {np.abs(labels).max()}: numbers of over 15 digits"
            " are rounded. Write them as text, such as with a letter in front."
        )
    if labels.dtype.kind == "U":
        return labels.astype(object)
    if labels.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must be text, numbers, bools or dates, got {labels.dtype}.")
    return labels


def _same_type(labels: Array, name: str) -> Array:
    """Return Python objects as an array of the type that all of them have."""
    kind = pd.api.types.infer_dtype(labels, skipna=False)
    if kind not in OBJECT_TYPES:
        kinds = sorted({type(value).__name__ for value in labels})
        raise InputError(
            f"`{name}` must be labels of one type: text, numbers, bools or dates, got {' and '.join(kinds)}."
        )
    try:
        return labels.astype(OBJECT_TYPES[kind])
    except OverflowError:
        raise InputError(f"`{name}` must be numbers of at most 64 bits, got {listed(labels, 2)}.") from None
