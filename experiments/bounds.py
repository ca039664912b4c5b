"""DAUB with every bound on all measured tables: how often it is valid, what it costs and loses.

    python experiments/bounds.py [--measured FOLDER]

A bound is valid if it is at least the score at N; each point from the third on gives one. All bounds are without the
cap by the training score unless the name says so.
"""

from __future__ import annotations

from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any, Final

from assumptions import BEST
from command import shown
from replays import BOOTSTRAP, Curves, Replay, grouped, largest, markdown, percent, thousands

from pydaub import Daub, Schedule, Scores, TableEngine, run
from pydaub.algorithm.strategies.bounded import POINTS, make_bound
from pydaub.extensions.bounds.confidence import INTERVALS
from pydaub.extensions.bounds.fitted import FITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAPERS: Final = ("slope", True)
KINDS: Final = tuple(
    (name, cap)
    for name in (*POINTS, *FITS, "spline", *INTERVALS)
    for cap in (False, True)
    if not (cap and name in INTERVALS)
)  # whether capped by the training score, which confidence bounds never are


def replayed(one: Curves, name: str, *, cap: bool) -> Replay:
    """Replay DAUB with a bound on a measured table."""
    scores = Scores(rows=one.about["valid_rows"])
    strategy = Daub(one.table.learners, Schedule(one.sizes), name, train_bound=cap, scores=scores)
    return Replay(one, f"daub, {name}", run(strategy, TableEngine(one.table)))


def bounds(tables: Iterable[Curves]) -> str:
    """Return a line for each bound, in which each data set and portfolio counts once, however many seeds it has."""
    groups = list(grouped(tables).values())
    rows, found = [], {}
    for kind in KINDS:
        name, cap = kind
        replays = [[replayed(one, name, cap=cap) for one in seeds] for seeds in groups]
        shares = [[_valid(one, name, cap=cap) for one in seeds] for seeds in groups]
        speed_up = geometric_mean([geometric_mean([each.speed_up for each in seeds]) for seeds in replays])
        loss = fmean(fmean(each.loss for each in seeds) for seeds in replays)
        found[kind] = (
            speed_up,
            loss,
            [step.allocation for seeds in replays for each in seeds for step in each.result.steps],
        )
        rows.append([
            f"`{name}`", "yes" if cap else "no",
            *(f"{100 * fmean(fmean(pair[place] for pair in seeds) for seeds in shares):.0f} %" for place in (0, 1)),
            f"{speed_up:.2f}x", percent(loss, 2), percent(max(each.loss for seeds in replays for each in seeds), 1),
        ])  # fmt: skip
    header = ("Bound", "f^T", "Valid", "of the best eight", "Speed-up", "Mean loss", "Worst loss")
    return f"{markdown(header, rows, left=2)}\n\n{compared(found)}"


def compared(found: Mapping[tuple[str, bool], tuple[float, float, list[Any]]]) -> str:
    """Return which bounds are better than the paper's, and which make the same allocations."""
    fast, lost, steps = found[PAPERS]
    better = [kind for kind, (speed_up, loss, _) in found.items() if speed_up > fast and loss < lost]
    equal = [kind for kind, (*_, others) in found.items() if others == steps and kind != PAPERS]
    words = f"Faster than the paper's bound ({_named(PAPERS)}), with a smaller mean loss: {_listed(better)}."
    return f"{words} The same allocations on every table: {_listed(equal)}."


def _listed(kinds: Iterable[tuple[str, bool]]) -> str:
    return ", ".join(map(_named, kinds)) or "none"


def _named(kind: tuple[str, bool]) -> str:
    return f"`{kind[0]}` {'with' if kind[1] else 'without'} f^T"


def training_cap(tables: Iterable[Curves]) -> str:
    """Return DAUB without and with the cap by the training score: on the largest table of each data set, and on all."""
    tables = list(tables)
    every = [[one.replayed(method) for method in ("daub without f^T", "daub")] for one in tables]
    shown = [id(one) for one in largest(tables)]
    pairs = [pair for pair in every if id(pair[0].curves) in shown]
    pairs.sort(key=lambda pair: pair[0].speed_up / pair[1].speed_up)
    rows = [
        [
            pair[0].curves.about["title"], pair[0].curves.about["portfolio"], f"{pair[0].curves.full_size:,}",
            *(thousands(each.result.rows) for each in pair), *(f"{each.speed_up:.1f}x" for each in pair),
            *(percent(each.loss) for each in pair),
        ]
        for pair in pairs
    ]  # fmt: skip
    header = (
        "Data set", "Portfolio", "N", "Rows without f^T", "with", "Speed-up without", "with", "Loss without", "with",
    )  # fmt: skip
    fewer = sum(capped.result.rows < without.result.rows for without, capped in every)
    worse = sorted(
        (pair for pair in every if pair[1].loss > pair[0].loss), key=lambda pair: pair[0].loss - pair[1].loss
    )
    better = sum(capped.loss < without.loss for without, capped in every)
    speed_ups = [geometric_mean([pair[place].speed_up for pair in every]) for place in (0, 1)]
    named = "; ".join(
        f"{one.about['title']} ({one.about['portfolio']}, seed {one.about['seed']}, N = {one.full_size:,}):"
        f" {percent(without.loss, 2)} becomes {percent(capped.loss, 2)}"
        for without, capped in worse
        for one in (without.curves,)
    )
    words = (
        f"On all {len(every)} tables, with all seeds: with f^T DAUB takes fewer rows on {fewer}, is {speed_ups[1]:.1f}"
        f" instead of {speed_ups[0]:.1f} times as fast (geometric mean), loses less on {better} and more on"
        f" {len(worse)}{f' ({named})' if worse else ''}."
    )
    return f"{markdown(header, rows, left=2)}\n\n{words}"


def _valid(one: Curves, name: str, *, cap: bool) -> tuple[float, float]:
    """Return the share of valid bounds, and that of the best learners at N."""
    held: list[bool] = []
    held_of_best: list[bool] = []
    looks, scores = len(one.table.learners) * len(one.sizes), Scores(rows=one.about["valid_rows"])
    bound = make_bound(name, train_bound=cap, non_increasing_bound=False, scores=scores, looks=looks)
    best = set(list(one.scores)[:BEST])
    for learner, final in one.scores.items():
        curve = one.curve(learner)
        for length in range(BOOTSTRAP, len(curve.sizes)):
            valid = bound(curve.prefix(length), one.full_size) >= final
            held.append(valid)
            if learner in best:
                held_of_best.append(valid)
    return fmean(held), fmean(held_of_best)


def both(tables: list[Curves]) -> str:
    """Return both tables."""
    return f"{bounds(tables)}\n\n{training_cap(tables)}"


if __name__ == "__main__":
    shown(both, __doc__)
