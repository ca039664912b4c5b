"""A run in sentences: what was selected, what it cost, what was saved. For the terminal, the page and the report."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

from pydaub.errors import InputError, grouped
from pydaub.events import Steered
from pydaub.records import REFUSED, Failure, Measurement, Postponed, score_text
from pydaub.runs.account import GOING_ON
from pydaub.runs.advice import advise
from pydaub.runs.regret import DELTA, regret
from pydaub.runs.standing import LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.engines import Table
    from pydaub.events import Evaluated
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result

Cell: TypeAlias = str | float | None  # of a table

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NAMED = 5  # evaluations, in a sentence
CLASS_MEANS = ("precision", "recall", "f1")
MANY = 2  # times the validation rows that are needed: the summary says so
BRIEF = 0.05  # seconds: below, a time would read 0.0 s
MORE_TIME = 4  # times the limit that was too low
SMALL = 600  # seconds: data on which training everything takes less is small


def counted(count: int, what: str) -> str:
    """Return "1 worker" or "2 workers"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def plain(text: str) -> str:
    r"""Return the text with control characters escaped, also those that reverse what follows.

    So it stays on one line, controls no terminal, and reads as it is written.

    >>> plain("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def shown(value: Cell) -> str:
    """Return a cell of a table.

    >>> [shown(value) for value in ("tree", 1500, 0.75, None)]
    ['tree', '1,500', '0.7500', '']
    """
    if isinstance(value, str | None):
        return value or ""
    return f"{value:,}" if isinstance(value, int) else score_text(value)


def shortened(text: str, most: int) -> str:
    """Return the text with at most so many characters, without its middle: names in a grid differ at their ends.

    >>> shortened("hist-gradient-boosting(max_depth=3)", 20)
    'hist-gradi…_depth=3)'
    """
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[-((most - 1) // 2) :]}"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> [duration(seconds) for seconds in (3.21, 75, 3700, 9000)]
    ['3.2 s', '75 s', '61 min 40 s', '2 h 30 min']
    """
    if seconds < 120:  # noqa: PLR2004  # two minutes
        return f"{seconds:,.{1 if seconds < 10 else 0}f} s"  # noqa: PLR2004  # below ten a digit more
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if seconds < 7200 else f"{minutes // 60:,} h {minutes % 60} min"  # noqa: PLR2004  # two hours


def spent(seconds: float) -> str:
    """Return a time that was spent; never 0.0 s.

    >>> [spent(seconds) for seconds in (0.02, 3.21)]
    ['less than 0.1 s', '3.2 s']
    """
    return "less than 0.1 s" if seconds < BRIEF else duration(seconds)


def summary(
    account: Account, place: str | None = None, table: Table | None = None, regret_delta: float = DELTA
) -> list[str]:
    """Return what came of a run and what it cost.

    `place` says where it ran. Training everything is projected from all times that were measured; of recorded curves,
    the `table` has the outcomes of that, and the regret at `regret_delta` is known.
    """
    result = account.result
    trainings = f"{counted(len(result.steps), 'training')} of {result.rows:,} rows in all"
    took = f"{duration(result.wall_seconds)}{f' on {place}' if place else ''}"
    earlier = [f"{counted(result.resumed, 'outcome')} came from the journal."] if result.resumed else []
    everything = _projected(account, result) if table is None else _recorded(result, table, regret_delta)
    return [
        _selected(account, result),
        *ensemble(account),
        *adjustment(account),
        *_metrics(account, result),
        f"{trainings}: {took}, {duration(result.seconds)} of training.",
        *earlier,
        *everything,
        *_division(account, result),
    ]


def _selected(account: Account, result: Result) -> str:
    if result.selected is None or result.valid_score is None:
        why = "nothing has been measured yet" if account.state in GOING_ON else result.stopped or "every learner failed"
        return f"Nothing has been selected: {why}."
    score = f"{account.scores.name} {score_text(result.valid_score)}"
    words = account.drawn.get(result.selected)
    selected = f"{result.selected} ({words})" if words else result.selected
    if result.stopped:
        going, killed = account.state in GOING_ON, account.state == "killed"
        how = "is going on" if going else "was killed or interrupted" if killed else f"ended early ({result.stopped})"
        return (
            f"The run {how}. The best so far is {selected}: {score} with"
            f" {result.selected_size or 0:,} of {result.full_size:,} rows."
        )
    return f"Selected {selected}: {score} on all {result.full_size:,} training rows."


