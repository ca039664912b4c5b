"""The owner's side: no call is lost when the server dies, and no process is left when the owner dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from faults import ENOUGH, alive, pids, wait_until
from pydaub import InputError
from pydaub.isolation.nursery import ENVIRONMENT, Ended, Limits, Nursery, _spare
from pydaub.isolation.proc import children_of

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    nursery = Nursery("faults:call")
    yield nursery
    nursery.close()


def ended(nursery: Nursery) -> Ended:
    ended = nursery.wait(ENOUGH)
    assert ended is not None
    return ended


def server_of(pid: int) -> int:
    """Return the parent process of a child."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_wait_returns_after_its_timeout_and_loses_nothing(nursery: Nursery, tmp_path: Path) -> None:
    key = nursery.begin({"what": "until", "path": str(tmp_path / "go")})
    for timeout in (0.0, 0.01, -1.0):
        assert nursery.wait(timeout) is None
    (tmp_path / "go").touch()
    assert ended(nursery).key == key
    assert nursery.wait(0.0) is None


def test_calls_end_in_any_order_and_are_identified_by_their_keys(nursery: Nursery, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(8)]
    keys = [nursery.begin({"what": "until", "path": str(path)}) for path in paths]
    assert len(set(keys)) == 8
    found = []
    for path in reversed(paths):
        path.touch()
        found.append(ended(nursery))
    assert [each.key for each in found] == keys[::-1]
    assert len({each.value for each in found}) == 8, "each runs in a process of its own"


@linux
@pytest.mark.parametrize("victim", ["child", "server"])
def test_a_call_that_somebody_else_kills_is_begun_again(nursery: Nursery, tmp_path: Path, victim: str) -> None:
    path, gate = tmp_path / "pids", tmp_path / "go"
    key = nursery.begin({"what": "tell_pid_until", "path": str(path), "end": str(gate)})
    for times in (1, 2, 3):  # the third time it runs alone
        wait_until(lambda times=times: nursery.wait(0.0) is None and len(pids(path)) == times)
        pid = pids(path)[-1]
        os.kill(pid if victim == "child" else server_of(pid), signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid))
    gate.touch()
    found = ended(nursery)
    assert (found.key, found.status, found.losses) == (key, "ok", 3)


@linux
@pytest.mark.parametrize("victim", ["child", "server", "all"])
def test_whoever_is_killed_again_and_again_is_not_to_blame(nursery: Nursery, tmp_path: Path, victim: str) -> None:
    """Whoever kills is not impressed by what runs, and so kills a child that does nothing too."""
    path, gate, done = tmp_path / "pids", tmp_path / "go", Event()
    keys = {nursery.begin({"what": "tell_pid_until", "path": str(path), "end": str(gate)}) for _ in range(2)}

    def servers_now() -> set[int]:
        server = nursery._process  # noqa: SLF001  # its only name; other tests have processes of their own
        return set() if server is None else {server.pid}

    def kill() -> None:
        for _ in range(9):
            wait_until(lambda: any(children_of(server) for server in servers_now()))
            servers = servers_now()
            children = {child for server in servers for child in children_of(server)}
            for pid in {"child": children, "server": servers, "all": children | servers}[victim]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if done.wait(0.2):
                return
        gate.touch()

    killer = Thread(target=kill)
    killer.start()
    found = [ended(nursery), ended(nursery)]
    done.set()
    killer.join()
    assert {each.key for each in found} == keys
    assert [(each.status, each.message) for each in found] == [("ok", "")] * 2
    assert max(each.losses for each in found) > 2


@linux
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("kill_itself", "ended by SIGKILL, 4 times in a row"),
        ("kill_others", "ended by SIGKILL, 4 times in a row"),
        ("kill_server", "the process that started it was killed, 4 times in a row"),
        pytest.param(
            "stop_server",
            "the process that started it was killed, 4 times in a row",
            marks=pytest.mark.slow("processes"),  # it is continued three times before it is given up
        ),
    ],
)
def test_only_the_call_that_kills_fails(nursery: Nursery, tmp_path: Path, what: str, message: str) -> None:
    """It is tried alone in the end, so that nobody else is blamed."""
    extra: dict[str, Any] = {"kill_itself": {"path": str(tmp_path / "pids")}, "stop_server": {"times": 1000}}
    others = [nursery.begin({"what": "nap"}) for _ in range(3)]
    key = nursery.begin({"what": what, **extra.get(what, {})})
    others += [nursery.begin({"what": "nap"}) for _ in range(3)]
    found = {each.key: each for each in (ended(nursery) for _ in range(7))}
    assert (found[key].status, found[key].message) == ("crash", message)
    assert [found[each].value for each in others] == ["awake"] * 6
    if what == "kill_itself":
        assert len(pids(tmp_path / "pids")) == 4


