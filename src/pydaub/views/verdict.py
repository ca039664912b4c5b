"""The verdict on a run in short sentences: who leads, how surely, what it cost, what is left; for every view."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.records import as_precise, score_text, with_noise
from pydaub.runs.account import BY_HAND, GOING_ON
from pydaub.runs.certificate import percent
from pydaub.runs.standing import POSSIBLE, standing
from pydaub.views.summary import against_training, counted, duration, plain, shortened, spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.records import Allocation
    from pydaub.runs.account import Account
    from pydaub.runs.remaining import Remaining
    from pydaub.runs.standing import Missed, Standing

LONGEST: Final = 48  # characters of a name in the line
LONGEST_IN_TITLE: Final = 24
LEAST_CHANCE: Final = 0.01  # that is worth a name
NAMED: Final = 2  # tied learners
UNITS: Final = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
MANY: Final = 10  # from here on without decimals
VAGUE: Final = 15  # an interval whose ends differ by more than this factor says little
EARLY: Final = "Too early to say how much is left"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person wants to know of a run.

    Parameters
    ----------
    sentences
        All of it, each sentence short.
    title
        State, progress and leader, for the tab of a browser.
    fraction
        Share of the time that has passed, from 0 to 1; 1 only at the end. None if unknown.
    left
        The time that is probably left, in words; empty if unknown or nothing is left.
    seconds
        The same as an interval of seconds; None if unknown.
    """

    sentences: tuple[str, ...]
    title: str
    fraction: float | None = None
    left: str = ""
    seconds: tuple[float, float] | None = None

    @property
    def line(self) -> str:
        """All of it on one line."""
        return " ".join(self.sentences)


KILLED: Final = "Killed or interrupted: "
WAITING: Final = Verdict(("The run has not begun.",), "waiting")


def verdict(account: Account, elapsed: float | None = None) -> Verdict:
    """Return the verdict on a run as it stands, after so many seconds; without them, at its last event."""
    return verdict_on(account, standing(account, elapsed))


def verdict_on(account: Account, found: Standing) -> Verdict:
    """Return the verdict on a run that stands like this."""
    left = "" if found.left is None else time_left(found.left)
    led = [_unled(account, found)] if found.leader is None else _led(account, found, found.leader)
    said = [*led, *_failures(found), _cost(account, found), left]
    sentences = tuple(plain(f"{part}.") for part in said if part)
    percentage = "" if found.fraction is None or found.state == "finished" else f" {math.floor(100 * found.fraction)} %"
    leader = "" if found.leader is None else f" · {_short(found.leader.learner, LONGEST_IN_TITLE)}"
    seconds = None if found.left is None else (round(found.left.low, 1), round(found.left.high, 1))
    return Verdict(sentences, plain(f"{found.state}{percentage}{leader}"), found.fraction, left, seconds)


def _state(account: Account) -> str:
    """Return how the run is, as the beginning of a sentence; empty where the sentence says it."""
    if account.state == "stopped":
        return "Stopped by hand: " if account.stopped == BY_HAND else f"Stopped ({account.stopped}): "
    return {"paused": "Paused: ", "killed": KILLED}.get(account.state, "")


def _unled(account: Account, found: Standing) -> str:
    if account.state != "failed":
        training = f", {len(account.training)} in training" if account.training else ""
        nothing = "nothing" if _state(account) else "Nothing"
        return f"{_state(account)}{nothing} has been measured yet ({counted(found.learners, 'learner')}{training})"
    dropped = len([name for name in account.strategy.dropped if name not in account.strategy.failures])
    failed = len(account.strategy.failures)
    return f"No learner is left: {failed} failed{f' and {dropped} were dropped' if dropped else ''}"


def _led(account: Account, found: Standing, leader: Allocation) -> list[str]:
    """Return who leads and how surely."""
    size, full = leader.size, account.full_size
    does = {"finished": "is selected", "stopped": "was the best", "killed": "was the best"}.get(found.state, "leads")
    rows = f"all {full:,} rows" if size == full else f"{size:,} of {full:,} rows"
    name = _short(leader.learner)
    first = f"{_state(account)}{name} {does}: {account.scores.name} {score_with_noise(found)} with {rows}"
    compared = _compared(found) if len(account.tried) > 1 else ""
    return [first, _ensemble(account), compared, *_rivals(found)]


