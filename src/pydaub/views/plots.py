"""A run as figures: the paper's Figures 1 to 3. The only module that imports matplotlib."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from io import BytesIO
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydaub.errors import InputError
from pydaub.records import REFUSED, score_text
from pydaub.views.scales import in_view, limits, tick_labels, ticks
from pydaub.views.story import learners
from pydaub.views.summary import counted, plain, shortened
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pydaub.records import Scores
    from pydaub.runs.account import Account
    from pydaub.views.scales import Points

FORMATS: Final = ("png", "svg", "pdf")
NAMES: Final = ("figure1", "figure2", "curves")  # of the figures of a run
MARKERS: Final = "osv^D<>pX*"
NEXT: Final = 3  # learners shown where none was ahead of the best
MOST_LEADERS: Final = 12  # named in one figure
MOST_BARS: Final = 60
MOST_CURVES: Final = 60  # panels in one figure
MOST_TICKS: Final = 12
THIN: Final = 0.7
ACROSS: Final = 6  # panels side by side
FEW: Final = 4  # panels that can be larger
DPI: Final = 110
LINE_PARTS: Final = 16
LONGEST_NAME: Final = 36
LONGEST_TITLE: Final = 30  # of a panel
FONT: Final = "DejaVu Sans"  # comes with matplotlib; it has Latin, Greek, Cyrillic, Hebrew and Arabic


def leaders(curves: Mapping[str, Points], best: str) -> list[str]:
    """Return the learners that led at a size that the best has had too, in this order."""
    own = dict(curves[best])
    ahead: list[str] = []
    for size in sorted(own):
        scores = {name: dict(points).get(size, float("-inf")) for name, points in curves.items()}
        leader = max(scores, key=lambda name: scores[name])
        if leader != best and leader not in ahead and scores[leader] > own[size]:
            ahead.append(leader)
    return ahead


def curves_of_leaders(
    axes: Axes, curves: Mapping[str, Points], ranking: Sequence[str], title: str, scores: Scores
) -> None:
    """Draw Figure 1: validation curves of the early leaders and, thicker, of the best (first in the ranking).

    All others are thin lines in the background.
    """
    best = ranking[0]
    ahead = leaders(curves, best)
    named = ahead[:MOST_LEADERS] or list(ranking[1 : 1 + NEXT])
    rest = [name for name in curves if name not in named and name != best]
    for name in rest:
        points = curves[name]
        width = THIN if len(rest) < MOST_CURVES else THIN / 2
        axes.plot(*zip(*points, strict=True), marker="." if len(points) == 1 else None, color="0.8", linewidth=width)
    lines = [
        axes.plot(*zip(*curves[name], strict=True), marker=marker, markersize=4)[0]
        for name, marker in zip(named, cycle(MARKERS), strict=False)
    ]
    lines[:0] = axes.plot(*zip(*curves[best], strict=True), marker="o", markersize=4, linewidth=2.8, color="black")
    labels = [f"{_short(name)}: {score_text(curves[name][-1][1])}" for name in (best, *named)]
    _sizes_below(axes, sorted({size for points in curves.values() for size, _ in points}))
    low = _scores_beside(axes, in_view(curves, [best, *named]), scores)
    if rest:
        lines += axes.plot([], [], color="0.8", linewidth=THIN)
        below = sum(curves[name][-1][1] < low for name in rest)
        labels.append(counted(len(rest), "other") + (f", {below:,} below this scale" if below else ""))
    axes.set_xlabel("training rows (logarithmic)")
    axes.set_ylabel(f"validation {_called(scores)}")
    first = "no other was ahead with as many rows" if len(curves) > 1 else "the only learner"
    if ahead:
        first = f"{counted(len(ahead), 'other')} led with fewer rows"
    axes.set_title(_literal(f"{title}; {first}"), fontsize=10, loc="left")
    axes.grid(alpha=0.3)
    axes.figure.legend(  # with labels given here: one that begins with _ would be left out otherwise
        lines, [*map(_literal, labels)], fontsize=8, title="last score", loc="outside right upper", frameon=False
    )


def rows_allocated(  # noqa: PLR0913  # everything that a bar shows
    axes: Axes,
    rows: Mapping[str, int],
    notes: Mapping[str, str],
    title: str,
    *,
    selected: str | None,
    failed: set[str],
) -> None:
    """Draw Figure 2: a bar for each learner in the order of `notes`, which stand beside the bars.

    The selected learner's bar is black, and those of learners that failed are hatched. With many learners, the last
    ones share a bar.
    """
    names = list(notes)
    shown = names if len(names) <= MOST_BARS else names[: MOST_BARS - 1]
    rest = [rows.get(name, 0) for name in names[len(shown) :]]
    widths = [*(rows.get(name, 0) for name in shown), *([max(rest)] if rest else [])]
    texts = [*(notes[name] for name in shown), *([_range(rest)] if rest else [])]
    labels = [*map(_short, shown), *([f"{len(rest):,} other learners"] if rest else [])]
    bars = axes.barh(range(len(widths)), widths, color="tab:blue")
    for bar, name in zip(bars, shown, strict=False):
        if name == selected:
            bar.set_color("black")
        elif name in failed:
            bar.set(hatch="///", facecolor="white", edgecolor="tab:red")
    if rest:
        bars[-1].set_color("0.8")
    axes.bar_label(bars, [_literal(text) for text in texts], padding=3, fontsize=7)
    axes.set_yticks(range(len(labels)), [_literal(label) for label in labels], fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)  # the first on top
    axes.set_xlim(0, 1.65 * max(*widths, 1))  # with room for the notes
    axes.set_xlabel("rows in all its allocations")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(_literal(title), fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)


def _range(rows: Sequence[int]) -> str:
    """Return how many rows each of several learners got."""
    least, most = min(rows), max(rows)
    return f"{least:,} to {most:,} rows each" if least < most else f"{most:,} rows each"


def height_of_bars(learners: int) -> float:
    """Return the height in inches of a figure with a bar for each learner."""
    return 1.1 + 0.19 * max(min(learners, MOST_BARS), 3)


def drawn(path: Path, size: tuple[float, float], draw: Callable[[Axes], None]) -> Path:
    """Draw into a file; its suffix is the format."""
    with _style():
        figure = _figure(size)
        draw(figure.subplots())
        return _saved(figure, Folder(path.parent), [path.name])[0]


def draw_run(account: Account, folder: Path | Folder, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write Figure 1, Figure 2 and all learning curves of a run; return the paths."""
    unknown = [repr(each) for each in formats if each not in FORMATS]
    if unknown or not formats:
        raise InputError(f"`formats` must be some of {', '.join(FORMATS)}, got {', '.join(unknown) or 'none'}.")
    place = folder if isinstance(folder, Folder) else Folder(folder)
    with _style("".join(account.learners)):
        drawings = figures(account).items()
        return [path for name, each in drawings for path in _saved(each, place, [f"{name}.{end}" for end in formats])]


