"""Requests to the page of a run and to the list of runs: what a hostile page or neighbour may send.

Nothing of a run comes out without the token, nothing outside of the folder comes out at all, and only what the page
itself sends changes anything.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.commands import Finished
from dashboard.pages import needs_dashboard
from fuzz.rule import content, fuzzed, nested, scalars, texts
from pydaub.dashboard import address

httpx = pytest.importorskip("httpx", reason="needs httpx to ask the page")
one = pytest.importorskip("pydaub.dashboard.app", reason="needs the web server")
listing = pytest.importorskip("pydaub.dashboard.listing", reason="needs the web server")
pytestmark = needs_dashboard

TOKEN = "t" * 32
OWN = "127.0.0.1"
PRIVATE, NOTED = "this-is-private", "noted-by-hand"
ANSWERS = {200, 307, 400, 403, 404, 405, 409}
CHANGING = {"steer", "notes"}
PATHS = st.sampled_from(
    ["", "addable", "about", "steer", "notes", "runs", "compare", "compare?run=kept&run=other",
     "compare?run=../private",
     "run/kept/", "run/kept/about", "run/kept/notes", "run/kept/steer", "run/kept/addable", "run/../about",
     "run/%2e%2e/about", "run/..%2fprivate/about", "run/private/about", "run.json", "../private/file",
     "%2e%2e/private/file", "notes.txt", "static/main.js", "run/kept/notes.txt"]
) | texts  # fmt: skip
TOKENS = st.sampled_from([TOKEN, TOKEN, TOKEN, None, "", TOKEN[:-1], f"{TOKEN}x", "\xe9"])
HOSTS = st.sampled_from(
    [OWN, OWN, f"{OWN}:1234", "localhost", "[::1]:80", "evil.example", f"{OWN}.evil.example", "", "\xff"]
)
ORIGINS = st.sampled_from([None, None, f"http://{OWN}", "https://evil.example", "null", f"http://{OWN}.evil.example"])
TYPES = st.sampled_from(
    ["application/json", "application/json", "application/json; charset=utf-8", "text/plain", None, ""]
)
plain = nested(scalars.filter(lambda value: not isinstance(value, bytes | complex | tuple | type)), 3)
BODIES = (
    st.fixed_dictionaries({"text": texts | plain, "before": st.sampled_from([NOTED, ""]) | plain})
    | st.fixed_dictionaries(
        {"command": st.sampled_from(["pause", "drop", "stop", "add"]) | plain, "learner": texts | plain}
    )
    | plain
    | st.binary(max_size=50)
    | st.sampled_from([b"[" * 4000, b'{"text":"' + b"x" * 500_000, b'{"a":' * 700])
)


def place(finished: Finished, folder: Path, notes: str) -> Path:
    """Make a folder with a run and a person's file beside it; the notes of the run are text, or lead to that file."""
    (folder / "private").mkdir()
    (folder / "private" / "file").write_text(PRIVATE)
    run = Path(shutil.copytree(finished.folder, folder / "runs" / "kept"))
    match notes:
        case "link":
            (run / "notes.txt").symlink_to(folder / "private" / "file")
        case "other name":
            (run / "notes.txt").hardlink_to(folder / "private" / "file")
        case _:
            (run / "notes.txt").write_text(NOTED)
    return run


def app_of(run: Path, *, several: bool) -> Any:
    """Return the application for one run, or for the list of runs."""
    names = address.Names(OWN, OWN)
    if several:
        return listing.Listing(run.parent, lambda _: ["tree", "knn-5"]).app(TOKEN, names)
    return one.Dashboard(run, lambda: ["tree", "knn-5"]).app(TOKEN, names)


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """Nobody answers here: do not wait for it."""
    with patch("pydaub.dashboard.app.PATIENCE", 0.0):
        yield


