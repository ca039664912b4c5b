"""The verdict on a run in one line: who leads and how surely, what it cost, what is left. The same in every view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydaub.records import score_text
from pydaub.runs.account import BY_HAND, GOING_ON
from pydaub.runs.certificate import percent
from pydaub.runs.contest import contest
from pydaub.views.summary import against, counted, duration, plain, shortened

if TYPE_CHECKING:
    from pydaub.runs.account import Account
    from pydaub.runs.contest import Contest

LONGEST: Final = 48  # characters of a name in the line
LONGEST_IN_TITLE: Final = 24
NAMED: Final = 2  # tied learners


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


WAITING: Final = Verdict("The run has not begun.", "waiting")


def verdict(account: Account) -> Verdict:
    """Return the verdict on a run as it stands."""
    state, found = account.state, contest(account)
    fraction = 1.0 if state == "finished" else None
    left = ""
    led = [_unled(account)] if found is None else _led(account, found)
    line = _state(account) + "; ".join(part for part in (*led, _cost(account), left) if part)
    percentage = "" if fraction is None or state == "finished" else f" {100 * fraction:.0f} %"
    leader = "" if found is None else f" · {_short(found.leader.learner, LONGEST_IN_TITLE)}"
    return Verdict(plain(f"{line}."), plain(f"{state}{percentage}{leader}"), fraction, left)


def _state(account: Account) -> str:
    """Return how the run is, as the beginning of a sentence; empty where the sentence says it."""
    if account.state == "stopped":
        return "Stopped by hand: " if account.stopped == BY_HAND else f"Stopped ({account.stopped}): "
    return {"paused": "Paused: ", "killed": "Killed or interrupted: "}.get(account.state, "")


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
    score, error = score_text(found.measured.valid_score), found.error
    if not error:
        return score
    decimals = len(score.partition(".")[2]) if "e" not in score else 0
    noise = f"{error:,.{decimals}f}" if "e" not in score else f"{error:.2g}"
    return f"{score} ± {noise if float(noise.replace(',', '')) else f'{error:.1g}'}"


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
    return f"{round(less * found.rows):,} of {found.rows:,} rows" if found.rows else score_text(less)


def _rivals(account: Account, found: Contest) -> str:
    """Return who could overtake the leader, and how likely that is."""
    going, said = account.state in GOING_ON, []
    verb = "to overtake it" if going else "to be better on all rows"
    if likely := found.possible:
        more = f", {len(likely) - 1} more could" if len(likely) > 1 else ""
        said.append(f"{_short(likely[0])} is the likeliest {verb} ({percent(found.chances[likely[0]])}){more}")
    elif found.chances:
        said.append(f"each of the other {len(found.chances)} has a chance of {percent(0.0)} {verb}")
    if found.unmeasured:
        said.append(f"{counted(found.unmeasured, 'learner')} not measured{' yet' * going}")
    return ", ".join(said)


def _cost(account: Account) -> str:
    result, full = account.result, account.full_seconds()
    if not result.steps:
        return ""
    words = None if full is None else duration(full)
    return f"{duration(result.seconds)} of training{against(account, result.seconds, full, words)}"


def _short(name: str, most: int = LONGEST) -> str:
    return shortened(name, most)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
