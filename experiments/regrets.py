"""Regret of every strategy on measured curves: the time that went to learners which turn out to be worse.

    python experiments/regrets.py [--measured FOLDER]

A learner is (N, Delta)-suboptimal (Definition 1) if its score at N is at least Delta below the best, or if it has none.
Absolute regret (Definition 2) is the time that such learners got. Relative regret (condition 4 of Definition 3) is this
time divided by the number of learners and by the time of the selected one.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

from command import shown
from replays import METHODS, grouped, largest, markdown

from pydaub import Scores
from pydaub.runs.forecasts import Forecasts
from pydaub.runs.regret import DELTA, UNLIKELY, Regret, regret, spent_on_worse, suboptimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replays import Curves

DELTAS: Final = (0.005, 0.01, 0.05)
CERTIFIED: Final = ("daub", "frugal")  # strategies whose certificates are compared with the truth


def regrets(tables: Iterable[Curves]) -> str:
    """Return the regret of every strategy over all tables, and that of DAUB for each data set."""
    groups = list(grouped(tables).values())
    every = [one for seeds in groups for one in seeds]
    return f"{_by_strategy(groups)}\n\n{told(every)}\n\n{_of_daub(largest(every))}"


def told(tables: Sequence[Curves], delta: float = DELTA) -> str:
    """Return how true it is what runs themselves say, which know only what they trained."""
    words = []
    for method in CERTIFIED:
        said, wrong, shares = 0, 0, list[tuple[float, float, float]]()
        for one in tables:
            result, scores = one.replayed(method).result, Scores(rows=one.about["valid_rows"])
            ahead, worse = Forecasts(result, scores, {}), suboptimal(one.table.at(one.full_size), delta)
            limit = max(ahead.at_full.values()) - delta
            named = {name for name in ahead.curves if name not in ahead.at_full}
            named = {name for name in named if ahead.chance_above(name, limit) <= UNLIKELY}
            said, wrong = said + len(named), wrong + len(named - worse)
            if found := spent_on_worse(result, ahead.chance_above, delta):
                shares.append((found.share, found.open_share, of(one, method, delta).share))
        share, unknown, true = (100 * fmean(each) for each in zip(*(shares or [(0.0, 0.0, 0.0)]), strict=True))
        words.append(
            f"{said:,} learners with `{method}`, of which {wrong:,} are not ({100 * wrong / max(said, 1):.1f} %); the"
            f" time that is said to have gone to worse learners is {share:.0f} % in the mean, open {unknown:.0f} %, in"
            f" truth {true:.0f} %"
        )
    return (
        f"A run knows its regret only in part. By its forecasts, its certificate counts as {100 * delta:g} % worse,"
        f" with 95 % confidence for each and without all rows: {'; '.join(words)}."
    )


def of(one: Curves, method: str, delta: float) -> Regret:
    """Return the regret of a strategy on a table."""
    found = regret(one.replayed(method).result, one.table.at(one.full_size), delta)
    assert found is not None  # noqa: S101  # tables are complete up to N, with a learner that has a score
    return found


def _by_strategy(groups: Sequence[Sequence[Curves]]) -> str:
    """Return absolute and relative regret of each strategy; each data set and portfolio counts once."""
    most = largest(one for seeds in groups for one in seeds)
    rows = []
    for method in METHODS:
        seconds = [sum(of(one, method, delta).seconds for one in most) for delta in DELTAS]
        shares = [_mean(groups, method, delta, lambda each: each.share) for delta in DELTAS]
        relative = [_mean(groups, method, delta, lambda each: each.relative or 0.0) for delta in DELTAS]
        rows.append(
            (f"`{method}`", *(f"{each:,.0f}" for each in seconds), *(f"{100 * each:.0f} %" for each in shares),
             *(f"{each:.2f}" for each in relative))
        )  # fmt: skip
    return markdown(("Strategy", *_columns("seconds"), *_columns("share"), *_columns("relative")), rows)


def _mean(groups: Sequence[Sequence[Curves]], method: str, delta: float, number: Callable[[Regret], float]) -> float:
    return fmean(fmean(number(of(one, method, delta)) for one in seeds) for seeds in groups)


def _of_daub(tables: Iterable[Curves]) -> str:
    rows = []
    for one in tables:
        found = [of(one, "daub", delta) for delta in DELTAS]
        rows.append((
            one.about["title"], one.about["portfolio"], one.about["seed"], f"{one.full_size:,}",
            *(f"{each.suboptimal} of {each.learners}" for each in found), *(f"{each.seconds:,.0f}" for each in found),
            *(f"{100 * each.share:.0f} %" for each in found), *(f"{each.relative or 0.0:.2f}" for each in found),
        ))  # fmt: skip
    header = (
        "Data set", "Portfolio", "Seed", "N", *_columns("suboptimal"), *_columns("seconds"), *_columns("share"),
        *_columns("relative"),
    )  # fmt: skip
    return markdown(header, rows, left=2)


def _columns(what: str) -> list[str]:
    """Return a column for each Delta; the first one names what is in them."""
    first, *others = (f"{100 * delta:g} %" for delta in DELTAS)
    return [f"{what}, {first}", *others]


if __name__ == "__main__":
    shown(regrets, __doc__)
