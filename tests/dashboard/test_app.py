"""The page's server: which requests it answers, what it serves, and which commands it passes on."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.commands import wait_until
from dashboard.pages import Page, needs_dashboard, watched

httpx = pytest.importorskip("httpx", reason="needs httpx to ask the page")
app = pytest.importorskip("pydaub.dashboard.app", reason="needs the web server")
pytestmark = needs_dashboard


@pytest.fixture(scope="module")
def page(finished_run: Path) -> Iterator[Page]:
    with watched(finished_run) as page:
        yield page


def test_it_listens_on_the_loopback_address_only(page: Page) -> None:
    port = urlsplit(page.base).port
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
    ]
    assert [entry for entry in listening if int(entry.split(":")[1], 16) == port] == [f"0100007F:{port:04X}"]


def test_the_page_is_one_file_with_a_strict_policy_and_says_nothing_about_the_run(
    page: Page, finished_run: Path
) -> None:
    answer = httpx.get(page.base)
    assert finished_run.name not in re.findall(r"<title>(.*)</title>|id=\"title\">(.*?)<", answer.text)
    assert "naive-bayes-gaussian" not in answer.text
    assert page.token not in answer.text
    assert answer.status_code == 200
    assert "/*SCRIPT*/" not in answer.text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', answer.text)
    assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce
    assert f'<script nonce="{nonce[1]}">' in answer.text
    assert "__" not in answer.text.replace(nonce[1], ""), "every mark has been replaced"
    assert nonce[1] not in httpx.get(page.base).text
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/events", "/addable"])
@pytest.mark.parametrize("token", ["", "wrong", "\u00e9"])
def test_requests_without_the_token_are_refused(page: Page, path: str, token: str) -> None:
    for key in (token, page.token[:-1], f"{page.token}x"):
        answer = httpx.get(f"{page.base}{path}", headers={"X-Token": key.encode()})
        assert answer.status_code == 403
        assert "tree" not in answer.text


def test_the_token_is_taken_from_the_header_only(page: Page) -> None:
    """Browsers send addresses and cookies of their own accord, and others may read them."""
    given = {"Cookie": f"token={page.token}", "Authorization": f"Bearer {page.token}"}
    assert httpx.get(f"{page.base}/events?token={page.token}", headers=given).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""])
def test_requests_that_name_another_host_are_refused(page: Page, host: str) -> None:
    assert httpx.get(page.base, headers={"Host": host}).status_code == 400
    assert httpx.post(f"{page.base}/steer", headers={"Host": host, "X-Token": page.token}, json={}).status_code in {
        400,
        403,
    }


@pytest.mark.parametrize(
    "path",
    [
        "/static/main.js",
        "/main.js",
        "/../journal.jsonl",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/run.json",
        "/docs",
    ],
)
def test_no_files_are_served(page: Page, path: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(page.base).port or 0)) as raw:
        key = f"X-Token: {page.token}"
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := raw.recv(65536):
            answer += part
    assert answer.split(b" ")[1] in {b"404", b"400", b"307"}
    assert b"root:" not in answer


def commanded(page: Page, body: object, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json", "X-Token": page.token, **headers}
    return httpx.post(f"{page.base}/steer", content=content, headers={k: v for k, v in given.items() if v})


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Token": ""},
        {"X-Token": "wrong"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "text/plain"},
        {"Content-Type": ""},
    ],
)
def test_commands_from_other_sites_are_refused(page: Page, finished_run: Path, headers: dict[str, str]) -> None:
    answer = commanded(page, {"command": "pause", "learner": None}, **headers)
    assert answer.status_code == 403
    assert list((finished_run / "steering").glob("*")) == [], "the run gets no command"


def test_the_token_in_the_address_is_not_enough_for_a_command(page: Page) -> None:
    answer = httpx.post(f"{page.base}/steer?token={page.token}", json={"command": "pause", "learner": None})
    assert answer.status_code == 403
    assert httpx.get(f"{page.base}/steer", headers=page.keys).status_code == 405
    assert httpx.options(f"{page.base}/steer", headers={"Origin": "http://evil.example"}).status_code in {400, 405}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"1", b'"pause"', b"{}", b"\xff\xfe", b"[" * 3000, b" " * 5000, b'{"command": []}',
     b'{"command": "dance"}', b'{"command": "drop", "learner": 5}', b'{"command": "drop", "learner": {"a": 1}}'],
)  # fmt: skip
def test_malformed_commands_are_refused(page: Page, body: bytes) -> None:
    assert commanded(page, body).status_code == 400


def test_a_run_that_has_ended_accepts_no_command(page: Page) -> None:
    answer = commanded(page, {"command": "pause", "learner": None}, Origin=page.base)
    assert (answer.status_code, "is not going on" in answer.json()["error"]) == (409, True)


def test_the_stream_begins_with_a_snapshot(page: Page) -> None:
    with httpx.stream("GET", f"{page.base}/events", headers=page.keys) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == "event: beat"
        assert next(line for line in lines if line.startswith("event") and "beat" not in line) == "event: snapshot"
        sent = json.loads(next(lines).removeprefix("data: "))
    assert sent["header"]["state"] == "finished"
    assert {learner["learner"] for learner in sent["learners"]} == {"tree", "knn-5", "naive-bayes-gaussian"}
    assert sent["learners"][0]["status"] == "selected"
    assert sent["certificate"]["choice"]
    assert sent["decisions"][-1]["words"].endswith("is selected.")


def test_learners_that_are_in_the_run_cannot_be_added(page: Page) -> None:
    names = httpx.get(f"{page.base}/addable", headers=page.keys, timeout=60).json()
    assert "forest-100" in names
    assert "tree" not in names


def test_silence_means_a_lost_connection_within_five_seconds() -> None:
    script = (files("pydaub.dashboard") / "static" / "net.js").read_text(encoding="utf-8")
    silent, listen = (
        int(re.findall(rf"const {name}_MILLISECONDS = (\d+)", script)[0]) for name in ("SILENT", "LISTEN")
    )
    assert silent / 1000 > 2 * app.BEAT_SECONDS, "one late beat is no loss"
    assert silent + listen <= 5000
    assert app.LOOK_SECONDS < app.REST_SECONDS <= 2, "the end of a run is noticed, too"


def test_an_idle_stream_beats(page: Page) -> None:
    with httpx.stream("GET", f"{page.base}/events", headers=page.keys) as answer:
        kinds = (line for line in answer.iter_lines() if line.startswith("event: "))
        assert [next(kinds) for _ in range(4)] == ["event: beat", "event: snapshot", "event: beat", "event: beat"]


def test_more_viewers_than_can_be_served_are_told_so(finished_run: Path) -> None:
    with watched(finished_run) as page, ExitStack() as open_:
        request = f"GET /events HTTP/1.1\r\nHost: localhost\r\nX-Token: {page.token}\r\n\r\n".encode()
        answers = []
        for _ in range(app.MOST_VIEWERS + 20):
            viewer = open_.enter_context(socket.create_connection(("127.0.0.1", urlsplit(page.base).port or 0)))
            viewer.sendall(request)
            answers.append(viewer.recv(12).split(b" ")[1])
        assert answers == [b"200"] * app.MOST_VIEWERS + [b"503"] * 20
        refused = httpx.get(f"{page.base}/events", headers=page.keys)
        assert "Close one of the others" in refused.json()["error"]
        assert httpx.get(page.base).status_code == 200
        open_.close()
        wait_until(lambda: _is_served(page))


def _is_served(page: Page) -> bool:
    with httpx.stream("GET", f"{page.base}/events", headers=page.keys) as answer:
        return bool(answer.status_code == 200)


def test_a_page_waits_for_hidden_tabs_that_only_look_now_and_then(finished_run: Path) -> None:
    site = app.Dashboard(finished_run, list)
    assert site.patience() == app.LINGER
    site.viewers[asyncio.Queue()] = True
    assert site.patience() == math.inf
    site.viewers.clear()
    site.left_at = time.monotonic() - 60.0
    assert site.patience() == math.inf, "browsers wake a hidden tab once a minute"
    site.left_at -= 60.0
    assert site.patience() == app.LINGER
