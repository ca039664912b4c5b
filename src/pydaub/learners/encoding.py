"""Preprocessing that a learner needs, in front of it: fitted on the learner's own sample, so that nothing leaks.

What is done depends on the kinds of the columns alone, never on values, and is the least that works: each step
costs time on each of hundreds of allocations.

    how         numbers, dates, text        categories                       for
    none        as they are                 as they are                      learners that do not look at rows
    native      NaN stays                   codes, NaN where missing or new  trees that know missing values
    nominal     the same                    the same, and the learner told   WEKA's classifiers
    ordinal     median where missing        codes, -1 new, -2 missing        other trees
    scaled      median, mean 0, spread 1    one column for each (one-hot)    distances, lines, kernels, networks
    positive    median, between 0 and 1     one column for each              counts
    binned      median, ten bins            codes from 0                     tables of frequencies

Of sparse rows, scaled ones are divided by each column's largest magnitude, and positive ones lose their sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from pydaub.errors import InputError
from pydaub.learners.columns import Dates, FromZero, Labels, Magnitudes, Numbers, SparseMatrix, TextParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydaub.data.schema import Kind, Schema
    from pydaub.learners.base import Estimator

How: TypeAlias = Literal["none", "native", "nominal", "ordinal", "scaled", "positive", "binned"]
Steps: TypeAlias = list[tuple[str, Any]]

CODES: Final = 254  # as many categories as scikit-learn's histograms have bins for; rarer ones share the last code
CATEGORIES: Final[tuple[Kind, ...]] = ("categorical", "boolean")
KEEP_MISSING: Final = ("native", "nominal")
ONE_HOT: Final = 50  # columns for one categorical column at most; rarer categories share one


def encoded(estimator: Estimator, schema: Schema, how: How = "ordinal") -> Estimator:
    """Return a pipeline that ends in `estimator`, or the estimator itself where nothing needs to be done.

    The last step is named `learner`.

    >>> from pydaub.data.schema import Column, Schema
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = Schema("frame", "classification", 2, (Column("age", "numeric"), Column("city", "categorical")))
    >>> [name for name, _ in encoded(DecisionTreeClassifier(), rows, "native").steps]
    ['columns', 'learner']
    """
    if how not in get_args(How):
        raise InputError(f"`how` must be one of {', '.join(get_args(How))}, got {how!r}.")
    if how == "none":
        return estimator
    if schema.form == "sparse":
        steps = _sparse(how)
    elif schema.form == "matrix":
        known = bool(schema.columns) and not any(column.missing for column in schema.used)
        steps = _numeric(how, impute=not known)
        positions = [place for place, column in enumerate(schema.used) if column.kind in CATEGORIES]
        estimator = _told_of_categories(estimator, positions, how) if how == "nominal" else estimator
    elif all(column.kind == "numeric" for column in schema.used):
        steps = _numeric(how, impute=True)
    else:
        steps = [("columns", _by_kind(schema, how))]
        estimator = _told_of_categories(estimator, range(len(_named(schema, *CATEGORIES))), how)
    return Pipeline([*steps, ("learner", estimator)]) if steps else estimator


def _sparse(how: How) -> Steps:
    match how:
        case "scaled":
            return [("scale", MaxAbsScaler())]
        case "positive":
            return [("positive", Magnitudes())]
        case "native":
            return [("matrix", SparseMatrix())]
        case "binned":
            raise InputError("`how` must not be binned for sparse rows. Leave this learner out.")
        case _:
            return []


def _numeric(how: How, *, impute: bool) -> Steps:
    """Return the steps for columns of numbers. New rows may miss values even where no row did so far."""
    steps: Steps = []
    if impute:
        median = SimpleImputer(strategy="median", keep_empty_features=True)
        steps.append(("numbers", Numbers()) if how in KEEP_MISSING else ("impute", median))
    match how:
        case "scaled":
            steps.append(("scale", StandardScaler()))
        case "positive":
            steps.append(("scale", MinMaxScaler(clip=True)))
        case "binned":
            steps.append(("bin", KBinsDiscretizer(n_bins=10, encode="ordinal")))
    return steps


def _by_kind(schema: Schema, how: How) -> ColumnTransformer:
    """Return the transformer of a frame. Categories come first, so that their positions are known."""
    tail = _numeric(how, impute=True)
    parts = [
        ("categories", _categories(how), _named(schema, *CATEGORIES)),
        ("numbers", tail, _named(schema, "numeric")),
        ("dates", [("dates", Dates()), *tail], _named(schema, "date")),
        ("texts", [("texts", TextParts()), *tail], _named(schema, "text")),
    ]
    return ColumnTransformer(
        [(name, Pipeline(steps), columns) for name, steps, columns in parts if columns], sparse_threshold=0
    )


def _named(schema: Schema, *kinds: Kind) -> list[str]:
    return [column.name for column in schema.used if column.kind in kinds]


def _categories(how: How) -> Steps:
    match how:
        case "scaled" | "positive":
            coder: Any = OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=ONE_HOT, sparse_output=False
            )
        case "native" | "nominal":
            coder = _ordinal(unknown=np.nan, missing=np.nan)
        case _:
            coder = _ordinal(unknown=-1, missing=-2)
    shift = [("shift", FromZero())] if how == "binned" else []
    return [("labels", Labels()), ("code", coder), *shift]


def _ordinal(*, unknown: float, missing: float) -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=unknown,
        encoded_missing_value=missing,
        max_categories=CODES,
    )


def _told_of_categories(estimator: Estimator, positions: Sequence[int], how: How) -> Estimator:
    """Return the estimator, told which columns are categories if it can be told (histogram gradient boosting, WEKA)."""
    if how in KEEP_MISSING and positions and hasattr(estimator, "categorical_features"):
        return clone(estimator).set_params(categorical_features=list(positions))
    return estimator
