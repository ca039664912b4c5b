"""The leaderboard: a line for each learner, with the numbers and words that every table of learners shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.records import REFUSED, Allocation, Measurement, with_noise
from pydaub.runs.certificate import INTERVAL, percent
from pydaub.runs.forecasts import forecasts
from pydaub.runs.standing import LIMITS, noise_of, standing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydaub.runs.account import Account, Status
    from pydaub.runs.forecasts import Forecasts
    from pydaub.runs.standing import Standing

LAST: Final = 1e308  # of ranks, which JSON must be able to write
BASELINES: Final = frozenset({"dummy", "dummy-median", "weka-zero-r"})  # they know nothing of a row
WORDS: Final = 8  # of a remark, at most
NINE_OF_TEN: Final = 1.645  # standard errors around a score
OUT: Final = ("failed", REFUSED, "dropped")  # statuses of learners that cannot be selected


@dataclass(frozen=True, slots=True)
class Line:
    """Where a learner stands. Lines are in the order of their `rank`.

    Parameters
    ----------
    learner
        Its name.
    size, train, valid
        The most rows that it was measured with, of the leader those with which it leads, and the scores there; 0 and
        None where nothing was measured.
    loss
        The distance from the best possible score, where that is known.
    expected, low, high
        The score with all rows and the ends of its 90 % interval: as measured, with the noise of validation, or by the
        forecast, of which they are the 50 %, 5 % and 95 % quantiles. None where nothing was measured, and for a learner
        that failed.
    bound, priority
        The strategy's own numbers. The bound only where it holds for every curve that gets no steeper.
    rows, seconds
        Sums over what was asked for.
    predict
        Milliseconds that predicting 1,000 rows takes, where that is known.
    status, why
        What it is doing, in a word or two, and everything known about that.
    remark
        What a person should know of it, in eight words at most.
    rank
        The leader comes first, then the expected score decides; learners that are out and baselines come last.
    """

    learner: str
    size: int
    train: float | None
    valid: float | None
    loss: float | None
    expected: float | None
    low: float | None
    high: float | None
    bound: float | None
    priority: float | None
    rows: int
    seconds: float
    predict: float | None
    status: str
    why: str
    remark: str
    rank: tuple[float, ...]

    @property
    def interval(self) -> str:
        """The expected score, give or take what makes its 90 % interval; empty where nothing is known."""
        if self.expected is None or self.low is None or self.high is None:
            return ""
        return with_noise(self.expected, (self.high - self.low) / 2)


def lines(account: Account, baselines: Collection[str] = BASELINES) -> list[Line]:
    """Return a line for each learner: the leader first, then by expected score on all rows, baselines last."""
    strategy, found, outcomes = account.strategy, standing(account), account.outcomes
    ahead, leader = forecasts(account), account.leader
    largest = _largest(outcomes)
    floor = max((ahead.at_full[name] for name in baselines if name in ahead.at_full), default=-math.inf)
    made = []
    for place, (name, status) in enumerate(account.statuses().items()):
        leads = leader is not None and name == leader.learner
        size = leader.size if leader and leads else largest.get(name, 0)
        outcome = outcomes.get(Allocation(name, size)) if size else None
        failed, measured = status.word in ("failed", REFUSED), outcome if isinstance(outcome, Measurement) else None
        valid = None if measured is None else measured.valid_score
        expected = (None, None, None) if failed else _expected(account, ahead, name)
        baseline, known = name in baselines, expected[0] is not None
        remark = _remark(found, status, name, size, account.full_size)
        if not failed and baseline:
            remark = "a baseline"
        elif not failed and known and expected[0] <= floor:  # type: ignore[operator]  # it is known
            remark = "no better than a baseline"
        line = Line(
            learner=name,
            size=size,
            train=None if measured is None else measured.train_score,
            valid=valid,
            loss=None if valid is None or account.scores.top is None else account.scores.top - valid,
            expected=expected[0],
            low=expected[1],
            high=expected[2],
            bound=finite(account.bound(name)) if strategy.sure and not failed else None,
            priority=None if failed else finite(strategy.priority(name)),
            rows=account.rows(name),
            seconds=account.seconds(name),
            predict=_predict(account, measured),
            status=status.word,
            why=status.why,
            remark=remark,
            rank=(
                not leads,
                baseline and not leads,
                status.word in OUT,
                LAST if expected[0] is None else -expected[0],
                place,
            ),
        )
        made.append(line)
    return sorted(made, key=lambda line: line.rank)


def finite(value: float | None) -> float | None:
    """Return a number as it can be shown: bounds are infinite while no slope is known."""
    return None if value is None or not math.isfinite(value) else value


def _largest(outcomes: Mapping[Allocation, object]) -> dict[str, int]:
    """Return the most rows that each learner was measured with."""
    found: dict[str, int] = {}
    for allocation, outcome in outcomes.items():
        if isinstance(outcome, Measurement):
            found[allocation.learner] = max(found.get(allocation.learner, 0), allocation.size)
    return found


def _expected(account: Account, ahead: Forecasts, name: str) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the score with all rows and the ends of its interval."""
    if (score := ahead.at_full.get(name)) is not None:
        measured = ahead.steps[name][-1].outcome
        error = noise_of(account.scores, account.full_size, measured) if isinstance(measured, Measurement) else None
        room = NINE_OF_TEN * (error or 0.0)
        top = math.inf if account.scores.top is None else account.scores.top
        return score, score - room, min(score + room, max(top, score))
    forecast = ahead.of(name)
    return (
        (None, None, None)
        if forecast is None
        else (forecast.likely, forecast.quantile(INTERVAL[0]), forecast.quantile(INTERVAL[1]))
    )


def _predict(account: Account, measured: Measurement | None) -> float | None:
    """Return how many milliseconds predicting 1,000 rows takes."""
    rows = (measured.scored or account.scores.rows) if measured else None
    if measured is None or measured.scoring is None or not rows:
        return None
    return 1e6 * measured.scoring / rows


def _remark(found: Standing, status: Status, name: str, size: int, full: int) -> str:
    """Return what a person should know of a learner, in a few words."""
    if status.word in ("failed", REFUSED):
        return _failure(status.why)
    if status.word == "dropped":
        return "dropped by hand"
    if not size:
        return f"first training, {status.why}" if status.word == "training" else "not measured"
    if name in found.ties:
        return "as good as the leader, within chance"
    if name in found.possible:
        return f"{percent(found.chances[name])} chance to win with all rows"
    return f"has seen {100 * size / full:.0f} % of the rows" if size < full else ""


def _failure(why: str) -> str:
    """Return why a learner failed; for limits, what gives it another chance."""
    kind = why.partition(":")[0]
    if kind in LIMITS:
        return f"{kind}: a higher `{LIMITS[kind]}` may help"
    words = why.removeprefix("error: ").split()
    return " ".join(words) if len(words) <= WORDS else f"{' '.join(words[:WORDS])}…"
