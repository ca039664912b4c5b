"""Rows in WEKA's form: each column is numeric or nominal, each value a double, and NaN means missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from pydaub.learners.columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pydaub.learners.base import Estimator, Rows


class Attribute(NamedTuple):
    """A column. `categories` are the values of a nominal column, in WEKA's order; None if it is numeric."""

    name: str
    categories: Any = None

    @property
    def labels(self) -> list[str]:
        """The categories as unique texts."""
        return unique(str(category) for category in (() if self.categories is None else self.categories))


def unique(names: Iterable[str]) -> list[str]:
    """Add a number to repeated names, because WEKA needs unique ones."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 2, name
        while free in found:
            free, number = f"{name} ({number})", number + 1
        found[free] = None
    return list(found)


def validated(estimator: Estimator, X: Rows, *, reset: bool) -> Rows:
    """Return rows as an array of doubles or as a pandas data frame, validated as in scikit-learn's estimators."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if not len(X) or not X.shape[1]:
            what = "sample(s)" if not len(X) else "feature(s)"
            raise ValueError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
        return X.infer_objects()  # turns numbers of dtype object into numbers
    categorical = estimator.categorical_features
    if getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U", "S") and not (
        categorical is None or isinstance(categorical, str)
    ):
        validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
        return pd.DataFrame(X).infer_objects()  # the declared columns may be text
    return validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")


def attributes(X: Rows, categorical_features: Any) -> tuple[Attribute, ...]:  # noqa: ANN401  # as in `WekaClassifier`
    """Return name and categories of each column. A data frame may declare categories that no row has."""
    named = hasattr(X, "columns")
    names = [str(name) for name in X.columns] if named else [f"x{index}" for index in range(X.shape[1])]
    nominal = _nominal(X, categorical_features)
    return tuple(
        Attribute(name, _values(column) if is_nominal else None)
        for name, column, is_nominal in zip(names, columns_of(X), nominal, strict=True)
    )


def _nominal(X: Rows, wanted: Any) -> NDArray[np.bool_]:  # noqa: ANN401  # as in `WekaClassifier`
    nominal = np.zeros(X.shape[1], dtype=bool)
    if wanted is None:
        return nominal
    if isinstance(wanted, str) and wanted == "from_dtype":
        if hasattr(X, "dtypes"):
            nominal[:] = [not _is_number(dtype) for dtype in X.dtypes]
        return nominal
    chosen = np.asarray(wanted)
    if chosen.ndim == 1 and chosen.size and chosen.dtype.kind in "UO" and hasattr(X, "columns"):
        chosen = X.columns.get_indexer(chosen)
    elif chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iub"):
        raise ValueError(
            "`categorical_features` must be 'from_dtype', None, or a list of positions, booleans or column names of a"
            f" data frame, got {wanted!r}."
        )
    if chosen.dtype.kind == "b":
        if chosen.shape != nominal.shape:
            raise ValueError(f"`categorical_features` must have {X.shape[1]} booleans, got {chosen.size}.")
        return chosen
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < X.shape[1]):
        raise ValueError(f"`categorical_features` must be among the {X.shape[1]} columns, got {wanted!r}.")
    nominal[chosen.astype(int)] = True
    return nominal


def _is_number(dtype: Any) -> bool:  # noqa: ANN401  # a dtype of numpy or pandas
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise ValueError(
            f"columns must be numbers, booleans, text or categories, got {dtype}. Convert them to numbers."
        )
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _values(column: Any) -> Any:  # noqa: ANN401  # an array or a pandas Series
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        return column.cat.categories.to_numpy()
    found = pd.unique(pd.Series(column).dropna())
    try:
        return np.sort(np.asarray(found))
    except TypeError:  # mixed types
        return np.array(sorted(found, key=str), dtype=object)


def doubles(X: Rows, columns: tuple[Attribute, ...]) -> NDArray[np.float64]:
    """Return rows as one array. A nominal value becomes its position, or NaN if it did not occur in training."""
    if not hasattr(X, "iloc") and all(column.categories is None for column in columns):
        return np.ascontiguousarray(X)
    rows = np.empty(X.shape)
    for index, (values, (name, categories)) in enumerate(zip(columns_of(X), columns, strict=True)):
        rows[:, index] = _numbers(values, name) if categories is None else _codes(values, categories)
    return rows


def label_text(label: Any) -> str:  # noqa: ANN401  # labels may be of any type
    """Return a label as in a file for WEKA; some classes derive random numbers from this text."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _numbers(column: Any, name: str) -> NDArray[np.float64]:  # noqa: ANN401  # an array or a pandas Series
    if not isinstance(column, pd.Series):
        return column
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} must be numeric, as in training, got {error}.") from None
    if np.isinf(numbers).any():
        raise ValueError(f"column {name!r} must be finite, got infinity.")
    return numbers


def _codes(column: Any, values: Any) -> NDArray[np.float64]:  # noqa: ANN401  # an array or a pandas Series
    codes, found = pd.factorize(column)
    places = pd.Index(np.asarray(values, dtype=object)).get_indexer(np.asarray(found, dtype=object))
    places = np.append(places, -1)[codes]  # a missing value has code -1, the last element
    return np.where(places < 0, np.nan, places)
