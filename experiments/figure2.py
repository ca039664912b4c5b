"""Figure 2 of the paper: the rows that DAUB gives to each learner, sorted by their score at N.

    python experiments/figure2.py [--measured FOLDER] [--out FOLDER]

One picture for each data set that Table 1 has and each portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from command import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from replays import Curves

SIZE = (9.0, 4.8)


def figure_2(one: Curves, axes: Axes) -> None:
    """Draw a bar for each learner, the selected one's darker; those without a score at N stand at the end."""
    replay = one.replayed("daub")
    given = replay.rows_of
    names = [*one.scores, *one.failed]
    colours = ["black" if name == replay.result.selected else "tab:blue" for name in names]
    bars = axes.bar(range(len(names)), [given[name] for name in names], color=colours)
    for bar, name in zip(bars, names, strict=True):
        if name not in one.scores:
            bar.set(hatch="///", facecolor="white", edgecolor="tab:red")
    labels = [f"{name} {one.scores[name]:.3f}" if name in one.scores else f"{name} (no score)" for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=90, fontsize=6)
    axes.set_xlim(-0.8, len(names) - 0.2)
    axes.set_ylabel("rows allocated, all sizes together")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(
        f"{one.about['title']}, {one.about['portfolio']}: rows that DAUB gives, best at N = {one.full_size:,} first;"
        " black: selected",
        fontsize=10,
    )
    axes.grid(axis="y", alpha=0.3)


if __name__ == "__main__":
    drawn(figure_2, "figure2", SIZE, __doc__)
