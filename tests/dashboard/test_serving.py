"""The page's process: it starts with a run, can die without harming it, and refuses addresses it cannot use."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli.commands import call, gated, numbers, refused, started, wait_until, written
from dashboard.pages import needs_dashboard, watched
from pydaub.dashboard.address import Names, Record, served, tunnel
from pydaub.runs.journal import is_held

httpx = pytest.importorskip("httpx", reason="needs httpx to ask the page")
pytestmark = needs_dashboard
ANY = "0.0.0.0"  # noqa: S104  # all interfaces are the case to test


def pages_of(folder: Path) -> list[int]:
    """Return the processes that serve the page of this run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_text().split("\0")
        except OSError:
            continue
        if "watch" in command and str(folder) in command:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.slow("processes")
def test_a_run_goes_on_when_its_page_is_killed(tmp_path: Path) -> None:
    data, folder = written(numbers(), tmp_path / "data.csv"), tmp_path / "run"
    (tmp_path / "gate").touch()
    mine = gated(tmp_path / "mine.py", tmp_path / "gate", 100)
    options = ["--target", "label", "--learners", mine, "--out", folder, "--jobs", 1, "--quiet", "--dashboard"]
    with started("run", data, *options, env={**os.environ, "BROWSER": "true"}) as process:
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", process.stderr.readline())
        assert address
        assert httpx.get(address[0]).status_code == 200
        (page,) = pages_of(folder)
        os.kill(page, signal.SIGKILL)
        wait_until(lambda: not pages_of(folder))
        assert process.poll() is None
        assert is_held(folder / "journal.jsonl")
        (tmp_path / "gate").unlink()
        assert process.wait() == 0
    assert "Selected" in call("show", folder).out


def test_addresses_that_cannot_be_used_are_refused(finished_run: Path, tmp_path: Path) -> None:
    folder = finished_run
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert "Cannot listen on" in refused("watch", folder, "--no-browser", "--port", port)
    assert "must be from 0 to 65535" in refused("watch", folder, "--no-browser", "--port", 70_000)
    assert "Cannot listen on" in refused("watch", folder, "--no-browser", "--host", "192.0.2.1")
    for nothing in ("", " "):  # as from a variable that is not set
        assert "`--host` must be an address, got" in refused("watch", folder, "--no-browser", "--host", nothing)
    assert "must be the folder of a run" in refused("watch", tmp_path / "no", "--no-browser")


@pytest.mark.slow("processes")
def test_a_page_that_is_started_again_has_the_same_address(finished_run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished_run, tmp_path / "run"))
    with watched(folder, "--linger") as page:
        assert (folder / "page.json").stat().st_mode & 0o777 == 0o600
        assert f"The page: {page.address}" in call("show", folder).out
        assert page.address in call("watch", folder, "--no-browser").err, "it is served already"
        with watched(folder, "--port", "0") as other:
            assert (other.token, other.base == page.base) == (page.token, False)
    assert "The page" not in call("show", folder).out
    with watched(folder, "--linger") as again:
        assert again.address == page.address
    port = urlsplit(page.base).port or 0
    with socket.create_server(("127.0.0.1", port)), watched(folder, "--linger") as elsewhere:
        assert elsewhere.base != page.base
        assert elsewhere.token == page.token


