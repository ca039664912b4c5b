"""The laws of `Strategy`, run over every strategy in the folder on random outcomes."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import pkgutil
import random
from collections.abc import Callable
from importlib import import_module
from itertools import islice, pairwise
from typing import Any

import pytest

from pydaub import (
    STRATEGIES,
    AllLearnersFailed,
    Allocation,
    Failure,
    InputError,
    Measurement,
    Outcome,
    ProtocolError,
    Schedule,
    Steerable,
    Strategy,
    Table,
)
from pydaub.algorithm import strategies
from tables import random_schedule, random_table

SEEDS = range(50)
SCHEDULE = Schedule.geometric(1000, 10, 2)
Look = Callable[[Strategy], object]

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def every_seed(test: Callable[[type[Strategy], int], None]) -> Callable[[type[Strategy]], None]:
    """Run a test for each seed; these are too many for tests of their own."""

    def run(kind: type[Strategy]) -> None:
        for seed in SEEDS:
            try:
                test(kind, seed)
            except BaseException as error:
                error.add_note(f"with seed {seed}")
                raise

    run.__doc__ = test.__doc__
    return run


def random_case(seed: int, failures: float = 0.15) -> tuple[Table, Schedule]:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    return random_table(rng, schedule, grid=rng.choice([8, 1000]), failures=failures), schedule


def drive(strategy: Strategy, table: Table, look: Look = lambda _: None) -> list[tuple[Allocation, Outcome]]:
    """Carry the strategy through, looking at it before each ask and before each tell."""
    done = []
    look(strategy)
    while (allocation := strategy.ask()) is not None:
        look(strategy)
        done.append((allocation, table[allocation]))
        strategy.tell(*done[-1])
        look(strategy)
    return done


def driven(
    kind: type[Strategy], table: Table, schedule: Schedule, look: Look = lambda _: None
) -> tuple[Strategy, list[tuple[Allocation, Outcome]] | None]:
    """Return the strategy at its end and what it asked, or None where every learner failed."""
    strategy = kind(table.learners, schedule)
    try:
        return strategy, drive(strategy, table, look)
    except AllLearnersFailed:
        return strategy, None


def test_every_strategy_in_the_folder_is_known_by_name() -> None:
    found = set()
    for module in pkgutil.iter_modules(strategies.__path__):
        for value in vars(import_module(f"pydaub.algorithm.strategies.{module.name}")).values():
            if inspect.isclass(value) and issubclass(value, Strategy) and value.__module__.endswith(module.name):
                found.add(value)
    shared = {Strategy, Steerable, import_module("pydaub.algorithm.strategies.rounds").Rounds}
    assert found - shared == set(STRATEGIES.values())
    for name, kind in STRATEGIES.items():
        assert kind.__module__ == f"pydaub.algorithm.strategies.{name}"
        assert kind(["a"], SCHEDULE).settings["strategy"] == name


@every_strategy
@every_seed
def test_a_run_ends_with_a_winner_that_was_measured_at_the_full_size(kind: type[Strategy], seed: int) -> None:
    table, schedule = random_case(seed)
    strategy, done = driven(kind, table, schedule)
    if done is None:
        assert set(strategy.failures) == set(table.learners), "the run ends without winner only if all failed"
        assert strategy.winner is None
        return
    assert strategy.winner is not None
    outcomes = dict(done)
    assert len(outcomes) == len(done), "nothing is asked twice"
    assert isinstance(outcomes[Allocation(strategy.winner, schedule.full_size)], Measurement)
    assert strategy.ask() is None
    assert list(strategy.forecast()) == [], "nothing more to expect"
    assert strategy.racing <= set(table.learners) - set(strategy.failures)
    for learner in table.learners:
        mine = [(allocation.size, outcome) for allocation, outcome in done if allocation.learner == learner]
        sizes = [size for size, _ in mine]
        assert all(a < b for a, b in pairwise(sizes)), "sizes strictly grow"
        assert set(sizes) <= set(schedule.sizes)
        assert not any(isinstance(outcome, Failure) for _, outcome in mine[:-1]), "who failed is not asked again"
        assert (learner in strategy.failures) == (bool(mine) and isinstance(mine[-1][1], Failure))


@every_strategy
@every_seed
def test_only_who_is_racing_is_asked(kind: type[Strategy], seed: int) -> None:
    table, schedule = random_case(seed, failures=0.0)
    strategy = kind(table.learners, schedule)
    racing = strategy.racing
    assert racing == set(table.learners)
    while (allocation := strategy.ask()) is not None:
        assert allocation.learner in racing
        assert allocation.learner in strategy.racing
        strategy.tell(allocation, table[allocation])
        assert strategy.racing <= racing, "who is out stays out, unless others fail"
        racing = strategy.racing


@every_strategy
@every_seed
def test_looking_changes_nothing(kind: type[Strategy], seed: int) -> None:
    """What is asked is a function of what was told, whatever else is called in between."""
    table, schedule = random_case(seed)
    rng = random.Random(seed)

    def look(strategy: Strategy) -> None:
        list(islice(strategy.forecast(), rng.randint(0, 50)))
        _ = strategy.winner, strategy.failures, strategy.settings, repr(strategy)
        for learner in strategy.learners:
            bound = strategy.bound(learner)
            assert bound is None or not math.isnan(bound)
            assert strategy.curve(learner).learner == learner

    assert driven(kind, table, schedule, look)[1] == driven(kind, table, schedule)[1]


@every_strategy
@every_seed
def test_a_copy_goes_on_alike(kind: type[Strategy], seed: int) -> None:
    """Pickled or copied between any two calls, nothing of the state is lost."""
    table, schedule = random_case(seed, failures=0.05)
    whole = driven(kind, table, schedule)[1]
    if whole is None:
        return
    stop = random.Random(seed).randrange(len(whole))
    strategy = kind(table.learners, schedule)
    for allocation, outcome in whole[:stop]:
        assert strategy.ask() == allocation
        strategy.tell(allocation, outcome)
    for twin in (copy.deepcopy(strategy), pickle.loads(pickle.dumps(strategy))):
        assert drive(twin, table) == whole[stop:]
    assert drive(strategy, table) == whole[stop:]


@every_strategy
@every_seed
def test_forecasts_are_possible_new_and_finite(kind: type[Strategy], seed: int) -> None:
    table, schedule = random_case(seed)
    told: set[Allocation] = set()
    strategy = kind(table.learners, schedule)
    try:
        while (allocation := strategy.ask()) is not None:
            guesses = list(strategy.forecast())
            assert len(set(guesses)) == len(guesses), "no guess twice"
            assert not told & set(guesses), "nothing that is known already"
            assert allocation not in guesses, "not what is being evaluated"
            for guess in guesses:
                assert guess.size in schedule.sizes
                assert guess.learner not in strategy.failures
                assert guess.size > max((a.size for a in told if a.learner == guess.learner), default=0)
            told.add(allocation)
            strategy.tell(allocation, table[allocation])
    except AllLearnersFailed:
        assert set(strategy.failures) == set(table.learners)


@every_strategy
def test_the_forecast_is_certain_while_all_get_their_first_sizes(kind: type[Strategy]) -> None:
    strategy = kind([f"learner {i}" for i in range(20)], SCHEDULE)
    asked = strategy.ask()
    assert asked is not None
    guesses = list(islice(strategy.forecast(), 15))
    for guess in guesses:
        strategy.tell(asked, Measurement(0.9, 0.5, 0.0))
        asked = strategy.ask()
        assert asked == guess


@every_strategy
def test_ties_go_to_the_learner_listed_first(kind: type[Strategy]) -> None:
    names = ["zebra", "yak", "ant", "bee"]
    table = Table({Allocation(name, size): Measurement(0.9, 0.5, 1.0) for name in names for size in SCHEDULE.sizes})
    strategy = kind(names, SCHEDULE)
    drive(strategy, table)
    assert strategy.winner == "zebra"


@every_strategy
def test_the_last_learner_standing_wins_whenever_the_others_fail(kind: type[Strategy]) -> None:
    for fatal in SCHEDULE.sizes:
        for survivor in "abcd":
            outcomes: dict[Allocation, Outcome] = {}
            for rank, name in enumerate("abcd"):
                for size in SCHEDULE.sizes:
                    good = Measurement(1.0, 0.5 + rank / 10 + size / 10_000, 1.0)
                    outcomes[Allocation(name, size)] = (
                        good if name == survivor or size < fatal else Failure("crash", f"at {size}")
                    )
            strategy, done = driven(kind, Table(outcomes), SCHEDULE)
            assert done is not None
            assert strategy.winner == survivor, "nobody else can be measured at the full size"


@every_strategy
def test_when_all_fail_the_error_lists_them_grouped(kind: type[Strategy]) -> None:
    strategy = kind(["a", "b", "c"], SCHEDULE)
    with pytest.raises(AllLearnersFailed, match=r"All 3 learners failed: 3 x memory \(over 1 GB\): a, b, c") as raised:
        while (allocation := strategy.ask()) is not None:
            strategy.tell(allocation, Failure("memory", "over 1 GB", 2.0))
    assert raised.value.failures == strategy.failures
    with pytest.raises(AllLearnersFailed):
        strategy.ask()


@every_strategy
def test_calls_out_of_turn_are_refused_and_lose_nothing(kind: type[Strategy]) -> None:
    strategy = kind(["a", "b"], SCHEDULE)
    good = Measurement(0.9, 0.5, 0.0)
    with pytest.raises(ProtocolError, match=r"`tell` must follow `ask`, got Allocation"):
        strategy.tell(Allocation("a", 10), good)
    asked = strategy.ask()
    assert asked is not None
    if not strategy.concurrent:
        with pytest.raises(ProtocolError, match=r"`ask` must wait until the outcome of Allocation\(learner='a'"):
            strategy.ask()
    with pytest.raises(ProtocolError, match=r"`tell` must be for Allocation\(learner='a'.*got Allocation\(learner='b'"):
        strategy.tell(Allocation("b", asked.size), good)
    nonsense: Any = 0.5
    with pytest.raises(InputError, match=r"`outcome` must be a Measurement, a Failure or Postponed, got 0.5"):
        strategy.tell(asked, nonsense)
    strategy.tell(asked, good)
    assert strategy.curve("a").sizes == (asked.size,)
    with pytest.raises(ProtocolError):
        strategy.tell(asked, good)
    for look in (strategy.bound, strategy.curve):
        with pytest.raises(InputError, match=r"`learner` must be one of the strategy's 2, got 'c'"):
            look("c")


@every_strategy
@pytest.mark.parametrize(
    ("learners", "schedule", "message"),
    [
        ([], SCHEDULE, r"`learners` must be at least one, got none"),
        ("tree", SCHEDULE, r"`learners` must be a list of names, got 'tree'"),
        (None, SCHEDULE, r"`learners` must be a list of names, got None"),
        (["a", "b", "a"], SCHEDULE, r"`learners` must differ in their names, got 'a' twice"),
        (["a", ""], SCHEDULE, r"`learner` must be a name, got ''"),
        ([["a"]], SCHEDULE, r"`learner` must be a name, got \['a'\]"),
        (["a"], [1, 2, 3], r"`schedule` must be a Schedule, got \[1, 2, 3\]"),
    ],
)
def test_nonsense_is_refused_at_the_door(kind: type[Strategy], learners: Any, schedule: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kind(learners, schedule)
