"""The laws of `Engine` hold for every engine, and those of `TaskEngine` for every engine of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

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
    run,
)
from pydaub.data import prepare
from pydaub.engines.base import TaskEngine
from pydaub.engines.registry import ENGINES, Where, open_engine
from pydaub.errors import FitFailed
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
    """Return a task whose learners score, or fail, as `OUTCOMES` says."""
    rows, target = np.zeros((167, 1)), np.arange(167) % 2
    data = prepare(rows[:160], target[:160], validation=(rows[160:], target[160:]))
    learners = {
        name: Learner(name, faulty.Learner(start, fails_at=40 if name == "b" else 0)) for name, start in STARTS.items()
    }
    return Task(data, learners, metrics="none")


WORKERS = {"serial": None, "processes": 2, "ray": None}
OTHERS: dict[str, Callable[[], Engine]] = {
    "function": lambda: SerialEngine(OUTCOMES.__getitem__),
    "table": lambda: TableEngine(Table(OUTCOMES), workers=2),
}


@pytest.fixture(scope="module")
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Any]]:
    """Return a function that opens an engine; the module keeps its folder until the end."""
    name = request.param
    if name == "ray":
        cluster(2)
    with ExitStack() as stack:

        def opened() -> Any:
            if name in OTHERS:
                return OTHERS[name]()
            return stack.enter_context(
                open_engine(task(), Where(WORKERS[name], folder=tmp_path_factory.mktemp(name), engine=name))
            )

        yield opened


@pytest.fixture(scope="module")
def engine(make: Callable[[], Any]) -> Any:
    """Return an engine that several tests share; each of them must leave it idle."""
    return make()


def over(names: tuple[str, ...]) -> pytest.MarkDecorator:
    marked = [pytest.param(name, id=name, marks=needs_ray if name == "ray" else []) for name in names]
    return pytest.mark.parametrize("make", marked, indirect=True, scope="module")


every_engine = over((*ENGINES, *OTHERS))
every_task_engine = over(ENGINES)


def plain(outcome: Outcome) -> Any:
    """Return an outcome without its seconds, which differ between engines."""
    if isinstance(outcome, Measurement):
        return outcome.train_score, outcome.valid_score
    assert isinstance(outcome, Failure)
    return outcome.kind, outcome.message


@every_engine
def test_every_submit_is_answered_by_one_collect(engine: Engine) -> None:
    waiting = list(OUTCOMES)
    found: dict[Allocation, Outcome] = {}
    clock = engine.clock
    while waiting or len(found) < len(OUTCOMES):
        while waiting and engine.free:
            engine.submit(waiting.pop())
        allocation, outcome = collected(engine)
        assert allocation not in found
        found[allocation] = outcome
        assert engine.clock >= clock, "the clock never runs backwards"
        clock = engine.clock
    assert {each: plain(outcome) for each, outcome in found.items()} == {
        each: plain(outcome) for each, outcome in OUTCOMES.items()
    }


@every_engine
def test_calls_out_of_turn_are_refused(engine: Engine) -> None:
    for timeout in (None, 0.0):
        with pytest.raises(ProtocolError, match=r"`collect` must follow a `submit`"):
            engine.collect(timeout)
    waiting = list(OUTCOMES)
    submitted = set()
    while engine.free:
        submitted.add(waiting[-1])
        engine.submit(waiting.pop())
    with pytest.raises(ProtocolError, match=r"`submit` must wait"):
        engine.submit(waiting.pop())
    assert {collected(engine)[0] for _ in submitted} == submitted


@every_engine
def test_collect_returns_after_its_timeout_and_loses_nothing(engine: Engine) -> None:
    free = engine.free
    engine.submit(Allocation("a", 10))
    for timeout in (0.0, -1.0):
        assert engine.collect(timeout) is None
    assert engine.free == free - 1, "it is still running"
    allocation, outcome = collected(engine)
    assert allocation == Allocation("a", 10)
    assert plain(outcome) == plain(OUTCOMES[allocation])
    assert engine.free == free
    engine.submit(Allocation("b", 40))
    done = engine.collect(60.0)
    assert done is not None
    assert plain(done[1]) == ("error", "ValueError: no")


@every_engine
def test_a_cancelled_evaluation_is_never_collected_and_frees_its_worker(engine: Engine) -> None:
    free = engine.free
    engine.submit(Allocation("a", 10))
    engine.cancel(Allocation("a", 10))
    engine.cancel(Allocation("c", 10))
    assert engine.free == free
    for name in ("b", "a"):
        engine.submit(Allocation(name, 10))
        assert collected(engine)[0] == Allocation(name, 10)


@every_task_engine
def test_a_learner_that_is_admitted_is_evaluated_like_the_others(engine: TaskEngine) -> None:
    engine.admit("d", Learner("d", faulty.Learner(0.6)))
    engine.submit(Allocation("d", 20))
    assert plain(collected(engine)[1]) == (1.0, 0.62)


@every_task_engine
def test_the_best_fitted_learner_is_kept_and_any_can_be_fitted_again(make: Callable[[], TaskEngine]) -> None:
    """Even after the engine was closed: `run` closes it."""
    engine = make()
    for allocation in (Allocation("c", 20), Allocation("a", 160), Allocation("b", 20)):
        engine.submit(allocation)
        collected(engine)
    engine.close()

    def sizes(**references: Any) -> list[int]:
        return [fitted.size_ for fitted in engine.loaded(references).values()]

    best, full = Allocation("b", 20), Allocation("a", 160)
    kept = {"b": engine.fitted(best, 0.5 + 20 / 1000), "a": engine.fitted(full, 0.3 + 160 / 1000)}
    assert sizes(**kept) == [20, 160], "the best of all, and the best of the full size"
    assert engine.handle("faulty:sizes", kept, unit="rows") == {"b": "20 rows", "a": "160 rows", "all": "160 rows"}
    failure = engine.handle("faulty:exits", kept)
    assert failure == Failure("error", "SystemExit: enough", failure.seconds)
    assert engine.fitted(Allocation("c", 20), 0.4 + 20 / 1000) is None, "worse than another"
    assert engine.fitted(best, 0.5) is None, "another score"
    good, bad = Allocation("c", 160), Allocation("b", 40)
    found = engine.fit([good, full], with_validation=True)
    assert sizes(c=found[good], a=found[full]) == [167, 167]
    found = engine.fit([good, bad], with_validation=False)
    assert sizes(c=found[good]) == [160]
    with pytest.raises(FitFailed, match=r"b could not be refitted: error: ValueError: no\. Raise the limits"):
        raise found[bad]
    engine.close()


@every_engine
def test_nothing_survives_close(make: Callable[[], Engine]) -> None:
    engine = make()
    free = engine.free
    engine.submit(Allocation("a", 10))
    engine.close()
    assert engine.free == free
    with pytest.raises(ProtocolError):
        engine.collect()
    engine.close()


@every_engine
def test_every_engine_gives_the_same_answer(make: Callable[[], Engine]) -> None:
    results = [run(Daub(["a", "b", "c"], SCHEDULE), engine) for engine in (make(), TableEngine(Table(OUTCOMES)))]
    steps = [[(step.allocation, plain(step.outcome), step.bound) for step in result.steps] for result in results]
    assert steps[0] == steps[1]
    assert results[0].selected == "c"


def test_every_engine_of_the_registry_is_tested_here() -> None:
    assert set(WORKERS) == set(ENGINES)
    for name in ENGINES:
        assert Where(WORKERS[name], engine=name).name == name