@pytest.mark.parametrize("content", ["", "{", "[]", '{"token": "short", "port": 1, "address": "http://x"}'])
def test_a_damaged_record_is_replaced(content: str, tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text(content)
    (tmp_path / "page.json").chmod(0o600)
    record = Record(tmp_path)
    record.keep("http://127.0.0.1:1234/", 1234)
    assert served(tmp_path) == "http://127.0.0.1:1234/"
    record.close()
    assert served(tmp_path) is None
    again = Record(tmp_path)
    again.close()
    assert (again.token, again.port) == (record.token, 1234)


def test_a_record_that_others_can_read_or_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    def kept() -> str:
        record = Record(tmp_path)
        record.keep("http://127.0.0.1:1234/", 1234)
        record.close()
        return record.token

    first, path = kept(), tmp_path / "page.json"
    assert kept() == first
    path.chmod(0o644)
    second = kept()
    assert second != first
    path.rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    assert kept() != second
    assert not path.is_symlink()


def test_a_copy_of_a_record_is_not_used(tmp_path: Path) -> None:
    """Whoever made the folder may know its token."""
    record = Record(tmp_path)
    record.keep("http://127.0.0.1:1234/", 1234)
    record.close()
    copied = tmp_path / "copied"
    copied.mkdir()
    shutil.copy2(tmp_path / "page.json", copied)
    assert Record(copied).token != record.token
    assert Record(tmp_path).token == record.token


def test_a_folder_that_cannot_be_written_has_no_record(tmp_path: Path) -> None:
    record = Record(tmp_path / "missing")
    record.keep("http://127.0.0.1:1234/", 1234)
    assert len(record.token) == 32
    assert served(tmp_path / "missing") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_no_warning_for_this_machine_only(host: str) -> None:
    names = Names(host, "::1" if ":" in host else "127.0.0.1")
    assert (names.shown, names.others()) == (host, [])
    for called in ("localhost:80", "127.0.0.1:8000", "[::1]:9", "LOCALHOST", "localhost."):
        assert names.accept(called)
    for called in ("evil.example", "10.0.0.1", "", "[::2]", "localhost.evil.example", "a:b:c", "[::1", "localhost:x"):
        assert not names.accept(called)


@pytest.mark.parametrize("bound", [ANY, "::"])
def test_on_all_interfaces_the_own_addresses_are_named_and_accepted(bound: str) -> None:
    names = Names(bound, bound)
    assert names.shown == "127.0.0.1"
    assert all(names.accept(f"[{each}]:1" if ":" in each else each) for each in names.others())
    assert not {"127.0.0.1", "::1", ANY} & {*names.others()}
    assert names.accept("192.168.7.7:8000"), "a number is no name that leads elsewhere"
    assert not names.accept("evil.example")


def test_other_machines_can_reach_a_page_on_all_interfaces(finished_run: Path) -> None:
    with watched(finished_run, "--port", "0", "--host", ANY) as page:
        port = urlsplit(page.base).port
        assert page.process.stderr
        line = page.process.stderr.readline()
        assert line.count("127.0.0.1") == 0
        assert "unencrypted" in line
        for each in Names(ANY, ANY).others():
            assert each in line
            called = {"Host": f"[{each}]:{port}" if ":" in each else f"{each}:{port}", **page.keys}
            with httpx.stream("GET", f"http://127.0.0.1:{port}/events", headers=called) as answer:
                assert answer.status_code == 200


def test_over_ssh_the_command_for_a_tunnel_is_said(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert tunnel("127.0.0.1", 8000) is None
    monkeypatch.setenv("SSH_CONNECTION", "198.51.100.4 50000 203.0.113.9 2222")
    with watched(finished_run) as page:
        assert page.process.stderr
        port = urlsplit(page.base).port
        expected = f"ssh -p 2222 -N -L {port}:127.0.0.1:{port} {getpass.getuser()}@203.0.113.9"
        assert page.process.stderr.readline().strip().endswith(expected)


@pytest.mark.slow("processes")
def test_a_request_that_does_not_arrive_is_given_up(finished_run: Path) -> None:
    """Also the second one on a connection. A stream is no request that is late."""
    with watched(finished_run) as page:
        port = urlsplit(page.base).port or 0
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for each in slow[1:]:
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        kept = slow[-1]
        kept.sendall(b"x\r\n\r\n")
        assert kept.recv(100)
        kept.sendall(b"GET / HTTP/1.1\r\nHost:")
        with httpx.stream("GET", f"{page.base}/events", headers=page.keys) as stream:
            lines = stream.iter_lines()
            for each in slow:
                with suppress(ConnectionResetError):
                    while each.recv(65_536):
                        pass
                each.close()
            assert next(lines) == "event: beat"
            assert sum(1 for line, _ in zip(lines, range(20), strict=False) if line) > 5
