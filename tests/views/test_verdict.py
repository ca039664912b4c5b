"""The verdict in every state of a run, with ordinary and with extreme scores and names."""

from __future__ import annotations

import re

import pytest

from pydaub import Account, Allocation, Asked, Evaluated, Failure, Full, Measurement, Schedule, Scores, Selected
from pydaub.events import Event, Limited, Resumed, Steered, Stopped, Submitted
from pydaub.runs.standing import Standing
from pydaub.views.verdict import verdict, verdict_on

FULL = 400
LONG = "grid(" + ", ".join(f"parameter_{number}={number / 7}" for number in range(8)) + ")"


def account(*events: Event, names: tuple[str, ...] = ("tree", "forest"), kind: Scores | None = None) -> Account:
    strategy = Full(names, Schedule((FULL,)))
    scores = kind or Scores("accuracy", 1000)
    made = Account(strategy, {**strategy.settings, "scores": scores.to_json()}, held=True)
    for event in events:
        made.take(event)
    return made


def told(name: str, score: float, parts: tuple[float, ...] = (), seconds: float = 2.0) -> list[Event]:
    allocation = Allocation(name, FULL)
    measured = Measurement(None, score, seconds, {}, parts)
    return [Asked(allocation, None), Submitted(allocation), Evaluated(allocation, measured, 3.0)]


TREE = told("tree", 0.8)


def test_before_anything_is_measured() -> None:
    assert verdict(account()).line == "Nothing has been measured yet (2 learners)."
    begun = account(Asked(Allocation("tree", FULL), None), Submitted(Allocation("tree", FULL)))
    assert verdict(begun).line == "Nothing has been measured yet (2 learners, 1 in training)."
    begun.held = False
    assert verdict(begun).line == "Killed or interrupted: nothing has been measured yet (2 learners)."


def test_a_run_in_every_state() -> None:
    led = "tree leads: accuracy 0.800 ± 0.013 with all 400 rows. No other learner has as many rows."
    over = f"{led} 1 learner not measured. 2.0 s of training.".replace("leads", "was the best")
    running = account(*TREE)
    left = verdict(running).left
    assert re.fullmatch(r"Probably .* left(, too early to say more)?", left)
    line = f"{led} 1 learner not measured yet. 2.0 s of training. {left}."
    assert verdict(running).line == line
    assert re.fullmatch(r"running \d+ % · tree", verdict(running).title)
    assert verdict(account(*TREE, Steered("pause", None, 3.0))).line == f"Paused: {line}"
    assert verdict(account(*TREE, Stopped("time limit", 4.0))).line == f"Stopped (time limit): {over}"
    assert verdict(account(*TREE, Stopped("stopped by hand", 4.0))).line == f"Stopped by hand: {over}"
    assert verdict(account(*TREE, Stopped("time limit", 3.0), Resumed(3.0))).line == line
    running.held = False
    assert verdict(running).line == f"Killed or interrupted: {over}"
    assert verdict(running).title == "killed · tree"


def test_a_time_limit_is_the_most_that_can_be_left() -> None:
    names = ("tree", *(f"learner {number}" for number in range(100)))
    free, limited = account(*TREE, names=names), account(Limited(123.0), *TREE, names=names)
    assert verdict(free).left.endswith("too early to say more")
    assert re.fullmatch(r"Probably \d+ s to 2 min left", verdict(limited).left)
    assert max(verdict(limited).seconds or ()) == 120.0


def test_a_finished_run_says_by_how_much_it_is_ahead() -> None:
    clear = verdict(account(*TREE, *told("forest", 0.9, seconds=6.0), Selected("forest", 9.0)))
    assert clear.line == (
        "forest is selected: accuracy 0.9000 ± 0.0095 with all 400 rows."
        " Next best: tree (100 more errors in 1,000 validation rows)."
        " 8.0 s of training, as much as for training everything."
    )
    assert (clear.title, clear.fraction, clear.left) == ("finished · forest", 1.0, "")
    tied = verdict(account(*TREE, *told("forest", 0.803), Selected("forest", 9.0)))
    assert " As good within chance: tree (3 more errors in 1,000 validation rows). " in tied.line