class Asked(NamedTuple):
    """A request: by default, one that a page of the run itself might send."""

    path: str = "about"
    method: str = "GET"
    sent: Any = b""
    token: str | None = TOKEN
    host: str = OWN
    origin: str | None = None
    kind: str | None = "application/json"
    notes: str = "text"  # what those of the run are
    several: bool = False  # runs in the folder that the page is of

    @property
    def headers(self) -> dict[bytes, bytes]:
        """What it says of itself."""
        said = {"x-token": self.token, "host": self.host, "origin": self.origin, "content-type": self.kind}
        return {name.encode(): value.encode("latin-1") for name, value in said.items() if value is not None}

    @property
    def reaches(self) -> bool:
        """Whether it calls the page by one of its names."""
        return self.host.partition(":")[0] in {OWN, "localhost"} or self.host.startswith("[::1]")

    @property
    def changes(self) -> bool:
        """Whether it may change something: it comes from the page itself, and is a command."""
        own = self.origin is None or self.origin.endswith(f"//{self.host}")
        known = self.reaches and self.token == TOKEN and own and (self.kind or "").startswith("application/json")
        return known and self.method == "POST" and self.path.split("/")[-1] in CHANGING


def answered(app: Any, request: Asked) -> Any:
    """Send a request, and return the answer."""

    async def ask() -> Any:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{OWN}") as client:
            sent = request.sent if isinstance(request.sent, bytes) else json.dumps(request.sent).encode()
            made = client.build_request(request.method, f"/{request.path}", content=sent)
            for name in ("host", "content-type"):
                made.headers.pop(name, None)
            made.headers.update(request.headers)
            return await client.send(made)

    return asyncio.run(ask())


OTHERS = Asked("notes", "POST", {"text": "x", "before": NOTED})
PAGE = (Asked(), Asked("addable"), OTHERS, Asked("steer", "POST", {"command": "pause"}))
LIST = (Asked("runs"), Asked("compare"), *(each._replace(path=f"run/kept/{each.path}") for each in PAGE))
PARTS = {
    "path": PATHS,
    "method": st.sampled_from(["GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE"]),
    "sent": BODIES,
    "token": TOKENS,
    "host": HOSTS,
    "origin": ORIGINS,
    "kind": TYPES,
}


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    """Return what the page itself might send, with some parts that are wrong."""
    several = draw(st.booleans())
    made = draw(st.sampled_from(LIST if several else PAGE))
    for part in draw(st.lists(st.sampled_from([*PARTS]), max_size=3, unique=True)):
        made = made._replace(**{part: draw(PARTS[part])})
    return made._replace(several=several, notes=draw(st.sampled_from(["text", "link", "other name"])))


@fuzzed
@given(request=requests())
@example(request=Asked(notes="link"))
@example(request=Asked(notes="other name"))
@example(request=Asked("run/kept/notes", "POST", {"text": "x", "before": PRIVATE}, notes="link", several=True))
@example(request=OTHERS)
@example(request=OTHERS._replace(origin="https://evil.example"))
@example(request=OTHERS._replace(kind="text/plain"))
@example(request=Asked(token=None))
@example(request=Asked(host="evil.example"))
def test_a_request_is_answered_or_refused(request: Asked, finished: Finished) -> None:
    with TemporaryDirectory() as folder:
        run = place(finished, Path(folder), request.notes)
        before, outside = content(run), content(Path(folder) / "private")
        try:
            answer = answered(app_of(run, several=request.several), request)
        except (httpx.InvalidURL, UnicodeError):
            return  # it cannot be sent
        assert answer.status_code in ANSWERS, answer
        assert PRIVATE.encode() not in answer.content
        assert content(Path(folder) / "private") == outside
        assert request.reaches or answer.status_code == 400
        if request.token != TOKEN or not request.reaches:
            shell = answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
            for word in (NOTED, "naive-bayes", "kept", str(finished.data)) if not shell else (NOTED,):
                assert word.encode() not in answer.content, "nothing of a run comes out without the token"
        after = content(run)
        changed = {name for name in {*after, *before} if after.get(name) != before.get(name)}
        assert not changed or (request.changes and request.notes == "text"), "only the page itself changes anything"
        assert changed <= {"notes.txt"}
