"""Whatever a call does, its end is reported, other calls are not affected, and no process of it is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from faults import ENOUGH, MB, alive, pids, wait_until
from pydaub.isolation.nursery import Ended, Limits, Nursery

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
SHORT = Limits(seconds=0.5)  # for calls that never end


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery("faults:call", ["faults", "numpy"])
    yield nursery
    nursery.close()


@pytest.fixture
def neighbour(nursery: Nursery, tmp_path: Path) -> Iterator[None]:
    """Another call that runs at the same time, and must succeed."""
    path = tmp_path / "end"
    key = nursery.begin({"what": "until", "path": str(path)})
    yield
    path.touch()
    ended = nursery.wait(ENOUGH)
    assert ended is not None
    assert (ended.key, ended.status) == (key, "ok")


def ended(nursery: Nursery, what: str, limits: Limits = Limits(), **arguments: Any) -> Ended:  # noqa: B008  # frozen
    key = nursery.begin({"what": what, **arguments}, limits)
    ended = nursery.wait(ENOUGH)
    assert ended is not None
    assert ended.key == key
    assert ended.seconds >= 0
    return ended


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize(
    ("what", "status", "message"),
    [
        ("segfault", "crash", "ended by SIGSEGV"),
        ("abort", "crash", "ended by SIGABRT"),
        ("leave", "crash", "ended with exit code 3 and without an answer"),
        ("leave_without_a_word", "crash", "ended with exit code 0 and without an answer"),
        ("last_words", "crash", "ended with exit code 3 and without an answer: the matrix is upset"),
        ("close_everything", "crash", "ended with exit code 0 and without an answer"),
        ("exit_politely", "error", "SystemExit: enough"),
        ("interrupt", "error", "KeyboardInterrupt"),
        ("recurse", "error", "RecursionError: maximum recursion depth exceeded"),
        ("no_json", "error", "TypeError: Object of type set is not JSON serializable"),
        ("raise_mute", "error", "MuteError: (its message cannot be shown)"),
        ("raise_at_length", "error", f"BaseException: {'x' * 485}"),
        ("nowhere", "error", "KeyError: 'nowhere'"),
    ],
)
def test_each_way_to_fail_is_reported(nursery: Nursery, what: str, status: str, message: str) -> None:
    found = ended(nursery, what)
    assert (found.status, found.message, found.value) == (status, message, None)


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize(
    "what",
    [
        "forever",
        "loop",
        "loop_in_c",
        "sleep_with_the_gil",
        "leave_the_group",
        "ignore_signals",
        "print_for_ever",
    ],
)
def test_the_time_limit_holds_whatever_the_call_does(nursery: Nursery, what: str) -> None:
    found = ended(nursery, what, SHORT)
    assert (found.status, found.message) == ("timeout", "longer than 0.5 s")
    assert found.seconds >= 0.5


JUNK = ["5", "[]", "{}", "null", '{"value": 1}', '{"error": 5}', '{"memory": []}', '{"value": ', "[" * 10_000]


@linux
@pytest.mark.parametrize("reusable", [False, True])
def test_a_call_that_writes_to_any_descriptor_spoils_its_own_answer_only(
    nursery: Nursery, tmp_path: Path, *, reusable: bool
) -> None:
    path = tmp_path / "end"
    other = nursery.begin({"what": "until", "path": str(path)})
    for content in JUNK:
        key = nursery.begin({"what": "scribble", "content": f"{content}\n"}, reusable=reusable)
        found = nursery.wait(ENOUGH)
        assert found is not None
        assert (found.key, found.losses) == (key, 0), "the server is still there"
        assert isinstance(found.message, str)
    path.touch()
    found = nursery.wait(ENOUGH)
    assert found is not None
    assert (found.key, found.status, found.losses) == (other, "ok", 0)


@pytest.mark.usefixtures("neighbour")
def test_an_answer_without_end_is_cut_off(nursery: Nursery) -> None:
    found = ended(nursery, "answer_for_ever")
    assert (found.status, found.message) == ("crash", "its answer was longer than 268 MB")


@pytest.mark.usefixtures("neighbour")
def test_a_call_that_is_stopped_is_continued_a_few_times(nursery: Nursery) -> None:
    assert ended(nursery, "stop", times=3).value == "done"
    found = ended(nursery, "stop", times=4)
    assert (found.status, found.message) == ("crash", "stopped 4 times")


@linux
@pytest.mark.usefixtures("neighbour")
def test_processes_that_share_memory_count_it_once(nursery: Nursery) -> None:
    assert ended(nursery, "fork_idle", Limits(memory=400 * MB), size=200 * MB).value == "done"


@linux
@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("kind", ["memfd", "shared_memory", "anonymous"])
def test_the_memory_limit_includes_shared_memory(nursery: Nursery, kind: str) -> None:
    found = ended(nursery, "fill_shared", Limits(seconds=ENOUGH, memory=200 * MB), kind=kind, size=300 * MB)
    assert (found.status, found.message) == ("memory", "more than 210 MB")


@linux
def test_rows_that_lie_in_shared_memory_do_not_count(nursery: Nursery) -> None:
    """They are mapped to read, and shared by all workers."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "large.npy"
        np.save(path, np.ones(200 * MB, np.uint8))
        found = ended(nursery, "sum_of_mapped", Limits(memory=100 * MB), path=str(path))
    assert (found.status, found.value) == ("ok", 200 * MB)


