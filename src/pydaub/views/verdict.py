"""The verdict on a run in one line: who leads and how surely, what it cost, what is left. The same in every view."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.records import as_precise, score_text
from pydaub.runs.account import BY_HAND, GOING_ON
from pydaub.runs.certificate import percent
from pydaub.runs.contest import POSSIBLE, contest
from pydaub.runs.remaining import fraction as passed
from pydaub.runs.remaining import remaining
from pydaub.views.summary import against_training, counted, duration, plain, shortened, spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.runs.account import Account
    from pydaub.runs.contest import Contest
    from pydaub.runs.remaining import Remaining

LONGEST: Final = 48  # characters of a name in the line
LONGEST_IN_TITLE: Final = 24
LEAST_CHANCE: Final = 0.01  # that is worth a name
NAMED: Final = 2  # tied learners
UNITS: Final = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
MANY: Final = 10  # from here on without decimals
VAGUE: Final = 15  # an interval whose ends differ by more than this factor says little
EARLY: Final = "too early to say how much is left"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person wants to know of a run.

    Parameters
    ----------
    line
        All of it on one line.
    title
        State, progress and leader, for the tab of a browser.
    fraction
        Share of the time that has passed, from 0 to 1; 1 only at the end. None if unknown.
    left
        The time that is probably left, in words; empty if unknown or nothing is left.
    seconds
        The same as an interval of seconds; None if unknown.
    """

    line: str
    title: str
    fraction: float | None = None
    left: str = ""
    seconds: tuple[float, float] | None = None


KILLED: Final = "Killed or interrupted: "
WAITING: Final = Verdict("The run has not begun.", "waiting")


def verdict(account: Account, elapsed: float | None = None) -> Verdict:
    """Return the verdict on a run as it stands, after so many seconds; without them, at its last event."""
    return verdict_on(account, contest(account), elapsed)


def verdict_on(account: Account, found: Contest | None, elapsed: float | None = None) -> Verdict:
    """Return the same, where the contest is known already."""
    state, expected = account.state, remaining(account, elapsed)
    fraction, left = passed(account, expected, elapsed), "" if expected is None else _left(expected)
    led = [_unled(account)] if found is None else _led(account, found)
    line = _state(account) + "; ".join(part for part in (*led, _cost(account), left) if part)
    percentage = "" if fraction is None or state == "finished" else f" {math.floor(100 * fraction)} %"
    leader = "" if found is None else f" · {_short(found.leader.learner, LONGEST_IN_TITLE)}"
    seconds = None if expected is None else (round(expected.low, 1), round(expected.high, 1))
    return Verdict(plain(f"{line}."), plain(f"{state}{percentage}{leader}"), fraction, left, seconds)


def _state(account: Account) -> str:
    """Return how the run is, as the beginning of a sentence; empty where the sentence says it."""
    if account.state == "stopped":
        return "Stopped by hand: " if account.stopped == BY_HAND else f"Stopped ({account.stopped}): "
    return {"paused": "Paused: ", "killed": KILLED}.get(account.state, "")


def _unled(account: Account) -> str:
    strategy, count = account.strategy, len(account.learners)
    failed = len(strategy.failures)
    if account.state != "failed":
        training = f", {len(account.training)} in training" if account.training else ""
        nothing = "nothing" if _state(account) else "Nothing"
        return f"{nothing} has been measured yet ({counted(count, 'learner')}{training})"
    dropped = len([name for name in strategy.dropped if name not in strategy.failures])
    return f"No learner is left: {failed} failed{f' and {dropped} were dropped' if dropped else ''}"


def _led(account: Account, found: Contest) -> list[str]:
    """Return who leads and how surely."""
    state, size, full = account.state, found.leader.size, account.full_size
    does = {"finished": "is selected", "stopped": "was the best", "killed": "was the best"}.get(state, "leads")
    rows = f"all {full:,} rows" if size == full else f"{size:,} of {full:,} rows"
    first = f"{_short(found.leader.learner)} {does} with {account.scores.name} {score_with_noise(found)} on {rows}"
    compared = _compared(found) if len(account.tried) > 1 else ""
    return [first, _ensemble(account), compared, _rivals(account, found)]


