"""What goes on now agrees with the account, after every event."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dashboard.races import race
from pydaub import Account
from pydaub.events import Steered
from pydaub.runs.account import SURE
from pydaub.runs.journal import read
from pydaub.runs.standing import standing
from pydaub.views.activity import FEWEST, SCALED, activity, focus
from pydaub.views.lines import lines

RECORDED = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_lanes_the_next_learner_and_the_best_score_follow_the_account(path: Path) -> None:
    events = read(path)
    account, expected = Account.begun(events[0], held=True), 0
    for event in events[1:]:
        account.take(event)
        known = lines(account)
        now, seen = activity(account), focus(account, standing(account), known)
        assert [(lane["learner"], lane["size"]) for lane in now["lanes"]] == [
            (each.learner, each.size) for each in account.training
        ]
        for lane in now["lanes"]:
            assert 0 <= lane["since"] <= account.clock + 0.1
            assert lane["expected"] is None or lane["expected"] > 0
            expected += lane["expected"] is not None
            assert (lane["expected"] is None) == (not account.strategy.curve(lane["learner"]).sizes)
            assert ("{left}" in lane["words"]) == (lane["expected"] is not None)
        following = account.following
        assert now["next"].startswith(f"Next: {following.learner} with" if following else "")
        assert bool(now["next"]) == (following is not None)
        scores = [score for _, score, _, _ in now["best"]]
        assert scores == sorted(set(scores))
        assert seen["leader"] == (account.leader and account.leader.learner)
        assert seen["leader"] not in seen["rivals"]
        led = standing(account)
        if led.score is not None:
            low, high = seen["interval"] or (-math.inf, math.inf)
            assert all(low <= line.expected <= high for line in known[:SCALED] if line.expected is not None)
            least, most = seen["band"] or (led.score,) * 2
            assert (most - least) / 2 == pytest.approx(SURE * (led.error or 0))
    assert expected > 10
    assert (now["lanes"], now["next"], now["words"]) == ([], "", "")


def test_a_paused_run_does_not_say_that_something_is_next(tmp_path: Path) -> None:
    account = Account.of(read(race(tmp_path, 12, until=10) / "journal.jsonl"), held=True)
    assert activity(account)["words"] == ""
    account.steer(Steered("boost", account.learners[3], account.clock))
    account.steer(Steered("pause", None, account.clock))
    now = activity(account)
    assert now["words"].startswith("Paused.")
    assert now["next"].startswith("After it is resumed: ")
    account.running.clear()
    assert activity(account)["words"] == "Paused: nothing is training."


def test_a_leader_that_nobody_can_catch_is_not_drawn_alone(tmp_path: Path) -> None:
    account = Account.of(read(race(tmp_path, 12) / "journal.jsonl"))
    seen = focus(account, standing(account), lines(account))
    assert len(seen["rivals"]) >= FEWEST
    assert seen["leader"] not in seen["rivals"]
