"""What a further learner of a family or space brings on average."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from pydaub.algorithm.forecast import LEAST_SECONDS, OWN_NOISE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydaub.algorithm.forecast import Price
    from pydaub.algorithm.strategies.costs import Costs
    from pydaub.algorithm.strategies.groups import Groups

RECENT: Final = 8  # configurations, at least, by which further ones are judged
LEAST: Final = 4  # scores from which their spread is judged
ROOT_TWO, ROOT_TWO_PI = math.sqrt(2), math.sqrt(2 * math.pi)


def expected_gain(scores: Sequence[float], best: float, noise: float) -> float:
    """Return by how much one further configuration exceeds the best score, on average.

    Scores are taken as normally distributed around their median, with the spread of their better half: bad
    configurations say little about how good another one may be.

    Parameters
    ----------
    scores
        What the configurations so far will probably reach on all rows.
    best
        Best score on all rows so far, of any learner.
    noise
        Standard error of a score, which is no difference between configurations.
    """
    if len(scores) < LEAST:
        return 0.0
    middle = median(scores)
    variance = fmean((score - middle) ** 2 for score in scores if score >= middle) - noise**2
    if variance <= 0:
        return 0.0
    deviation = math.sqrt(variance)
    distance = (best - middle) / deviation
    density, beyond = math.exp(-(distance**2) / 2) / ROOT_TWO_PI, 0.5 * math.erfc(distance / ROOT_TWO)
    return max(deviation * (density - distance * beyond), 0.0)


def worth_more(  # noqa: PLR0913, PLR0917  # what a gain is weighed against
    groups: Groups, costs: Costs, likely: Callable[[str], float | None], best: float | None, noise: float, price: Price
) -> str | None:
    """Return the family or space whose next learners bring most for their time, if that pays.

    Parameters
    ----------
    groups, costs
        Which learners are of one kind, and what they have cost.
    likely
        The score that a learner will probably reach on all rows.
    best
        Best score on all rows so far; None if no learner has had them.
    noise
        By how much scores of similar learners differ by chance.
    price
        What time costs.
    """
    found, most = None, 0.0
    for group in groups.open():
        if best is None:  # none of the others could be measured
            return group if group in groups.families.values() else None
        started = groups.started(group)
        recent = started[-max(len(started) // 2, RECENT) :]  # proposals get better, and nearer to each other
        spent = sum(map(costs.paid_for, recent))
        before, now = ([s for s in map(likely, some) if s is not None] for some in (started[: -len(recent)], recent))
        if len(before) >= RECENT and max(now, default=-math.inf) - max(before) <= price.of([spent])[0]:
            continue  # the latest have brought less than their time was worth
        gain = expected_gain(now, best, noise) - price.of([spent / max(len(recent), 1) + LEAST_SECONDS])[0]
        if gain > most:
            found, most = group, gain
    return found


def chance_difference(score: float, rows: int | None) -> float:
    """Return by how much scores of similar learners differ by chance on so many rows."""
    share = min(max(score, 0.0), 1.0)
    return 2 * OWN_NOISE * math.sqrt(share * (1 - share) / rows) if rows else 0.0
