"""What is left of a run: an interval that shrinks to nothing, on every prefix of every journal."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path

import pytest

from pydaub import (
    STRATEGIES,
    Account,
    Allocation,
    Asked,
    Daub,
    Evaluated,
    Frugal,
    Halving,
    Journal,
    Limited,
    Measurement,
    Schedule,
    Scores,
    Selected,
    Started,
    Strategy,
    Submitted,
    TableEngine,
    run,
)
from pydaub.events import Event, Resumed, Steered
from pydaub.runs import remaining as module
from pydaub.runs.journal import read
from pydaub.runs.loop import Loop
from pydaub.runs.remaining import Simulation, expected_seconds, factors, forget, fraction, remaining
from runs.recording import facts, recorded
from tables import random_schedule, random_table

RECORDED = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))
FULL = 4000


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written matters here, not the disk."""
    monkeypatch.setattr("os.fdatasync", lambda _descriptor: None)


def check(account: Account) -> None:
    left, state = remaining(account), account.state
    share = fraction(account, left)
    if state in ("running", "paused") and any(
        step.outcome for step in account.steps if isinstance(step.outcome, Measurement)
    ):
        assert left is not None
    if left is None:
        assert share == (1.0 if state == "finished" else None)
        return
    assert state in ("running", "paused")
    assert 0 <= left.low <= left.middle <= left.high
    assert share is not None
    assert 0 <= share < 1, "1 only at the end"


@pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_on_every_prefix_it_is_an_interval_and_changes_nothing(kind: type[Strategy], seed: int, tmp_path: Path) -> None:
    _, events, _ = recorded(kind, seed, tmp_path, steer=seed == 1)
    account, untouched = Account.begun(events[0], held=True), Account.begun(events[0], held=True)
    for event in events[1:]:
        account.take(event)
        untouched.take(event)
        check(account)
        assert facts(account) == facts(untouched)
    account.held = False
    check(account)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_progress_on_journals_of_real_runs_falls_back_little(path: Path) -> None:
    events = read(path)
    account, most = Account.begun(events[0], held=True), 0.0
    for number, event in enumerate(events[1:]):
        account.take(event)
        if number % 5 == 0 and (share := fraction(account, remaining(account))) is not None:
            assert share > most - 0.4
            most = max(most, share)
    assert fraction(account, remaining(account)) == 1.0
    assert most < 1


def begun(*events: Event, names: tuple[str, ...] = ("tree", "forest")) -> Account:
    strategy = Frugal(names, Schedule((1000, FULL)), scores=Scores("accuracy", 500))
    account = Account.begun(Started({**strategy.settings, "scores": Scores("accuracy", 500).to_json()}), held=True)
    for event in events:
        account.take(event)
    return account


def told(name: str, size: int, score: float, seconds: float, clock: float) -> list[Event]:
    allocation = Allocation(name, size)
    return [
        Asked(allocation, None),
        Submitted(allocation),
        Evaluated(allocation, Measurement(None, score, seconds), clock),
    ]


FIRST = [*told("tree", 1000, 0.7, 10.0, 10.0), *told("forest", 1000, 0.8, 20.0, 30.0)]
NEXT = Allocation("forest", FULL)


def test_a_training_that_goes_on_leaves_less_and_one_that_is_late_leaves_more() -> None:
    account = begun(*FIRST)
    asked = account.ask()
    assert asked is not None
    account.take(Submitted(asked.allocation))
    now, later, late = (remaining(account, elapsed) for elapsed in (30.0, 50.0, 5000.0))
    assert now is not None
    assert later is not None
    assert late is not None
    # By the forecasts alone: the factors on them grow at the beginning of a run.
    assert (expected_seconds(account, 50.0) or math.inf) < (expected_seconds(account, 30.0) or 0.0)
    assert late.middle > 100, "it has taken ever so long, and so it may well take long"
    shares = [fraction(account, each, elapsed) for each, elapsed in ((now, 30.0), (later, 50.0))]
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0] < shares[1]


