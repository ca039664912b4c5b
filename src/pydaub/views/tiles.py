"""How a run stands in four tiles: the best, whether it could still change, the time, and what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydaub.runs.account import GOING_ON
from pydaub.runs.certificate import percent
from pydaub.runs.standing import POSSIBLE
from pydaub.views.summary import counted, duration, plain, shortened
from pydaub.views.verdict import LEAST_CHANCE, less_words, score_with_noise, time_left

if TYPE_CHECKING:
    from pydaub.runs.account import Account
    from pydaub.runs.standing import Standing

LONGEST: Final = 40  # characters of a name
NAMED: Final = 2
# What can be done with a run that is not going on: the label of a button, and the title of the command it shows.
STEPS: Final = {
    "predict": [("Predict …", "Predict new rows"), ("Use in Python …", "Load it in Python")],
    "continue": [("Continue …", "Continue the run")],
    "retry": [("Retry …", "Retry what failed")],
}
REPORT: Final = ("Report …", "Write a report")


def tiles(account: Account, found: Standing) -> list[dict[str, str]]:
    """Return the tiles, each with a key, a title, a value, and a detail in a few words."""
    made = [_best(account, found), _change(account, found), _time(account, found), _failed(account, found)]
    return [
        dict(zip(("key", "title", "value", "detail"), map(plain, (key, *words)), strict=True))
        for key, words in zip(("best", "change", "time", "failed"), made, strict=True)
    ]


def steps(account: Account, found: Standing) -> list[list[str]]:
    """Return what can be done next with a run that is not going on, as buttons."""
    if account.state in GOING_ON:
        return []
    names = ["retry"] if found.failed else []
    if account.state == "finished":
        names = ["predict", *names]
    else:
        names = ["continue", *(["predict"] if account.state == "stopped" and found.leader else []), *names]
    return [[*each] for name in names for each in STEPS[name]] + [[*REPORT]]


def _best(account: Account, found: Standing) -> tuple[str, str, str]:
    title = "Selected" if found.state == "finished" else "Best so far"
    if found.leader is None:
        training = f"{len(account.training):,} in training" if account.training else ""
        return title, "none yet" if found.state != "failed" else "none", training or counted(found.learners, "learner")
    size, full = found.leader.size, account.full_size
    rows = f"all {full:,} rows" if size == full else f"{size:,} of {full:,} rows"
    detail = f"{account.scores.name} {score_with_noise(found)} with {rows}"
    if found.ties:
        more = f" and {len(found.ties) - NAMED} more" if len(found.ties) > NAMED else ""
        detail += f". As good within chance: {', '.join(map(_short, found.ties[:NAMED]))}{more}"
    elif found.behind:
        name, less = next(iter(found.behind.items()))
        detail += f". Next best: {_short(name)}, {less_words(found, less)}"
    return title, _short(found.leader.learner), detail


def _change(account: Account, found: Standing) -> tuple[str, str, str]:
    going = account.state in GOING_ON
    title = "Could still change" if going else "Could another be better?"
    if found.leader is None:
        return title, "open" if found.state != "failed" else "no", "nothing has been measured yet"
    unmeasured = f"{counted(found.unmeasured, 'learner')} not measured{' yet' * going}" if found.unmeasured else ""
    rival = next(iter(found.chances), None)
    if rival is None:
        return title, "open" if unmeasured else "no", unmeasured or "all others had all rows or are out"
    detail = ""
    if found.chances[rival] >= LEAST_CHANCE:
        more = len([name for name in found.possible if name != rival])
        others = f"; {more} {'others have' if more > 1 else 'other has'} {percent(POSSIBLE)} or more" if more else ""
        detail = f"most likely {_short(rival)} ({percent(found.chances[rival])}){others}"
    return title, percent(found.change), "; ".join(part for part in (detail, unmeasured) if part)


def _time(account: Account, found: Standing) -> tuple[str, str, str]:
    used = duration(found.used)
    trained = f"{counted(len(account.result.steps), 'training')}, {duration(found.training)} of training"
    if account.state not in GOING_ON:
        return "Time used", used, trained
    if found.left is None:
        return "Time left", "unknown", f"{used} used"
    words = time_left(found.left).removeprefix("Probably ").removesuffix(" left")
    value, _, note = words.partition(" left, ")
    value = "unknown" if value.startswith("Too early") else value
    return "Time left", value, f"{used} used{'; too early to say more' if note or value == 'unknown' else ''}"


def _failed(account: Account, found: Standing) -> tuple[str, str, str]:
    failed = len(account.strategy.failures)
    value = f"{failed:,} of {found.learners:,}"
    if not failed:
        return "Failed", value, ""
    if found.missed:
        missed = found.missed[0]
        return "Failed", value, f"{_short(missed.learner)} ({missed.kind}) had a {percent(missed.chance)} chance to win"
    kinds = sorted({each.kind for each in account.strategy.failures.values()})
    return "Failed", value, ", ".join(kinds)


def _short(name: str) -> str:
    return shortened(name, LONGEST)
