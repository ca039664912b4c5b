"""An engine is found by its name, and places that make no sense are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faulty
from pydaub import InputError
from pydaub.data import prepare
from pydaub.engines.registry import ENGINES, Where, open_engine, workers_from
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import Limits
from pydaub.isolation.proc import available_memory, cores
from pydaub.learners import Learner

LIMITED = Limits(5.0, 1_000_000_000)


def task() -> Task:
    data = prepare(np.zeros((50, 1)), np.arange(50) % 2)
    return Task(data, {"it": Learner("it", faulty.Learner())})


@pytest.mark.parametrize(
    ("where", "name", "description"),
    [
        (Where(), "serial", "this process"),
        (Where(engine="serial"), "serial", "this process"),
        (Where(1), "processes", "1 worker"),
        (Where(2), "processes", "2 workers"),
        (Where(limits=LIMITED), "processes", f"{cores()} worker{'' if cores() == 1 else 's'}"),
        (Where(2, engine="processes"), "processes", "2 workers"),
        (Where(engine="ray"), "ray", "a Ray cluster"),
        (Where(3, LIMITED, engine="ray", address="local"), "ray", "a Ray cluster"),
    ],
)
def test_an_engine_is_named_or_chosen(where: Where, name: str, description: str) -> None:
    assert (where.name, where.description) == (name, description)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"engine": "slurm"}, f"`engine` must be one of {', '.join(ENGINES)}, got 'slurm'"),
        ({"engine": 5}, "`engine` must be one of"),
        ({"workers": 2, "address": "local"}, "`address` must go with the engine ray, got 'processes'"),
        ({"address": "local"}, "`address` must go with the engine ray, got 'serial'"),
        ({"workers": 0}, "`workers` must be at least 1, got 0"),
        ({"workers": 1.5, "engine": "ray"}, r"`workers` must be a whole number, got 1\.5"),
        ({"workers": 1, "engine": "serial"}, "limits for a training must be left out with the engine serial"),
        ({"limits": LIMITED, "engine": "serial"}, "limits for a training must be left out with the engine serial"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Where(**parameters)


@pytest.mark.parametrize(
    ("n_jobs", "limits", "engine", "name", "workers"),
    [
        (None, Limits(), None, "serial", None),
        (None, LIMITED, None, "processes", 1),
        (None, Limits(), "processes", "processes", 1),
        (3, Limits(), None, "processes", 3),
        (np.int64(3), Limits(), None, "processes", 3),
        (-1, Limits(), None, "processes", cores()),
        (-10_000, Limits(), None, "processes", 1),
        (None, Limits(), "ray", "ray", None),
        (-1, Limits(), "ray", "ray", None),
        (3, Limits(), "ray", "ray", 3),
    ],
)
def test_jobs_are_counted_as_scikit_learn_does(
    n_jobs: Any, limits: Limits, engine: str | None, name: str, workers: int | None
) -> None:
    where = Where(workers_from(n_jobs, limits, engine), limits, engine=engine)
    assert (where.name, where.workers) == (name, workers)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(n_jobs: Any) -> None:
    with pytest.raises(InputError, match="`n_jobs` must be a whole number other than 0, or None, got"):
        workers_from(n_jobs, Limits(), None)


def test_the_threads_of_all_workers_do_not_exceed_the_cores() -> None:
    assert Where().threads == Where(1).threads == cores()
    for workers in (2, 3, 10_000):
        assert Where(workers).threads == max(1, cores() // workers)
    assert Where(engine="ray").threads == 1, "each evaluation reserves one CPU of its node"


def test_workers_share_most_of_the_memory_unless_a_limit_is_set() -> None:
    available = available_memory()
    assert available is not None
    memory = Where(4).with_default_memory().limits.memory
    assert memory is not None
    assert 0.1 * available < memory < 0.3 * available, "a quarter of 80 %; what is available changes all the time"
    for unchanged in (Where(4, LIMITED), Where(), Where(engine="ray")):
        assert unchanged.with_default_memory() == unchanged


def test_a_task_that_can_be_resumed_in_this_process_starts_learners_from_scratch(tmp_path: Path) -> None:
    assert not Where(folder=tmp_path).suited(task()).reuse
    for where in (Where(), Where(1, folder=tmp_path), Where(1), Where(engine="ray", folder=tmp_path)):
        assert where.suited(task()).reuse


def test_nothing_needs_to_be_connected_on_this_machine() -> None:
    assert Where().connect() is None
    assert Where(2).connect() is None


def test_a_temporary_folder_is_deleted_and_a_given_one_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with open_engine(task(), Where(1)) as engine:
        assert engine.free == 1
        assert [path.name for path in temporary.iterdir() if (path / "task.pkl").exists()]
    assert not list(temporary.iterdir())
    with open_engine(task(), Where(1, folder=tmp_path / "given")):
        pass
    assert (tmp_path / "given" / "task.pkl").exists()
