"""A run as figures: the paper's Figures 1 and 2, and all learning curves. The only module that imports matplotlib."""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import cycle
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError
from pydaub.views.story import learners
from pydaub.views.summary import counted, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pydaub.runs.account import Account

    Points = Sequence[tuple[int, float]]

FORMATS: Final = ("png", "svg", "pdf")
MARKERS: Final = "osv^D<>pX*"
NEXT: Final = 3  # learners shown where none was ahead of the best
MOST_CURVES: Final = 60  # in one figure
DPI: Final = 110
LINE_PARTS: Final = 16
LONGEST_NAME: Final = 32


def leaders(curves: Mapping[str, Points], best: str) -> list[str]:
    """Return the learners that were ahead of the best at a size that both have had, in the order of their lead."""
    own = dict(curves[best])
    ahead: list[str] = []
    for size in sorted(own):
        scores = {name: dict(points).get(size, float("-inf")) for name, points in curves.items()}
        leader = max(scores, key=lambda name: scores[name])
        if leader != best and leader not in ahead and scores[leader] > own[size]:
            ahead.append(leader)
    return ahead


def curves_of_leaders(axes: Axes, curves: Mapping[str, Points], ranking: Sequence[str], title: str) -> None:
    """Draw Figure 1: validation curves of the early leaders and, thicker, of the best (first in the ranking)."""
    best = ranking[0]
    ahead = leaders(curves, best)
    others = ahead or list(ranking[1 : 1 + NEXT])
    lines = [
        axes.plot(*zip(*curves[name], strict=True), marker=marker, markersize=4)[0]
        for name, marker in zip(others, cycle(MARKERS), strict=False)
    ]
    lines += axes.plot(*zip(*curves[best], strict=True), marker="o", markersize=4, linewidth=2.8, color="black")
    sizes = sorted({size for name in (*others, best) for size, _ in curves[name]})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45, fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("training rows")
    axes.set_ylabel("validation score")
    first = counted(len(ahead), "early leader") if ahead else "the next best: it led from the start"
    axes.set_title(_literal(f"{title}: {_short(best)} (thick) and {first}"), fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(
        lines, [_literal(_short(name)) for name in (*others, best)], fontsize=8
    )  # a label that begins with _ would be left out otherwise


def rows_allocated(  # noqa: PLR0913  # everything that a bar shows
    axes: Axes,
    rows: Mapping[str, int],
    labels: Mapping[str, str],
    title: str,
    *,
    selected: str | None,
    failed: set[str],
) -> None:
    """Draw Figure 2: a bar for each learner in the order of `labels`, black if selected, hatched if failed."""
    names = list(labels)
    bars = axes.bar(range(len(names)), [rows.get(name, 0) for name in names], color="tab:blue")
    for bar, name in zip(bars, names, strict=True):
        if name == selected:
            bar.set_color("black")
        elif name in failed:
            bar.set(hatch="///", facecolor="white", edgecolor="tab:red")
    axes.set_xticks(range(len(names)), [_literal(labels[name]) for name in names], rotation=90, fontsize=6)
    axes.set_xlim(-0.8, len(names) - 0.2)
    axes.set_ylabel("rows allocated")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(_literal(f"{title}; black: selected"), fontsize=10)
    axes.grid(axis="y", alpha=0.3)


def drawn(path: Path, size: tuple[float, float], draw: Callable[[Axes], None]) -> Path:
    """Draw into a file; its suffix is the format."""
    figure = _figure(size)
    draw(figure.subplots())
    return _saved(figure, path)


def draw_run(account: Account, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write Figure 1, Figure 2 and all learning curves of a run; return the paths."""
    unknown = [repr(each) for each in formats if each not in FORMATS]
    if unknown or not formats:
        raise InputError(f"`formats` must be some of {', '.join(FORMATS)}, got {', '.join(unknown) or 'none'}.")
    told, made = learners(account), []
    if not any(one["points"] for one in told.values()):
        raise InputError("Nothing has been measured in this run yet, so there is nothing to draw.")
    for end in formats:  # drawn anew for each: saving a figure moves its layout a little
        for name, figure in _figures(told, account.full_size).items():
            made.append(_saved(figure, folder / f"{name}.{end}"))
    return made


def _figures(told: Mapping[str, Mapping[str, Any]], full_size: int) -> dict[str, Figure]:
    measured = {name: [(point[0], point[2]) for point in one["points"]] for name, one in told.items() if one["points"]}
    last = {name: points[-1][1] for name, points in measured.items()}
    labels = {name: f"{_short(name)} {last[name]:.3f}" for name in sorted(last, key=lambda name: -last[name])}
    labels |= {name: f"{_short(name)} (none)" for name in told if name not in measured}
    leading, allocated = _figure((7.5, 4.5)), _figure((max(6.0, 1.5 + 0.18 * len(told)), 4.8))
    curves_of_leaders(leading.subplots(), measured, list(measured), "Learning curves")
    rows_allocated(
        allocated.subplots(),
        {name: one["rows"] for name, one in told.items()},
        labels,
        "Rows, best last score first",
        selected=next((name for name, one in told.items() if one["standing"] == "selected"), None),
        failed={name for name, one in told.items() if one["standing"] == "failed"},
    )
    curves = _all_curves([told[name] for name in list(measured)[:MOST_CURVES]], full_size)
    return {"figure1": leading, "figure2": allocated, "curves": curves}


def _all_curves(learners: Sequence[Mapping[str, Any]], full_size: int) -> Figure:
    """Draw small multiples: training and validation, corrected points, and the bound at the full size."""
    across = min(6, len(learners))
    down = -(-len(learners) // across)
    figure = _figure((2.3 * across, 1.8 * down + 0.5))
    first = min(point[0] for one in learners for point in one["points"])
    middle = int(round(math.sqrt(first * full_size), -2))
    ticks = [first, middle, full_size] if first < middle < full_size else [first, full_size]
    low = _floor([point[2] for one in learners for point in one["points"]])
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for place, (axes, one) in enumerate(zip(grid.flat, learners, strict=False)):
        sizes, train, valid, _ = zip(*one["points"], strict=True)
        if any(score is not None for score in train):
            axes.plot(sizes, train, ":", color="tab:orange", label="training")
        axes.plot(sizes, valid, color="tab:blue", label="validation")
        axes.plot(
            sizes, one["corrected"], "o", color="tab:blue", markerfacecolor="white", markersize=3, label="corrected"
        )
        if one["bound"] is not None and sizes[-1] < full_size:
            axes.plot(*_bound_line(one, sizes[-1], full_size), "--", color="tab:purple", label="bound up to all rows")
        axes.set_xscale("log")
        axes.set_title(_literal(f"{_short(one['learner'])} ({one['standing']})"), fontsize=7)
        axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
        axes.minorticks_off()
        axes.tick_params(labelsize=6, labelbottom=place + across >= len(learners))  # for the last of its column
        axes.grid(alpha=0.3)
        if valid[-1] < low:
            axes.text(0.5, 0.08, f"below: {valid[-1]:.3f}", transform=axes.transAxes, fontsize=6, ha="center")
    for axes in grid.flat[len(learners) :]:
        axes.set_axis_off()
    grid.flat[0].set_ylim(bottom=low)  # shared by all
    figure.supxlabel("training rows", fontsize=8)
    figure.supylabel("score", fontsize=8)
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, fontsize=8)
    return figure


def _floor(scores: Sequence[float]) -> float:
    """Return the lower limit of the axis: an outlier far below the others would flatten all curves."""
    lower, middle, upper = quantiles(scores, n=4, method="inclusive") if len(scores) > 1 else (scores[0],) * 3
    spread = max(upper - lower, (max(scores) - middle) / 4)
    return max(min(scores), lower - 2.5 * spread) - 0.1 * spread if spread else min(scores) - 0.05


def _bound_line(one: Mapping[str, Any], size: int, full_size: int) -> tuple[list[float], list[float]]:
    """Return the bound's line to the full size: linear in the rows, so curved on a logarithmic axis."""
    rows = [size * (full_size / size) ** (part / LINE_PARTS) for part in range(LINE_PARTS + 1)]
    last = one["corrected"][-1]
    return rows, [last + (one["bound"] - last) * (n - size) / (full_size - size) for n in rows]


def _short(name: str) -> str:
    name = plain(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _literal(text: str) -> str:
    """Escape text that matplotlib would read as a formula."""
    return text.replace("$", r"\$")


def _figure(size: tuple[float, float]) -> Figure:
    if find_spec("matplotlib") is None:
        raise InputError("Plots need matplotlib. Install it with `pip install 'pydaub[plot]'`.")
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import, and an extra

    return Figure(figsize=size, layout="constrained")


def _saved(figure: Figure, path: Path) -> Path:
    from matplotlib import rc_context  # noqa: PLC0415  # as above

    path.parent.mkdir(parents=True, exist_ok=True)
    # No dates and no random ids: the same run gives the same file.
    no_date = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "pydaub"}):
        figure.savefig(path, dpi=DPI, metadata=no_date[path.suffix[1:]])
    return path