class Contents(NamedTuple):
    """What the figures of a run show: curves, the leader's first; of every learner, its rows and how it stands."""

    title: str
    leader: str | None
    curves: dict[str, list[tuple[int, float]]]
    rows: dict[str, int]
    notes: dict[str, str]
    failed: set[str]


def contents(account: Account, told: Mapping[str, Mapping[str, Any]]) -> Contents:
    """Return what the figures show of a run and its learners as they were `told`."""
    curves = {name: [(point[0], point[2]) for point in one["points"]] for name, one in told.items() if one["points"]}
    if not curves:
        raise InputError("Nothing has been measured in this run yet, so there is nothing to draw.")
    leader, score, title = account.leader, account.result.valid_score, "No learner is left; the one with the most rows"
    if leader is not None and score is not None:
        ahead = [(leader.size, score)] if leader in account.speculated else []
        curves = {leader.learner: [], **curves}
        curves[leader.learner] = sorted([*curves[leader.learner], *ahead])  # it may lead by a score ahead of its turn
        size = f" with {leader.size:,} of {account.full_size:,} rows"
        title = "Selected" if account.state == "finished" else f"Best so far{size}"
    return Contents(
        f"{title}: {_short(next(iter(curves)))}",
        None if leader is None else leader.learner,
        curves,
        {name: one["rows"] for name, one in told.items()},
        {name: _note(one) for name, one in told.items()},
        {name for name, one in told.items() if one["status"] in ("failed", REFUSED)},
    )


