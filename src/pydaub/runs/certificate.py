"""What a run may claim: how far from the best its choice may be, what more rows would bring, and what is doubtful.

Chances and intervals come from the forecasts of the run (`pydaub.runs.forecasts`), and hold for any strategy.
DAUB's own promise rests on learning curves that never fall and whose gains diminish (Definition 6 of the paper). Real
curves are noisy and some break these assumptions, so every measured curve is audited and the findings are reported.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from pydaub.records import MANY_DIGITS, Measurement, as_precise, score_text
from pydaub.runs.forecasts import Forecasts, curves_of, forecasts, score_of
from pydaub.runs.paired import optimism, standard_error, told_apart
from pydaub.runs.regret import Spent, spent_on_worse
from pydaub.runs.standing import FEW_ROWS, standing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pydaub.algorithm.forecast import Forecast
    from pydaub.algorithm.proof import Proof
    from pydaub.records import Scores
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result, Step

CONFIDENCE: Final = 0.95  # of the margin, over all learners together
INTERVAL: Final = (0.05, 0.95)  # the quantiles around what more rows would bring
FEWEST: Final = 1e-6  # noise below which a difference is written with the digits of the score
LONG_ENOUGH: Final = 3  # points that a curve needs to be audited
NAMED: Final = 3  # learners that are named in a sentence
MORE: Final = {2: "With twice the rows it would probably reach", 10: "with ten times"}


@dataclass(frozen=True, slots=True)
class Prospect:
    """What the selected learner would probably reach with more rows.

    Parameters
    ----------
    rows
        How many rows.
    score
        The score that is as likely to be exceeded as not.
    low, high
        The interval around it that contains the true score in nine of ten cases.
    """

    rows: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of the selected learner against the others.

    Attributes
    ----------
    selected, score, size
        The selected learner, its validation score, and the size it reached it with.
    full_size
        The number of training rows.
    others
        How many other learners did not fail.
    margin
        The best of all learners is better by at most this much on all rows, with 95 % confidence. None where some
        learner was never measured, and where the run did not come to its end.
    rival, chance
        The learner that is the likeliest to be better on all rows, and how likely; None and 0 where all had all rows.
    ceiling, ceiling_learner
        The most that any other learner can have on all rows if no curve gets steeper and no training score rises, and
        that learner. None where the strategy has no such bounds, or some learner has none.
    ties
        The learners with all rows that the validation rows do not tell apart from the selected one, and how much less
        they score.
    looks, corrected
        How many learners had all rows, and the selected one's score corrected for being the highest of these; None
        where that is not known.
    prospects
        What the selected learner would probably reach with twice and ten times the rows.
    judged, short
        How many curves were long enough to be audited, and how many were too short.
    misbehaved
        What was found on which curve.
    tolerance
        Falls and rises up to this much count as noise.
    doubts
        Reasons not to trust the choice.
    finished
        Whether the run came to its end. A run that was stopped has no certificate.
    scored_rows
        The number of rows of which a score is the share that is right; None if it is another score.
    proof
        What is proved of the learners; None where the strategy's bounds state no probability.
    spent
        The training time of learners that are worse; None where the run did not come to its end, and of scores whose
        best value is not 1, for which a difference of 0.01 means nothing.
    """

    selected: str
    score: float
    size: int
    full_size: int
    others: int
    margin: float | None
    rival: str | None
    chance: float
    ceiling: float | None
    ceiling_learner: str | None
    ties: Mapping[str, float]
    looks: int
    corrected: float | None
    prospects: tuple[Prospect, ...]
    judged: int
    short: int
    misbehaved: Mapping[str, str]
    tolerance: float
    doubts: tuple[str, ...]
    finished: bool = True
    scored_rows: int | None = None
    proof: Proof | None = None
    spent: Spent | None = field(default=None, compare=False)  # seconds differ from one run to the next

    @property
    def sentences(self) -> list[str]:
        """The certificate for people."""
        after = [self.spent.sentence if self.spent else "", self.audit]
        return [*self.claims, *(words for words in after if words), *self.doubts]

    @property
    def claims(self) -> list[str]:
        """What is claimed of the selected learner."""
        found = [self.choice, self._proved()]
        if self.certain:
            found += [self._bound(), self._tied(), self._corrected(), self._more_rows()]
        return [words for words in found if words]

    @property
    def certain(self) -> bool:
        """Whether anything is claimed."""
        return self.finished and self.size == self.full_size

    @property
    def choice(self) -> str:
        """How far from the best the selected learner may be."""
        if not self.certain:
            why = "the run did not come to its end"
            if self.size < self.full_size:
                why = f"no learner has had all {self.full_size:,} rows"
            return (
                f"No certificate: {why}. The best score so far is {score_text(self.score)}, by {self.selected} with"
                f" {self.size:,} rows."
            )
        if not self.others:
            return "There was no other learner to compare with."
        if self.margin is None:
            return "No certificate: some learners have not been measured, so one of them could be better on all rows."
        others = (
            f"none of the {self.others} other learners has" if self.others > 1 else "the other learner does not have"
        )
        if self.looks == self.others + 1:
            return f"Certificate: all were trained on all rows; {others} a higher score than {self.selected}."
        sure = f"Certificate: with {100 * CONFIDENCE:.0f} % confidence"
        if not self.margin:
            return f"{sure}, {others} a higher score than {self.selected} on all rows."
        likeliest = f" The likeliest to be better: {self.rival} ({percent(self.chance)})." if self.rival else ""
        missed = f"choosing {self.selected} misses at most {self._rough(self.margin)}"
        return f"Certificate: {missed} ({100 * CONFIDENCE:.0f} % sure).{likeliest}"

    def _rough(self, value: float) -> str:
        """Return a difference of scores, rounded up to as many decimals as the noise allows."""
        if not FEWEST <= self.tolerance < 1:
            return self._less(value)
        places = 1 - math.floor(math.log10(self.tolerance))
        return f"{math.ceil(round(value * 10**places, 6)) / 10**places:.{places}f}"

    def _less(self, value: float) -> str:
        """Return a difference of scores, without decimals where the score has none."""
        return as_precise(value, self.score) if abs(self.score) >= MANY_DIGITS else score_text(value)

    def _proved(self) -> str:
        """Say who is ruled out by proof, and with which confidence."""
        if self.proof is None or not self.proof.at_most:
            return ""
        best, worse, others = self.proof.best, self.proof.worse, len(self.proof.at_most)
        sure = f"By proof, with {100 * self.proof.confidence:.0f} % confidence if true curves never get steeper or fall"
        has = f"{best} has at least {score_text(self.proof.at_least)} on all rows"
        if not worse:
            return f"{sure}: {has}, and nobody is ruled out ({others} can have more)."
        named = [
            f"{name} (at most {score_text(most)})" for name, most in sorted(worse.items(), key=lambda one: -one[1])
        ]
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        return f"{sure}: {has}, which rules out {len(worse)} of {others} others: {', '.join(named[:NAMED])}{more}."

    def _bound(self) -> str:
        if self.ceiling is None or self.looks == self.others + 1:
            return ""
        who = f"none of the {self.others} others can" if self.others > 1 else "the other learner cannot"
        more = self.ceiling - self.score
        compared = (
            f"That is at most {self._less(more)} more than {self.selected}"
            if more > 0
            else f"So {self.selected} is the best"
        )
        return (
            f"If no curve gets steeper and no training score rises, {who} exceed"
            f" {score_text(self.ceiling)} on all rows ({self.ceiling_learner}). {compared}."
        )

    def _tied(self) -> str:
        if not self.ties:
            return ""
        if rows := self.scored_rows:
            errors = {name: round(less * rows) for name, less in self.ties.items()}
            named = [f"{name} ({_errors(count)})" for name, count in errors.items()]
            where = f", of {rows:,} validation rows"
        else:
            named = [f"{name} ({self._less(less)} less)" for name, less in self.ties.items()]
            where = ""
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        return f"As good within chance: {', '.join(named[:NAMED])}{more}{where}."

    def _corrected(self) -> str:
        if self.corrected is None or score_text(self.corrected) == score_text(self.score):
            return ""
        return f"Expect {score_text(self.corrected)} on new data: the best of {self.looks} is always a bit lucky."

    def _more_rows(self) -> str:
        said = [
            f"{words} {score_text(each.score)} ({score_text(each.low)} to {score_text(each.high)})"
            for each, words in zip(self.prospects, MORE.values(), strict=False)
        ]
        sure = round(100 * (INTERVAL[1] - INTERVAL[0]))
        return f"{', '.join(said)} ({sure} % intervals)." if said else ""

    @property
    def audit(self) -> str:
        """How well the assumptions held; empty where no curve was long enough."""
        if not self.judged:
            return ""
        odd, held = len(self.misbehaved), self.judged - len(self.misbehaved)
        found = ", ".join(f"{name} ({what})" for name, what in list(self.misbehaved.items())[:NAMED])
        more = f" and {odd - NAMED} more" if odd > NAMED else ""
        curves = "learning curve" if self.judged == 1 else "learning curves"
        said = [f"{held} of {self.judged} {curves} behaved as the method expects, give or take {self._noise()}."]
        if odd:
            said.append(f"{odd} did not, so forecasts are less certain: {found}{more}.")
        if self.short:
            have = "learner has" if self.short == 1 else "learners have"
            said.append(f"{self.short} {have} too few points to check.")
        return " ".join(said)

    def _noise(self) -> str:
        return self._rough(self.tolerance) if self.tolerance else "nothing"

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        return {
            "margin": self.margin,
            "confidence": CONFIDENCE,
            "rival": self.rival,
            "chance": self.chance,
            "ceiling": self.ceiling,
            "ceiling_learner": self.ceiling_learner,
            "ties": dict(self.ties),
            "looks": self.looks,
            "corrected": self.corrected,
            "prospects": [asdict(each) for each in self.prospects],
            "judged": self.judged,
            "short": self.short,
            "misbehaved": dict(self.misbehaved),
            "tolerance": self.tolerance,
            "choice": self.choice,
            "claims": self.claims,
            "audit": self.audit,
            "doubts": list(self.doubts),
            "proof": self.proof.to_json() if self.proof else None,
            "spent": self.spent.to_json() if self.spent else None,
            "text": " ".join(self.sentences),
        }


