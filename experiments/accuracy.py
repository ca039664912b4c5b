"""The accuracy claim on measured curves: what DAUB's choice loses against the best learner at N, over the seeds.

    python experiments/accuracy.py [--measured FOLDER]

The paper's claim is a loss of 0.4 % on average at 16 times the speed.
"""

from __future__ import annotations

from statistics import geometric_mean, mean, stdev
from typing import TYPE_CHECKING, Final

from command import shown
from replays import METHODS, PORTFOLIOS, common, grouped, markdown, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replays import Curves, Replay

PAPER: Final = "0.4 % at 16x, from 0.0 % to 1.1 % and 7x to 31x, one run on each of six data sets"
ENOUGH: Final = 5  # seeds that make a claim


def accuracy(tables: Iterable[Curves]) -> str:
    """Return loss and speed-up with their spread, for each data set and on average, and those of other strategies."""
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
        parts.append(f"Measured with fewer than {ENOUGH} seeds, so in Table 2 only: {', '.join(single)}.")
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
    rows = []
    for method in METHODS:
        of_data = [[one.replayed(method) for one in seeds] for seeds in groups]
        rows.append((f"`{method}`", *_averages(of_data)))
    return markdown(("Strategy", "Loss, mean", "Loss, worst data set", "Speed-up, mean", "Speed-up, geometric"), rows)


def _averages(of_data: Sequence[Sequence[Replay]]) -> tuple[str, ...]:
    """Each data set counts once."""
    losses = [mean(replay.loss for replay in replays) for replays in of_data]
    speed_ups = [mean(replay.speed_up for replay in replays) for replays in of_data]
    geometric = geometric_mean(geometric_mean(replay.speed_up for replay in replays) for replays in of_data)
    return percent(mean(losses), 2), percent(max(losses), 2), f"{mean(speed_ups):.1f}x", f"{geometric:.1f}x"


if __name__ == "__main__":
    shown(accuracy, __doc__)
