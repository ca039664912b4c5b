"""Figure 1 of the paper: validation curves of the learners that lead early and of the one that is best at N.

    python experiments/figure1.py [--measured FOLDER] [--out FOLDER]

Draws one picture for each data set of Table 1 and each portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from command import drawn

from pydaub.records import Scores
from pydaub.views.plots import curves_of_leaders

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from replays import Curves

SIZE = (9.5, 4.8)


def figure_1(one: Curves, axes: Axes) -> None:
    """Draw the curves, with a thicker line for the best learner at N."""
    curves = {}
    for name in one.table.learners:
        curve = one.curve(name)
        curves[name] = list(zip(curve.sizes, (point.valid_score for point in curve.measurements), strict=True))
    title = f"{one.about['title']}, {one.about['portfolio']}, N = {one.full_size:,}: best is {next(iter(one.scores))}"
    curves_of_leaders(axes, curves, list(one.scores), title, Scores("accuracy"))


if __name__ == "__main__":
    drawn(figure_1, "figure1", SIZE, __doc__)
