from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from learners.samples import made
from pydaub.data.schema import Column, Schema
from pydaub.errors import InputError
from pydaub.learners import encoded
from pydaub.learners.encoding import CODES, ONE_HOT, How

NUMBERS = Schema("matrix", "classification", 2, (Column("a", "numeric"), Column("b", "numeric")), (0, 1))


def steps(schema: Schema, how: Any) -> list[str]:
    pipeline = encoded(SVC(), schema, how)
    return [name for name, _ in pipeline.steps] if hasattr(pipeline, "steps") else []


def test_complete_numbers_need_the_fewest_steps() -> None:
    assert steps(NUMBERS, "native") == steps(NUMBERS, "ordinal") == []
    assert steps(NUMBERS, "scaled") == steps(NUMBERS, "positive") == ["scale", "learner"]


@pytest.mark.parametrize("columns", [(Column("a", "numeric"), Column("b", "numeric", missing=1)), ()])
def test_missing_numbers_need_one_more_step(columns: tuple[Column, ...]) -> None:
    schema = Schema("matrix", "classification", 2, columns, (0, 1))
    assert steps(schema, "native") == ["numbers", "learner"]
    assert steps(schema, "ordinal") == ["impute", "learner"]
    assert steps(schema, "scaled") == ["impute", "scale", "learner"]


def test_missing_values_in_unused_columns_need_no_step() -> None:
    schema = Schema("matrix", "classification", 1, (Column("a", "numeric"), Column("b", "constant", missing=9)))
    assert steps(schema, "ordinal") == []


@pytest.mark.filterwarnings("ignore:Feature . is constant", "ignore:Bins whose width")
@pytest.mark.parametrize("form", ["frame", "polars"])
@pytest.mark.parametrize("how", [how for how in get_args(How) if how not in {"none", "streamed"}])
def test_laws_of_encoded_rows(form: str, how: How) -> None:
    rows = made(form)
    front = encoded(SVC(), rows.schema, how)[:-1].fit(rows.X)
    for found in (front.transform(rows.X), front.transform(rows.new)):
        assert np.isfinite(found).all() or how in {"native", "nominal"}
        assert found.dtype.kind == "f"
        if how == "positive":
            assert found.min() >= 0
            assert found.max() <= 1
        if how == "binned":
            assert (found >= 0).all()
            assert (found == np.round(found)).all()
    if how == "scaled":
        numbers = front.transform(rows.X)[:, 11:]  # after 4 + 3 + 2 columns of categories and 2 of a boolean
        assert np.allclose(numbers.mean(axis=0), 0, atol=1e-9)


class WithCategories(SVC):
    """A learner with the parameter `categorical_features`."""

    def __init__(self, categorical_features: Any = None) -> None:
        super().__init__()
        self.categorical_features = categorical_features


def test_nominal_columns_are_declared_by_position() -> None:
    """The categories of a data frame come first; those of a matrix keep their positions."""
    frame = made("frame").schema
    count = sum(column.kind in {"categorical", "boolean"} for column in frame.used)
    assert encoded(WithCategories(), frame, "nominal")[-1].categorical_features == list(range(count))
    kinds: tuple[Any, ...] = ("numeric", "boolean", "boolean")
    bits = Schema("matrix", "classification", 3, tuple(Column(kind, kind) for kind in kinds))
    assert encoded(WithCategories(), bits, "nominal").categorical_features == [1, 2]
    assert encoded(WithCategories(), bits, "native").categorical_features is None


def test_pandas_and_polars_are_encoded_alike() -> None:
    pandas, polars = made("frame"), made("polars")
    for how in ("ordinal", "scaled"):
        ours, theirs = (encoded(SVC(), rows.schema, how)[:-1].fit_transform(rows.X) for rows in (pandas, polars))
        assert np.allclose(ours[:, :-8], theirs[:, :-8])  # the last columns are text, whose directions may change sign


@pytest.mark.parametrize(("how", "unknown", "missing"), [("ordinal", -1, -2), ("binned", 1, 0)])
def test_new_and_missing_categories_have_separate_codes(how: How, unknown: int, missing: int) -> None:
    schema = Schema("frame", "classification", 1, (Column("a", "categorical"),), (0, 1))
    front = encoded(SVC(), schema, how)[:-1].fit(pd.DataFrame({"a": ["x", "y", None]}))
    codes = front.transform(pd.DataFrame({"a": ["z", None, "x"]})).ravel()
    assert list(codes[:2]) == [unknown, missing]
    assert codes[2] not in {unknown, missing}


def test_rare_categories_share_a_code_or_a_column() -> None:
    frame = pd.DataFrame({"a": [f"name {index}" for index in range(1000)]})
    schema = Schema("frame", "classification", 1, (Column("a", "categorical"),), (0, 1))
    assert encoded(SVC(), schema, "native")[:-1].fit_transform(frame).max() == CODES - 1
    assert encoded(SVC(), schema, "scaled")[:-1].fit_transform(frame).shape == (1000, ONE_HOT)
    boosting = encoded(HistGradientBoostingClassifier(max_iter=2), schema, "native")
    assert set(boosting.fit(frame, np.arange(1000) % 2).predict(frame)) <= {0, 1}


def test_categories_are_declared_to_histogram_boosting() -> None:
    given = HistGradientBoostingClassifier()
    found = encoded(given, made("frame").schema, "native")[-1]
    assert found.categorical_features == [0, 1, 2]
    assert given.categorical_features != found.categorical_features


def test_sparse_rows_stay_sparse() -> None:
    schema = Schema("sparse", "classification", 2)
    rows = csr_array(np.array([[0, -4.0], [2, 0]]))
    assert steps(schema, "ordinal") == []
    assert encoded(SVC(), schema, "scaled")[:-1].fit_transform(rows).toarray().tolist() == [[0, -1], [1, 0]]
    assert encoded(SVC(), schema, "positive")[:-1].fit_transform(rows).toarray().tolist() == [[0, 4], [2, 0]]
    assert encoded(SVC(), schema, "native")[:-1].fit_transform(rows).nnz == 2


def test_unknown_kinds_of_preprocessing_are_refused() -> None:
    with pytest.raises(InputError, match=r"`how` must be one of none, native, .*, got 'best'"):
        encoded(SVC(), NUMBERS, "best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"`how` must not be binned for sparse rows"):
        encoded(SVC(), Schema("sparse", "classification", 2), "binned")
