"""The story of a run is what its journal says, at any moment, in plain JSON values."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path

import pytest

from pydaub import (
    STRATEGIES,
    AllLearnersFailed,
    Allocation,
    Asked,
    Daub,
    Evaluated,
    Failure,
    Halving,
    Journal,
    JournalError,
    Measurement,
    NothingMeasured,
    Result,
    Schedule,
    Selected,
    Started,
    Stopped,
    Strategy,
    Submitted,
    TableEngine,
    run,
)
from pydaub.records import Event, Steered
from pydaub.runs.journal import read
from pydaub.views.story import Story
from pydaub.views.view import result_of
from tables import random_schedule, random_table

every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
STATUSES = {
    *("selected", "failed", "dropped", "running", "bootstrapping", "suspended", "waiting"),
    *("knocked out", "not selected", "interrupted"),
}


def journalled(kind: type[Strategy], seed: int, path: Path) -> tuple[Result, list[Event]]:
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule, failures=rng.choice([0.0, 0.3]))
    strategy = kind(table.learners, schedule)
    limit = rng.choice([None, None, rng.uniform(0.01, 60)])
    with Journal(path, {**strategy.settings, "scoring": "accuracy"}) as journal:
        try:
            result = run(strategy, TableEngine(table, rng.choice([1, 4])), journal, time_limit=limit)
        except (AllLearnersFailed, NothingMeasured) as error:
            result = error.result
    return result, read(path)


@every_strategy
@pytest.mark.parametrize("seed", range(25))
def test_a_story_tells_what_the_run_did(kind: type[Strategy], seed: int, tmp_path: Path) -> None:
    result, events = journalled(kind, seed, tmp_path / "journal.jsonl")
    story = Story(100).take_all(events)
    head = story.header()
    outcomes = {event.allocation: event.outcome for event in events if isinstance(event, Evaluated)}
    assert head["allocations"] == len(outcomes)
    assert head["rows"] == sum(allocation.size for allocation in outcomes)
    assert head["seconds"] == pytest.approx(sum(outcome.seconds for outcome in outcomes.values()), abs=1e-2)
    assert story.result.steps == result.steps
    assert story.result.selected == (result.selected or result_of(events)[1].selected)
    ended = "finished" if result.selected and not result.stopped else "stopped" if result.stopped else "failed"
    assert head["state"] == ended
    asked = [event for event in events if isinstance(event, Asked)]
    told = [entry for entry in story.decisions if entry["size"]]
    assert [(entry["learner"], entry["size"]) for entry in told] == [
        (event.allocation.learner, event.allocation.size) for event in asked
    ]
    assert [entry["number"] for entry in story.decisions] == list(range(1, len(story.decisions) + 1))
    told_of = story.told()
    for name in story.strategy.learners:
        one = told_of[name]
        curve = story.strategy.curve(name)
        assert [point[0] for point in one["points"]] == list(curve.sizes)
        assert one["corrected"] == list(curve.valid)
        assert one["status"] in STATUSES
        assert (one["status"] == "failed") == (name in result.failures)
        assert bool(one["why"]) == (name in result.failures)
    racing = {name for name in story.strategy.learners if name not in result.failures}
    scores = [
        outcome.valid_score
        for allocation, outcome in outcomes.items()
        if isinstance(outcome, Measurement) and allocation.learner in racing
    ]
    if not result.selected or result.stopped:
        assert (head["leader"] or {}).get("valid") == max(scores, default=None)
    else:
        assert head["leader"]["name"] == result.selected


@pytest.mark.parametrize("seed", range(12))
def test_every_beginning_of_a_journal_is_a_story_in_json(seed: int, tmp_path: Path) -> None:
    _, events = journalled(Daub, seed, tmp_path / "journal.jsonl")
    story = Story(100)
    for event in events:
        story.take(event)
        told = [story.header(), story.decisions, story.told()]
        assert json.loads(json.dumps(told, allow_nan=False)) == json.loads(json.dumps(told))
        assert story.certificate is None or story.certificate.sentences
        assert {allocation.learner for allocation in story.running} <= story.changed | set(story.strategy.learners)


SIZES = (10, 20, 40, 80)
STARTED = Started(Daub(["good", "fair"], Schedule(SIZES)).settings)


def tell(story: Story, learner: str, size: int, outcome: Measurement | Failure, clock: float) -> None:
    allocation = Allocation(learner, size)
    for event in (Asked(allocation, None), Submitted(allocation), Evaluated(allocation, outcome, clock)):
        story.take(event)


def bootstrapped() -> Story:
    story = Story(100)
    story.take(STARTED)
    for name, start in (("good", 0.5), ("fair", 0.3)):
        for place, size in enumerate(SIZES[:3]):
            tell(story, name, size, Measurement(0.99, start + 0.02 * place, 1.0), float(len(story.outcomes)))
    return story


def test_decisions_are_told_in_plain_words() -> None:
    story = bootstrapped()
    assert story.decisions[0]["words"] == "good gets 10 rows: every learner begins with the 3 smallest sizes."
    tell(story, "good", 80, Measurement(0.9, 0.6, 1.0), 7.0)
    story.take(Selected("good"))
    words = [entry["words"] for entry in story.decisions[-2:]]
    assert words == [
        "good gets 80 rows: its bound 0.591 is the highest; next is fair with 0.391.",
        "good is selected.",
    ]
    assert story.state == "finished"
    assert story.statuses() == {"good": "selected", "fair": "suspended"}
    assert story.summary[0] == "Selected good: score 0.6000 on all 80 training rows."


def test_the_selected_is_shown_with_its_score_on_all_rows_however_high_it_was_before() -> None:
    story = bootstrapped()
    tell(story, "good", 80, Measurement(0.9, 0.52, 1.0), 7.0)
    assert story.header()["leader"] == {"name": "good", "valid": 0.54, "size": 40}
    story.take(Selected("good"))
    assert story.header()["leader"] == {"name": "good", "valid": 0.52, "size": 80}


def test_who_was_knocked_out_does_not_wait_and_nobody_waits_at_the_end() -> None:
    story = Story(100, held=True)
    story.take(Started(Halving(["best", "good", "fair", "bad"], Schedule(SIZES)).settings))
    scores = {"best": 0.8, "good": 0.7, "fair": 0.6, "bad": 0.5}
    while (asked := story.strategy.winner) is None:
        allocation = deepcopy(story.strategy).ask()
        assert allocation is not None
        tell(story, allocation.learner, allocation.size, Measurement(0.9, scores[allocation.learner], 1.0), 1.0)
        if story.state == "running" and allocation.size > SIZES[0]:
            assert story.statuses()["bad"] == "knocked out"
            assert story.statuses()["best"] == "waiting" or story.strategy.winner
    story.take(Selected(asked))
    assert story.statuses() == {"best": "selected", **dict.fromkeys(["good", "fair", "bad"], "not selected")}


def test_statuses_and_states_follow_what_happens() -> None:
    story = Story()
    with pytest.raises(JournalError, match="must begin with its settings"):
        story.take(Selected("good"))
    assert not story.begun
    story.take(STARTED)
    assert story.state == "killed"
    story.held = True
    assert story.state == "running"
    assert story.statuses()["good"] == "bootstrapping"
    story.take(Asked(Allocation("good", 10), None))
    story.take(Submitted(Allocation("good", 10)))
    assert story.statuses()["good"] == "running"
    story.held = False
    assert (story.statuses()["good"], story.header()["running"]) == ("interrupted", [])
    story.held = True
    story.take(Steered("pause", None, 1.0))
    assert story.state == "paused"
    story.take(Steered("drop", "good", 2.0))
    assert (story.statuses()["good"], story.header()["running"]) == ("dropped", [])
    story.take(Steered("resume", None, 3.0))
    assert story.state == "running"
    story.take(Stopped("time limit", 4.0))
    assert story.state == "stopped"
    story.take(Asked(Allocation("fair", 10), None))
    assert story.state == "running"
    story.take(Evaluated(Allocation("fair", 10), Failure("timeout", "longer than 1 s", 1.0), 5.0))
    assert (story.statuses()["fair"], story.told()["fair"]["why"]) == ("failed", "timeout: longer than 1 s")
    assert story.decisions[-1]["words"] == "fair failed with 10 rows: timeout, longer than 1 s."
    assert story.state == "failed", "the other one was dropped"


def test_a_run_that_was_killed_while_paused_goes_on_when_it_is_resumed() -> None:
    story = Story(held=True).take_all([STARTED, Asked(Allocation("good", 10), None), Submitted(Allocation("good", 10))])
    story.take(Submitted(Allocation("fair", 10)))
    story.take(Steered("pause", None, 1.0))
    assert story.state == "paused"
    story.take(Submitted(Allocation("good", 10)))  # begun once more: the others were killed with the run
    assert story.state == "running"
    assert story.header()["running"] == [["good", 10]]


def test_who_was_dropped_neither_leads_nor_is_handed_over() -> None:
    story = bootstrapped()
    assert story.leader == "good"
    story.take(Steered("drop", "good", 9.0))
    assert story.leader == "fair"
    assert story.result.selected == "fair"
