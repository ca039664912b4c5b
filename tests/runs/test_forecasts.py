"""What is shown about the future of a run: the same everywhere, whatever the strategy."""

from __future__ import annotations

import io
import math
import random

import pytest
from rich.console import Console

from pydaub import (
    STRATEGIES,
    Account,
    Allocation,
    Daub,
    Measurement,
    Schedule,
    Scores,
    Started,
    Step,
    Strategy,
    Table,
    TableEngine,
)
from pydaub.events import Event
from pydaub.exports.leaderboard import leaderboard
from pydaub.runs.certificate import certificate, certificate_of
from pydaub.runs.forecasts import Forecasts, forecasts
from pydaub.runs.loop import Loop
from pydaub.runs.result import Result
from pydaub.runs.standing import standing
from pydaub.views.lines import lines
from pydaub.views.terminal import print_learners

SIZES = (100, 400, 1600, 6400)
CURVES = {
    "best": (0.6, 0.7, 0.78, 0.84),
    "close": (0.58, 0.69, 0.77, 0.8395),
    "slow": (0.5, 0.55, 0.62, 0.7),
    "flat": (0.52, 0.52, 0.52, 0.52),
}
every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def replayed(
    kind: type[Strategy], scores: Scores | None = None, stop: int | None = None
) -> tuple[Account, list[Event]]:
    """Return a run and its events; `stop` says after how many of them it is looked at."""
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score, size / 1000)
            for name, curve in CURVES.items()
            for size, score in zip(SIZES, curve, strict=True)
        }
    )
    given = {"scores": scores or Scores("accuracy", 1000)}
    strategy = kind(table.learners, Schedule(SIZES), **(given if kind.needs_scores else {}))
    started = Started({**strategy.settings, "scores": given["scores"].to_json()})
    events: list[Event] = [started]
    loop = Loop(strategy, TableEngine(table), started=started, watch=lambda event, _: events.append(event))
    account = loop.run()
    return (account if stop is None else Account.of(events[:stop], held=True)), events


@every_strategy
def test_a_journal_alone_tells_the_same_as_the_run(kind: type[Strategy]) -> None:
    account, events = replayed(kind)
    again = Account.of(events)
    assert certificate_of(again) == certificate_of(account)
    assert lines(again) == lines(account)


@every_strategy
def test_at_every_moment_every_view_shows_the_same_quantiles(kind: type[Strategy]) -> None:
    _, events = replayed(kind)
    for stop in range(2, len(events) + 1):
        account = Account.of(events[:stop], held=True)
        known, board = forecasts(account), leaderboard(account).set_index("learner")
        out = io.StringIO()
        print_learners(Console(file=out, width=160), account)
        for line in lines(account):
            forecast = known.of(line.learner)
            shown = tuple(board.loc[line.learner, ["expected", "low", "high"]])
            if line.expected is None:
                assert forecast is None
                assert all(math.isnan(each) for each in shown)
                continue
            assert shown == (line.expected, line.low, line.high)
            assert line.interval in out.getvalue()
            if forecast is None:
                assert line.expected == known.at_full[line.learner]
                continue
            assert line.expected == forecast.quantile(0.5)
            assert (line.low, line.high) == (forecast.quantile(0.05), forecast.quantile(0.95))
            assert line.size < account.full_size


@every_strategy
def test_who_has_had_all_rows_is_no_rival_and_all_name_the_same_one(kind: type[Strategy]) -> None:
    account, _ = replayed(kind)
    found, claim = standing(account), certificate_of(account)
    assert found is not None
    assert claim is not None
    at_full = {name for name in account.learners if account.size(name) == account.full_size}
    assert not at_full & {*found.chances}
    assert claim.rival == next(iter(found.chances), None)
    assert claim.chance == max(found.chances.values(), default=0.0)


def test_one_that_was_evaluated_ahead_on_all_rows_is_not_forecast() -> None:
    outcome = Measurement(None, 0.7, 1.0)
    steps = tuple(Step(Allocation(name, 100), outcome, None) for name in ("first", "second"))
    full = Step(Allocation("first", 400), Measurement(None, 0.8, 1.0), None)
    ahead = {Allocation("second", 400): Measurement(None, 0.79, 1.0)}
    result = Result("first", 400, (*steps, full), {}, 1.0, speculated=ahead, selected_size=400)
    known = Forecasts(result, Scores(rows=100), {})
    assert known.of("second") is None
    assert known.chances("first", ["second"]) == {}
    claim = certificate(result, ["first", "second"], Scores(rows=100))
    assert claim is not None
    assert (claim.rival, claim.margin) == (None, 0.0)
    better = Result(
        "first",
        400,
        (*steps, full),
        {},
        1.0,
        speculated={Allocation("second", 400): Measurement(None, 0.85, 1.0)},
        selected_size=400,
    )
    claim = certificate(better, ["first", "second"], Scores(rows=100))
    assert claim is not None
    assert claim.margin == pytest.approx(0.05), "what is known counts"


def test_a_learner_that_was_dropped_is_in_neither() -> None:
    account, _ = replayed(Daub)
    before = standing(account)
    assert before is not None
    rival = next(iter(before.chances))
    account.strategy.drop(rival)  # type: ignore[attr-defined]
    found, claim = standing(account), certificate_of(account)
    assert found is not None
    assert claim is not None
    assert rival not in {*found.chances, claim.rival}
    assert "Nothing is claimed about the learner that was dropped by hand." in claim.doubts


@pytest.mark.parametrize(
    ("name", "top"), [("neg_mean_squared_error", 0.0), ("r2", 1.0), ("neg_log_loss", 0.0), ("custom", None)]
)
def test_any_score_has_a_certificate_and_its_noise_comes_from_pairs_or_is_unknown(name: str, top: float | None) -> None:
    rng = random.Random(0)
    scores = Scores(name, 600, top, proportion=False)
    error = {"best": 0.2, "close": 0.201, "slow": 0.5}
    shift = 0.0 if top is None else top
    for keep in (True, False):
        steps = []
        for learner, least in error.items():
            for size in SIZES if learner != "slow" else SIZES[:2]:
                score = shift - least - (1 - least) * (SIZES[0] / size) ** 0.7
                parts = tuple(score + rng.gauss(0, 0.01) for _ in range(100)) if keep and size == SIZES[-1] else ()
                steps.append(Step(Allocation(learner, size), Measurement(None, score, 1.0, {}, parts), None))
        result = Result("best", SIZES[-1], tuple(steps), {}, 1.0, selected_size=SIZES[-1])
        claim = certificate(result, error, scores)
        assert claim is not None
        assert claim.margin is not None
        assert claim.rival == "slow"
        assert ("close" in claim.ties) == keep
        assert any("is not known" in doubt for doubt in claim.doubts) == (not keep)
        known = Forecasts(result, scores, {}).of("slow")
        assert known is not None
        assert (known.noise > 0) == keep
