"""A person's commands: taken up once, in their order, journalled, and obeyed again by a run that is resumed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cases import seeds
from pydaub import (
    AllLearnersFailed,
    Allocation,
    Daub,
    Failure,
    Frugal,
    Full,
    InputError,
    Journal,
    Measurement,
    NothingMeasured,
    Result,
    Schedule,
    Strategy,
    Table,
    TableEngine,
    run,
)
from pydaub.events import Asked, Evaluated, Event, Selected, Steered, Submitted
from pydaub.runs.account import Account
from pydaub.runs.journal import is_held, read
from pydaub.runs.loop import Steering
from pydaub.runs.steering import Mailbox
from tables import random_schedule, random_table

SIZES = (10, 20, 40, 80)
SCHEDULE = Schedule(SIZES)


def nobody(name: str) -> None:
    raise InputError(f"`learner` must be of the portfolio, got {name!r}.")


def anybody(_: str) -> None:
    """Let every learner in."""


def table(curves: dict[str, list[float]]) -> Table:
    return Table({
        Allocation(name, size): Measurement(1.0, score, 1.0)
        for name, scores in curves.items()
        for size, score in zip(SIZES, scores, strict=True)
    })  # fmt: skip


def told(strategy: Strategy, curves: Table, steps: int) -> list[Allocation]:
    """Carry a strategy on for so many steps, or to its end."""
    done: list[Allocation] = []
    while len(done) < steps and (allocation := strategy.ask()) is not None:
        strategy.tell(allocation, curves[allocation])
        done.append(allocation)
    return done


CURVES = table({"good": [0.5, 0.6, 0.7, 0.8], "fair": [0.4, 0.5, 0.6, 0.7], "poor": [0.1, 0.1, 0.1, 0.1]})


def test_a_dropped_learner_is_asked_no_more_until_it_is_restored() -> None:
    strategy = Daub(CURVES.learners, SCHEDULE)
    told(strategy, CURVES, 4)  # good has had three sizes, fair one
    strategy.drop("good")
    strategy.drop("fair")
    assert {allocation.learner for allocation in told(strategy, CURVES, 3)} == {"poor"}
    strategy.restore("fair")
    assert told(strategy, CURVES, 2) == [Allocation("fair", 20), Allocation("fair", 40)]
    assert strategy.dropped == {"good"}
    strategy.restore("good")
    assert told(strategy, CURVES, 1) == [Allocation("good", 80)]
    assert strategy.winner == "good"


def test_dropping_what_was_asked_for_withdraws_it() -> None:
    strategy = Daub(CURVES.learners, SCHEDULE)
    asked = strategy.ask()
    assert asked == Allocation("good", 10)
    assert strategy.outstanding == (asked,)
    strategy.drop("good")
    assert strategy.ask() == Allocation("fair", 10)
    assert len(strategy.outstanding) == 1


def test_a_boosted_learner_comes_next_and_is_not_selected_for_it() -> None:
    strategy = Daub(CURVES.learners, SCHEDULE)
    told(strategy, CURVES, 9)
    strategy.boost("poor")
    assert told(strategy, CURVES, 1) == [Allocation("poor", 80)]
    assert strategy.winner is None, "others have higher bounds than its score"
    with pytest.raises(InputError, match="must be given a learner that has a larger size to get, got 'poor'"):
        strategy.boost("poor")
    assert told(strategy, CURVES, 9) == [Allocation("good", 80)]
    assert strategy.winner == "good"


def test_a_boosted_learner_that_no_other_can_reach_is_selected() -> None:
    curves = table({"good": [0.5, 0.6, 0.7, 0.8], "poor": [0.1, 0.1, 0.1, 0.1]})
    strategy = Daub(curves.learners, SCHEDULE)
    for _ in SIZES:
        strategy.boost("good")
    with pytest.raises(InputError, match="larger size"):
        strategy.boost("good")
    assert told(strategy, curves, 4) == [Allocation("good", size) for size in SIZES]
    assert strategy.winner is None, "the other one has not been looked at"
    assert len(told(strategy, curves, 9)) == 3
    assert strategy.winner == "good"


def failing(name: str, size: int) -> Table:
    """Return the curves, in which a learner fails from a size on."""
    failed = Failure("timeout", "too slow", 1.0)
    return Table(
        {
            each: failed if each.learner == name and each.size >= size else outcome
            for each, outcome in CURVES.outcomes.items()
        }
    )


@pytest.mark.parametrize("kind", [Daub, Frugal])
@pytest.mark.parametrize("size", SIZES)
def test_a_retried_learner_goes_on_from_the_size_that_it_failed_at(kind: type[Daub | Frugal], size: int) -> None:
    strategy = kind(CURVES.learners, SCHEDULE)
    told(strategy, failing("good", size), 99)
    assert strategy.winner == "fair"
    assert "good" in strategy.failures
    with pytest.raises(InputError, match="must be given a learner that failed, got 'poor'"):
        strategy.retry("poor")
    strategy.retry("good")
    asked = told(strategy, CURVES, 99)
    failed_at = next(each for each in strategy.schedule.sizes if each >= size)
    assert asked[0] == Allocation("good", failed_at)
    assert strategy.winner == "good"
    assert not strategy.failures


def test_a_retried_learner_stands_where_it_did_before_it_failed(tmp_path: Path) -> None:
    strategy = Daub(CURVES.learners, SCHEDULE)
    with Journal(tmp_path / "journal.jsonl", strategy.settings) as journal:
        run(strategy, TableEngine(failing("good", SIZES[-1])), journal)
    account = Account.of([*read(tmp_path / "journal.jsonl")][:-1], held=True)
    assert (account.size("good"), account.statuses()["good"].word) == (SIZES[-1], "failed")
    account.take(Steered("retry", "good", account.clock))
    assert account.following == Allocation("good", SIZES[-1])
    assert (account.size("good"), account.statuses()["good"].word) == (account.curve("good").sizes[-1], "next")
    assert account.size("good") < SIZES[-1]


@pytest.mark.parametrize("kind", [Daub, Frugal])
def test_a_resumed_run_may_retry_what_failed(kind: type[Daub | Frugal], tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    def once(curves: Table, *, retry: bool = False) -> Result:
        strategy = kind(CURVES.learners, SCHEDULE)
        with Journal(path, strategy.settings) as journal:
            return run(strategy, TableEngine(curves, 2), journal, retry=retry)

    assert once(failing("good", 40)).selected == "fair"
    assert once(CURVES).selected == "fair", "a failure stays one, unless it is retried"
    again = once(CURVES, retry=True)
    assert again.selected == "good"
    assert not again.failures
    account = Account.of(read(path))
    assert account.state == "finished"
    assert account.result.steps == again.steps


def test_a_run_in_which_all_failed_may_be_retried(tmp_path: Path) -> None:
    path, strategy = tmp_path / "journal.jsonl", Daub(CURVES.learners, SCHEDULE)
    nothing = Table({each: Failure("memory", "too much") for each in CURVES.outcomes})
    with Journal(path, strategy.settings) as journal, pytest.raises(AllLearnersFailed):
        run(strategy, TableEngine(nothing, 2), journal)
    with Journal(path, strategy.settings) as journal:
        assert run(Daub(CURVES.learners, SCHEDULE), TableEngine(CURVES, 2), journal, retry=True).selected == "good"
    account = Account.of(read(path))
    assert account.state == "finished"
    assert account.selected == "good"


def test_a_dropped_learner_is_never_selected() -> None:
    boosted = Daub(CURVES.learners, SCHEDULE)
    for _ in SIZES:
        boosted.boost("good")
    told(boosted, CURVES, 4)
    boosted.drop("good")
    told(boosted, CURVES, 99)
    assert boosted.winner == "fair"

    over = Daub(CURVES.learners, SCHEDULE)
    told(over, CURVES, 99)
    assert over.winner
    over.drop("good")
    told(over, CURVES, 99)
    assert over.winner == "fair", "the race goes on without it"
    over.add("poorer")
    more = table({"poorer": [0.05, 0.05, 0.05, 0.05]})
    told(over, Table({**CURVES.outcomes, **more.outcomes}), 99)
    assert over.winner == "fair", "also when somebody joins"
    over.restore("good")
    told(over, CURVES, 99)
    assert over.winner == "good"


def test_an_added_learner_begins_with_the_first_size_also_when_the_race_was_over() -> None:
    curves = table({"fair": [0.4, 0.5, 0.6, 0.7], "good": [0.5, 0.6, 0.7, 0.8], "poor": [0.1, 0.1, 0.1, 0.1]})
    strategy = Daub(["fair"], SCHEDULE)
    told(strategy, curves, 9)
    assert strategy.winner
    strategy.add("poor")
    assert told(strategy, curves, 9) == [Allocation("poor", size) for size in SIZES[:3]]
    assert strategy.winner == "fair"
    strategy.add("good")
    assert told(strategy, curves, 9) == [Allocation("good", size) for size in SIZES]
    assert strategy.winner == "good"


def test_nonsense_is_refused_and_changes_nothing() -> None:
    strategy = Daub(["a", "b"], SCHEDULE)
    failing = strategy.ask()
    assert failing
    strategy.tell(failing, Failure("error", "no luck"))
    for act, learner, reason in (
        (strategy.drop, "c", "must be one of the strategy's 2"),
        (strategy.drop, "a", "which has failed"),
        (strategy.boost, "a", "which has failed"),
        (strategy.drop, "b", "must leave a learner in the race"),
        (strategy.restore, "b", "must be given a dropped learner"),
        (strategy.add, "b", "must be given a new learner"),
        (strategy.add, "", "must be a name"),
    ):
        with pytest.raises(InputError, match=reason):
            act(learner)
    assert strategy.ask() == Allocation("b", 10)
    account = Account(Full(["a", "b"], SCHEDULE))
    for command in ("drop", "restore", "boost", "add"):
        with pytest.raises(InputError, match="must be one whose learners can be steered, got 'full'"):
            account.steer(Steered(command, "a", 1.0))
    account.steer(Steered("pause", None, 1.0))
    assert account.paused, "pausing always works"


def steered(
    curves: Table, schedule: Schedule, folder: Path, act: Callable[[Event, Mailbox, Strategy], None], workers: int = 1
) -> tuple[Strategy, Result | None, list[Event]]:
    """Run DAUB with somebody who acts after every event."""
    strategy = Daub(curves.learners[: max(1, len(curves.learners) - 1)], schedule)
    mailbox = Mailbox(folder / "steering")
    with Journal(folder / "journal.jsonl", strategy.settings) as journal:
        try:
            result: Result | None = run(
                strategy,
                TableEngine(curves, workers),
                journal,
                watch=lambda event, _: act(event, mailbox, strategy),
                steering=Steering(mailbox, anybody),
            )
        except (AllLearnersFailed, NothingMeasured) as error:
            result = error.result
    return strategy, result, read(folder / "journal.jsonl")


def check_steps(events: list[Event], result: Result, schedule: Schedule) -> None:
    """Who is dropped is not asked, and everybody's sizes are those of the schedule, one after the other."""
    dropped: set[str] = set()
    for event in events:
        if isinstance(event, Steered) and event.command == "drop":
            dropped.add(str(event.learner))
        elif isinstance(event, Steered) and event.command == "restore":
            dropped.remove(str(event.learner))
        elif isinstance(event, Asked):
            assert event.allocation.learner not in dropped
    sizes: dict[str, list[int]] = {}
    for step in result.steps:
        sizes.setdefault(step.allocation.learner, []).append(step.allocation.size)
    for taken in sizes.values():
        assert tuple(taken) == schedule.sizes[: len(taken)]
    assert result.selected not in dropped


