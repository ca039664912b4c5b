"""A loop of one's own, killed at every moment: it goes on as if nothing had happened, and needs no other package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pydaub import STRATEGIES, Allocation, Daub, Failure, InputError, Measurement, Outcome, Resumable, Schedule
from pydaub.algorithm.strategies import Strategy

ROOT = Path(__file__).parents[2]
LEARNERS = ("a", "b", "c", "d")
SIZES = (100, 200, 400, 800)


def trained(allocation: Allocation) -> Outcome:
    if allocation == Allocation("d", 200):
        return Failure("error", "no", 1.0)
    score = 0.5 + 0.1 * LEARNERS.index(allocation.learner) - 5 / allocation.size
    return Measurement(min(score + 0.1, 1.0), score, allocation.size / 100)


def new(name: str) -> Strategy:
    return STRATEGIES[name](LEARNERS, Schedule(SIZES))


def undisturbed(name: str) -> tuple[list[Allocation], str | None]:
    loop, asked = Resumable(new(name)), list[Allocation]()
    while (allocation := loop.ask()) is not None:
        asked.append(allocation)
        loop.tell(allocation, trained(allocation))
    return asked, loop.winner


def again(loop: Resumable) -> Resumable:
    """Return the loop as another process would continue it."""
    return Resumable.from_state(json.loads(json.dumps(loop.state(), allow_nan=False)))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_loop_that_is_killed_after_every_step_asks_the_same(name: str) -> None:
    loop, asked = Resumable(new(name)), list[Allocation]()
    while (allocation := loop.ask()) is not None:
        asked.append(allocation)
        loop = again(loop)
        assert loop.running == (allocation,)
        loop.tell(loop.running[0], trained(allocation))
        loop = again(loop)
        assert loop.running == ()
    assert (asked, loop.winner) == undisturbed(name)


def test_several_allocations_may_be_running_at_the_kill() -> None:
    loop = again(asked := Resumable(new("frugal")))
    first = [asked.ask(), asked.ask()]
    loop = again(asked)
    assert list(loop.running) == first
    for allocation in reversed(loop.running):
        loop.tell(allocation, trained(allocation))
    assert again(loop).state() == loop.state()


def test_steering_is_remembered() -> None:
    loop = Resumable(new("daub"))
    loop.steer("drop", "c")
    loop.steer("add", "e")
    assert again(loop).strategy.learners == (*LEARNERS, "e")
    assert again(loop).strategy.dropped == {"c"}


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {}},
        {"events": [{"asked": "nobody", "size": 100}]},
        {"events": [{"asked": "c", "size": 800}]},
        {"events": [{"told": "a", "size": 100, "outcome": {}}]},
        {"events": [3]},
        {"events": [{"steered": "fire", "learner": "a"}]},
    ],
)
def test_what_is_no_state_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="`state` must be what"):
        Resumable.from_state({**Resumable(new("daub")).state(), **change})


def test_only_a_new_strategy_that_can_be_made_again_is_taken() -> None:
    asked = new("daub")
    asked.ask()
    mine = Daub(LEARNERS, Schedule(SIZES), bound=lambda *_: 1.0)
    for strategy, message in ((asked, "must be a new one"), (mine, "made again"), ("daub", "such as Daub")):
        with pytest.raises(InputError, match=message):
            Resumable(strategy)  # type: ignore[arg-type]  # nonsense


def test_a_loop_needs_no_third_party_import() -> None:
    """Without site-packages: the loop of the README, and one that is saved and continued."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (readme,) = [block for block in blocks if "strategy.ask()" in block]
    more = """
import json, sys
from pydaub import Frugal, Resumable
loop = Resumable(Frugal(["tree", "forest"], Schedule((500, 1000))))
while (allocation := loop.ask()) is not None:
    loop.tell(allocation, train(allocation))
    loop = Resumable.from_state(json.loads(json.dumps(loop.state())))
print(loop.winner)
assert not {name.partition(".")[0] for name in sys.modules} - {*sys.stdlib_module_names, "pydaub", "__main__"}
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", readme + more],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("best on all rows: forest\ntree\n")
