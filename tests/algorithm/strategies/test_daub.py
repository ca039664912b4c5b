from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import pytest

import reference
from cases import seeds
from pydaub import (
    Allocation,
    Curve,
    Daub,
    Elimination,
    InputError,
    Measurement,
    NonIncreasing,
    Schedule,
    Scores,
    SlopeBound,
    Table,
    TableEngine,
    run,
)
from pydaub.algorithm.strategies.bounded import BOUND
from pydaub.extensions.bounds.confidence import INTERVALS
from tables import random_schedule, random_table

CHUNKS = 8
TABLES_IN_A_CHUNK = 100


@pytest.mark.parametrize("use_train", [True, False], ids=["daub", "no f^T"])
@pytest.mark.parametrize("chunk", seeds(4, CHUNKS))
def test_it_is_algorithm_1(chunk: int, use_train: bool) -> None:  # noqa: FBT001  # pytest's parameter
    """On random tables it allocates and selects as the transcription of the paper does.

    Scores are fractions on a grid, from so coarse that ties and plateaus abound to fine; both sides compute
    exactly, so that not even a tie between bounds may be broken in another way.
    """
    compared = 0
    for seed in range(chunk * TABLES_IN_A_CHUNK, (chunk + 1) * TABLES_IN_A_CHUNK):
        rng = random.Random(seed)
        first, ratio, schedule = random_schedule(rng)
        table = random_table(rng, schedule, grid=rng.choice([4, 10, 16, 100, 10_000]))

        def accuracy(i: int, n: int, table: Table = table) -> tuple[Any, Any]:
            outcome: Any = table[Allocation(table.learners[i], n)]
            return outcome.train_score, outcome.valid_score

        selected, sequence = reference.daub(
            len(table.learners), schedule.full_size, Fraction(ratio), first, accuracy, use_f_T=use_train
        )
        bound = SlopeBound(train_cap=use_train)
        result = run(Daub(table.learners, schedule, bound), TableEngine(table))
        asked = [(table.learners.index(step.allocation.learner), step.allocation.size) for step in result.steps]
        assert asked == sequence, f"seed {seed}"
        assert result.selected == table.learners[selected], f"seed {seed}"
        compared += 1
    assert compared == TABLES_IN_A_CHUNK


def scores(values: dict[str, list[float]], sizes: tuple[int, ...], train: float = 1.0) -> Table:
    return Table(
        {
            Allocation(name, size): Measurement(train, score, 1.0)
            for name, curve in values.items()
            for size, score in zip(sizes, curve, strict=True)
        }
    )


def test_the_best_score_wins_when_the_bootstrap_reaches_the_full_size() -> None:
    """The raw score: "fallen" was measured at 0.6 on all rows, whatever its corrected curve says."""
    schedule = Schedule.geometric(40, 10, 2)
    table = scores({"fallen": [0.2, 0.9, 0.6], "steady": [0.5, 0.6, 0.7]}, schedule.sizes)
    result = run(Daub(table.learners, schedule), TableEngine(table))
    assert result.selected == "steady"
    assert len(result.steps) == 6


def test_it_works_with_fewer_than_three_sizes() -> None:
    for sizes in ((40,), (20, 40)):
        table = scores({"a": [0.5] * len(sizes), "b": [0.6] * len(sizes)}, sizes)
        result = run(Daub(table.learners, Schedule(sizes)), TableEngine(table))
        assert result.selected == "b"
        assert len(result.steps) == 2 * len(sizes)
    assert Schedule.geometric(2, 1, "1.1").sizes == (1, 2), "rounding up can leave so few"


def test_bounds_are_known_from_the_end_of_the_bootstrap() -> None:
    schedule = Schedule.geometric(1000, 10, 2)
    strategy = Daub(["a"], schedule)
    seen = []
    while (allocation := strategy.ask()) is not None:
        strategy.tell(allocation, Measurement(0.9, 0.5, 1.0))
        seen.append(strategy.bound("a"))
    assert seen == [None, None] + [0.5] * (len(schedule.sizes) - 2)


def test_a_bound_that_gives_no_number_is_refused_and_loses_nothing() -> None:
    good = [False]

    def moody(_curve: Curve, _full_size: int) -> float:
        return 0.5 if good[0] else math.nan

    strategy = Daub(["a"], Schedule.geometric(1000, 10, 2), bound=moody)
    asked = None
    for _ in range(3):
        asked = strategy.ask()
        assert asked is not None
        if asked.size < 40:
            strategy.tell(asked, Measurement(0.9, 0.5, 1.0))
    assert asked is not None
    with pytest.raises(InputError, match=r"`bound` must give a number, got nan for 'a' at size 40"):
        strategy.tell(asked, Measurement(0.9, 0.5, 1.0))
    assert strategy.curve("a").sizes == (10, 20), "it has not been told"
    good[0] = True
    strategy.tell(asked, Measurement(0.9, 0.5, 1.0))
    assert strategy.ask() == Allocation("a", 80)


@pytest.mark.parametrize("name", BOUND.names())
@pytest.mark.parametrize("kind", [Daub, Elimination])
def test_every_bound_by_name_survives_its_settings(kind: Any, name: str) -> None:
    """Also where the bound depends on the number of validation rows."""
    made = kind(["a", "b"], Schedule((10, 20, 40, 80)), name, train_bound=False, scores=Scores(rows=500))
    again = kind.from_settings(json.loads(json.dumps(made.settings)))
    assert again.settings == made.settings
    assert made.settings["bound"] == name


