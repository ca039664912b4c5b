"""The laws of `Engine`, run over every engine in the folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import faulty
from pydaub import (
    Allocation,
    Daub,
    Engine,
    Failure,
    Measurement,
    Outcome,
    ProtocolError,
    Schedule,
    SerialEngine,
    Table,
    TableEngine,
    engines,
    run,
)
from pydaub.data import prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.evaluate import Task
from pydaub.learners import Learner
from ray_here import cluster, needs_ray
from tables import collected

SCHEDULE = Schedule((10, 20, 40, 80, 160))
STARTS = {"a": 0.3, "b": 0.5, "c": 0.4}
OUTCOMES: dict[Allocation, Outcome] = {
    Allocation(name, size): Measurement(1.0, start + size / 1000, 0.001)
    for name, start in STARTS.items()
    for size in SCHEDULE.sizes
}
OUTCOMES[Allocation("b", 40)] = Failure("error", "ValueError: no", 0.5)


def task() -> Task:
    """Return a task whose learners score, or fail, as the table says."""
    rows, target = np.zeros((167, 1)), np.arange(167) % 2
    data = prepare(rows[:160], target[:160], validation=(rows[160:], target[160:]))
    learners = {
        name: Learner(name, faulty.Learner(start, fails_at=40 if name == "b" else 0)) for name, start in STARTS.items()
    }
    return Task(data, learners, metrics=False)


def on_ray(folder: Path) -> Engine:
    """Return an engine on a cluster of two nodes with a CPU each."""
    from pydaub.engines.cluster.ray import RayEngine  # noqa: PLC0415  # it may not be installed

    cluster(2)
    return RayEngine(task(), folder)


Make: TypeAlias = Callable[[Path], Engine]
ENGINES: dict[str, Make] = {
    "processes": lambda folder: ProcessEngine(task(), 2, folder),
    "ray": on_ray,
    "serial": lambda _: SerialEngine(OUTCOMES.__getitem__),
    "table": lambda _: TableEngine(Table(OUTCOMES), workers=2),
}
every_engine = pytest.mark.parametrize(
    "make", [pytest.param(make, id=name, marks=needs_ray if name == "ray" else []) for name, make in ENGINES.items()]
)


def told(outcome: Outcome) -> Any:
    """Return an outcome without its seconds, which are the engine's own."""
    if isinstance(outcome, Measurement):
        return outcome.train_score, outcome.valid_score
    return outcome.kind, outcome.message


def test_every_engine_in_the_folder_is_here() -> None:
    assert {module.name for module in pkgutil.iter_modules(engines.__path__)} == {*ENGINES, "base"}


@every_engine
def test_every_submit_is_answered_by_one_collect(make: Make, tmp_path: Path) -> None:
    engine = make(tmp_path)
    waiting = list(OUTCOMES)
    found: dict[Allocation, Outcome] = {}
    clock = 0.0
    while waiting or len(found) < len(OUTCOMES):
        while waiting and engine.free:
            engine.submit(waiting.pop())
        allocation, outcome = collected(engine)
        assert allocation not in found
        found[allocation] = outcome
        assert engine.clock >= clock, "the clock never runs back"
        clock = engine.clock
    engine.close()
    assert {each: told(outcome) for each, outcome in found.items()} == {
        each: told(outcome) for each, outcome in OUTCOMES.items()
    }


@every_engine
def test_calls_out_of_turn_are_refused(make: Make, tmp_path: Path) -> None:
    engine = make(tmp_path)
    for timeout in (None, 0.0):
        with pytest.raises(ProtocolError, match=r"`collect` must follow a `submit`"):
            engine.collect(timeout)
    waiting = list(OUTCOMES)
    while engine.free:
        engine.submit(waiting.pop())
    with pytest.raises(ProtocolError, match=r"`submit` must wait"):
        engine.submit(waiting.pop())
    assert collected(engine)[0] in OUTCOMES
    engine.close()


@every_engine
def test_collecting_ends_after_its_time_and_loses_nothing(make: Make, tmp_path: Path) -> None:
    engine = make(tmp_path)
    free = engine.free
    engine.submit(Allocation("a", 10))
    for timeout in (0.0, -1.0):
        assert engine.collect(timeout) is None
    assert engine.free == free - 1, "it is still running"
    allocation, outcome = collected(engine)
    assert allocation == Allocation("a", 10)
    assert told(outcome) == told(OUTCOMES[allocation])
    assert engine.free == free
    engine.submit(Allocation("b", 40))
    done = engine.collect(60.0)
    assert done is not None
    assert told(done[1]) == ("error", "ValueError: no")
    engine.close()


@every_engine
def test_what_is_cancelled_is_not_collected_and_leaves_its_place_to_another(make: Make, tmp_path: Path) -> None:
    engine = make(tmp_path)
    free = engine.free
    engine.submit(Allocation("a", 10))
    engine.cancel(Allocation("a", 10))
    engine.cancel(Allocation("c", 10))
    assert engine.free == free
    engine.submit(Allocation("b", 10))
    assert collected(engine)[0] == Allocation("b", 10)
    engine.submit(Allocation("a", 10))
    assert collected(engine)[0] == Allocation("a", 10)
    engine.close()


@every_engine
def test_nothing_survives_close(make: Make, tmp_path: Path) -> None:
    engine = make(tmp_path)
    free = engine.free
    engine.submit(Allocation("a", 10))
    engine.close()
    assert engine.free == free
    with pytest.raises(ProtocolError):
        engine.collect()
    engine.close()


@every_engine
def test_every_engine_gives_the_same_answer(make: Make, tmp_path: Path) -> None:
    results = [
        run(Daub(["a", "b", "c"], SCHEDULE), engine) for engine in (make(tmp_path), TableEngine(Table(OUTCOMES)))
    ]
    steps = [[(step.allocation, told(step.outcome), step.bound) for step in result.steps] for result in results]
    assert steps[0] == steps[1]
    assert results[0].selected == "c"