def certificate_of(account: Account) -> Certificate | None:
    """Return what may be claimed of a run; None where nothing was measured."""
    dropped = account.strategy.dropped
    learners = [name for name in account.tried if name not in dropped]
    claim = certificate(
        account.result,
        learners,
        account.scores,
        sure=account.strategy.sure,
        ahead=forecasts(account),
        dropped=dropped,
        proof=account.strategy.proof(),
    )
    if claim is None or not claim.certain:
        return claim
    found = standing(account)  # so that all that is said of a run names the same learners
    rival = next(iter(found.chances), None)
    ties = {name: found.behind[name] for name in found.ties}
    return replace(claim, rival=rival, chance=found.chances[rival] if rival else 0.0, ties=ties)


def certificate(  # noqa: PLR0913  # what a run is
    result: Result,
    learners: Iterable[str],
    scores: Scores,
    *,
    sure: bool = True,
    ahead: Forecasts | None = None,
    dropped: frozenset[str] = frozenset(),
    proof: Proof | None = None,
) -> Certificate | None:
    """Return what may be claimed of a result; None where nothing was selected.

    Outcomes that were evaluated ahead raise doubts, and what has been measured on all rows is not forecast. Everything
    else rests on the outcomes that were asked for. `sure` says whether the strategy's bounds hold for every curve that
    does not get steeper, `ahead` are the forecasts if they are known already, `dropped` learners that a person has
    taken out of the race, and `proof` what the strategy proves.
    """
    if result.selected is None or result.valid_score is None or result.selected_size is None:
        return None
    selected, full = result.selected, result.full_size
    curves, ahead = curves_of(result), ahead or Forecasts(result, scores, {})
    tolerance = noise(scores, [score_of(step) for curve in curves.values() for step in curve])
    others = [name for name in learners if name != selected and name not in result.failures]
    certain = result.stopped is None and result.selected_size == full
    compared = {selected, *others}
    at_full = {name: curve[-1] for name, curve in curves.items() if curve[-1].allocation.size == full}
    at_full = {name: step for name, step in at_full.items() if name in compared}
    chances = ahead.chances(selected, others) if certain else {}
    rival = next(iter(chances), None)
    tops = {name: _top(curves.get(name, ()), full) for name in others} if sure and certain else {}
    known = {name: top for name, top in tops.items() if top is not None}
    highest = max(known, key=lambda name: known[name], default=None) if len(known) == len(tops) else None
    judged = {name: curve for name, curve in curves.items() if len(curve) >= LONG_ENOUGH}
    found = {name: _misbehaviour(curve, tolerance) for name, curve in judged.items()}
    parts = {name: step.outcome.parts for name, step in at_full.items() if isinstance(step.outcome, Measurement)}
    own = parts.get(selected, ()) if certain else ()
    alike = {name: each for name, each in parts.items() if own and len(each) == len(own)}
    return Certificate(
        selected=selected,
        score=result.valid_score,
        size=result.selected_size,
        full_size=full,
        others=len(others),
        margin=(
            ahead.margin(selected, others, CONFIDENCE)
            if certain and all(name in ahead.curves for name in others)
            else None
        ),
        rival=rival,
        chance=chances[rival] if rival else 0.0,
        ceiling=known[highest] if highest else None,
        ceiling_learner=highest,
        ties={
            name: result.valid_score - score_of(at_full[name])
            for name in sorted(alike, key=lambda name: -score_of(at_full[name]))
            if name != selected and not told_apart(own, alike[name])
        },
        looks=len(at_full),
        corrected=result.valid_score - optimism(list(alike.values())) if own else None,
        prospects=_prospects(ahead, result, scores) if certain else (),
        judged=len(judged),
        short=len(curves) - len(judged),
        misbehaved={name: what for name, what in found.items() if what},
        tolerance=tolerance,
        doubts=(
            *_few_rows(scores, result),
            *(_unknown_noise(scores, own) if certain and others else ()),
            *_doubts(result, ahead.steps, tolerance, dropped),
            *_unclaimed(result.failures, "failed"),
            *_unclaimed(dropped - result.failures.keys(), "were dropped by hand", "was dropped by hand"),
        ),
        finished=result.stopped is None,
        scored_rows=scores.right_rows(full) if own else None,
        proof=proof,
        spent=spent_on_worse(result, ahead.chance_above) if certain and scores.top == 1.0 else None,
    )