def test_confidence_bounds_need_accuracy_on_known_rows() -> None:
    for scores, message in (
        (Scores("f1", 500), "`bound` hoeffding must go with accuracy on validation rows, got f1"),
        (Scores("accuracy", 500, cross_validated=True), "must go with accuracy on validation rows"),
        (Scores("accuracy"), "`bound` hoeffding must know the number of validation rows"),
    ):
        with pytest.raises(InputError, match=message):
            Daub(["a"], Schedule((10, 20)), "hoeffding", scores=scores)


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("kind", [Daub, Elimination])
def test_confidence_bounds_are_not_capped_by_training_scores(kind: Any, name: str) -> None:
    """By default, so that they hold with the stated probability; to ask for the cap is an error."""
    strategy = kind(["a", "b"], Schedule((10, 20, 40, 80)), name, scores=Scores(rows=500))
    assert strategy.settings["train_bound"] is False
    while (asked := strategy.ask()) is not None and asked.size < 80:
        strategy.tell(asked, Measurement(0.2, 0.7, 1.0))
    assert strategy.bound("a") >= 0.7, "not below its own score, as the training score is"
    with pytest.raises(InputError, match=rf"`train_bound` must be left out or False with `bound` {name}, got True"):
        kind(["a"], Schedule((10, 20)), name, train_bound=True, scores=Scores(rows=500))


def test_a_bound_must_be_callable() -> None:
    nonsense: Any = "sloop"
    for kind in (Daub, Elimination):
        with pytest.raises(
            InputError, match=r"`bound` must be one of slope, line, bernstein, .*, got 'sloop'. Did you mean slope\?"
        ):
            kind(["a"], Schedule.geometric(10_000), bound=nonsense)
    with pytest.raises(InputError, match=r"`bound` must be called with"):
        NonIncreasing(nonsense)
    with pytest.raises(InputError, match=r"`points` must be a whole number of at least 1, got 0"):
        NonIncreasing(SlopeBound(), points=0)


def named_bound(_curve: Curve, _full_size: int) -> float:
    return 1.0


def test_settings_name_a_bound_alike_in_every_process() -> None:
    settings = Daub(["a"], Schedule.geometric(1000, 10, 2), bound=named_bound).settings
    assert settings["bound"].endswith("test_daub.named_bound")
    plain = Daub(["a"], Schedule((1, 2)))
    assert plain.settings["bound"] == "slope"
    assert Daub(["a"], Schedule((1, 2)), SlopeBound()).settings == plain.settings, "the same bound by another name"
    falling = Daub(["a"], Schedule((1, 2)), NonIncreasing(SlopeBound(2, train_cap=False))).settings
    assert (falling["bound"], falling["train_bound"], falling["non_increasing_bound"]) == ("line", False, True)


def test_it_suspends_and_comes_back() -> None:
    """ "early" leads, waits while "late" has the higher bound, and goes on when that has fallen: none is dropped."""
    schedule = Schedule((10, 20, 40, 80, 160))
    table = scores({"late": [0.50, 0.55, 0.58, 0.59, 0.60], "early": [0.40, 0.55, 0.62, 0.63, 0.64]}, schedule.sizes)
    result = run(Daub(table.learners, schedule), TableEngine(table))
    assert [step.allocation.learner for step in result.steps[6:]] == ["early", "late", "early"]
    assert result.selected == "early"


def told(strategy: Daub, table: Table, steps: int) -> Allocation:
    """Carry the strategy through so many steps and return what it asks then."""
    for _ in range(steps):
        asked = strategy.ask()
        assert asked is not None
        strategy.tell(asked, table[asked])
    asked = strategy.ask()
    assert asked is not None
    return asked


def test_the_forecast_names_all_that_may_still_be_asked() -> None:
    schedule = Schedule((10, 20, 40, 80, 160, 320))
    table = scores({name: [start + size / 1000 for size in schedule.sizes] for name, start in (("a", 0.1), ("b", 0.3))},
                   schedule.sizes)  # fmt: skip
    for steps in range(9):
        strategy = Daub(table.learners, schedule)
        asked = told(strategy, table, steps)
        possible = {
            Allocation(name, size)
            for name in table.learners
            for size in schedule.sizes
            if size > max(strategy.curve(name).sizes, default=0)
        }
        assert set(strategy.forecast()) <= possible - {asked}
        if steps >= 6:
            assert set(strategy.forecast()) == possible - {asked}, "past the bootstrap"


def test_the_forecast_goes_by_bounds_that_fall() -> None:
    """Whose bound is far ahead is guessed several sizes ahead; who is about level, one size each."""
    schedule = Schedule((10, 20, 40, 80, 160, 320))
    curves = {
        "best": [0.50, 0.60, 0.70, 0.75, 0.78, 0.79],
        "second": [0.50, 0.60, 0.69, 0.74, 0.77, 0.78],
        "hopeless": [0.1] * 6,
    }
    strategy = Daub(list(curves), schedule, SlopeBound(train_cap=False))
    asked = told(strategy, scores(curves, schedule.sizes), 10)
    assert asked == Allocation("second", 80)
    guesses = [(guess.learner, guess.size) for guess in strategy.forecast()]
    # By the lines through the last three points, second may reach 2.4, and best, which has fallen, 1.3.
    assert guesses[:4] == [("second", 160), ("second", 320), ("best", 160), ("best", 320)]
    assert guesses[4:] == [("hopeless", 80), ("hopeless", 160), ("hopeless", 320)]
    strategy.tell(asked, Measurement(1.0, 0.74, 1.0))
    assert strategy.ask() == Allocation("best", 160)
    guesses = [(guess.learner, guess.size) for guess in strategy.forecast()]
    assert guesses[:2] == [("second", 160), ("best", 320)], "about level: each one's next size before its second"