def score_with_noise(found: Standing) -> str:
    """Return the leader's score with its standard error; empty where nobody leads."""
    return "" if found.score is None else with_noise(found.score, found.error)


def _ensemble(account: Account) -> str:
    combined = account.combined
    if combined is None or not combined.used:
        return ""
    return f"An ensemble of {len(combined.weights)} has {score_text(combined.score)} and is used"


def _compared(found: Standing) -> str:
    """Return by how much it is ahead, or who is as good."""
    if not found.behind:
        return "No other learner has as many rows"
    if not found.ties:
        name, less = next(iter(found.behind.items()))
        return f"Next best: {_short(name)} ({less_words(found, less)})"
    named = [f"{_short(name)} ({less_words(found, found.behind[name])})" for name in found.ties[:NAMED]]
    more = len(found.ties) - len(named)
    return f"As good within chance: {_listed([*named, *([f'{more} more'] if more else [])])}"


def less_words(found: Standing, less: float) -> str:
    """Return a difference to the leader's score: in errors where it is a share of rows."""
    if not found.rows or found.score is None:
        return f"{as_precise(less, found.score or 0.0)} less"
    count = round(less * found.rows)
    more = "more error" if count > 0 else "fewer error"
    return f"{counted(abs(count), more) if count else 'as many errors'} in {found.rows:,} validation rows"


def _rivals(found: Standing) -> list[str]:
    """Return who could still be better than the leader, and how likely that is."""
    going, chances, said = found.state in GOING_ON, found.chances, list[str]()
    likeliest = next(iter(chances), None)
    if likeliest is not None and chances[likeliest] >= LEAST_CHANCE:
        more = sum(name != likeliest for name in found.possible)
        verb = "others have" if more > 1 else "other has"
        others = f"; {more} {verb} {percent(POSSIBLE)} or more" if more else ""
        what = "Could still change" if going else "Could be better on all rows"
        said.append(f"{what}: {_short(likeliest)} ({percent(chances[likeliest])}){others}")
    elif chances:
        others = f"None of the other {len(chances):,} has" if len(chances) > 1 else f"{_short(str(likeliest))} has not"
        verb = "to overtake it" if going else "to be better on all rows"
        said.append(f"{others} even a {percent(LEAST_CHANCE)} chance {verb}")
    if found.unmeasured:
        said.append(f"{counted(found.unmeasured, 'learner')} not measured{' yet' * going}")
    return said


def _failures(found: Standing) -> list[str]:
    """Return how many learners failed, and the one that could have won."""
    if not found.failed or found.state == "failed":
        return []
    said = [f"{len(found.failed):,} of {counted(found.learners, 'learner')} failed"]
    return [*said, missed_words(found.missed[0])] if found.missed else said


def missed_words(missed: Missed) -> str:
    """Return what was lost with a learner, and what would give it another chance."""
    remedy = "look into its failure"
    if missed.option:
        remedy = f"retry with a higher --{missed.option.replace('_', '-')}"
    return f"{_short(missed.learner)} failed ({missed.kind}) but had a {percent(missed.chance)} chance to win: {remedy}"


def time_left(expected: Remaining) -> str:
    """Return the time that is probably left as a sentence."""
    if expected.high > VAGUE * max(expected.low, 1.0) and not expected.limited:
        return f"Probably at least {duration(expected.low)} left, too early to say more" if expected.low >= 1 else EARLY
    return f"Probably {between(expected.low, expected.high)} left"


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


def _cost(account: Account, found: Standing) -> str:
    if not account.steps:
        return ""
    words = f"{spent(found.training)} of training{against_training(account, found.training)}"
    return f"{words[0].upper()}{words[1:]}"


def _short(name: str, most: int = LONGEST) -> str:
    return shortened(name, most)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
