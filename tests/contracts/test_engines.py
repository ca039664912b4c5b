"""The laws of `Engine`, run over every engine in the folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable

import pytest

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
from tables import collected

SCHEDULE = Schedule((10, 20, 40, 80, 160))
OUTCOMES: dict[Allocation, Outcome] = {
    Allocation(name, size): Measurement(1.0, start + size / 1000, 0.001)
    for name, start in (("a", 0.3), ("b", 0.5), ("c", 0.4))
    for size in SCHEDULE.sizes
}
OUTCOMES[Allocation("b", 40)] = Failure("error", "no", 0.5)

ENGINES: dict[str, Callable[[], Engine]] = {
    "serial": lambda: SerialEngine(OUTCOMES.__getitem__),
    "table": lambda: TableEngine(Table(OUTCOMES), workers=2),
}
every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)


def test_every_engine_in_the_folder_is_here() -> None:
    assert {module.name for module in pkgutil.iter_modules(engines.__path__)} == {*ENGINES, "base"}


@every_engine
def test_every_submit_is_answered_by_one_collect(make: Callable[[], Engine]) -> None:
    engine = make()
    waiting = list(OUTCOMES)
    collected: dict[Allocation, Outcome] = {}
    clock = 0.0
    while waiting or len(collected) < len(OUTCOMES):
        while waiting and engine.free:
            engine.submit(waiting.pop())
        allocation, outcome = collected(engine)
        assert allocation not in collected
        collected[allocation] = outcome
        assert engine.clock >= clock, "the clock never runs back"
        clock = engine.clock
    assert collected == OUTCOMES


@every_engine
def test_calls_out_of_turn_are_refused(make: Callable[[], Engine]) -> None:
    engine = make()
    with pytest.raises(ProtocolError, match=r"`collect` must follow a `submit`"):
        engine.collect()
    waiting = list(OUTCOMES)
    while engine.free:
        engine.submit(waiting.pop())
    with pytest.raises(ProtocolError, match=r"`submit` must wait"):
        engine.submit(waiting.pop())
    assert collected(engine)[0] in OUTCOMES


@every_engine
def test_nothing_survives_close(make: Callable[[], Engine]) -> None:
    engine = make()
    free = engine.free
    engine.submit(Allocation("a", 10))
    engine.close()
    assert engine.free == free
    with pytest.raises(ProtocolError):
        engine.collect()


@every_engine
def test_every_engine_gives_the_same_answer(make: Callable[[], Engine]) -> None:
    result = run(Daub(["a", "b", "c"], SCHEDULE), make())
    assert result.steps == run(Daub(["a", "b", "c"], SCHEDULE), TableEngine(Table(OUTCOMES))).steps
    assert result.selected == "c"
