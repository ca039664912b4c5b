"""A fit in a notebook: one display, updated as the run goes on, with the verdict, all curves and the first learners."""

from __future__ import annotations

import math
import sys
import time
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pydaub.records import score_text
from pydaub.runs.account import GOING_ON
from pydaub.runs.standing import standing
from pydaub.views.lines import lines
from pydaub.views.scales import in_view, limits, tick_labels, ticks
from pydaub.views.summary import duration, plain, shortened
from pydaub.views.verdict import verdict_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.events import Event
    from pydaub.runs.account import Account
    from pydaub.runs.standing import Standing
    from pydaub.views.scales import Points
    from pydaub.views.verdict import Verdict

EVERY: Final = 0.5  # seconds between two updates
SHARE: Final = 0.05  # of the time that updates may take
LISTED: Final = 8  # learners in the table
NAMED: Final = 4  # curves with a colour
LONGEST_NAME: Final = 40
WIDTH, HEIGHT = 640, 230
LEFT, RIGHT, TOP, BOTTOM = 78, 16, 10, 34  # margins of the chart
MOST_TICKS: Final = 5
COLOURS: Final = ("#1f77b4", "#e07b00", "#2a9d3a", "#a04fc4")
CELL: Final = "text-align: {}; padding: 1px 12px 1px 0; background: none; white-space: nowrap"


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, whose displays can be updated."""
    loaded = sys.modules.get("IPython")
    shell = loaded.get_ipython() if loaded else None
    return hasattr(shell, "kernel")


class Card:
    """A display of a run, to be called with each event."""

    def __init__(self) -> None:
        self._account: Account | None = None
        self._display: Any = None
        self._next = 0.0

    def __call__(self, _: Event, account: Account) -> None:
        """Update the display, unless it has just been updated."""
        self._account = account
        if time.monotonic() >= self._next:
            began = time.monotonic()
            self._update(account)
            ended = time.monotonic()
            self._next = ended + max(EVERY, (ended - began) / SHARE)

    def close(self, *, ended: bool) -> None:
        """Show the run as it was left; `ended` says whether it came to an end, or an error or a person ended it."""
        if self._account is not None:
            self._account.held = self._account.held and ended
            self._update(self._account)

    def _update(self, account: Account) -> None:
        shown = import_module("IPython.display")  # only notebooks have it
        content = shown.HTML(card(account))
        if self._display is None:
            self._display = shown.display(content, display_id=True)
        else:
            self._display.update(content)


def card(account: Account) -> str:
    """Return a run as a small piece of HTML without scripts: the verdict, all curves, and the first learners."""
    found = standing(account)
    return (
        '<div style="max-width: 56em; font-size: 13px; line-height: 1.4">'
        f"{_paragraph(verdict_on(account, found))}{_training(account)}{_chart(account, found)}{_table(account)}</div>"
    )


def verdict_line(account: Account) -> str:
    """Return the verdict as a paragraph."""
    return _paragraph(verdict_on(account, standing(account)))


def _paragraph(verdict: Verdict) -> str:
    return f'<p style="margin: 0.4em 0; font-size: 13px"><bdi>{escape(verdict.line)}</bdi></p>'


def _training(account: Account) -> str:
    now = ", ".join(f"{_short(each.learner)} with {each.size:,} rows" for each in account.training)
    return f'<p style="margin: 0.4em 0; opacity: 0.75">Training now: {escape(now)}.</p>' if now else ""


def _table(account: Account) -> str:
    found = lines(account)
    titles = ("learner", "with all rows", account.scores.name, "rows", "time", "status")
    sides = ("left", "right", "right", "right", "right", "left")
    rows = [
        (
            f'<bdi title="{escape(plain(line.learner))}">{escape(_short(line.learner))}</bdi>',
            line.interval,
            "" if line.valid is None else score_text(line.valid),
            f"{line.size:,}" if line.size else "",
            duration(line.seconds),
            escape(line.status),
        )
        for line in found[:LISTED]
    ]
    head = "".join(_cell("th", escape(title), side) for title, side in zip(titles, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, side) for text, side in zip(row, sides, strict=True))}</tr>" for row in rows
    )
    left = len(found) - LISTED
    where = "" if account.state in GOING_ON else "; <code>report_</code> shows all"
    more = f'<p style="margin: 0.4em 0">and {left:,} more{where}</p>' if left > 0 else ""
    style = "border-collapse: collapse; margin: 0.4em 0; font: inherit; color: inherit"
    return f'<table style="{style}"><tr>{head}</tr>{body}</table>{more}'


def _cell(tag: str, text: str, side: str) -> str:
    return f'<{tag} style="{CELL.format(side)}">{text}</{tag}>'


def _chart(account: Account, found: Standing) -> str:
    """Return all curves as SVG: thin, with the leader and those that could overtake it highlighted."""
    curves = {
        name: [(size, point.valid_score) for size, point in zip(curve.sizes, curve.measurements, strict=True)]
        for name in account.learners
        if (curve := account.curve(name)).sizes
    }
    if found.leader is None or found.leader.learner not in curves:
        return ""
    rivals = [name for name in (*found.ties, *found.possible) if name in curves]
    named = [found.leader.learner, *dict.fromkeys(rivals)][:NAMED]
    axes = _Axes(curves, named, account)
    colours = dict(zip(named, ("currentColor", *COLOURS), strict=False))
    thin = [
        axes.line(points, 'stroke="currentColor" stroke-opacity="0.22" stroke-width="0.8"')
        for name, points in curves.items()
        if name not in colours
    ]
    thick = [
        axes.line(curves[name], f'stroke="{colours[name]}" stroke-width="{2.6 if name == named[0] else 1.6}"')
        for name in reversed(named)
    ]
    legend = "".join(
        f'<span style="margin-right: 1.2em"><span style="color: {"inherit" if place == 0 else colours[name]}">━</span>'
        f" <bdi>{escape(_short(name))}</bdi></span>"
        for place, name in enumerate(named)
    )
    title = f"{plain(account.scores.name)} by training rows"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width: 100%; height: auto; display: block"'
        f' role="img" aria-label="{escape(title)}" font-size="11" fill="currentColor">'
        f"{axes.frame()}{axes.inside(thin + thick)}</svg><div>{legend}</div>"
    )


class _Axes:
    """Places on the chart: rows on a logarithmic axis up to all of them, and scores."""

    def __init__(self, curves: Mapping[str, Points], named: Sequence[str], account: Account) -> None:
        self._sizes = sorted({size for points in curves.values() for size, _ in points} | {account.full_size})
        self._low, self._high = limits(in_view(curves, named))
        self._ticks = ticks(self._low, self._high, account.scores.top, MOST_TICKS)

    def _x(self, size: float) -> float:
        first, last = math.log(self._sizes[0]), math.log(self._sizes[-1])
        share = (math.log(size) - first) / (last - first) if last > first else 0.5
        return LEFT + 6 + share * (WIDTH - LEFT - RIGHT - 12)

    def _y(self, score: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self._high - score) / (self._high - self._low)

    def line(self, points: Points, style: str) -> str:
        """Return a curve; a single point as a dot."""
        places = [(self._x(size), self._y(score)) for size, score in points]
        if len(places) == 1:
            colour = style.replace("stroke-opacity", "fill-opacity").replace('stroke="', 'fill="')
            return f'<circle cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="2" {colour}/>'
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        return f'<polyline points="{path}" fill="none" {style}/>'

    def inside(self, curves: Sequence[str]) -> str:
        """Return the curves, without what is below the axis."""
        wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        box = f'x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" viewBox="{LEFT} {TOP} {wide} {high}"'
        return f'<svg {box} overflow="hidden">{"".join(curves)}</svg>'

    def frame(self) -> str:
        """Return grid and labels."""
        below = HEIGHT - BOTTOM
        parts = []
        for tick, label in zip(self._ticks, tick_labels(self._ticks), strict=True):
            y = self._y(tick)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity="0.15"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        shown = [self._sizes[-1]]
        for size in reversed(self._sizes):
            if self._x(shown[-1]) - self._x(size) > WIDTH / 9:
                shown.append(size)
        for size in shown:
            x = self._x(size)
            parts.append(f'<path d="M{x:.1f} {below}v4" stroke="currentColor" stroke-opacity="0.5"/>')
            parts.append(f'<text x="{min(x, WIDTH - 26):.1f}" y="{below + 16}" text-anchor="middle">{size:,}</text>')
        parts.append(f'<path d="M{LEFT} {TOP}V{below}H{WIDTH - RIGHT}" fill="none" stroke="currentColor"/>')
        return f'{"".join(parts)}<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">training rows</text>'


def _short(name: str) -> str:
    return shortened(plain(name), LONGEST_NAME)
