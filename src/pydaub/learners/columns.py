"""What columns hold, turned into what scikit-learn's encoders and estimators digest."""

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

TERMS: Final = 20_000  # the words that are kept of free text: more cost time and memory, and seldom help
REAL: Final = 1e-6  # the share of the first direction's strength from which on a direction is no rounding error


class Stateless(TransformerMixin, BaseEstimator):
    """A transformer that learns nothing. It is a class, where a function would do, since a saved class is only data."""

    def fit(self, X: Rows, y: object = None) -> Stateless:  # noqa: ARG002  # scikit-learn's signature
        """Return itself."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Labels(Stateless):
    """Categories of any type as text, with NaN where one is missing.

    So that a column may mix types, and `True`, `1` and `1.0` are one category whatever the column's type.
    """

    def transform(self, X: Rows) -> NDArray[np.object_]:  # scikit-learn's signature
        """Return the text of each value."""
        return np.column_stack([_labels(column) for column in _columns(X)])


def _labels(column: Rows) -> NDArray[np.object_]:
    codes, found = pd.factorize(np.asarray(column, dtype=object))
    names = [str(float(value)) if isinstance(value, Real | np.bool_) else str(value) for value in found]
    return np.array([*names, np.nan], dtype=object)[codes]  # the code of a missing value is -1: the last


def _columns(rows: Rows) -> list[Any]:
    if hasattr(rows, "iloc"):
        return [rows.iloc[:, index] for index in range(rows.shape[1])]
    return [rows[:, index] for index in range(rows.shape[1])]


class Dates(Stateless):
    """Four numbers for each date: days since 1970, month, weekday and hour; NaN where it is missing."""

    def transform(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the numbers of each date."""
        return np.hstack([_dates(column) for column in _columns(X)])


def _dates(column: Rows) -> NDArray[np.float64]:
    values = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        values = values.astype(object)
    moments = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
    days = (moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    parts = [days, moments.dt.month, moments.dt.day_of_week, moments.dt.hour]
    return np.column_stack([part.to_numpy(dtype=np.float64, na_value=np.nan) for part in parts])


class FromZero(Stateless):
    """Codes that begin with -2 as codes that begin with 0, as frequency tables count them."""

    def transform(self, X: Rows) -> Rows:  # scikit-learn's signature
        """Return the codes."""
        return X + 2


class Magnitudes(Stateless):
    """Values of sparse rows without their sign."""

    def transform(self, X: Rows) -> Rows:  # scikit-learn's signature
        """Return the rows."""
        return abs(X)


class SparseMatrix(Stateless):
    """Sparse rows as scipy's matrix: the boosting libraries do not know its arrays yet."""

    def transform(self, X: Rows) -> csr_matrix:  # scikit-learn's signature
        """Return the rows, not copied."""
        return csr_matrix(X)


class Numbers(TransformerMixin, BaseEstimator):
    """Numbers as an array, with NaN where one is missing, and 0 throughout columns of which the sample has none.

    The latter since scikit-learn's histograms fail on a column without any value.
    """

    def fit(self, X: Rows, y: object = None) -> Numbers:  # noqa: ARG002  # scikit-learn's signature
        """Find the columns without any value."""
        rows = validate_data(self, X, ensure_all_finite="allow-nan")
        self.empty_ = np.isnan(rows).all(axis=0)
        return self

    def transform(self, X: Rows) -> NDArray[Any]:  # scikit-learn's signature
        """Return the array."""
        check_is_fitted(self)
        rows = validate_data(self, X, ensure_all_finite="allow-nan", reset=False)
        return np.where(self.empty_, 0, rows) if self.empty_.any() else rows

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own type
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TextParts(TransformerMixin, BaseEstimator):
    """Free text as a few numbers: weighted word counts, projected onto their main directions.

    All columns of a row count as one text. There are at most `n_components` numbers, fewer where the sample has
    fewer rows or words, and one that is always 0 where it has no words at all.
    """

    def __init__(self, n_components: int = 30, random_state: RandomState = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Rows, y: object = None) -> TextParts:  # noqa: ARG002  # scikit-learn's signature
        """Learn the words and their directions."""
        words: Any = TfidfVectorizer(max_features=TERMS, sublinear_tf=True)
        self.words_, self.directions_ = None, np.ones((1, 1))
        try:
            counts = words.fit_transform(_texts(X))
        except ValueError:  # scikit-learn's answer to texts without a single word
            return self
        self.words_ = words
        if counts.shape[1] > 1:
            directions = TruncatedSVD(min(self.n_components, *counts.shape), random_state=self.random_state)
            with np.errstate(divide="ignore", invalid="ignore"):  # the share of explained variance where nothing varies
                directions.fit(counts)
            # Past the last real direction there is noise, which scaling would make as loud as the rest.
            real = directions.singular_values_ > REAL * directions.singular_values_[0]
            self.directions_ = directions.components_[real].T
        return self

    def transform(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the numbers of each row; words that were not learnt are passed over."""
        check_is_fitted(self, "directions_")
        texts = _texts(X)
        return np.zeros((len(texts), 1)) if self.words_ is None else self.words_.transform(texts) @ self.directions_


def _texts(rows: Rows) -> list[str]:
    return [" ".join(text for text in row if isinstance(text, str)) for row in Labels().transform(rows)]