def _prospects(ahead: Forecasts, result: Result, scores: Scores) -> tuple[Prospect, ...]:
    """Return what more rows would bring to the selected learner; nothing where only one size is known."""
    score, name = result.valid_score or 0.0, result.selected or ""
    if len(ahead.curves[name].sizes) == 1:
        return ()
    sizes = (times * result.full_size for times in MORE)
    return tuple(prospect(ahead.with_rows(name, rows), score, rows, scores) for rows in sizes)


def prospect(forecast: Forecast, score: float, rows: int, scores: Scores) -> Prospect:
    """Return what a learner with this score would probably reach with so many rows, by its forecast.

    No score is beyond the best or the worst possible one.
    """
    top, bottom = math.inf if scores.top is None else scores.top, min(scores.bottom, score)
    low, middle, high = (min(max(forecast.quantile(level), bottom), top) for level in (INTERVAL[0], 0.5, INTERVAL[1]))
    return Prospect(rows, middle, low, high)


def percent(chance: float) -> str:
    """Return a chance in percent."""
    return "less than 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"  # noqa: PLR2004  # one percent


def _errors(more: int) -> str:
    if not more:
        return "as many errors"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} error{'s' * (abs(more) > 1)}"


def noise(scores: Scores, values: Sequence[float]) -> float:
    """Return how much a score may differ by chance: two standard errors of a proportion near one half.

    Little is known of scores that are not proportions: there it is the same share of their interquartile range.
    """
    if not scores.rows or not values:
        return 0.0
    ordered = sorted(values)
    quarter = len(ordered) // 4
    middle = ordered[-1 - quarter] - ordered[quarter]
    return (1.0 if scores.proportion else middle) / math.sqrt(max(scores.rows * scores.counting, 1.0))


