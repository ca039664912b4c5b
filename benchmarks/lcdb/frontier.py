"""Plot of speed-up against mean loss, with one point for each method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.lcdb.methods import LINE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    Points = Mapping[str, tuple[float, float]]  # speed-up and mean loss in percent, by method

# Candidate offsets of a label from its point, in points; the first one without an overlap is used.
PLACES: Final = (
    (5, 4, "left"),
    (5, -10, "left"),
    (-5, 4, "right"),
    (-5, -10, "right"),
    (5, 13, "left"),
    (5, -19, "left"),
)


BESIDE_LINE: Final = ((5, -11, "left"), (-5, 6, "right"))  # below and above a line that rises to the right


def draw(path: Path, panels: Mapping[str, Points]) -> None:
    """Draw one panel for each group of data sets; a line joins the settings of our strategy."""
    figure = Figure(figsize=(8 * len(panels), 6.5), layout="constrained")
    for axes, (title, points) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        ours = {name: point for name, point in points.items() if name.startswith(LINE)}
        peers = {name: point for name, point in points.items() if name not in ours}
        axes.scatter(*zip(*peers.values(), strict=True), s=24, color="tab:gray")
        if ours:
            axes.plot(
                *zip(*ours.values(), strict=True), marker="o", color="black", linewidth=2, label=f"{LINE}, by delta"
            )
            axes.legend(loc="upper left")
        axes.set_xscale("log")
        axes.set_xlabel("times faster than training everything on everything")
        axes.set_ylabel("mean loss of validation score, percent")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title(title)
        axes.margins(x=0.2, y=0.08)
        axes.grid(alpha=0.3)
    figure.draw_without_rendering()  # fixes the layout, which `_label` needs
    for axes, points in zip(figure.axes, panels.values(), strict=True):
        _label(axes, points)
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a picture; without dates and random ids, the same figures give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "pydaub"}):
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def _label(axes: Axes, points: Points) -> None:
    taken: list[Any] = []
    for name, point in points.items():
        ours = name.startswith(LINE)
        places = BESIDE_LINE if ours else PLACES
        for right, up, side in places:
            text = axes.annotate(
                name.removeprefix(LINE).strip().removeprefix("delta "),
                point,
                (right, up),
                textcoords="offset points",
                ha=side,
                fontsize=8,
                weight="bold" if ours else "normal",
            )
            box = text.get_window_extent()
            free = not any(box.overlaps(other) for other in taken)
            if free or (not ours and (right, up, side) == places[-1]):
                taken.append(box)
                break
            text.remove()  # a delta without a label can be read off its neighbours
