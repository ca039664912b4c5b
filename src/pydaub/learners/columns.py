"""Transformers that turn columns of any type into values that scikit-learn's encoders and estimators accept."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted, validate_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pydaub.learners.base import RandomState, Rows

TERMS: Final = 20_000  # words to keep of free text; more cost time and memory and rarely help
REAL: Final = 1e-6  # directions below this share of the largest singular value are rounding errors


class Stateless(TransformerMixin, BaseEstimator):
    """A transformer without state; a class instead of a function because skops saves classes without running code."""

    def fit(self, X: Rows, y: object = None) -> Stateless:  # noqa: ARG002  # scikit-learn passes y
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Labels(Stateless):
    """Convert categories of any type to text, and missing ones to NaN.

    A column may mix types. `True`, `1` and `1.0` are the same category, whatever the type of the column.
    """

    def transform(self, X: Rows) -> NDArray[np.object_]:
        """Return the text of each value."""
        return np.column_stack([_labels(column) for column in columns_of(X)])


def _labels(column: Rows) -> NDArray[np.object_]:
    codes, found = pd.factorize(np.asarray(column, dtype=object))
    names = [str(float(value)) if isinstance(value, Real | np.bool_) else str(value) for value in found]
    return np.array([*names, np.nan], dtype=object)[codes]  # a missing value has code -1, the last element


def columns_of(rows: Rows) -> list[Any]:
    """Return the columns of an array or of a data frame of pandas or polars."""
    if hasattr(rows, "iloc"):
        return [rows.iloc[:, index] for index in range(rows.shape[1])]
    return [rows[:, index] for index in range(rows.shape[1])]


class Dates(Stateless):
    """Convert each date to four numbers: days since 1970, month, weekday and hour; NaN if the date is missing."""

    def transform(self, X: Rows) -> NDArray[np.float64]:
        """Return four columns for each column of dates."""
        return np.hstack([_dates(column) for column in columns_of(X)])


def _dates(column: Rows) -> NDArray[np.float64]:
    values = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        values = values.astype(object)
    # In microseconds: 9999-12-31, which often stands for "never", is beyond what nanoseconds can express.
    moments = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601").dt.as_unit("us")
    days = (moments - pd.Timestamp(0, tz="UTC").as_unit("us")) / pd.Timedelta(days=1).as_unit("us")
    parts = [days, moments.dt.month, moments.dt.day_of_week, moments.dt.hour]
    return np.column_stack([part.to_numpy(dtype=np.float64, na_value=np.nan) for part in parts])


class FromZero(Stateless):
    """Shift codes that start at -2 to start at 0, as naive Bayes on categories needs them."""

    def transform(self, X: Rows) -> Rows:
        """Return the shifted codes."""
        return X + 2


class Magnitudes(Stateless):
    """Take the absolute values of sparse rows."""

    def transform(self, X: Rows) -> Rows:
        """Return the absolute values."""
        return abs(X)


class SparseMatrix(Stateless):
    """Convert sparse arrays to sparse matrices, because the boosting libraries do not accept arrays yet."""

    def transform(self, X: Rows) -> csr_matrix:
        """Return the rows, copied where they are read-only, which CatBoost refuses."""
        return csr_matrix(X, copy=not X.data.flags.writeable)


class Numbers(TransformerMixin, BaseEstimator):
    """Convert numeric columns to an array, with NaN for missing values.

    A column that has no value in the sample becomes 0, because scikit-learn's histograms fail on an empty column.
    """

    def fit(self, X: Rows, y: object = None) -> Numbers:  # noqa: ARG002  # scikit-learn passes y
        """Find the empty columns."""
        rows = validate_data(self, X, ensure_all_finite="allow-nan")
        self.empty_ = np.isnan(rows).all(axis=0)
        return self

    def transform(self, X: Rows) -> NDArray[Any]:
        """Return the numbers as an array."""
        check_is_fitted(self)
        rows = validate_data(self, X, ensure_all_finite="allow-nan", reset=False)
        return np.where(self.empty_, 0, rows) if self.empty_.any() else rows

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TextParts(TransformerMixin, BaseEstimator):
    """Convert free text to a few numbers: tf-idf weights of words, projected by a truncated SVD.

    All text columns of a row are read as one text. There are at most `n_components` numbers: fewer if the sample has
    fewer rows or words, and a single column of zeros if it has no words.
    """

    def __init__(self, n_components: int = 30, random_state: RandomState = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Rows, y: object = None) -> TextParts:  # noqa: ARG002  # scikit-learn passes y
        """Learn the words and the projection."""
        words: Any = TfidfVectorizer(max_features=TERMS, sublinear_tf=True)
        self.words_, self.directions_ = None, np.ones((1, 1))
        try:
            counts = words.fit_transform(_texts(X))
        except ValueError:  # scikit-learn raises it for texts without words
            return self
        self.words_ = words
        if counts.shape[1] > 1:
            directions = TruncatedSVD(min(self.n_components, *counts.shape), random_state=self.random_state)
            with np.errstate(divide="ignore", invalid="ignore"):  # explained variance of constant data
                directions.fit(counts)
            # Later directions are rounding errors, which scaling would inflate.
            real = directions.singular_values_ > REAL * directions.singular_values_[0]
            self.directions_ = directions.components_[real].T
        return self

    def transform(self, X: Rows) -> NDArray[np.float64]:
        """Return the numbers of each row; unknown words are ignored."""
        check_is_fitted(self, "directions_")
        texts = _texts(X)
        return np.zeros((len(texts), 1)) if self.words_ is None else self.words_.transform(texts) @ self.directions_


def _texts(rows: Rows) -> list[str]:
    return [" ".join(text for text in row if isinstance(text, str)) for row in Labels().transform(rows)]
