"""Figure 1 of the paper: validation curves of the learners that lead early, and of the one that is best at N.

    python experiments/figure1.py [--measured FOLDER] [--out FOLDER]

One picture for each data set that Table 1 has and each portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from command import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from replays import Curves

SIZE = (7.5, 4.5)
NEXT = 3  # learners that are shown where nobody was ahead


def leaders(one: Curves) -> list[str]:
    """Return the learner that is best at N, and before it those that were ahead of it at some smaller size."""
    best = next(iter(one.scores))
    ahead: list[str] = []
    for size in one.sizes[:-1]:
        scores = {name: _at(one, name, size) for name in one.table.learners}
        leader = max(scores, key=lambda name: scores[name])
        if leader not in {best, *ahead} and scores[leader] > scores[best]:
            ahead.append(leader)
    return [*ahead, best]


def figure_1(one: Curves, axes: Axes) -> None:
    """Draw the curves, the final winner's thicker."""
    *ahead, best = leaders(one)
    others = ahead or list(one.scores)[1 : 1 + NEXT]
    for place, name in enumerate([*others, best]):
        curve = one.curve(name)
        scores = [point.valid_score for point in curve.measurements]
        style = (
            {"linewidth": 2.8, "color": "black", "marker": "o"}
            if name == best
            else {"marker": "osv^D<>pX*"[place % 10]}
        )
        axes.plot(curve.sizes, scores, label=name, markersize=4, **style)
    axes.set_xscale("log")
    axes.set_xticks(one.sizes, [f"{size:,}" for size in one.sizes], rotation=45, fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("training rows")
    axes.set_ylabel("validation accuracy")
    first = f"{len(ahead)} that led before" if ahead else "the next ones: it led from the start"
    axes.set_title(
        f"{one.about['title']}, {one.about['portfolio']}: the best at N = {one.full_size:,} (thick) and {first}",
        fontsize=10,
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _at(one: Curves, name: str, size: int) -> float:
    curve = one.curve(name)
    found = dict(zip(curve.sizes, curve.measurements, strict=True)).get(size)
    return found.valid_score if found else float("-inf")


if __name__ == "__main__":
    drawn(figure_1, "figure1", SIZE, __doc__)
