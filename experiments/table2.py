"""Table 2 of the paper from measured curves: full training against DAUB on every data set that was measured.

python experiments/table2.py [--measured FOLDER]
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from accuracy import ENOUGH
from command import shown
from curves import PARITY_ROWS
from datasets import DATA_SETS
from replays import PORTFOLIOS, common, grouped, largest, markdown, percent, thousands
from ties import Ties, matter, said

from pydaub import PAPER_SIZES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replays import Curves, Replay

# From the paper: full training's allocation and time; DAUB's iterations, allocation, time, speed-up, loss in percent.
PAPER: Final = {
    "buzz": ("1,578k", 56_519, 57, "302k", 5_872, 10, 0.0),
    "covtype": ("1,578k", 43_578, 13, "160k", 3_848, 11, 1.1),
    "higgs": ("1,578k", 49_905, 56, "372k", 2_001, 25, 0.0),
    "songs": ("1,578k", 115_911, 53, "333k", 17_208, 7, 0.6),
    "susy": ("1,578k", 26_438, 31, "214k", 837, 31, 0.9),
    "sensit": ("1,578k", 68_139, 50, "296k", 5_603, 12, 0.0),
}
# PARITY is in the paper's Table 1 and text, with N = 21,500: not one of the real data sets of its means.
PARITY: Final = ("860k", 5_939, 19, "156k", 397, 15, 0.3)
HEADER: Final = (
    "Data set", "Whose", "N", "Full alloc.", "Full time (s)", "Iter.", "Alloc.", "Time (s)", "Speed-up", "Loss",
)  # fmt: skip


def table_2(tables: Iterable[Curves]) -> str:
    """Return one table for each portfolio, with our line below the paper's for each data set."""
    tables = list(tables)
    found, groups = largest(tables), grouped(tables)
    parts = []
    for portfolio in dict.fromkeys(one.about["portfolio"] for one in found):
        ours = {one.about["data"]: one for one in found if one.about["portfolio"] == portfolio}
        rows: list[list[str]] = []
        for name, data_set in DATA_SETS.items():
            if name == "parity":
                rows.append([data_set.title, "paper", f"{PARITY_ROWS:,}", *_paper(PARITY)])
            elif name in PAPER:
                rows.append([data_set.title, "paper", "38,500", *_paper(PAPER[name])])
            if name in ours:
                rows.append(
                    [f"**{data_set.title}**", f"ours, seed {ours[name].about['seed']}", f"{ours[name].full_size:,}",
                     *_ours(ours[name])]
                )  # fmt: skip
                rows += _seeds(data_set.title, common(groups[name, portfolio], ENOUGH))
            elif name in PAPER:
                rows.append([data_set.title, "ours", "not measured", *[""] * (len(HEADER) - 3)])
        rows += _means(ours)
        tied = matter(ours.values())
        words = f"Portfolio `{portfolio}` ({PORTFOLIOS.get(portfolio, 'own')}).{_ended(ours.values())}"
        parts.append(f"{words}\n\n{markdown(HEADER, rows, left=2)}" + (f"\n\n{said(tied)}" if tied else ""))
    return "\n\n".join(parts)


def _seeds(title: str, seeds: Sequence[Curves]) -> list[list[str]]:
    """Return a line with mean and standard deviation over the seeds, up to the largest N that all have."""
    if not seeds:
        return []
    replays = [one.replayed("daub") for one in seeds]
    full = [one.full_seconds for one in seeds]
    return [
        [
            f"**{title}**", f"ours, {len(seeds)} seeds", f"{seeds[0].full_size:,}",
            thousands(len(seeds[0].table.learners) * seeds[0].full_size), _spread(full, ",.0f"),
            _spread([each.iterations for each in replays], ".0f"),
            _spread([each.rows_after_bootstrap / 1000 for each in replays], ",.0f", "k"),
            _spread([each.result.seconds for each in replays], ",.0f"),
            _spread([each.speed_up for each in replays], ".1f", "x"),
            _spread([100 * each.loss for each in replays], ".1f", " %"),
        ]
    ]  # fmt: skip


def _spread(values: Sequence[float], form: str, unit: str = "") -> str:
    """Return mean and standard deviation."""
    return f"{fmean(values) + 0.0:{form}} ± {stdev(values):{form}}{unit}"


def _means(ours: Mapping[str, Curves]) -> list[list[str]]:
    """Return the mean speed-up and loss over the paper's real data sets, over those that we have, and like for like."""
    lines = [_mean("paper", f"all {len(PAPER)}", [PAPER[name][-2:] for name in PAPER])]
    if both := [name for name in PAPER if name in ours]:
        replays, rows = [ours[name].replayed("daub") for name in both], [ours[name].full_size for name in both]
        lines += [
            _mean("paper", f"the {len(both)} that we measured", [PAPER[name][-2:] for name in both]),
            _mean(
                "ours",
                f"these {len(both)}, N from {min(rows):,} to {max(rows):,}",
                [_figures(each) for each in replays],
            ),
        ]
        alike = [name for name in both if ours[name].full_size == PAPER_SIZES[-1]]
        if alike:
            which = f"like for like: the {len(alike)} with N = {PAPER_SIZES[-1]:,}"
            lines += [
                _mean("paper", which, [PAPER[name][-2:] for name in alike]),
                _mean("ours", which, [_figures(ours[name].replayed("daub")) for name in alike]),
            ]
    return lines


def _figures(replay: Replay) -> tuple[float, float]:
    return replay.speed_up, 100 * replay.loss


def _mean(whose: str, which: str, found: Sequence[tuple[float, float]]) -> list[str]:
    speed_up, loss = (fmean(column) for column in zip(*found, strict=True))
    return ["**mean** of real data sets", whose, which, *[""] * 5, f"{speed_up:.1f}x", f"{loss:.1f} %"]


def _ended(ours: Iterable[Curves]) -> str:
    ended = [f"{one.about['title']} {len(one.failed)}" for one in ours if one.failed]
    return f" Learners without a score at N, which count with the time they took: {', '.join(ended)}." if ended else ""


def _paper(figures: tuple[str, int, int, str, int, int, float]) -> list[str]:
    rows, seconds, iterations, allocated, took, speed_up, loss = figures
    return [rows, f"{seconds:,}", str(iterations), allocated, f"{took:,}", f"{speed_up}x", f"{loss} %"]


def _ours(one: Curves) -> list[str]:
    ties = Ties(one)
    return [
        thousands(len(one.table.learners) * one.full_size),
        f"{one.full_seconds:,.0f}",
        ties.range(lambda daub: daub.iterations, "{:,}".format),
        ties.range(lambda daub: daub.rows_after_bootstrap, thousands),
        ties.range(lambda daub: daub.result.seconds, "{:,.0f}".format),
        ties.range(lambda daub: daub.speed_up, "{:.1f}x".format),
        ties.range(lambda daub: daub.loss, percent),
    ]


if __name__ == "__main__":
    shown(table_2, __doc__)