def test_a_fit_of_a_moment_is_not_compared_with_nothing() -> None:
    quick = verdict(account(*told("tree", 0.8, seconds=0.02), *told("forest", 0.9, seconds=0.01)))
    assert quick.sentences[2].startswith("Less than 0.1 s of training")
    assert "0.0 s" not in quick.line


@pytest.mark.parametrize(("count", "said"), [(1, "rival 0 has not even a"), (2, "None of the other 2 has even a")])
def test_rivals_without_a_chance(count: int, said: str) -> None:
    leader = Allocation("tree", FULL)
    chances = {f"rival {number}": 0.001 for number in range(count)}
    found = Standing("finished", 3, leader, Measurement(None, 0.8, 1.0), chances=chances)
    line = verdict_on(account(*TREE, Selected("tree", 9.0)), found).line
    assert f" {said} 1 % chance to be better on all rows." in line


def test_no_learner_is_left() -> None:
    failed = [
        event
        for name in ("tree", "forest")
        for event in (
            Asked(Allocation(name, FULL), None),
            Evaluated(Allocation(name, FULL), Failure("error", "no", 1.0), 2.0),
        )
    ]
    assert verdict(account(*failed)).line.startswith("No learner is left: 2 failed. 2.0 s of training")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((-1e6, -1.2e6), "neg_error -1,000,000 ± 1,005 with all 400 rows. Next best: forest (200,000 less)."),
        ((-1.2e-6, -2e-6), "neg_error -1.2e-06 ± 1.2e-09 with all 400 rows. Next best: forest (8e-07 less)."),
        ((-3.25, -4.0), "neg_error -3.2500 ± 0.0033 with all 400 rows. Next best: forest (0.7500 less)."),
    ],
)
def test_errors_of_any_size(scores: tuple[float, float], expected: str) -> None:
    kind = Scores("neg_error", 1000, 0.0, proportion=False)

    def parts(score: float) -> tuple[float, ...]:
        return tuple(score * (1 + 0.01 * (-1) ** place) for place in range(100))

    events = [
        event
        for name, score in zip(("tree", "forest"), scores, strict=True)
        for event in told(name, score, parts(score))
    ]
    assert expected in verdict(account(*events, Selected("tree", 9.0), kind=kind)).line


def test_without_rows_nothing_is_said_of_noise() -> None:
    line = verdict(account(*TREE, *told("forest", 0.79), kind=Scores("score", None, None, proportion=False))).line
    assert line.startswith("tree leads: score 0.8000 with all 400 rows. Next best: forest (0.0100 less).")


def test_long_and_hostile_names_stay_on_one_short_line() -> None:
    names = (LONG, f"{LONG} \x1b[31m\n\u202e")
    events = [event for name in names for event in told(name, 0.8)]
    found = verdict(account(*events, names=names))
    assert len(found.line) < 340
    assert len(found.title) < 60
    assert found.line.startswith("grid(parameter_0=0.0, pa…")
    assert "\\x1b[31m\\n\\u202e" in found.line
    assert found.line.isprintable()
    assert found.title.isprintable()


@pytest.mark.parametrize(
    ("name", "said"),
    [("accuracy", "10 more errors in 1,000 validation rows"), ("roc_auc", "0.0100 less"), ("f1", "0.0100 less")],
)
def test_only_differences_of_accuracy_are_numbers_of_rows(name: str, said: str) -> None:
    line = verdict(account(*TREE, *told("forest", 0.79), kind=Scores(name, 1000))).line
    assert f"forest ({said})" in line


def test_the_noise_of_a_score_of_a_rare_class_is_that_of_its_rows() -> None:
    common, rare = (verdict(account(*TREE, kind=Scores("f1", 1000, counting=part))).line for part in (1.0, 0.04))
    assert "f1 0.800 ± 0.013" in common
    assert "f1 0.800 ± 0.063" in rare