def ensemble(account: Account) -> list[str]:
    """Return what an ensemble reaches, if the run was asked for one."""
    combined = account.combined
    if combined is None:
        return []
    members = ", ".join(f"{name} ({share:.2f})" for name, share in combined.weights.items())
    score, alone = score_text(combined.score), score_text(combined.alone)
    where = "on validation rows that had no part in the choice"
    if len(combined.weights) == 1:
        return [f"No ensemble: none is better than {members.partition(' (')[0]} alone."]
    if combined.used:
        return [f"Ensemble of {members}: {account.scores.name} {score} {where}; the best member alone has {alone}."]
    return [f"No ensemble: {members} together have {account.scores.name} {score} {where}, the best alone has {alone}."]


def adjustment(account: Account) -> list[str]:
    """Return what an adjustment to the score brings, if the run was asked for one."""
    adjusted = account.adjusted
    if adjusted is None:
        return []
    name, method, usual = (
        account.scores.name,
        adjusted.method,
        {"threshold": "0.5", "temperature": "1"}[adjusted.method],
    )
    score = f"{name} {score_text(adjusted.score)} on validation rows that had no part in the choice"
    plain = score_text(adjusted.plain)
    if adjusted.used:
        return [f"Adjusted: with the {method} {adjusted.value:.3g}, {score}; with the usual one, {usual}, {plain}."]
    return [f"Not adjusted: with another {method}, {score}; with the usual one, {usual}, {plain}."]


def _metrics(account: Account, result: Result) -> list[str]:
    metrics = dict(result.measured.metrics) if result.measured else {}
    metrics.pop("peak_mb", None)
    scored = account.scores.name
    if (own := metrics.pop(scored, None)) is not None and scored in CLASS_MEANS:
        metrics[f"{scored}_macro"] = own  # a mean over all classes, unlike the score of that name
    found = ", ".join(f"{name} {score_text(value)}" for name, value in metrics.items())
    return [f"Other metrics: {found}."] if metrics else []


def _projected(account: Account, result: Result) -> list[str]:
    learners, everything = len(account.tried) - len(result.failures), account.full_seconds()
    if not everything or learners <= 1 or len(result.steps) == learners or not result.seconds:
        return []
    line = _everything(learners, result, f"about {duration(everything)}", everything)
    left = len(account.learners) - len(account.tried)
    untried = [f"Not started, because others of their kind promise too little: {left}."] if left else []
    small = everything < result.seconds and everything < SMALL
    return [
        f"{line} (estimate).",
        *(["On data as small as this, `--strategy full` is faster."] if small else []),
        *untried,
    ]


def _division(account: Account, result: Result) -> list[str]:
    """Return how many validation rows would have been enough for a finished run, if far fewer would."""
    if result.stopped or account.state in GOING_ON:
        return []
    try:
        found = advise(account)
    except InputError:  # this run cannot tell, and nobody has asked
        return []
    return [" ".join(found.sentences[1:])] if found.prospect and found.needed * MANY <= found.valid_rows else []


def _recorded(result: Result, table: Table, regret_delta: float) -> list[str]:
    everything = table.at(result.full_size)
    known = {name: outcome for name, outcome in everything.items() if outcome is not None}
    trained = sum(step.allocation.size == result.full_size for step in result.steps)
    if trained == len(everything) == len(result.steps):
        return []
    if len(known) < len(everything):
        missing = counted(len(everything) - len(known), "learner")
        return [f"No comparison with full training: {missing} not recorded on all rows."]
    seconds = sum(outcome.seconds for outcome in known.values())
    scores = {name: outcome.valid_score for name, outcome in known.items() if isinstance(outcome, Measurement)}
    best = max(scores, key=scores.__getitem__)
    loss = scores[best] - (result.valid_score or 0.0)
    verdict = f"The best on all rows is {best} with {score_text(scores[best])}: a loss of {score_text(loss)}."
    wasted = regret(result, everything, regret_delta)
    return [
        f"{_everything(len(known), result, duration(seconds), seconds)}.",
        verdict if loss > 0 else "No learner scores higher on all rows: no loss.",
        *([wasted.sentence] if wasted else []),
    ]


def _everything(learners: int, result: Result, words: str, seconds: float) -> str:
    """Compare with training so many learners on all rows, which takes so many seconds."""
    line = f"Training {counted(learners, 'learner')} on all rows would take {words}"
    spent = result.seconds
    if not seconds or not spent:
        return line
    if round(max(seconds, spent) / min(seconds, spent), 1) == 1:
        return f"{line}, as long as this run"
    if seconds > spent:
        return f"{line}, {seconds / spent:.1f} times as long"
    return f"{line}; this run took {spent / seconds:.1f} times that"