def test_a_time_limit_caps_it() -> None:
    account = begun(Limited(31.0), *FIRST)
    left = remaining(account)
    assert left is not None
    assert left.high <= 1.0
    account.take(Resumed(30.0))
    free = remaining(account)
    assert free is not None
    assert free.high > 1.0, "the limit was that of the process before"


def test_the_time_of_a_pause_is_not_the_price_of_training() -> None:
    plain, paused = begun(*FIRST), begun(*FIRST, Steered("pause", None, 30.0), Steered("resume", None, 9030.0))
    assert paused.idle == 9000.0
    assert remaining(paused) == remaining(plain)


@pytest.mark.parametrize("kind", [Frugal, Daub, Halving])
def test_a_thousand_learners_are_not_simulated_before_they_are_tried(
    kind: type[Strategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"learner {number}" for number in range(1000)]
    strategy = kind(names, Schedule((100, 1000, 10_000)))
    account = Account(strategy, held=True)
    for _ in range(30):
        asked = account.ask()
        assert asked is not None
        account.take(Evaluated(asked.allocation, Measurement(0.9, 0.5, 1.0), account.clock + 1.0))
    with monkeypatch.context() as patched:
        patched.setattr(module, "_copied", lambda _: pytest.fail("it must not be copied"))
        left = remaining(account)
    assert left is not None
    assert left.high > 900


def test_with_many_learners_few_steps_are_simulated_and_the_interval_is_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(
        Daub([f"learner {number}" for number in range(500)], Schedule((10, 100, 1000, 10_000))), held=True
    )
    for _ in range(1400):
        asked = account.ask()
        assert asked is not None
        account.take(Evaluated(asked.allocation, Measurement(0.9, 0.5, 1.0), account.clock + 1.0))
    trainings, _, ended = Simulation(account).run()
    assert (len(trainings), ended) == (60, False)
    cut = remaining(account)
    forget(account)
    monkeypatch.setattr(module, "CUT", (1.0, 1.0, 1.0))
    usual = remaining(account)
    assert cut is not None
    assert usual is not None
    assert cut.high / cut.low == pytest.approx(4 * usual.high / usual.low)


def test_a_simulation_ends() -> None:
    """With so many learners that the bound on its steps counts."""
    rng = random.Random(1)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule)
    strategy = Daub(
        [f"{name} {copy}" for name in table.learners for copy in range(40)][: module.MOST_UNTRIED], schedule
    )
    account = Account(strategy, held=True)
    asked = account.ask()
    assert asked is not None
    account.take(Evaluated(asked.allocation, Measurement(0.9, 0.5, 1.0), 1.0))
    trainings, untried, _ = Simulation(account).run()
    assert 0 < len(trainings) <= module.MOST_STEPS
    assert not untried


def test_factors_lie_in_order_and_change_smoothly() -> None:
    for strategy in ("frugal", "daub", "halving", "another"):
        for untried in (True, False):
            found = [factors(strategy, place / 100, untried=untried) for place in range(101)]
            assert all(low <= middle <= high for low, middle, high in found)
            for before, after in pairwise(found):
                assert all(0.5 < new / old < 2 for old, new in zip(before, after, strict=True))


def test_a_run_with_a_time_limit_says_so_in_its_journal(tmp_path: Path) -> None:
    rng = random.Random(3)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule)
    path = tmp_path / "journal.jsonl"
    strategy = Halving(table.learners, schedule)
    with Journal(path, strategy.settings) as journal:
        run(strategy, TableEngine(table), journal, time_limit=1e6)
    assert [event for event in read(path) if isinstance(event, Limited)] == [Limited(1e6)]
    assert isinstance(read(path)[-1], Selected)
    account = Loop(Halving(table.learners, schedule), TableEngine(table)).run()
    assert account.until is None


def test_an_estimate_is_kept_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    account = begun(*FIRST)
    first = remaining(account)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_copied", lambda _: pytest.fail("it must not be made again"))
        assert remaining(account) == first
    forget(account)
    assert remaining(account) == first
