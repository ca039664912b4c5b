"""A node's copy of a run, without a cluster: laying it out, sharing it, deleting it."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faulty
from pydaub import Allocation, InputError, Measurement
from pydaub.data import prepare
from pydaub.engines.cluster import node
from pydaub.engines.cluster.node import IDENTITY, PREFIX, Crate, clear, copy_of, evaluate_there, sweep
from pydaub.evaluation.evaluate import Task
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner
from pydaub.records import outcome_from_json
from tables import fitted_in


def crate_of(identity: str, folder: Path, files: dict[str, list[Any]], **versions: str) -> Crate:
    return Crate(identity, str(folder), files, (), (), versions, lambda reference: reference)


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the copies out of the machine's own temporary folder."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_node_that_sees_the_folder_but_not_the_target_of_its_link_does_not_see_the_rows(tmp_path: Path) -> None:
    (tmp_path / IDENTITY).write_text("this")
    (tmp_path / "data").symlink_to(tmp_path / "not shared")
    crate = crate_of("this", tmp_path, {})
    assert crate.settle() is None
    (tmp_path / "not shared").mkdir()
    assert crate.settle() == tmp_path


def test_a_node_with_other_versions_is_refused(tmp_path: Path) -> None:
    crate = crate_of("x", tmp_path, {}, numpy="0.1")
    with pytest.raises(InputError, match=r"Every node must have numpy 0\.1, as this process has, got "):
        crate.settle()


def test_copies_of_killed_runs_are_deleted_and_those_in_use_are_not(tmp_path: Path, temporary: Path) -> None:
    left, used = temporary / f"{PREFIX}left", temporary / f"{PREFIX}used"
    left.mkdir()
    (left / "lock").touch()
    crate = crate_of("used", tmp_path / "nowhere", {"data/rows": [b"some ", b"rows"], "task.pkl": [b""]})
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
        assert evaluate_there(crate_of("run", tmp_path, {}), arguments, Limits(), files, reusable=False) == {}
        paths = [tmp_path / "task.pkl", *(path for path in (tmp_path / "data").rglob("*") if path.is_file())]
        rows = {str(path.relative_to(tmp_path)): [path.read_bytes()] for path in paths}
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
        assert evaluate_there(crate_of("nowhere", tmp_path, {}), {}, Limits(), {}, reusable=False) == {}
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_workers_that_settle_at_once_unpack_once_and_all_go_on(tmp_path: Path) -> None:
    """Each holds its share of the copy for life, so none may wait for the others to let go of it."""
    unpacked: list[str] = []

    def slowly(reference: str) -> bytes:
        unpacked.append(reference)
        time.sleep(0.3)
        return reference.encode()

    crate = Crate("busy", str(tmp_path), {"task.pkl": ["rows"]}, (), (), {}, slowly)
    workers = [threading.Thread(target=crate.settle, daemon=True) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert not any(worker.is_alive() for worker in workers)
    assert unpacked == ["rows"]
    assert (copy_of("busy") / "task.pkl").read_text() == "rows"