def against(account: Account, spent: float, full: float | None, words: str | None) -> str:
    """Compare what was spent with training every learner on all rows, which costs `full`, in `words`."""
    if not full or len(account.learners) < 2:  # noqa: PLR2004  # there is nothing to compare
        return ""
    if round(100 * spent / full) == 100 or (spent > full and round(spent / full, 1) == 1):  # noqa: PLR2004  # percent
        return ", as much as for training everything"
    if spent > full:
        return f", {spent / full:.1f} times the {words} for training everything"
    if account.state in ("finished", "stopped"):
        return f", {100 * (1 - spent / full):.0f} % less than the {words} for training everything"
    return f", {100 * spent / full:.0f} % of the {words} for training everything"


def against_training(account: Account, seconds: float) -> str:
    """Compare training time with training every learner on all rows, if that takes any time to speak of."""
    full = account.full_seconds()
    return "" if full is None or full < BRIEF else against(account, seconds, full, duration(full))


def guessed(result: Result) -> list[str]:
    """Return what was started early in vain."""
    said = []
    if result.speculated:
        seconds = duration(sum(outcome.seconds for outcome in result.speculated.values()))
        were = "early starts were" if len(result.speculated) > 1 else "early start was"
        said.append(f"{len(result.speculated):,} {were} not needed ({seconds} on otherwise idle cores).")
    if result.abandoned:
        were = "trainings were" if result.abandoned > 1 else "training was"
        said.append(f"{result.abandoned:,} {were} still going on at the end.")
    return said


def failures(result: Result) -> list[str]:
    """Return the failures, grouped, and what to do about them; and who was killed by somebody else."""
    lines = [f"Failed: {way}" for way in grouped(result.failures)]
    outcomes = {**{step.allocation: step.outcome for step in result.steps}, **result.speculated}
    killed = [f"{each.learner} with {each.size:,} rows" for each, outcome in outcomes.items() if outcome.retries]
    if killed:
        more = f" and {len(killed) - NAMED:,} more" if len(killed) > NAMED else ""
        lines.append(f"Killed, but not by pydaub, and begun again: {', '.join(killed[:NAMED])}{more}.")
    return [*lines, *remedies(result)]


def remedies(result: Result) -> list[str]:
    """Return what gives learners that exceeded a limit another chance."""
    failed = [name for name, failure in result.failures.items() if failure.kind in LIMITS]
    if not failed:
        return []
    names, more = ", ".join(failed[:NAMED]), f" and {len(failed) - NAMED:,} more" if len(failed) > NAMED else ""
    said = [f"To give {names}{more} another chance: `pydaub resume RUN --retry {' '.join(raised(result.failures))}`."]
    if any(failure.kind == "memory" for failure in result.failures.values()):
        said.append("Learners that read the sample in blocks need less: --learners sklearn,streaming.")
    return said


def raised(failures: Mapping[str, Failure]) -> list[str]:
    """Return the options that raise the limits that were exceeded; a person must choose the amount of memory."""
    exceeded = {kind: [each.seconds for each in failures.values() if each.kind == kind] for kind in LIMITS}
    values = {"timeout": f"{math.ceil(MORE_TIME * max(exceeded['timeout'], default=0.0))}s", "memory": "AMOUNT"}
    return [f"--{option.replace('_', '-')} {values[kind]}" for kind, option in LIMITS.items() if exceeded[kind]]


def event_line(event: Evaluated | Steered) -> str:
    """Return an outcome or a command as a line of a log."""
    if isinstance(event, Steered):
        return f"[{event.clock:8.1f} s] by hand: {event.command}{f' {event.learner}' if event.learner else ''}"
    allocation, outcome = event.allocation, event.outcome
    what = f"{allocation.learner} with {allocation.size:,} rows"
    if isinstance(outcome, Postponed):
        return f"[{event.clock:8.1f} s] {what} was ended: longer than it is worth now ({outcome.seconds:.2f} s)"
    if isinstance(outcome, Failure):
        how = REFUSED if outcome.kind == REFUSED else f"failed: {outcome.kind}"
        return f"[{event.clock:8.1f} s] {what} {how} ({outcome.message})"
    training = "" if outcome.train_score is None else f"training {score_text(outcome.train_score)}, "
    scores = f"{training}validation {score_text(outcome.valid_score)}"
    return f"[{event.clock:8.1f} s] {what}: {scores} ({outcome.seconds:.2f} s)"
