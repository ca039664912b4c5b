"""What frugal asks, by hand and by its laws."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cases import seeds
from pydaub import (
    Account,
    AllLearnersFailed,
    Allocation,
    Asked,
    Daub,
    Failure,
    Frugal,
    InputError,
    Measurement,
    Outcome,
    Postponed,
    ProtocolError,
    Result,
    Schedule,
    Scores,
    Table,
    TableEngine,
    run,
)
from pydaub.algorithm import field
from pydaub.algorithm.forecast import Price
from pydaub.algorithm.seconds import Growth
from pydaub.algorithm.strategies import drawing
from pydaub.algorithm.strategies.costs import OVERRUN
from pydaub.algorithm.strategies.outlook import LARGE
from tables import CountingEngine, random_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.events import Event

N = 51_200
SIZES = (400, 1600, 6400, N)
SCHEDULE = Schedule(SIZES)
SEEDS = range(40)
CASES = seeds(12, len(SEEDS))


def table_of(
    curves: dict[str, list[float]], seconds: dict[str, float] | None = None, sizes: tuple[int, ...] = SIZES
) -> Table:
    """Return a table of validation scores with times in proportion to the rows: so many seconds for all of them."""
    outcomes: dict[Allocation, Outcome] = {}
    for name, curve in curves.items():
        for size, score in zip(sizes, curve, strict=True):
            took = (seconds or {}).get(name, 100.0) * size / sizes[-1]
            outcomes[Allocation(name, size)] = Measurement(1.0, score, took)
    return Table(outcomes)


def asked(strategy: Frugal, table: Table) -> list[str]:
    return [f"{step.allocation.learner}{step.allocation.size}" for step in run(strategy, TableEngine(table)).steps]


def smooth(seed: int, scale: float = 1.0, shift: float = 0.0) -> Table:
    """Return random curves that rise, with different costs; scores may be on another scale."""
    rng = random.Random(seed)
    curves, seconds = {}, {}
    for name in "abcdefgh"[: rng.randint(2, 8)]:
        end, start, power = rng.uniform(0.6, 0.99), rng.uniform(0.1, 0.6), rng.uniform(0.2, 1.0)
        scores = [end - (end - start) * (400 / size) ** power + rng.gauss(0, 0.005) for size in SIZES]
        curves[name] = [shift + scale * score for score in scores]
        seconds[name] = math.exp(rng.uniform(0, 7))
    outcomes = table_of(curves, seconds).outcomes
    return Table(
        {
            allocation: Measurement(outcome.valid_score + abs(scale), outcome.valid_score, outcome.seconds)
            for allocation, outcome in outcomes.items()
            if isinstance(outcome, Measurement)
        }
    )


def finished(table: Table, **settings: Any) -> tuple[Frugal, Result]:
    strategy = Frugal(table.learners, SCHEDULE, **settings)
    return strategy, run(strategy, TableEngine(table))


def test_all_begin_and_then_the_most_promising_for_its_time_goes_on() -> None:
    table = table_of(
        {"dear": [0.60, 0.62, 0.63, 0.64], "good": [0.70, 0.80, 0.84, 0.86], "weak": [0.50, 0.5, 0.5, 0.5]},
        {"dear": 100_000.0},
    )
    done = asked(Frugal(table.learners, SCHEDULE, delta=0.1), table)
    assert done[:5] == ["dear400", "good400", "weak400", "good1600", "good6400"]
    assert done[-1] == f"good{N}", "more of the weak one had to be seen before the good one was worth all rows"
    assert {*done[5:-1]} <= {"weak1600", "weak6400"}


def test_a_dear_learner_is_put_off_but_never_dropped() -> None:
    curves = {"cheap": [0.70, 0.72, 0.73, 0.73], "dear": [0.71, 0.80, 0.86, 0.90]}
    strategy, result = finished(table_of(curves, {"cheap": 1.0, "dear": 50.0}))
    order = [step.allocation for step in result.steps]
    assert result.selected == "dear"
    assert order.index(Allocation("cheap", 1600)) < order.index(Allocation("dear", 1600))
    assert strategy.racing == {"cheap", "dear"}
    too_dear, result = finished(table_of(curves, {"cheap": 1.0, "dear": 1e7}), delta=0.9)
    assert result.selected == "cheap", "so much time for so little is not worth it"
    bound = too_dear.bound("dear")
    assert bound is not None
    assert bound > 0.9, "and what it might have had is said"


@pytest.mark.parametrize("seed", CASES)
def test_it_ends_when_nobody_is_worth_the_time(seed: int) -> None:
    table, delta = smooth(seed), random.Random(seed).choice([0.001, 0.01, 0.1])
    strategy, result = finished(table, delta=delta)
    assert result.valid_score is not None
    for forecast in strategy._candidates.index.forecasts.values():  # noqa: SLF001  # what it knows is looked at
        assert forecast.worth(price_of(strategy)) <= result.valid_score


@pytest.mark.parametrize("guessing", [True, False])
def test_the_learner_that_is_worth_most_is_next_whatever_a_person_does(*, guessing: bool) -> None:
    assert sum(decisions_that_are_right(random.Random(seed), guessing=guessing) for seed in range(50)) > 250


def decisions_that_are_right(rng: random.Random, *, guessing: bool) -> int:
    """Carry a steered race through in which some fail, look at each decision, and return how many there were."""
    scale, top = rng.choice([(1.0, 1.0), (1.0, None), (7.0, 1.0)])  # the last ones exceed their top
    table, delta = smooth(rng.randrange(1000), scale), rng.choice([0.0001, 0.01, 0.1])
    strategy, looks = Frugal(table.learners[:-1], SCHEDULE, delta, Scores(top=top)), 0
    while asked_ := next_of(strategy, table, rng):
        if guessing:
            list(strategy.forecast())
        if strategy.reason.startswith("training it further"):
            worths = {
                name: forecast.worth(price_of(strategy))
                for name, forecast in strategy._candidates.index.forecasts.items()  # noqa: SLF001  # as above
                if name not in strategy.dropped
            }
            assert worths[asked_.learner] == max(worths.values())
            looks += 1
        outcome = table[asked_] if rng.random() < 0.97 else Failure("error", "no", 1.0)
        strategy.tell(asked_, outcome)
    return looks


def price_of(strategy: Frugal) -> Price:
    return strategy._outlook.price(strategy._candidates.spent)  # noqa: SLF001  # what it knows is looked at


@pytest.mark.parametrize("seed", CASES)
def test_guessing_changes_no_decision_even_among_equals(seed: int) -> None:
    outcomes = smooth(seed).outcomes.items()
    table = Table({Allocation(f"{a.learner}{twin}", a.size): outcome for twin in "xy" for a, outcome in outcomes})
    rng, sequences = random.Random(seed), []
    for chance in (0.0, 0.5, 1.0):
        strategy, sequence = Frugal(table.learners, SCHEDULE), list[Allocation]()
        while asked_ := strategy.ask():
            if rng.random() < chance:
                list(strategy.forecast())
            sequence.append(asked_)
            strategy.tell(asked_, table[asked_])
        sequences.append(sequence)
    assert sequences[0] == sequences[1] == sequences[2]


def next_of(strategy: Frugal, table: Table, rng: random.Random) -> Allocation | None:
    """Return what is asked after a person may have done something."""
    command = rng.choice(["drop", "restore", "boost", "add", "", "", "", ""])
    with suppress(InputError):  # what cannot be done now
        if command == "add":
            strategy.add(table.learners[-1])
        elif command:
            getattr(strategy, command)(rng.choice(table.learners))
    try:
        return strategy.ask()
    except AllLearnersFailed:
        return None


@pytest.mark.parametrize(
    ("promises", "order"),
    [
        (None, "abcd"),
        ({"d": 4.0, "c": 1.0, "a": 2.0}, "dabc"),  # b is in the middle, after a, which is listed before it
        ({"a": 1.0, "b": 1.0, "c": 2.0, "d": 1.0}, "cabd"),
    ],
)
@pytest.mark.parametrize("costs", ["measured", dict.fromkeys("abcd", (0.01, 1.0))], ids=["measured", "declared"])
def test_who_promises_most_starts_first(promises: Any, order: str, costs: Any) -> None:
    strategy = Frugal(list("abcd"), SCHEDULE, costs=costs, promises=promises)
    again = Frugal.from_settings(strategy.settings)
    for name in order:
        for each in (strategy, again):
            asked = each.ask()
            assert asked is not None
            assert asked.learner == name
            each.tell(Allocation(name, 400), Measurement(1.0, 0.5, 1.0))


def test_who_tolerates_less_spends_more_and_loses_less() -> None:
    seconds, losses = [], []
    for delta in (0.3, 0.03, 0.003):  # each alone may be lucky
        results = [(table, finished(table, delta=delta)[1]) for table in map(smooth, SEEDS)]
        seconds.append(sum(result.seconds for _, result in results))
        losses.append(sum(best(table) - (result.valid_score or 0.0) for table, result in results) / len(SEEDS))
    assert seconds == sorted(seconds)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.003


def best(table: Table) -> float:
    return max(
        outcome.valid_score
        for allocation, outcome in table.outcomes.items()
        if allocation.size == N and isinstance(outcome, Measurement)
    )


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("change", [lambda s: 1000 * s, lambda s: s / 64], ids=["longer", "shorter"])
def test_it_does_not_matter_in_which_unit_time_is_measured(
    seed: int, change: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (field, drawing):
        monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    exactly = Growth(1.0, 0.0, lasts=0.0)  # or rounding decides
    monkeypatch.setattr("pydaub.algorithm.strategies.costs.USUAL_GROWTH", exactly)
    monkeypatch.setattr("pydaub.algorithm.strategies.costs.GRACE", 0.0)
    monkeypatch.setattr("pydaub.algorithm.strategies.candidates.GRACE", 0.0)
    table = smooth(seed)
    other = Table(
        {
            allocation: Measurement(outcome.train_score, outcome.valid_score, change(outcome.seconds))
            for allocation, outcome in table.outcomes.items()
            if isinstance(outcome, Measurement)
        }
    )
    assert _sequence(finished(table)) == _sequence(finished(other))


@pytest.mark.parametrize("seed", CASES)
def test_scores_of_another_scale_are_weighed_alike(seed: int) -> None:
    errors, in_thousands = smooth(seed, shift=-1.0), smooth(seed, scale=1024.0, shift=-1024.0)
    assert _sequence(finished(errors, scores=Scores(top=0.0))) == _sequence(
        finished(in_thousands, scores=Scores(top=0.0))
    )
    money, cents = smooth(seed, scale=16.0, shift=32.0), smooth(seed, scale=1024.0, shift=2048.0)
    unknown = Scores(top=None)
    assert _sequence(finished(money, scores=unknown)) == _sequence(finished(cents, scores=unknown))
    assert _sequence(finished(money, scores=unknown)) == _sequence(finished(money)), "1 cannot be the best possible"


def _sequence(done: tuple[Frugal, Result]) -> list[Allocation]:
    return [step.allocation for step in done[1].steps]


def test_its_reasons_are_told() -> None:
    table = table_of({"good": [0.7, 0.8, 0.84, 0.86], "weak": [0.5, 0.52, 0.5, 0.5]})
    strategy, reasons = Frugal(table.learners, SCHEDULE), []
    while asked_ := strategy.ask():
        reasons.append(strategy.reason)
        strategy.tell(asked_, table[asked_])
    assert reasons[0] == "every learner starts with the smallest size"
    assert reasons[2].startswith("training it further is worth its time up to a score of 0.")
    assert reasons[2].endswith(", the highest priority")


def only_asked(event: Event) -> list[Asked]:
    return [event] if isinstance(event, Asked) else []


@pytest.mark.parametrize("seed", CASES)
def test_an_ensemble_gets_more_learners_with_all_rows_for_at_most_twice_the_time(seed: int) -> None:
    table = smooth(seed)
    result = run(Frugal(table.learners, SCHEDULE, costs={}), TableEngine(table))
    strategy = Frugal(table.learners, SCHEDULE, costs={}, members=4)
    asked: list[Asked] = []
    together = run(strategy, TableEngine(table, 2), watch=lambda event, _: asked.extend(only_asked(event)))
    count = len(result.steps)
    assert together.steps[:count] == result.steps, "up to the selection it is the same run"
    assert together.valid_score is not None
    assert result.valid_score is not None
    assert together.valid_score >= result.valid_score
    joined = sum(event.allocation.size**1.1 for event in asked if event.why == "ensemble")
    assert joined <= sum(event.allocation.size**1.1 for event in asked if event.why != "ensemble")
    again = Frugal.from_settings(strategy.settings)
    assert run(again, TableEngine(table, 1)).steps == together.steps, "on any number of workers"


def test_relatives_that_are_behind_are_not_trained_on_all_rows() -> None:
    """Forty learners of one family gain alike, so a few of them tell what the others may expect."""
    rng = random.Random(0)
    ends = {f"x{place}": 0.7 + 0.002 * place + rng.gauss(0, 0.0005) for place in rng.sample(range(40), 40)}
    curves = {name: [end - gap + rng.gauss(0, 0.0005) for gap in (0.12, 0.08, 0.04, 0.0)] for name, end in ends.items()}
    table, scores = table_of(curves), Scores(rows=100_000)
    alone = run(Frugal(curves, SCHEDULE, scores=scores), TableEngine(table))
    strategy = Frugal(curves, SCHEDULE, scores=scores, families=dict.fromkeys(curves, "x"))
    together = run(strategy, TableEngine(table, 2))
    assert together.valid_score is not None
    assert alone.valid_score is not None
    assert together.seconds < alone.seconds
    assert sum(step.allocation.size == SIZES[-1] for step in together.steps) <= 6
    assert worth_of(together) >= worth_of(alone) - 0.01
    again = run(Frugal.from_settings(strategy.settings), TableEngine(table, 2))
    assert again.steps == together.steps


def worth_of(result: Result) -> float:
    """Return what the strategy aims at: a score less delta for each doubling of the time."""
    assert result.valid_score is not None
    return result.valid_score - 0.01 * math.log2(result.seconds)


def families(good: float, bad: float, count: int = 20, spread: float = 0.01) -> dict[str, list[float]]:
    """Return curves of two families, whose scores on all rows lie around `good` and `bad`."""
    rng, curves = random.Random(1), dict[str, list[float]]()
    for place in range(count):
        for name, middle in (("good", good), ("bad", bad)):
            end = middle + rng.gauss(0, spread)
            curves[f"{name}{place}"] = [end - gap for gap in (0.12, 0.08, 0.04, 0.0)]
    return curves


def test_of_a_family_that_promises_little_only_the_first_start() -> None:
    curves = families(0.85, 0.6)
    table, kinds = table_of(curves), {name: name.rstrip("0123456789") for name in curves}
    strategy = Frugal(curves, SCHEDULE, 0.0003, families=kinds)
    result = run(strategy, TableEngine(table, 2))
    tried = {step.allocation.learner for step in result.steps}
    assert tried & {f"bad{place}" for place in range(20)} == {f"bad{place}" for place in range(6)}
    assert len(tried) > 12, "more of the good ones"
    assert strategy.untried == {*curves} - tried
    why = strategy.ruled_out()["bad9"]
    assert why.startswith("others of its kind promise too little to start it, and good")
    assert run(Frugal.from_settings(strategy.settings), TableEngine(table, 2)).steps == result.steps
    everyone = run(Frugal(curves, SCHEDULE, 0.003), TableEngine(table))
    assert result.seconds < everyone.seconds
    assert worth_of(result) >= worth_of(everyone)


def test_a_learner_that_starts_later_is_not_said_to_start_with_the_others() -> None:
    curves = families(0.85, 0.6, 30)
    table, kinds = table_of(curves), {name: name.rstrip("0123456789") for name in curves}
    strategy, reasons = Frugal(curves, SCHEDULE, 0.0003, families=kinds), dict[str, str]()
    while asked_ := strategy.ask():
        if asked_.size == strategy.schedule.sizes[0]:
            reasons[asked_.learner] = strategy.reason
        strategy.tell(asked_, table[asked_])
    said = [*reasons.values()]
    first, later = "every learner starts with the smallest size", "others of its kind do so well for their time"
    count = said.count(first)
    assert said[:count] == [first] * count
    assert said[count:]
    assert all(each.startswith(later) for each in said[count:])


def test_where_all_that_started_have_failed_the_others_of_their_kind_start() -> None:
    curves = families(0.85, 0.6, 8)
    outcomes: dict[Allocation, Outcome] = dict(table_of(curves).outcomes)
    for allocation in [*outcomes]:
        if allocation.learner != "good7":
            outcomes[allocation] = Failure("error", "no")
    kinds = {name: name.rstrip("0123456789") for name in curves}
    assert run(Frugal(curves, SCHEDULE, families=kinds), TableEngine(Table(outcomes))).selected == "good7"


@pytest.mark.parametrize(
    ("rows", "sizes"), [(1_000, (225, 1_000)), (24_000, (1_688, 5_697, 24_000)), (10**7, (8_546, 10**7))]
)
def test_families_begin_with_larger_samples(rows: int, sizes: tuple[int, ...]) -> None:
    schedule = Schedule.geometric(rows, min(500, rows // 10), 1.5)
    used = Frugal(["a", "b"], schedule, families={"a": "x", "b": "x"}).schedule.sizes
    assert (used[0], *used[1:][: len(sizes) - 2], used[-1]) == sizes
    assert used[0] >= Frugal(["a", "b"], schedule).schedule.sizes[0]


def test_a_person_may_start_or_drop_a_learner_that_others_of_its_kind_hold_back() -> None:
    curves = families(0.85, 0.6, 8)
    table, kinds = table_of(curves), {name: name.rstrip("0123456789") for name in curves}
    strategy = Frugal(curves, SCHEDULE, families=kinds)
    first = strategy.schedule.sizes[0]
    strategy.boost("bad7")
    strategy.drop("bad6")
    assert strategy.ask() == Allocation("bad7", first)
    strategy.tell(Allocation("bad7", first), table[Allocation("bad7", first)])
    assert not strategy.untried & {"bad6", "bad7"}
    assert run(strategy, TableEngine(table)).selected.startswith("good")  # type: ignore[union-attr]  # it ends
    assert strategy.curve("bad6").sizes == ()
    strategy.restore("bad6")
    assert strategy.ask() == Allocation("bad6", first)


def test_those_that_an_ensemble_needs_are_the_most_promising() -> None:
    curves = {"best": [0.6, 0.7, 0.8, 0.9], "near": [0.6, 0.7, 0.78, 0.86], "poor": [0.2, 0.21, 0.22, 0.22]}
    strategy = Frugal(curves, SCHEDULE, members=2)
    result = run(strategy, TableEngine(table_of(curves)))
    assert [*strategy.settings["learners"]] == ["best", "near", "poor"]
    full = [step.allocation.learner for step in result.steps if step.allocation.size == N]
    assert full == ["best", "near"]
    assert result.selected == "best"
    with pytest.raises(InputError, match="`members` must be at least 1, got 0"):
        Frugal(curves, SCHEDULE, members=0)


def test_a_person_may_boost_add_drop_and_restore() -> None:
    table = table_of({"a": [0.5, 0.6, 0.65, 0.7], "b": [0.5, 0.6, 0.65, 0.7], "c": [0.5, 0.7, 0.8, 0.85]})
    strategy, done = Frugal(["a", "b"], SCHEDULE), list[Allocation]()

    def step() -> Allocation:
        allocation = strategy.ask()
        assert allocation is not None
        strategy.tell(allocation, table[allocation])
        return allocation

    def won() -> str | None:
        while strategy.winner is None:
            done.append(step())
        return strategy.winner

    assert [step(), step()] == [Allocation("a", 400), Allocation("b", 400)]
    strategy.boost("b")
    wished = strategy.ask()
    assert wished == Allocation("b", 1600)
    assert strategy.reason == "it was boosted by hand"
    strategy.tell(wished, table[wished])
    strategy.add("c")
    assert step() == Allocation("c", 400)
    strategy.drop("c")
    assert won() in {"a", "b"}
    assert all(allocation.learner != "c" for allocation in done)
    strategy.restore("c")
    assert won() == "c", "it was let in again, and is the best"
    with pytest.raises(ProtocolError):
        strategy.tell(Allocation("c", 400), table[Allocation("c", 400)])


@pytest.mark.parametrize("seconds", [20.0, 100.0])
def test_a_late_riser_is_found(seconds: float) -> None:
    curves = {"steady": [0.60, 0.62, 0.63, 0.64], "late": [0.50, 0.50, 0.90, 0.99]}
    strategy, result = finished(table_of(curves, {"late": seconds}))
    assert result.selected == "late", "recorded curves have risen as late"
    assert strategy.priority("late") == 0.99


def test_who_was_ahead_with_as_many_rows_is_tried_further() -> None:
    curves = {"fast": [0.60, 0.70, 0.80, 0.900], "ahead": [0.62, 0.72, 0.80, 0.901]}
    table, told = table_of(curves), dict[str, str]()
    strategy = Frugal(table.learners, SCHEDULE, delta=10.0)
    for name in ["fast"] * len(SIZES):
        strategy.boost(name)
    while asked_ := strategy.ask():
        told[f"{asked_.learner}{asked_.size}"] = strategy.reason
        strategy.tell(asked_, table[asked_])
    further = [each for each in told if each.startswith("ahead") and each != f"ahead{SIZES[0]}"]
    assert told[further[0]] == "it was ahead of the best with all rows when both had fewer"
    assert len(further) == 1, "with more rows it was not, and nothing is worth its time at this price"


def test_where_all_rows_take_little_longer_than_a_sample_all_learners_get_them_at_once() -> None:
    curves = {f"x{place}": [0.6, 0.7, 0.75, 0.8 + place / 1000] for place in range(40)}
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score, 1 + size / SIZES[-1])
            for name, some in curves.items()
            for size, score in zip(SIZES, some, strict=True)
        }
    )
    growths = dict.fromkeys(curves, Growth(1.0, 50_000))  # starting takes as long as so many rows
    strategy = Frugal(curves, SCHEDULE, growths=growths)
    result = run(strategy, TableEngine(table))
    assert result.selected == "x39"
    assert result.seconds < 1.1 * sum(table[Allocation(name, SIZES[-1])].seconds for name in curves)
    again = run(Frugal.from_settings(strategy.settings), TableEngine(table))
    assert again.steps == result.steps


def test_a_dip_by_chance_ends_nobody() -> None:
    curves = {"steady": [0.80, 0.83, 0.84, 0.85], "dips": [0.85, 0.82, 0.90, 0.93]}
    assert finished(table_of(curves), delta=1e-3)[1].selected == "dips"


@pytest.mark.parametrize("top", [None, 0.0])
def test_one_learner_that_diverges_does_not_hide_the_differences_of_the_others(top: float | None) -> None:
    curves = {
        "dummy": [-1.0, -1.0, -1.0, -1.0],
        "good": [-0.6, -0.4, -0.3, -0.25],
        "better": [-0.65, -0.4, -0.28, -0.2],
        "diverges": [-1000.0, -900.0, -900.0, -900.0],
    }
    assert finished(table_of(curves), scores=Scores(top=top, proportion=False))[1].selected == "better"


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_small_errors_are_told_apart(unit: float) -> None:
    curves = {
        "poor": [-9.0 * unit, -8.0 * unit, -8.0 * unit, -8.0 * unit],
        "good": [-8.0 * unit, -4.0 * unit, -2.0 * unit, -1.0 * unit],
    }
    strategy, result = finished(table_of(curves), scores=Scores(top=0.0, proportion=False))
    assert result.selected == "good"
    assert Allocation("poor", N) not in {step.allocation for step in result.steps}
    assert strategy._outlook.stake == pytest.approx(3 * unit / LARGE)  # noqa: SLF001  # a share of what is left to gain


@pytest.mark.parametrize(("top", "perfect"), [(0.0, 0.0), (1.0, 1.0), (None, 5.0), (1.0, 3.0)])
def test_learners_that_are_all_perfect_or_all_alike_end_the_run(top: float | None, perfect: float) -> None:
    curves = {name: [perfect] * len(SIZES) for name in "abc"}
    for proportion in (True, False):
        assert finished(table_of(curves), scores=Scores(top=top, proportion=proportion))[1].selected == "a"


def test_what_is_tolerated_is_small_beside_what_is_left_to_gain() -> None:
    curves = {"good": [0.990, 0.995, 0.997, 0.9974], "best": [0.985, 0.994, 0.9975, 0.9992]}
    assert finished(table_of(curves), scores=Scores(rows=100_000))[1].selected == "best"


@pytest.mark.parametrize("seed", CASES)
def test_its_settings_make_it_anew(seed: int) -> None:
    table = random_table(random.Random(seed), SCHEDULE)
    strategy = Frugal(table.learners, SCHEDULE, delta=0.03, scores=Scores("error", 1234, None, proportion=False))
    again = Frugal.from_settings(strategy.settings)
    assert again.settings == strategy.settings
    results = [run(each, TableEngine(table)) for each in (strategy, again)]
    assert results[0].steps == results[1].steps


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"delta": 0}, "`delta` must be a finite number greater than 0, got 0"),
        ({"delta": -0.1}, "`delta` must be a finite number greater than 0, got -0.1"),
        ({"delta": math.nan}, "`delta` must be a finite number greater than 0, got nan"),
        ({"delta": math.inf}, "`delta` must be a finite number greater than 0, got inf"),
        ({"delta": "much"}, "`delta` must be a number, got 'much'"),
        ({"costs": "declared"}, '`costs` must be "measured", or a factor and an exponent for each learner'),
        ({"costs": {"a": 3}}, "or a factor and an exponent for each learner, got 3 for 'a'"),
        ({"costs": {"a": (0.0, 1.0)}}, "`costs` must be a positive factor and an exponent from 0.5 to 3.0"),
        ({"costs": {"a": (1.0, 9.0)}}, "`costs` must be a positive factor and an exponent from 0.5 to 3.0"),
        ({"scores": None}, "`scores` must be Scores, got None"),
        ({"growths": 5}, "`growths` must be given by name, or None, got 5"),
        ({"growths": {"a": 5}}, "`growths` must be up to 5 numbers, got 5 for 'a'"),
        ({"spaces": "a"}, "`spaces` must be given by name, or None, got 'a'"),
        ({"families": [1]}, "`families` must be given by name, or None, got .1."),
        ({"costs": {"a": ("x", 1.0)}}, "`costs` must be a number, got 'x'"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Frugal(["a"], SCHEDULE, **settings)


@pytest.mark.parametrize("seed", CASES)
def test_with_declared_costs_the_scores_alone_decide(seed: int) -> None:
    rng, table = random.Random(seed), smooth(seed)
    slower = Table(
        {
            allocation: replace(outcome, seconds=outcome.seconds * 10 ** rng.uniform(-2, 2))
            for allocation, outcome in table.outcomes.items()
            if isinstance(outcome, Measurement)
        }
    )
    costs = {name: (10 ** rng.uniform(-6, -3), rng.uniform(1, 2)) for name in table.learners[1:]}
    runs = [asked(Frugal(table.learners, SCHEDULE, costs=costs), each) for each in (table, slower)]
    assert runs[0] == runs[1]
    result = run(Frugal(table.learners, SCHEDULE, costs=costs), TableEngine(slower, 8))
    assert [f"{step.allocation.learner}{step.allocation.size}" for step in result.steps] == runs[0], "with 8 workers"
    strategy = Frugal(table.learners, SCHEDULE, costs=costs)
    assert Frugal.from_settings(strategy.settings).settings == strategy.settings


def test_a_learner_that_is_declared_expensive_waits() -> None:
    curves = {"one": [0.5, 0.6, 0.65, 0.7], "two": [0.5, 0.6, 0.65, 0.71]}
    for costly in curves:
        costs = {name: (1e-3 if name == costly else 1e-6, 1.0) for name in curves}
        order = asked(Frugal(curves, SCHEDULE, delta=0.1, costs=costs), table_of(curves))
        assert {name[:3] for name in order[2:]} == {*curves} - {costly}


def exploding(factor: float, end: float = 0.95) -> Table:
    """Return curves of which the best one costs far more on all rows than its smaller sizes announce."""
    curves = {"dear": [0.7, 0.8, 0.88, end], "cheap": [0.7, 0.8, 0.86, 0.9]}
    outcomes = dict(table_of(curves, {"dear": 200.0, "cheap": 100.0}).outcomes)
    last = Allocation("dear", SIZES[-1])
    outcomes[last] = Measurement(1.0, end, factor * 200.0)
    return Table(outcomes)


def test_an_evaluation_that_costs_far_more_than_forecast_is_ended_and_waits() -> None:
    table = exploding(1000.0, 0.905)
    strategy = Frugal(table.learners, SCHEDULE)
    account = Account(strategy)
    result = run(strategy, TableEngine(table, limits=True), watch=lambda _, seen: vars(account).update(vars(seen)))
    ended = [step for step in result.steps if isinstance(step.outcome, Postponed)]
    assert [step.allocation.learner for step in ended] == ["dear"] * len(ended)
    assert ended
    assert result.selected == "cheap"
    assert not result.failures
    assert strategy.curve("dear").sizes[-1] < SIZES[-1]
    spent = sum(step.outcome.seconds for step in ended)
    assert spent < 10 * table[Allocation("cheap", SIZES[-1])].seconds, "and not the 200,000 s that it takes"
    assert account.size("dear") == strategy.curve("dear").sizes[-1]
    assert "ended after" in " ".join(decision.words for decision in account.decisions)


@pytest.mark.parametrize("factor", [1.0, 2.0, 3.9, 20.0])
def test_a_learner_that_is_worth_its_price_gets_its_rows_in_the_end(factor: float) -> None:
    table = exploding(factor)
    result = run(Frugal(table.learners, SCHEDULE, delta=1e-6), TableEngine(table, limits=True))
    assert result.selected == "dear"
    postponed = [step.outcome.seconds for step in result.steps if isinstance(step.outcome, Postponed)]
    assert bool(postponed) == (factor > OVERRUN)
    assert sum(postponed) <= factor * 200.0, "each try may take several times as long as the one before"


def test_idle_workers_do_not_train_what_cannot_pay_on_all_rows() -> None:
    for poor, begun in (([0.5, 0.51, 0.51, 0.51], False), ([0.7, 0.8, 0.88, 0.9], True)):
        table = table_of({"good": [0.7, 0.8, 0.88, 0.9], **{f"other {number}": poor for number in range(5)}})
        engine = CountingEngine(table, 4)
        result = run(Frugal(table.learners, SCHEDULE), engine)
        assert result.selected == "good"
        on_all_rows = {each.learner for each in engine.begun if each.size == SIZES[-1]} - {"good"}
        assert bool(on_all_rows) == begun, "only those as good as the leader are worth it"


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("seed", seeds(5, 15))
def test_everything_that_is_begun_has_a_limit(seed: int, workers: int) -> None:
    table = random_table(random.Random(seed), SCHEDULE)
    engine = CountingEngine(table, workers)
    run(Frugal(table.learners, SCHEDULE), engine)
    assert all(each.limit for each in engine.begun)


@pytest.mark.parametrize("workers", [2, 3])
def test_a_guess_that_takes_too_long_is_ended(workers: int) -> None:
    table = exploding(1e9, 0.905)
    engine = TableEngine(table, workers, limits=True)
    result = run(Frugal(table.learners, SCHEDULE), engine)
    assert result.selected == "cheap"
    assert engine.clock < 10_000


def test_declared_costs_set_no_limits() -> None:
    table = exploding(1000.0)
    costs = dict.fromkeys(table.learners, (0.01, 1.0))
    result = run(Frugal(table.learners, SCHEDULE, costs=costs), TableEngine(table, limits=True))
    assert all(step.allocation.limit is None for step in result.steps)


def test_what_has_taken_its_limit_is_postponed() -> None:
    table = exploding(1.0)
    strategy = Frugal(table.learners, SCHEDULE)
    while (following := strategy.ask()) and following.size < SIZES[-1]:
        assert following.limit
        strategy.tell(following, table[following])
    assert following
    assert following.limit
    strategy.tell(following, Postponed(following.limit))
    assert following.learner not in strategy.failures
    unlimited = Daub(table.learners, SCHEDULE)
    first = unlimited.ask()
    assert first
    with pytest.raises(InputError, match=r"must not be Postponed before the limit, None s"):
        unlimited.tell(first, Postponed(10.0))


def first_taking(seconds: Mapping[str, float]) -> Table:
    """Return curves of learners whose evaluations all take so long, whatever the size."""
    curves = {
        name: [0.6 + place / 20, 0.7 + place / 20, 0.75 + place / 20, 0.8 + place / 20]
        for place, name in enumerate(seconds)
    }
    outcomes = table_of(curves).outcomes
    return Table({each: replace(told, seconds=seconds[each.learner]) for each, told in outcomes.items()})


def limits_of(result: Result, learner: str) -> list[float | None]:
    return [step.allocation.limit for step in result.steps if step.allocation == Allocation(learner, SIZES[0])]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_first_evaluation_that_does_not_end_keeps_nobody_from_being_selected(workers: int) -> None:
    table = first_taking({"stuck": 1e9, "quick": 0.5, "better": 0.5})
    strategy = Frugal(table.learners, SCHEDULE)
    result = run(strategy, TableEngine(table, workers, limits=True))
    assert result.selected == "better"
    assert limits_of(result, "stuck") == [20.0, 80.0]
    assert not result.failures
    first, *later = [place for place, step in enumerate(result.steps) if step.allocation.learner == "stuck"]
    others = [place for place, step in enumerate(result.steps) if step.allocation.learner != "stuck"]
    assert workers > 1 or first < min(others)
    assert max(others) < min(later), "it is tried again when no other learner is worth its time"
    assert strategy.ruled_out()["stuck"] == "its first training did not end within 80 s, and better has 0.9000"


@pytest.mark.parametrize("seconds", [{"slow": 60.0, "quick": 0.1}, {"slow": 60.0}, dict.fromkeys("abcdef", 25.0)])
@pytest.mark.parametrize("workers", [1, 2])
def test_slow_learners_are_all_measured_in_the_end(seconds: dict[str, float], workers: int) -> None:
    table = first_taking(seconds)
    strategy = Frugal(table.learners, SCHEDULE)
    result = run(strategy, TableEngine(table, workers, limits=True))
    assert all(strategy.curve(name).sizes for name in seconds)
    slowest = max(seconds, key=seconds.__getitem__)
    assert limits_of(result, slowest) == [20.0, 80.0]


def test_a_late_learner_waits_until_the_others_have_taken_as_long() -> None:
    table = first_taking({"stuck": 1000.0, "dear": 5000.0})
    strategy = Frugal(table.learners, SCHEDULE)
    result = run(strategy, TableEngine(table, limits=True))
    assert strategy.curve("stuck").sizes
    assert limits_of(result, "stuck")[-1] == 1280.0


def test_a_learner_that_was_ended_a_little_late_is_tried_again() -> None:
    strategy = Frugal(["stuck", "quick"], SCHEDULE)
    table, seconds = table_of({"quick": [0.7, 0.8, 0.85, 0.9]}), iter((20.7, 83.9))
    limits = []
    while asked := strategy.ask():
        if asked.learner == "stuck":
            limits.append(asked.limit)
        strategy.tell(asked, Postponed(next(seconds)) if asked.learner == "stuck" else table[asked])
    assert limits == [20.0, 82.8]
    assert strategy.winner == "quick"


def test_a_late_learner_can_be_dropped_and_restored() -> None:
    strategy = Frugal(["stuck", "quick"], SCHEDULE)
    first = strategy.ask()
    assert first == Allocation("stuck", SIZES[0])
    strategy.tell(first, Postponed(20.0))
    strategy.drop("stuck")
    assert "stuck" not in {each.learner for each in strategy.forecast()}
    strategy.restore("stuck")
    table = table_of({"quick": [0.7, 0.8, 0.85, 0.9]})
    while (again := strategy.ask()) and again.learner == "quick":
        strategy.tell(again, table[again])
    assert again == first
    assert again.limit == 80.0
    assert strategy.curve("quick").sizes[-1] == SIZES[-1]
    assert strategy.reason == "no other learner is worth its time, and nothing is known of it yet"


def test_few_scored_rows_make_the_forecast_less_certain() -> None:
    def bound(scored: int | None) -> float:
        strategy = Frugal(["a"], SCHEDULE, scores=Scores(rows=20_000))
        asked = strategy.ask()
        assert asked
        strategy.tell(asked, Measurement(None, 0.98, 1.0, scored=scored))
        found = strategy.bound("a")
        assert found is not None
        return found

    assert bound(None) == bound(20_000) < bound(400)


def test_the_best_with_all_rows_is_known_at_every_moment() -> None:
    """Also after the best has been dropped, and after it came back."""
    dropped = 0
    for seed in range(12):
        table = random_table(random.Random(seed), SCHEDULE)
        strategy = Frugal(table.learners, SCHEDULE, delta=1e-6)
        at_full = strategy._at_full  # noqa: SLF001  # what it knows is looked at
        while (allocation := strategy.ask()) is not None:
            strategy.tell(allocation, table[allocation])
            if len(at_full) > 1:
                best = max(at_full, key=lambda name: at_full[name])
                strategy.drop(best)
                assert strategy._best_at_full == max(at_full.values())  # noqa: SLF001
                strategy.restore(best)
                dropped += 1
            assert strategy._best_at_full == max(at_full.values(), default=None)  # noqa: SLF001
    assert dropped
