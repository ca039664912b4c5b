"""Pictures of how reliable forecasts are: shares below quantiles, and fans of forecasts over recorded curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.figure import Figure

from benchmarks.lcdb.frontier import save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

MARKERS: Final = "osD^v"
BANDS: Final = ((0.05, 0.95, "tab:blue", 0.2), (0.29, 0.71, "tab:blue", 0.35))
LIKELY: Final = 0.5


class Fan(NamedTuple):
    """The forecast for one learner, and its recorded curve."""

    title: str
    sizes: Sequence[int]
    mistakes: Sequence[float]  # in percent, at these sizes
    now: int  # place of the last size that the forecast knows
    ahead: Sequence[float]  # sizes of the forecast
    quantiles: Mapping[float, Sequence[float]]  # mistakes in percent at these sizes, by level


def draw_reliability(path: Path, levels: Sequence[float], panels: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """Draw the observed share against the forecast one, a line for each group; on the diagonal, forecasts are right."""
    figure = Figure(figsize=(5 * len(panels), 5.3), layout="constrained")
    for axes, (title, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        axes.plot((0, 100), (0, 100), color="black", linewidth=1, linestyle=":")
        for marker, (name, shares) in zip(MARKERS, lines.items(), strict=False):
            axes.plot(
                [100 * level for level in levels],
                [100 * share for share in shares],
                marker=marker,
                markersize=5,
                label=name,
            )
        axes.set_aspect("equal")
        axes.set_xlabel("level of the forecast quantile, percent")
        axes.set_ylabel("outcomes below it, percent")
        axes.set_title(f"forecast from {title}")
        axes.legend(title="doublings ahead")
        axes.grid(alpha=0.3)
    save(figure, path)


def draw_fans(path: Path, fans: Sequence[Fan], rows: int = 2) -> None:
    """Draw a panel for each forecast: quantiles of 5, 29, 50, 71 and 95 %, and the recorded curve over them."""
    columns = len(fans) // rows
    figure = Figure(figsize=(4 * columns, 3.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, fan in zip(panels, fans, strict=True):
        _draw_fan(axes, fan)
    for axes in panels[-columns:]:
        axes.set_xlabel("training rows")
    for axes in panels[::columns]:
        axes.set_ylabel("mistakes, percent")
    panels[0].legend(loc="lower left", fontsize=8)
    save(figure, path)


def _draw_fan(axes: Axes, fan: Fan) -> None:
    for low, high, color, alpha in BANDS:
        label = f"forecast, {100 * low:g} to {100 * high:g} %"
        axes.fill_between(
            fan.ahead, fan.quantiles[low], fan.quantiles[high], color=color, alpha=alpha, linewidth=0, label=label
        )
    axes.plot(fan.ahead, fan.quantiles[LIKELY], color="tab:blue", label="forecast, 50 %")
    known = fan.now + 1
    axes.plot(fan.sizes[:known], fan.mistakes[:known], color="black", label="known")
    axes.plot(fan.sizes[fan.now :], fan.mistakes[fan.now :], color="tab:red", label="what happened")
    axes.plot(fan.sizes[fan.now], fan.mistakes[fan.now], "o", color="black", markersize=5)
    axes.set_xscale("log")
    axes.set_ylim(bottom=max(axes.get_ylim()[0], 0.0))
    axes.set_title(fan.title, fontsize=10)
    axes.grid(alpha=0.3)