def score_with_noise(found: Contest) -> str:
    """Return the leader's score with its standard error."""
    score = found.measured.valid_score
    return f"{score_text(score)} ± {as_precise(found.error, score)}" if found.error else score_text(score)


def _ensemble(account: Account) -> str:
    combined = account.combined
    if combined is None or not combined.used:
        return ""
    return f"an ensemble of {len(combined.weights)} has {score_text(combined.score)} and is used"


def _compared(found: Contest) -> str:
    """Return by how much it is ahead, and with whom it is tied."""
    if not found.behind:
        return "no other learner has as many rows"
    if not found.ties:
        name, less = next(iter(found.behind.items()))
        return f"ahead of {_short(name)} by {_less(found, less)}"
    named = [f"{_short(name)} ({_less(found, found.behind[name])} behind)" for name in found.ties[:NAMED]]
    more = len(found.ties) - len(named)
    return f"tied with {_listed([*named, *([f'{more} more'] if more else [])])}"


def _less(found: Contest, less: float) -> str:
    if found.rows:
        return f"{round(less * found.rows):,} of {found.rows:,} rows"
    return as_precise(less, found.measured.valid_score)


def _rivals(account: Account, found: Contest) -> str:
    """Return who could overtake the leader, and how likely that is."""
    going, chances, said = account.state in GOING_ON, found.chances, list[str]()
    verb = "to overtake it" if going else "to be better on all rows"
    likeliest = next(iter(chances), None)
    if likeliest is not None and chances[likeliest] >= LEAST_CHANCE:
        more = sum(name != likeliest for name in found.possible)
        others = f", {more} more with at least {percent(POSSIBLE)}" if more else ""
        said.append(f"{_short(likeliest)} is the likeliest {verb} ({percent(chances[likeliest])}{others})")
    elif chances:
        others = f"none of the other {len(chances):,} has" if len(chances) > 1 else f"{_short(str(likeliest))} has not"
        said.append(f"{others} even a {percent(LEAST_CHANCE)} chance {verb}")
    if found.unmeasured:
        said.append(f"{counted(found.unmeasured, 'learner')} not measured{' yet' * going}")
    return ", ".join(said)


def _left(expected: Remaining) -> str:
    if expected.high > VAGUE * max(expected.low, 1.0) and not expected.limited:
        return f"probably at least {duration(expected.low)} left, too early to say more" if expected.low >= 1 else EARLY
    return f"probably {between(expected.low, expected.high)} left"


def between(low: float, high: float) -> str:
    """Return an interval of seconds as people say it, rounded outwards.

    >>> [between(0.2, 0.9), between(0.3, 8.1), between(34, 50.5), between(34, 260), between(4000, 9000)]
    ['less than 1 s', 'up to 9 s', '34 to 51 s', '34 s to 4.4 min', '66 min to 2.5 h']
    """
    if high < 1:
        return "less than 1 s"
    (least, unit), (most, last) = _rounded(low, math.floor), _rounded(high, math.ceil)
    if low < 1:
        return f"up to {most} {last}"
    if unit != last:
        return f"{least} {unit} to {most} {last}"
    return f"{least} to {most} {last}" if least != most else f"{most} {last}"


def _rounded(seconds: float, way: Callable[[float], int]) -> tuple[str, str]:
    """Return a time in the largest unit of which it has one and a half."""
    size, unit = next((size, unit) for size, unit in UNITS if seconds >= 1.5 * size or size == 1)
    value = seconds / size
    return (f"{way(value):,}" if value >= MANY or size == 1 else f"{way(10 * value) / 10:g}"), unit


def _cost(account: Account) -> str:
    result = account.result
    return f"{spent(result.seconds)} of training{against_training(account, result.seconds)}" if result.steps else ""


def _short(name: str, most: int = LONGEST) -> str:
    return shortened(name, most)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
