"""A server on this machine that gives recorded answers of OpenML (see openml/)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sklearn.datasets import _openml as fetcher

RECORDED = Path(__file__).parent / "openml"
NAMES = {"iris": "61", "few": "62"}
PAGES = {"_DATA_INFO": "data", "_DATA_FEATURES": "features", "_DATA_QUALITIES": "qualities", "_SEARCH_NAME": "list"}


class Answers(BaseHTTPRequestHandler):
    """Send recorded answers, and 412 for unknown data sets, as OpenML does."""

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
        """Log nothing."""


class NoWaiting:
    """Replaces the `time` module of scikit-learn's fetcher, which waits a second between two attempts."""

    @staticmethod
    def sleep(_: float) -> None:
        """Return at once."""


@contextmanager
def recorded_openml(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start the server, direct scikit-learn's fetcher to it, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(cache))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetcher, "time", NoWaiting)
    redirect(monkeypatch, address)
    try:
        yield address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def redirect(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Direct scikit-learn's fetcher to another address."""
    for name, page in PAGES.items():
        monkeypatch.setattr(fetcher, name, f"{address}/{page}/{{}}")