def figures(account: Account) -> dict[str, Figure]:
    """Return Figure 1, Figure 2 and all learning curves of a run by name."""
    told = learners(account)
    title, leader, curves, rows, notes, failed = contents(account, told)
    leading, allocated = _figure((9.5, 4.8)), _figure((9.5, height_of_bars(len(told))))
    curves_of_leaders(leading.subplots(), curves, list(curves), title, account.scores)
    what = f"Rows for {counted(len(told), 'learner')}, with the last {account.scores.name} of each"
    rows_allocated(allocated.subplots(), rows, notes, what, selected=leader, failed=failed)
    panels = _all_curves(account, [told[name] for name in curves if told[name]["points"]])
    return dict(zip(NAMES, (leading, allocated, panels), strict=True))


def _note(one: Mapping[str, Any]) -> str:
    """Return how a learner stands, with its last score."""
    if not one["points"]:
        return str(one["status"])
    size, _, valid, _ = one["points"][-1]
    return f"{score_text(valid)} with {size:,} rows, {one['status']}"


def _all_curves(account: Account, ranked: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw small multiples: training and validation, corrected points, and the score at best with all rows."""
    learners, full_size = ranked[:MOST_CURVES], account.full_size
    across = min(ACROSS, len(learners))
    down = -(-len(learners) // across)
    wide, high = (2.3, 1.9) if len(learners) > FEW else (3.4, 2.8)
    width, height = max(wide * across, 6.5), high * down + 0.9
    figure = _figure((width, height), layout=None)  # fixed margins: laying out 60 panels takes long
    figure.subplots_adjust(0.75 / width, 0.5 / height, 1 - 0.15 / width, 1 - 0.85 / height, 0.12, 0.45)
    sizes = sorted({point[0] for one in learners for point in one["points"]} | {full_size})
    middle = int(round(math.sqrt(sizes[0] * full_size), -2))
    ticks = [sizes[0], middle, full_size] if sizes[0] < middle < full_size else sizes[:: max(len(sizes) - 1, 1)]
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, one in zip(grid.flat, learners, strict=False):
        _curve(axes, one, account)
        axes.grid(alpha=0.3)
    first = grid.flat[0]
    _sizes_below(first, ticks, rotation=0)
    valid = [point[2] for one in learners for point in one["points"]]
    others = [score for one in learners for score in (*(point[1] for point in one["points"]), _bound(one, account))]
    low = _scores_beside(first, valid, account.scores, [score for score in others if score is not None])
    for place, (axes, one) in enumerate(zip(grid.flat, learners, strict=False)):
        axes.tick_params(labelsize=6, labelbottom=place + across >= len(learners))  # for the last of its column
        if one["points"][-1][2] < low:
            axes.text(0.5, 0.08, "below this scale", transform=axes.transAxes, fontsize=6, ha="center")
    for axes in grid.flat[len(learners) :]:
        axes.set_axis_off()
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.supxlabel("training rows (logarithmic)", fontsize=8, y=0.05 / height)
    figure.supylabel(_called(account.scores), fontsize=8, x=0.05 / width)
    title = f"Learning curves of {counted(len(learners), 'learner')}"
    if len(learners) < len(account.learners):
        which = "those with the most rows" if len(learners) < len(ranked) else "the others have not been measured"
        title = f"Learning curves of {len(learners):,} of {len(account.learners):,} learners: {which}"
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=4, fontsize=8, frameon=False, title=title)
    return figure


def _curve(axes: Axes, one: Mapping[str, Any], account: Account) -> None:
    """Draw one learner. Points have markers: a single one would not be seen as a line."""
    sizes, train, valid, _ = zip(*one["points"], strict=True)
    if any(score is not None for score in train):
        known = [(size, score) for size, score in zip(sizes, train, strict=True) if score is not None]
        axes.plot(
            *zip(*known, strict=True), ":", marker=".", markersize=4, color="tab:orange", label="on training rows"
        )
    axes.plot(sizes, valid, marker=".", markersize=4, color="tab:blue", label="on validation rows")
    if any(score != one_valid for score, one_valid in zip(one["corrected"], valid, strict=True)):
        axes.plot(sizes, one["corrected"], "o", color="tab:blue", mfc="white", markersize=3, label="without falls")
    bound = _bound(one, account)
    if bound is not None:
        line = _bound_line(one["corrected"][-1], bound, sizes[-1], account.full_size)
        axes.plot(*line, "--", color="tab:purple", label="at best (95 % quantile)")
    axes.set_title(_literal(f"{_short(one['learner'], LONGEST_TITLE)}\n{_note(one)}"), fontsize=7)


def _bound(one: Mapping[str, Any], account: Account) -> float | None:
    """Return the score at best with all rows, as far as it is a possible one; None where the learner has all rows."""
    bound, top = one["high"] if one["points"][-1][0] < account.full_size else None, account.scores.top
    return None if bound is None else float(bound if top is None else min(bound, top))


def _bound_line(last: float, bound: float, size: int, full_size: int) -> tuple[list[float], list[float]]:
    """Return the bound's line to the full size: linear in the rows, so curved on a logarithmic axis."""
    rows = [size * (full_size / size) ** (part / LINE_PARTS) for part in range(LINE_PARTS + 1)]
    return rows, [last + (bound - last) * (n - size) / (full_size - size) for n in rows]


def _sizes_below(axes: Axes, sizes: Sequence[int], rotation: int = 45) -> None:
    """Set a logarithmic axis with the sizes as ticks, as many as there is room for; the largest always."""
    least = math.log(sizes[-1] / sizes[0]) / MOST_TICKS
    ticks = [sizes[-1]]
    for size in reversed(sizes):
        if math.log(ticks[-1] / size) > least:
            ticks.append(size)
    axes.set_xscale("log")
    if len(sizes) == 1:
        axes.set_xlim(sizes[0] / 2, sizes[0] * 2)
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks], rotation=rotation, fontsize=8)
    axes.minorticks_off()


