"""scikit-learn's fetcher, talking to a server on this machine that gives recorded answers (see openml/)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sklearn.datasets import _openml as fetcher

from pydaub import InputError
from pydaub.data import load, read

RECORDED = Path(__file__).parent / "openml"
NAMES = {"iris": "61", "few": "62"}


class Answers(BaseHTTPRequestHandler):
    """Gives what was recorded; of what is not, says 412 as OpenML does."""

    def do_GET(self) -> None:
        what, which = self.path.strip("/").split("/")[:2]
        number = NAMES.get(which, which)
        if what == "broken":
            self.answer(500, b"")
        elif not (RECORDED / f"{number}.json").exists():
            self.answer(412, b"{}")
        elif what == "download":
            self.answer(200, (RECORDED / f"{number}.arff").read_bytes())
        else:
            recorded = json.loads((RECORDED / f"{number}.json").read_bytes())[what]
            self.answer(200, json.dumps(recorded).replace("BASE", f"http://{self.headers['Host']}").encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Hurry:
    """What stands in for the clock of the fetcher, which waits a second between two tries."""

    @staticmethod
    def sleep(_: float) -> None:
        """Return at once."""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server, to which the fetcher is sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetcher, "time", Hurry)
    redirect(monkeypatch, address)
    yield address
    server.shutdown()
    thread.join()
    server.server_close()


def redirect(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for name, what in (
        ("_DATA_INFO", "data"),
        ("_DATA_FEATURES", "features"),
        ("_DATA_QUALITIES", "qualities"),
        ("_SEARCH_NAME", "list"),
    ):
        monkeypatch.setattr(fetcher, name, f"{address}/{what}/{{}}")


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


def test_what_was_fetched_is_kept(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read("openml:61")
    monkeypatch.setattr(fetcher, "urlopen", None)  # whoever called it now would fail
    assert len(read("openml:61").rows) == 40
    assert base


@pytest.mark.usefixtures("base")
def test_a_sparse_data_set() -> None:
    data = load("openml:62", None)
    assert (data.schema.form, data.schema.features, len(data.schema.classes)) == ("sparse", 3, 2)
    fetched = read("openml:62")
    assert fetched.target is not None
    assert fetched.target.tolist() == ["no", "yes"] * 10
    assert fetched.rows.sum(axis=1).tolist() == [[i + 1] for i in range(20)]


def test_what_cannot_be_fetched_is_told(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"must be a data set that scikit-learn can fetch, got: .*99 not found"):
        read("openml:99")
    with pytest.raises(InputError, match="can fetch, got: No active dataset nothing found"):
        read("openml:nothing")
    monkeypatch.setattr(fetcher, "_DATA_INFO", f"{base}/broken/{{}}")
    with pytest.raises(
        InputError, match=r"Cannot fetch openml:61 from OpenML: Internal Server Error. Check the network"
    ):
        read("openml:61")
    redirect(monkeypatch, "http://127.0.0.1:9")  # where nobody listens
    with pytest.raises(InputError, match=r"Cannot fetch openml:61 from OpenML: .*refused.* Check the network"):
        read("openml:61")


@pytest.mark.parametrize("source", ["openml:", "openml:  ", "openml:0"])
def test_a_number_or_a_name_is_needed(source: str) -> None:
    with pytest.raises(InputError, match="`source` must be openml: and a number or a name, such as openml:61, got"):
        read(source)
