"""OpenML data sets, fetched from a server on this machine that gives recorded answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.datasets import _openml as fetcher

from data.formats.recorded import recorded_openml, redirect
from pydaub import InputError
from pydaub.data import load, read


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the server."""
    with recorded_openml(tmp_path, monkeypatch) as address:
        yield address


@pytest.mark.parametrize("source", ["openml:61", "openml:iris", "openml: Iris"])
@pytest.mark.usefixtures("base")
def test_a_data_set_is_fetched_by_number_or_name(source: str) -> None:
    fetched = read(source)
    assert fetched.label == "class"
    assert fetched.rows.shape == (40, 5)
    data = load(source, None)
    assert data.schema.classes == ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
    assert (data.schema.form, data.schema.features, data.schema.target) == ("matrix", 4, "class")
    assert load(source, "petalwidth").schema.task == "regression"


@pytest.mark.usefixtures("base")
def test_a_data_set_is_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read("openml:61")
    monkeypatch.setattr(fetcher, "urlopen", None)  # another request would fail
    assert len(read("openml:61").rows) == 40


@pytest.mark.usefixtures("base")
def test_a_sparse_data_set() -> None:
    data = load("openml:62", None)
    assert (data.schema.form, data.schema.features, len(data.schema.classes)) == ("sparse", 3, 2)
    fetched = read("openml:62")
    assert fetched.target is not None
    assert fetched.target.tolist() == ["no", "yes"] * 10
    assert fetched.rows.sum(axis=1).tolist() == [[i + 1] for i in range(20)]


def test_a_failed_fetch_is_reported(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"must be a data set that scikit-learn can fetch, got: .*99 not found"):
        read("openml:99")
    with pytest.raises(InputError, match="can fetch, got: No active dataset nothing found"):
        read("openml:nothing")
    monkeypatch.setattr(fetcher, "_DATA_INFO", f"{base}/broken/{{}}")
    with pytest.raises(InputError, match=r"Cannot fetch openml:61 from OpenML: Internal Server Error. Check the net"):
        read("openml:61")
    redirect(monkeypatch, "http://127.0.0.1:9")  # nothing listens on this port
    with pytest.raises(InputError, match=r"Cannot fetch openml:61 from OpenML: .*refused.* Check the network"):
        read("openml:61")


@pytest.mark.parametrize("source", ["openml:", "openml:  ", "openml:0"])
def test_a_number_or_a_name_is_needed(source: str) -> None:
    with pytest.raises(InputError, match="`source` must be openml: and a number or a name, such as openml:61, got"):
        read(source)