def _scores_beside(axes: Axes, scores: Sequence[float], kind: Scores, also: Sequence[float] = ()) -> float:
    """Set the ends of the scores' axis and its ticks; return the lower end."""
    low, high = limits(scores, also)
    axes.set_ylim(low, high)
    places = ticks(low, high, kind.top)
    axes.set_yticks(places, tick_labels(places))
    return low


def _called(scores: Scores) -> str:
    return _literal(f"{plain(scores.name)} (higher is better)")


def _short(name: str, longest: int = LONGEST_NAME) -> str:
    return shortened(plain(name), longest)


def _literal(text: str) -> str:
    """Escape text that matplotlib would read as a formula."""
    return text.replace("$", r"\$")


@contextmanager
def _style(names: str = "") -> Iterator[None]:
    """Draw the same on every machine, with fonts for these names in other scripts where there are any."""
    if find_spec("matplotlib") is None:
        raise InputError("Plots need matplotlib. Install it with `pip install 'pydaub[plot]'`.")
    from matplotlib import rc_context, rcdefaults  # noqa: PLC0415  # slow to import, and an extra

    with rc_context(), warnings.catch_warnings():
        rcdefaults()
        with rc_context(
            {"font.family": [FONT, *_other_fonts(names)], "svg.hashsalt": "pydaub", "axes.formatter.useoffset": False}
        ):
            warnings.filterwarnings("ignore", message=".*[Gg]lyph .* missing")  # it is drawn as a box
            yield


def _other_fonts(text: str) -> list[str]:
    """Return installed fonts with the letters of the text that the usual one lacks."""
    from matplotlib.font_manager import findfont, fontManager, get_font  # noqa: PLC0415  # as above

    missing = {ord(letter) for letter in text} - get_font(findfont(FONT)).get_charmap().keys()
    found = []
    for font in sorted(fontManager.ttflist, key=lambda each: each.name):
        if not missing or font.name.startswith("Last Resort"):  # which has a box for every letter
            continue
        with suppress(OSError, RuntimeError):  # a damaged font, or one that is gone
            letters = get_font(font.fname).get_charmap().keys()
            if missing & letters:
                found.append(font.name)
                missing -= letters
    return found


def _figure(size: tuple[float, float], layout: Literal["constrained"] | None = "constrained") -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415  # as above

    return Figure(figsize=size, layout=layout)


def _saved(figure: Figure, folder: Folder, names: Sequence[str]) -> list[Path]:
    """Write a figure to files. It is laid out once: each time moves it a little."""
    figure.set_dpi(DPI)
    if layout := figure.get_layout_engine():
        layout.execute(figure)
        figure.set_layout_engine("none")
    # No dates: the same run gives the same file.
    no_date = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    folder.make()
    for name in names:
        drawn, kind = BytesIO(), name.rpartition(".")[2]
        figure.savefig(drawn, format=kind, dpi=DPI, metadata=no_date[kind])
        folder.write(name, drawn.getvalue())
    return [folder.path / name for name in names]