@linux
@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("step", [MB // 16, MB, 64 * MB, 1 << 30])
def test_the_memory_limit_holds_in_small_steps_and_in_one(nursery: Nursery, step: int) -> None:
    found = ended(nursery, "fill_memory", Limits(memory=200 * MB), step=step)
    assert found.status == "memory"
    assert found.peak_mb < 1000


@linux
@pytest.mark.usefixtures("neighbour")
def test_the_memory_limit_includes_processes_that_the_call_starts(nursery: Nursery) -> None:
    found = ended(nursery, "fill_memory_in_others", Limits(memory=200 * MB), step=100 * MB)
    assert (found.status, found.message) == ("memory", "more than 210 MB")


@linux
def test_memory_mapped_files_do_not_count(nursery: Nursery, tmp_path: Path) -> None:
    mapped = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=np.uint8, shape=(300 * MB,))
    mapped[-1] = 1
    mapped.flush()
    found = ended(nursery, "sum_of_mapped", Limits(memory=100 * MB), path=str(tmp_path / "large.npy"))
    assert (found.status, found.value) == ("ok", 1)
    assert found.peak_mb > 300, "it was in memory"


@linux
@pytest.mark.parametrize("memory", [1_000_001, 2_000_000])
def test_tiny_memory_limits_hold_too(nursery: Nursery, memory: int) -> None:
    assert ended(nursery, "fill_memory", Limits(memory=memory)).status == "memory"


@pytest.mark.usefixtures("neighbour")
def test_printing_much_and_reading_input_do_not_block_a_call(nursery: Nursery) -> None:
    assert ended(nursery, "print_much").value == "done"
    assert ended(nursery, "read_input").value == "", "standard input is empty"


def test_any_json_value_can_be_returned(nursery: Nursery) -> None:
    assert ended(nursery, "answer_at_length").value == "x" * 3_000_000
    for value in (None, 0, -1.5, "ü\n\ud800", [1, {"a": []}], float("inf")):
        assert ended(nursery, "echo", value=value).value == value
    nan = ended(nursery, "echo", value=float("nan")).value
    assert nan != nan  # noqa: PLR0124  # nan is unequal to itself


@linux
@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("stay", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_processes_that_a_call_started_end_with_it(
    nursery: Nursery, tmp_path: Path, *, apart: bool, stay: bool
) -> None:
    """Even in a session of their own, and even if the call is killed, while other calls are running."""
    path = tmp_path / "pids"
    limits = Limits(seconds=1) if stay else Limits()
    found = ended(nursery, "start_others", limits, path=str(path), apart=apart, stay=stay)
    assert found.status == ("timeout" if stay else "ok")
    wait_until(lambda: not any(map(alive, pids(path))))


def test_a_limit_that_is_not_reached_changes_nothing(nursery: Nursery) -> None:
    found = ended(nursery, "echo", Limits(seconds=ENOUGH, memory=1 << 30), value="a")
    assert (found.status, found.value, found.message) == ("ok", "a", "")


def pid_of(nursery: Nursery, what: str = "who", limits: Limits = Limits(), **arguments: Any) -> int:  # noqa: B008  # frozen
    key = nursery.begin({"what": what, **arguments}, limits, reusable=True)
    done = nursery.wait(ENOUGH)
    assert done is not None
    assert (done.key, done.status) == (key, "ok")
    return int(done.value["pid"])


def test_reusable_calls_share_a_child_one_after_the_other(nursery: Nursery) -> None:
    first = pid_of(nursery)
    assert [pid_of(nursery) for _ in range(3)] == [first] * 3
    assert ended(nursery, "getpid").value != first  # not a reusable call
    assert pid_of(nursery, limits=Limits(memory=500 * MB)) != first  # another limit
    assert pid_of(nursery, limits=Limits(seconds=50)) == first
    answer = nursery.begin({"what": "answer_at_length"}, reusable=True)
    done = nursery.wait(ENOUGH)
    assert done is not None
    assert (done.key, done.value) == (answer, "x" * 3_000_000)


def test_reusable_calls_at_the_same_time_have_different_children(nursery: Nursery, tmp_path: Path) -> None:
    running = tmp_path / "pids"
    for name in "ab":
        nursery.begin({"what": "tell_pid_until", "path": str(running), "end": str(tmp_path / name)}, reusable=True)
    wait_until(lambda: len(pids(running)) == 2)  # both are running
    assert len(set(pids(running))) == 2
    for name in "ab":
        (tmp_path / name).touch()
    assert {done.value["pid"] for done in (nursery.wait(ENOUGH), nursery.wait(ENOUGH)) if done} == set(pids(running))
    assert {pid_of(nursery), pid_of(nursery)} <= set(pids(running))


@pytest.mark.parametrize(
    ("what", "arguments", "limits"),
    [
        ("who", {"reusable": False}, Limits()),
        ("who_with_another", {}, Limits()),
        ("who", {"held": 300 * MB}, Limits(memory=600 * MB)),
    ],
    ids=["said so", "left a process running", "keeps much memory"],
)
@linux
def test_a_child_is_not_reused_after_a_call_that(nursery: Nursery, what: str, arguments: Any, limits: Limits) -> None:
    used = pid_of(nursery, what, limits, **arguments)
    assert pid_of(nursery, limits=limits) != used
    wait_until(lambda: not alive(used))


@linux
def test_limits_hold_in_a_reused_child(nursery: Nursery) -> None:
    limits = Limits(seconds=ENOUGH, memory=400 * MB)
    used = pid_of(nursery, limits=limits)
    key = nursery.begin({"what": "forever"}, Limits(seconds=0.3, memory=400 * MB), reusable=True)
    done = nursery.wait(ENOUGH)
    assert done is not None
    assert (done.key, done.status, done.message) == (key, "timeout", "longer than 0.3 s")
    wait_until(lambda: not alive(used))
    again = pid_of(nursery, limits=limits)
    assert again != used
    nursery.begin({"what": "fill_memory"}, limits, reusable=True)
    done = nursery.wait(ENOUGH)
    assert done is not None
    assert done.status == "memory"
    assert pid_of(nursery, limits=limits) != again


@linux
def test_an_idle_child_that_is_killed_is_replaced(nursery: Nursery) -> None:
    used = pid_of(nursery)
    os.kill(used, signal.SIGKILL)
    wait_until(lambda: not alive(used))
    assert pid_of(nursery) != used


@linux
def test_the_peak_memory_is_that_of_the_call_alone(nursery: Nursery) -> None:
    peaks = []
    for what, arguments in (("who", {}), ("take_and_give_back", {"size": 200 * MB}), ("who", {})):
        nursery.begin({"what": what, **arguments}, reusable=True)
        done = nursery.wait(ENOUGH)
        assert done is not None
        peaks.append(done.peak_mb)
    assert peaks[0] > 1
    assert peaks[1] > peaks[2] + 150