def _top(curve: Sequence[Step], full_size: int) -> float | None:
    """Return the most that a learner can have on all rows: its score there, or the higher of bound and scores."""
    if not curve:
        return None
    last = curve[-1]
    if last.allocation.size == full_size:
        return score_of(last)
    return None if last.bound is None else max(last.bound, *(score_of(step) for step in curve))


def _misbehaviour(curve: Sequence[Step], tolerance: float) -> str:
    """Return in which ways a curve breaks the assumptions; empty if in none."""
    found = []
    if any(score_of(later) < score_of(earlier) - tolerance for earlier, later in pairwise(curve)):
        found.append("fell")
    for first, second, third in zip(curve, curve[1:], curve[2:], strict=False):
        gain = (score_of(second) - score_of(first)) / (second.allocation.size - first.allocation.size)
        expected = score_of(second) + max(gain, 0.0) * (third.allocation.size - second.allocation.size)
        if score_of(third) > expected + tolerance:
            found.append("got steeper")
            break
    for index, step in enumerate(curve):
        if step.bound is not None and any(score_of(later) > step.bound + tolerance for later in curve[index + 1 :]):
            found.append("exceeded its bound")
            break
    return ", ".join(found)


def _few_rows(scores: Scores, result: Result) -> list[str]:
    rows = scores.noise_rows(result.full_size)
    if scores.counting == 1.0 or rows is None or rows >= FEW_ROWS:
        return []
    reason = "because the rarest class has few validation rows"
    return [f"Doubtful: {scores.name} is as uncertain as a share of {rows} rows, {reason}."]