@linux
@pytest.mark.parametrize("timeout", [0.05, ENOUGH])
def test_a_stopped_server_is_continued(nursery: Nursery, timeout: float) -> None:
    """Also if nobody waits for long."""
    nursery.begin({"what": "stop_server", "times": 1})
    found: list[Ended | None] = [None]

    def has_ended() -> bool:
        found[0] = nursery.wait(timeout)
        return found[0] is not None

    wait_until(has_ended)
    assert found[0] is not None
    assert (found[0].value, found[0].losses) == ("done", 0)


@linux
def test_a_daemon_of_a_call_does_not_outlive_a_server_that_was_killed(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "others"
    nursery.begin({"what": "start_others", "path": str(path), "apart": True, "stay": True})
    wait_until(lambda: len(pids(path)) == 2)
    daemons = pids(path)
    os.kill(nursery._process.pid, signal.SIGKILL)  # noqa: SLF001  # its only name
    wait_until(lambda: nursery.wait(0.0) is None and not any(map(alive, daemons)))
    nursery.close()
    assert not any(map(alive, pids(path)))


@linux
def test_a_daemon_of_a_call_does_not_outlive_the_next_nursery_where_owner_and_server_were_killed(
    nursery: Nursery, tmp_path: Path
) -> None:
    path, note = tmp_path / "others", tmp_path / "note"
    nursery.note(note)
    nursery.begin({"what": "start_others", "path": str(path), "apart": True, "stay": True})
    wait_until(lambda: len(pids(path)) == 2)
    os.kill(nursery._process.pid, signal.SIGKILL)  # noqa: SLF001  # its owner does not notice, as if it were killed too
    with closing(Nursery("faults:call")) as copied:
        copied.note(Path(shutil.copy(note, tmp_path / "copy")))
        assert all(map(alive, pids(path))), "a copy of a folder is another run"
    with closing(Nursery("faults:call")) as other:
        other.note(note)
        assert not any(map(alive, pids(path)))
        other.begin({"what": "echo", "value": "fine"})
        assert ended(other).value == "fine"
    assert not note.exists()


@pytest.mark.parametrize("content", [b"", b"PATH", b"PYDAUB_", b"PYDAUB_0123456789abcdef\n", b"\xff"])
def test_a_note_of_somebody_else_ends_nothing(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    killed: list[str] = []
    (tmp_path / "note").write_bytes(content)
    with monkeypatch.context() as patched:
        patched.setattr("pydaub.isolation.nursery.kill_marked", lambda marker, *_: killed.append(marker))
        nursery.note(tmp_path / "note")
    assert not killed


UNDER_A_LIMIT = """
import resource
from pydaub.isolation.nursery import Limits, Nursery
resource.setrlimit(resource.RLIMIT_DATA, {limits})
nursery = Nursery("faults:call")
nursery.begin({{"what": "echo", "value": "fine"}}, Limits(memory=4 << 30))
print(nursery.wait(60).value)
nursery.begin({{"what": "take_and_give_back", "size": 2 << 30}}, Limits(memory=4 << 30))
print(nursery.wait(60).status)
nursery.close()
"""


@linux
@pytest.mark.parametrize("limits", ["(1 << 30, 1 << 30)", "(1 << 30, resource.RLIM_INFINITY)"])
def test_a_lower_limit_of_the_user_holds(limits: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-c", UNDER_A_LIMIT.format(limits=limits)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["fine", "memory"], done.stderr


@linux
@pytest.mark.parametrize("apart", [False, True])
def test_close_kills_busy_calls_and_the_processes_that_they_started(
    nursery: Nursery, tmp_path: Path, *, apart: bool
) -> None:
    paths = [tmp_path / "busy", tmp_path / "others"]
    nursery.begin({"what": "tell_pid", "path": str(paths[0]), "then": "loop_in_c"})
    nursery.begin({"what": "start_others", "path": str(paths[1]), "apart": apart, "stay": True})
    wait_until(lambda: [len(pids(path)) for path in paths] == [1, 2])
    server = server_of(pids(paths[0])[0])
    nursery.close()
    assert not any(map(alive, [server, *pids(paths[0]), *pids(paths[1])])), "they are gone when `close` returns"
    nursery.close()


def test_a_server_that_hangs_in_an_import_is_terminated() -> None:
    nursery = Nursery("faults:call", ["faults:forever"])
    nursery.begin({"what": "echo", "value": 1})
    nursery.close()
    assert nursery._process.returncode == -signal.SIGTERM  # noqa: SLF001  # by the signal, not after a timeout


@linux
def test_a_cancelled_call_is_killed_and_never_reported(nursery: Nursery, tmp_path: Path) -> None:
    path, gate = tmp_path / "busy", tmp_path / "go"
    key = nursery.begin({"what": "tell_pid", "path": str(path), "then": "loop_in_c"})
    other = nursery.begin({"what": "until", "path": str(gate)})
    wait_until(lambda: pids(path))
    nursery.cancel(key)
    nursery.cancel(key)
    wait_until(lambda: not alive(pids(path)[0]))
    assert nursery.wait(0.1) is None
    gate.touch()
    assert ended(nursery).key == other
    done = nursery.begin({"what": "echo"})
    nursery.cancel(done)
    assert nursery.wait(0.5) is None


OWNER = """
import sys
from faults import forever
from pydaub.isolation.nursery import Nursery
busy, others = sys.argv[1:]
nursery = Nursery("faults:call")
nursery.begin({"what": "tell_pid", "path": busy, "then": "loop_in_c"})
nursery.begin({"what": "tell_pid", "path": busy, "then": "ignore_signals"})
nursery.begin({"what": "start_others", "path": others, "apart": True, "stay": True})
forever()
"""


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_owner(number: signal.Signals, tmp_path: Path) -> None:
    paths = [tmp_path / "busy", tmp_path / "others"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *map(str, paths)], env=environment, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: [len(pids(path)) for path in paths] == [2, 2])
    server = server_of(pids(paths[0])[0])
    owner.send_signal(number)
    owner.wait()
    wait_until(lambda: not any(map(alive, [server, *pids(paths[0]), *pids(paths[1])])))


def test_children_have_the_environment_and_path_of_the_owner_with_safe_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "selectors.py").write_text("raise RuntimeError('this shadows the standard library')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_OWN", "unchanged")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/somewhere/else")])  # users do that
    nursery = Nursery("faults:call")
    nursery.begin({"what": "surroundings"})
    found = ended(nursery)
    nursery.close()
    assert found.status == "ok", found.message
    environment = found.value["environment"]
    assert {name: environment[name] for name in ENVIRONMENT} == ENVIRONMENT
    assert environment["MY_OWN"] == "unchanged"
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert found.value["path"] == list(map(str, sys.path))
    assert found.value["folder"] == str(tmp_path)
    assert found.value["default_sigterm"], "the server ignores it"


def test_the_server_imports_once_what_calls_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preload is a module or a function in it, and is run before the first call."""
    (tmp_path / "slow.py").write_text(
        "import os\nhere = []\ndef ready(): here.append(os.getpid())\ndef tell(): return [*here, os.getpid()]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    nursery = Nursery("slow:tell", ["slow:ready"])
    answers = []
    for _ in range(2):
        nursery.begin({})
        answers.append(ended(nursery).value)
    nursery.close()
    (server, first), (again, second) = answers
    assert server == again
    assert len({server, first, second}) == 3


def test_the_server_imports_what_a_call_needs_before_the_first_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later.py").write_text(
        "import os\nhere = [os.getpid()]\ndef ready(): here.append('ready')\ndef tell(): return [*here, os.getpid()]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with closing(Nursery("faults:call")) as nursery:
        answers = []
        for _ in range(2):
            nursery.begin({"what": "told_by", "module": "later"}, preload=["later", "later:ready"])
            answers.append(ended(nursery).value)
    (server, ready, first), (again, _, second) = answers
    assert ready == "ready"
    assert server == again
    assert len({server, first, second}) == 3


def test_a_server_that_was_started_early_is_taken_by_the_nursery_it_was_meant_for() -> None:
    with Nursery.early("faults:call"):
        early = _spare[0]
        with closing(Nursery.taken("faults:call")) as taken:
            assert taken is early
            taken.begin({"what": "echo", "value": 5})
            assert ended(taken).value == 5
        with closing(Nursery.taken("faults:call")) as another:
            assert another is not early


def test_a_server_that_was_started_early_is_not_taken_where_our_variables_have_changed_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Nursery.early("faults:call"):
        early = _spare[0]
        monkeypatch.setenv("PYDAUB_WEKA_JAR", "another.jar")
        with closing(Nursery.taken("faults:call")) as taken:
            assert taken is not early


@pytest.mark.parametrize("function", ["faults:echo", None])
def test_a_server_that_was_started_early_in_vain_is_ended(function: str | None) -> None:
    with Nursery.early("faults:call"):
        process = _spare[0]._process  # noqa: SLF001  # to see that it has ended
        if function:
            Nursery.taken(function).close()
            assert process.returncode is not None
    assert process.returncode is not None
    assert not _spare


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 1e300, "5", []])
def test_limits_under_which_nothing_could_run_are_refused(limit: Any) -> None:
    message = r"must be a number of {} and less than 1e\+18, got .*\. Leave it out for no limit\.$"
    with pytest.raises(InputError, match="^`learner_timeout` " + message.format("seconds, more than 0")):
        Limits(limit)
    with pytest.raises(InputError, match="^`learner_memory` " + message.format("bytes, more than 1,000,000")):
        Limits(None, limit)
    with pytest.raises(InputError, match="^`learner_memory` " + message.format("bytes, more than 1,000,000")):
        Limits(None, 512)
