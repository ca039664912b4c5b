"""A node's copy of a run, without a cluster: laying it out, sharing it, deleting it."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import faulty
from pydaub import Allocation, ClusterLost, InputError, Measurement
from pydaub.data import prepare
from pydaub.engines.cluster import node
from pydaub.engines.cluster.node import IDENTITY, PREFIX, Crate, clear, copy_of, evaluate_there, read_part, sweep
from pydaub.evaluation.evaluate import Task
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner
from pydaub.records import outcome_from_json
from tables import fitted_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.data.schema import Array


def crate_of(identity: str, folder: Path, files: tuple[str, ...], **versions: str) -> Crate:
    sizes = {name: (folder / name).stat().st_size for name in files}
    return Crate(identity, str(folder), sizes, (), (), versions, parts)


def parts(path: str, start: int, stop: int) -> Iterator[Array]:
    """Yield a file on this machine in parts, as Ray does for one on another."""
    yield from (read_part(path, place, min(3, stop - place)) for place in range(start, stop, 3))


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the copies out of the machine's own temporary folder."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_node_that_sees_the_folder_but_not_the_target_of_its_link_does_not_see_the_rows(tmp_path: Path) -> None:
    (tmp_path / IDENTITY).write_text("this")
    (tmp_path / "data").symlink_to(tmp_path / "not shared")
    crate = crate_of("this", tmp_path, ())
    assert crate.settle() == copy_of("this")
    (tmp_path / "not shared").mkdir()
    assert crate.settle() == tmp_path


def test_a_node_with_other_versions_is_refused(tmp_path: Path) -> None:
    crate = crate_of("x", tmp_path, (), numpy="0.1")
    with pytest.raises(InputError, match=r"Every node must have numpy 0\.1, as this process has, got "):
        crate.settle()


def test_copies_of_killed_runs_are_deleted_and_those_in_use_are_not(tmp_path: Path, temporary: Path) -> None:
    left, used = temporary / f"{PREFIX}left", temporary / f"{PREFIX}used"
    left.mkdir()
    (left / "lock").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows").write_bytes(b"some rows")
    (tmp_path / "task.pkl").touch()
    crate = crate_of("used", tmp_path, ("data/rows", "task.pkl"))
    assert crate.settle() == used
    assert (used / "data" / "rows").read_bytes() == b"some rows"
    assert not left.exists()
    sweep()
    assert used.exists(), "this process holds it"
    assert crate.settle() == used
    clear("used")
    assert not used.exists()


def test_a_worker_away_from_the_run_fetches_the_rows_once_and_returns_the_files_it_leaves(tmp_path: Path) -> None:
    """In this process, as Ray would call it in a worker on another machine."""
    data = prepare(np.zeros((50, 1)), np.arange(50) % 2)
    bench = Workbench(tmp_path)
    bench.lay_out(Task(data, {"it": Learner("it", faulty.Learner())}, metrics="none"))
    allocation = Allocation("it", data.full_size)
    arguments = {"call": "evaluate", "folder": str(tmp_path), "learner": "it", "size": allocation.size, "above": -1.0}
    files = bench.pack(allocation)
    try:
        paths = [tmp_path / "task.pkl", *(path for path in (tmp_path / "data").rglob("*") if path.is_file())]
        rows = tuple(str(path.relative_to(tmp_path)) for path in paths)
        answer = evaluate_there(crate_of("run", tmp_path, rows), arguments, Limits(), files, reusable=False)
    finally:
        node._close()  # noqa: SLF001  # Ray's worker would end with its process
    assert answer["away"]
    outcome = outcome_from_json(answer["ended"]["value"])
    assert isinstance(outcome, Measurement)
    assert not list((copy_of("run") / "fitted").iterdir()), "the fitted learner is sent back"
    bench.unpack(answer["files"])
    assert fitted_in(bench, allocation, outcome.valid_score) is not None


def test_a_worker_that_ignores_interruptions_can_be_cancelled(tmp_path: Path) -> None:
    """Ray cancels by SIGINT, which a node ignores if a script has started it in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyError):  # no learner is named
            evaluate_there(crate_of("nowhere", tmp_path, ()), {}, Limits(), {}, reusable=False)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_workers_that_settle_at_once_unpack_once_and_all_go_on(tmp_path: Path) -> None:
    """Each holds its share of the copy for life, so none may wait for the others to let go of it."""
    unpacked: list[str] = []

    def slowly(path: str, _start: int, _stop: int) -> Iterator[bytes]:
        unpacked.append(path)
        time.sleep(0.3)
        yield b"rows"

    crate = Crate("busy", str(tmp_path), {"task.pkl": 4}, (), (), {}, slowly)
    workers = [threading.Thread(target=crate.settle, daemon=True) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert not any(worker.is_alive() for worker in workers)
    assert unpacked == [str(tmp_path / "task.pkl")]
    assert (copy_of("busy") / "task.pkl").read_text() == "rows"


def test_a_copy_goes_on_where_a_killed_worker_has_left_it_and_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"0123456789")
    asked: list[int] = []

    def until_killed(path: str, start: int, stop: int) -> Iterator[Array]:
        for place, part in enumerate(parts(path, start, stop)):
            if not asked and place == 2:
                asked.append(start)
                raise ConnectionError
            yield part
        asked.append(start)

    crate = Crate("cut", str(tmp_path), {"rows": 10}, (), (), {}, until_killed)
    with pytest.raises(ConnectionError):
        crate.settle()
    assert (crate.settle() / "rows").read_bytes() == b"0123456789"
    assert asked == [0, 6]
    with pytest.raises(EOFError, match="rows has become shorter"):
        Crate("short", str(tmp_path), {"rows": 11}, (), (), {}, parts).settle()


def test_a_full_disk_is_reported_with_what_to_do_and_the_copy_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/full is a file that is always full."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "there"))
    (tmp_path / "there").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows").write_bytes(b"0123456789")
    (copy_of("full") / "data").mkdir(parents=True)
    (copy_of("full") / "data" / "rows").symlink_to("/dev/full")
    with pytest.raises(ClusterLost, match=r"^The rows, 0\.0 GB, do not fit into .*there on the node .*TMPDIR"):
        crate_of("full", tmp_path, ("data/rows",)).settle()
    assert not (copy_of("full") / "data").exists()
