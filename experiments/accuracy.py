"""The accuracy claim on measured curves: what DAUB's choice loses against the best learner at N, over several seeds.

    python experiments/accuracy.py [--measured FOLDER]

The paper claims a loss of 0.4 % on average at 16 times the speed.
"""

from __future__ import annotations

from statistics import geometric_mean, mean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

from command import shown
from replays import METHODS, PORTFOLIOS, common, grouped, markdown, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replays import Curves, Replay

PAPER: Final = "0.4 % at 16x, from 0.0 % to 1.1 % and 7x to 31x, one run on each of six data sets"
ENOUGH: Final = 5  # seeds needed for a claim


def accuracy(tables: Iterable[Curves]) -> str:
    """Return tables of loss and speed-up over the seeds: by data set, and for other strategies on the same curves."""
    groups = grouped(tables)
    parts = [f"The paper: {PAPER}."]
    for portfolio in dict.fromkeys(portfolio for _, portfolio in groups):
        several = [common(seeds, ENOUGH) for key, seeds in groups.items() if key[1] == portfolio]
        several = [seeds for seeds in several if seeds]
        if several:
            words = f"### `{portfolio}` ({PORTFOLIOS.get(portfolio, 'own')})"
            parts.append(f"{words}, by data set\n\n{_by_data(several)}")
            parts.append(f"{words}, against other strategies on the same curves\n\n{_by_strategy(several)}")
    single = [
        f"{seeds[0].about['title']} ({portfolio})" for (_, portfolio), seeds in groups.items() if len(seeds) < ENOUGH
    ]
    if single:
        parts.append(
            f"In Table 2 only, because they were measured with fewer than {ENOUGH} seeds: {', '.join(single)}."
        )
    return "\n\n".join(parts)


def _by_data(groups: Sequence[Sequence[Curves]]) -> str:
    rows: list[tuple[object, ...]] = []
    losses, speed_ups = [], []
    for seeds in groups:
        replays = [one.replayed("daub") for one in seeds]
        loss, speed_up = [replay.loss for replay in replays], [replay.speed_up for replay in replays]
        losses.append(mean(loss))
        speed_ups.append(mean(speed_up))
        best = sum(replay.loss <= 0 for replay in replays)
        rows.append(
            (
                seeds[0].about["title"],
                f"{seeds[0].full_size:,}",
                len(seeds),
                f"{percent(mean(loss), 2)} ± {percent(stdev(loss), 2)}",
                f"{percent(min(loss), 2)} to {percent(max(loss), 2)}",
                f"{best} of {len(seeds)}",
                f"{mean(speed_up):.1f}x ({min(speed_up):.1f} to {max(speed_up):.1f})",
            )
        )
    average = (
        f"**{percent(mean(losses), 2)}**",
        f"{percent(min(losses), 2)} to {percent(max(losses), 2)}",
        "",
        f"**{mean(speed_ups):.1f}x** ({min(speed_ups):.1f} to {max(speed_ups):.1f})",
    )
    rows.append(("**average**", "", "", *average))
    header = ("Data set", "N", "Seeds", "Loss, mean ± sd", "Loss, range", "Chose the best", "Speed-up (range)")
    return markdown(header, rows)


def _by_strategy(groups: Sequence[Sequence[Curves]]) -> str:
    of_methods = {
        method: _averages([[one.replayed(method) for one in seeds] for seeds in groups]) for method in METHODS
    }
    rows = [
        (
            f"`{method}`",
            percent(each.loss, 2),
            percent(each.worst, 2),
            f"{each.speed_up:.1f}x",
            f"{each.geometric:.1f}x",
        )
        for method, each in of_methods.items()
    ]
    header = ("Strategy", "Loss, mean", "Loss, worst data set", "Speed-up, mean", "Speed-up, geometric")
    return f"{markdown(header, rows)}\n\n{_verdict(of_methods)}"


def _verdict(of_methods: Mapping[str, Averages]) -> str:
    """State whether DAUB pays off on these curves, and which strategies are better."""
    daub = of_methods["daub"]
    pays = (
        f"DAUB is {daub.geometric:.1f} times as fast as training everything, by the geometric mean."
        if daub.geometric > 1
        else "**DAUB does not pay off here: with so few rows it takes longer than training everything.**"
    )
    better = [
        f"`{method}`"
        for method, each in of_methods.items()
        if each.loss <= daub.loss and each.geometric >= daub.geometric and not method.startswith("daub")
    ]
    return pays + (f" Faster and with less loss: {', '.join(better)}." if better else "")


class Averages(NamedTuple):
    """Averages of one strategy over data sets, each counted once."""

    loss: float
    worst: float
    speed_up: float
    geometric: float


def _averages(of_data: Sequence[Sequence[Replay]]) -> Averages:
    losses = [mean(replay.loss for replay in replays) for replays in of_data]
    speed_ups = [mean(replay.speed_up for replay in replays) for replays in of_data]
    geometric = geometric_mean(geometric_mean(replay.speed_up for replay in replays) for replays in of_data)
    return Averages(mean(losses), max(losses), mean(speed_ups), geometric)


if __name__ == "__main__":
    shown(accuracy, __doc__)
