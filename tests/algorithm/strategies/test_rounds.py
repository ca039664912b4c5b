"""What full, subset, halving and elimination ask, on small examples by hand."""

from __future__ import annotations

import pytest

from pydaub import (
    Allocation,
    Elimination,
    Failure,
    Full,
    Halving,
    Measurement,
    Outcome,
    Schedule,
    SlopeBound,
    Strategy,
    Subset,
    Table,
    TableEngine,
    run,
)

SIZES = (10, 30, 90, 270)
SCHEDULE = Schedule(SIZES)


def table_of(curves: dict[str, list[float | None]], train: float = 1.0) -> Table:
    """Return a table of validation scores; None is a failure."""
    outcomes: dict[Allocation, Outcome] = {}
    for name, curve in curves.items():
        for size, score in zip(SIZES, curve, strict=True):
            outcomes[Allocation(name, size)] = (
                Failure("error", "no") if score is None else Measurement(train, score, 1.0)
            )
    return Table(outcomes)


def asked(strategy: Strategy, table: Table) -> list[str]:
    return [f"{step.allocation.learner}{step.allocation.size}" for step in run(strategy, TableEngine(table)).steps]


NINE = table_of({name: [rank / 10] * 4 for rank, name in enumerate("abcdefghi")})


def test_full_trains_everything_on_everything() -> None:
    assert asked(Full(NINE.learners, SCHEDULE), NINE) == [f"{name}270" for name in "abcdefghi"]


def test_subset_takes_the_best_of_the_first_size() -> None:
    assert asked(Subset(NINE.learners, SCHEDULE), NINE) == [f"{name}10" for name in "abcdefghi"] + ["i270"]


def test_subset_takes_the_next_best_when_the_best_fails() -> None:
    table = table_of({"a": [0.1] * 4, "b": [0.3, 0.3, 0.3, None], "c": [0.2] * 4})
    assert asked(Subset(table.learners, SCHEDULE), table) == ["a10", "b10", "c10", "b270", "c270"]


def test_halving_keeps_a_third_on_three_times_the_rows() -> None:
    first, second = [f"{name}10" for name in "abcdefghi"], ["i30", "h30", "g30"]
    assert asked(Halving(NINE.learners, SCHEDULE), NINE) == [*first, *second, "i270"], "one that is alone gets it all"


def test_halving_rounds_up_and_compares_at_the_full_size() -> None:
    schedule = Schedule((180, 270))
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score, 1.0)
            for name, curve in {"a": (0.1, 0.9), "b": (0.2, 0.8), "c": (0.3, 0.7), "d": (0.4, 0.6)}.items()
            for size, score in zip(schedule.sizes, curve, strict=True)
        }
    )
    result = run(Halving(table.learners, schedule), TableEngine(table))
    assert [step.allocation.learner for step in result.steps] == list("abcd") + list("dcb")
    assert result.selected == "b"


def test_halving_falls_back_on_those_dropped_last() -> None:
    table = table_of(
        {name: [rank / 10, None if name in "ghi" else rank / 10, 0.5, 0.5] for rank, name in enumerate("abcdefghi")}
    )
    sequence = asked(Halving(table.learners, SCHEDULE), table)
    assert sequence[9:] == ["i30", "h30", "g30", "f30", "f270"]


def test_elimination_drops_who_cannot_reach_the_best_of_the_round() -> None:
    table = table_of({"flat": [0.5] * 4, "best": [0.5, 0.6, 0.7, 0.8], "slow": [0.1, 0.2, 0.3, 0.4]})
    everyone = ["flat", "best", "slow"]
    first_rounds = [f"{name}{size}" for size in SIZES[:2] for name in everyone]
    # At 90 rows flat's bound is 0.5, below best's 0.7; slow's line reaches more than 0.7 at 270.
    expected = [*first_rounds, "flat90", "best90", "slow90", "best270", "slow270"]
    assert asked(Elimination(everyone, SCHEDULE), table) == expected


def test_elimination_gives_a_lone_learner_everything() -> None:
    table = table_of({"best": [0.5, 0.6, 0.7, 0.8], "flat": [0.5] * 4})
    assert asked(Elimination(table.learners, SCHEDULE), table)[-2:] == ["flat90", "best270"]


def test_elimination_does_not_drop_a_learner_for_its_own_score() -> None:
    """Training scores below validation scores cap the leader's bound below what it has already reached."""
    table = table_of({"a": [0.5, 0.6, 0.7, 0.8], "b": [0.1] * 4}, train=0.2)
    strategy = Elimination(table.learners, SCHEDULE)
    assert asked(strategy, table)[-1] == "a270"
    assert strategy.winner == "a"
    assert strategy.bound("a") == 0.2


def test_elimination_drops_only_who_is_behind() -> None:
    """ "capped" ties with the best, so nobody is ahead of it; "behind" has the same bound, and is dropped."""
    outcomes: dict[Allocation, Outcome] = {}
    for name, train, score in (("capped", 0.6, 0.9), ("best", 1.0, 0.9), ("behind", 0.6, 0.8)):
        outcomes |= {Allocation(name, size): Measurement(train, score, 1.0) for size in SIZES}
    sequence = asked(Elimination(["capped", "best", "behind"], SCHEDULE), Table(outcomes))
    assert sequence[-2:] == ["capped270", "best270"]


def test_elimination_compares_corrected_scores() -> None:
    """ "noisy" scored 0.9 in the third round, but after a fall before it its corrected score is only 0.7."""
    table = table_of({"noisy": [0.6, 0.9, 0.5, 0.5], "steady": [0.65, 0.65, 0.65, 0.68]})
    strategy = Elimination(table.learners, SCHEDULE)
    assert asked(strategy, table)[-1] == "noisy270", "0.7 corrected is ahead of 0.65, though 0.5 measured is not"


@pytest.mark.parametrize(("cap", "survivors"), [(True, 1), (False, 2)])
def test_elimination_takes_any_bound(cap: bool, survivors: int) -> None:  # noqa: FBT001  # pytest's parameter
    rising = table_of({"a": [0.8] * 4, "b": [0.1, 0.3, 0.5, 0.6]}, train=0.75)
    sequence = asked(Elimination(rising.learners, SCHEDULE, SlopeBound(train_cap=cap)), rising)
    assert len([name for name in sequence if name.endswith("270")]) == survivors


def test_forecasts_end_the_round_and_then_look_ahead() -> None:
    """Of those that elimination has kept, the rest of the round; then the later sizes of who runs and who leads."""
    sizes = (10, 30, 90, 270, 810)
    curves = {
        "a": [0.1, 0.2, 0.3, 0.4, 0.5],
        "flat": [0.25] * 5,
        "c": [0.1, 0.2, 0.3, 0.4, 0.5],
        "d": [0.28] * 5,
    }
    strategy = Elimination(list(curves), Schedule(sizes))
    guesses = []
    while (allocation := strategy.ask()) is not None:
        guesses.append([f"{guess.learner}{guess.size}" for guess in strategy.forecast()])
        score = curves[allocation.learner][sizes.index(allocation.size)]
        strategy.tell(allocation, Measurement(1.0, score, 1.0))
        if allocation == Allocation("a", 270):
            break
    assert guesses[-1] == ["c270", "a810"], "flat and d were dropped"
    assert strategy.ask() == Allocation("c", 270)
    assert [f"{guess.learner}{guess.size}" for guess in strategy.forecast()] == ["c810", "a810"]
