"""Preprocessing that a learner needs, fitted on the learner's own sample so that nothing leaks.

The steps depend on the kinds of the columns only, never on values. They are as few as possible, because each of them
costs time in each of hundreds of allocations.

    how         numbers, dates, text           categories                           for
    none        unchanged                      unchanged                            learners that ignore the rows
    native      NaN stays                      codes, NaN if missing or new         trees that handle missing values
    nominal     like native                    like native, declared as categories  WEKA's classifiers
    ordinal     median imputed                 codes, -1 if new, -2 if missing      other trees
    scaled      median imputed, standardized   one-hot                              distances, linear models, networks
    positive    median imputed, from 0 to 1    one-hot                              counts
    binned      median imputed, ten bins       codes from 0                         frequency tables
    streamed    of frames: like scaled, but by the learner itself, as its first block of rows says

Sparse rows are divided by the largest magnitude of each column for `scaled`, and made absolute for `positive`.
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

How: TypeAlias = Literal["none", "native", "nominal", "ordinal", "scaled", "positive", "binned", "streamed"]
Steps: TypeAlias = list[tuple[str, Any]]

CODES: Final = 254  # categories that scikit-learn's histograms have bins for; rarer ones share the last code
CATEGORIES: Final[tuple[Kind, ...]] = ("categorical", "boolean")
KEEP_MISSING: Final = ("native", "nominal")
# Transformers whose result depends only on the rows that they are fitted on.
SHARED: Final = frozenset(
    {
        ColumnTransformer,
        Dates,
        FromZero,
        KBinsDiscretizer,
        Labels,
        Magnitudes,
        MaxAbsScaler,
        MinMaxScaler,
        Numbers,
        OneHotEncoder,
        OrdinalEncoder,
        Pipeline,
        SimpleImputer,
        SparseMatrix,
        StandardScaler,
        TextParts,
    }
)
ONE_HOT: Final = 50  # most columns for one categorical column; rarer categories share the last


def encoded(estimator: Estimator, schema: Schema, how: How = "ordinal") -> Estimator:
    """Put the preprocessing that an estimator needs in front of it.

    Parameters
    ----------
    estimator
        Unfitted estimator.
    schema
        Schema of the data.
    how
        Kind of preprocessing: "none", "native", "nominal", "ordinal", "scaled", "positive", "binned" or "streamed".
        The table at the top of `pydaub.learners.encoding` describes them.

    Returns
    -------
    A pipeline whose last step is named `learner`, or the estimator itself if it needs no preprocessing.

    Raises
    ------
    InputError
        If `how` is unknown, "binned" for sparse rows, or "streamed" for a learner that does not encode by itself.

    Examples
    --------
    >>> from pydaub.data.schema import Column, Schema
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = Schema("frame", "classification", 2, (Column("age", "numeric"), Column("city", "categorical")))
    >>> [name for name, _ in encoded(DecisionTreeClassifier(), rows, "native").steps]
    ['columns', 'learner']
    """
    if how not in get_args(How):
        raise InputError(f"`how` must be one of {', '.join(get_args(How))}, got {how!r}.")
    if how == "streamed" and schema.form == "frame":
        if not hasattr(estimator, "columns"):
            raise InputError(f"`how` must not be streamed for {type(estimator).__name__}, which encodes no columns.")
        return clone(estimator).set_params(columns=_by_kind(schema, "scaled"))
    if how in {"none", "streamed"}:
        return estimator
    if schema.form == "sparse":
        steps = _sparse(how)
    elif schema.form == "matrix":
        known = bool(schema.columns) and not any(column.missing for column in schema.used)
        steps = _numeric(how, impute=not known)
        positions = [place for place, column in enumerate(schema.used) if column.kind in CATEGORIES]
        estimator = _with_categories(estimator, positions, how) if how == "nominal" else estimator
    elif all(column.kind == "numeric" for column in schema.used):
        steps = _numeric(how, impute=True)
    else:
        steps = [("columns", _by_kind(schema, how))]
        estimator = _with_categories(estimator, range(len(_named(schema, *CATEGORIES))), how)
    return Pipeline([*steps, ("learner", estimator)]) if steps else estimator


def shared_steps(estimator: Any) -> Pipeline | None:  # noqa: ANN401  # of any class
    """Return the steps before the last of a pipeline, if what they make of a sample depends on the sample alone.

    Then learners with equal steps can share it. None if there are no such steps.
    """
    if type(estimator) is not Pipeline or estimator.memory is not None or len(estimator.steps) < 2:  # noqa: PLR2004
        return None
    before = estimator[:-1]
    parts = [part for part in before.get_params().values() if hasattr(part, "fit") or hasattr(part, "transform")]
    chosen = [part.transformers for part in parts if type(part) is ColumnTransformer]
    by_rule = any(callable(columns) for transformers in chosen for _, _, columns in transformers)
    return before if all(type(part) in SHARED for part in parts) and not by_rule else None


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
    """Return the steps for numeric columns. New rows may have missing values even if no known row has any."""
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
    """Return the transformer of a data frame. Categories come first, so that their positions are known."""
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
    if how in {"scaled", "positive"}:
        coder: Any = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=ONE_HOT, sparse_output=False)
    else:
        keep = how in KEEP_MISSING
        coder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan if keep else -1,
            encoded_missing_value=np.nan if keep else -2,
            max_categories=CODES,
        )
    shift = [("shift", FromZero())] if how == "binned" else []
    return [("labels", Labels()), ("code", coder), *shift]


def _with_categories(estimator: Estimator, positions: Sequence[int], how: How) -> Estimator:
    """Declare the categorical columns to an estimator that has the parameter (histogram gradient boosting, WEKA)."""
    if how in KEEP_MISSING and positions and hasattr(estimator, "categorical_features"):
        return clone(estimator).set_params(categorical_features=list(positions))
    return estimator
