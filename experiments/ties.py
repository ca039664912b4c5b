"""How much of DAUB's figures depends on the order of the learners, which breaks ties between bounds.

python experiments/ties.py [--measured FOLDER]
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from command import shown
from replays import ORDERS, largest, markdown, percent, thousands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replays import Curves, Replay

HEADER: Final = (
    "Data set",
    "Portfolio",
    "Iterations",
    "Allocation after the bootstrap",
    "Time (s)",
    "Speed-up",
    "Loss",
)


@dataclass(frozen=True)
class Ties:
    """Replays of DAUB on one table, the first with the learners in their own order, the others in random ones."""

    one: Curves

    @property
    def replays(self) -> list[Replay]:
        """The replays."""
        return [self.one.replayed("daub"), *self.one.reordered]

    @property
    def matter(self) -> bool:
        """Whether any order leads to other allocations."""
        return len({(each.iterations, each.rows_after_bootstrap, each.result.selected) for each in self.replays}) > 1

    def range(self, figure: Callable[[Replay], float], text: Callable[[float], str]) -> str:
        """Return a figure in the learners' own order and, if others differ, the range over all orders."""
        own, low, high = (text(value) for value in self._of(figure))
        return own if low == high else f"{own} ({low} to {high})"

    def _of(self, figure: Callable[[Replay], float]) -> tuple[float, float, float]:
        values = [figure(each) for each in self.replays]
        return values[0], min(values), max(values)

    @property
    def words(self) -> str:
        """The speed-ups of a table on which ties matter."""
        speed_ups = [each.speed_up for each in self.replays]
        title, portfolio = self.one.about["title"], self.one.about["portfolio"]
        spread = f"{min(speed_ups):.1f}x to {max(speed_ups):.1f}x, median {median(speed_ups):.1f}x"
        return f"{title} ({portfolio}): {spread}"


def matter(tables: Iterable[Curves]) -> list[Ties]:
    """Return those of the tables on which the order of the learners matters."""
    return [each for each in map(Ties, tables) if each.matter]


def ties(tables: Iterable[Curves]) -> str:
    """Return the figures of the largest tables on which the order of the learners matters."""
    found = matter(largest(tables))
    if not found:
        return "The order of the learners changes nothing on these tables."
    rows = [
        (
            each.one.about["title"], each.one.about["portfolio"],
            each.range(lambda replay: replay.iterations, lambda value: f"{value:.0f}"),
            each.range(lambda replay: replay.rows_after_bootstrap, thousands),
            each.range(lambda replay: replay.result.seconds, lambda value: f"{value:,.0f}"),
            each.range(speed_up, times), each.range(loss, percent),
        )
        for each in found
    ]  # fmt: skip
    return f"{markdown(HEADER, rows, left=2)}\n\n{said(found)}"


def said(found: Sequence[Ties]) -> str:
    """Return the speed-ups of the tables on which ties matter, in words."""
    named = "; ".join(each.words for each in found)
    return (
        "Bounds can tie, and then the learner that is listed first goes on. Where the order of the learners matters,"
        f" ranges in brackets are over {ORDERS} random orders; speed-ups: {named}."
    )


def speed_up(replay: Replay) -> float:
    """Return the speed-up of a replay."""
    return replay.speed_up


def loss(replay: Replay) -> float:
    """Return the loss of a replay."""
    return replay.loss


def times(value: float) -> str:
    """Format a speed-up."""
    return f"{value:.1f}x"


if __name__ == "__main__":
    shown(ties, __doc__)
