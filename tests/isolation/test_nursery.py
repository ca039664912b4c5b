"""The owner's side: nothing is lost when the server dies, and nothing is left when the owner does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import ENOUGH, alive, pids, wait_until
from pydaub.isolation.nursery import ENVIRONMENT, Ended, Nursery

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


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
    """Return the parent of a child."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_waiting_ends_after_its_time_and_loses_nothing(nursery: Nursery, tmp_path: Path) -> None:
    key = nursery.begin({"what": "until", "path": str(tmp_path / "go")})
    for timeout in (0.0, 0.01, -1.0):
        assert nursery.wait(timeout) is None
    (tmp_path / "go").touch()
    assert ended(nursery).key == key
    assert nursery.wait(0.0) is None


def test_calls_end_in_any_order_each_under_its_key(nursery: Nursery, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(8)]
    keys = [nursery.begin({"what": "until", "path": str(path)}) for path in paths]
    assert len(set(keys)) == 8
    found = []
    for path in reversed(paths):
        path.touch()
        found.append(ended(nursery))
    assert [each.key for each in found] == keys[::-1]
    assert len({each.value for each in found}) == 8, "each in a process of its own"


@linux
def test_when_the_server_is_killed_its_calls_are_tried_again_and_then_given_up(
    nursery: Nursery, tmp_path: Path
) -> None:
    path = tmp_path / "pids"
    stuck = nursery.begin({"what": "tell_pid", "path": str(path)})
    wait_until(lambda: len(pids(path)) == 1)
    os.kill(server_of(pids(path)[0]), signal.SIGKILL)
    wait_until(lambda: not alive(pids(path)[0]))
    later = nursery.begin({"what": "until", "path": str(tmp_path / "go")})
    assert nursery.wait(0.0) is None, "a new server is there, and has been asked again"
    wait_until(lambda: len(pids(path)) == 2)
    os.kill(server_of(pids(path)[1]), signal.SIGKILL)
    found = ended(nursery)
    assert (found.key, found.status) == (stuck, "crash")
    assert found.message == "the process that started it was killed twice"
    wait_until(lambda: not alive(pids(path)[1]))
    (tmp_path / "go").touch()
    assert ended(nursery).key == later


@pytest.mark.parametrize("broken", ["faults:abort", "no.such.module", "faults:exit_politely"])
def test_a_server_that_cannot_start_is_a_crash_and_what_cannot_be_imported_is_not(broken: str) -> None:
    nursery = Nursery("faults:call", [broken])
    nursery.begin({"what": "echo", "value": 1})
    assert ended(nursery).status == ("ok" if broken == "no.such.module" else "crash")
    nursery.close()


@linux
@pytest.mark.parametrize("apart", [False, True])
def test_close_ends_what_is_busy_and_what_that_has_started(nursery: Nursery, tmp_path: Path, *, apart: bool) -> None:
    paths = [tmp_path / "busy", tmp_path / "others"]
    nursery.begin({"what": "tell_pid", "path": str(paths[0]), "then": "loop_in_c"})
    nursery.begin({"what": "start_others", "path": str(paths[1]), "apart": apart, "stay": True})
    wait_until(lambda: [len(pids(path)) for path in paths] == [1, 2])
    server = server_of(pids(paths[0])[0])
    nursery.close()
    assert not any(map(alive, [server, *pids(paths[0]), *pids(paths[1])])), "at once, not some time later"
    nursery.close()


@linux
def test_a_cancelled_call_is_killed_and_never_told_of(nursery: Nursery, tmp_path: Path) -> None:
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
def test_nothing_outlives_the_owner(number: signal.Signals, tmp_path: Path) -> None:
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


def test_children_have_the_owners_surroundings_but_for_what_would_harm_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "selectors.py").write_text("raise RuntimeError('not the one of the standard library')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_OWN", "as it was")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/somewhere/else")])  # a common mistake
    nursery = Nursery("faults:call")
    nursery.begin({"what": "surroundings"})
    found = ended(nursery)
    nursery.close()
    assert found.status == "ok", found.message
    environment = found.value["environment"]
    assert {name: environment[name] for name in ENVIRONMENT} == ENVIRONMENT
    assert environment["MY_OWN"] == "as it was"
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert found.value["path"] == list(map(str, sys.path))
    assert found.value["folder"] == str(tmp_path)


def test_what_calls_need_is_imported_once_by_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preload may be a module or a function in it; it is there before the first call."""
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