@pytest.mark.parametrize("seed", seeds(20, 40))
def test_laws_of_a_run_that_is_steered_at_random(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    curves = random_table(rng, schedule, failures=0.1)

    def act(_: Event, mailbox: Mailbox, strategy: Strategy) -> None:
        if rng.random() < 0.3:
            command = rng.choice(["drop", "restore", "boost", "add"])
            learner = curves.learners[-1] if command == "add" else rng.choice(strategy.learners)
            mailbox.send(command, learner)

    strategy, result, events = steered(curves, schedule, tmp_path, act, workers=rng.choice([1, 3]))
    assert result is not None
    check_steps(events, result, schedule)
    if result.selected is not None:
        assert strategy.curve(result.selected).sizes[-1] == schedule.full_size
    account = Account.of(events)
    again, found = account.strategy, account.result
    assert (found.selected, found.steps, dict(found.failures)) == (result.selected, result.steps, result.failures)
    assert (again.learners, again.dropped) == (strategy.learners, strategy.dropped)
    # Killed after any event, it goes on to an end of its own, and what was measured stays.
    cut = rng.randrange(1, len(events) + 1)
    resumed = Daub(curves.learners[: max(1, len(curves.learners) - 1)], schedule)
    (tmp_path / "again").mkdir()
    with Journal(tmp_path / "again" / "journal.jsonl", resumed.settings) as journal:
        journal.append(*events[1:cut])
        try:
            more = run(resumed, TableEngine(curves), journal, steering=Steering(Mailbox(tmp_path / "m"), anybody))
        except AllLearnersFailed as error:
            more = error.result
    before = Account.of(events[:cut]).steps
    assert list(more.steps[: len(before)]) == before


def test_a_paused_run_begins_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    looks = []

    def act(event: Event, mailbox: Mailbox, _: Strategy) -> None:
        if isinstance(event, Evaluated) and event.allocation == Allocation("good", 20):
            mailbox.send("pause")
            mailbox.send("pause")
        elif isinstance(event, Steered) and event.command == "pause":
            looks.append(event)
            mailbox.send("boost", "fair")
            mailbox.send("resume")

    _, result, events = steered(CURVES, SCHEDULE, tmp_path, act)
    commands = [event.command for event in events if isinstance(event, Steered)]
    assert commands == ["pause", "boost", "resume"]
    between = events[
        events.index(looks[0]) : [isinstance(e, Steered) and e.command == "resume" for e in events].index(True)
    ]
    assert not any(isinstance(event, Submitted | Asked) for event in between)
    assert result is not None
    assert result.selected == "good"
    refusals = [json.loads(path.read_text())["refused"] for path in (tmp_path / "steering").glob("*.answer")]
    assert sorted(map(str, refusals)) == ["None", "None", "None", "The run is paused already."]


def test_stopped_by_hand_it_hands_over_the_best_so_far_and_can_go_on(tmp_path: Path) -> None:
    def act(event: Event, mailbox: Mailbox, _: Strategy) -> None:
        if isinstance(event, Evaluated) and event.allocation == Allocation("fair", 20):
            mailbox.send("stop")

    _, result, events = steered(CURVES, SCHEDULE, tmp_path, act)
    assert result is not None
    assert (result.selected, result.selected_size, result.stopped) == ("good", 40, "stopped by hand")
    assert Account.of(events).result.stopped == "stopped by hand"
    strategy = Daub(CURVES.learners[:2], SCHEDULE)
    with Journal(tmp_path / "journal.jsonl", strategy.settings) as journal:
        assert is_held(tmp_path / "journal.jsonl")
        ended = run(strategy, TableEngine(CURVES), journal)
    assert not is_held(tmp_path / "journal.jsonl")
    assert (ended.selected, ended.stopped) == ("good", None)
    assert isinstance(read(tmp_path / "journal.jsonl")[-1], Selected)


def test_stopped_by_hand_before_the_first_outcome_it_says_so(tmp_path: Path) -> None:
    mailbox, strategy = Mailbox(tmp_path / "steering"), Daub(CURVES.learners, SCHEDULE)
    mailbox.send("stop")
    with pytest.raises(NothingMeasured, match="ended before anything was measured: stopped by hand") as raised:
        run(strategy, TableEngine(CURVES), steering=Steering(mailbox, nobody))
    assert raised.value.result.stopped == "stopped by hand"


def test_stopped_by_hand_a_dropped_learner_is_not_handed_over(tmp_path: Path) -> None:
    def act(event: Event, mailbox: Mailbox, _: Strategy) -> None:
        if isinstance(event, Evaluated) and event.allocation == Allocation("fair", 40):
            mailbox.send("drop", "good")
            mailbox.send("stop")
            mailbox.send("pause")

    _, result, events = steered(CURVES, SCHEDULE, tmp_path, act)
    assert result is not None
    assert (result.selected, Account.of(events).result.selected) == ("fair", "fair")
    refusals = [json.loads(path.read_text())["refused"] for path in (tmp_path / "steering").glob("*.answer")]
    assert [words for words in refusals if words] == ["The run has just ended, so it cannot be steered."]


def test_what_cannot_be_admitted_is_not_added(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path / "steering")
    key = mailbox.send("add", "stranger")
    strategy = Daub(CURVES.learners, SCHEDULE)
    run(strategy, TableEngine(CURVES), steering=Steering(mailbox, nobody))
    assert strategy.learners == CURVES.learners
    with pytest.raises(InputError, match="must be of the portfolio, got 'stranger'"):
        mailbox.answer_to(key, 1.0)


def test_commands_are_taken_once_in_their_order_and_rubbish_is_thrown_away(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path / "box")
    assert mailbox.take() == {}
    keys = [mailbox.send("pause"), mailbox.send("drop", "tree"), mailbox.send("stop")]
    for number, rubbish in enumerate(
        [
            "",
            "{",
            "[]",
            '{"command": "drop", "learner": ["x"]}',
            '{"command": "rm"}',
            '{"command": "drop", "learner": null}',
        ]
    ):
        (tmp_path / "box" / f"{number}.command").write_text(rubbish)
    taken = mailbox.take()
    assert [(key, each.command, each.learner) for key, each in taken.items()] == [
        (keys[0], "pause", None),
        (keys[1], "drop", "tree"),
        (keys[2], "stop", None),
    ]
    assert mailbox.take() == {}
    assert list((tmp_path / "box").iterdir()) == []
    assert mailbox.answer_to(keys[0], 0.0) is False
    mailbox.answer(keys[0])
    assert mailbox.answer_to(keys[0], 0.0) is True
    mailbox.send("pause")
    mailbox.clear()
    assert mailbox.take() == {}
    for command, learner in (("nonsense", None), ("drop", None), ("pause", "tree")):
        with pytest.raises(InputError, match="must"):
            mailbox.send(command, learner)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot leave a command in"):
        Mailbox(tmp_path / "file" / "box").send("pause")