def _unknown_noise(scores: Scores, parts: Sequence[float]) -> list[str]:
    if scores.proportion or standard_error(parts) is not None:
        return []
    return [f"How noisy {scores.name} is on these rows is not known, so small differences may be chance."]


def _unclaimed(names: Collection[str], what: str, of_one: str = "") -> list[str]:
    if not names:
        return []
    who = f"the {len(names)} learners that {what}" if len(names) > 1 else f"the learner that {of_one or what}"
    return [f"Nothing is claimed about {who}."]


def _doubts(
    result: Result, curves: Mapping[str, Sequence[Step]], tolerance: float, dropped: Collection[str]
) -> list[str]:
    doubts = []
    score = result.valid_score or 0.0
    ahead = [
        curve[-1]
        for name, curve in curves.items()
        if name != result.selected
        and name not in dropped
        and score_of(curve[-1]) > score + (tolerance if curve[-1].allocation.size < result.full_size else 0.0)
    ]
    own = [score_of(step) for step in curves.get(result.selected or "", ())]
    if own and result.stopped is None and max(own) > score + tolerance:
        doubts.append(
            f"Doubtful: {result.selected} had {score_text(max(own))} with fewer rows, more than with all of them."
        )
    at_full = [step for step in ahead if step.allocation.size == result.full_size]
    if at_full and result.stopped is None:
        best = max(at_full, key=score_of)
        doubts.append(
            f"Doubtful: {best.allocation.learner} was trained on all rows ahead of time and has"
            f" {score_text(score_of(best))}, more than {result.selected}."
        )
    elif ahead and result.stopped is None:
        best = max(ahead, key=score_of)
        doubts.append(
            f"Doubtful: {best.allocation.learner} already had {score_text(score_of(best))} with"
            f" {best.allocation.size:,} rows, more than {result.selected} with all. Train it on all rows too."
        )
    return doubts
