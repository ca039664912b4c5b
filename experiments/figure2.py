"""Figure 2 of the paper: the rows that DAUB gives to each learner, sorted by their score at N.

    python experiments/figure2.py [--measured FOLDER] [--out FOLDER]

One picture for each data set that Table 1 has and each portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from command import drawn

from pydaub.views.plots import rows_allocated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from replays import Curves

SIZE = (9.0, 4.8)


def figure_2(one: Curves, axes: Axes) -> None:
    """Draw a bar for each learner, the selected one's black; those without a score at N stand at the end."""
    replay = one.replayed("daub")
    labels = {name: f"{name} {score:.3f}" for name, score in one.scores.items()}
    labels |= {name: f"{name} (no score)" for name in one.failed}
    title = f"{one.about['title']}, {one.about['portfolio']}: rows that DAUB gives, best at N = {one.full_size:,} first"
    rows_allocated(axes, replay.rows_of, labels, title, selected=replay.result.selected, failed=set(one.failed))


if __name__ == "__main__":
    drawn(figure_2, "figure2", SIZE, __doc__)
