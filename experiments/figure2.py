"""Figure 2 of the paper: the rows that DAUB gives to each learner after the bootstrap, sorted by score at N.

    python experiments/figure2.py [--measured FOLDER] [--out FOLDER]

Draws one picture for each data set of Table 1 and each portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from command import drawn

from pydaub.records import score_text
from pydaub.views.plots import height_of_bars, rows_allocated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from replays import Curves

SIZE = (9.5, height_of_bars(50))
ROOM = 1.12  # of the longest bar: with room for its score


def figure_2(one: Curves, axes: Axes) -> None:
    """Draw one bar for each learner, black for the selected one; learners without a score at N come last."""
    replay = one.replayed("daub")
    notes = {name: score_text(score) for name, score in one.scores.items()} | dict.fromkeys(one.failed, "no score")
    what = f"rows that DAUB gives after the bootstrap, best at N = {one.full_size:,} first; black: selected"
    title = f"{one.about['title']}, {one.about['portfolio']}: {what}"
    rows_allocated(axes, replay.rows_of, notes, title, selected=replay.result.selected, failed=set(one.failed))
    axes.set_xlim(0, ROOM * max(replay.rows_of.values()))
    axes.set_xlabel("rows in its allocations after the bootstrap")


if __name__ == "__main__":
    drawn(figure_2, "figure2", SIZE, __doc__)
