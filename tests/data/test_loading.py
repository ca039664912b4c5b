from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.forms import equal
from pydaub import InputError
from pydaub.data import Prepared, Split, load, new_rows

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
ROWS = 60
TABLE = pd.DataFrame(
    {
        "id": range(100, 100 + ROWS),
        "height": np.linspace(1, 2, ROWS),
        "count": [3, 1, None, 7] * 15,
        "smokes": ["yes", "no", None] * 20,
        "town": ["Rome", "Oslo", None, "Bonn"] * 15,
        "day": [f"2020-01-{1 + i % 28:02}" for i in range(ROWS)],
        "story": [f"once upon a time number {i}" for i in range(ROWS)],
        "same": ["x"] * ROWS,
        "empty": [None] * ROWS,
        "family": np.arange(ROWS) // 3,
        "price": np.linspace(0.5, 9, ROWS),
        "label": ["good", "bad", "ugly"] * 20,
    }
)


@pytest.fixture(params=["x.csv", "x.parquet", "x.feather"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same table in several formats."""
    return written(TABLE, tmp_path / request.param)


def written(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_feather(path)
    return path


def test_kinds_are_inferred_and_uninformative_columns_left_out(path: Path) -> None:
    data = load(path, "label", group="family", drop=["price"])
    assert {column.name: column.kind for column in data.schema.columns} == {
        "id": "identifier",
        "height": "numeric",
        "count": "numeric",
        "smokes": "boolean",
        "town": "categorical",
        "day": "date",
        "story": "text",
        "same": "constant",
        "empty": "constant",
    }
    assert data.notes == (
        "Column 'family' divides the rows and is not a feature.",
        "Columns left out as constant: 'same', 'empty'.",
        "Columns left out as identifier: 'id'.",
    )
    assert (data.schema.form, data.schema.task, data.schema.target) == ("frame", "classification", "label")
    assert data.schema.classes == ("bad", "good", "ugly")
    rows = data.train(data.full_size).X
    assert list(rows) == ["height", "count", "smokes", "town", "day", "story"]
    assert [str(kind) for kind in rows.dtypes[["height", "count", "smokes", "day"]]] == [
        *("float64", "float64", "float32", "datetime64[us]")
    ]


def test_every_format_gives_the_same_data(tmp_path: Path) -> None:
    made = [load(written(TABLE, tmp_path / name), "label") for name in ("x.csv", "x.parquet", "x.feather")]
    for data in made[1:]:
        assert equal(data.train(40).X, made[0].train(40).X)
        assert data.train(40).y.tolist() == made[0].train(40).y.tolist()


def test_numbers_and_booleans_become_a_matrix(path: Path, tmp_path: Path) -> None:
    left_out = ["town", "day", "story", "family", "price"]
    data = load(path, "label", drop=left_out)
    assert (data.schema.form, data.train(9).X.dtype, data.schema.features) == ("matrix", np.float64, 3)
    assert np.isnan(data.train(40).X[:, 1:]).any()
    only = load(path, "label", drop=[*left_out, "height", "count"])
    assert only.train(9).X.dtype == np.float32
    data.save(tmp_path / "data")
    again = Prepared.open(tmp_path / "data")
    assert again.schema == data.schema
    assert equal(again.train(30).X, data.train(30).X)


def test_a_regression_is_recognised(path: Path) -> None:
    data = load(path, "price")
    assert (data.schema.task, data.schema.classes, data.train(5).y.dtype) == ("regression", (), np.float64)
    assert load(path, "count").schema.classes == (1, 3, 7)  # whole numbers, though some are missing
    assert load(path, "count").notes[-1] == "Rows without a target were left out: 15."
    assert load(path, "count", task="regression").schema.task == "regression"
    assert load(path, "smokes").schema.classes == ("no", "yes")


def test_groups_are_not_divided_and_the_latest_rows_are_for_validation(path: Path) -> None:
    data = load(path, "label", group="family")
    train, valid = data.train(data.full_size), data.valid()
    assert not set(train.groups) & set(valid.groups)  # type: ignore[arg-type]  # they have groups
    data = load(path, "label", time="height", split=Split(0.5))
    assert data.valid().X["price"].min() > data.train(data.full_size).X["price"].max()
    data = load(path, "label", time="day")
    assert data.valid_size in range(14, 23)


def test_a_validation_file_is_read_like_the_training_file(path: Path, tmp_path: Path) -> None:
    other = TABLE.iloc[:7].assign(town=["1", "2", "3", "4", "5", "6", "7"], more=1)
    data = load(path, "label", validation=written(other.drop(columns="id"), tmp_path / f"v{path.suffix}"))
    assert (data.full_size, data.valid_size) == (ROWS, 7)
    valid = data.valid().X
    assert valid.columns.tolist() == data.train(3).X.columns.tolist()
    assert valid.dtypes.tolist() == data.train(3).X.dtypes.tolist()
    assert valid["town"].tolist() == ["1", "2", "3", "4", "5", "6", "7"]
    for absent, message in (
        ("label", "`validation` must have the target column 'label'"),
        ("town", "must have the columns 'town'"),
    ):
        with pytest.raises(InputError, match=message):
            load(path, "label", validation=written(other.drop(columns=absent), tmp_path / f"w{path.suffix}"))


def test_the_training_rows_must_not_validate(path: Path, tmp_path: Path) -> None:
    link = tmp_path / f"link{path.suffix}"
    link.symlink_to(path)
    copy = shutil.copy(path, tmp_path / f"copy{path.suffix}")
    for same in (path, path.parent / "." / path.name, link, copy):
        with pytest.raises(InputError, match="`validation` must be other rows than those to train on, got"):
            load(path, "label", validation=same)
    with pytest.raises(InputError, match="`validation` must be other rows than those to train on, got parity:100"):
        load("parity:100", None, validation="parity:100")


def test_text_labels_stay_text_in_a_validation_file_of_numbers(tmp_path: Path) -> None:
    train = written(pd.DataFrame({"a": [1, 2, 4, 3] * 5, "y": ["1", "2", "x", "2"] * 5}), tmp_path / "t.csv")
    valid = written(pd.DataFrame({"a": [1, 2], "y": ["1", "2"]}), tmp_path / "v.csv")
    assert load(train, "y", validation=valid).valid().y.tolist() == ["1", "2"]


def test_given_kinds_override_inferred_ones(path: Path) -> None:
    data = load(path, "label", kinds={"family": "categorical", "id": "numeric", "town": "identifier"})
    kinds = {column.name: column.kind for column in data.schema.used}
    assert (kinds["family"], kinds["id"], "town" in kinds) == ("categorical", "numeric", False)
    assert set(data.train(40).X["family"]) <= {str(i) for i in range(20)}
    for kind in ("numeric", "boolean", "date"):
        with pytest.raises(InputError, match=r"Column 'town' must hold .*, got"):
            load(path, "label", kinds={"town": kind})


def test_sparse_files(tmp_path: Path) -> None:
    lines = "".join(f"{i % 2} 1:{i} {2 + i % 5}:1\n" for i in range(40))
    (tmp_path / "x.svm").write_text(lines)
    (tmp_path / "v.svm").write_text("1 1:1 99:1\n0 2:3\n")
    data = load(tmp_path / "x.svm", None)
    assert (data.schema.form, data.schema.features, data.schema.classes) == ("sparse", 7, (0, 1))
    valid = load(tmp_path / "x.svm", None, validation=tmp_path / "v.svm").valid()
    assert (valid.X.shape, valid.y.tolist()) == ((2, 7), [1, 0])
    assert new_rows(data.schema, tmp_path / "v.svm").shape == (2, 7)
    for option in ({"group": "a"}, {"time": "a"}, {"drop": ["a"]}, {"kinds": {"a": "numeric"}}):
        name = next(iter(option))
        with pytest.raises(InputError, match=f"`{name}` must not be given for x.svm: sparse data has no columns"):
            load(tmp_path / "x.svm", None, **option)
    with pytest.raises(InputError, match=r"`target` must not be given for x.svm"):
        load(tmp_path / "x.svm", "y")
    with pytest.raises(InputError, match="`validation` must be sparse as the training rows are"):
        load(tmp_path / "x.svm", None, validation=written(TABLE, tmp_path / "v.csv"))
    (tmp_path / "x.svm").write_text(lines + "1 3:inf\n")
    with pytest.raises(InputError, match=r"infinite values in x3 \(1\)"):
        load(tmp_path / "x.svm", None)


def test_ten_rows_are_enough(tmp_path: Path) -> None:
    data = load(written(TABLE.head(10)[["height", "town", "smokes"]].fillna("no"), tmp_path / "x.csv"), "smokes")
    assert (data.full_size, data.valid_size) == (7, 3)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("lable", {}, r"`target` must be a column of x.*, got 'lable'. Did you mean 'label'\?"),
        ("zzz", {}, "`target` must be a column of x.*, got 'zzz'. It has 'id', 'height', "),
        (None, {}, "`target` must be named for x.*, got none. It has 'id', 'height'"),
        ("same", {}, "`same` must have at least two classes, got only 'x'"),
        ("empty", {}, "`empty` must have values, got 60 rows without one"),
        ("story", {}, "`story` must have classes of several rows, got 60 in 60 rows: it looks like an identifier"),
        ("label", {"task": "regression"}, "`label` must be numbers for a regression, got 'good'"),
        ("label", {"group": "zzz"}, "`group` must be a column of x.*, got 'zzz'"),
        ("label", {"time": "zzz"}, "`time` must be a column of x.*, got 'zzz'"),
        ("label", {"time": "town"}, "`time` must have a value in every row, got 15 without"),
        ("label", {"time": "story"}, "`time` must be numbers or ISO dates such as 2016-02-12"),
        ("label", {"group": "label"}, "`group` must not be the column of `target`, got 'label' for both"),
        ("label", {"validation": "", "split": Split()}, "`validation` must be the path of a file"),
        *(
            ("label", {"validation": "v.csv", **option}, f"`{name}` must go without `validation`, which divides the")
            for name, option in (
                ("group", {"group": "family"}),
                ("time", {"time": "day"}),
                ("validation_fraction", {"split": Split(0.2)}),
                ("validation_rows", {"split": Split(most=20)}),
            )
        ),
        ("label", {"split": Split(1e-300)}, "`validation_fraction` must leave a row to validate on, got 1e-300 of 60"),
        ("label", {"split": Split(0.999)}, "`validation_fraction` must leave a row to train on, got 0.999 of 60"),
        ("label", {"split": Split(1e-300), "time": "day"}, "`validation_fraction` must leave a row to validate on"),
        ("label", {"drop": ["zzz"]}, "`drop` must be a column of x.*, got 'zzz'"),
        ("label", {"drop": "id"}, "`drop` must be a list of column names, got 'id'"),
        ("label", {"drop": None}, "`drop` must be a list of column names, got None"),
        ("label", {"kinds": 5}, "`kinds` must be kinds by the names of columns, or None, got 5"),
        ("label", {"split": None}, "`split` must be a Split, got None"),
        ("label", {"validation": 5}, "`validation` must be the path of a file, or None, got 5"),
        ("label", {"kinds": {"label": "numeric"}}, "Kinds must be given for columns of the data, got 'label'"),
        (
            "label",
            {"drop": [*TABLE.columns[1:7], "family", "price"]},
            r"must have a column to learn from besides the target, got 'id' \(i",
        ),
    ],
)
def test_nonsense_is_refused(target: str | None, options: dict[str, Any], message: str, path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load(path, target, **options)


def test_a_name_that_is_too_long_for_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="must be a file that can be read, got File name too long"):
        load("x" * 300, None)


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    table = TABLE.assign(height=[np.inf, -np.inf, *[1.0, 2.0] * 29], price=[1.0, np.inf, *[2.0] * 58])
    for columns in (["height", "price", "label"], ["height", "price", "town", "label"]):
        with pytest.raises(
            InputError, match=r"infinite values in 'height' \(2\), 'price' \(1\). Replace or remove them"
        ):
            load(written(table[columns], tmp_path / "x.csv"), "label")


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not here")
@pytest.mark.parametrize(
    ("name", "form", "dtype", "classes"),
    [("covtype", "matrix", "float32", 7), ("adult", "frame", None, 2), ("electricity", "matrix", "float32", 2)],
)
def test_real_data(name: str, form: str, dtype: str | None, classes: int) -> None:
    data = load(SHARED / f"{name}.parquet", "target")
    assert (data.schema.form, len(data.schema.classes)) == (form, classes)
    assert dtype is None or data.train(1).X.dtype == dtype
    assert data.valid_size == pytest.approx(0.3 * (data.full_size + data.valid_size), abs=1)


@pytest.mark.slow("memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_of_a_folder_only_the_prepared_rows_stay_in_memory(tmp_path: Path) -> None:
    for name, rows in (("few", 50), ("many", 50_000)):
        (tmp_path / name).mkdir()
        names = ",".join(f"c{place}" for place in range(100))
        lines = [names, *[f"{row % 7}.5," * 99 + str(row % 2) for row in range(rows)]]
        (tmp_path / name / "rows.csv").write_text("\n".join(lines))
    script = """
import sys
from pathlib import Path
from pydaub.data import load
def private():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
load(f"{sys.argv[1]}/few", "c99")
before = private()
data = load(f"{sys.argv[1]}/many", "c99")
print(private() - before)
"""
    printed = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    assert int(printed) < 90_000  # kB; the matrix has 39,600 of them
